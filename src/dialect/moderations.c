/* Moderations: POST /v1/moderations. The input is a string, a list of strings, or a list of parts. */
#include "dialect/openai.h"
#include "dialect/registry.h"
#include "dialect/rows.h"

static const struct sr_path_spec request[] = {
    SR_ROWS_COMMON,
    SR_ROWS_EXTRA,
    {"input", SR_AT_PROMPT, SR_CLASS_JUDGED},
    {"input[]", SR_AT_PROMPT_ITEM, SR_CLASS_JUDGED},
    {"input[].type", SR_AT_TYPE, SR_CLASS_INERT},
    SR_ROW_TEXT("input[].text"),
    SR_ROW_IMAGE("input[].image_url"),
};

const struct sr_dialect_ops sr_dialect_moderations = {
    .name = "moderations",
    .path = "/v1/moderations",
    .request = SR_DIALECT_TABLE(request),
    SR_OPENAI_WRITERS,
};
