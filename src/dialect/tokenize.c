/* Tokens of texts and chats, and texts of tokens: POST /tokenize, /detokenize, with or without /v1. */
#include "dialect/openai.h"
#include "dialect/registry.h"
#include "dialect/rows.h"

static const struct sr_path_spec request[] = {
    SR_ROWS_COMMON,
    SR_ROWS_EXTRA,
    SR_ROWS_CHAT,
    {"prompt", SR_AT_PROMPT, SR_CLASS_JUDGED},
    {"prompt[]", SR_AT_PROMPT_ITEM, SR_CLASS_JUDGED},
    SR_ROW_TOKENS("tokens"),
    SR_ROW_INERT("return_token_strs"),
};

static const char *const more[] = {"/tokenize", "/v1/detokenize", "/detokenize", NULL};

const struct sr_dialect_ops sr_dialect_tokenize = {
    .name = "tokenize",
    .path = "/v1/tokenize",
    .more = more,
    .request = SR_DIALECT_TABLE(request),
    SR_OPENAI_WRITERS,
};
