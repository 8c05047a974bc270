/* One allocation: the struct, its arrays, its texts. Bytes are little-endian: a head, then the same order. */
#include "history/entry.h"

#include "base/mem.h"

#include <math.h>

#define VERSION 2u
#define MAGIC   0x48525331u /* "1SRH" */

void sr_history_facts_init(struct sr_history_facts *facts)
{
    *facts = (struct sr_history_facts){0};
    facts->why = SR_LIT("");
    for (int i = 0; i < SR_HISTORY_TEXTS; i++)
        facts->texts[i] = SR_LIT("");
    for (int i = 0; i < SR_HISTORY_NUMBERS; i++)
        facts->numbers[i] = NAN;
}

static size_t min_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool is_body(int text)
{
    return text == SR_HISTORY_REQUEST_BODY || text == SR_HISTORY_RESPONSE_BODY;
}

/* ---- making ---- */

/* Bytes without a character that is cut at their end. */
static size_t whole_characters(const char *p, size_t n)
{
    size_t at = n;
    while (at && n - at < 4 && ((unsigned char)p[at - 1] & 0xc0) == 0x80)
        at--;
    if (!at || n - at >= 4)
        return n;
    unsigned char lead = (unsigned char)p[at - 1];
    size_t needs = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    return n - at + 1 < needs ? at - 1 : n;
}

static struct sr_bytes cut(struct sr_bytes text, size_t max)
{
    return text.n <= max ? text : sr_bytes_of(text.p, whole_characters(text.p, max));
}

static struct sr_bytes put(char **at, struct sr_bytes text)
{
    struct sr_bytes copy = {*at, text.n};
    if (text.n)
        memcpy(*at, text.p, text.n);
    *at += text.n;
    return copy;
}

/* The facts with every text cut; arrays have their final lengths. */
static void cut_facts(struct sr_history_facts *f)
{
    for (int i = 0; i < SR_HISTORY_TEXTS; i++) {
        struct sr_bytes text = cut(f->texts[i], is_body(i) ? SR_HISTORY_BODY_MAX : SR_HISTORY_TEXT_MAX);
        if (is_body(i) && text.n < f->texts[i].n)
            f->numbers[i == SR_HISTORY_REQUEST_BODY ? SR_HISTORY_REQUEST_CUT : SR_HISTORY_RESPONSE_CUT] = 1;
        f->texts[i] = text;
    }
    if (f->why.n > SR_HISTORY_WHY_MAX)
        f->why = SR_LIT("");
    f->n_signals = min_of(f->n_signals, SR_HISTORY_SIGNALS_MAX);
    f->n_rules = min_of(f->n_rules, SR_HISTORY_RULES_MAX);
    f->n_candidates = min_of(f->n_candidates, SR_HISTORY_CANDIDATES_MAX);
    f->n_outcomes = min_of(f->n_outcomes, SR_HISTORY_OUTCOMES_MAX);
}

/* The texts of an outcome, in the order in which they are written. */
enum { OUTCOME_TEXTS = 5 };

static void outcome_texts(struct sr_history_outcome *o, struct sr_bytes *texts[OUTCOME_TEXTS])
{
    struct sr_bytes *const all[OUTCOME_TEXTS] = {&o->source, &o->target, &o->target_ref, &o->verdict,
                                                 &o->reason};
    memcpy(texts, all, sizeof all);
}

static size_t text_bytes(const struct sr_history_facts *f)
{
    size_t n = f->why.n;
    for (int i = 0; i < SR_HISTORY_TEXTS; i++)
        n += f->texts[i].n;
    for (size_t i = 0; i < f->n_signals; i++)
        n += cut(f->signals[i].type, SR_HISTORY_TEXT_MAX).n + cut(f->signals[i].tier, SR_HISTORY_TEXT_MAX).n +
             cut(f->signals[i].error, SR_HISTORY_TEXT_MAX).n;
    for (size_t i = 0; i < f->n_rules; i++)
        n += cut(f->rules[i].name, SR_HISTORY_TEXT_MAX).n;
    for (size_t i = 0; i < f->n_candidates; i++)
        n += cut(f->candidates[i].model, SR_HISTORY_TEXT_MAX).n +
             cut(f->candidates[i].excluded, SR_HISTORY_TEXT_MAX).n;
    for (size_t i = 0; i < f->n_outcomes; i++) {
        struct sr_history_outcome o = f->outcomes[i];
        struct sr_bytes *texts[OUTCOME_TEXTS];
        outcome_texts(&o, texts);
        for (size_t k = 0; k < OUTCOME_TEXTS; k++)
            n += cut(*texts[k], SR_HISTORY_TEXT_MAX).n;
    }
    return n;
}

/* Copies arrays and texts behind the entry. */
static void fill(struct sr_history_entry *entry, const struct sr_history_facts *f)
{
    struct sr_history_signal *signals = (struct sr_history_signal *)(void *)(entry + 1);
    struct sr_history_rule *rules = (struct sr_history_rule *)(void *)(signals + f->n_signals);
    struct sr_history_candidate *candidates = (struct sr_history_candidate *)(void *)(rules + f->n_rules);
    struct sr_history_outcome *outcomes = (struct sr_history_outcome *)(void *)(candidates + f->n_candidates);
    char *at = (char *)(outcomes + f->n_outcomes);
    entry->f = *f;
    for (int i = 0; i < SR_HISTORY_TEXTS; i++)
        entry->f.texts[i] = put(&at, f->texts[i]);
    entry->f.why = put(&at, f->why);
    for (size_t i = 0; i < f->n_signals; i++) {
        signals[i] = f->signals[i];
        signals[i].type = put(&at, cut(f->signals[i].type, SR_HISTORY_TEXT_MAX));
        signals[i].tier = put(&at, cut(f->signals[i].tier, SR_HISTORY_TEXT_MAX));
        signals[i].error = put(&at, cut(f->signals[i].error, SR_HISTORY_TEXT_MAX));
    }
    for (size_t i = 0; i < f->n_rules; i++) {
        rules[i] = f->rules[i];
        rules[i].name = put(&at, cut(f->rules[i].name, SR_HISTORY_TEXT_MAX));
    }
    for (size_t i = 0; i < f->n_candidates; i++) {
        candidates[i] = f->candidates[i];
        candidates[i].model = put(&at, cut(f->candidates[i].model, SR_HISTORY_TEXT_MAX));
        candidates[i].excluded = put(&at, cut(f->candidates[i].excluded, SR_HISTORY_TEXT_MAX));
    }
    for (size_t i = 0; i < f->n_outcomes; i++) {
        struct sr_bytes *texts[OUTCOME_TEXTS];
        outcomes[i] = f->outcomes[i];
        outcome_texts(&outcomes[i], texts);
        for (size_t k = 0; k < OUTCOME_TEXTS; k++)
            *texts[k] = put(&at, cut(*texts[k], SR_HISTORY_TEXT_MAX));
    }
    entry->f.signals = signals;
    entry->f.rules = rules;
    entry->f.candidates = candidates;
    entry->f.outcomes = outcomes;
}

int sr_history_entry_new(struct sr_history_entry **out, const struct sr_history_facts *facts)
{
    struct sr_history_facts f = *facts;
    cut_facts(&f);
    size_t bytes = sizeof **out + f.n_signals * sizeof *f.signals + f.n_rules * sizeof *f.rules +
                   f.n_candidates * sizeof *f.candidates + f.n_outcomes * sizeof *f.outcomes + text_bytes(&f);
    *out = sr_mem_alloc(bytes);
    if (!*out)
        return SR_ENOMEM;
    sr_ref_init(&(*out)->ref);
    (*out)->bytes = bytes;
    fill(*out, &f);
    return SR_OK;
}

struct sr_history_entry *sr_history_entry_ref(struct sr_history_entry *entry)
{
    sr_ref_get(&entry->ref);
    return entry;
}

void sr_history_entry_unref(struct sr_history_entry *entry)
{
    if (entry && sr_ref_put(&entry->ref))
        sr_mem_free(entry);
}

/* ---- writing ---- */

/* Writes to `at`, or only counts where that is NULL. */
struct pen {
    uint8_t *at;
    size_t n;
};

static void write_u64(struct pen *pen, uint64_t value, int size)
{
    for (int i = 0; pen->at && i < size; i++)
        pen->at[pen->n + (size_t)i] = (uint8_t)(value >> (8 * i));
    pen->n += (size_t)size;
}

static void write_real(struct pen *pen, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    write_u64(pen, bits, 8);
}

static void write_text(struct pen *pen, struct sr_bytes text)
{
    write_u64(pen, text.n, 4);
    if (pen->at && text.n)
        memcpy(pen->at + pen->n, text.p, text.n);
    pen->n += text.n;
}

static void write_facts(struct pen *pen, const struct sr_history_facts *f)
{
    const uint64_t counts[] = {SR_HISTORY_TEXTS, SR_HISTORY_NUMBERS, f->n_signals,
                               f->n_rules,       f->n_candidates,    f->n_outcomes};
    write_u64(pen, MAGIC, 4);
    write_u64(pen, VERSION, 4);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        write_u64(pen, counts[i], 4);
    write_u64(pen, (uint64_t)f->time_us, 8);
    write_u64(pen, (uint64_t)f->ended_us, 8);
    write_u64(pen, f->edits, 4);
    write_u64(pen, f->private_types, 4);
    for (int i = 0; i < SR_HISTORY_NUMBERS; i++)
        write_real(pen, f->numbers[i]);
    for (int i = 0; i < SR_HISTORY_TEXTS; i++)
        write_text(pen, f->texts[i]);
    for (size_t i = 0; i < f->n_signals; i++) {
        write_u64(pen, f->signals[i].start_us, 4);
        write_u64(pen, f->signals[i].took_us, 4);
        write_text(pen, f->signals[i].type);
        write_text(pen, f->signals[i].tier);
        write_text(pen, f->signals[i].error);
    }
    for (size_t i = 0; i < f->n_rules; i++) {
        write_u64(pen, f->rules[i].signal, 4);
        write_u64(pen, f->rules[i].matched, 1);
        write_real(pen, (double)f->rules[i].confidence);
        write_real(pen, f->rules[i].value);
        write_text(pen, f->rules[i].name);
    }
    for (size_t i = 0; i < f->n_candidates; i++) {
        write_u64(pen, f->candidates[i].chosen, 1);
        write_real(pen, f->candidates[i].score);
        write_text(pen, f->candidates[i].model);
        write_text(pen, f->candidates[i].excluded);
    }
    for (size_t i = 0; i < f->n_outcomes; i++) {
        struct sr_history_outcome o = f->outcomes[i];
        struct sr_bytes *texts[OUTCOME_TEXTS];
        outcome_texts(&o, texts);
        write_u64(pen, (uint64_t)o.time_us, 8);
        write_real(pen, o.score);
        for (size_t k = 0; k < OUTCOME_TEXTS; k++)
            write_text(pen, *texts[k]);
    }
}

size_t sr_history_entry_size(const struct sr_history_entry *entry)
{
    struct pen pen = {0};
    write_facts(&pen, &entry->f);
    return pen.n;
}

void sr_history_entry_write(const struct sr_history_entry *entry, uint8_t *out)
{
    struct pen pen = {.at = out};
    write_facts(&pen, &entry->f);
}

/* ---- reading ---- */

struct reader {
    const uint8_t *at;
    size_t left;
    bool bad;
};

static uint64_t read_u64(struct reader *r, size_t size)
{
    uint64_t value = 0;
    if (r->left < size) {
        r->bad = true;
        return 0;
    }
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)r->at[i] << (8 * i);
    r->at += size;
    r->left -= size;
    return value;
}

static double read_real(struct reader *r)
{
    uint64_t bits = read_u64(r, 8);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static struct sr_bytes read_text(struct reader *r, size_t max)
{
    size_t n = (size_t)read_u64(r, 4);
    struct sr_bytes text = SR_LIT("");
    if (n > max || n > r->left) {
        r->bad = true;
        return text;
    }
    if (n)
        text = sr_bytes_of(r->at, n);
    r->at += n;
    r->left -= n;
    return text;
}

static bool read_flag(struct reader *r)
{
    uint64_t value = read_u64(r, 1);
    r->bad |= value > 1;
    return value == 1;
}

/* Reads the head and the counts, which must be those of this version. */
static void read_head(struct reader *r, struct sr_history_facts *f)
{
    r->bad |= read_u64(r, 4) != MAGIC;
    r->bad |= read_u64(r, 4) != VERSION;
    r->bad |= read_u64(r, 4) != SR_HISTORY_TEXTS;
    r->bad |= read_u64(r, 4) != SR_HISTORY_NUMBERS;
    f->n_signals = (size_t)read_u64(r, 4);
    f->n_rules = (size_t)read_u64(r, 4);
    f->n_candidates = (size_t)read_u64(r, 4);
    f->n_outcomes = (size_t)read_u64(r, 4);
    r->bad |= f->n_outcomes > SR_HISTORY_OUTCOMES_MAX;
    r->bad |= f->n_signals > SR_HISTORY_SIGNALS_MAX || f->n_rules > SR_HISTORY_RULES_MAX ||
              f->n_candidates > SR_HISTORY_CANDIDATES_MAX;
    f->time_us = (int64_t)read_u64(r, 8);
    f->ended_us = (int64_t)read_u64(r, 8);
    f->edits = (uint32_t)read_u64(r, 4);
    f->private_types = (uint32_t)read_u64(r, 4);
    for (int i = 0; i < SR_HISTORY_NUMBERS; i++)
        f->numbers[i] = read_real(r);
    for (int i = 0; i < SR_HISTORY_TEXTS; i++)
        f->texts[i] = read_text(r, is_body(i) ? SR_HISTORY_BODY_MAX : SR_HISTORY_TEXT_MAX);
}

int sr_history_entry_read(struct sr_history_entry **out, struct sr_bytes bytes)
{
    struct sr_history_signal signals[SR_HISTORY_SIGNALS_MAX];
    struct sr_history_rule rules[SR_HISTORY_RULES_MAX];
    struct sr_history_candidate candidates[SR_HISTORY_CANDIDATES_MAX];
    struct sr_history_outcome outcomes[SR_HISTORY_OUTCOMES_MAX];
    struct sr_history_facts f = {
        .signals = signals, .rules = rules, .candidates = candidates, .outcomes = outcomes};
    struct reader r = {.at = (const uint8_t *)bytes.p, .left = bytes.n};
    *out = NULL;
    read_head(&r, &f);
    for (size_t i = 0; !r.bad && i < f.n_signals; i++) {
        signals[i].start_us = (uint32_t)read_u64(&r, 4);
        signals[i].took_us = (uint32_t)read_u64(&r, 4);
        signals[i].type = read_text(&r, SR_HISTORY_TEXT_MAX);
        signals[i].tier = read_text(&r, SR_HISTORY_TEXT_MAX);
        signals[i].error = read_text(&r, SR_HISTORY_TEXT_MAX);
    }
    for (size_t i = 0; !r.bad && i < f.n_rules; i++) {
        rules[i].signal = (uint32_t)read_u64(&r, 4);
        r.bad |= rules[i].signal >= f.n_signals;
        rules[i].matched = read_flag(&r);
        rules[i].confidence = (float)read_real(&r);
        rules[i].value = read_real(&r);
        rules[i].name = read_text(&r, SR_HISTORY_TEXT_MAX);
    }
    for (size_t i = 0; !r.bad && i < f.n_candidates; i++) {
        candidates[i].chosen = read_flag(&r);
        candidates[i].score = read_real(&r);
        candidates[i].model = read_text(&r, SR_HISTORY_TEXT_MAX);
        candidates[i].excluded = read_text(&r, SR_HISTORY_TEXT_MAX);
    }
    for (size_t i = 0; !r.bad && i < f.n_outcomes; i++) {
        struct sr_bytes *texts[OUTCOME_TEXTS];
        outcomes[i].time_us = (int64_t)read_u64(&r, 8);
        outcomes[i].score = read_real(&r);
        outcome_texts(&outcomes[i], texts);
        for (size_t k = 0; k < OUTCOME_TEXTS; k++)
            *texts[k] = read_text(&r, SR_HISTORY_TEXT_MAX);
    }
    if (r.bad || r.left)
        return SR_EPARSE;
    return sr_history_entry_new(out, &f);
}
