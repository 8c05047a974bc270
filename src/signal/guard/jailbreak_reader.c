/* Classifies one window after the other on the calling thread. */
#include "signal/guard/jailbreak_reader.h"

#include "base/mem.h"
#include "signal/guard/risk.h"
#include "text/disguise/deobfuscate.h"
#include "text/slices.h"

#include <stdio.h>

/* Part of the memo key: change it when reading changes. */
#define READER_VERSION "jailbreak-3 "

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
    return risk > 1 ? 1 : risk;
}

/* Classifies a view of [start, end) of the given text. With `disguise` 0 it is the text itself, without
 * the windows that its `views` replace: these count as harmless. Updates the finding, with the span of the
 * worst window, if the risk is higher. */
static void read_text(const struct sr_jailbreak_reader *reader, const struct sr_undisguised *view,
                      const struct sr_undisguised *views, size_t n_views, struct sr_jailbreak_finding *worst)
{
    struct sr_slices windows = sr_slices_of(view->text, SR_JAILBREAK_WINDOW, SR_JAILBREAK_OVERLAP);
    struct sr_slice w;
    struct sr_jailbreak_finding text = {.risk = -1, .disguise = view->disguise};
    struct sr_risk all = {.spread = SR_RISK_SPREAD_LINEAR};
    uint32_t before = worst->windows, read = 0;
    while (sr_slices_next(&windows, &w)) {
        uint32_t label = 0;
        bool stood_for = sr_undisguised_stand_for(view->text, views, n_views, w.start, w.end);
        float risk =
            stood_for ? 0 : risk_of(reader, sr_bytes_of(view->text.p + w.start, w.end - w.start), &label);
        sr_risk_add(&all, risk);
        read += !stood_for;
        if (stood_for || risk <= text.risk)
            continue;
        text.risk = risk;
        text.label = label;
        text.start = view->disguise ? view->start : w.start;
        text.end = view->disguise ? view->end : w.end;
    }
    text.risk = sr_risk_gathered(&all);
    if (read && (before == 0 || text.risk > worst->risk))
        *worst = text;
    worst->windows = before + read;
}

static int read_views(const struct sr_jailbreak_reader *reader, struct sr_bytes text, struct sr_arena *arena,
                      struct sr_jailbreak_finding *worst)
{
    const struct sr_undisguised *views, whole = {.text = text, .end = text.n};
    size_t n;
    int rc = sr_undisguise(text, SR_JAILBREAK_OVERLAP, arena, &views, &n);
    if (rc)
        return rc;
    read_text(reader, &whole, views, n, worst);
    for (size_t i = 0; i < n; i++)
        read_text(reader, &views[i], NULL, 0, worst);
    return SR_OK;
}

int sr_jailbreak_read(const struct sr_jailbreak_reader *reader, struct sr_bytes text, struct sr_bytes tenant,
                      struct sr_arena *arena, struct sr_jailbreak_finding *out)
{
    struct sr_memo_key key;
    struct sr_bytes known;
    *out = (struct sr_jailbreak_finding){0};
    bool keep = reader->memo && sr_memo_key(&key, sr_bytes_str(reader->name), tenant, text) == SR_OK;
    if (keep && sr_memo_get(reader->memo, &key, arena, &known) == SR_OK && known.n == sizeof *out) {
        memcpy(out, known.p, sizeof *out);
        out->windows = 0;
        return SR_OK;
    }
    int rc = read_views(reader, text, arena, out);
    if (!rc && keep)
        sr_memo_put(reader->memo, &key, sr_bytes_of(out, sizeof *out));
    return rc;
}
