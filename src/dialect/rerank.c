/* Rankings of documents: POST /v1/rerank, /rerank, /v2/rerank. */
#include "dialect/openai.h"
#include "dialect/registry.h"
#include "dialect/rows.h"

static const struct sr_path_spec request[] = {
    SR_ROWS_COMMON,
    SR_ROWS_EXTRA,
    {"query", SR_AT_PROMPT, SR_CLASS_JUDGED},
    SR_ROWS_MEDIA("query."),
    SR_ROW_MIXED("documents"),
    {"documents[]", SR_AT_DOCUMENT, SR_CLASS_JUDGED},
    SR_ROW_TEXT("documents[].text"),
    SR_ROW_MIXED("documents[].content"),
    SR_ROWS_MEDIA("documents[]."),
    SR_ROW_TEXT("instruction"),
    SR_ROW_INERT("top_n"),
    SR_ROW_INERT("return_documents"),
    SR_ROW_INERT("max_tokens_per_doc"),
    SR_ROW_INERT("max_chunks_per_doc"),
    SR_ROW_TEXT("rank_fields"),
    SR_ROW_INERT("activation"),
    SR_ROW_INERT("use_activation"),
};

static const char *const more[] = {"/rerank", "/v2/rerank", NULL};

const struct sr_dialect_ops sr_dialect_rerank = {
    .name = "rerank",
    .path = "/v1/rerank",
    .more = more,
    .request = SR_DIALECT_TABLE(request),
    SR_OPENAI_WRITERS,
};
