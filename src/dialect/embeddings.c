/* Embeddings: POST /v1/embeddings. Vectors of different models are not comparable, so a request must name
 * its model; an automatic name means the router's own encoder. */
#include "dialect/openai.h"
#include "dialect/registry.h"
#include "dialect/rows.h"

static const struct sr_path_spec request[] = {
    SR_ROWS_COMMON,
    SR_ROWS_EXTRA,
    SR_ROWS_CHAT,
    {"input", SR_AT_PROMPT, SR_CLASS_JUDGED},
    {"input[]", SR_AT_PROMPT_ITEM, SR_CLASS_JUDGED},
    SR_ROWS_MEDIA("input[]."),
    SR_ROWS_MEDIA("input."),
    SR_ROW_TEXT("instruction"),
    SR_ROW_INERT("input_type"),
    SR_ROW_INERT("task"),
    SR_ROW_INERT("truncate"),
    SR_ROW_INERT("normalize"),
    SR_ROW_INERT("embed_dtype"),
    SR_ROW_INERT("endianness"),
};

const struct sr_dialect_ops sr_dialect_embeddings = {
    .name = "embeddings",
    .path = "/v1/embeddings",
    .embeds = true,
    .request = SR_DIALECT_TABLE(request),
    .answer = {sr_openai_answers, SR_OPENAI_ANSWERS},
    .done = SR_OPENAI_DONE,
    .error = sr_openai_error,
    .error_event = sr_openai_error_event,
    .completion = sr_text_completion,
    .completion_stream = sr_text_completion_stream,
    .stream_end = sr_text_stream_end,
};
