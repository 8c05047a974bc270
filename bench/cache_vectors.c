/*
 * A vector is (1 - t) a + t b + noise, at length 1, of two embeddings a and b and a t below a half; a
 * paraphrase is a vector with more noise (0.4 of its length).
 */
#include "bench/cache_vectors.h"

#include "base/mem.h"
#include "bench/texts.h"
#include "infer/embed.h"
#include "infer/locate.h"
#include "json/doc.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BASE_MAX   4000u
#define GROUP      64u /* texts that are embedded together */
#define NOISE      0.3F
#define PARAPHRASE 0.4F
#define BLOCK      256u /* vectors that are compared with all questions together */
#define WORDS_MIN  5u   /* of a text that is made of a shipped one */
#define WORDS_MAX  14u

extern const char sr_embed_verify_text[], sr_embed_verify_text_end[];
extern const char sr_embed_guards_text[], sr_embed_guards_text_end[];

/* ---- texts and their embeddings ---- */

struct embedding {
    struct sr_infer *infer;
    struct sr_encoder *encoder;
    struct sr_embed *group;
    struct sr_cache_vectors *v;
    size_t most; /* texts */
    struct sr_err *err;
    int rc;
};

static int flush(struct embedding *e)
{
    const size_t n = e->group ? sr_embed_count(e->group) : 0;
    int rc = n ? sr_embed_run(e->group, e->infer) : SR_OK;
    for (size_t i = 0; i < n && rc == SR_OK; i++)
        sr_embed_vector(e->group, i, e->v->base + e->v->n_base++ * e->v->dimension);
    sr_embed_free(e->group);
    e->group = NULL;
    return rc;
}

/* Takes texts until there are enough. */
static bool take(struct embedding *e, struct sr_bytes text)
{
    const struct sr_embed_options options = sr_embed_defaults(e->encoder);
    if (e->rc == SR_OK && !e->group)
        e->rc = sr_embed_new(&e->group, e->encoder, &options, e->err);
    if (e->rc == SR_OK)
        e->rc = sr_embed_add(e->group, text);
    if (e->rc == SR_OK &&
        (sr_embed_count(e->group) == GROUP || e->v->n_base + sr_embed_count(e->group) == e->most))
        e->rc = flush(e);
    return e->rc == SR_OK && e->v->n_base < e->most;
}

static bool take_row(void *ctx, const struct sr_doc_value *value)
{
    const struct sr_bytes text = sr_doc_string(sr_doc_get(value, "text"));
    return text.n == 0 || take(ctx, text);
}

/* Every run of so many words that begins at a word. */
static void take_runs(struct embedding *e, struct sr_bytes all, size_t words)
{
    for (size_t from = 0; from < all.n;) {
        size_t end = from, n = 0;
        while (end < all.n && n < words)
            if (all.p[end++] == ' ' || all.p[end - 1] == '\n')
                n++;
        if (n < words || !take(e, sr_bytes_trim(sr_bytes_of(all.p + from, end - from))))
            return;
        while (from < all.n && all.p[from] != ' ' && all.p[from] != '\n')
            from++;
        from++;
    }
}

static void take_texts(struct embedding *e, const char *data)
{
    e->most = BASE_MAX;
    if (data) {
        static const char *const files[] = {"intent-banking77/train.jsonl", "intent-clinc150/train.jsonl"};
        for (size_t i = 0; i < 2 && e->rc == SR_OK; i++) {
            e->most = BASE_MAX / 2 * (i + 1);
            int rc = sr_bench_rows(data, files[i], take_row, e);
            if (rc)
                e->rc = sr_err_set(e->err, rc, "%s/%s cannot be read", data, files[i]);
        }
    } else {
        for (size_t words = WORDS_MIN; words <= WORDS_MAX && e->rc == SR_OK && e->v->n_base < e->most;
             words += 3) {
            take_runs(
                e,
                sr_bytes_of(sr_embed_verify_text, (size_t)(sr_embed_verify_text_end - sr_embed_verify_text)),
                words);
            take_runs(
                e,
                sr_bytes_of(sr_embed_guards_text, (size_t)(sr_embed_guards_text_end - sr_embed_guards_text)),
                words);
        }
    }
    if (e->rc == SR_OK)
        e->rc = flush(e);
}

static int embed_texts(struct sr_cache_vectors *v, const char *data, const char *model, struct sr_err *err)
{
    char folder[SR_LOCATE_MAX];
    struct sr_encoder_options open = {.precision = SR_PRECISION_FP32};
    struct sr_infer_options options = sr_infer_defaults();
    struct embedding e = {.v = v, .err = err};
    options.threads = 1; /* members that wait for each other are slow beside other load */
    e.rc = sr_locate_model(folder, model, err);
    if (e.rc == SR_OK)
        e.rc = sr_encoder_open(&e.encoder, folder, &open, err);
    if (e.rc == SR_OK)
        e.rc = sr_infer_new(&e.infer, &options, err);
    if (e.rc == SR_OK) {
        v->dimension = sr_encoder_info(e.encoder)->hidden;
        v->base = sr_mem_calloc(BASE_MAX * v->dimension, sizeof *v->base);
        e.rc = v->base ? SR_OK : SR_ENOMEM;
    }
    if (e.rc == SR_OK)
        take_texts(&e, data);
    sr_embed_free(e.group);
    sr_infer_free(e.infer);
    sr_encoder_unref(e.encoder);
    return e.rc == SR_OK && v->n_base < 2 ? sr_err_set(err, SR_EIO, "there are no texts") : e.rc;
}

/* ---- vectors ---- */

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* About normal, of variance 1: four uniform numbers. */
static float normal(uint64_t *state)
{
    const uint64_t x = next_random(state);
    const uint64_t sum = (x & 0xFFFF) + (x >> 16 & 0xFFFF) + (x >> 32 & 0xFFFF) + (x >> 48);
    return ((float)sum / 65536 - 2) * 1.7320508F;
}

static void perturb(float *x, size_t d, float noise, uint64_t *state)
{
    const float scale = noise / sqrtf((float)d);
    float length2 = 0;
    for (size_t i = 0; i < d; i++) {
        x[i] += scale * normal(state);
        length2 += x[i] * x[i];
    }
    for (size_t i = 0; i < d; i++)
        x[i] /= sqrtf(length2);
}

static void make(const struct sr_cache_vectors *v, float *x, uint64_t seed)
{
    uint64_t state = seed;
    const float *a = v->base + next_random(&state) % v->n_base * v->dimension;
    const float *b = v->base + next_random(&state) % v->n_base * v->dimension;
    const float t = (float)(next_random(&state) >> 40) / (1 << 25);
    for (size_t i = 0; i < v->dimension; i++)
        x[i] = (1 - t) * a[i] + t * b[i];
    perturb(x, v->dimension, NOISE, &state);
}

static int map(struct sr_cache_vectors *v, size_t n)
{
    const size_t vectors = n * v->dimension * sizeof(float),
                 questions = SR_CACHE_QUERIES * v->dimension * sizeof(float);
    const size_t numbers = SR_CACHE_QUERIES * sizeof(uint64_t);
    v->bytes = vectors + questions + 2 * numbers;
    v->fd = memfd_create("semroute-bench-cache", 0); /* the peer inherits it */
    if (v->fd < 0 || ftruncate(v->fd, (off_t)v->bytes))
        return SR_EIO;
    char *all = mmap(NULL, v->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, v->fd, 0);
    if (all == MAP_FAILED)
        return SR_ENOMEM;
    v->n = n;
    v->vectors = (float *)(void *)all;
    v->queries = (float *)(void *)(all + vectors);
    v->truth = (uint64_t *)(void *)(all + vectors + questions);
    v->times = (uint64_t *)(void *)(all + vectors + questions + numbers);
    return SR_OK;
}

int sr_cache_vectors_new(struct sr_cache_vectors *v, size_t n, const char *data, const char *model,
                         struct sr_err *err)
{
    *v = (struct sr_cache_vectors){.fd = -1};
    int rc = embed_texts(v, data, model, err);
    if (rc == SR_OK)
        rc = map(v, n);
    for (size_t i = 0; i < n && rc == SR_OK; i++)
        make(v, v->vectors + i * v->dimension, i + 1);
    if (rc)
        sr_cache_vectors_dispose(v);
    return rc;
}

void sr_cache_vectors_dispose(struct sr_cache_vectors *v)
{
    if (v->vectors)
        munmap(v->vectors, v->bytes);
    if (v->fd >= 0)
        close(v->fd);
    sr_mem_free(v->base);
    *v = (struct sr_cache_vectors){.fd = -1};
}

/* ---- questions ---- */

/* Compares the first n vectors with all questions, as a product of matrices. */
static void compare(struct sr_cache_vectors *v, size_t n, const struct sr_matrix *questions, float *products,
                    void *scratch)
{
    static float best[SR_CACHE_QUERIES];
    for (size_t q = 0; q < SR_CACHE_QUERIES; q++)
        best[q] = -2;
    for (size_t from = 0; from < n; from += BLOCK) {
        const size_t rows = n - from < BLOCK ? n - from : BLOCK;
        sr_gemm(NULL, questions,
                (struct sr_rows){v->vectors + from * v->dimension, v->dimension, SR_SCALAR_F32}, rows,
                (struct sr_rows){products, SR_CACHE_QUERIES, SR_SCALAR_F32}, scratch);
        for (size_t i = 0; i < rows; i++)
            for (size_t q = 0; q < SR_CACHE_QUERIES; q++)
                if (products[i * SR_CACHE_QUERIES + q] > best[q]) {
                    best[q] = products[i * SR_CACHE_QUERIES + q];
                    v->truth[q] = from + i;
                }
    }
}

int sr_cache_vectors_ask(struct sr_cache_vectors *v, size_t n)
{
    uint64_t state = UINT64_MAX / 3;
    const size_t d = v->dimension;
    for (size_t q = 0; q < SR_CACHE_QUERIES; q++) {
        float *x = v->queries + q * d;
        if (q % 2) {
            make(v, x, next_random(&state));
        } else {
            memcpy(x, v->vectors + next_random(&state) % n * d, d * sizeof *x);
            perturb(x, d, PARAPHRASE, &state);
        }
    }
    struct sr_matrix *questions = NULL;
    const struct sr_matrix_source source = {
        .weights = v->queries, .type = SR_SCALAR_F32, .n = SR_CACHE_QUERIES, .k = d};
    float *products = sr_mem_calloc((size_t)BLOCK * SR_CACHE_QUERIES, sizeof *products);
    char *scratch = NULL;
    int rc = products ? sr_matrix_pack(&questions, &source, SR_PRECISION_FP32, SR_EPILOGUE_NONE) : SR_ENOMEM;
    if (rc == SR_OK && !(scratch = sr_mem_alloc(sr_gemm_scratch(questions, BLOCK) + 64)))
        rc = SR_ENOMEM;
    if (rc == SR_OK)
        compare(v, n, questions, products, scratch + (64 - (uintptr_t)scratch % 64));
    sr_mem_free(scratch);
    sr_matrix_free(questions);
    sr_mem_free(products);
    return rc;
}
