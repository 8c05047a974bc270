/* Any other POST below /v1 that names its model: of the body only `model` and, for guards, the members
 * with texts are known. */
#include "dialect/openai.h"
#include "dialect/registry.h"

static const struct sr_path_spec request[] = {
    {"model", SR_AT_MODEL, SR_CLASS_INERT},
    {"stream", SR_AT_STREAM, SR_CLASS_INERT},
    {"input", SR_AT_PROMPT, SR_CLASS_JUDGED},
    {"input[]", SR_AT_PROMPT_ITEM, SR_CLASS_JUDGED},
    {"input[].content", SR_AT_PROMPT_ITEM, SR_CLASS_JUDGED},
    {"input[].content[].text", SR_AT_PROMPT_ITEM, SR_CLASS_JUDGED},
    {"input[].output", SR_AT_PROMPT_ITEM, SR_CLASS_JUDGED},
    {"input[].arguments", SR_AT_PROMPT_ITEM, SR_CLASS_JUDGED},
    {"instructions", SR_AT_PROMPT_ITEM, SR_CLASS_JUDGED},
    {"prompt", SR_AT_PROMPT_ITEM, SR_CLASS_JUDGED},
    {"query", SR_AT_PROMPT_ITEM, SR_CLASS_JUDGED},
    {"documents[]", SR_AT_PROMPT_ITEM, SR_CLASS_JUDGED},
    {"documents[].text", SR_AT_PROMPT_ITEM, SR_CLASS_JUDGED},
};

/* The shape of its events is unknown, so the stream ends with an error event, which all APIs share. */
static int stream_end(const struct sr_stream_end *end, struct sr_buf *out)
{
    return sr_buf_printf(out,
                         "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"content_filter\","
                         "\"code\":\"%s\",\"message\":\"The rest of the answer was blocked.\"}}\n\n",
                         end->code);
}

const struct sr_dialect_ops sr_dialect_other = {
    .name = "other",
    .request = SR_DIALECT_TABLE(request),
    .answer = {sr_openai_answers, SR_OPENAI_ANSWERS},
    .done = SR_OPENAI_DONE,
    .error = sr_openai_error,
    .error_event = sr_openai_error_event,
    .completion = sr_text_completion,
    .completion_stream = sr_text_completion_stream,
    .stream_end = stream_end,
};
