/* Classes and pooled vectors of texts or chats: POST /classify, /pooling, with or without /v1. */
#include "dialect/openai.h"
#include "dialect/registry.h"
#include "dialect/rows.h"

static const struct sr_path_spec request[] = {
    SR_ROWS_COMMON,
    SR_ROWS_EXTRA,
    SR_ROWS_CHAT,
    {"input", SR_AT_PROMPT, SR_CLASS_JUDGED},
    {"input[]", SR_AT_PROMPT_ITEM, SR_CLASS_JUDGED},
    SR_ROW_INERT("task"),
    SR_ROW_INERT("activation"),
    SR_ROW_INERT("use_activation"),
    SR_ROW_INERT("softmax"),
    SR_ROW_INERT("normalize"),
    SR_ROW_INERT("embed_dtype"),
    SR_ROW_INERT("endianness"),
};

static const char *const more[] = {"/classify", "/v1/pooling", "/pooling", NULL};

const struct sr_dialect_ops sr_dialect_classify = {
    .name = "classify",
    .path = "/v1/classify",
    .more = more,
    .request = SR_DIALECT_TABLE(request),
    SR_OPENAI_WRITERS,
};
