/* Speech from text: POST /v1/audio/speech. Transcriptions are forms (other.c). */
#include "dialect/openai.h"
#include "dialect/registry.h"
#include "dialect/rows.h"

static const struct sr_path_spec request[] = {
    SR_ROWS_COMMON,
    SR_ROWS_EXTRA,
    {"input", SR_AT_PROMPT, SR_CLASS_JUDGED},
    {"instructions", SR_AT_SYSTEM, SR_CLASS_JUDGED},
    SR_ROW_ID("voice"),
    SR_ROW_INERT("response_format"),
    SR_ROW_INERT("stream_format"),
    SR_ROW_INERT("speed"),
};

const struct sr_dialect_ops sr_dialect_speech = {
    .name = "speech",
    .path = "/v1/audio/speech",
    .request = SR_DIALECT_TABLE(request),
    SR_OPENAI_WRITERS,
};
