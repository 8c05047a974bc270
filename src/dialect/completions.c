/* Completions of a prompt: POST /v1/completions. */
#include "dialect/openai.h"
#include "dialect/registry.h"
#include "dialect/rows.h"

static const struct sr_path_spec request[] = {
    SR_ROWS_COMMON,
    SR_ROWS_EXTRA,
    SR_ROWS_SAMPLING,
    {"prompt", SR_AT_PROMPT, SR_CLASS_JUDGED},
    {"prompt[]", SR_AT_PROMPT_ITEM, SR_CLASS_JUDGED},
    SR_ROW_TEXT("suffix"),
    SR_ROW_TEXT("messages"),
    {"system", SR_AT_SYSTEM, SR_CLASS_JUDGED},
};

const struct sr_dialect_ops sr_dialect_completions = {
    .name = "completions",
    .path = "/v1/completions",
    .request = SR_DIALECT_TABLE(request),
    .answer = {sr_openai_answers, SR_OPENAI_ANSWERS},
    .generates = true,
    .routes_auto = true,
    .takes_usage_option = true,
    .done = SR_OPENAI_DONE,
    .error = sr_openai_error,
    .error_event = sr_openai_error_event,
    .completion = sr_text_completion,
    .completion_stream = sr_text_completion_stream,
    .stream_end = sr_text_stream_end,
};
