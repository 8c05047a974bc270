/*
 * The series behind the table of metrics.
 *
 * Each metric has a fixed open-addressing table of pointers to series. A series, once published, is not
 * moved or freed while threads use its metric, so a reader needs no lock: it probes the table, compares the
 * label values and updates the numbers with atomics. Only the first use of a label set takes the lock.
 */
#include "observe/metrics.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

static const double bounds_none[] = {SR_BUCKETS_NONE};
static const double bounds_micro[] = {SR_BUCKETS_MICRO};
static const double bounds_answer[] = {SR_BUCKETS_ANSWER};
static const double bounds_tokens[] = {SR_BUCKETS_TOKENS};
static const double bounds_age[] = {SR_BUCKETS_AGE};
static const double bounds_count[] = {SR_BUCKETS_COUNT};
static const double bounds_unit[] = {SR_BUCKETS_UNIT};
static const double bounds_entropy[] = {SR_BUCKETS_ENTROPY};
static const double bounds_context[] = {SR_BUCKETS_CONTEXT};
static const double bounds_ratio[] = {SR_BUCKETS_RATIO};

#define BOUNDS(array)  (array), sizeof(array) / sizeof(array)[0]
#define BOUNDS_NONE    bounds_none, 0
#define BOUNDS_MICRO   BOUNDS(bounds_micro)
#define BOUNDS_ANSWER  BOUNDS(bounds_answer)
#define BOUNDS_TOKENS  BOUNDS(bounds_tokens)
#define BOUNDS_AGE     BOUNDS(bounds_age)
#define BOUNDS_COUNT   BOUNDS(bounds_count)
#define BOUNDS_UNIT    BOUNDS(bounds_unit)
#define BOUNDS_ENTROPY BOUNDS(bounds_entropy)
#define BOUNDS_CONTEXT BOUNDS(bounds_context)
#define BOUNDS_RATIO   BOUNDS(bounds_ratio)

static const struct sr_metric_description table[SR_METRICS] = {
#define DESCRIBE(id, kind, name, help, labels, buckets)                                                      \
    [SR_METRIC_##id] = {SR_SERIES_##kind, name, help, labels, BOUNDS_##buckets},
    SR_METRIC_LIST(DESCRIBE)
#undef DESCRIBE
};

/* Twice SR_METRICS_MAX_SERIES, a power of two: keeps probe sequences short. */
#define SLOTS (2 * SR_METRICS_MAX_SERIES)

#define PEEKS 1000 /* at an exemplar that is just written, which takes nanoseconds */

/* The latest exemplar of a bucket. Who finds it busy goes on without it. */
struct slot {
    atomic_flag busy;
    struct sr_exemplar exemplar; /* at_ns 0: none yet */
};

/* One set of label values and its numbers. `value` is a double's bits: the value, or a histogram's sum. */
struct series {
    uint64_t hash;
    size_t n_labels;
    struct sr_bytes labels[SR_METRICS_MAX_LABELS]; /* stored after `buckets` */
    _Atomic uint64_t value;
    _Atomic(struct slot *) slots; /* one for each bucket; NULL: no exemplar came yet */
    _Atomic uint64_t buckets[];   /* not cumulative; n_bounds + 1 */
};

struct family {
    size_t n_labels;
    _Atomic(struct series *) *slots; /* [SLOTS] */
    struct series **order;           /* [SR_METRICS_MAX_SERIES + 1], in order of creation */
    atomic_size_t count;
    _Atomic(struct series *) other; /* the series "other", past the limit */
};

struct sr_metrics {
    pthread_mutex_t lock; /* taken for new series only */
    uint64_t since_ns;
    struct family families[SR_METRICS];
};

static size_t label_count(const char *labels)
{
    size_t n = labels[0] != '\0';
    for (; *labels; labels++)
        n += *labels == ',';
    return n;
}

static bool is_ascii(struct sr_bytes value)
{
    uint64_t seen = 0, word;
    for (; value.n >= sizeof word; value.p += sizeof word, value.n -= sizeof word) {
        memcpy(&word, value.p, sizeof word);
        seen |= word;
    }
    for (size_t i = 0; i < value.n; i++)
        seen |= (unsigned char)value.p[i];
    return (seen & UINT64_C(0x8080808080808080)) == 0;
}

/* The stored form of a value: never empty, bounded, valid UTF-8. */
static struct sr_bytes normalise(struct sr_bytes value)
{
    if (value.n == 0)
        return SR_LIT("unknown");
    if (value.n <= SR_METRICS_MAX_VALUE && is_ascii(value))
        return value;
    size_t at = 0;
    while (at < value.n) {
        size_t step = sr_utf8_sequence((const unsigned char *)value.p + at, value.n - at);
        if (step == 0)
            return SR_LIT("invalid");
        if (at + step > SR_METRICS_MAX_VALUE)
            break;
        at += step;
    }
    return sr_bytes_of(value.p, at);
}

static bool series_is(const struct series *series, uint64_t hash, const struct sr_bytes *labels, size_t n)
{
    if (series->hash != hash)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!sr_bytes_eq(series->labels[i], labels[i]))
            return false;
    return true;
}

static struct series *find(const struct family *family, uint64_t hash, const struct sr_bytes *labels)
{
    for (size_t i = hash % SLOTS, probes = 0; probes < SLOTS; i = (i + 1) % SLOTS, probes++) {
        struct series *series = atomic_load_explicit(&family->slots[i], memory_order_acquire);
        if (!series)
            return NULL;
        if (series_is(series, hash, labels, family->n_labels))
            return series;
    }
    return NULL;
}

static struct series *series_new(const struct sr_metric_description *what, uint64_t hash,
                                 const struct sr_bytes *labels, size_t n)
{
    size_t text = 0, n_buckets = what->kind == SR_SERIES_HISTOGRAM ? what->n_bounds + 1 : 0;
    for (size_t i = 0; i < n; i++)
        text += labels[i].n;
    struct series *series = sr_mem_calloc(1, sizeof *series + n_buckets * sizeof series->buckets[0] + text);
    if (!series)
        return NULL;
    char *p = (char *)(series->buckets + n_buckets);
    series->hash = hash;
    series->n_labels = n;
    for (size_t i = 0; i < n; i++) {
        memcpy(p, labels[i].p, labels[i].n);
        series->labels[i] = sr_bytes_of(p, labels[i].n);
        p += labels[i].n;
    }
    return series;
}

/* Under the lock. NULL when out of memory. */
static struct series *insert(struct family *family, const struct sr_metric_description *what, uint64_t hash,
                             const struct sr_bytes *labels, size_t n)
{
    struct series *series = find(family, hash, labels);
    if (series)
        return series;
    size_t count = atomic_load_explicit(&family->count, memory_order_relaxed);
    static const struct sr_bytes others[SR_METRICS_MAX_LABELS] = {
        {"other", 5}, {"other", 5}, {"other", 5}, {"other", 5}, {"other", 5}};
    bool full = count >= SR_METRICS_MAX_SERIES;
    if (count > SR_METRICS_MAX_SERIES)
        return atomic_load_explicit(&family->other, memory_order_relaxed);
    series = series_new(what, hash, full ? others : labels, n);
    if (!series)
        return NULL;
    family->order[count] = series;
    atomic_store_explicit(&family->count, count + 1, memory_order_release);
    if (full) {
        atomic_store_explicit(&family->other, series, memory_order_release);
        return series;
    }
    size_t slot = hash % SLOTS;
    while (atomic_load_explicit(&family->slots[slot], memory_order_relaxed))
        slot = (slot + 1) % SLOTS;
    atomic_store_explicit(&family->slots[slot], series, memory_order_release);
    return series;
}

static struct series *series_of(struct sr_metrics *metrics, enum sr_metric metric,
                                const struct sr_bytes *values)
{
    assert(metric < SR_METRICS);
    struct family *family = &metrics->families[metric];
    struct sr_bytes labels[SR_METRICS_MAX_LABELS];
    size_t n = family->n_labels;
    uint64_t hash = 0;
    for (size_t i = 0; i < n; i++) {
        labels[i] = normalise(values[i]);
        hash = sr_hash64(labels[i], hash + i + 1);
    }
    struct series *series = find(family, hash, labels);
    if (!series)
        series = atomic_load_explicit(&family->other, memory_order_acquire);
    if (series)
        return series;
    pthread_mutex_lock(&metrics->lock);
    series = insert(family, &table[metric], hash, labels, n);
    pthread_mutex_unlock(&metrics->lock);
    return series;
}

/* Frees all series. */
static void drop(struct family *family)
{
    size_t count = atomic_load_explicit(&family->count, memory_order_relaxed);
    for (size_t i = 0; i < count; i++) {
        sr_mem_free(atomic_load_explicit(&family->order[i]->slots, memory_order_relaxed));
        sr_mem_free(family->order[i]);
    }
    for (size_t i = 0; count && i < SLOTS; i++)
        atomic_store_explicit(&family->slots[i], NULL, memory_order_relaxed);
    atomic_store_explicit(&family->other, NULL, memory_order_relaxed);
    atomic_store_explicit(&family->count, 0, memory_order_relaxed);
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double value_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void add_double(_Atomic uint64_t *cell, double value)
{
    uint64_t old = atomic_load_explicit(cell, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(cell, &old, bits_of(value_of(old) + value),
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

static size_t bucket_of(const struct sr_metric_description *what, double value)
{
    size_t i = 0;
    while (i < what->n_bounds && value > what->bounds[i])
        i++;
    return i;
}

/* ---- exemplars ---- */

/* NULL when out of memory. */
static struct slot *slots_of(struct series *series, size_t n)
{
    struct slot *slots = atomic_load_explicit(&series->slots, memory_order_acquire), *none = NULL;
    if (slots)
        return slots;
    slots = sr_mem_calloc(n, sizeof *slots);
    if (!slots)
        return NULL;
    for (size_t i = 0; i < n; i++)
        atomic_flag_clear_explicit(&slots[i].busy, memory_order_relaxed);
    if (atomic_compare_exchange_strong_explicit(&series->slots, &none, slots, memory_order_acq_rel,
                                                memory_order_acquire))
        return slots;
    sr_mem_free(slots); /* another thread was first */
    return none;
}

static void keep(struct slot *slot, double value, const struct sr_metrics_origin *origin)
{
    if (atomic_flag_test_and_set_explicit(&slot->busy, memory_order_acquire))
        return;
    memcpy(slot->exemplar.trace, origin->trace, sizeof slot->exemplar.trace);
    memcpy(slot->exemplar.span, origin->span, sizeof slot->exemplar.span);
    slot->exemplar.at_ns = origin->at_ns;
    slot->exemplar.value = value;
    atomic_flag_clear_explicit(&slot->busy, memory_order_release);
}

static struct sr_exemplar peek(struct slot *slot)
{
    struct sr_exemplar exemplar = {0};
    for (int i = 0; i < PEEKS; i++) {
        if (atomic_flag_test_and_set_explicit(&slot->busy, memory_order_acquire))
            continue;
        exemplar = slot->exemplar;
        atomic_flag_clear_explicit(&slot->busy, memory_order_release);
        break;
    }
    return exemplar;
}

/* ---- updates ---- */

void sr_metrics_observe(struct sr_metrics *metrics, enum sr_metric metric, double value,
                        const struct sr_bytes *labels, const struct sr_metrics_origin *origin)
{
    const struct sr_metric_description *what = &table[metric];
    if (!metrics || isnan(value) || (what->kind == SR_SERIES_COUNTER && value < 0))
        return;
    struct series *series = series_of(metrics, metric, labels);
    if (!series)
        return;
    if (what->kind == SR_SERIES_HISTOGRAM) {
        size_t bucket = bucket_of(what, value);
        struct slot *slots = origin ? slots_of(series, what->n_bounds + 1) : NULL;
        atomic_fetch_add_explicit(&series->buckets[bucket], 1, memory_order_relaxed);
        if (slots)
            keep(&slots[bucket], value, origin);
    }
    add_double(&series->value, value);
}

void sr_metrics_add(struct sr_metrics *metrics, enum sr_metric metric, double value,
                    const struct sr_bytes *labels)
{
    sr_metrics_observe(metrics, metric, value, labels, NULL);
}

void sr_metrics_set(struct sr_metrics *metrics, enum sr_metric metric, double value,
                    const struct sr_bytes *labels)
{
    if (!metrics)
        return;
    assert(table[metric].kind == SR_SERIES_GAUGE);
    struct series *series = series_of(metrics, metric, labels);
    if (!series)
        return;
    atomic_store_explicit(&series->value, bits_of(value), memory_order_relaxed);
}

void sr_metrics_clear(struct sr_metrics *metrics, enum sr_metric metric)
{
    if (!metrics)
        return;
    assert(table[metric].kind != SR_SERIES_HISTOGRAM);
    drop(&metrics->families[metric]);
}

/* ---- reading ---- */

const struct sr_metric_description *sr_metrics_describe(enum sr_metric metric)
{
    assert(metric < SR_METRICS);
    return &table[metric];
}

uint64_t sr_metrics_since(const struct sr_metrics *metrics)
{
    return metrics->since_ns;
}

size_t sr_metrics_count(const struct sr_metrics *metrics, enum sr_metric metric)
{
    assert(metric < SR_METRICS);
    return atomic_load_explicit(&metrics->families[metric].count, memory_order_acquire);
}

void sr_metrics_read(const struct sr_metrics *metrics, enum sr_metric metric, size_t at,
                     struct sr_series *out)
{
    assert(at < sr_metrics_count(metrics, metric));
    struct series *series = metrics->families[metric].order[at];
    const struct sr_metric_description *what = &table[metric];
    out->labels = series->labels;
    out->n_labels = series->n_labels;
    out->hash = series->hash;
    out->value = value_of(atomic_load_explicit(&series->value, memory_order_relaxed));
    out->count = 0;
    out->n_buckets = what->kind == SR_SERIES_HISTOGRAM ? what->n_bounds + 1 : 0;
    struct slot *slots = atomic_load_explicit(&series->slots, memory_order_acquire);
    for (size_t i = 0; i < out->n_buckets; i++) {
        out->buckets[i] = atomic_load_explicit(&series->buckets[i], memory_order_relaxed);
        out->count += out->buckets[i];
        out->exemplars[i] = slots ? peek(&slots[i]) : (struct sr_exemplar){0};
    }
}

int sr_metrics_new(struct sr_metrics **out)
{
    struct sr_metrics *metrics = sr_mem_calloc(1, sizeof *metrics);
    *out = NULL;
    if (!metrics)
        return SR_ENOMEM;
    pthread_mutex_init(&metrics->lock, NULL);
    metrics->since_ns = sr_clock_wall_ns();
    for (size_t i = 0; i < SR_METRICS; i++) {
        assert(table[i].n_bounds < SR_METRICS_MAX_BUCKETS);
        struct family *family = &metrics->families[i];
        family->n_labels = label_count(table[i].labels);
        assert(family->n_labels <= SR_METRICS_MAX_LABELS);
        family->slots = sr_mem_calloc(SLOTS, sizeof *family->slots);
        family->order = sr_mem_calloc(SR_METRICS_MAX_SERIES + 1, sizeof(struct series *));
        if (!family->slots || !family->order ||
            (!family->n_labels && !series_of(metrics, (enum sr_metric)i, NULL))) {
            sr_metrics_free(metrics);
            return SR_ENOMEM;
        }
    }
    *out = metrics;
    return SR_OK;
}

void sr_metrics_free(struct sr_metrics *metrics)
{
    if (!metrics)
        return;
    for (size_t i = 0; i < SR_METRICS; i++) {
        struct family *family = &metrics->families[i];
        drop(family);
        sr_mem_free(family->slots);
        sr_mem_free(family->order);
    }
    pthread_mutex_destroy(&metrics->lock);
    sr_mem_free(metrics);
}
