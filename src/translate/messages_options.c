/* What requests of Messages say beside the conversation: tools, sampling, reasoning, formats, users. */
#include "translate/messages_options.h"

#include "translate/messages.h"
#include "translate/messages_turns.h"
#include "translate/tools.h"

#include <stdio.h>

#define BUDGET_MIN   1024 /* the least that the API takes */
#define ONE_SAMPLING 401  /* from this version on models refuse `temperature` and `top_p` together */
#define NO_SAMPLING  407  /* from this version on they refuse budgets, `temperature`, `top_p` and `top_k` */

/* ---- tools ---- */

static void write_tools(struct sr_tr *tr, const struct sr_tr_request *request, struct sr_json_writer *w)
{
    bool any = false;
    for (const struct sr_tr_tool *tool = sr_tr_tool_allowed(request->tools); tool;
         tool = sr_tr_tool_allowed(tool->next)) {
        if (tool->custom) {
            sr_tr_warn(tr, "tools[].custom", SR_LIT(""));
            continue;
        }
        if (!any)
            sr_json_array(w, "tools");
        any = true;
        sr_json_object(w, NULL);
        sr_tr_put(w, "name", tool->name);
        sr_tr_put(w, "description", tool->description);
        sr_json_raw(w, "input_schema",
                    tool->parameters.p ? tool->parameters
                                       : SR_LIT("{\"type\":\"object\",\"properties\":{}}"));
        if (sr_json_view_bool(tool->strict, false))
            sr_json_bool(w, "strict", true);
        sr_tr_put(w, "cache_control", tool->cache);
        sr_json_object_end(w);
    }
    if (any)
        sr_json_array_end(w);
}

/* Custom tools and those that are kept back do not go here. */
static bool has_tools(const struct sr_tr_request *request)
{
    const struct sr_tr_tool *tool = sr_tr_tool_allowed(request->tools);
    while (tool && tool->custom)
        tool = sr_tr_tool_allowed(tool->next);
    return tool != NULL;
}

static void write_choice(struct sr_tr *tr, const struct sr_tr_request *request, struct sr_json_writer *w)
{
    static const char *const words[] = {"auto", "auto", "none", "any", "tool"};
    bool alone = request->parallel.p && !sr_json_view_bool(request->parallel, true);
    if (request->choice == SR_TR_CHOICE_NAMED && request->choice_custom) {
        sr_tr_warn(tr, "tool_choice.custom", SR_LIT(""));
        return;
    }
    if (!has_tools(request) || (!request->choice && !request->parallel.p))
        return;
    sr_json_object(w, "tool_choice");
    sr_json_text(w, "type", words[request->choice]);
    if (request->choice == SR_TR_CHOICE_NAMED)
        sr_tr_put(w, "name", request->choice_name);
    if (request->parallel.p && request->choice != SR_TR_CHOICE_NO_TOOL)
        sr_json_bool(w, "disable_parallel_tool_use", alone);
    sr_json_object_end(w);
}

/* ---- sampling, reasoning, formats ---- */

int64_t sr_tr_messages_limit(const struct sr_tr *tr, const struct sr_tr_request *request)
{
    int64_t limit;
    if (request->max_tokens.p && sr_json_view_int(request->max_tokens, &limit))
        return limit;
    int64_t own = tr->settings->max_tokens > 0 ? tr->settings->max_tokens : SR_TRANSLATE_MAX_TOKENS;
    int64_t budget = request->thinking == SR_TR_THINKING_ON ? sr_tr_messages_budget(request->effort) : 0;
    return own + budget;
}

/* The effort of a model that chooses its budget itself; NULL: it does not. */
static const char *adaptive_effort(const struct sr_tr_request *request)
{
    return sr_translate_adaptive_effort(sr_tr_inner(request->model), sr_tr_inner(request->effort));
}

/* Reasoning with the budget that fits into the limit, which adaptive models choose themselves. */
struct reasoning {
    bool on;
    int64_t budget;
};

static struct reasoning reasoning_of(struct sr_tr *tr, const struct sr_tr_request *request, int64_t limit)
{
    bool forced = request->choice == SR_TR_CHOICE_ANY || request->choice == SR_TR_CHOICE_NAMED;
    struct reasoning r = {.budget = sr_tr_messages_budget(request->effort)};
    if (request->thinking != SR_TR_THINKING_ON)
        return r;
    if (r.budget >= limit)
        r.budget = limit - 1;
    r.on = adaptive_effort(request) || (r.budget >= BUDGET_MIN && !sr_tr_messages_calls_unreasoned(request));
    r.on &= !(forced && has_tools(request));
    if (!r.on)
        sr_tr_warn(tr, "reasoning_effort", SR_LIT(""));
    return r;
}

static void write_thinking(const struct sr_tr_request *request, int64_t budget, struct sr_json_writer *w)
{
    sr_json_object(w, "thinking");
    if (adaptive_effort(request)) {
        sr_json_text(w, "type", "adaptive");
        sr_json_text(w, "display", "summarized"); /* else the text stays away */
    } else {
        sr_json_text(w, "type", "enabled");
        sr_json_int(w, "budget_tokens", budget);
    }
    sr_json_object_end(w);
}

static void write_sampling(struct sr_tr *tr, const struct sr_tr_request *request, bool reasons,
                           struct sr_json_writer *w)
{
    int version = sr_tr_messages_version(sr_tr_inner(request->model));
    if (reasons || version >= NO_SAMPLING) { /* the API takes none of these then */
        sr_tr_lost(tr, request->temperature, "temperature");
        sr_tr_lost(tr, request->top_k, "top_k");
        sr_tr_lost(tr, request->top_p, "top_p");
    } else {
        double temperature = 0;
        bool high = request->temperature.p && sscanf(request->temperature.p, "%lf", &temperature) == 1 &&
                    temperature > 1; /* the largest of the API */
        if (high)
            sr_tr_warn(tr, "temperature", SR_LIT(""));
        sr_tr_put(w, "temperature", high ? SR_LIT("1") : request->temperature);
        if (request->temperature.p && version >= ONE_SAMPLING)
            sr_tr_lost(tr, request->top_p, "top_p");
        else
            sr_tr_put(w, "top_p", request->top_p);
        sr_tr_put(w, "top_k", request->top_k);
    }
}

/* `any`: is one written already? */
static void write_sequence(struct sr_tr *tr, sr_json_view sequence, bool *any, struct sr_json_writer *w)
{
    if (sr_tr_messages_is_blank(sequence)) {
        sr_tr_warn(tr, "stop", SR_LIT(""));
        return;
    }
    if (!*any)
        sr_json_array(w, "stop_sequences");
    *any = true;
    sr_tr_put(w, NULL, sequence);
}

static void write_stop(struct sr_tr *tr, sr_json_view stop, struct sr_json_writer *w)
{
    sr_json_view value;
    size_t at = 0;
    bool any = false;
    if (stop.p && !sr_json_view_is_array(stop))
        write_sequence(tr, stop, &any, w);
    while (sr_json_view_is_array(stop) && sr_json_view_next(stop, &at, NULL, &value))
        write_sequence(tr, value, &any, w);
    if (any)
        sr_json_array_end(w);
}

/* `effort`: how much an adaptive model reasons; NULL: not said. */
static void write_config(struct sr_tr *tr, const struct sr_tr_request *request, const char *effort,
                         struct sr_json_writer *w)
{
    bool schema = request->format == SR_TR_FORMAT_SCHEMA && request->schema.p;
    if (request->format == SR_TR_FORMAT_JSON)
        sr_tr_warn(tr, "response_format.json_object", SR_LIT(""));
    if (!schema && !effort)
        return;
    sr_json_object(w, "output_config");
    if (effort)
        sr_json_text(w, "effort", effort);
    if (schema) {
        sr_tr_lost(tr, request->format_name, "response_format.json_schema.name");
        sr_tr_lost(tr, request->format_description, "response_format.json_schema.description");
        sr_json_object(w, "format");
        sr_json_text(w, "type", "json_schema");
        sr_tr_put(w, "schema", request->schema);
        sr_json_object_end(w);
    }
    sr_json_object_end(w);
}

static void write_user(struct sr_tr *tr, const struct sr_tr_request *request, struct sr_json_writer *w)
{
    sr_json_view user = request->user.p ? request->user : request->safety_identifier;
    if (request->user.p)
        sr_tr_lost(tr, request->safety_identifier, "safety_identifier");
    sr_tr_lost(tr, request->metadata, "metadata");
    sr_tr_lost(tr, request->verbosity, "verbosity");
    sr_tr_lost(tr, request->prompt_cache_key, "prompt_cache_key");
    sr_tr_lost(tr, request->prompt_cache_retention, "prompt_cache_retention");
    if (sr_json_view_bool(request->store, false))
        sr_tr_warn(tr, "store", SR_LIT(""));
    if (user.p) {
        sr_json_object(w, "metadata");
        sr_tr_put(w, "user_id", user);
        sr_json_object_end(w);
    }
    if (sr_json_view_eq(request->service_tier, "default"))
        sr_json_text(w, "service_tier", "standard_only");
    else if (sr_json_view_eq(request->service_tier, "auto"))
        sr_json_text(w, "service_tier", "auto");
    else
        sr_tr_lost(tr, request->service_tier, "service_tier");
}

void sr_tr_messages_write_options(struct sr_tr *tr, const struct sr_tr_request *request, int64_t limit,
                                  struct sr_json_writer *w)
{
    struct reasoning reasoning = reasoning_of(tr, request, limit);
    write_tools(tr, request, w);
    write_choice(tr, request, w);
    write_sampling(tr, request, reasoning.on, w);
    write_stop(tr, request->stop, w);
    if (reasoning.on)
        write_thinking(request, reasoning.budget, w);
    write_config(tr, request, reasoning.on ? adaptive_effort(request) : NULL, w);
    write_user(tr, request, w);
}
