/* The words of OpenAI's API, of Anthropic's, of vLLM and SGLang. Only these leave the router: an answer may
 * have any string there. */
#include "router/usage.h"

static const char *const names[SR_FINISH_REASONS] = {
    "stop",     "length",     "tool_calls",    "content_filter", "function_call",
    "end_turn", "max_tokens", "stop_sequence", "tool_use",       "pause_turn",
    "refusal",  "abort",      "error",         "repetition",     "other",
};

uint32_t sr_finish_bit(struct sr_bytes reason)
{
    int i = 0;
    while (i < SR_FINISH_REASONS - 1 && !sr_bytes_eq(reason, sr_bytes_str(names[i])))
        i++;
    return UINT32_C(1) << i;
}

const char *sr_finish_name(int i)
{
    return names[i];
}
