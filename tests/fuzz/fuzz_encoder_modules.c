/*
 * Any bytes as modules.json, 1_Pooling/config.json, 2_Dense/config.json and 2_Dense/model.safetensors of a
 * sentence-transformers folder (each up to the first NUL, the last whole), around a tiny BERT.
 *
 * Properties: an open that fails says why; what opened gives vectors of the promised size.
 */
#include "encoder_kit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"modules.json", "1_Pooling/config.json", "2_Dense/config.json"};
    struct sr_encoder_options options = {.precision = SR_PRECISION_FP32};
    if (!kit_root[0]) {
        kit_begin();
        kit_folder("1_Pooling");
        kit_folder("2_Dense");
        kit_put_model(".");
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct sr_bytes part = kit_part(&data, &size);
        kit_put(names[i], part.p, part.n);
    }
    kit_put("2_Dense/model.safetensors", data, size);
    kit_open_and_run(kit_root, &options);
    return 0;
}
