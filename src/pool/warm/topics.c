/* Quantised to a byte a dimension: a component x of a vector of length 1 is 127 * x / its largest one. */
#include "pool/warm/topics.h"

#include "base/mem.h"
#include "kernel/kernel.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define DIMENSIONS_MAX 4096
#define SAME           0.9f /* similarity from which two requests have one topic */
#define NEAR           0.4f /* below, no topic is of interest */
#define PAD            64u  /* the kernel reads so many bytes at once */

struct topic {
    uint32_t born; /* its number; 0: free */
    uint64_t used; /* when it was last */
    float scale;   /* of its bytes */
};

struct sr_topics {
    size_t d, padded; /* 0: no vector was seen */
    uint8_t *rows;    /* [SR_TOPICS_MAX][padded], with 128 added */
    int8_t *query;    /* [padded] */
    struct topic topics[SR_TOPICS_MAX];
    float similarity[SR_TOPICS_MAX]; /* of the latest comparison */
    size_t near[SR_TOPICS_MAX], n_near;
    uint32_t born;
    uint64_t clock;
};

int sr_topics_new(struct sr_topics **out)
{
    *out = sr_mem_calloc(1, sizeof **out);
    return *out ? SR_OK : SR_ENOMEM;
}

void sr_topics_free(struct sr_topics *topics)
{
    if (!topics)
        return;
    sr_mem_free(topics->rows);
    sr_mem_free(topics->query);
    sr_mem_free(topics);
}

/* Takes the dimensions of the first vector. False: this vector cannot be compared. */
static bool fits(struct sr_topics *topics, const float *vector, size_t d)
{
    if (topics->d || !vector || d == 0 || d > DIMENSIONS_MAX)
        return vector && topics->d == d && d > 0;
    size_t padded = (d + PAD - 1) / PAD * PAD;
    topics->rows = sr_mem_calloc(SR_TOPICS_MAX, padded);
    topics->query = sr_mem_calloc(1, padded);
    if (!topics->rows || !topics->query) {
        sr_mem_free(topics->rows);
        sr_mem_free(topics->query);
        topics->rows = NULL;
        topics->query = NULL;
        return false;
    }
    topics->d = d;
    topics->padded = padded;
    return true;
}

/* Returns the scale: vector[i] is about scale * bytes[i]. */
static float quantise(const float *vector, size_t d, int8_t *bytes)
{
    float most = 1e-6f;
    for (size_t i = 0; i < d; i++)
        most = fabsf(vector[i]) > most ? fabsf(vector[i]) : most;
    for (size_t i = 0; i < d; i++)
        bytes[i] = (int8_t)(vector[i] * (127 / most) + (vector[i] < 0 ? -0.5f : 0.5f));
    return most / 127;
}

void sr_topics_compare(struct sr_topics *topics, const float *vector, size_t d)
{
    const uint8_t *rows[SR_TOPICS_MAX];
    size_t of[SR_TOPICS_MAX], n = 0;
    int32_t dots[SR_TOPICS_MAX], sum = 0;
    topics->n_near = 0;
    if (topics->d != d || !d || !vector)
        return;
    float scale = quantise(vector, d, topics->query);
    for (size_t i = 0; i < d; i++)
        sum += topics->query[i];
    for (size_t i = 0; i < SR_TOPICS_MAX; i++) {
        if (topics->topics[i].born) {
            rows[n] = topics->rows + i * topics->padded;
            of[n++] = i;
        }
    }
    sr_dot_bytes(topics->query, topics->padded, rows, n, dots);
    for (size_t k = 0; k < n; k++) {
        float near = scale * topics->topics[of[k]].scale * (float)(dots[k] - 128 * sum);
        if (near < NEAR)
            continue;
        topics->similarity[of[k]] = near < 1 ? near : 1;
        topics->near[topics->n_near++] = of[k];
    }
}

float sr_topics_similarity(const struct sr_topics *topics, const struct sr_topics_seat *seat, uint32_t recent)
{
    float best = 0;
    for (size_t k = 0; k < topics->n_near; k++) {
        size_t i = topics->near[k];
        bool had = seat->at[i] && seat->born[i] == topics->topics[i].born;
        if (had && seat->asked - seat->at[i] < recent && topics->similarity[i] > best)
            best = topics->similarity[i];
    }
    return best;
}

/* The topic of a vector; -1: it is a new one. */
static int topic_of(struct sr_topics *topics, const float *vector, size_t d)
{
    int best = -1;
    sr_topics_compare(topics, vector, d);
    for (size_t k = 0; k < topics->n_near; k++) {
        int i = (int)topics->near[k];
        if (topics->similarity[i] >= SAME && (best < 0 || topics->similarity[i] > topics->similarity[best]))
            best = i;
    }
    return best;
}

static int new_topic(struct sr_topics *topics, const float *vector, size_t d)
{
    int at = 0;
    for (int i = 1; i < SR_TOPICS_MAX; i++)
        if (topics->topics[i].used < topics->topics[at].used)
            at = i;
    uint8_t *row = topics->rows + (size_t)at * topics->padded;
    topics->topics[at].scale = quantise(vector, d, topics->query);
    for (size_t i = 0; i < topics->padded; i++)
        row[i] = (uint8_t)(topics->query[i] + 128);
    topics->born += topics->born + 1 == 0 ? 2 : 1;
    topics->topics[at].born = topics->born;
    return at;
}

void sr_topics_add(struct sr_topics *topics, struct sr_topics_seat *seat, const float *vector, size_t d)
{
    seat->asked++;
    if (!fits(topics, vector, d))
        return;
    int at = topic_of(topics, vector, d);
    if (at < 0)
        at = new_topic(topics, vector, d);
    topics->topics[at].used = ++topics->clock;
    seat->at[at] = seat->asked;
    seat->born[at] = topics->topics[at].born;
}

size_t sr_topics_bytes(const struct sr_topics *topics)
{
    return sizeof *topics + (SR_TOPICS_MAX + 1) * topics->padded;
}
