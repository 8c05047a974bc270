/* Means in thousandths, each in one atomic word with its deviation, so that both belong together. */
#include "pool/sizes.h"

#include "base/mem.h"
#include "pool/private.h"

#include <string.h>

#define GAIN           8   /* a new value counts one part in so many for the mean */
#define DEVIATION_GAIN 4   /* and for the deviation */
#define MARGIN         2   /* deviations that an estimate is on the safe side */
#define LEAST_BYTES    256 /* shorter prompts are mostly what the chat's form adds: nothing is learned */
#define UNIT           1000
#define RATIO_MIN      (UNIT / 2) /* bytes of a token */
#define RATIO_MAX      (16 * UNIT)
#define TOKENS_MAX     4000000

struct mean {
    _Atomic uint64_t word; /* mean and deviation in thousandths, 32 bits each; 0: nothing is learned */
};

struct sr_pool_sizes {
    struct sr_pool_sizes *next; /* guarded by the pool's lock, as is `refs` */
    size_t refs;
    struct mean ratio[SR_POOL_KINDS];  /* bytes of a prompt's token */
    struct mean answer[SR_POOL_KINDS]; /* tokens */
    char model[];
};

/* ---- one mean ---- */

static uint64_t pack(uint64_t mean, uint64_t deviation)
{
    return mean << 32 | (deviation < UINT32_MAX ? deviation : UINT32_MAX);
}

static uint64_t mean_of(uint64_t word)
{
    return word >> 32;
}

static uint64_t deviation_of(uint64_t word)
{
    return word & UINT32_MAX;
}

static uint64_t with(uint64_t word, uint64_t value)
{
    if (word == 0)
        return pack(value, value / 2); /* as RFC 6298 begins */
    int64_t mean = (int64_t)mean_of(word), deviation = (int64_t)deviation_of(word);
    int64_t error = (int64_t)value - mean, distance = error < 0 ? -error : error;
    mean += error / GAIN;
    deviation += (distance - deviation) / DEVIATION_GAIN;
    return pack(mean > 0 ? (uint64_t)mean : 1, (uint64_t)deviation);
}

static void learn(struct mean *mean, uint64_t value)
{
    uint64_t before = atomic_load_explicit(&mean->word, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&mean->word, &before, with(before, value),
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

static uint64_t bounded(uint64_t value, uint64_t least, uint64_t most)
{
    return value < least ? least : value < most ? value : most;
}

/* ---- estimates ---- */

uint64_t sr_pool_sizes_prompt(const struct sr_pool_sizes *sizes, unsigned kind, uint64_t bytes)
{
    uint64_t word = atomic_load_explicit(&sizes->ratio[kind].word, memory_order_relaxed);
    uint64_t ratio = SR_POOL_TOKEN_BYTES * UNIT;
    if (word) {
        uint64_t margin = MARGIN * deviation_of(word);
        ratio = bounded(mean_of(word) > margin ? mean_of(word) - margin : 0, mean_of(word) / 2, RATIO_MAX);
        ratio = ratio > RATIO_MIN ? ratio : RATIO_MIN;
    }
    return bytes < UINT64_MAX / UNIT ? (bytes * UNIT + ratio - 1) / ratio : TOKENS_MAX;
}

uint64_t sr_pool_sizes_answer(const struct sr_pool_sizes *sizes, unsigned kind)
{
    uint64_t word = atomic_load_explicit(&sizes->answer[kind].word, memory_order_relaxed);
    return word ? (mean_of(word) + MARGIN * deviation_of(word) + UNIT - 1) / UNIT : SR_POOL_ANSWER_TOKENS;
}

void sr_pool_sizes_learn(struct sr_pool_sizes *sizes, unsigned kind, uint64_t prompt_bytes,
                         uint64_t prompt_tokens, uint64_t answer_tokens)
{
    if (prompt_bytes >= LEAST_BYTES && prompt_bytes < UINT64_MAX / UNIT && prompt_tokens)
        learn(&sizes->ratio[kind], bounded(prompt_bytes * UNIT / prompt_tokens, RATIO_MIN, RATIO_MAX));
    if (answer_tokens)
        learn(&sizes->answer[kind], (answer_tokens < TOKENS_MAX ? answer_tokens : TOKENS_MAX) * UNIT);
}

/* ---- who has them ---- */

int sr_pool_sizes_get(struct sr_pool *pool, struct sr_pool_sizes **out, const char *model)
{
    size_t n = strlen(model) + 1;
    struct sr_pool_sizes *fresh = sr_mem_calloc(1, sizeof *fresh + n);
    *out = NULL;
    if (!fresh)
        return SR_ENOMEM;
    fresh->refs = 1;
    memcpy(fresh->model, model, n);
    pthread_mutex_lock(&pool->lock);
    struct sr_pool_sizes *sizes = pool->sizes;
    while (sizes && strcmp(sizes->model, model) != 0)
        sizes = sizes->next;
    if (sizes) {
        sizes->refs++;
    } else {
        fresh->next = pool->sizes;
        pool->sizes = fresh;
    }
    pthread_mutex_unlock(&pool->lock);
    if (sizes)
        sr_mem_free(fresh);
    *out = sizes ? sizes : fresh;
    return SR_OK;
}

void sr_pool_sizes_unref(struct sr_pool *pool, struct sr_pool_sizes *sizes)
{
    if (!sizes)
        return;
    pthread_mutex_lock(&pool->lock);
    bool last = --sizes->refs == 0;
    struct sr_pool_sizes **at = &pool->sizes;
    while (last && *at != sizes)
        at = &(*at)->next;
    if (last)
        *at = sizes->next;
    pthread_mutex_unlock(&pool->lock);
    if (last)
        sr_mem_free(sizes);
}
