/*
 * Any bytes as adapter_config.json, category_mapping.json and adapter_model.safetensors of an adapter (each
 * up to the first NUL, the last whole), on a tiny BERT.
 *
 * Properties: as a head on the model and alone beside it, an open that fails says why and what opened runs; a
 * search among the folders names one that is there or none.
 */
#include "encoder_kit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void search(void)
{
    static const char *const tasks[] = {"domain", "pii", "embedding"};
    struct sr_encoder_candidate found[2];
    struct sr_err err = {0};
    size_t n;
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        kit_check(sr_encoder_candidates(kit_root, tasks[i], found, 2, &n, &err) == SR_OK && n <= 2);
        for (size_t k = 0; k < n; k++)
            kit_check(!strcmp(found[k].name, "base") || !strcmp(found[k].name, "adapter"));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char base[96], adapter[96];
    const char *const heads[] = {adapter};
    struct sr_encoder_options head = {.precision = SR_PRECISION_FP32, .heads = heads, .n_heads = 1};
    struct sr_encoder_options alone = {.precision = SR_PRECISION_FP32, .task = "domain"};
    if (!kit_root[0]) {
        kit_begin();
        kit_folder("base");
        kit_folder("adapter");
        kit_put_model("base");
        snprintf(base, sizeof base, "%s/base", kit_root);
        snprintf(adapter, sizeof adapter, "%s/adapter", kit_root);
    }
    struct sr_bytes config = kit_part(&data, &size), labels = kit_part(&data, &size);
    kit_put("adapter/adapter_config.json", config.p, config.n);
    kit_put("adapter/category_mapping.json", labels.p, labels.n);
    kit_put("adapter/adapter_model.safetensors", data, size);
    kit_open_and_run(base, &head);
    kit_open_and_run(adapter, &alone);
    search();
    return 0;
}
