/*
 * Reasoning: switches reasoning on or off with the members of the chosen model's family.
 *
 * The decision overrides the client's own `reasoning_effort`; the client's other chat_template_kwargs
 * stay. Responses take the effort in `reasoning`, Messages a budget in `thinking`, or for models that choose
 * their budget an effort in `output_config`. A model without a family gets no reasoning members of chats;
 * what clients set in these stays.
 */
#include "base/json_read.h"
#include "router/edit/kinds.h"
#include "router/edit/piece.h"
#include "translate/translate.h"

static int drop_effort(struct sr_edit *edit)
{
    uint32_t span = edit->doc->at.reasoning_effort;
    return span == SR_SPAN_NONE ? SR_OK : sr_edits_remove(edit->list, span);
}

/* Sets chat_template_kwargs[parameter] = json and keeps the client's keys. */
static int set_kwarg(struct sr_edit *edit, const char *parameter, struct sr_bytes json)
{
    uint32_t kwargs = edit->doc->at.kwargs;
    edit->owns_kwargs = true;
    if (kwargs != SR_SPAN_NONE && edit->doc->spans[kwargs].kind == SR_JSON_OBJECT &&
        !sr_edit_blocked(edit, SR_LIT("chat_template_kwargs")))
        return sr_edits_set_member(edit->list, kwargs, sr_bytes_str(parameter), json);
    const char *value = sr_arena_printf(edit->arena, "\":%.*s}", (int)json.n, json.p);
    if (!value)
        return SR_ENOMEM;
    struct sr_bytes whole = sr_edit_json(edit, "{\"", sr_bytes_str(parameter), value);
    if (!whole.p)
        return SR_ENOMEM;
    return sr_edits_set_member(edit->list, SR_SPAN_NONE, SR_LIT("chat_template_kwargs"), whole);
}

/* With reasoning the decision's effort; without, the client's effort or low. */
static struct sr_bytes effort_value(struct sr_edit *edit)
{
    if (edit->in->choice->use_reasoning)
        return sr_edit_json(edit, "\"", sr_bytes_str(edit->in->effort), "\"");
    uint32_t span = edit->doc->at.reasoning_effort;
    if (span != SR_SPAN_NONE && edit->doc->spans[span].kind == SR_JSON_STRING)
        return sr_span_raw(&edit->doc->spans[span], edit->doc->body);
    return SR_LIT("\"low\"");
}

static int set_effort(struct sr_edit *edit, const struct sr_config_family *family, bool top_level)
{
    struct sr_bytes value = effort_value(edit);
    const char *parameter = family->parameter[0] ? family->parameter : "reasoning_effort";
    if (!value.p)
        return SR_ENOMEM;
    if (!top_level) {
        int rc = drop_effort(edit);
        return rc ? rc : set_kwarg(edit, parameter, value);
    }
    if (!sr_bytes_eq(sr_bytes_str(parameter), SR_LIT("reasoning_effort"))) {
        int rc = drop_effort(edit);
        if (rc)
            return rc;
    }
    edit->owns_effort = true;
    return sr_edits_set_member(edit->list, SR_SPAN_NONE, sr_bytes_str(parameter), value);
}

static int edit_members(struct sr_edit *edit)
{
    const struct sr_router *router = edit->in->router;
    const struct sr_config_model *model = &router->config->models[edit->in->model];
    if (model->family < 0)
        return drop_effort(edit);
    const struct sr_config_family *family = &router->config->families[model->family];
    edit->out->family = model->family;
    switch (family->type) {
    case SR_REASONING_EFFORT:
        return set_effort(edit, family, router->models[edit->in->model].top_level_effort);
    case SR_REASONING_TOP_LEVEL_EFFORT:
        return set_effort(edit, family, true);
    case SR_REASONING_CHAT_TEMPLATE_KWARGS:
        break;
    }
    int rc = drop_effort(edit);
    return rc ? rc
              : set_kwarg(edit, family->parameter,
                          edit->in->choice->use_reasoning ? SR_LIT("true") : SR_LIT("false"));
}

/* ---- an effort in an object ---- */

/* Without reasoning the client's effort or low; a family that is switched by its template is switched off. */
static int edit_effort(struct sr_edit *edit)
{
    const struct sr_config *config = edit->in->router->config;
    int family = config->models[edit->in->model].family;
    uint32_t reasoning = edit->doc->at.reasoning, effort = edit->doc->at.reasoning_effort;
    bool object = reasoning != SR_SPAN_NONE && edit->doc->spans[reasoning].kind == SR_JSON_OBJECT;
    if (family < 0)
        return SR_OK;
    edit->out->family = family;
    edit->owns_reasoning = true;
    struct sr_bytes value = effort_value(edit);
    if (!edit->in->choice->use_reasoning &&
        config->families[family].type == SR_REASONING_CHAT_TEMPLATE_KWARGS)
        value = SR_LIT("\"none\"");
    if (!value.p)
        return SR_ENOMEM;
    if (object && effort != SR_SPAN_NONE)
        return sr_edits_replace(edit->list, effort, value);
    if (object)
        return sr_edits_set_member(edit->list, reasoning, SR_LIT("effort"), value);
    const char *whole = sr_arena_printf(edit->arena, "{\"effort\":%.*s}", (int)value.n, value.p);
    return whole ? sr_edits_set_member(edit->list, SR_SPAN_NONE, SR_LIT("reasoning"), sr_bytes_str(whole))
                 : SR_ENOMEM;
}

/* ---- thinking ---- */

#define BUDGET_MIN 1024u /* the smallest that the API takes */

/* A whole number; 0 for everything else. */
static unsigned long long number_of(const struct sr_request *doc, uint32_t span)
{
    unsigned long long n = 0;
    if (span == SR_SPAN_NONE || doc->spans[span].kind != SR_JSON_NUMBER ||
        !sr_bytes_to_u64(sr_span_raw(&doc->spans[span], doc->body), &n))
        return 0;
    return n;
}

static unsigned long long budget_of(const char *effort)
{
    static const struct {
        const char *effort;
        unsigned long long tokens;
    } budgets[] = {
        {"minimal", BUDGET_MIN}, {"low", 2048}, {"medium", 8192}, {"high", 24576}, {"xhigh", 32768}};
    for (size_t i = 0; i < sizeof budgets / sizeof budgets[0]; i++)
        if (strcmp(budgets[i].effort, effort) == 0)
            return budgets[i].tokens;
    return 8192;
}

/* Does the request set what the API does not take together with thinking: a temperature, `top_k`, a tool that
 * must be called; with a budget, calls in its history that no thinking precedes? */
static bool rules_out_thinking(struct sr_edit *edit, bool budget)
{
    const struct sr_request *doc = edit->doc;
    for (size_t i = 0; i < doc->n_spans; i++) {
        const struct sr_span *span = &doc->spans[i];
        struct sr_bytes raw = sr_span_raw(span, doc->body), key;
        if (budget && span->id == SR_AT_TYPE && sr_bytes_eq(raw, SR_LIT("\"tool_use\"")))
            return true;
        if (!sr_request_is_top(span))
            continue;
        if (span->id == SR_AT_TOOL_CHOICE && !sr_bytes_contains(raw, SR_LIT("\"auto\"")) &&
            !sr_bytes_contains(raw, SR_LIT("\"none\"")))
            return true;
        key = sr_request_key(doc, span, edit->arena);
        if (!key.p || sr_bytes_eq(key, SR_LIT("temperature")) || sr_bytes_eq(key, SR_LIT("top_k")))
            return true;
    }
    return false;
}

/* Below `limit`, that of the answer. */
static int set_budget(struct sr_edit *edit, unsigned long long limit)
{
    unsigned long long budget = budget_of(edit->in->effort);
    if (budget >= limit)
        budget = limit - 1;
    if (rules_out_thinking(edit, true))
        return SR_OK;
    const char *json = sr_arena_printf(edit->arena, "{\"type\":\"enabled\",\"budget_tokens\":%llu}", budget);
    return json ? sr_edits_set_member(edit->list, SR_SPAN_NONE, SR_LIT("thinking"), sr_bytes_str(json))
                : SR_ENOMEM;
}

/* For a model that chooses its budget. An effort of the client's stays, and so does the rest beside it. */
static int set_adaptive(struct sr_edit *edit, const char *effort)
{
    const struct sr_request *doc = edit->doc;
    uint32_t config = doc->at.output_config;
    bool object = config != SR_SPAN_NONE && doc->spans[config].kind == SR_JSON_OBJECT;
    if (rules_out_thinking(edit, false))
        return SR_OK;
    int rc = sr_edits_set_member(edit->list, SR_SPAN_NONE, SR_LIT("thinking"),
                                 SR_LIT("{\"type\":\"adaptive\",\"display\":\"summarized\"}"));
    if (rc || (object && sr_json_view_get(sr_span_raw(&doc->spans[config], doc->body), "effort").p))
        return rc;
    const char *json = sr_arena_printf(edit->arena, object ? "\"%s\"" : "{\"effort\":\"%s\"}", effort);
    if (!json)
        return SR_ENOMEM;
    return sr_edits_set_member(edit->list, object ? config : SR_SPAN_NONE,
                               object ? SR_LIT("effort") : SR_LIT("output_config"), sr_bytes_str(json));
}

/* A client that asked for thinking keeps its own. */
static int edit_thinking(struct sr_edit *edit)
{
    const struct sr_config *config = edit->in->router->config;
    const struct sr_request *doc = edit->doc;
    uint32_t thinking = doc->at.thinking;
    int family = config->models[edit->in->model].family;
    bool on = edit->in->choice->use_reasoning;
    bool asked = thinking != SR_SPAN_NONE && doc->spans[thinking].kind == SR_JSON_OBJECT &&
                 !sr_bytes_contains(sr_span_raw(&doc->spans[thinking], doc->body), SR_LIT("\"disabled\""));
    if (family < 0)
        return SR_OK;
    edit->out->family = family;
    edit->owns_reasoning = true;
    if (!on)
        return asked ? sr_edits_replace(edit->list, thinking, SR_LIT("{\"type\":\"disabled\"}")) : SR_OK;
    unsigned long long limit = number_of(doc, doc->at.max_tokens);
    if (asked || limit <= BUDGET_MIN) /* there is no room for it */
        return SR_OK;
    const char *effort = sr_translate_adaptive_effort(sr_bytes_str(sr_edit_upstream_name(edit)),
                                                      sr_bytes_str(edit->in->effort));
    return effort ? set_adaptive(edit, effort) : set_budget(edit, limit);
}

int sr_edit_reasoning(struct sr_edit *edit)
{
    switch (edit->doc->dialect->reasoning) {
    case SR_REASONING_FORM_NONE:
        break;
    case SR_REASONING_FORM_MEMBERS:
        return edit_members(edit);
    case SR_REASONING_FORM_EFFORT:
        return edit_effort(edit);
    case SR_REASONING_FORM_THINKING:
        return edit_thinking(edit);
    }
    return SR_OK;
}
