/* Images from text: POST /v1/images/generations. Edits arrive as forms, or as JSON. */
#include "dialect/openai.h"
#include "dialect/registry.h"
#include "dialect/rows.h"

static const struct sr_path_spec request[] = {
    SR_ROWS_COMMON,
    SR_ROWS_EXTRA,
    {"prompt", SR_AT_PROMPT, SR_CLASS_JUDGED},
    SR_ROW_TEXT("negative_prompt"),
    SR_ROW_IMAGE("image"),
    SR_ROW_IMAGE("mask"),
    {"n", SR_AT_N, SR_CLASS_INERT},
    SR_ROW_INERT("size"),
    SR_ROW_INERT("quality"),
    SR_ROW_INERT("style"),
    SR_ROW_INERT("background"),
    SR_ROW_INERT("moderation"),
    SR_ROW_INERT("output_format"),
    SR_ROW_INERT("output_compression"),
    SR_ROW_INERT("partial_images"),
    SR_ROW_INERT("input_fidelity"),
    SR_ROW_INERT("response_format"),
    SR_ROW_INERT("seed"),
};

static const char *const more[] = {"/v1/images/edits", "/v1/images/variations", NULL};

const struct sr_dialect_ops sr_dialect_images = {
    .name = "images",
    .path = "/v1/images/generations",
    .more = more,
    .takes_forms = true,
    .request = SR_DIALECT_TABLE(request),
    SR_OPENAI_WRITERS,
};
