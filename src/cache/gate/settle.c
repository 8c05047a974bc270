/*
 * Finds the languages of two questions and settles what their tokens mean there.
 */
#include "base/hash.h"
#include "cache/gate/text.h"

#include <math.h>

#define BARE_UNIT 3 /* bytes of a unit that needs no number beside it, at least */

int sr_gate_value(const struct sr_gate_token *token, enum sr_gate_class class, unsigned languages)
{
    if (token->word < 0)
        return -1;
    const struct sr_gate_word *word = &sr_gate_words[token->word];
    for (size_t i = 0; i < word->n; i++) {
        const struct sr_gate_entry *entry = &sr_gate_entries[word->first + i];
        if (entry->class == class && entry->languages & languages)
            return entry->value;
    }
    return -1;
}

static void count_languages(const struct sr_gate_text *text, unsigned counts[SR_GATE_LANGUAGES])
{
    for (size_t i = 0; i < text->n; i++) {
        if (text->tokens[i].word < 0)
            continue;
        const struct sr_gate_word *word = &sr_gate_words[text->tokens[i].word];
        unsigned languages = 0;
        for (size_t k = 0; k < word->n; k++)
            languages |= sr_gate_entries[word->first + k].languages;
        for (unsigned k = 0; languages != SR_GATE_ALL && k < SR_GATE_LANGUAGES; k++)
            counts[k] += languages >> k & 1;
    }
}

unsigned sr_gate_languages(const struct sr_gate_text *a, const struct sr_gate_text *b)
{
    unsigned counts[SR_GATE_LANGUAGES] = {0}, most = 0, languages = 0;
    if (a->kana || b->kana)
        return SR_GATE_JA;
    if (a->hangul || b->hangul)
        return SR_GATE_KO;
    if (a->han || b->han)
        return SR_GATE_ZH;
    count_languages(a, counts);
    count_languages(b, counts);
    for (unsigned k = 0; k < SR_GATE_LANGUAGES; k++)
        most = counts[k] > most ? counts[k] : most;
    for (unsigned k = 0; k < SR_GATE_LANGUAGES; k++)
        languages |= counts[k] == most ? 1U << k : 0;
    return most ? languages : SR_GATE_ALL;
}

/* ---- numbers and units ---- */

/* Only a space or a hyphen lies between two tokens. */
static bool adjacent(const struct sr_gate_text *text, const struct sr_gate_token *a,
                     const struct sr_gate_token *b)
{
    size_t gap = b->start - a->end;
    return b->start >= a->end && (gap == 0 || (gap == 1 && strchr(" -", text->text.p[a->end]) != NULL));
}

static uint64_t hash_number(double value, unsigned dimension, unsigned digits)
{
    struct {
        double value;
        unsigned dimension, digits;
    } key;
    int exponent;
    double fraction = frexp(value, &exponent); /* equal to about six digits */
    memset(&key, 0, sizeof key);
    key.value = ldexp(round(fraction * 1e6) / 1e6, exponent);
    key.dimension = dimension;
    key.digits = digits;
    return sr_hash64(sr_bytes_of(&key, sizeof key), 1);
}

/* Languages that write 1,5 and 1.000. */
#define COMMA (SR_GATE_ALL & ~(SR_GATE_EN | SR_GATE_ZH | SR_GATE_JA | SR_GATE_KO))

static void settle_number(struct sr_gate_token *t, unsigned languages)
{
    double value = languages & ~(unsigned)COMMA ? t->number : t->other;
    if (t->unit < 0)
        t->id = hash_number(value, 255, t->digits);
    else
        t->id = hash_number(value * sr_gate_units[t->unit].factor, sr_gate_units[t->unit].dimension, 0);
}

/* A number in letters joins the one before it: two hundred, twenty five. */
static bool join_number(struct sr_gate_text *text, struct sr_gate_token *before, struct sr_gate_token *t)
{
    if (!before || before->kind != SR_GATE_TOKEN_NUMBER || !adjacent(text, before, t))
        return false;
    double a = before->number, b = t->number;
    if (b >= 100 && a < b && (before->flags & SR_GATE_IS_WORDED || b >= 1000))
        before->number = before->other = a * b;
    else if (before->flags & SR_GATE_IS_WORDED && b >= 1 &&
             ((a >= 20 && a < 100 && b < 10 && fmod(a, 10) == 0) || (a >= 100 && b < 100)))
        before->number = before->other = a + b;
    else
        return false;
    before->end = t->end;
    t->kind = SR_GATE_TOKEN_GONE;
    return true;
}

/* 月, 日 and what else may follow a number. */
static bool settle_suffix(struct sr_gate_text *text, struct sr_gate_token *before, struct sr_gate_token *t)
{
    struct sr_bytes written = sr_bytes_of(text->text.p + t->start, t->end - t->start);
    if (!before || before->kind != SR_GATE_TOKEN_NUMBER || before->unit >= 0 || before->end != t->start)
        return false;
    if (sr_bytes_eq(written, SR_LIT("月"))) {
        before->kind = SR_GATE_TOKEN_MONTH;
    } else if (sr_bytes_eq(written, SR_LIT("万")) || sr_bytes_eq(written, SR_LIT("亿"))) {
        before->number = before->other = before->number * (sr_bytes_eq(written, SR_LIT("万")) ? 1e4 : 1e8);
        before->end = t->end;
    } else if (!sr_bytes_eq(written, SR_LIT("年")) && !sr_bytes_eq(written, SR_LIT("日")) &&
               !sr_bytes_eq(written, SR_LIT("号")) && !sr_bytes_eq_nocase(written, SR_LIT("st")) &&
               !sr_bytes_eq_nocase(written, SR_LIT("nd")) && !sr_bytes_eq_nocase(written, SR_LIT("rd")) &&
               !sr_bytes_eq_nocase(written, SR_LIT("th"))) {
        return false;
    }
    t->kind = SR_GATE_TOKEN_GONE;
    return true;
}

static bool settle_unit(struct sr_gate_text *text, struct sr_gate_token *before, struct sr_gate_token *t,
                        unsigned languages)
{
    int unit = sr_gate_value(t, SR_GATE_MEASURE, SR_GATE_ALL);
    if (unit < 0 || t->flags & SR_GATE_IS_STOP)
        return false;
    if (before && before->kind == SR_GATE_TOKEN_NUMBER && before->unit < 0 && adjacent(text, before, t)) {
        before->unit = (int16_t)unit;
        t->kind = SR_GATE_TOKEN_GONE;
        return true;
    }
    if (t->end - t->start < BARE_UNIT && !(t->points == 0 && t->end > t->start))
        return false;
    if (t->flags & SR_GATE_IS_DENSE && t->points < 2)
        return false;
    if (sr_gate_value(t, SR_GATE_NUM, languages) >= 0 || sr_gate_value(t, SR_GATE_COMP, languages) >= 0)
        return false;
    t->kind = SR_GATE_TOKEN_UNIT;
    t->unit = (int16_t)unit;
    t->id = hash_number(1, (unsigned)unit, 99);
    return true;
}

/* ---- words ---- */

/* "may" and "march" are months beside a number, or with a capital inside of a sentence. */
static bool is_month(const struct sr_gate_text *text, size_t i, unsigned languages)
{
    const struct sr_gate_token *t = &text->tokens[i];
    struct sr_bytes written = sr_bytes_of(text->text.p + t->start, t->end - t->start);
    if (sr_gate_value(t, SR_GATE_MONTH, SR_GATE_ALL) < 0)
        return false;
    if (!sr_bytes_eq_nocase(written, SR_LIT("may")) && !sr_bytes_eq_nocase(written, SR_LIT("march")) &&
        !sr_bytes_eq_nocase(written, SR_LIT("dec")))
        return languages != 0;
    return t->flags & SR_GATE_IS_NAME || (i > 0 && text->tokens[i - 1].kind == SR_GATE_TOKEN_NUMBER) ||
           (i + 1 < text->n && text->tokens[i + 1].kind == SR_GATE_TOKEN_NUMBER);
}

/* Words without content of their own; what they ask, deny or allow has rules of its own. */
static bool is_stop(const struct sr_gate_token *t, unsigned languages)
{
    static const enum sr_gate_class empty[] = {SR_GATE_STOP,  SR_GATE_NEG,   SR_GATE_WEAK, SR_GATE_MODAL,
                                               SR_GATE_TENSE, SR_GATE_OWNER, SR_GATE_ASK,  SR_GATE_QUANT};
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++)
        if (sr_gate_value(t, empty[i], languages) >= 0)
            return true;
    return (t->flags & SR_GATE_IS_NOT) != 0;
}

static void settle_word(struct sr_gate_text *text, size_t i, struct sr_gate_token *before, unsigned languages)
{
    struct sr_gate_token *t = &text->tokens[i];
    int number = sr_gate_value(t, SR_GATE_NUM, languages), same = sr_gate_value(t, SR_GATE_SAME, languages);
    if (is_month(text, i, languages)) {
        t->kind = SR_GATE_TOKEN_MONTH;
        t->number = t->other = sr_gate_value(t, SR_GATE_MONTH, SR_GATE_ALL);
        return;
    }
    if (settle_suffix(text, before, t) || settle_unit(text, before, t, languages))
        return;
    if (number >= 0) {
        t->kind = SR_GATE_TOKEN_NUMBER;
        t->flags |= SR_GATE_IS_WORDED;
        t->number = t->other = sr_gate_numbers[number];
        (void)join_number(text, before, t);
        return;
    }
    if (is_stop(t, languages))
        t->flags |= SR_GATE_IS_STOP;
    for (enum sr_gate_class class = SR_GATE_DAY; same < 0 && class <= SR_GATE_ASK; class ++) {
        int value = sr_gate_value(t, class, languages);
        if (value >= 0)
            t->id = hash_number(value, 200 + class, 98);
    }
    if (same >= 0)
        t->id = hash_number(same, 254, 97);
}

void sr_gate_settle(struct sr_gate_text *text, unsigned languages)
{
    struct sr_gate_token *before = NULL, *unit = NULL;
    for (size_t i = 0; i < text->n; i++) {
        struct sr_gate_token *t = &text->tokens[i];
        if (t->kind == SR_GATE_TOKEN_WORD)
            settle_word(text, i, before, languages);
        if (t->kind == SR_GATE_TOKEN_NUMBER && unit && t->unit < 0 && adjacent(text, unit, t)) {
            t->unit = unit->unit; /* $5 */
            unit->kind = SR_GATE_TOKEN_GONE;
        }
        unit = t->kind == SR_GATE_TOKEN_UNIT && t->points == 0 ? t : NULL;
        if (t->kind != SR_GATE_TOKEN_GONE)
            before = t;
    }
    for (size_t i = 0; i < text->n; i++)
        if (text->tokens[i].kind == SR_GATE_TOKEN_NUMBER)
            settle_number(&text->tokens[i], languages);
        else if (text->tokens[i].kind == SR_GATE_TOKEN_MONTH)
            text->tokens[i].id = hash_number(text->tokens[i].number, 253, 0);
}
