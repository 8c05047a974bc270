/*
 * The series behind the table of metrics.
 *
 * Each metric has a fixed open-addressing table of pointers to series. A series, once published, is not
 * moved or freed while threads use its metric, so a reader needs no lock: it probes the table, compares the
 * label values and updates the numbers with atomics. Only the first use of a label set takes the lock.
 */
#include "observe/metrics.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum kind { COUNTER, GAUGE, HISTOGRAM };

struct description {
    enum kind kind;
    const char *name, *help, *labels;
    const double *bounds;
    size_t n_bounds;
};

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

static const struct description table[SR_METRICS] = {
#define DESCRIBE(id, kind, name, help, labels, buckets)                                                      \
    [SR_METRIC_##id] = {kind, name, help, labels, BOUNDS_##buckets},
    SR_METRIC_LIST(DESCRIBE)
#undef DESCRIBE
};

/* Twice SR_METRICS_MAX_SERIES, a power of two: keeps probe sequences short. */
#define SLOTS (2 * SR_METRICS_MAX_SERIES)

/* One set of label values and its numbers. `value` is a double's bits: the value, or a histogram's sum. */
struct series {
    uint64_t hash;
    size_t n_labels;
    struct sr_bytes labels[SR_METRICS_MAX_LABELS]; /* stored after `buckets` */
    _Atomic uint64_t value;
    _Atomic uint64_t buckets[]; /* not cumulative; n_bounds + 1 */
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

static struct series *series_new(const struct description *what, uint64_t hash, const struct sr_bytes *labels,
                                 size_t n)
{
    size_t text = 0, n_buckets = what->kind == HISTOGRAM ? what->n_bounds + 1 : 0;
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
static struct series *insert(struct family *family, const struct description *what, uint64_t hash,
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
    for (size_t i = 0; i < count; i++)
        sr_mem_free(family->order[i]);
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

static size_t bucket_of(const struct description *what, double value)
{
    size_t i = 0;
    while (i < what->n_bounds && value > what->bounds[i])
        i++;
    return i;
}

void sr_metrics_add(struct sr_metrics *metrics, enum sr_metric metric, double value,
                    const struct sr_bytes *labels)
{
    if (!metrics || isnan(value) || (table[metric].kind == COUNTER && value < 0))
        return;
    struct series *series = series_of(metrics, metric, labels);
    if (!series)
        return;
    if (table[metric].kind == HISTOGRAM)
        atomic_fetch_add_explicit(&series->buckets[bucket_of(&table[metric], value)], 1,
                                  memory_order_relaxed);
    add_double(&series->value, value);
}

void sr_metrics_set(struct sr_metrics *metrics, enum sr_metric metric, double value,
                    const struct sr_bytes *labels)
{
    if (!metrics)
        return;
    assert(table[metric].kind == GAUGE);
    struct series *series = series_of(metrics, metric, labels);
    if (!series)
        return;
    atomic_store_explicit(&series->value, bits_of(value), memory_order_relaxed);
}

void sr_metrics_clear(struct sr_metrics *metrics, enum sr_metric metric)
{
    if (!metrics)
        return;
    assert(table[metric].kind != HISTOGRAM);
    drop(&metrics->families[metric]);
}

static int put_number(struct sr_buf *out, double value)
{
    if (isnan(value))
        return sr_buf_printf(out, "NaN");
    if (isinf(value))
        return sr_buf_printf(out, value > 0 ? "+Inf" : "-Inf");
    if (value == floor(value) && fabs(value) < 9007199254740992.0)
        return sr_buf_printf(out, "%.0f", value);
    char text[32];
    snprintf(text, sizeof text, "%.15g", value);
    if (strtod(text, NULL) != value)
        snprintf(text, sizeof text, "%.17g", value);
    return sr_buf_append_bytes(out, sr_bytes_str(text));
}

static int put_value(struct sr_buf *out, struct sr_bytes value)
{
    int rc = SR_OK;
    for (size_t i = 0; i < value.n && rc == SR_OK; i++) {
        char c = value.p[i];
        if (c == '\n')
            rc = sr_buf_append(out, "\\n", 2);
        else if (c == '"' || c == '\\')
            rc = sr_buf_append(out, (char[]){'\\', c}, 2);
        else
            rc = sr_buf_append(out, &c, 1);
    }
    return rc;
}

/* {model="m",le="0.5"}; `bound` NULL: no le. Writes nothing when there is no label. */
static int put_labels(struct sr_buf *out, const char *names, const struct series *series, const double *bound)
{
    int rc = SR_OK;
    if (series->n_labels == 0 && !bound)
        return SR_OK;
    for (size_t i = 0; i < series->n_labels && rc == SR_OK; i++) {
        int length = (int)strcspn(names, ",");
        rc = sr_buf_printf(out, "%c%.*s=\"", i ? ',' : '{', length, names);
        if (rc == SR_OK)
            rc = put_value(out, series->labels[i]);
        if (rc == SR_OK)
            rc = sr_buf_append(out, "\"", 1);
        names += length + (names[length] == ',');
    }
    if (rc == SR_OK && bound) {
        rc = sr_buf_printf(out, "%cle=\"", series->n_labels ? ',' : '{');
        if (rc == SR_OK)
            rc = isinf(*bound) ? sr_buf_printf(out, "+Inf") : sr_buf_printf(out, "%g", *bound);
        if (rc == SR_OK)
            rc = sr_buf_append(out, "\"", 1);
    }
    return rc == SR_OK ? sr_buf_append(out, "}", 1) : rc;
}

static int put_sample(struct sr_buf *out, const struct description *what, const char *suffix,
                      const struct series *series, const double *bound, double value)
{
    int rc = sr_buf_printf(out, "%s%s", what->name, suffix);
    if (rc == SR_OK)
        rc = put_labels(out, what->labels, series, bound);
    if (rc == SR_OK)
        rc = sr_buf_append(out, " ", 1);
    if (rc == SR_OK)
        rc = put_number(out, value);
    return rc == SR_OK ? sr_buf_append(out, "\n", 1) : rc;
}

static int put_histogram(struct sr_buf *out, const struct description *what, struct series *series)
{
    int rc = SR_OK;
    double sum = value_of(atomic_load_explicit(&series->value, memory_order_relaxed));
    uint64_t count = 0;
    for (size_t i = 0; i <= what->n_bounds && rc == SR_OK; i++) {
        double bound = i < what->n_bounds ? what->bounds[i] : INFINITY;
        count += atomic_load_explicit(&series->buckets[i], memory_order_relaxed);
        rc = put_sample(out, what, "_bucket", series, &bound, (double)count);
    }
    if (rc == SR_OK)
        rc = put_sample(out, what, "_sum", series, NULL, sum);
    return rc == SR_OK ? put_sample(out, what, "_count", series, NULL, (double)count) : rc;
}

static int put_family(struct sr_buf *out, const struct description *what, const struct family *family)
{
    static const char *const kinds[] = {"counter", "gauge", "histogram"};
    size_t count = atomic_load_explicit(&family->count, memory_order_acquire);
    int rc = SR_OK;
    if (count > 0)
        rc = sr_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", what->name, what->help, what->name,
                           kinds[what->kind]);
    for (size_t i = 0; i < count && rc == SR_OK; i++) {
        struct series *series = family->order[i];
        if (what->kind == HISTOGRAM)
            rc = put_histogram(out, what, series);
        else
            rc = put_sample(out, what, "", series, NULL,
                            value_of(atomic_load_explicit(&series->value, memory_order_relaxed)));
    }
    return rc;
}

int sr_metrics_render(struct sr_metrics *metrics, struct sr_buf *out)
{
    int rc = SR_OK;
    for (size_t i = 0; i < SR_METRICS && rc == SR_OK; i++)
        rc = put_family(out, &table[i], &metrics->families[i]);
    return rc;
}

int sr_metrics_new(struct sr_metrics **out)
{
    struct sr_metrics *metrics = sr_mem_calloc(1, sizeof *metrics);
    *out = NULL;
    if (!metrics)
        return SR_ENOMEM;
    pthread_mutex_init(&metrics->lock, NULL);
    for (size_t i = 0; i < SR_METRICS; i++) {
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
