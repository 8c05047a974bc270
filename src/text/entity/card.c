/*
 * Card numbers in rows of digits: the check digit, the issuers' ranges, and the forms that tell a card from
 * other numbers side by side. A run of digits without a gap that is no card as a whole has none within it.
 */
#include "text/entity/recognisers.h"

#define CARD_WORDS "card|credit|debit|visa|mastercard|amex|cc|payment|pan"
#define CARD_MIN   12
#define CARD_MAX   19

/* ISO/IEC 7812-1, annex B. */
static bool luhn(const char *digits, size_t n)
{
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned d = (unsigned)(digits[n - 1 - i] - '0');
        if (i & 1)
            d = d > 4 ? d * 2 - 9 : d * 2;
        sum += d;
    }
    return sum % 10 == 0;
}

/* How well the first digits and the length match an issuer: 0 not, 1 one of the wide ranges of Maestro, 2. */
static int issued(const char *d, size_t n)
{
    unsigned two = (unsigned)(d[0] - '0') * 10 + (unsigned)(d[1] - '0');
    unsigned four = two * 100 + (unsigned)(d[2] - '0') * 10 + (unsigned)(d[3] - '0');
    if (d[0] == '4')
        return n == 13 || n == 16 || n == 19 ? 2 : 0;
    if ((two >= 51 && two <= 55) || (four >= 2221 && four <= 2720))
        return n == 16 ? 2 : 0;
    if (two == 34 || two == 37)
        return n == 15 ? 2 : 0;
    if (two == 36 || two == 38 || two == 39 || two == 30)
        return n == 14 || n == 16 ? 2 : 0;
    if (four == 2131 || four == 1800)
        return n == 15 ? 2 : 0;
    if ((two == 35 || two == 62 || four == 6011 || two == 65 || two == 64) && n >= 16)
        return 2;
    return (two == 50 || (two >= 56 && two <= 69)) && n >= 12;
}

/* Groups [i, j] of a row. */
struct cut {
    const struct sr_row *row;
    size_t i, j;
    size_t n;      /* digits */
    bool same;     /* all gaps are of one kind and width */
    bool one_mark; /* and of one mark */
    bool plain;    /* no line end, no sign of a list */
    enum sr_row_gap gap;
};

static const struct sr_row_group *group_of(const struct cut *cut, size_t k)
{
    return &cut->row->groups[cut->i + k];
}

/* 4-4-4-4, 4-4-4-4-3, 4-6-5, 4-6-4: as cards are printed. */
static bool is_printed(const struct cut *cut)
{
    static const char *const forms[] = {"4444", "44443", "465", "464"};
    size_t n = cut->j - cut->i + 1;
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
        size_t k = 0;
        while (k < n && forms[f][k] && group_of(cut, k)->n == (size_t)(forms[f][k] - '0'))
            k++;
        if (k == n && !forms[f][k])
            return true;
    }
    return false;
}

/* Groups of one size, of which the last one may be shorter. */
static bool is_even(const struct cut *cut)
{
    size_t size = group_of(cut, 0)->n, n = cut->j - cut->i + 1;
    for (size_t k = 1; k + 1 < n; k++)
        if (group_of(cut, k)->n != size)
            return false;
    return group_of(cut, n - 1)->n <= size;
}

/* True when the group before or behind goes on in the same way: more of a list. */
static bool goes_on(const struct cut *cut, bool behind)
{
    const struct sr_row *row = cut->row;
    if (behind ? cut->j + 1 == row->n : cut->i == 0)
        return behind ? row->cut : row->joined;
    const struct sr_row_group *border = &row->groups[behind ? cut->j : cut->i - 1];
    const struct sr_row_group *other = &row->groups[behind ? cut->j + 1 : cut->i - 1];
    return border->gap == cut->gap && border->mark == group_of(cut, 0)->mark &&
           other->n == group_of(cut, 0)->n;
}

/* True when groups with such gaps may be one number: `named` by a word before them. */
static bool is_form(const struct cut *cut, bool named, bool sure)
{
    bool bounded = !goes_on(cut, false) && !goes_on(cut, true);
    if (is_printed(cut) && sure && (cut->plain || bounded || named))
        return true;
    bool last = cut->j + 1 == cut->row->n || cut->row->groups[cut->j].gap != cut->gap;
    bool first = cut->i == 0 || cut->row->groups[cut->i - 1].gap != cut->gap;
    if (cut->same && cut->gap <= SR_GAP_DASH)
        return last && !cut->row->cut;
    if (!cut->one_mark || !bounded || !last || !first || !sure)
        return false;
    bool thousands = group_of(cut, 1)->n == 3;
    return (is_even(cut) && !thousands) || (named && cut->plain);
}

/* A letter beside digits: of a word that has no other digits. */
static bool is_free(const struct sr_entity_scan *scan, size_t at, int step)
{
    size_t length = 0;
    while (sr_entity_is_alpha(sr_entity_at(scan, at)) && ++length < 32)
        at += (size_t)step;
    return !sr_entity_is_digit(sr_entity_at(scan, at));
}

/* The confidence that groups [i, j] are a card; 0: they are none. */
static float confidence_of(const struct sr_entity_scan *scan, const struct cut *cut)
{
    const struct sr_row_group *first = group_of(cut, 0), *last = &cut->row->groups[cut->j];
    const char *digits = cut->row->digits + first->first;
    int issuer = issued(digits, cut->n);
    if (!luhn(digits, cut->n))
        return 0;
    bool named = sr_entity_word_before(scan, first->start, 40, CARD_WORDS);
    bool sure = issuer == 2 && cut->n >= 14;
    unsigned char before = first->start ? sr_entity_at(scan, first->start - 1) : 0;
    unsigned char next = sr_entity_at(scan, last->end);
    bool beside = sr_entity_is_alpha(before) || sr_entity_is_alpha(next) || before == '$' || before == '#';
    if ((!issuer && !named) ||
        (beside && !(sure && is_free(scan, first->start - 1, -1) && is_free(scan, last->end, 1))))
        return 0;
    if (cut->i < cut->j && !is_form(cut, named, sure))
        return 0;
    /* The digits behind a decimal point. */
    if (cut->i == cut->j && cut->i > 0 && before == '.' &&
        cut->row->groups[cut->i - 1].end + 1 == first->start)
        return 0;
    if (issuer && (named || cut->n >= 15))
        return 0.99f;
    return named ? 0.9f : 0.75f;
}

/* The longest card that begins with group `i`; its last group is `*j`. */
static float card_at(const struct sr_entity_scan *scan, const struct sr_row *row, size_t i, size_t *j)
{
    float found = 0;
    struct cut cut = {
        .row = row, .i = i, .same = true, .one_mark = true, .plain = true, .gap = row->groups[i].gap};
    for (cut.j = i; cut.j < row->n; cut.j++) {
        cut.n += row->groups[cut.j].n;
        if (cut.n > CARD_MAX)
            break;
        float confidence = cut.n >= CARD_MIN ? confidence_of(scan, &cut) : 0;
        if (confidence > 0) {
            found = confidence;
            *j = cut.j;
        }
        const struct sr_row_group *group = &row->groups[cut.j];
        cut.same &= group->gap == cut.gap && group->width == row->groups[i].width;
        cut.one_mark &= cut.same && group->mark == row->groups[i].mark;
        cut.plain &= group->gap < SR_GAP_LINE;
    }
    return found;
}

void sr_entity_cards(struct sr_entity_scan *scan, const struct sr_row *row)
{
    for (size_t i = 0, j; i < row->n; i++) {
        float confidence = card_at(scan, row, i, &j);
        if (!(confidence > 0))
            continue;
        sr_entity_found(scan, SR_ENTITY_CREDIT_CARD, row->groups[i].start, row->groups[j].end, confidence);
        i = j;
    }
}
