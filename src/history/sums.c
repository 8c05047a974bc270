/* Counts by name in small tables, which are sorted when they are written. */
#include "history/sums.h"

#include "base/mem.h"
#include "history/json.h"

#include <math.h>
#include <stdlib.h>

#define MINUTE_US ((int64_t)60000000)

/* What is counted under a name. */
struct sum {
    struct sr_bytes name; /* borrowed from an entry */
    uint64_t n;
    double input, output, total; /* tokens */
    double cost, baseline;
    bool priced;
};

struct table {
    struct sum items[SR_HISTORY_NAMES_MAX + 1]; /* the last: "Other" */
    size_t n;
};

static struct sum *sum_of(struct table *table, struct sr_bytes name)
{
    if (!name.n)
        name = SR_LIT("Unknown");
    for (size_t i = 0; i < table->n; i++)
        if (sr_bytes_eq(table->items[i].name, name))
            return &table->items[i];
    if (table->n > SR_HISTORY_NAMES_MAX)
        return &table->items[SR_HISTORY_NAMES_MAX];
    struct sum *sum = &table->items[table->n++];
    *sum = (struct sum){.name = table->n > SR_HISTORY_NAMES_MAX ? SR_LIT("Other") : name};
    return sum;
}

static double known(double value)
{
    return isnan(value) ? 0 : value;
}

static bool has_tokens(const struct sr_history_facts *f)
{
    return !isnan(f->numbers[SR_HISTORY_TOTAL_TOKENS]);
}

static bool has_cost(const struct sr_history_facts *f)
{
    return !isnan(f->numbers[SR_HISTORY_COST]) && !isnan(f->numbers[SR_HISTORY_BASELINE_COST]);
}

static void add(struct sum *sum, const struct sr_history_facts *f)
{
    sum->n++;
    sum->input += known(f->numbers[SR_HISTORY_PROMPT_TOKENS]);
    sum->output += known(f->numbers[SR_HISTORY_COMPLETION_TOKENS]);
    sum->total += known(f->numbers[SR_HISTORY_TOTAL_TOKENS]);
    if (has_cost(f)) {
        sum->cost += f->numbers[SR_HISTORY_COST];
        sum->baseline += f->numbers[SR_HISTORY_BASELINE_COST];
        sum->priced = true;
    }
}

/* ---- order ---- */

static int by_name(const void *a, const void *b)
{
    const struct sum *x = a, *y = b;
    return sr_bytes_cmp(x->name, y->name);
}

static int by_count(const void *a, const void *b)
{
    const struct sum *x = a, *y = b;
    return x->n != y->n ? (x->n > y->n ? -1 : 1) : by_name(a, b);
}

static int by_tokens(const void *a, const void *b)
{
    const struct sum *x = a, *y = b;
    return x->total > y->total ? -1 : x->total < y->total ? 1 : by_name(a, b);
}

static int by_cost(const void *a, const void *b)
{
    const struct sum *x = a, *y = b;
    return x->cost > y->cost ? -1 : x->cost < y->cost ? 1 : by_name(a, b);
}

static void sort(struct table *table, int (*order)(const void *, const void *))
{
    qsort(table->items, table->n, sizeof table->items[0], order);
}

/* ---- members ---- */

static void put_counts(struct sr_json_writer *w, const char *key, struct table *table, size_t max)
{
    sort(table, by_count);
    sr_json_array(w, key);
    for (size_t i = 0; i < table->n && i < max; i++) {
        sr_json_object(w, NULL);
        sr_json_bytes(w, "name", table->items[i].name);
        sr_json_uint(w, "value", table->items[i].n);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
}

static void put_tokens(struct sr_json_writer *w, const char *key, struct table *table)
{
    size_t shown = 0;
    sort(table, by_tokens);
    sr_json_array(w, key);
    for (size_t i = 0; i < table->n && shown < 8; i++) {
        const struct sum *sum = &table->items[i];
        if (!(sum->total > 0))
            continue;
        shown++;
        sr_json_object(w, NULL);
        sr_json_bytes(w, "name", sum->name);
        sr_json_real(w, "input_tokens", "%.0f", sum->input);
        sr_json_real(w, "output_tokens", "%.0f", sum->output);
        sr_json_real(w, "total_tokens", "%.0f", sum->total);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
}

static void put_costs(struct sr_json_writer *w, struct table *table)
{
    sort(table, by_cost);
    sr_json_array(w, "cost_by_model");
    for (size_t i = 0; i < table->n; i++) {
        if (!table->items[i].priced)
            continue;
        sr_json_object(w, NULL);
        sr_json_bytes(w, "name", table->items[i].name);
        sr_json_real(w, "actual_cost", "%.9g", table->items[i].cost);
        sr_json_real(w, "baseline_cost", "%.9g", table->items[i].baseline);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
}

static void put_names(struct sr_json_writer *w, const char *key, struct table *table)
{
    sort(table, by_name);
    sr_json_array(w, key);
    for (size_t i = 0; i < table->n; i++)
        sr_json_bytes(w, NULL, table->items[i].name);
    sr_json_array_end(w);
}

static void put_summary(struct sr_json_writer *w, const struct sr_history_selection *some)
{
    double saved = 0, baseline = 0, actual = 0;
    uint64_t priced = 0;
    struct sr_bytes currency = SR_LIT("");
    for (size_t i = 0; i < some->n; i++) {
        const struct sr_history_facts *f = &some->items[i]->f;
        if (!has_cost(f))
            continue;
        priced++;
        actual += f->numbers[SR_HISTORY_COST];
        baseline += f->numbers[SR_HISTORY_BASELINE_COST];
        saved += known(f->numbers[SR_HISTORY_SAVED]);
        if (!currency.n)
            currency = f->texts[SR_HISTORY_CURRENCY];
    }
    sr_json_object(w, "summary");
    sr_json_real(w, "total_saved", "%.9g", saved);
    sr_json_real(w, "baseline_spend", "%.9g", baseline);
    sr_json_real(w, "actual_spend", "%.9g", actual);
    if (currency.n)
        sr_json_bytes(w, "currency", currency);
    sr_json_uint(w, "cost_record_count", priced);
    sr_json_uint(w, "excluded_record_count", some->n - priced);
    sr_json_object_end(w);
}

static void put_volume(struct sr_json_writer *w, const struct sr_history_selection *some)
{
    struct sum sum = {0};
    uint64_t counted = 0;
    for (size_t i = 0; i < some->n; i++) {
        counted += has_tokens(&some->items[i]->f);
        add(&sum, &some->items[i]->f);
    }
    sr_json_object(w, "token_volume");
    sr_json_real(w, "input_tokens", "%.0f", sum.input);
    sr_json_real(w, "output_tokens", "%.0f", sum.output);
    sr_json_real(w, "total_tokens", "%.0f", sum.total);
    sr_json_uint(w, "excluded_record_count", some->n - counted);
    sr_json_object_end(w);
}

static void put_lifecycle(struct sr_json_writer *w, const struct sr_history_selection *some)
{
    static const char *const words[] = {"completed", "failed", "aborted"};
    sr_json_object(w, "lifecycle");
    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++) {
        uint64_t n = 0;
        for (size_t i = 0; i < some->n; i++)
            n += sr_bytes_eq(some->items[i]->f.texts[SR_HISTORY_LIFECYCLE], sr_bytes_str(words[k]));
        sr_json_uint(w, words[k], n);
    }
    sr_json_object_end(w);
}

/* ---- timelines ---- */

/* Length of a bucket for so long a time. */
static int64_t interval_of(int64_t span_us, const char **name)
{
    static const struct {
        int64_t below_us, interval_us;
        const char *name;
    } steps[] = {{30 * MINUTE_US, MINUTE_US, "1m"},
                 {240 * MINUTE_US, 5 * MINUTE_US, "5m"},
                 {1440 * MINUTE_US, 15 * MINUTE_US, "15m"},
                 {4320 * MINUTE_US, 60 * MINUTE_US, "1h"},
                 {43200 * MINUTE_US, 360 * MINUTE_US, "6h"}};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (span_us < steps[i].below_us) {
            *name = steps[i].name;
            return steps[i].interval_us;
        }
    }
    *name = "1d";
    return 1440 * MINUTE_US;
}

/* The entries of `some`, which is newest first, from *i down that lie in one bucket; moves *i on. */
static int64_t bucket_at(const struct sr_history_selection *some, size_t i, int64_t interval)
{
    return some->items[i]->f.time_us / interval * interval;
}

/* The first entry, from the oldest on, that the timelines show; *interval is their bucket. */
static size_t timeline(const struct sr_history_selection *some, int64_t *interval, const char **name)
{
    if (!some->n) {
        *interval = 60 * MINUTE_US;
        *name = "1h";
        return 0;
    }
    int64_t newest = some->items[0]->f.time_us, oldest = some->items[some->n - 1]->f.time_us;
    *interval = interval_of(some->n < 2 ? 60 * MINUTE_US : newest - oldest, name);
    size_t n = some->n;
    while (n && newest - some->items[n - 1]->f.time_us > *interval * (int64_t)SR_HISTORY_BUCKETS_MAX)
        n--;
    return n;
}

static void put_point_counts(struct sr_json_writer *w, struct table *table)
{
    sort(table, by_name);
    sr_json_object(w, "counts");
    for (size_t i = 0; i < table->n; i++) {
        sr_json_name(w, table->items[i].name);
        sr_json_uint(w, NULL, table->items[i].n);
    }
    sr_json_object_end(w);
}

static void put_request_timeline(struct sr_json_writer *w, const struct sr_history_selection *some,
                                 struct table *models, struct table *table)
{
    int64_t interval;
    const char *name;
    size_t n = timeline(some, &interval, &name);
    sr_json_object(w, "request_timeline");
    sr_json_text(w, "bucket_interval", name);
    put_names(w, "models", models);
    sr_json_array(w, "points");
    while (n) {
        int64_t bucket = bucket_at(some, n - 1, interval);
        table->n = 0;
        for (; n && bucket_at(some, n - 1, interval) == bucket; n--)
            add(sum_of(table, some->items[n - 1]->f.texts[SR_HISTORY_SELECTED_MODEL]),
                &some->items[n - 1]->f);
        sr_json_object(w, NULL);
        sr_history_json_time(w, "timestamp", bucket);
        put_point_counts(w, table);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
    sr_json_object_end(w);
}

static void put_token_timeline(struct sr_json_writer *w, const struct sr_history_selection *some)
{
    int64_t interval;
    const char *name;
    size_t n = timeline(some, &interval, &name);
    sr_json_object(w, "token_timeline");
    sr_json_text(w, "bucket_interval", name);
    sr_json_array(w, "points");
    while (n) {
        int64_t bucket = bucket_at(some, n - 1, interval);
        struct sum sum = {0};
        for (; n && bucket_at(some, n - 1, interval) == bucket; n--)
            add(&sum, &some->items[n - 1]->f);
        if (!(sum.total > 0))
            continue;
        sr_json_object(w, NULL);
        sr_history_json_time(w, "timestamp", bucket);
        sr_json_real(w, "input_tokens", "%.0f", sum.input);
        sr_json_real(w, "output_tokens", "%.0f", sum.output);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
    sr_json_object_end(w);
}

/* ---- all ---- */

static void count_names(struct table *table, const struct sr_history_selection *set,
                        enum sr_history_text text)
{
    table->n = 0;
    for (size_t i = 0; i < set->n; i++)
        add(sum_of(table, set->items[i]->f.texts[text]), &set->items[i]->f);
}

/* Names that there are; "" is none. */
static void put_options(struct sr_json_writer *w, const char *key, struct table *table,
                        const struct sr_history_selection *all, enum sr_history_text text,
                        enum sr_history_text other)
{
    table->n = 0;
    for (size_t i = 0; i < all->n; i++) {
        const struct sr_bytes *texts = all->items[i]->f.texts;
        if (texts[text].n)
            sum_of(table, texts[text])->n++;
        if (texts[other].n)
            sum_of(table, texts[other])->n++;
    }
    put_names(w, key, table);
}

static void count_signals(struct table *table, const struct sr_history_selection *some)
{
    table->n = 0;
    for (size_t i = 0; i < some->n; i++) {
        const struct sr_history_facts *f = &some->items[i]->f;
        for (size_t k = 0; k < f->n_rules; k++)
            if (f->rules[k].matched)
                sum_of(table, f->signals[f->rules[k].signal].type)->n++;
    }
}

void sr_history_sums_json(struct sr_json_writer *w, const struct sr_history_selection *all,
                          const struct sr_history_selection *some)
{
    struct table *tables = sr_mem_calloc(2, sizeof *tables), *table = tables, *models = tables + 1;
    if (!tables) {
        w->rc = SR_ENOMEM;
        return;
    }
    sr_json_object(w, NULL);
    sr_json_text(w, "object", "router_replay.aggregate");
    sr_json_uint(w, "record_count", some->n);
    put_lifecycle(w, some);
    put_summary(w, some);
    count_names(models, some, SR_HISTORY_SELECTED_MODEL);
    put_counts(w, "model_selection", models, 10);
    count_names(table, some, SR_HISTORY_DECISION);
    put_counts(w, "decision_distribution", table, SR_HISTORY_NAMES_MAX + 1);
    count_signals(table, some);
    put_counts(w, "signal_distribution", table, SR_HISTORY_NAMES_MAX + 1);
    put_volume(w, some);
    sr_json_object(w, "token_breakdown");
    count_names(table, some, SR_HISTORY_DECISION);
    put_tokens(w, "by_decision", table);
    put_tokens(w, "by_selected_model", models);
    sr_json_object_end(w);
    put_costs(w, models);
    put_request_timeline(w, some, models, table);
    put_token_timeline(w, some);
    put_options(w, "available_recipes", table, all, SR_HISTORY_RECIPE, SR_HISTORY_RECIPE);
    put_options(w, "available_decisions", table, all, SR_HISTORY_DECISION, SR_HISTORY_DECISION);
    put_options(w, "available_models", table, all, SR_HISTORY_SELECTED_MODEL, SR_HISTORY_ORIGINAL_MODEL);
    sr_json_object_end(w);
    sr_mem_free(tables);
}
