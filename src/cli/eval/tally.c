/* Groups in the order in which they were first seen; few, so they are looked for one after the other. */
#include "cli/eval/tally.h"

#include "base/grow.h"
#include "base/mem.h"
#include "base/utf8.h"

#define OTHERS "(others)"

static const char *const keys[SR_TALLY_KEYS] = {"file", "label", "group", "lang", "tokens", "tier"};

/* Ranges of the estimated length, in tokens. */
static const struct {
    size_t below;
    const char *name;
} lengths[] = {{32, "0-31"},        {128, "32-127"},       {512, "128-511"},    {2048, "512-2047"},
               {8192, "2048-8191"}, {32768, "8192-32767"}, {SIZE_MAX, "32768-"}};
#define N_LENGTHS (sizeof lengths / sizeof lengths[0])

void sr_tally_dispose(struct sr_tally *tally)
{
    for (size_t i = 0; i < SR_TALLY_KEYS; i++) {
        sr_mem_free(tally->groups[i].items);
        tally->groups[i] = (struct sr_tally_group){0};
    }
}

/* As much of a value as is kept: whole characters. */
static struct sr_bytes kept_of(struct sr_bytes value)
{
    size_t n = value.n;
    if (n >= SR_TALLY_VALUE_MAX) {
        n = SR_TALLY_VALUE_MAX - 1;
        while (n > 0 && sr_utf8_is_tail(value.p[n]))
            n--;
    }
    return sr_bytes_of(value.p, n);
}

static struct sr_tally_entry *entry_of(struct sr_tally_group *group, struct sr_bytes value)
{
    value = kept_of(value);
    for (size_t i = 0; i < group->n; i++)
        if (sr_bytes_eq(sr_bytes_str(group->items[i].value), value))
            return &group->items[i];
    if (group->n == SR_TALLY_VALUES_MAX)
        return entry_of(group, SR_LIT(OTHERS));
    if (group->n == SR_TALLY_VALUES_MAX - 1)
        value = SR_LIT(OTHERS);
    if (sr_grow(&group->items, &group->cap, group->n + 1, sizeof *group->items, SR_TALLY_VALUES_MAX))
        return NULL;
    struct sr_tally_entry *entry = &group->items[group->n++];
    *entry = (struct sr_tally_entry){0};
    if (value.n)
        memcpy(entry->value, value.p, value.n);
    return entry;
}

/* All ranges at once, so that they are in order. */
static struct sr_tally_entry *length_of(struct sr_tally_group *group, size_t tokens)
{
    size_t i = 0;
    for (size_t k = group->n; k < N_LENGTHS; k++)
        if (!entry_of(group, sr_bytes_str(lengths[k].name)))
            return NULL;
    while (i + 1 < N_LENGTHS && tokens >= lengths[i].below)
        i++;
    return &group->items[i];
}

int sr_tally_add(struct sr_tally *tally, const struct sr_tally_row *row)
{
    tally->rows++;
    for (int key = 0; key < SR_TALLY_KEYS; key++) {
        bool length = key == SR_TALLY_TOKENS;
        if (!length && (!row->values[key].p || (key == SR_TALLY_GROUP && !tally->group)))
            continue;
        struct sr_tally_entry *entry = length ? length_of(&tally->groups[key], row->tokens)
                                              : entry_of(&tally->groups[key], row->values[key]);
        if (!entry)
            return SR_ENOMEM;
        entry->rows++;
        for (size_t i = 0; i < SR_TALLY_RATES; i++) {
            entry->rates[i].hits += row->rates[i].hits;
            entry->rates[i].of += row->rates[i].of;
        }
    }
    return SR_OK;
}

static const char *key_name(const struct sr_tally *tally, int key)
{
    return key == SR_TALLY_GROUP && tally->group ? tally->group : keys[key];
}

static void put_table(const struct sr_tally *tally, int key, struct sr_report *report)
{
    const struct sr_tally_group *group = &tally->groups[key];
    bool share = key == SR_TALLY_TIER;
    sr_report_put(report, "\n%-30.30s %7s", key_name(tally, key), "rows");
    if (share)
        sr_report_put(report, " %8s", "share");
    for (size_t i = 0; i < SR_TALLY_RATES; i++)
        if (tally->rates[i])
            sr_report_put(report, "  %21s", tally->titles[i]);
    sr_report_put(report, "\n");
    for (size_t k = 0; k < group->n; k++) {
        const struct sr_tally_entry *entry = &group->items[k];
        if (entry->rows == 0)
            continue;
        sr_report_put(report, "%-30s %7zu", entry->value, entry->rows);
        if (share)
            sr_report_put(report, " %6.2f %%", 100 * (double)entry->rows / (double)tally->rows);
        for (size_t i = 0; i < SR_TALLY_RATES; i++) {
            if (!tally->rates[i])
                continue;
            sr_report_put(report, "  ");
            sr_report_percent(report, entry->rates[i].hits, entry->rates[i].of);
        }
        sr_report_put(report, "\n");
    }
}

/* Groups with rows in them. */
static size_t filled(const struct sr_tally_group *group)
{
    size_t n = 0;
    for (size_t i = 0; i < group->n; i++)
        n += group->items[i].rows > 0;
    return n;
}

/* One table for each key that tells more than the whole. */
static void put_text(const struct sr_tally *tally, struct sr_report *report)
{
    for (int key = 0; key < SR_TALLY_KEYS; key++) {
        bool always = key == SR_TALLY_TIER || key == SR_TALLY_LANG || key == SR_TALLY_GROUP;
        if (filled(&tally->groups[key]) > (always ? 0 : 1))
            put_table(tally, key, report);
    }
}

static void put_group(const struct sr_tally *tally, int key, struct sr_report *report)
{
    struct sr_json_writer *w = &report->json;
    sr_json_name(w, sr_bytes_str(key_name(tally, key)));
    sr_json_object(w, NULL);
    for (size_t k = 0; k < tally->groups[key].n; k++) {
        const struct sr_tally_entry *entry = &tally->groups[key].items[k];
        if (entry->rows == 0)
            continue;
        sr_json_name(w, sr_bytes_str(entry->value));
        sr_json_object(w, NULL);
        sr_json_uint(w, "rows", entry->rows);
        for (size_t i = 0; i < SR_TALLY_RATES; i++)
            if (tally->rates[i])
                sr_report_rate(report, tally->rates[i], entry->rates[i].hits, entry->rates[i].of);
        sr_json_object_end(w);
    }
    sr_json_object_end(w);
}

void sr_tally_put_json(const struct sr_tally *tally, struct sr_report *report)
{
    const struct sr_tally_group *tiers = &tally->groups[SR_TALLY_TIER];
    struct sr_json_writer *w = &report->json;
    sr_json_object(w, "tiers");
    for (size_t k = 0; k < tiers->n; k++) {
        sr_json_name(w, sr_bytes_str(tiers->items[k].value));
        sr_json_real(w, NULL, "%.6f", (double)tiers->items[k].rows / (double)tally->rows);
    }
    sr_json_object_end(w);
    sr_json_object(w, "by");
    for (int key = 0; key < SR_TALLY_KEYS; key++)
        if (filled(&tally->groups[key]))
            put_group(tally, key, report);
    sr_json_object_end(w);
}

double sr_tally_mean(const struct sr_tally *tally, size_t rate, size_t *files)
{
    const struct sr_tally_group *group = &tally->groups[SR_TALLY_FILE];
    double sum = 0;
    *files = 0;
    for (size_t i = 0; i < group->n; i++) {
        struct sr_tally_rate of = group->items[i].rates[rate];
        if (of.of == 0)
            continue;
        sum += (double)of.hits / (double)of.of;
        ++*files;
    }
    return *files ? sum / (double)*files : 0;
}

void sr_tally_put_end(const struct sr_tally *tally, double us, bool as_json, struct sr_report *report)
{
    if (!as_json) {
        put_text(tally, report);
        sr_report_put(report, "\ntime  %.1f us a row\n", us);
        return;
    }
    sr_json_real(&report->json, "us", "%.2f", us);
    sr_tally_put_json(tally, report);
    sr_json_object_end(&report->json);
    sr_report_put(report, "\n");
}
