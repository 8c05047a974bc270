/*
 * The rules of the gate, one function for each reason, in the order in which they are asked.
 */
#include "cache/gate/gate.h"

#include "cache/gate/align.h"
#include "cache/gate/quote.h"

#include <math.h>

#define LOOSE_MAX 2 /* tokens without a partner, on a side, of texts that say nearly the same */

const char *const sr_gate_reason_names[SR_GATE_REASONS] = {
#define SR_GATE_NAME_OF(name, text) text,
    SR_GATE_REASONS_LIST(SR_GATE_NAME_OF)
#undef SR_GATE_NAME_OF
};

/* ---- numbers, dates, identifiers ---- */

static bool has_loose_number(const struct sr_gate_text *text)
{
    for (size_t i = 0; i < text->n; i++)
        if (text->tokens[i].kind == SR_GATE_TOKEN_NUMBER && text->tokens[i].match < 0)
            return true;
    return false;
}

/* "first", which often says nothing. */
static bool is_first(const struct sr_gate_token *t)
{
    return t->flags & SR_GATE_IS_WORDED && t->number == 1 && t->unit < 0;
}

static enum sr_gate_reason check_loose(const struct sr_gate_text *text, const struct sr_gate_text *other)
{
    for (size_t i = 0; i < text->n; i++) {
        const struct sr_gate_token *t = &text->tokens[i];
        if (t->match >= 0)
            continue;
        if (t->kind == SR_GATE_TOKEN_CODE)
            return SR_GATE_IDENTIFIER;
        if (t->kind == SR_GATE_TOKEN_MONTH)
            return SR_GATE_DATE;
        if (t->kind != SR_GATE_TOKEN_NUMBER || (is_first(t) && !has_loose_number(other)))
            continue;
        for (size_t k = 0; k < other->n; k++)
            if (other->tokens[k].kind == SR_GATE_TOKEN_NUMBER && other->tokens[k].match < 0 &&
                other->tokens[k].number == t->number && other->tokens[k].unit != t->unit)
                return SR_GATE_UNIT;
        return t->unit < 0 && t->number >= 1000 && t->number < 2200 && fmod(t->number, 1) == 0
                   ? SR_GATE_DATE
                   : SR_GATE_NUMBER;
    }
    return SR_GATE_AGREES;
}

/* Units without a number: both texts have one that the other has not, and they measure the same. */
static bool units_differ(const struct sr_gate_text *a, const struct sr_gate_text *b)
{
    for (size_t i = 0; i < a->n; i++)
        for (size_t k = 0; a->tokens[i].kind == SR_GATE_TOKEN_UNIT && a->tokens[i].match < 0 && k < b->n; k++)
            if (b->tokens[k].kind == SR_GATE_TOKEN_UNIT && b->tokens[k].match < 0 &&
                sr_gate_units[a->tokens[i].unit].family == sr_gate_units[b->tokens[k].unit].family)
                return true;
    return false;
}

/* ---- sets of words ---- */

/* The values of a class in a text, as bits. */
static uint32_t values(const struct sr_gate_text *text, enum sr_gate_class class, unsigned languages)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < text->n; i++) {
        int value = sr_gate_value(&text->tokens[i], class, languages);
        if (value >= 0 && text->tokens[i].kind != SR_GATE_TOKEN_GONE)
            bits |= UINT32_C(1) << value;
    }
    return bits;
}

/* Each of two sets has what the other one has not. */
static bool conflict(uint32_t a, uint32_t b)
{
    return (a & ~b) && (b & ~a);
}

static bool days_differ(const struct sr_gate_alignment *p)
{
    const uint32_t certain = 0x1E; /* tomorrow, yesterday and their neighbours; today goes without saying */
    uint32_t day_a = values(p->a, SR_GATE_DAY, p->languages), day_b = values(p->b, SR_GATE_DAY, p->languages);
    uint32_t a = values(p->a, SR_GATE_RELATIVE, p->languages),
             b = values(p->b, SR_GATE_RELATIVE, p->languages);
    return day_a != day_b || conflict(a, b) || (a & certain) != (b & certain);
}

static size_t negations(const struct sr_gate_text *text, unsigned languages)
{
    size_t strong = 0, weak = 0;
    for (size_t i = 0; i < text->n; i++) {
        const struct sr_gate_token *t = &text->tokens[i];
        strong += sr_gate_value(t, SR_GATE_NEG, languages) >= 0 || t->flags & SR_GATE_IS_NOT;
        weak += sr_gate_value(t, SR_GATE_WEAK, languages) >= 0;
    }
    return strong ? strong : weak;
}

static bool is_near(const struct sr_gate_alignment *p)
{
    return p->unmatched_a == 0 && p->unmatched_b == 0;
}

static bool negations_differ(const struct sr_gate_alignment *p)
{
    size_t a = negations(p->a, p->languages), b = negations(p->b, p->languages);
    if (a == b)
        return false;
    return a == 0 || b == 0 || (is_near(p) && (a ^ b) & 1);
}

static bool has(const struct sr_gate_text *text, enum sr_gate_class class, unsigned languages)
{
    for (size_t i = 0; i < text->n; i++)
        if (sr_gate_value(&text->tokens[i], class, languages) >= 0)
            return true;
    return false;
}

/* Both deny, and one of them says "no longer". */
static bool aspects_differ(const struct sr_gate_alignment *p)
{
    return p->loose_a <= LOOSE_MAX && p->loose_b <= LOOSE_MAX && negations(p->a, p->languages) &&
           negations(p->b, p->languages) &&
           has(p->a, SR_GATE_ASPECT, p->languages) != has(p->b, SR_GATE_ASPECT, p->languages);
}

static bool quantifiers_differ(const struct sr_gate_alignment *p)
{
    const uint32_t weak = 1 << SR_GATE_ANY_OF | 1 << SR_GATE_SOME_OF | 1 << SR_GATE_OFTEN;
    uint32_t a = values(p->a, SR_GATE_QUANT, p->languages), b = values(p->b, SR_GATE_QUANT, p->languages);
    return conflict(a, b) || (is_near(p) && ((a ^ b) & ~weak));
}

/* Opposites: one text has one side alone and the other text the other side alone. */
static bool opposites(const struct sr_gate_alignment *p, enum sr_gate_class class)
{
    uint8_t sides[2][SR_GATE_AXES];
    const struct sr_gate_text *texts[2] = {p->a, p->b};
    memset(sides, 0, sizeof sides);
    for (int s = 0; s < 2; s++) {
        for (size_t i = 0; i < texts[s]->n; i++) {
            const struct sr_gate_token *t = &texts[s]->tokens[i];
            if (t->word < 0 || t->kind == SR_GATE_TOKEN_GONE)
                continue;
            const struct sr_gate_word *word = &sr_gate_words[t->word];
            for (size_t k = 0; k < word->n; k++) {
                const struct sr_gate_entry *entry = &sr_gate_entries[word->first + k];
                if (entry->class == class && entry->languages & p->languages)
                    sides[s][entry->value / 2] |= (uint8_t)(1 << (entry->value & 1));
            }
        }
    }
    for (size_t i = 0; i < SR_GATE_AXES; i++)
        if (sides[0][i] + sides[1][i] == 3 && sides[0][i] && sides[1][i])
            return true;
    return false;
}

/* One word is the other one with a prefix that denies it. */
static bool denies(const struct sr_gate_text *text, const struct sr_gate_token *t,
                   const struct sr_gate_text *other, const struct sr_gate_token *o)
{
    static const char *const prefixes[] = {"un",   "in", "im",  "il",  "ir",  "dis",  "de",
                                           "des",  "dé", "dés", "non", "mis", "miss", "ent",
                                           "anti", "не", "без", "不",  "非",  "無",   "未"};
    struct sr_bytes a = sr_bytes_of(text->text.p + t->start, t->end - t->start);
    struct sr_bytes b = sr_bytes_of(other->text.p + o->start, o->end - o->start);
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        size_t n = strlen(prefixes[i]);
        if (b.n >= 4 && a.n == b.n + n &&
            sr_bytes_eq_nocase(sr_bytes_of(a.p, n), sr_bytes_str(prefixes[i])) &&
            sr_bytes_eq_nocase(sr_bytes_of(a.p + n, b.n), b))
            return true;
    }
    return false;
}

static bool prefixed(const struct sr_gate_alignment *p)
{
    if (p->loose_a > 16 || p->loose_b > 16)
        return false;
    for (size_t i = 0; i < p->a->n; i++)
        for (size_t k = 0; p->a->tokens[i].match < 0 && k < p->b->n; k++)
            if (p->b->tokens[k].match < 0 && (denies(p->a, &p->a->tokens[i], p->b, &p->b->tokens[k]) ||
                                              denies(p->b, &p->b->tokens[k], p->a, &p->a->tokens[i])))
                return true;
    return false;
}

/* What a text asks, as bits: SR_GATE_ASK, and of "how" with a degree that in their place. */
static uint32_t questions(const struct sr_gate_text *text, unsigned languages)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < text->n; i++) {
        int ask = sr_gate_value(&text->tokens[i], SR_GATE_ASK, languages);
        int degree = i + 1 < text->n ? sr_gate_value(&text->tokens[i + 1], SR_GATE_DEGREE, languages) : -1;
        if (ask == SR_GATE_ASK_HOW && degree >= 0)
            bits |= UINT32_C(1) << (SR_GATE_ASK_WHAT + 1 + degree);
        else if (ask >= 0)
            bits |= UINT32_C(1) << ask;
    }
    return bits;
}

static bool questions_differ(const struct sr_gate_alignment *p)
{
    const uint32_t strong = ~(uint32_t)(1 << SR_GATE_ASK_HOW | 1 << SR_GATE_ASK_WHAT);
    uint32_t a = questions(p->a, p->languages), b = questions(p->b, p->languages);
    if (conflict(a & strong, b & strong))
        return true;
    return is_near(p) && a && b && !(a & b) && p->loose_a <= LOOSE_MAX && p->loose_b <= LOOSE_MAX;
}

/* Of texts that say nearly the same. */
static bool near_conflict(const struct sr_gate_alignment *p, enum sr_gate_class class)
{
    return is_near(p) && p->loose_a <= LOOSE_MAX && p->loose_b <= LOOSE_MAX &&
           conflict(values(p->a, class, p->languages), values(p->b, class, p->languages));
}

/* A word that narrows the question stands in one text, which has all that the other one says. */
static bool narrows(const struct sr_gate_text *text, size_t unmatched_of_other, unsigned languages)
{
    for (size_t i = 0; i < text->n && unmatched_of_other == 0; i++)
        if (text->tokens[i].match < 0 && text->tokens[i].kind != SR_GATE_TOKEN_GONE &&
            sr_gate_value(&text->tokens[i], SR_GATE_RELATION, languages) >= 0)
            return true;
    return false;
}

/* ---- names ---- */

static bool has_loose_name(const struct sr_gate_text *text)
{
    for (size_t i = 0; i < text->n; i++) {
        const struct sr_gate_token *t = &text->tokens[i];
        bool follows = i > 0 && t[-1].end + 1 == t->start &&
                       (t[-1].kind != SR_GATE_TOKEN_WORD || t[-1].flags & SR_GATE_IS_UPPER);
        if (t->kind == SR_GATE_TOKEN_WORD && t->match < 0 && t->flags & SR_GATE_IS_NAME &&
            !(t->flags & SR_GATE_IS_STOP) && (t->word < 0 || follows))
            return true;
    }
    return false;
}

/* Partners that are names and differ by more than an s at the end: Clark, Clarke. */
static bool is_other_name(const struct sr_gate_text *a, const struct sr_gate_token *t,
                          const struct sr_gate_text *b, const struct sr_gate_token *o)
{
    struct sr_bytes x = sr_bytes_of(a->text.p + t->start, t->end - t->start);
    struct sr_bytes y = sr_bytes_of(b->text.p + o->start, o->end - o->start);
    if (!(t->flags & o->flags & SR_GATE_IS_NAME) || t->word >= 0 || o->word >= 0 || x.n == y.n ||
        x.p[x.n - 1] == 's' || y.p[y.n - 1] == 's')
        return false;
    const size_t n = x.n < y.n ? x.n : y.n;
    return sr_bytes_eq_nocase(sr_bytes_of(x.p, n), sr_bytes_of(y.p, n));
}

static bool has_other_name(const struct sr_gate_alignment *p)
{
    for (size_t i = 0; i < p->a->n; i++) {
        const struct sr_gate_token *t = &p->a->tokens[i];
        if (t->kind == SR_GATE_TOKEN_WORD && t->match >= 0 &&
            is_other_name(p->a, t, p->b, &p->b->tokens[t->match]))
            return true;
    }
    return false;
}

static bool names_differ(const struct sr_gate_alignment *p)
{
    if (p->a->shouted || p->b->shouted)
        return false;
    bool a = has_loose_name(p->a), b = has_loose_name(p->b);
    if (p->languages == SR_GATE_DE) /* German writes every noun with a capital */
        return a && b;
    return a || b || has_other_name(p);
}

/* ---- all rules ---- */

static enum sr_gate_reason check_values(const struct sr_gate_alignment *p)
{
    enum sr_gate_reason reason = check_loose(p->a, p->b);
    if (reason == SR_GATE_AGREES)
        reason = check_loose(p->b, p->a);
    if (reason != SR_GATE_AGREES)
        return reason;
    if (days_differ(p))
        return SR_GATE_DATE;
    return units_differ(p->a, p->b) ? SR_GATE_UNIT : SR_GATE_AGREES;
}

static enum sr_gate_reason check_words(const struct sr_gate_alignment *p)
{
    if (negations_differ(p) || aspects_differ(p))
        return SR_GATE_NEGATION;
    if (quantifiers_differ(p))
        return SR_GATE_QUANTIFIER;
    if (opposites(p, SR_GATE_PAIR) || prefixed(p))
        return SR_GATE_POLARITY;
    if (opposites(p, SR_GATE_COMP))
        return SR_GATE_COMPARATIVE;
    if (questions_differ(p))
        return SR_GATE_QUESTION;
    if (near_conflict(p, SR_GATE_MODAL) || near_conflict(p, SR_GATE_TENSE))
        return SR_GATE_OBLIGATION;
    return near_conflict(p, SR_GATE_OWNER) ? SR_GATE_PERSON : SR_GATE_AGREES;
}

static enum sr_gate_reason check_forth(struct sr_bytes stored, struct sr_bytes asked)
{
    struct sr_gate_text a, b;
    struct sr_gate_alignment pair;
    if (stored.n > SR_GATE_TEXT_MAX || asked.n > SR_GATE_TEXT_MAX)
        return SR_GATE_SIZE;
    sr_gate_read(&a, stored);
    sr_gate_read(&b, asked);
    if (a.overflow || b.overflow)
        return SR_GATE_SIZE;
    if (!sr_gate_quotes_agree(stored, asked))
        return SR_GATE_QUOTED;
    unsigned languages = sr_gate_languages(&a, &b);
    sr_gate_settle(&a, languages);
    sr_gate_settle(&b, languages);
    sr_gate_align(&pair, &a, &b, languages);
    enum sr_gate_reason reason = check_values(&pair);
    if (reason == SR_GATE_AGREES)
        reason = check_words(&pair);
    if (reason != SR_GATE_AGREES)
        return reason;
    if (names_differ(&pair))
        return SR_GATE_NAME;
    if (sr_gate_is_reversed(&pair))
        return SR_GATE_ROLE;
    const bool one_narrows =
        narrows(&a, pair.unmatched_b, languages) || narrows(&b, pair.unmatched_a, languages);
    return one_narrows || sr_gate_is_exchanged(&pair) ? SR_GATE_WORD : SR_GATE_AGREES;
}

/* Some rules walk along one of the texts and look for what they need in the other, so both orders are asked.
 */
enum sr_gate_reason sr_gate_check(struct sr_bytes stored, struct sr_bytes asked)
{
    if (sr_bytes_eq(stored, asked))
        return SR_GATE_AGREES;
    struct sr_bytes texts[] = {stored, asked, stored};
    enum sr_gate_reason reason = SR_GATE_AGREES;
    for (int i = 0; i < 2 && reason == SR_GATE_AGREES; i++)
        reason = check_forth(texts[i], texts[i + 1]);
    return reason;
}
