/* Turns texts into vectors with infer/embed.h, and memoises them. */
#include "signal/topic/embedding_reader.h"

#include "base/mem.h"
#include "infer/embed.h"

#include <stdio.h>

#define IDENTITY_MAX  192u
#define TEXTS_AT_ONCE 512u

struct sr_embedding_reader {
    struct sr_ref ref;
    struct sr_encoder *encoder;
    struct sr_infer *infer; /* the store's; outlives every reader in use */
    struct sr_memo *memo;
    struct sr_embed_options options;
    size_t dimensions;
    struct sr_memo_scope scope; /* of the vectors: model and settings */
};

struct sr_embedding_read {
    struct sr_embedding_reader *reader;
    struct sr_embed *group; /* NULL: the vector was memoised */
    struct sr_memo_key key;
    void (*done)(void *ctx, int status);
    void *ctx;
    uint64_t read_bytes;
    float vector[]; /* [dimensions] */
};

/* Writes everything that determines a vector. */
static int set_identity(struct sr_embedding_reader *reader)
{
    char identity[IDENTITY_MAX];
    const struct sr_encoder_info *info = sr_encoder_info(reader->encoder);
    const struct sr_embed_options *options = &reader->options;
    snprintf(identity, sizeof identity, "embedding %016llx %d %zu %u %u",
             (unsigned long long)sr_model_store_stamp(info->folder), (int)info->precision,
             options->windows.max_windows, options->layers, options->dimensions);
    return sr_memo_scope(&reader->scope, sr_bytes_str(identity), SR_LIT(""));
}

/* Layers and dimensions are the configured encoder's: another one is read whole. */
static int open_encoder(struct sr_embedding_reader *reader, const struct sr_config *config, const char *model,
                        struct sr_model_store *models, struct sr_err *err)
{
    int rc = model && *model ? sr_signal_named_encoder(config, model, models, &reader->encoder, err)
                             : sr_signal_encoder(config, models, &reader->encoder, err);
    if (rc)
        return model && *model && rc == SR_ENOENT ? SR_EINVAL : rc;
    reader->options = sr_embed_defaults(reader->encoder);
    if (!model || !*model) {
        reader->options.layers = (uint16_t)config->global.inference.layers;
        reader->options.dimensions = (uint16_t)config->global.inference.dimensions;
    }
    return SR_OK;
}

static int reader_open(struct sr_embedding_reader *reader, const struct sr_config *config, const char *model,
                       struct sr_model_store *models, struct sr_err *err)
{
    const struct sr_config_inference *wanted = &config->global.inference;
    struct sr_embed *probe = NULL;
    int rc = open_encoder(reader, config, model, models, err);
    if (rc == SR_OK)
        rc = sr_signal_infer(config, models, &reader->infer, err);
    if (rc)
        return rc;
    reader->options.priority = SR_INFER_INTERACTIVE;
    if (wanted->max_windows)
        reader->options.windows.max_windows = (size_t)wanted->max_windows;
    rc = sr_embed_new(&probe, reader->encoder, &reader->options, err);
    if (rc)
        return rc;
    reader->dimensions = sr_embed_dimensions(probe);
    sr_embed_free(probe);
    reader->memo = sr_memo_ref(sr_model_store_memo(models));
    return set_identity(reader);
}

int sr_embedding_reader_new(struct sr_embedding_reader **out, const struct sr_config *config,
                            const char *model, struct sr_model_store *models, struct sr_err *err)
{
    struct sr_embedding_reader *reader = sr_mem_calloc(1, sizeof *reader);
    if (!reader)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    sr_ref_init(&reader->ref);
    int rc = reader_open(reader, config, model, models, err);
    if (rc) {
        sr_embedding_reader_unref(reader);
        return rc;
    }
    *out = reader;
    return SR_OK;
}

struct sr_embedding_reader *sr_embedding_reader_ref(struct sr_embedding_reader *reader)
{
    sr_ref_get(&reader->ref);
    return reader;
}

void sr_embedding_reader_unref(struct sr_embedding_reader *reader)
{
    if (!reader || !sr_ref_put(&reader->ref))
        return;
    sr_encoder_unref(reader->encoder);
    sr_memo_unref(reader->memo);
    sr_mem_free(reader);
}

size_t sr_embedding_reader_dimensions(const struct sr_embedding_reader *reader)
{
    return reader->dimensions;
}

bool sr_embedding_reader_is_default(const struct sr_embedding_reader *reader)
{
    const char *folder = sr_encoder_info(reader->encoder)->folder, *slash = strrchr(folder, '/');
    return strcmp(slash ? slash + 1 : folder, SR_LOCATE_DEFAULT) == 0 && !reader->options.layers &&
           !reader->options.dimensions;
}

struct sr_bytes sr_embedding_reader_identity(const struct sr_embedding_reader *reader)
{
    return sr_bytes_of(reader->scope.digests, sizeof reader->scope.digests);
}

/* ---- memo: the number of bytes read, then the vector ---- */

static size_t value_size(const struct sr_embedding_reader *reader)
{
    return sizeof(uint64_t) + reader->dimensions * sizeof(float);
}

static bool recall(struct sr_embedding_reader *reader, const struct sr_memo_key *key, uint64_t *read_bytes,
                   float *vector)
{
    struct sr_arena arena;
    struct sr_bytes value;
    sr_arena_init(&arena, value_size(reader) + 4096);
    bool known = sr_memo_get(reader->memo, key, &arena, &value) == SR_OK && value.n == value_size(reader);
    if (known) {
        memcpy(read_bytes, value.p, sizeof *read_bytes);
        memcpy(vector, value.p + sizeof *read_bytes, reader->dimensions * sizeof *vector);
    }
    sr_arena_dispose(&arena);
    return known;
}

static void remember(struct sr_embedding_reader *reader, const struct sr_memo_key *key, uint64_t read_bytes,
                     const float *vector)
{
    char *value = sr_mem_alloc(value_size(reader));
    if (!value)
        return;
    memcpy(value, &read_bytes, sizeof read_bytes);
    memcpy(value + sizeof read_bytes, vector, reader->dimensions * sizeof *vector);
    sr_memo_put(reader->memo, key, sr_bytes_of(value, value_size(reader)));
    sr_mem_free(value);
}

static int key_of(const struct sr_embedding_reader *reader, struct sr_bytes text, struct sr_memo_key *key)
{
    return sr_memo_key(key, &reader->scope, text);
}

/* ---- many texts at once ---- */

/* Computes those of the n texts that are not memoised, in one group. */
static int read_some(struct sr_embedding_reader *reader, const char *const *texts, size_t n, float *vectors,
                     struct sr_err *err)
{
    struct sr_embed_options options = reader->options;
    struct sr_embed *group = NULL;
    struct sr_memo_key key;
    size_t places[TEXTS_AT_ONCE] = {0}, d = reader->dimensions;
    uint64_t ignored;
    options.priority = SR_INFER_BULK;
    options.max_texts = TEXTS_AT_ONCE;
    options.max_ids = TEXTS_AT_ONCE * options.windows.max_windows * options.windows.max_tokens;
    int rc = sr_embed_new(&group, reader->encoder, &options, err);
    for (size_t i = 0; i < n && rc == SR_OK; i++) {
        struct sr_bytes text = sr_bytes_str(texts[i]);
        rc = key_of(reader, text, &key);
        if (rc || recall(reader, &key, &ignored, vectors + i * d))
            continue;
        places[sr_embed_count(group)] = i;
        rc = sr_embed_add(group, text);
    }
    if (rc == SR_OK && sr_embed_count(group))
        rc = sr_embed_run(group, reader->infer);
    for (size_t k = 0; rc == SR_OK && k < sr_embed_count(group); k++) {
        float *vector = vectors + places[k] * d;
        struct sr_bytes text = sr_bytes_str(texts[places[k]]);
        sr_embed_vector(group, k, vector);
        if (key_of(reader, text, &key) == SR_OK)
            remember(reader, &key, sr_embed_windows(group, k)->read_bytes, vector);
    }
    sr_embed_free(group);
    return rc ? sr_err_set(err, rc, "texts cannot be embedded: %s", sr_strerror(rc)) : SR_OK;
}

int sr_embedding_reader_texts(struct sr_embedding_reader *reader, const char *const *texts, size_t n,
                              float *vectors, struct sr_progress *step, struct sr_err *err)
{
    int rc = SR_OK;
    for (size_t i = 0; i < n && rc == SR_OK; i += TEXTS_AT_ONCE) {
        if (step)
            sr_progress_set(step, i, n);
        rc = read_some(reader, texts + i, n - i < TEXTS_AT_ONCE ? n - i : TEXTS_AT_ONCE,
                       vectors + i * reader->dimensions, err);
    }
    return rc;
}

/* ---- one text, late ---- */

static void group_done(void *ctx, int status)
{
    struct sr_embedding_read *read = ctx;
    if (status == SR_OK) {
        sr_embed_vector(read->group, 0, read->vector);
        remember(read->reader, &read->key, read->read_bytes, read->vector);
    }
    read->done(read->ctx, status);
}

static int begin_group(struct sr_embedding_read *read, struct sr_bytes text, uint64_t client,
                       const struct sr_span_ref *origin)
{
    struct sr_embed_options options = read->reader->options;
    options.max_texts = 1;
    options.client = client;
    options.origin = *origin;
    int rc = sr_embed_new(&read->group, read->reader->encoder, &options, NULL);
    if (rc == SR_OK)
        rc = sr_embed_add(read->group, text);
    if (rc)
        return rc;
    read->read_bytes = sr_embed_windows(read->group, 0)->read_bytes;
    rc = sr_embed_submit(read->group, read->reader->infer, group_done, read);
    return rc ? rc : SR_AGAIN;
}

int sr_embedding_read_start(struct sr_embedding_read **out, struct sr_embedding_reader *reader,
                            struct sr_bytes text, uint64_t client, const struct sr_span_ref *origin,
                            void (*done)(void *ctx, int status), void *ctx)
{
    *out = NULL;
    struct sr_embedding_read *read =
        sr_mem_calloc(1, sizeof *read + reader->dimensions * sizeof read->vector[0]);
    if (!read)
        return SR_ENOMEM;
    read->reader = sr_embedding_reader_ref(reader);
    read->done = done;
    read->ctx = ctx;
    *out = read; /* before the result can arrive */
    int rc = key_of(reader, text, &read->key);
    if (rc == SR_OK && !recall(reader, &read->key, &read->read_bytes, read->vector))
        rc = begin_group(read, text, client, origin);
    if (rc && rc != SR_AGAIN) {
        *out = NULL;
        sr_embedding_read_free(read);
    }
    return rc;
}

struct sr_embedding_answer sr_embedding_read_answer(const struct sr_embedding_read *read)
{
    return (struct sr_embedding_answer){read->vector, read->read_bytes, read->group == NULL};
}

void sr_embedding_read_cancel(struct sr_embedding_read *read)
{
    if (read->group)
        sr_embed_cancel(read->group);
}

void sr_embedding_read_free(struct sr_embedding_read *read)
{
    if (!read)
        return;
    sr_embed_free(read->group);
    sr_embedding_reader_unref(read->reader);
    sr_mem_free(read);
}
