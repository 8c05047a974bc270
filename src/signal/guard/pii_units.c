/* Questions in the order in which they are read; findings from the first unit on. */
#include "signal/guard/pii_units.h"

#include "base/utf8.h"
#include "text/slices.h"

#define QUESTION_MAX     ((size_t)256 << 10) /* bytes of one text */
#define QUESTION_OVERLAP ((size_t)256)
#define SHARE            ((size_t)2 << 10) /* bytes of a unit in a round */

/* Which end of each unit is read. */
struct choice {
    const struct sr_pii_units *units;
    const struct sr_signal_unit *texts;
    uint32_t *order; /* indices in `units`, the first one first */
    size_t *bytes;   /* by index: from the end of the unit on */
    size_t n;
    struct sr_signal_question *questions;
    size_t n_questions;
};

static void add_questions(struct choice *choice, struct sr_pii_unit *unit, size_t bytes)
{
    struct sr_bytes text = unit->text;
    size_t start = text.n - bytes;
    struct sr_slice slice;
    while (start < text.n && start > 0 && sr_utf8_is_tail(text.p[start]))
        start++;
    if (start == text.n)
        return;
    struct sr_slices slices =
        sr_slices_of(sr_bytes_of(text.p + start, text.n - start), QUESTION_MAX, QUESTION_OVERLAP);
    while (sr_slices_next(&slices, &slice))
        choice->questions[choice->n_questions++] = (struct sr_signal_question){
            .text = sr_bytes_of(slices.text.p + slice.start, slice.end - slice.start),
            .about = unit,
            .extra = unit->own == 0};
}

static bool is_asked(const struct choice *choice, size_t i, uint32_t turn)
{
    const struct sr_signal_unit *text = &choice->texts[choice->units->items[i].unit];
    return text->role == SR_ROLE_USER && text->source == SR_SOURCE_MESSAGE && text->group == turn;
}

/* The last user turn, then the other units, each from the newest on. */
static void put_in_order(struct choice *choice)
{
    size_t n = 0;
    uint32_t turn = 0;
    for (size_t i = 0; i < choice->n; i++) {
        const struct sr_signal_unit *text = &choice->texts[choice->units->items[i].unit];
        if (text->role == SR_ROLE_USER && text->source == SR_SOURCE_MESSAGE && text->group > turn)
            turn = text->group;
    }
    for (int others = 0; others < 2; others++)
        for (size_t i = choice->n; i-- > 0;)
            if (is_asked(choice, i, turn) == (others == 0))
                choice->order[n++] = (uint32_t)i;
}

/* Gives the first `n` units in order a share in each round, until the budget or the text is at its end. */
static void share_out(struct choice *choice, size_t n, size_t budget)
{
    bool more = true;
    while (more) {
        more = false;
        for (size_t i = 0; i < n; i++) {
            size_t unit = choice->order[i], left = choice->units->items[unit].text.n - choice->bytes[unit];
            size_t share = left < SHARE ? left : SHARE;
            if (share == 0 || share > budget)
                continue;
            choice->bytes[unit] += share;
            budget -= share;
            more = true;
        }
    }
}

int sr_pii_choose(const struct sr_pii_units *units, const struct sr_signal_unit *texts, size_t budget,
                  struct sr_arena *arena, struct sr_signal_question **out, size_t *n)
{
    struct choice choice = {.units = units, .texts = texts, .n = units->n};
    size_t all = 0;
    *n = 0;
    for (size_t i = 0; i < units->n; i++)
        all += units->items[i].text.n;
    size_t read = all < budget ? all : budget, cuts = read / (QUESTION_MAX / 2);
    if (budget == SIZE_MAX && units->n + cuts > SR_PII_QUESTIONS_MAX)
        return SR_ELIMIT;
    choice.order = sr_arena_calloc(arena, units->n + 1, sizeof *choice.order);
    choice.bytes = sr_arena_calloc(arena, units->n + 1, sizeof *choice.bytes);
    size_t most = SR_PII_QUESTIONS_MAX > cuts ? SR_PII_QUESTIONS_MAX - cuts : 1;
    most = units->n < most ? units->n : most;
    choice.questions = sr_arena_calloc(arena, most + cuts + 1, sizeof *choice.questions);
    if (!choice.order || !choice.bytes || !choice.questions)
        return SR_ENOMEM;
    put_in_order(&choice);
    for (size_t i = 0; all <= budget && i < most; i++)
        choice.bytes[choice.order[i]] = units->items[choice.order[i]].text.n;
    if (all > budget)
        share_out(&choice, most, budget);
    for (size_t i = 0; i < most; i++)
        if (choice.bytes[choice.order[i]])
            add_questions(&choice, &units->items[choice.order[i]], choice.bytes[choice.order[i]]);
    *out = choice.questions;
    *n = choice.n_questions;
    return SR_OK;
}

/* Bytes of a string that findings of seams have: those across its borders [0, head) and [tail, end), those
 * inside it between `low` and `high`. */
struct claims {
    size_t head, tail, low, high;
};

/* All units' findings, while those of seams are added. */
struct gathered {
    const struct sr_signal_units *units; /* NULL: the input is one unit */
    const struct sr_pii_units *read;
    struct sr_signal_finding *findings;
    size_t n_findings;
    struct claims *claims; /* [units->n] */
};

static const struct sr_pii_unit *read_of(const struct gathered *all, uint32_t unit)
{
    size_t low = 0, high = all->read->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (all->read->items[middle].unit < unit)
            low = middle + 1;
        else
            high = middle;
    }
    return low < all->read->n && all->read->items[low].unit == unit ? &all->read->items[low] : NULL;
}

/* Calls a finding of [start, end) in a unit weaker than `confidence` dropped. True when none is stronger. */
static bool is_strongest(const struct gathered *all, uint32_t unit, size_t start, size_t end,
                         float confidence, bool drop)
{
    const struct sr_pii_unit *own = read_of(all, unit);
    size_t n = own ? own->found.n : 0;
    for (size_t i = 0; i < n; i++) {
        struct sr_signal_finding *known = &all->findings[own->at + i];
        if (known->start >= end || known->end <= start)
            continue;
        if (known->confidence >= confidence)
            return false;
        if (drop)
            known->confidence = -1;
    }
    return true;
}

/* The first part of the seam that ends beyond `at`. */
static uint32_t part_at(const struct gathered *all, const struct sr_signal_unit *seam, size_t at)
{
    uint32_t low = seam->first_part, high = seam->first_part + seam->n_parts;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (all->units->parts[middle].end <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The part after the last one that begins before `end`; `first` is the first that may. */
static uint32_t parts_until(const struct gathered *all, const struct sr_signal_unit *seam, uint32_t first,
                            size_t end)
{
    while (first < seam->first_part + seam->n_parts && all->units->parts[first].start < end)
        first++;
    return first;
}

/* Does to each part of the seam that the finding touches what is_strongest does. `inside`: the number of
 * these parts. */
static bool is_news(const struct gathered *all, const struct sr_signal_unit *seam,
                    const struct sr_signal_finding *finding, bool drop, size_t *inside)
{
    bool news = true;
    uint32_t first = part_at(all, seam, finding->start), until = parts_until(all, seam, first, finding->end);
    *inside = 0;
    for (uint32_t i = first; i < until; i++) {
        const struct sr_signal_part *part = &all->units->parts[i];
        size_t start = finding->start > part->start ? finding->start : part->start;
        size_t end = finding->end < part->end ? finding->end : part->end;
        if (start >= end)
            continue;
        ++*inside;
        news = news && is_strongest(all, part->unit, start - part->start + part->from,
                                    end - part->start + part->from, finding->confidence, drop);
    }
    return news;
}

static bool is_tight(const struct gathered *all, const struct sr_signal_unit *seam)
{
    const struct sr_signal_part *parts = &all->units->parts[seam->first_part];
    return parts[1].start == parts[0].end;
}

#define CERTAIN 0.95f /* of a domain name: its suffix is no word that may begin a sentence */

/* True for a domain name that may be the end of one sentence and the begin of the next: a dot is beside the
 * border, and no more than its suffix says that it is a name. */
static bool may_be_sentences(const struct gathered *all, const struct sr_signal_unit *seam,
                             const struct sr_signal_finding *finding)
{
    if (finding->type != SR_ENTITY_DOMAIN_NAME || finding->confidence >= CERTAIN || !is_tight(all, seam))
        return false;
    uint32_t first = part_at(all, seam, finding->start), until = parts_until(all, seam, first, finding->end);
    for (uint32_t i = first + 1; i < until; i++) {
        size_t border = all->units->parts[i].start;
        if (seam->text.p[border - 1] == '.' || seam->text.p[border] == '.')
            return true;
    }
    return false;
}

/* Does a finding across borders overlap one that is there? Otherwise takes its bytes. */
static bool take_borders(struct gathered *all, const struct sr_signal_unit *seam,
                         const struct sr_signal_finding *finding)
{
    uint32_t first = part_at(all, seam, finding->start), until = parts_until(all, seam, first, finding->end);
    for (int take = 0; take < 2; take++)
        for (uint32_t i = first; i < until; i++) {
            const struct sr_signal_part *part = &all->units->parts[i];
            bool enters = finding->start<part->start, leaves = finding->end> part->end;
            size_t start = enters ? part->from : finding->start - part->start + part->from;
            size_t end = (leaves ? part->end : finding->end) - part->start + part->from;
            struct claims *claims = &all->claims[part->unit];
            bool taken =
                start < claims->head || end > claims->tail || (start < claims->high && end > claims->low);
            if (!take && taken)
                return false;
            if (take && enters)
                claims->head = end;
            if (take && leaves)
                claims->tail = start;
        }
    return true;
}

/* A finding of a seam counts where its strings alone give no stronger one. What lies in one string becomes
 * that unit's. */
static void add_of_seam(struct gathered *all, struct sr_signal_finding finding)
{
    const struct sr_signal_unit *seam = &all->units->items[finding.unit];
    size_t inside;
    if (may_be_sentences(all, seam, &finding) || !is_news(all, seam, &finding, false, &inside))
        return;
    if (inside == 1 ? is_tight(all, seam) : !take_borders(all, seam, &finding))
        return;
    (void)is_news(all, seam, &finding, true, &inside);
    const struct sr_signal_part *part = &all->units->parts[part_at(all, seam, finding.start)];
    if (inside == 1 && finding.start >= part->start && finding.end <= part->end) {
        finding.unit = part->unit;
        finding.start += part->from - part->start;
        finding.end += part->from - part->start;
        struct claims *claims = &all->claims[part->unit];
        claims->low = finding.start < claims->low ? finding.start : claims->low;
        claims->high = finding.end > claims->high ? finding.end : claims->high;
    }
    all->findings[all->n_findings++] = finding;
}

static void add_all(struct gathered *all)
{
    for (size_t i = 0; i < all->read->n; i++) {
        struct sr_pii_unit *own = &all->read->items[i];
        const struct sr_signal_unit *unit = all->units ? &all->units->items[own->unit] : NULL;
        own->at = (uint32_t)all->n_findings;
        for (size_t k = 0; k < own->found.n; k++) {
            const struct sr_entity *entity = &own->found.items[k];
            struct sr_signal_finding finding = {own->unit,
                                                entity->type,
                                                entity->start,
                                                entity->end,
                                                entity->confidence,
                                                0,
                                                unit ? unit->group : 0,
                                                unit ? unit->source : SR_SOURCE_MESSAGE};
            if (unit && unit->n_parts)
                add_of_seam(all, finding);
            else
                all->findings[all->n_findings++] = finding;
        }
    }
}

int sr_pii_gather(const struct sr_pii_units *read, const struct sr_signal_units *units,
                  struct sr_arena *arena, struct sr_signal_result *result)
{
    struct gathered all = {.units = units, .read = read};
    size_t total = 0, kept = 0;
    for (size_t i = 0; i < read->n; i++)
        total += read->items[i].found.n;
    all.findings = sr_arena_calloc(arena, total ? total : 1, sizeof *all.findings);
    size_t n = units && units->n_parts ? units->n : 0;
    all.claims = sr_arena_calloc(arena, n + 1, sizeof *all.claims);
    if (!all.findings || !all.claims)
        return SR_ENOMEM;
    for (size_t i = 0; i < n; i++)
        all.claims[i] = (struct claims){.tail = SIZE_MAX, .low = SIZE_MAX};
    add_all(&all);
    for (size_t i = 0; i < all.n_findings; i++)
        if (all.findings[i].confidence >= 0)
            all.findings[kept++] = all.findings[i];
    result->findings = all.findings;
    result->n_findings = kept;
    return SR_OK;
}
