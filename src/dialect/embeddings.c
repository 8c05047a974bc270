/* Embeddings: POST /v1/embeddings. Vectors of different models are not comparable, so a request must name
 * its model. */
#include "dialect/openai.h"
#include "dialect/registry.h"

static const struct sr_path_spec request[] = {
    SR_OPENAI_COMMON,
    {"input", SR_AT_PROMPT, SR_CLASS_JUDGED},
    {"input[]", SR_AT_PROMPT_ITEM, SR_CLASS_JUDGED},
};

const struct sr_dialect_ops sr_dialect_embeddings = {
    .name = "embeddings",
    .path = "/v1/embeddings",
    .request = SR_DIALECT_TABLE(request),
    .answer = {sr_openai_answers, SR_OPENAI_ANSWERS},
    .done = SR_OPENAI_DONE,
    .error = sr_openai_error,
    .error_event = sr_openai_error_event,
    .completion = sr_text_completion,
    .completion_stream = sr_text_completion_stream,
    .stream_end = sr_text_stream_end,
};
