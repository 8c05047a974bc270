/* Scores of pairs of texts: POST /v1/score, /score. Either side is a string, a list, or a list of parts. */
#include "dialect/openai.h"
#include "dialect/registry.h"
#include "dialect/rows.h"

static const struct sr_path_spec request[] = {
    SR_ROWS_COMMON,
    SR_ROWS_EXTRA,
    {"text_1", SR_AT_PROMPT, SR_CLASS_JUDGED},
    {"text_1[]", SR_AT_DOCUMENT, SR_CLASS_JUDGED},
    {"text_2", SR_AT_PROMPT, SR_CLASS_JUDGED},
    {"text_2[]", SR_AT_DOCUMENT, SR_CLASS_JUDGED},
    {"queries", SR_AT_PROMPT, SR_CLASS_JUDGED},
    {"queries[]", SR_AT_DOCUMENT, SR_CLASS_JUDGED},
    {"documents", SR_AT_PROMPT, SR_CLASS_JUDGED},
    {"documents[]", SR_AT_DOCUMENT, SR_CLASS_JUDGED},
    {"items", SR_AT_PROMPT, SR_CLASS_JUDGED},
    {"items[]", SR_AT_DOCUMENT, SR_CLASS_JUDGED},
    {"data_1", SR_AT_PROMPT, SR_CLASS_JUDGED},
    {"data_1[]", SR_AT_DOCUMENT, SR_CLASS_JUDGED},
    {"data_2", SR_AT_PROMPT, SR_CLASS_JUDGED},
    {"data_2[]", SR_AT_DOCUMENT, SR_CLASS_JUDGED},
    {"query", SR_AT_PROMPT, SR_CLASS_JUDGED},
    {"query[]", SR_AT_DOCUMENT, SR_CLASS_JUDGED},
    SR_ROW_TEXT("instruction"),
    SR_ROW_INERT("activation"),
    SR_ROW_INERT("use_activation"),
    SR_ROW_INERT("softmax"),
};

static const char *const more[] = {"/score", NULL};

const struct sr_dialect_ops sr_dialect_score = {
    .name = "score",
    .path = "/v1/score",
    .more = more,
    .request = SR_DIALECT_TABLE(request),
    SR_OPENAI_WRITERS,
};
