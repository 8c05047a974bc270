/* Groups of texts over windows.h and engine.h. */
#include "infer/embed.h"

#include "base/mem.h"

#include <stdatomic.h>

#define MAX_TEXTS 2048u
#define MAX_IDS   131072u

struct text {
    struct sr_windows windows;
    size_t first; /* its first job */
};

struct sr_embed {
    struct sr_encoder *encoder;
    struct sr_infer *infer;
    struct sr_embed_options options;
    int head;
    size_t dimensions;
    struct sr_arena arena; /* windows and their ids */
    struct text *texts;    /* [n], room for max_texts */
    size_t n, n_jobs, total_ids;
    struct sr_infer_job *jobs; /* [n_jobs], made when it is submitted */
    float *vectors;            /* [n_jobs][dimensions] */
    atomic_size_t open;        /* jobs that are not done */
    atomic_int status;
    void (*done)(void *ctx, int status);
    void *ctx;
};

struct sr_embed_options sr_embed_defaults(const struct sr_encoder *encoder)
{
    return (struct sr_embed_options){.windows = sr_windows_defaults(sr_encoder_info(encoder)->max_tokens),
                                     .max_texts = MAX_TEXTS,
                                     .max_ids = MAX_IDS,
                                     .priority = SR_INFER_BULK};
}

static int check(const struct sr_encoder_info *info, int head, const struct sr_embed_options *options,
                 struct sr_err *err)
{
    if (head < 0 || info->heads[head].kind != SR_HEAD_EMBEDDING)
        return sr_err_set(err, SR_EUNSUPPORTED, "the model gives no embeddings");
    if (options->dimensions > info->heads[head].n_labels)
        return sr_err_set(err, SR_EINVAL, "the model's vectors have %zu dimensions",
                          info->heads[head].n_labels);
    if (options->layers > info->layers)
        return sr_err_set(err, SR_EINVAL, "the model has %zu layers", info->layers);
    return SR_OK;
}

int sr_embed_new(struct sr_embed **out, struct sr_encoder *encoder, const struct sr_embed_options *options,
                 struct sr_err *err)
{
    const struct sr_encoder_info *info = sr_encoder_info(encoder);
    int head = sr_encoder_find_head(encoder, "embedding"), rc = check(info, head, options, err);
    *out = NULL;
    if (rc != SR_OK)
        return rc;
    struct sr_embed *group = sr_mem_calloc(1, sizeof *group);
    if (group)
        group->texts = sr_mem_calloc(options->max_texts ? options->max_texts : 1, sizeof *group->texts);
    if (!group || !group->texts) {
        sr_mem_free(group);
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    }
    group->encoder = sr_encoder_ref(encoder);
    group->options = *options;
    group->head = head;
    group->dimensions = options->dimensions ? options->dimensions : info->heads[head].n_labels;
    sr_arena_init(&group->arena, options->max_ids * (sizeof(int32_t) + sizeof(struct sr_window)) +
                                     options->max_texts * 2 * sizeof(struct sr_window) + ((size_t)1 << 20));
    *out = group;
    return SR_OK;
}

void sr_embed_free(struct sr_embed *group)
{
    if (!group)
        return;
    sr_arena_dispose(&group->arena);
    sr_encoder_unref(group->encoder);
    sr_mem_free(group->texts);
    sr_mem_free(group->jobs);
    sr_mem_free(group->vectors);
    sr_mem_free(group);
}

int sr_embed_add(struct sr_embed *group, struct sr_bytes text)
{
    if (group->n == group->options.max_texts)
        return SR_ELIMIT;
    struct text *added = &group->texts[group->n];
    struct sr_windows *windows = &added->windows;
    int rc = sr_windows_cut(windows, sr_encoder_tokenizer(group->encoder), text, &group->options.windows,
                            &group->arena);
    if (rc != SR_OK)
        return rc;
    if (windows->total_ids == 0)
        return SR_EINVAL;
    if (windows->total_ids > group->options.max_ids - group->total_ids)
        return SR_ELIMIT;
    added->first = group->n_jobs;
    group->total_ids += windows->total_ids;
    group->n_jobs += windows->n;
    group->n++;
    return SR_OK;
}

void sr_embed_set_priority(struct sr_embed *group, enum sr_infer_priority priority)
{
    group->options.priority = priority;
}

size_t sr_embed_count(const struct sr_embed *group)
{
    return group->n;
}

size_t sr_embed_dimensions(const struct sr_embed *group)
{
    return group->dimensions;
}

const struct sr_windows *sr_embed_windows(const struct sr_embed *group, size_t i)
{
    return &group->texts[i].windows;
}

static void job_done(struct sr_infer_job *job, int status)
{
    struct sr_embed *group = job->owner;
    int none = SR_OK;
    if (status != SR_OK)
        atomic_compare_exchange_strong(&group->status, &none, status);
    if (atomic_fetch_sub(&group->open, 1) == 1 && group->done)
        group->done(group->ctx, atomic_load(&group->status));
}

static int make_jobs(struct sr_embed *group)
{
    size_t at = 0;
    group->jobs = sr_mem_calloc(group->n_jobs, sizeof *group->jobs);
    group->vectors = sr_mem_calloc(group->n_jobs * group->dimensions, sizeof *group->vectors);
    if (!group->jobs || !group->vectors)
        return SR_ENOMEM;
    for (size_t i = 0; i < group->n; i++)
        for (size_t k = 0; k < group->texts[i].windows.n; k++, at++) {
            struct sr_infer_job *job = &group->jobs[at];
            job->encoder = group->encoder;
            job->priority = group->options.priority;
            job->client = group->options.client;
            job->origin = group->options.origin;
            job->owner = group;
            job->done = job_done;
            job->item.ids = group->texts[i].windows.items[k].ids;
            job->item.n_ids = group->texts[i].windows.items[k].n_ids;
            job->item.heads = UINT32_C(1) << group->head;
            job->item.layers = group->options.layers;
            job->item.dimensions = group->options.dimensions;
            job->item.out[group->head] = group->vectors + at * group->dimensions;
        }
    return SR_OK;
}

int sr_embed_submit(struct sr_embed *group, struct sr_infer *infer, void (*done)(void *ctx, int status),
                    void *ctx)
{
    int rc = group->n ? make_jobs(group) : SR_EINVAL;
    if (rc != SR_OK)
        return rc;
    group->infer = infer;
    group->done = done;
    group->ctx = ctx;
    atomic_store(&group->open, group->n_jobs);
    return sr_infer_submit_all(infer, group->jobs, group->n_jobs);
}

void sr_embed_cancel(struct sr_embed *group)
{
    for (size_t i = 0; i < group->n_jobs; i++)
        sr_infer_cancel(group->infer, &group->jobs[i]);
}

int sr_embed_run(struct sr_embed *group, struct sr_infer *infer)
{
    int rc = group->n ? make_jobs(group) : SR_EINVAL;
    return rc == SR_OK ? sr_infer_run(infer, group->jobs, group->n_jobs) : rc;
}

void sr_embed_vector(const struct sr_embed *group, size_t i, float *out)
{
    const struct text *text = &group->texts[i];
    sr_windows_join(&text->windows, group->vectors + text->first * group->dimensions, group->dimensions, out);
}
