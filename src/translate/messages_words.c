/* The words and counts of Messages: stop reasons, usage, budgets of reasoning. */
#include "translate/messages.h"

/* Budgets of the efforts, in tokens: the least that the API takes, and four times more with each step. */
static const struct {
    const char *effort;
    int64_t budget;
} efforts[] = {{"minimal", 1024}, {"low", 1024}, {"medium", 4096}, {"high", 16384}, {"xhigh", 32768}};

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

enum sr_tr_stop sr_tr_messages_stop_of(sr_json_view word)
{
    for (size_t i = 1; i < SR_TR_COUNT(stops); i++)
        if (sr_json_view_eq(word, stops[i]))
            return (enum sr_tr_stop)i;
    return sr_json_view_is_string(word) ? SR_TR_STOP_END : SR_TR_STOP_NONE;
}

/* ---- usage ---- */

/* Tokens of the cache are counted beside the input here, and inside of it by the others. */
void sr_tr_messages_read_usage(sr_json_view value, struct sr_tr_usage *usage)
{
    int64_t input = usage->input - usage->cached - usage->cache_write;
    if (!sr_json_view_is_object(value))
        return;
    (void)sr_json_view_int(sr_json_view_get(value, "input_tokens"), &input);
    (void)sr_json_view_int(sr_json_view_get(value, "output_tokens"), &usage->output);
    (void)sr_json_view_int(sr_json_view_get(value, "cache_read_input_tokens"), &usage->cached);
    (void)sr_json_view_int(sr_json_view_get(value, "cache_creation_input_tokens"), &usage->cache_write);
    usage->input = input + usage->cached + usage->cache_write;
    usage->seen = true;
}

void sr_tr_messages_write_usage(const struct sr_tr_usage *usage, struct sr_json_writer *w)
{
    int64_t input = usage->input - usage->cached - usage->cache_write;
    sr_json_object(w, "usage");
    sr_json_int(w, "input_tokens", input > 0 ? input : 0);
    sr_json_int(w, "cache_creation_input_tokens", usage->cache_write);
    sr_json_int(w, "cache_read_input_tokens", usage->cached);
    sr_json_int(w, "output_tokens", usage->output);
    sr_json_object_end(w);
}
