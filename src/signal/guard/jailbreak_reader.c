/* Classifies one window after the other on the calling thread, block by block. */
#include "signal/guard/jailbreak_reader.h"

#include "base/grow.h"
#include "base/mem.h"
#include "base/thread.h"
#include "signal/guard/jailbreak_labels.h"
#include "text/ascii.h"
#include "text/disguise/deobfuscate.h"
#include "text/passages.h"
#include "text/slices.h"

#include <stdio.h>

/* Part of the memo key: change it when reading changes. */
#define READER_VERSION "jailbreak-8 "

#define BLOCK_OVERLAP                                                                                        \
    ((size_t)4 << 10)                   /* bytes: at least a window, and a disguised part with its context   \
                                         */
#define SCRATCH_MAX  ((size_t)16 << 20) /* bytes for the views of one block */
#define PASSAGE_STEP 256u               /* bytes */

struct sr_jailbreak_reader {
    struct sr_linear *model;
    struct sr_memo *memo; /* NULL: no memo */
    uint64_t attack;      /* mask of labels */
    bool bundled;
    char name[sizeof READER_VERSION + SR_SHA256_HEX + 16];
};

int sr_jailbreak_reader_new(struct sr_jailbreak_reader **out, const char *path,
                            const struct sr_strings *labels, struct sr_model_store *models,
                            struct sr_err *err)
{
    struct sr_jailbreak_reader *reader = sr_mem_calloc(1, sizeof *reader);
    if (!reader)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    int rc = sr_model_store_linear(models, *path ? path : SR_MODEL_STORE_JAILBREAK, &reader->model, err);
    if (rc) {
        sr_mem_free(reader);
        return rc;
    }
    struct sr_memo *memo = sr_model_store_memo(models);
    reader->bundled = !*path;
    reader->memo = memo ? sr_memo_ref(memo) : NULL;
    rc = sr_jailbreak_attacks(&reader->attack, sr_linear_labels(reader->model),
                              sr_linear_n_labels(reader->model), labels, err);
    if (rc) {
        sr_jailbreak_reader_free(reader);
        return rc;
    }
    snprintf(reader->name, sizeof reader->name, "%s%s %llx", READER_VERSION, sr_linear_sha256(reader->model),
             (unsigned long long)reader->attack);
    *out = reader;
    return SR_OK;
}

void sr_jailbreak_reader_free(struct sr_jailbreak_reader *reader)
{
    if (!reader)
        return;
    sr_linear_unref(reader->model);
    sr_memo_unref(reader->memo);
    sr_mem_free(reader);
}

const char *const *sr_jailbreak_labels(const struct sr_jailbreak_reader *reader, size_t *n)
{
    *n = sr_linear_n_labels(reader->model);
    return sr_linear_labels(reader->model);
}

const char *sr_jailbreak_tier(const struct sr_jailbreak_reader *reader)
{
    return sr_linear_classifier(reader->model)->ops->name;
}

/* ---- sessions ---- */

/* On the heap. */
struct windows {
    struct sr_risk_window *items;
    size_t n, room;
};

struct sr_jailbreak_session {
    const struct sr_jailbreak_reader *reader;
    bool keeps; /* `scope` is set: results are memoised */
    struct sr_memo_scope scope;
    struct sr_arena scratch;
    struct windows windows, passages; /* of the text that is being read */
    bool is_long;
    bool cut;
    struct sr_linear_run run;
};

int sr_jailbreak_session_new(struct sr_jailbreak_session **out, const struct sr_jailbreak_reader *reader,
                             struct sr_bytes tenant)
{
    struct sr_jailbreak_session *session = sr_mem_alloc(sizeof *session);
    if (!session)
        return SR_ENOMEM;
    session->reader = reader;
    session->keeps =
        reader->memo && sr_memo_scope(&session->scope, sr_bytes_str(reader->name), tenant) == SR_OK;
    sr_arena_init(&session->scratch, SCRATCH_MAX);
    session->windows = session->passages = (struct windows){.items = NULL};
    session->is_long = session->cut = false;
    sr_linear_begin(&session->run, reader->model);
    *out = session;
    return SR_OK;
}

void sr_jailbreak_session_free(struct sr_jailbreak_session *session)
{
    if (!session)
        return;
    sr_arena_dispose(&session->scratch);
    sr_mem_free(session->windows.items);
    sr_mem_free(session->passages.items);
    sr_mem_free(session);
}

/* The summed probability of a window's attack labels; `label` is the likeliest of them. */
static float risk_of(struct sr_jailbreak_session *session, struct sr_bytes window, uint16_t *label)
{
    const struct sr_jailbreak_reader *reader = session->reader;
    float p[SR_CLASSIFIER_LABELS_MAX], best = -1, risk = 0;
    sr_linear_again(&session->run);
    sr_linear_feed(&session->run, window);
    sr_linear_end(&session->run, NULL, p);
    for (size_t i = 0; i < sr_linear_n_labels(reader->model); i++) {
        if (!(reader->attack >> i & 1))
            continue;
        risk += p[i];
        *label = p[i] > best ? (uint16_t)i : *label;
        best = p[i] > best ? p[i] : best;
    }
    return risk < SR_RISK_MAX ? risk : SR_RISK_MAX;
}

static int add_window(struct windows *windows, struct sr_risk_window window)
{
    int rc = sr_grow(&windows->items, &windows->room, windows->n + 1, sizeof window, SR_GROW_NO_MAX);
    if (rc == SR_OK)
        windows->items[windows->n++] = window;
    return rc;
}

/* Reads a block, which begins at `from` of the text, without the windows that its views replace. */
static int read_plain(struct sr_jailbreak_session *session, struct sr_bytes block, size_t from,
                      const struct sr_undisguised_list *views)
{
    struct sr_slices windows = sr_slices_of(block, SR_JAILBREAK_WINDOW, SR_JAILBREAK_OVERLAP);
    struct sr_slice w;
    int rc = SR_OK;
    while (rc == SR_OK && sr_slices_next(&windows, &w)) {
        rc = sr_job_pause(w.end - w.start);
        struct sr_risk_window window = {.start = (uint32_t)(from + w.start), .end = (uint32_t)(from + w.end)};
        if (rc || sr_undisguised_stand_for(block, views, w.start, w.end))
            continue;
        window.risk = risk_of(session, sr_bytes_of(block.p + w.start, w.end - w.start), &window.label);
        rc = add_window(&session->windows, window);
    }
    return rc;
}

/* Keeps one passage of those that begin in the same PASSAGE_STEP bytes, the one with the highest risk: short
 * lines would fill the memory, and a window of the neural classifier meets either. */
static int add_passage(struct windows *passages, struct sr_risk_window passage)
{
    struct sr_risk_window *last = passages->n ? &passages->items[passages->n - 1] : NULL;
    if (!last || last->disguise || last->start / PASSAGE_STEP != passage.start / PASSAGE_STEP)
        return add_window(passages, passage);
    *last = sr_risk_higher(*last, passage);
    return SR_OK;
}

/* The same of the block's passages. */
static int read_passages(struct sr_jailbreak_session *session, struct sr_bytes block, size_t from,
                         const struct sr_undisguised_list *views)
{
    struct sr_passage p;
    size_t at = 0;
    int rc = SR_OK;
    while (rc == SR_OK && sr_passage_next(block, &at, &p)) {
        rc = sr_job_pause(p.end - p.start);
        struct sr_risk_window window = {.start = (uint32_t)(from + p.start), .end = (uint32_t)(from + p.end)};
        if (rc || sr_undisguised_stand_for(block, views, p.start, p.end))
            continue;
        window.risk = risk_of(session, sr_bytes_of(block.p + p.start, p.end - p.start), &window.label);
        rc = add_passage(&session->passages, window);
    }
    return rc;
}

/* Reads a view of a block: its worst window counts. */
static int read_view(struct sr_jailbreak_session *session, const struct sr_undisguised *view, size_t from)
{
    struct sr_slices windows = sr_slices_of(view->text, SR_JAILBREAK_WINDOW, SR_JAILBREAK_OVERLAP);
    struct sr_slice w;
    struct sr_risk_window worst = {.risk = -1, .disguise = view->disguise};
    size_t start, end;
    int rc = SR_OK;
    while (!rc && sr_slices_next(&windows, &w)) {
        uint16_t label = 0;
        float risk = risk_of(session, sr_bytes_of(view->text.p + w.start, w.end - w.start), &label);
        rc = sr_job_pause(0);
        if (risk <= worst.risk)
            continue;
        sr_undisguised_locate(view, w.start, w.end, &start, &end);
        worst.label = label;
        worst.risk = risk;
        worst.start = (uint32_t)(from + start);
        worst.end = (uint32_t)(from + end);
    }
    if (rc == SR_OK && session->is_long)
        rc = add_window(&session->passages, worst);
    return rc ? rc : add_window(&session->windows, worst);
}

static int read_block(struct sr_jailbreak_session *session, struct sr_bytes block, size_t from)
{
    struct sr_undisguised_list views;
    int rc = sr_undisguise(block, SR_JAILBREAK_OVERLAP, &session->scratch, &views);
    if (rc == SR_OK)
        rc = read_plain(session, block, from, &views);
    if (rc == SR_OK && session->is_long)
        rc = read_passages(session, block, from, &views);
    for (size_t i = 0; rc == SR_OK && i < views.n; i++)
        rc = read_view(session, &views.items[i], from);
    session->cut |= rc == SR_OK && views.cut;
    return rc;
}

static bool is_code(char c)
{
    return sr_ascii_is_word((unsigned char)c) || c == '+' || c == '/' || c == '-' || c == '=';
}

/* The first byte in [from, to) from which on there are only characters of base64 up to `to`. */
static size_t run_before(struct sr_bytes text, size_t from, size_t to)
{
    while (to > from && is_code(text.p[to - 1]))
        to--;
    return to;
}

/* Reads block after block. Blocks overlap; one that begins in a run of base64 or hexadecimal digits begins
 * at a multiple of four of them, so that it decodes as the whole run does. */
static int read_blocks(struct sr_jailbreak_session *session, struct sr_bytes text)
{
    struct sr_slices blocks = sr_slices_of(text, SR_JAILBREAK_BLOCK, BLOCK_OVERLAP);
    struct sr_slice block;
    size_t run = 0, last = 0;
    int rc = SR_OK;
    while (rc == SR_OK && sr_slices_next(&blocks, &block)) {
        size_t begun = run_before(text, last, block.start);
        run = begun > last ? begun : run;
        last = block.start;
        size_t start = block.start - (block.start - run) % 4;
        sr_arena_reset(&session->scratch);
        rc = read_block(session, sr_bytes_of(text.p + start, block.end - start), start);
    }
    return rc;
}

/* A reading in one piece of memory, as the memo keeps it: the numbers of windows and of passages as `start`
 * and `end` of one entry, then both. */
static void point_into(struct sr_jailbreak_reading *out, struct sr_risk_window *entries)
{
    out->n = entries[0].start;
    out->n_passages = entries[0].end;
    out->windows = entries + 1;
    out->passages = entries + 1 + out->n;
}

/* What the session has read, copied to the arena; *value is the piece of memory. */
static int take_reading(const struct sr_jailbreak_session *session, struct sr_arena *arena,
                        struct sr_jailbreak_reading *out, struct sr_bytes *value)
{
    const struct windows *windows = &session->windows, *passages = &session->passages;
    size_t n = 1 + windows->n + passages->n;
    struct sr_risk_window *entries = sr_arena_calloc(arena, n, sizeof *entries);
    if (!entries)
        return SR_ENOMEM;
    entries[0] = (struct sr_risk_window){.start = (uint32_t)windows->n, .end = (uint32_t)passages->n};
    if (windows->n)
        memcpy(entries + 1, windows->items, windows->n * sizeof *entries);
    if (passages->n)
        memcpy(entries + 1 + windows->n, passages->items, passages->n * sizeof *entries);
    *value = sr_bytes_of(entries, n * sizeof *entries);
    point_into(out, entries);
    return SR_OK;
}

int sr_jailbreak_read(struct sr_jailbreak_session *session, struct sr_bytes text, struct sr_arena *arena,
                      struct sr_jailbreak_reading *out)
{
    struct sr_memo *memo = session->reader->memo;
    struct sr_memo_key key;
    struct sr_bytes value;
    *out = (struct sr_jailbreak_reading){.windows = NULL};
    if (text.n > UINT32_MAX)
        return SR_ELIMIT;
    bool keep = session->keeps && sr_memo_key(&key, &session->scope, text) == SR_OK;
    if (keep && sr_memo_get(memo, &key, arena, &value) == SR_OK) {
        point_into(out, (struct sr_risk_window *)(void *)value.p);
        out->remembered = true;
        return SR_OK;
    }
    session->windows.n = session->passages.n = 0;
    session->cut = false;
    session->is_long = session->reader->bundled && sr_risk_stretches(text.n) >= SR_RISK_LONG_FROM;
    int rc = read_blocks(session, text);
    out->cut = session->cut;
    if (rc == SR_OK)
        rc = take_reading(session, arena, out, &value);
    if (rc == SR_OK && keep && !out->cut)
        sr_memo_put(memo, &key, value);
    return rc;
}

int sr_jailbreak_scope(const struct sr_jailbreak_reader *reader, struct sr_bytes tenant,
                       struct sr_memo_scope *out)
{
    return reader->memo ? sr_memo_scope(out, sr_bytes_str(reader->name), tenant) : SR_ENOENT;
}

bool sr_jailbreak_is_known(const struct sr_jailbreak_reader *reader, const struct sr_memo_scope *scope,
                           struct sr_bytes text)
{
    struct sr_memo_key key;
    return sr_memo_key(&key, scope, text) == SR_OK && sr_memo_has(reader->memo, &key);
}
