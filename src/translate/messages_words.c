/* The words and counts of Messages: stop reasons, usage, budgets of reasoning. */
#include "translate/messages.h"

#include "translate/api.h"

/* Budgets of the efforts, in tokens: the least that the API takes, and more with each step, as far as the
 * limits of answers of all models go. */
static const struct {
    const char *effort;
    int64_t budget;
} efforts[] = {{"minimal", 1024}, {"low", 1024},    {"medium", 4096},
               {"high", 16384},   {"xhigh", 32768}, {"max", 32768}};

int64_t sr_tr_messages_budget(sr_json_view effort)
{
    for (size_t i = 0; i < SR_TR_COUNT(efforts); i++)
        if (sr_json_view_eq(effort, efforts[i].effort))
            return efforts[i].budget;
    return 4096;
}

sr_json_view sr_tr_messages_effort(int64_t budget)
{
    return budget <= 2048    ? SR_TR_STRING("low")
           : budget <= 8192  ? SR_TR_STRING("medium")
           : budget <= 24576 ? SR_TR_STRING("high")
                             : SR_TR_STRING("xhigh");
}

/* ---- versions ---- */

/* Names are "claude-opus-4-6", "claude-3-7-sonnet-20250219", "anthropic.claude-opus-4-6-v1": the first
 * number, and the next one if it is no date. */
int sr_tr_messages_version(struct sr_bytes model)
{
    int found[2] = {0, 0}, n = 0;
    size_t at = 0;
    while (at + 6 <= model.n && memcmp(model.p + at, "claude", 6) != 0)
        at++;
    for (at += 6; at < model.n && n < 2; at++) {
        int value = 0;
        size_t digits = 0;
        for (; at < model.n && model.p[at] >= '0' && model.p[at] <= '9'; at++, digits++)
            value = digits < 6 ? value * 10 + (model.p[at] - '0') : value;
        if (digits > 2 || (digits == 0 && n > 0 && model.p[at] != '-' && model.p[at] != '.'))
            break;
        if (digits)
            found[n++] = value;
    }
    return found[0] * 100 + found[1];
}

#define ADAPTIVE 406 /* from this version on models choose their budget; efforts say how much */
#define XHIGH    407 /* the first version that has this effort */

const char *sr_translate_adaptive_effort(struct sr_bytes model, struct sr_bytes effort)
{
    static const char *const words[] = {"low", "medium", "high", "xhigh", "max"};
    int version = sr_tr_messages_version(model);
    if (version < ADAPTIVE)
        return NULL;
    if (version < XHIGH && sr_bytes_eq(effort, SR_LIT("xhigh")))
        return "high";
    if (sr_bytes_eq(effort, SR_LIT("minimal")))
        return "low";
    for (size_t i = 0; i < SR_TR_COUNT(words); i++)
        if (sr_bytes_eq(effort, sr_bytes_str(words[i])))
            return words[i];
    return "medium";
}

/* ---- stop reasons ---- */

static const char *const stops[] = {
    [SR_TR_STOP_END] = "end_turn",
    [SR_TR_STOP_LENGTH] = "max_tokens",
    [SR_TR_STOP_SEQUENCE] = "stop_sequence",
    [SR_TR_STOP_CALLS] = "tool_use",
    [SR_TR_STOP_FILTER] = "refusal",
    [SR_TR_STOP_PAUSE] = "pause_turn",
    [SR_TR_STOP_CONTEXT] = "model_context_window_exceeded",
};

const char *sr_tr_messages_stop(enum sr_tr_stop stop)
{
    return stops[stop];
}

enum sr_tr_stop sr_tr_messages_stop_of(struct sr_tr *tr, sr_json_view word)
{
    enum sr_tr_stop stop = sr_json_view_is_string(word) ? SR_TR_STOP_END : SR_TR_STOP_NONE;
    bool known = stop == SR_TR_STOP_NONE;
    for (size_t i = 1; i < SR_TR_COUNT(stops) && !known; i++)
        if ((known = sr_json_view_eq(word, stops[i])))
            stop = (enum sr_tr_stop)i;
    if (!known || stop == SR_TR_STOP_PAUSE || stop == SR_TR_STOP_CONTEXT)
        sr_tr_warn(tr, "stop_reason.", sr_tr_inner(word));
    return stop;
}

/* ---- usage ---- */

static void read_tier(struct sr_tr *tr, sr_json_view word, struct sr_tr_answer *answer)
{
    if (sr_json_view_eq(word, "standard"))
        answer->service_tier = SR_TR_STRING("default");
    else if (sr_json_view_eq(word, "priority"))
        answer->service_tier = SR_TR_STRING("priority");
    else if (!sr_json_view_is_null(word))
        sr_tr_warn(tr, "usage.service_tier.", sr_tr_inner(word));
}

/* Tokens of the cache are counted beside the input here, and inside of it by the others. */
void sr_tr_messages_read_usage(struct sr_tr *tr, sr_json_view value, struct sr_tr_answer *answer)
{
    static const char *const known[] = {"input_tokens",
                                        "output_tokens",
                                        "cache_read_input_tokens",
                                        "cache_creation_input_tokens",
                                        "cache_creation",
                                        "output_tokens_details",
                                        "server_tool_use",
                                        "service_tier",
                                        NULL};
    static const char *const of_output[] = {"thinking_tokens", NULL};
    static const char *const none[] = {NULL};
    struct sr_tr_usage *usage = &answer->usage;
    int64_t input = usage->input - usage->cached - usage->cache_write;
    if (!sr_json_view_is_object(value))
        return;
    sr_json_view output = sr_json_view_get(value, "output_tokens_details");
    sr_tr_lost_members(tr, "usage.", value, known);
    sr_tr_lost_members(tr, "usage.output_tokens_details.", output, of_output);
    sr_tr_lost_members(tr, "usage.cache_creation.", sr_json_view_get(value, "cache_creation"), none);
    sr_tr_lost_members(tr, "usage.server_tool_use.", sr_json_view_get(value, "server_tool_use"), none);
    (void)sr_json_view_int(sr_json_view_get(value, "input_tokens"), &input);
    (void)sr_json_view_int(sr_json_view_get(value, "output_tokens"), &usage->output);
    (void)sr_json_view_int(sr_json_view_get(value, "cache_read_input_tokens"), &usage->cached);
    (void)sr_json_view_int(sr_json_view_get(value, "cache_creation_input_tokens"), &usage->cache_write);
    (void)sr_json_view_int(sr_json_view_get(output, "thinking_tokens"), &usage->reasoning);
    read_tier(tr, sr_json_view_get(value, "service_tier"), answer);
    usage->input = input + usage->cached + usage->cache_write;
    usage->seen = true;
}

void sr_tr_messages_write_usage(const struct sr_tr_answer *answer, struct sr_json_writer *w)
{
    const struct sr_tr_usage *usage = &answer->usage;
    int64_t input = usage->input - usage->cached - usage->cache_write;
    sr_json_object(w, "usage");
    sr_json_int(w, "input_tokens", input > 0 ? input : 0);
    sr_json_int(w, "cache_creation_input_tokens", usage->cache_write);
    sr_json_int(w, "cache_read_input_tokens", usage->cached);
    sr_json_int(w, "output_tokens", usage->output);
    if (usage->reasoning) {
        sr_json_object(w, "output_tokens_details");
        sr_json_int(w, "thinking_tokens", usage->reasoning);
        sr_json_object_end(w);
    }
    if (sr_json_view_eq(answer->service_tier, "default"))
        sr_json_text(w, "service_tier", "standard");
    else if (sr_json_view_eq(answer->service_tier, "priority"))
        sr_json_text(w, "service_tier", "priority");
    sr_json_object_end(w);
}

void sr_tr_messages_name_lost(struct sr_tr *tr, const struct sr_tr_answer *answer)
{
    if (!sr_json_view_eq(answer->service_tier, "default") &&
        !sr_json_view_eq(answer->service_tier, "priority"))
        sr_tr_lost(tr, answer->service_tier, "service_tier");
}
