/* Open models in a short list, found by how they were opened and by what the file system says of their files.
 */
#include "infer/model_store.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"
#include "infer/classifier/neural.h"

#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define FILES_MAX 4096 /* of a folder that are looked at */
#define LATER_MAX 64   /* jobs that wait for the store's thread */

struct stored {
    char *key;
    uint64_t stamp; /* 0 for a model inside the executable */
    struct sr_linear *linear;
    struct sr_encoder *encoder;
    struct sr_neural *neural;
    struct sr_tokenizer *tokenizer; /* one of the four */
    bool taken;
};

struct engine_options {
    struct sr_infer_options options; /* cpus is `cpus` */
    char *cpus;                      /* owned; NULL: all */
};

struct sr_model_store {
    pthread_mutex_t lock; /* of everything but the memo; held while a model is opened */
    struct sr_memo *memo;
    struct sr_metrics *metrics;
    void (*batch)(void *ctx, const struct sr_infer_batch *batch); /* of the engine; or NULL */
    void *batch_ctx;
    struct sr_infer *infer;
    _Atomic(struct sr_infer *) running; /* the same, for any thread */
    struct engine_options now;          /* in force */
    struct engine_options next;         /* from the sweep on, if `adjust` */
    bool adjust;
    bool loading; /* between begin and sweep or cancel */
    bool unused;  /* the engine was started by a reload that has not succeeded */
    pthread_mutex_t later_lock;
    struct sr_workers *later; /* one thread; NULL: not started, or ended */
    bool ended;               /* it is not to be started any more */
    struct stored items[SR_MODELS_MAX];
    size_t n;
};

int sr_model_store_new(struct sr_model_store **out, struct sr_metrics *metrics)
{
    *out = sr_mem_calloc(1, sizeof **out);
    if (!*out)
        return SR_ENOMEM;
    int rc = sr_memo_new(&(*out)->memo, 0);
    if (rc) {
        sr_mem_free(*out);
        *out = NULL;
        return rc;
    }
    (*out)->metrics = metrics;
    pthread_mutex_init(&(*out)->lock, NULL);
    pthread_mutex_init(&(*out)->later_lock, NULL);
    sr_metrics_set(metrics, SR_METRIC_ENCODERS, 0, NULL);
    return SR_OK;
}

static void drop(struct stored *item)
{
    sr_linear_unref(item->linear);
    sr_encoder_unref(item->encoder);
    sr_neural_unref(item->neural);
    sr_tokenizer_unref(item->tokenizer);
    sr_mem_free(item->key);
}

/* No job of the store's thread begins any more. */
static void end_later(struct sr_model_store *models)
{
    pthread_mutex_lock(&models->later_lock);
    struct sr_workers *later = models->later;
    models->later = NULL;
    models->ended = true;
    pthread_mutex_unlock(&models->later_lock);
    sr_workers_free(later);
}

void sr_model_store_free(struct sr_model_store *models)
{
    if (!models)
        return;
    end_later(models);
    sr_infer_free(models->infer);
    for (size_t i = 0; i < models->n; i++)
        drop(&models->items[i]);
    sr_memo_unref(models->memo);
    pthread_mutex_destroy(&models->lock);
    pthread_mutex_destroy(&models->later_lock);
    sr_mem_free(models->now.cpus);
    sr_mem_free(models->next.cpus);
    sr_mem_free(models);
}

struct sr_memo *sr_model_store_memo(struct sr_model_store *models)
{
    return models ? models->memo : NULL;
}

int sr_model_store_later(struct sr_model_store *models, struct sr_job *job)
{
    pthread_mutex_lock(&models->later_lock);
    int rc = models->ended ? SR_ECLOSED : SR_OK;
    if (rc == SR_OK && !models->later)
        rc = sr_workers_new(&models->later, 1, LATER_MAX);
    if (rc == SR_OK)
        rc = sr_workers_submit(models->later, job, SR_JOB_INTERACTIVE);
    pthread_mutex_unlock(&models->later_lock);
    return rc;
}

void sr_model_store_begin(struct sr_model_store *models)
{
    pthread_mutex_lock(&models->lock);
    for (size_t i = 0; i < models->n; i++)
        models->items[i].taken = false;
    models->loading = true;
    pthread_mutex_unlock(&models->lock);
}

void sr_model_store_cancel(struct sr_model_store *models)
{
    pthread_mutex_lock(&models->lock);
    models->loading = models->adjust = false;
    pthread_mutex_unlock(&models->lock);
}

/* The lock is held: encoders were opened or dropped. */
static void count_encoders(const struct sr_model_store *models)
{
    size_t n = 0;
    for (size_t i = 0; i < models->n; i++)
        n += models->items[i].encoder != NULL;
    sr_metrics_set(models->metrics, SR_METRIC_ENCODERS, (double)n, NULL);
}

static uint64_t file_stamp(const struct stat *st, const char *name)
{
    uint64_t facts[] = {(uint64_t)st->st_dev, (uint64_t)st->st_ino, (uint64_t)st->st_size,
                        (uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec};
    return sr_hash64(sr_bytes_of(facts, sizeof facts), sr_hash64(sr_bytes_str(name), 1)) | 1;
}

/* Of the files in a folder, and of those in its folders: what stands behind the pooling is there. */
static uint64_t folder_stamp(const char *path, bool inner)
{
    struct stat st;
    uint64_t stamp = 0;
    struct dirent **entries = NULL;
    int n = scandir(path, &entries, NULL, NULL);
    for (int i = 0; i < n; i++) {
        char file[PATH_MAX];
        int length = snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
        bool counts = i < FILES_MAX && entries[i]->d_name[0] != '.' && length < (int)sizeof file;
        if (counts && stat(file, &st) == 0)
            stamp += S_ISDIR(st.st_mode) && !inner ? folder_stamp(file, true)
                                                   : file_stamp(&st, entries[i]->d_name);
        free(entries[i]); /* scandir's */
    }
    free(entries);
    return stamp;
}

uint64_t sr_model_store_stamp(const char *path)
{
    char base[SR_LOCATE_MAX];
    struct stat st;
    if (stat(path, &st))
        return 0;
    if (!S_ISDIR(st.st_mode))
        return file_stamp(&st, "");
    bool adapter = sr_encoder_base(base, path, NULL) == SR_OK && strcmp(base, path) != 0;
    return folder_stamp(path, false) + (adapter ? folder_stamp(base, false) : 0);
}

static struct stored *find(struct sr_model_store *models, const char *key, uint64_t stamp)
{
    for (size_t i = 0; i < models->n; i++)
        if (strcmp(models->items[i].key, key) == 0 && models->items[i].stamp == stamp)
            return &models->items[i];
    return NULL;
}

/* Puts an open model in, which the store owns from now on, also on an error. */
static int keep(struct sr_model_store *models, const char *key, struct stored fresh, struct stored **out,
                struct sr_err *err)
{
    fresh.key = sr_mem_dup(key, strlen(key));
    if (!fresh.key || models->n == SR_MODELS_MAX) {
        int rc = fresh.key ? SR_ELIMIT : SR_ENOMEM;
        drop(&fresh);
        if (rc == SR_ELIMIT)
            sr_err_set(err, rc, "more than %d models are open", SR_MODELS_MAX);
        else
            sr_err_set(err, rc, "out of memory");
        return rc;
    }
    *out = &models->items[models->n++];
    **out = fresh;
    return SR_OK;
}

static int open_linear(const char *path, struct sr_linear **out, struct sr_err *err)
{
    if (!*path)
        return sr_linear_open_domain(out, err);
    return strcmp(path, SR_MODEL_STORE_JAILBREAK) == 0 ? sr_linear_open_jailbreak(out, err)
                                                       : sr_linear_open_file(out, path, NULL, err);
}

/* The lock is held. */
static int take_linear(struct sr_model_store *models, const char *path, struct sr_linear **out,
                       struct sr_err *err)
{
    uint64_t stamp = *path ? sr_model_store_stamp(path) : 0;
    struct stored *item = find(models, path, stamp);
    if (!item) {
        struct stored fresh = {.stamp = stamp};
        int rc = open_linear(path, &fresh.linear, err);
        if (rc == SR_OK)
            rc = keep(models, path, fresh, &item, err);
        if (rc)
            return rc;
    }
    item->taken = true;
    *out = sr_linear_ref(item->linear);
    return SR_OK;
}

int sr_model_store_linear(struct sr_model_store *models, const char *path, struct sr_linear **out,
                          struct sr_err *err)
{
    if (!models)
        return open_linear(path, out, err);
    pthread_mutex_lock(&models->lock);
    int rc = take_linear(models, path, out, err);
    pthread_mutex_unlock(&models->lock);
    return rc;
}

/* The lock is held. */
static int take_tokenizer(struct sr_model_store *models, const char *path, struct sr_tokenizer **out,
                          struct sr_err *err)
{
    struct sr_buf key;
    sr_buf_init(&key, (size_t)1 << 16);
    uint64_t stamp = sr_model_store_stamp(path);
    int rc = sr_buf_printf(&key, "tokenizer %s", path);
    if (rc)
        sr_err_set(err, rc, "%s", sr_strerror(rc));
    struct stored *item = rc ? NULL : find(models, key.data, stamp);
    if (rc == SR_OK && !item) {
        struct stored fresh = {.stamp = stamp};
        rc = sr_tokenizer_open_file(&fresh.tokenizer, path, err);
        if (rc == SR_OK)
            rc = keep(models, key.data, fresh, &item, err);
    }
    if (rc == SR_OK) {
        item->taken = true;
        *out = sr_tokenizer_ref(item->tokenizer);
    }
    sr_buf_dispose(&key);
    return rc;
}

int sr_model_store_tokenizer(struct sr_model_store *models, const char *path, struct sr_tokenizer **out,
                             struct sr_err *err)
{
    if (!models)
        return sr_tokenizer_open_file(out, path, err);
    pthread_mutex_lock(&models->lock);
    int rc = take_tokenizer(models, path, out, err);
    pthread_mutex_unlock(&models->lock);
    return rc;
}

/* Everything that makes an open encoder what it is, and the stamp of all its folders. */
static int encoder_key(struct sr_buf *key, uint64_t *stamp, const char *folder,
                       const struct sr_encoder_options *options)
{
    *stamp = sr_model_store_stamp(folder);
    int rc = sr_buf_printf(key, "encoder %s\n%d %zu %s", folder, (int)options->precision, options->max_tokens,
                           options->task ? options->task : "");
    for (size_t i = 0; i < options->n_heads && rc == SR_OK; i++) {
        *stamp += sr_model_store_stamp(options->heads[i]);
        rc = sr_buf_printf(key, "\n%s", options->heads[i]);
    }
    return rc;
}

/* The lock is held. `opens`: one that is not open is opened, else SR_ENOENT. */
static int take_encoder(struct sr_model_store *models, const char *folder,
                        const struct sr_encoder_options *options, bool opens, struct sr_encoder **out,
                        struct sr_err *err)
{
    struct sr_buf key;
    uint64_t stamp;
    sr_buf_init(&key, (size_t)1 << 20);
    int rc = encoder_key(&key, &stamp, folder, options);
    if (rc)
        sr_err_set(err, rc, "%s", sr_strerror(rc));
    struct stored *item = rc ? NULL : find(models, key.data, stamp);
    if (rc == SR_OK && !item && !opens)
        rc = SR_ENOENT;
    if (rc == SR_OK && !item) {
        struct stored fresh = {.stamp = stamp};
        const char *slash = strrchr(folder, '/');
        struct sr_progress step;
        sr_progress_begin(&step, "model %.60s", slash && slash[1] ? slash + 1 : folder);
        rc = sr_encoder_open(&fresh.encoder, folder, options, err);
        sr_progress_end(&step);
        if (rc == SR_OK)
            rc = keep(models, key.data, fresh, &item, err);
        count_encoders(models);
        sr_mem_trim(); /* files and tables on the way took more than what stays */
    }
    if (rc == SR_OK) {
        item->taken = true;
        *out = sr_encoder_ref(item->encoder);
    }
    sr_buf_dispose(&key);
    return rc;
}

int sr_model_store_encoder(struct sr_model_store *models, const char *folder,
                           const struct sr_encoder_options *options, struct sr_encoder **out,
                           struct sr_err *err)
{
    pthread_mutex_lock(&models->lock);
    int rc = take_encoder(models, folder, options, true, out, err);
    pthread_mutex_unlock(&models->lock);
    return rc;
}

int sr_model_store_find_encoder(struct sr_model_store *models, const char *folder,
                                const struct sr_encoder_options *options, struct sr_encoder **out)
{
    pthread_mutex_lock(&models->lock);
    int rc = take_encoder(models, folder, options, false, out, NULL);
    pthread_mutex_unlock(&models->lock);
    return rc;
}

/* The lock is held. */
static int take_neural(struct sr_model_store *models, struct sr_encoder *encoder, struct sr_infer *infer,
                       const struct sr_neural_options *options, struct sr_neural **out, struct sr_err *err)
{
    char key[128];
    struct stored *item = NULL, fresh = {.neural = NULL};
    struct sr_neural_options wanted = *options;
    wanted.memo = models->memo;
    /* While the store has this neural classifier, the neural classifier holds the encoder: no other one is at
     * its place. */
    snprintf(key, sizeof key, "neural %p %zu %zu %zu %zu", (void *)encoder, options->windows.max_tokens,
             options->windows.overlap, options->windows.max_windows, options->text_bytes);
    item = find(models, key, 0);
    if (!item) {
        int rc = sr_neural_new(&fresh.neural, encoder, infer, &wanted, err);
        if (rc == SR_OK)
            rc = keep(models, key, fresh, &item, err);
        if (rc)
            return rc;
    }
    item->taken = true;
    *out = sr_neural_ref(item->neural);
    return SR_OK;
}

int sr_model_store_neural(struct sr_model_store *models, struct sr_encoder *encoder, struct sr_infer *infer,
                          const struct sr_neural_options *options, struct sr_neural **out, struct sr_err *err)
{
    pthread_mutex_lock(&models->lock);
    int rc = take_neural(models, encoder, infer, options, out, err);
    pthread_mutex_unlock(&models->lock);
    return rc;
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool same_options(const struct sr_infer_options *a, const struct sr_infer_options *b)
{
    return a->threads == b->threads && a->queue_jobs == b->queue_jobs && a->queue_tokens == b->queue_tokens &&
           a->batch_tokens == b->batch_tokens && a->long_tokens == b->long_tokens &&
           a->wait_ns == b->wait_ns && a->memory_max == b->memory_max && same_text(a->cpus, b->cpus);
}

/* A copy; what was in `out` is freed. */
static int set_options(struct engine_options *out, const struct sr_infer_options *options, struct sr_err *err)
{
    const char *list = options->cpus && *options->cpus ? options->cpus : NULL;
    char *cpus = list ? sr_mem_dup(list, strlen(list)) : NULL;
    if (list && !cpus)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    sr_mem_free(out->cpus);
    *out = (struct engine_options){.options = *options, .cpus = cpus};
    out->options.cpus = cpus;
    return SR_OK;
}

/* The lock is held. */
static int start_infer(struct sr_model_store *models, const struct sr_infer_options *options,
                       struct sr_err *err)
{
    int rc = set_options(&models->now, options, err);
    if (rc == SR_OK)
        rc = sr_infer_new(&models->infer, &models->now.options, err);
    if (rc)
        return rc;
    models->unused = models->loading;
    atomic_store(&models->running, models->infer);
    return SR_OK;
}

/* The lock is held. `next` is in force from now on. */
static void adjust(struct sr_model_store *models)
{
    struct sr_err err = {0};
    if (sr_infer_adjust(models->infer, &models->next.options, &err)) {
        sr_log(SR_LOG_WARN, "infer_adjust", "%s", err.message);
        return;
    }
    sr_mem_free(models->now.cpus);
    models->now = models->next;
    models->next = (struct engine_options){.cpus = NULL};
}

/* The lock is held. A router that is not being loaded gets the engine as it is, unless no router has had it:
 * what this one says is in force. */
static int take_infer(struct sr_model_store *models, const struct sr_infer_options *options,
                      struct sr_infer **out, struct sr_err *err)
{
    struct sr_infer_options wanted = *options;
    wanted.metrics = models->metrics;
    wanted.batch = models->batch;
    wanted.batch_ctx = models->batch_ctx;
    int rc = SR_OK;
    if (!models->infer) {
        rc = start_infer(models, &wanted, err);
    } else if (!same_options(&models->now.options, options) && (models->loading || models->unused)) {
        rc = sr_infer_check(&wanted, err);
        if (rc == SR_OK)
            rc = set_options(&models->next, &wanted, err);
        models->adjust = rc == SR_OK && models->loading;
        if (rc == SR_OK && !models->loading)
            adjust(models);
    }
    if (rc == SR_OK)
        models->unused &= models->loading;
    *out = rc ? NULL : models->infer;
    return rc;
}

void sr_model_store_set_batch(struct sr_model_store *models,
                              void (*batch)(void *ctx, const struct sr_infer_batch *batch), void *ctx)
{
    models->batch = batch;
    models->batch_ctx = ctx;
}

int sr_model_store_infer(struct sr_model_store *models, const struct sr_infer_options *options,
                         struct sr_infer **out, struct sr_err *err)
{
    pthread_mutex_lock(&models->lock);
    int rc = take_infer(models, options, out, err);
    pthread_mutex_unlock(&models->lock);
    return rc;
}

void sr_model_store_sweep(struct sr_model_store *models)
{
    size_t kept = 0;
    pthread_mutex_lock(&models->lock);
    for (size_t i = 0; i < models->n; i++)
        if (models->items[i].taken)
            models->items[kept++] = models->items[i];
        else
            drop(&models->items[i]);
    models->n = kept;
    count_encoders(models);
    if (models->adjust)
        adjust(models);
    models->adjust = models->loading = models->unused = false;
    pthread_mutex_unlock(&models->lock);
}

uint64_t sr_model_store_rest_ns(struct sr_model_store *models)
{
    struct sr_infer *infer = atomic_load(&models->running);
    return infer ? sr_infer_stats(infer).rest_ns : 0;
}
