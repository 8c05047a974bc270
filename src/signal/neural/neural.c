/*
 * Opens the neural tier.
 *
 * The neural classifier's heads are opened only if rules need them and a result of the linear tier can be
 * too uncertain: their adapted trunk needs as much memory as the plain one. If the neural classifier has
 * the precision of the encoder, they are one object.
 */
#include "signal/neural/neural.h"

#include "base/clock.h"
#include "base/log.h"
#include "infer/classifier/neural.h"

#include <stdio.h>
#include <unistd.h>

#define TOKENS_PER_JOB 256u /* highest average of a waiting job */
#define DEFAULT_NEURAL "neural"

_Static_assert((int)SR_CONFIG_FP32 == SR_PRECISION_FP32 && (int)SR_CONFIG_BF16 == SR_PRECISION_BF16 &&
                   (int)SR_CONFIG_INT8 == SR_PRECISION_INT8,
               "a configured precision is the kernels'");

int sr_signal_infer(const struct sr_config *config, struct sr_model_store *models, struct sr_infer **out,
                    struct sr_err *err)
{
    const struct sr_config_inference *wanted = &config->global.inference;
    struct sr_infer_options options = sr_infer_defaults();
    options.threads = (unsigned)wanted->threads;
    options.cpus = wanted->cpus;
    if (wanted->memory_max)
        options.memory_max = wanted->memory_max;
    if (wanted->queue_jobs)
        options.queue_jobs = (size_t)wanted->queue_jobs;
    if (wanted->batch_tokens)
        options.batch_tokens = (size_t)wanted->batch_tokens;
    options.queue_tokens = options.queue_jobs * TOKENS_PER_JOB;
    options.long_tokens = options.batch_tokens;
    options.wait_ns = (uint64_t)wanted->batch_wait_us * SR_NS_PER_US;
    return sr_model_store_infer(models, &options, out, err);
}

static void say_open(const struct sr_encoder_info *info, uint64_t ns)
{
    static const char *const precisions[] = {"fp32", "bf16", "int8"};
    sr_log(SR_LOG_INFO, "encoder_ready", "%s: %s, %zu layers of %zu, %s, %.1f MB of weights, in %.0f ms",
           info->folder, info->architecture, info->layers, info->hidden, precisions[info->precision],
           (double)info->weight_bytes / 1e6, (double)ns / 1e6);
}

static bool is_named(const char *name)
{
    return name && *name;
}

/* True when the folder has a model card (data and figures); without one it is never a default. */
static bool has_card(const char *folder)
{
    char path[SR_LOCATE_MAX + sizeof "/card.md"];
    snprintf(path, sizeof path, "%s/card.md", folder);
    return access(path, R_OK) == 0;
}

bool sr_signal_has_neural(void)
{
    char folder[SR_LOCATE_MAX];
    return sr_locate_model(folder, DEFAULT_NEURAL, NULL) == SR_OK && has_card(folder);
}

bool sr_signal_wants_neural(const struct sr_config *config)
{
    const struct sr_config_inference *wanted = &config->global.inference;
    if (wanted->ask_below <= 0)
        return false;
    if (is_named(wanted->neural) || wanted->alone)
        return true;
    return !is_named(wanted->encoder) && sr_signal_has_neural();
}

int sr_signal_open_encoder(struct sr_model_store *models, const char *folder, const char *heads,
                           const char *task, int precision, struct sr_encoder **out, struct sr_err *err)
{
    struct sr_encoder_options options = {
        .precision = (enum sr_precision)precision, .task = task, .heads = &heads, .n_heads = heads != NULL};
    uint64_t start = sr_clock_ns();
    int rc = sr_model_store_encoder(models, folder, &options, out, err);
    if (rc == SR_OK && sr_clock_ns() - start > SR_NS_PER_MS) /* opened, not taken */
        say_open(sr_encoder_info(*out), sr_clock_ns() - start);
    return rc;
}

/* Opens the encoder, with or without the neural classifier's heads. */
static int open_trunk(const struct sr_config *config, struct sr_model_store *models, bool neural,
                      int precision, struct sr_encoder **out, struct sr_err *err)
{
    const struct sr_config_inference *wanted = &config->global.inference;
    char folder[SR_LOCATE_MAX], heads[SR_LOCATE_MAX];
    int rc = sr_locate_model(folder, wanted->encoder, err);
    if (rc)
        return rc;
    if (neural)
        rc = sr_locate_model(heads, is_named(wanted->neural) ? wanted->neural : DEFAULT_NEURAL, err);
    if (rc) /* not SR_ENOENT: the encoder exists, the configured neural classifier does not */
        return rc == SR_ENOENT ? SR_EINVAL : rc;
    return sr_signal_open_encoder(models, folder, neural ? heads : NULL, NULL, precision, out, err);
}

int sr_signal_encoder(const struct sr_config *config, struct sr_model_store *models, struct sr_encoder **out,
                      struct sr_err *err)
{
    const struct sr_config_inference *wanted = &config->global.inference;
    bool shared = wanted->neural_precision == wanted->precision && sr_signal_wants_neural(config);
    return open_trunk(config, models, shared, wanted->precision, out, err);
}

int sr_signal_named_encoder(const struct sr_config *config, const char *name, struct sr_model_store *models,
                            struct sr_encoder **out, struct sr_err *err)
{
    char folder[SR_LOCATE_MAX];
    int precision = config->global.inference.precision == SR_CONFIG_BF16 ? SR_CONFIG_BF16 : SR_CONFIG_INT8;
    int rc = sr_locate_model(folder, name, err);
    return rc ? rc : sr_signal_open_encoder(models, folder, NULL, NULL, precision, out, err);
}

static int make_neural(const struct sr_config *config, struct sr_model_store *models,
                       struct sr_encoder *encoder, const struct sr_neural_options *options,
                       struct sr_neural **out, struct sr_err *err)
{
    struct sr_infer *infer;
    int rc = sr_signal_infer(config, models, &infer, err);
    return rc ? rc : sr_model_store_neural(models, encoder, infer, options, out, err);
}

int sr_signal_neural(const struct sr_config *config, struct sr_model_store *models, struct sr_neural **out,
                     struct sr_err *err)
{
    struct sr_encoder *encoder = NULL;
    if (!sr_signal_wants_neural(config))
        return SR_ENOENT;
    int rc = open_trunk(config, models, true, config->global.inference.neural_precision, &encoder, err);
    struct sr_neural_options options = sr_neural_defaults();
    options.text_bytes = config->global.inference.neural_max;
    if (rc == SR_OK)
        rc = make_neural(config, models, encoder, &options, out, err);
    sr_encoder_unref(encoder);
    return rc;
}

int sr_signal_find_model(const struct sr_config *config, const char *task, const char *named,
                         char out[SR_LOCATE_MAX], struct sr_err *err)
{
    const char *folder = config->global.inference.models_folder;
    struct sr_encoder_candidate best;
    size_t n = 0;
    bool search = !is_named(named) && is_named(folder);
    int rc = search ? sr_encoder_candidates(folder, task, &best, 1, &n, err) : SR_OK;
    int length = n        ? snprintf(out, SR_LOCATE_MAX, "%s/%s", folder, best.name)
                 : search ? snprintf(out, SR_LOCATE_MAX, "%s", "")
                          : snprintf(out, SR_LOCATE_MAX, "%s", named ? named : "");
    if (rc == SR_OK && length >= SR_LOCATE_MAX)
        rc = sr_err_set(err, SR_ELIMIT, "the path of the model for `%s` is too long", task);
    if (rc == SR_OK && search && n == 0)
        sr_log(SR_LOG_INFO, "model_not_found", "%s has no model for `%s`: the bundled models answer", folder,
               task);
    return rc;
}

int sr_signal_own_neural(const struct sr_config *config, struct sr_model_store *models, const char *folder,
                         const char *task, struct sr_neural **out, struct sr_err *err)
{
    struct sr_encoder *encoder = NULL;
    int rc =
        sr_signal_open_encoder(models, folder, NULL, task, config->global.inference.precision, &encoder, err);
    struct sr_neural_options options = sr_neural_own_defaults();
    if (rc == SR_OK)
        rc = make_neural(config, models, encoder, &options, out, err);
    sr_encoder_unref(encoder);
    return rc;
}

int sr_signal_fusion(const struct sr_config *config, const char *task, struct sr_fusion *out,
                     struct sr_err *err)
{
    const char *named = config->global.inference.neural;
    char folder[SR_LOCATE_MAX];
    int rc = sr_locate_model(folder, is_named(named) ? named : DEFAULT_NEURAL, err);
    if (rc == SR_OK)
        rc = sr_fusion_read(out, folder, task, err);
    return rc == SR_ENOENT ? SR_OK : rc;
}

int sr_signal_thresholds(const struct sr_config *config, const char *task, const char *const *types, size_t n,
                         float *out, struct sr_err *err)
{
    const char *named = config->global.inference.neural;
    char folder[SR_LOCATE_MAX];
    int rc = sr_locate_model(folder, is_named(named) ? named : DEFAULT_NEURAL, err);
    return rc ? rc : sr_fusion_thresholds(out, types, n, folder, task, err);
}
