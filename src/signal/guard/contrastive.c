/*
 * Contrastive: rules of `jailbreak` that compare the meaning of every unit with example texts. A rule matches
 * when a piece of a unit is nearer, by its threshold, to the nearest attack than to the nearest benign text.
 *
 * Units are read as the classifier reads them: all but the operator's, disguised parts also undisguised; a
 * rule without history reads the current ones. Each is compared in pieces, so that harmless text around an
 * attack does not hide it: in sentences, and in windows. A request of too many pieces is over a limit, and
 * nothing of it counts as read.
 */
#include "base/mem.h"
#include "signal/guard/jailbreak.h"
#include "signal/guard/place.h"
#include "signal/topic/meaning.h"
#include "text/slices.h"

#include <math.h>

#define SENTENCE   ((size_t)256)  /* bytes of the small pieces: a sentence counts beside much other text */
#define WINDOW     ((size_t)1024) /* of the large ones, for what takes several sentences to say */
#define OVERLAP(n) ((n) / 4)
#define PIECES_MAX 2048u

/* A rule and the vectors of its example texts. */
struct rule {
    const struct sr_config_jailbreak *config;
    struct sr_bank attacks, benign;
};

struct sr_signal_set {
    struct sr_embedding_reader *reader; /* NULL: there is no encoder */
    bool history;                       /* a rule reads every unit */
    size_t n;
    struct rule rules[];
};

/* A text that is compared: bytes [start, end) of a unit, or what they hide. */
struct piece {
    uint32_t unit;
    bool current, extra; /* `extra`: its bytes are those of other pieces */
    size_t start, end;
};

/* The state of one evaluation, in the task's arena. */
struct evaluation {
    struct sr_signal_task *task;
    struct sr_bytes *texts;
    struct piece *pieces;
    size_t n, most;
    uint64_t all_bytes;
};

static void contrastive_free(struct sr_signal_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        sr_bank_dispose(&set->rules[i].attacks);
        sr_bank_dispose(&set->rules[i].benign);
    }
    sr_embedding_reader_unref(set->reader);
    sr_mem_free(set);
}

static int read_banks(struct sr_signal_set *set, struct sr_err *err)
{
    struct sr_err why = {0};
    int rc = SR_OK;
    for (size_t i = 0; i < set->n && rc == SR_OK; i++) {
        struct rule *rule = &set->rules[i];
        rc = sr_bank_read(&rule->attacks, set->reader, &rule->config->attacks, &why);
        if (rc == SR_OK)
            rc = sr_bank_read(&rule->benign, set->reader, &rule->config->benign, &why);
    }
    return rc ? sr_err_set(err, rc, "routing.signals.jailbreak: %s", why.message) : SR_OK;
}

static int contrastive_compile(struct sr_signal_set **out, const struct sr_config *config,
                               struct sr_model_store *models, struct sr_err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < config->n_jailbreaks; i++)
        n += config->jailbreaks[i].method == SR_JAILBREAK_CONTRASTIVE;
    if (n == 0)
        return SR_OK;
    struct sr_signal_set *set = sr_mem_calloc(1, sizeof *set + n * sizeof set->rules[0]);
    if (!set)
        return SR_ENOMEM;
    for (size_t i = 0; i < config->n_jailbreaks; i++) {
        if (config->jailbreaks[i].method != SR_JAILBREAK_CONTRASTIVE)
            continue;
        set->rules[set->n++].config = &config->jailbreaks[i];
        set->history |= config->jailbreaks[i].include_history;
    }
    int rc = sr_meaning_open(&set->reader, "jailbreak", "jailbreak", config, models, err);
    if (rc == SR_OK)
        rc = read_banks(set, err);
    if (rc) {
        contrastive_free(set);
        return rc;
    }
    *out = set;
    return SR_OK;
}

static size_t contrastive_rules(const struct sr_signal_set *set)
{
    return set->n;
}

static const char *contrastive_name(const struct sr_signal_set *set, size_t rule)
{
    return set->rules[rule].config->name;
}

/* ---- pieces ---- */

static int add_piece(struct evaluation *evaluation, struct sr_bytes text, struct piece piece)
{
    if (evaluation->n == evaluation->most)
        return SR_ELIMIT;
    evaluation->texts[evaluation->n] = text;
    evaluation->pieces[evaluation->n++] = piece;
    return SR_OK;
}

/* A piece, and beside it what its disguised parts hide. */
static int add_text(struct evaluation *evaluation, struct sr_bytes text, struct piece piece)
{
    struct sr_jailbreak_region region = {.text = text};
    struct sr_bytes hidden;
    bool instead;
    int rc = add_piece(evaluation, text, piece);
    if (rc == SR_OK)
        rc = sr_jailbreak_region_views(&region, evaluation->task->arena, &hidden, &instead);
    piece.extra = true;
    return rc || !hidden.n ? rc : add_piece(evaluation, hidden, piece);
}

/* Pieces of `size` bytes. A unit that is the text of the input shares its vector. */
static int add_slices(struct evaluation *evaluation, const struct sr_signal_unit *unit, struct piece piece,
                      size_t size)
{
    struct sr_slices slices = sr_slices_of(unit->text, size, OVERLAP(size));
    struct sr_bytes text = evaluation->task->input->text;
    struct sr_slice slice;
    int rc = SR_OK;
    while (rc == SR_OK && sr_slices_next(&slices, &slice)) {
        bool whole = slice.start == 0 && slice.end == unit->text.n;
        piece.start = slice.start;
        piece.end = slice.end;
        rc = add_text(evaluation,
                      whole && sr_bytes_eq(unit->text, text)
                          ? text
                          : sr_bytes_of(unit->text.p + slice.start, slice.end - slice.start),
                      piece);
    }
    return rc;
}

static int add_unit(struct evaluation *evaluation, const struct sr_signal_unit *unit, uint32_t index)
{
    struct piece piece = {.unit = index, .current = unit->current, .extra = unit->n_parts > 0};
    int rc = add_slices(evaluation, unit, piece, SENTENCE);
    piece.extra = true;
    return rc || unit->text.n <= SENTENCE ? rc : add_slices(evaluation, unit, piece, WINDOW);
}

/* SR_ELIMIT: there are too many. */
static int make_pieces(const struct sr_signal_set *set, struct evaluation *evaluation)
{
    const struct sr_signal_input *input = evaluation->task->input;
    const struct sr_signal_unit whole = {.current = true, .text = input->text};
    const struct sr_signal_unit *units = input->units ? input->units->items : &whole;
    size_t n = input->units ? input->units->n : 1;
    int rc = SR_OK;
    for (size_t i = 0; rc == SR_OK && i < n; i++) {
        evaluation->all_bytes += units[i].n_parts ? 0 : units[i].text.n;
        bool reads = (set->history || units[i].current) && !units[i].only_seam && !units[i].operators;
        if (reads && units[i].text.n)
            rc = add_unit(evaluation, &units[i], (uint32_t)i);
    }
    return rc;
}

/* ---- what they say ---- */

static double nearest(const struct sr_bank *bank, const float *vector)
{
    double best = bank->n ? -1 : 0;
    for (size_t i = 0; i < bank->n; i++)
        best = fmax(
            best, (double)sr_meaning_cosine(bank->vectors + i * bank->dimensions, vector, bank->dimensions));
    return best;
}

/* Takes a piece's margin into the rule's hit; the finding is the piece with the highest of any rule. */
static void compare(const struct rule *rule, const struct piece *piece, const float *vector,
                    struct sr_signal_hit *hit, struct sr_signal_finding *finding)
{
    if (!rule->config->include_history && !piece->current)
        return;
    double margin = nearest(&rule->attacks, vector) - nearest(&rule->benign, vector);
    if (isnan(hit->value) || margin > hit->value) {
        hit->value = margin;
        hit->matched = margin >= rule->config->threshold;
        hit->confidence = hit->matched ? sr_meaning_confidence(margin) : 0;
    }
    if (margin > (double)finding->confidence)
        *finding = (struct sr_signal_finding){
            .unit = piece->unit, .start = piece->start, .end = piece->end, .confidence = (float)margin};
}

static int write_result(const struct sr_signal_set *set, struct sr_signal_task *task,
                        const struct sr_embedding_answer *answers, size_t n)
{
    static const char *const labels[] = {"jailbreak"};
    struct sr_signal_result *result = task->result;
    const struct evaluation *evaluation = task->about;
    struct sr_signal_finding *finding = sr_arena_calloc(task->arena, 1, sizeof *finding);
    uint64_t unread = 0;
    if (!finding)
        return SR_ENOMEM;
    finding->confidence = -2;
    result->remembered = 0;
    for (size_t i = 0; i < n; i++) {
        const struct piece *piece = &evaluation->pieces[i];
        result->remembered += answers[i].remembered;
        unread += piece->extra ? 0 : evaluation->texts[i].n - answers[i].read_bytes;
        for (size_t k = 0; k < set->n; k++)
            compare(&set->rules[k], piece, answers[i].vector, &result->hits[k], finding);
    }
    sr_guard_place(task->input, finding);
    result->all_bytes = evaluation->all_bytes;
    result->unread_bytes = unread < result->all_bytes ? unread : result->all_bytes;
    result->scanned_bytes = result->all_bytes - result->unread_bytes;
    result->findings = finding;
    result->n_findings = 1;
    result->labels = labels;
    result->n_labels = 1;
    return SR_OK;
}

static int contrastive_start(const struct sr_signal_set *set, struct sr_signal_task *task)
{
    struct evaluation *evaluation = sr_arena_calloc(task->arena, 1, sizeof *evaluation);
    if (!set->reader)
        return SR_ENOENT;
    task->result->hits = sr_signal_hits(task->arena, set->n);
    if (!evaluation || !task->result->hits)
        return SR_ENOMEM;
    *evaluation = (struct evaluation){.task = task, .most = PIECES_MAX};
    evaluation->texts = sr_arena_calloc(task->arena, PIECES_MAX, sizeof *evaluation->texts);
    evaluation->pieces = sr_arena_calloc(task->arena, PIECES_MAX, sizeof *evaluation->pieces);
    if (!evaluation->texts || !evaluation->pieces)
        return SR_ENOMEM;
    task->about = evaluation;
    task->result->n_hits = set->n;
    int rc = make_pieces(set, evaluation);
    if (rc == SR_ELIMIT)
        task->result->over = SR_SIGNAL_OVER_QUEUE;
    if (rc || !evaluation->n) {
        task->result->all_bytes = task->result->scanned_bytes = evaluation->all_bytes;
        return rc;
    }
    return sr_meaning_ask(set, task, set->reader, evaluation->texts, evaluation->n, write_result);
}

const struct sr_signal_ops sr_signal_contrastive = {
    .name = SR_TYPE_CONTRASTIVE,
    .header = "x-vsr-matched-jailbreak",
    .header_order = 20,
    .reads = SR_SIGNAL_READS_UNITS,
    .meaning = true,
    .cost_ns_per_kib = 6000000,
    .compile = contrastive_compile,
    .free = contrastive_free,
    .n_rules = contrastive_rules,
    .rule_name = contrastive_name,
    .start = contrastive_start,
};
