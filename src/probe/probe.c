/* One check for each key that names a model or a folder of models. */
#include "probe/probe.h"

#include "infer/encoder/encoder.h"
#include "infer/locate.h"

static bool is_named(const char *value, struct sr_config_position at)
{
    return value && *value && at.line;
}

/* The name or folder of an encoder. */
static void probe_encoder(struct sr_problems *problems, struct sr_config_position at, const char *key,
                          const char *name)
{
    struct sr_err err = {0};
    char folder[SR_LOCATE_MAX];
    if (is_named(name, at) && sr_locate_model(folder, name, &err))
        sr_problems_add(problems, SR_PROBLEM_ERROR, at.line, at.column, "`%s`: %s", key, err.message);
}

/* A folder of model folders must have one that some signal can use. */
static void probe_folder(struct sr_problems *problems, struct sr_config_position at, const char *key,
                         const char *folder)
{
    static const char *const tasks[] = {"domain", "jailbreak", "pii"};
    struct sr_encoder_candidate best;
    struct sr_err err = {0};
    size_t all = 0, n;
    if (!is_named(folder, at))
        return;
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++, all += n)
        if (sr_encoder_candidates(folder, tasks[i], &best, 1, &n, &err)) {
            sr_problems_add(problems, SR_PROBLEM_ERROR, at.line, at.column, "`%s`: %s", key, err.message);
            return;
        }
    if (all == 0)
        sr_problems_add(problems, SR_PROBLEM_ERROR, at.line, at.column,
                        "`%s`: %.300s has no model for domain, jailbreak or pii", key, folder);
}

void sr_probe_models(const struct sr_config *config, struct sr_problems *problems)
{
    const struct sr_config_inference *inference = &config->global.inference;
    probe_encoder(problems, inference->encoder_at, "mmbert_model_path", inference->encoder);
    probe_encoder(problems, inference->neural_at, "neural", inference->neural);
    probe_folder(problems, inference->models_folder_at, "models_folder", inference->models_folder);
}
