/* Members in the order of the lists of entry.h; what is empty or not known is left out. */
#include "history/json.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

enum how { COUNT, REAL, FLAG };

#define HOW_count COUNT
#define HOW_real  REAL
#define HOW_flag  FLAG

static const char *const text_keys[] = {
#define KEY(name, key) #key,
    SR_HISTORY_TEXT_LIST(KEY)
#undef KEY
};

static const struct {
    const char *key;
    enum how how;
} number_keys[] = {
#define KEY(name, key, how) {#key, HOW_##how},
    SR_HISTORY_NUMBER_LIST(KEY)
#undef KEY
};

void sr_history_json_time(struct sr_json_writer *w, const char *key, int64_t us)
{
    time_t second = (time_t)(us / 1000000);
    struct tm tm;
    char text[48];
    if (us < 0 || !gmtime_r(&second, &tm)) {
        sr_json_null(w, key);
        return;
    }
    size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text + n, sizeof text - n, ".%06dZ", (int)(us % 1000000));
    sr_json_text(w, key, text);
}

static void put_number(struct sr_json_writer *w, int number, double value)
{
    const char *key = number_keys[number].key;
    if (!isfinite(value))
        return;
    switch (number_keys[number].how) {
    case COUNT:
        sr_json_real(w, key, "%.0f", value);
        break;
    case REAL:
        sr_json_real(w, key, "%.9g", value);
        break;
    case FLAG:
        if (value != 0)
            sr_json_bool(w, key, true);
        break;
    }
}

static void put_bits(struct sr_json_writer *w, const char *key, uint32_t bits, const char *const *words,
                     size_t n)
{
    if (!bits)
        return;
    sr_json_array(w, key);
    for (size_t i = 0; i < n && i < 32; i++)
        if (bits >> i & 1)
            sr_json_text(w, NULL, words[i]);
    sr_json_array_end(w);
}

/* The names of what matched, by type: {"keyword": ["code"]}. */
static void put_matches(struct sr_json_writer *w, const struct sr_history_facts *f)
{
    sr_json_object(w, "signals");
    for (size_t s = 0; s < f->n_signals; s++) {
        bool any = false;
        for (size_t i = 0; i < f->n_rules; i++) {
            if (f->rules[i].signal != s || !f->rules[i].matched)
                continue;
            if (!any) {
                sr_json_name(w, f->signals[s].type);
                sr_json_array(w, NULL);
            }
            any = true;
            sr_json_bytes(w, NULL, f->rules[i].name);
        }
        if (any)
            sr_json_array_end(w);
    }
    sr_json_object_end(w);
}

static void put_rules(struct sr_json_writer *w, const struct sr_history_facts *f, size_t signal)
{
    sr_json_array(w, "rules");
    for (size_t i = 0; i < f->n_rules; i++) {
        const struct sr_history_rule *rule = &f->rules[i];
        if (rule->signal != signal)
            continue;
        sr_json_object(w, NULL);
        sr_json_bytes(w, "name", rule->name);
        sr_json_bool(w, "matched", rule->matched);
        sr_json_real(w, "confidence", "%.6g", (double)rule->confidence);
        if (isfinite(rule->value))
            sr_json_real(w, "value", "%.9g", rule->value);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
}

static void put_signals(struct sr_json_writer *w, const struct sr_history_facts *f)
{
    if (!f->n_signals)
        return;
    sr_json_array(w, "signal_details");
    for (size_t i = 0; i < f->n_signals; i++) {
        const struct sr_history_signal *signal = &f->signals[i];
        sr_json_object(w, NULL);
        sr_json_bytes(w, "type", signal->type);
        sr_json_uint(w, "start_us", signal->start_us);
        sr_json_uint(w, "us", signal->took_us);
        if (signal->tier.n)
            sr_json_bytes(w, "tier", signal->tier);
        if (signal->error.n)
            sr_json_bytes(w, "error", signal->error);
        put_rules(w, f, i);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
}

static void put_candidates(struct sr_json_writer *w, const struct sr_history_facts *f)
{
    if (!f->n_candidates)
        return;
    sr_json_array(w, "candidates");
    for (size_t i = 0; i < f->n_candidates; i++) {
        const struct sr_history_candidate *candidate = &f->candidates[i];
        sr_json_object(w, NULL);
        sr_json_bytes(w, "model", candidate->model);
        sr_json_bool(w, "chosen", candidate->chosen);
        if (isfinite(candidate->score))
            sr_json_real(w, "score", "%.6g", candidate->score);
        if (candidate->excluded.n)
            sr_json_bytes(w, "excluded", candidate->excluded);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
}

static void put_outcomes(struct sr_json_writer *w, const struct sr_history_facts *f)
{
    if (!f->n_outcomes)
        return;
    sr_json_array(w, "outcomes");
    for (size_t i = 0; i < f->n_outcomes; i++) {
        const struct sr_history_outcome *o = &f->outcomes[i];
        const struct {
            const char *key;
            struct sr_bytes text;
        } texts[] = {{"source", o->source},
                     {"target", o->target},
                     {"target_ref", o->target_ref},
                     {"verdict", o->verdict},
                     {"reason", o->reason}};
        sr_json_object(w, NULL);
        sr_history_json_time(w, "timestamp", o->time_us);
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
            if (texts[k].text.n)
                sr_json_bytes(w, texts[k].key, texts[k].text);
        if (isfinite(o->score))
            sr_json_real(w, "score", "%.9g", o->score);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
}

void sr_history_json(struct sr_json_writer *w, const char *key, const struct sr_history_entry *entry,
                     const struct sr_history_words *words, bool details)
{
    const struct sr_history_facts *f = &entry->f;
    sr_json_object(w, key);
    if (f->texts[SR_HISTORY_ID].n)
        sr_json_bytes(w, text_keys[SR_HISTORY_ID], f->texts[SR_HISTORY_ID]);
    sr_history_json_time(w, "timestamp", f->time_us);
    sr_history_json_time(w, "ended_at", f->ended_us);
    for (int i = SR_HISTORY_ID + 1; i < SR_HISTORY_TEXTS; i++)
        if (f->texts[i].n && (details || i < SR_HISTORY_REQUEST_BODY))
            sr_json_bytes(w, text_keys[i], f->texts[i]);
    for (int i = 0; i < SR_HISTORY_NUMBERS; i++)
        put_number(w, i, f->numbers[i]);
    put_bits(w, "edits", f->edits, words->edits, words->n_edits);
    put_bits(w, "pii_entities", f->private_types, words->private_types, words->n_private_types);
    put_matches(w, f);
    put_signals(w, f);
    put_candidates(w, f);
    put_outcomes(w, f);
    sr_json_object_end(w);
}

void sr_history_json_page(struct sr_json_writer *w, const struct sr_history_selection *all,
                          const struct sr_history_query *q, const struct sr_history_words *words)
{
    size_t from = q->offset < all->n ? q->offset : all->n, at = from;
    size_t end = q->limit < all->n - from ? from + q->limit : all->n;
    struct sr_buf items;
    sr_buf_init(&items, SR_HISTORY_JSON_MAX);
    struct sr_json_writer data = sr_json_writer_of(&items);
    for (; at < end && !data.rc && items.len < SR_HISTORY_PAGE_BYTES; at++)
        sr_history_json(&data, NULL, all->items[at], words, q->details);
    if (data.rc)
        w->rc = data.rc;
    sr_json_object(w, NULL);
    sr_json_text(w, "object", "router_replay.list");
    sr_json_uint(w, "count", at - from);
    sr_json_uint(w, "total", all->n);
    sr_json_uint(w, "limit", q->limit);
    sr_json_uint(w, "offset", from);
    sr_json_bool(w, "has_more", at < all->n);
    if (at < all->n)
        sr_json_uint(w, "next_offset", at);
    sr_json_array(w, "data");
    if (items.len)
        sr_json_raw(w, NULL, sr_buf_view(&items));
    sr_json_array_end(w);
    sr_json_object_end(w);
    sr_buf_dispose(&items);
}
