/* Opens the encoder once, whichever thread asks first; the others wait for it. */
#include "signal/neural/multilingual.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/ref.h"
#include "infer/locate.h"
#include "signal/neural/neural.h"
#include "text/english.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#define HEADS "neural-multilingual"

struct sr_multilingual {
    struct sr_ref ref; /* of its owner, and of its job */
    struct sr_model_store *models;
    struct sr_infer *infer;
    enum sr_config_multilingual use;
    int precision;
    size_t text_bytes;
    char folder[SR_LOCATE_MAX], heads[SR_LOCATE_MAX];
    pthread_mutex_t lock; /* while it is opened */
    _Atomic(struct sr_neural *) neural;
    atomic_bool failed, closed;
    atomic_bool asked;    /* the job was submitted once */
    struct sr_job opener; /* opens it on the store's thread */
};

static int locate(struct sr_multilingual *m, struct sr_err *err)
{
    char card[SR_LOCATE_MAX + sizeof "/card.md"];
    int rc = sr_locate_model(m->folder, SR_LOCATE_MULTILINGUAL, err);
    if (rc == SR_OK)
        rc = sr_locate_model(m->heads, HEADS, err);
    if (rc)
        return rc;
    snprintf(card, sizeof card, "%s/card.md", m->heads);
    return access(card, R_OK) == 0 ? SR_OK : sr_err_set(err, SR_ENOENT, "%s is missing", card);
}

/* `known`: only if the store has the encoder already, else SR_ENOENT. */
static int open_neural(struct sr_multilingual *m, bool known, struct sr_neural **out, struct sr_err *err)
{
    const char *heads = m->heads;
    struct sr_encoder_options how = {
        .precision = (enum sr_precision)m->precision, .heads = &heads, .n_heads = 1};
    struct sr_neural_options options = sr_neural_defaults();
    struct sr_encoder *encoder = NULL;
    options.text_bytes = m->text_bytes;
    int rc = known ? sr_model_store_find_encoder(m->models, m->folder, &how, &encoder)
                   : sr_signal_open_encoder(m->models, m->folder, heads, NULL, m->precision, &encoder, err);
    if (rc == SR_OK)
        rc = sr_model_store_neural(m->models, encoder, m->infer, &options, out, err);
    sr_encoder_unref(encoder);
    return rc;
}

int sr_multilingual_new(struct sr_multilingual **out, const struct sr_config *config,
                        struct sr_model_store *models, struct sr_err *err)
{
    const struct sr_config_inference *wanted = &config->global.inference;
    struct sr_neural *known = NULL;
    *out = NULL;
    bool own = *(wanted->neural ? wanted->neural : "") || *(wanted->encoder ? wanted->encoder : "");
    bool always = wanted->multilingual == SR_CONFIG_MULTILINGUAL_ALWAYS;
    if (!models || wanted->multilingual == SR_CONFIG_MULTILINGUAL_OFF || (own && !always))
        return SR_OK;
    struct sr_multilingual *m = sr_mem_calloc(1, sizeof *m);
    if (!m)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    sr_ref_init(&m->ref);
    pthread_mutex_init(&m->lock, NULL);
    m->models = models;
    m->use = (enum sr_config_multilingual)wanted->multilingual;
    m->precision = wanted->neural_precision == SR_CONFIG_BF16 ? SR_CONFIG_BF16 : SR_CONFIG_INT8;
    m->text_bytes = wanted->neural_max;
    int rc = locate(m, err);
    if (rc == SR_ENOENT && always)
        rc = SR_EINVAL;
    if (rc == SR_OK)
        rc = sr_signal_infer(config, models, &m->infer, err);
    if (rc == SR_OK && open_neural(m, true, &known, err) == SR_OK)
        atomic_store(&m->neural, known);
    if (rc == SR_OK)
        *out = m;
    else
        sr_multilingual_free(m);
    return rc;
}

static void unref(struct sr_multilingual *multilingual)
{
    if (!sr_ref_put(&multilingual->ref))
        return;
    sr_neural_unref(atomic_load(&multilingual->neural));
    pthread_mutex_destroy(&multilingual->lock);
    sr_mem_free(multilingual);
}

void sr_multilingual_free(struct sr_multilingual *multilingual)
{
    if (!multilingual)
        return;
    atomic_store(&multilingual->closed, true);
    unref(multilingual);
}

static bool is_usable(const struct sr_multilingual *m)
{
    return m && !atomic_load(&m->failed);
}

bool sr_multilingual_reads(const struct sr_multilingual *multilingual, struct sr_bytes text)
{
    if (!is_usable(multilingual))
        return false;
    return multilingual->use == SR_CONFIG_MULTILINGUAL_ALWAYS || sr_script_is_foreign(text);
}

bool sr_multilingual_reads_language(const struct sr_multilingual *multilingual, struct sr_bytes text)
{
    return sr_multilingual_reads(multilingual, text) ||
           (is_usable(multilingual) && !sr_english_is_main(text));
}

size_t sr_multilingual_stretches(const struct sr_multilingual *multilingual, struct sr_bytes text,
                                 struct sr_script_stretch out[SR_SCRIPT_STRETCHES_MAX])
{
    return is_usable(multilingual) ? sr_script_stretches(text, out) : 0;
}

bool sr_multilingual_is_slow(const struct sr_multilingual *multilingual, struct sr_bytes text)
{
    struct sr_script_stretch parts[SR_SCRIPT_STRETCHES_MAX];
    if (!is_usable(multilingual) || sr_multilingual_peek(multilingual))
        return false;
    return sr_multilingual_reads(multilingual, text) || sr_script_stretches(text, parts) > 0;
}

enum sr_multilingual_part sr_multilingual_judges(const struct sr_multilingual *multilingual,
                                                 struct sr_bytes text)
{
    if (!is_usable(multilingual))
        return SR_MULTILINGUAL_NONE;
    if (sr_multilingual_reads(multilingual, text))
        return SR_MULTILINGUAL_INSTEAD;
    enum sr_english english = sr_english_by_pieces(text);
    return english == SR_ENGLISH_NONE   ? SR_MULTILINGUAL_INSTEAD
           : english == SR_ENGLISH_PART ? SR_MULTILINGUAL_BESIDE
                                        : SR_MULTILINGUAL_NONE;
}

bool sr_multilingual_is_slow_judge(const struct sr_multilingual *multilingual, struct sr_bytes text)
{
    if (!is_usable(multilingual) || sr_multilingual_peek(multilingual))
        return false;
    return sr_multilingual_is_slow(multilingual, text) ||
           sr_multilingual_judges(multilingual, text) != SR_MULTILINGUAL_NONE;
}

struct sr_neural *sr_multilingual_peek(const struct sr_multilingual *multilingual)
{
    return multilingual ? atomic_load(&multilingual->neural) : NULL;
}

struct sr_neural *sr_multilingual_open(struct sr_multilingual *multilingual)
{
    struct sr_neural *neural = sr_multilingual_peek(multilingual);
    struct sr_err err = {0};
    if (neural || !is_usable(multilingual))
        return neural;
    pthread_mutex_lock(&multilingual->lock);
    neural = sr_multilingual_peek(multilingual);
    if (!neural && is_usable(multilingual)) {
        int rc = open_neural(multilingual, false, &neural, &err);
        if (rc == SR_OK) {
            atomic_store(&multilingual->neural, neural);
        } else {
            neural = NULL;
            atomic_store(&multilingual->failed, true);
            sr_log(SR_LOG_WARN, "multilingual_failed", "%s; texts in other scripts are read as before",
                   err.message[0] ? err.message : sr_strerror(rc));
        }
    }
    pthread_mutex_unlock(&multilingual->lock);
    return neural;
}

/* On the store's thread. */
static void run_opener(struct sr_job *job)
{
    struct sr_multilingual *m =
        (struct sr_multilingual *)((char *)job - offsetof(struct sr_multilingual, opener));
    if (!atomic_load(&m->closed))
        (void)sr_multilingual_open(m);
    unref(m);
}

void sr_multilingual_open_ahead(struct sr_multilingual *multilingual)
{
    if (!is_usable(multilingual) || sr_multilingual_peek(multilingual) ||
        atomic_exchange(&multilingual->asked, true))
        return;
    multilingual->opener = (struct sr_job){.run = run_opener};
    sr_ref_get(&multilingual->ref);
    if (sr_multilingual_later(multilingual, &multilingual->opener))
        unref(multilingual);
}

int sr_multilingual_later(struct sr_multilingual *multilingual, struct sr_job *job)
{
    return is_usable(multilingual) ? sr_model_store_later(multilingual->models, job) : SR_ENOENT;
}

int sr_multilingual_second(const struct sr_multilingual *multilingual, const char *task,
                           struct sr_fusion_second *out, struct sr_err *err)
{
    return multilingual ? sr_fusion_read_second(out, multilingual->heads, task, err) : SR_ENOENT;
}

int sr_multilingual_fusion(const struct sr_multilingual *multilingual, const char *task,
                           struct sr_fusion *out, struct sr_err *err)
{
    *out = (struct sr_fusion){.neural = 1, .temperature = 1};
    int rc = multilingual ? sr_fusion_read(out, multilingual->heads, task, err) : SR_OK;
    return rc == SR_ENOENT ? SR_OK : rc;
}

int sr_multilingual_thresholds(const struct sr_multilingual *multilingual, const char *task,
                               const char *const *types, size_t n, float *out, struct sr_err *err)
{
    for (size_t i = 0; i < n; i++)
        out[i] = 0.5F;
    return multilingual ? sr_fusion_thresholds(out, types, n, multilingual->heads, task, err) : SR_OK;
}
