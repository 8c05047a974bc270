/* Any other POST below /v1 that names its model, transcriptions and translations of audio among them. Only
 * what servers share is named: the rest is judged with its keys. */
#include "dialect/openai.h"
#include "dialect/registry.h"
#include "dialect/rows.h"

static const struct sr_path_spec request[] = {
    SR_ROWS_COMMON,
    SR_ROWS_EXTRA,
    SR_ROWS_SAMPLING,
    {"input", SR_AT_PROMPT, SR_CLASS_JUDGED},
    {"input[]", SR_AT_PROMPT_ITEM, SR_CLASS_JUDGED},
    SR_ROWS_MEDIA("input[]."),
    SR_ROWS_MEDIA("input."),
    {"prompt", SR_AT_PROMPT_ITEM, SR_CLASS_JUDGED},
    {"query", SR_AT_PROMPT_ITEM, SR_CLASS_JUDGED},
    SR_ROWS_MEDIA("query."),
    SR_ROWS_COMPARED("items"),
    {"instructions", SR_AT_SYSTEM, SR_CLASS_JUDGED},
    {"system", SR_AT_SYSTEM, SR_CLASS_JUDGED},
    SR_ROW_MIXED("documents"),
    {"documents[]", SR_AT_DOCUMENT, SR_CLASS_JUDGED},
    SR_ROWS_MEDIA("documents[]."),
    SR_ROW_TEXT("messages"),
    SR_ROWS_MESSAGES,
    SR_ROWS_MEDIA("messages[].content[]."),
    SR_ROW_FILE("messages[].content[].source"),
    SR_ROW_TEXT("tools"),
    {"tools[]", SR_AT_TOOL, SR_CLASS_JUDGED},
};

const struct sr_dialect_ops sr_dialect_other = {
    .name = "other",
    .request = SR_DIALECT_TABLE(request),
    .generates = true,
    .takes_forms = true,
    SR_OPENAI_WRITERS,
};
