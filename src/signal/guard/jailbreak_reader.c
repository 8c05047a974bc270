/* Classifies one window after the other on the calling thread, block by block. */
#include "signal/guard/jailbreak_reader.h"

#include "base/grow.h"
#include "base/mem.h"
#include "text/ascii.h"
#include "text/disguise/deobfuscate.h"
#include "text/slices.h"

#include <stdio.h>

/* Part of the memo key: change it when reading changes. */
#define READER_VERSION "jailbreak-7 "

#define BLOCK_OVERLAP                                                                                        \
    ((size_t)4 << 10)                  /* bytes: at least a window, and a disguised part with its context    \
                                        */
#define SCRATCH_MAX ((size_t)16 << 20) /* bytes for the views of one block */

struct sr_jailbreak_reader {
    struct sr_linear *model;
    struct sr_memo *memo; /* NULL: no memo */
    uint64_t attack;      /* mask of labels */
    char name[sizeof READER_VERSION + SR_SHA256_HEX + 16];
};

static bool same_word(const char *a, const char *b)
{
    return sr_bytes_eq_nocase(sr_bytes_str(a), sr_bytes_str(b));
}

static bool is_attack(const char *label, const struct sr_strings *labels)
{
    static const char *const harmless[] = {"benign", "safe", "normal"};
    for (size_t i = 0; i < labels->count; i++)
        if (same_word(labels->items[i], label))
            return true;
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
        if (same_word(harmless[i], label))
            return false;
    return labels->count == 0;
}

uint64_t sr_jailbreak_attacks(const char *const *names, size_t n, const struct sr_strings *labels)
{
    uint64_t attack = 0;
    for (size_t i = 0; i < n && i < 64; i++)
        if (is_attack(names[i], labels))
            attack |= UINT64_C(1) << i;
    return attack;
}

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
    reader->memo = memo ? sr_memo_ref(memo) : NULL;
    reader->attack =
        sr_jailbreak_attacks(sr_linear_labels(reader->model), sr_linear_n_labels(reader->model), labels);
    snprintf(reader->name, sizeof reader->name, "%s%s %llx", READER_VERSION, sr_linear_sha256(reader->model),
             (unsigned long long)reader->attack);
    if (!reader->attack) {
        sr_jailbreak_reader_free(reader);
        return sr_err_set(err, SR_EINVAL, "no label of the model means an attack");
    }
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

/* The summed probability of a window's attack labels; `label` is the likeliest of them. */
static float risk_of(const struct sr_jailbreak_reader *reader, struct sr_bytes window, uint32_t *label)
{
    float p[SR_CLASSIFIER_LABELS_MAX], best = -1, risk = 0;
    sr_linear_scores(reader->model, window, p);
    for (size_t i = 0; i < sr_linear_n_labels(reader->model); i++) {
        if (!(reader->attack >> i & 1))
            continue;
        risk += p[i];
        *label = p[i] > best ? (uint32_t)i : *label;
        best = p[i] > best ? p[i] : best;
    }
    return risk < SR_RISK_MAX ? risk : SR_RISK_MAX;
}

/* The windows of a text while it is read. */
struct reading {
    const struct sr_jailbreak_reader *reader;
    struct sr_risk_window *windows; /* on the heap */
    size_t n, room;
    bool cut;
};

static int add_window(struct reading *reading, struct sr_risk_window window)
{
    int rc = sr_grow(&reading->windows, &reading->room, reading->n + 1, sizeof window, SR_GROW_NO_MAX);
    if (rc == SR_OK)
        reading->windows[reading->n++] = window;
    return rc;
}

/* Reads a block, which begins at `from` of the text, without the windows that its views replace. */
static int read_plain(struct reading *reading, struct sr_bytes block, size_t from,
                      const struct sr_undisguised_list *views)
{
    struct sr_slices windows = sr_slices_of(block, SR_JAILBREAK_WINDOW, SR_JAILBREAK_OVERLAP);
    struct sr_slice w;
    int rc = SR_OK;
    while (rc == SR_OK && sr_slices_next(&windows, &w)) {
        struct sr_risk_window window = {.start = (uint32_t)(from + w.start), .end = (uint32_t)(from + w.end)};
        if (sr_undisguised_stand_for(block, views, w.start, w.end))
            continue;
        window.risk =
            risk_of(reading->reader, sr_bytes_of(block.p + w.start, w.end - w.start), &window.label);
        rc = add_window(reading, window);
    }
    return rc;
}

/* Reads a view of a block: its worst window counts. */
static int read_view(struct reading *reading, const struct sr_undisguised *view, size_t from)
{
    struct sr_slices windows = sr_slices_of(view->text, SR_JAILBREAK_WINDOW, SR_JAILBREAK_OVERLAP);
    struct sr_slice w;
    struct sr_risk_window worst = {.risk = -1, .disguise = view->disguise};
    size_t start, end;
    while (sr_slices_next(&windows, &w)) {
        uint32_t label = 0;
        float risk = risk_of(reading->reader, sr_bytes_of(view->text.p + w.start, w.end - w.start), &label);
        if (risk <= worst.risk)
            continue;
        sr_undisguised_locate(view, w.start, w.end, &start, &end);
        worst.label = label;
        worst.risk = risk;
        worst.start = (uint32_t)(from + start);
        worst.end = (uint32_t)(from + end);
    }
    return add_window(reading, worst);
}

static int read_block(struct reading *reading, struct sr_bytes block, size_t from, struct sr_arena *scratch)
{
    struct sr_undisguised_list views;
    int rc = sr_undisguise(block, SR_JAILBREAK_OVERLAP, scratch, &views);
    if (rc == SR_OK)
        rc = read_plain(reading, block, from, &views);
    for (size_t i = 0; rc == SR_OK && i < views.n; i++)
        rc = read_view(reading, &views.items[i], from);
    reading->cut |= rc == SR_OK && views.cut;
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
static int read_blocks(struct reading *reading, struct sr_bytes text)
{
    struct sr_slices blocks = sr_slices_of(text, SR_JAILBREAK_BLOCK, BLOCK_OVERLAP);
    struct sr_slice block;
    size_t run = 0, last = 0;
    int rc = SR_OK;
    while (rc == SR_OK && sr_slices_next(&blocks, &block)) {
        struct sr_arena scratch;
        size_t begun = run_before(text, last, block.start);
        run = begun > last ? begun : run;
        last = block.start;
        size_t start = block.start - (block.start - run) % 4;
        sr_arena_init(&scratch, SCRATCH_MAX);
        rc = read_block(reading, sr_bytes_of(text.p + start, block.end - start), start, &scratch);
        sr_arena_dispose(&scratch);
    }
    return rc;
}

int sr_jailbreak_read(const struct sr_jailbreak_reader *reader, struct sr_bytes text, struct sr_bytes tenant,
                      struct sr_arena *arena, struct sr_jailbreak_reading *out)
{
    struct sr_memo_key key;
    struct sr_bytes known;
    struct reading reading = {.reader = reader};
    *out = (struct sr_jailbreak_reading){.windows = NULL};
    if (text.n > UINT32_MAX)
        return SR_ELIMIT;
    bool keep = reader->memo && sr_memo_key(&key, sr_bytes_str(reader->name), tenant, text) == SR_OK;
    if (keep && sr_memo_get(reader->memo, &key, arena, &known) == SR_OK) {
        out->windows = (struct sr_risk_window *)(void *)known.p;
        out->n = known.n / sizeof *out->windows;
        out->remembered = true;
        return SR_OK;
    }
    int rc = read_blocks(&reading, text);
    out->cut = reading.cut;
    struct sr_bytes value = sr_bytes_of(reading.windows, reading.n * sizeof *reading.windows);
    if (rc == SR_OK && reading.n) {
        out->windows = sr_arena_alloc(arena, value.n);
        out->n = out->windows ? reading.n : 0;
        rc = out->windows ? SR_OK : SR_ENOMEM;
        if (rc == SR_OK)
            memcpy(out->windows, value.p, value.n);
    }
    if (rc == SR_OK && keep && !out->cut)
        sr_memo_put(reader->memo, &key, value);
    sr_mem_free(reading.windows);
    return rc;
}
