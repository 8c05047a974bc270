/* Scores of pairs of texts: POST /v1/score, /score. Either side is a string, token ids or an object, or a
 * list of these. */
#include "dialect/openai.h"
#include "dialect/registry.h"
#include "dialect/rows.h"

static const struct sr_path_spec request[] = {
    SR_ROWS_COMMON,
    SR_ROWS_EXTRA,
    SR_ROWS_COMPARED("text_1"),
    SR_ROWS_COMPARED("text_2"),
    SR_ROWS_COMPARED("queries"),
    SR_ROWS_COMPARED("documents"),
    SR_ROWS_COMPARED("items"),
    SR_ROWS_COMPARED("data_1"),
    SR_ROWS_COMPARED("data_2"),
    SR_ROWS_COMPARED("query"),
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
