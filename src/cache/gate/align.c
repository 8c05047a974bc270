/*
 * Pairs equal tokens of two questions in linear time, and finds exchanged roles and exchanged words. Knows
 * the meaning of no word.
 */
#include "cache/gate/align.h"

#define SLOTS       1024 /* of the table of ids: twice the tokens */
#define SWAP_MAX    32 /* tokens between the first and the last difference where an exchange is looked for */
#define WORD_WEIGHT 3  /* of a word in a run; a character of a script without spaces is 1 */
#define RUN_MAX     6  /* weight of a run that can stand for another one */

static bool has_content(const struct sr_gate_token *t)
{
    return t->kind != SR_GATE_TOKEN_GONE && !(t->flags & SR_GATE_IS_STOP);
}

/* ---- partners ---- */

static void match(struct sr_gate_text *a, struct sr_gate_text *b)
{
    int16_t slots[SLOTS], next[SR_GATE_TOKENS_MAX];
    memset(slots, -1, sizeof slots);
    for (size_t i = a->n; i-- > 0;) {
        size_t at = a->tokens[i].id % SLOTS;
        if (a->tokens[i].kind == SR_GATE_TOKEN_GONE)
            continue;
        while (slots[at] >= 0 && a->tokens[slots[at]].id != a->tokens[i].id)
            at = (at + 1) % SLOTS;
        next[i] = slots[at];
        slots[at] = (int16_t)i;
    }
    for (size_t j = 0; j < b->n; j++) {
        size_t at = b->tokens[j].id % SLOTS;
        if (b->tokens[j].kind == SR_GATE_TOKEN_GONE)
            continue;
        while (slots[at] >= 0 && a->tokens[slots[at]].id != b->tokens[j].id)
            at = (at + 1) % SLOTS;
        int16_t i = slots[at];
        if (i < 0 || a->tokens[i].match >= 0)
            continue;
        a->tokens[i].match = (int16_t)j;
        b->tokens[j].match = i;
        if (next[i] >= 0)
            slots[at] = next[i];
    }
}

static void count(const struct sr_gate_text *text, size_t *content, size_t *unmatched, size_t *loose)
{
    *content = *unmatched = *loose = 0;
    for (size_t i = 0; i < text->n; i++) {
        const struct sr_gate_token *t = &text->tokens[i];
        *content += has_content(t);
        *unmatched += has_content(t) && t->match < 0;
        *loose += t->kind != SR_GATE_TOKEN_GONE && t->match < 0;
    }
}

void sr_gate_align(struct sr_gate_alignment *out, struct sr_gate_text *a, struct sr_gate_text *b,
                   unsigned languages)
{
    *out = (struct sr_gate_alignment){.a = a, .b = b, .languages = languages};
    match(a, b);
    count(a, &out->content_a, &out->unmatched_a, &out->loose_a);
    count(b, &out->content_b, &out->unmatched_b, &out->loose_b);
}

/* ---- roles ---- */

/* Tokens that are there, as their indices. */
static size_t present(const struct sr_gate_text *text, int16_t out[SR_GATE_TOKENS_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < text->n; i++)
        if (text->tokens[i].kind != SR_GATE_TOKEN_GONE)
            out[n++] = (int16_t)i;
    return n;
}

struct sequences {
    const struct sr_gate_text *a, *b;
    const int16_t *in_a, *in_b;
};

static bool equal_at(const struct sequences *s, size_t i, size_t j, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (s->a->tokens[s->in_a[i + k]].id != s->b->tokens[s->in_b[j + k]].id)
            return false;
    return true;
}

static bool any_content(const struct sequences *s, size_t from, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (has_content(&s->a->tokens[s->in_a[from + k]]))
            return true;
    return false;
}

/* Between the parts of a date stand no words. */
static bool any_word(const struct sequences *s, size_t from, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (s->a->tokens[s->in_a[from + k]].kind == SR_GATE_TOKEN_WORD)
            return true;
    return false;
}

/* "A and B" is "B and A". */
static bool only_joins(const struct sequences *s, size_t from, size_t n)
{
    bool joins = false;
    for (size_t k = 0; k < n; k++)
        joins = joins || s->a->tokens[s->in_a[from + k]].flags & SR_GATE_IS_AND;
    return joins && !any_content(s, from, n);
}

/* Of two sequences of length n: X M Y and Y M X, with something between? */
static bool is_swap(const struct sequences *s, size_t n)
{
    for (size_t x = 1; x + 2 <= n; x++) {
        if (!equal_at(s, 0, n - x, x) || !any_content(s, 0, x))
            continue;
        for (size_t y = 1; x + y < n; y++)
            if (equal_at(s, n - y, 0, y) && equal_at(s, x, y, n - x - y) && any_content(s, n - y, y))
                return any_word(s, x, n - x - y) && !only_joins(s, x, n - x - y);
    }
    return false;
}

/* The texts have the same tokens, and two runs of them are exchanged. */
static bool is_swapped(const struct sr_gate_alignment *pair)
{
    int16_t in_a[SR_GATE_TOKENS_MAX], in_b[SR_GATE_TOKENS_MAX];
    size_t n = present(pair->a, in_a), from = 0;
    struct sequences s = {pair->a, pair->b, in_a, in_b};
    if (pair->loose_a || pair->loose_b || n != present(pair->b, in_b))
        return false;
    while (from < n && equal_at(&s, from, from, 1))
        from++;
    while (n > from && equal_at(&s, n - 1, n - 1, 1))
        n--;
    s.in_a += from;
    s.in_b += from;
    return n - from >= 3 && n - from <= SWAP_MAX && is_swap(&s, n - from);
}

/* The token before tokens[i], NULL at the start. */
static const struct sr_gate_token *before(const struct sr_gate_text *text, int16_t i)
{
    while (i-- > 0)
        if (text->tokens[i].kind != SR_GATE_TOKEN_GONE)
            return &text->tokens[i];
    return NULL;
}

static bool is_actor(const struct sr_gate_text *text, int16_t i)
{
    const struct sr_gate_token *t = before(text, i);
    return t && t->flags & SR_GATE_IS_BY;
}

/* The same preposition stands before it in both texts: "from A to B" is "to B from A". */
static bool keeps_preposition(const struct sr_gate_alignment *pair, int16_t i)
{
    const struct sr_gate_token *in_a = before(pair->a, i), *in_b = before(pair->b, pair->a->tokens[i].match);
    return in_a && in_b && in_a->id == in_b->id && in_a->flags & SR_GATE_IS_STOP &&
           !(in_a->flags & SR_GATE_IS_AND);
}

static bool joined(const struct sr_gate_text *text, int16_t i, int16_t j)
{
    bool joins = false;
    for (int16_t k = (int16_t)(i + 1); k < j; k++) {
        joins = joins || text->tokens[k].flags & SR_GATE_IS_AND;
        if (has_content(&text->tokens[k]))
            return false;
    }
    return joins;
}

static bool can_act(const struct sr_gate_text *text, const struct sr_gate_token *t)
{
    if (!has_content(t) || t->match < 0 || (t->kind != SR_GATE_TOKEN_WORD && t->kind != SR_GATE_TOKEN_CODE))
        return false;
    bool foreign = (text->han || text->kana) && !(t->flags & SR_GATE_IS_DENSE);
    return foreign || t->kind == SR_GATE_TOKEN_CODE || (t->flags & SR_GATE_IS_UPPER && !text->shouted);
}

/* Names in another order, or in the same order with another voice. */
static bool names_reversed(const struct sr_gate_alignment *pair)
{
    int16_t last = -1;
    for (int16_t i = 0; i < (int16_t)pair->a->n; i++) {
        const struct sr_gate_token *t = &pair->a->tokens[i];
        if (!can_act(pair->a, t))
            continue;
        if (last >= 0) {
            int16_t x = pair->a->tokens[last].match, y = t->match;
            bool passive = (is_actor(pair->a, last) != is_actor(pair->b, x)) ||
                           (is_actor(pair->a, i) != is_actor(pair->b, y));
            bool inverted = x > y;
            bool same =
                (keeps_preposition(pair, last) && keeps_preposition(pair, i)) || joined(pair->a, last, i);
            if (inverted != passive && !same)
                return true;
        }
        last = i;
    }
    return false;
}

bool sr_gate_is_reversed(const struct sr_gate_alignment *pair)
{
    return is_swapped(pair) || names_reversed(pair);
}

/* ---- exchanged words ---- */

struct content {
    size_t n;
    int16_t at[SR_GATE_TOKENS_MAX];    /* tokens with content */
    int16_t place[SR_GATE_TOKENS_MAX]; /* of a token among them; -1: no content */
};

static void list_content(const struct sr_gate_text *text, struct content *out)
{
    out->n = 0;
    for (size_t i = 0; i < text->n; i++) {
        out->place[i] = has_content(&text->tokens[i]) ? (int16_t)out->n : -1;
        if (out->place[i] >= 0)
            out->at[out->n++] = (int16_t)i;
    }
}

static unsigned weight(const struct sr_gate_token *t)
{
    return t->flags & SR_GATE_IS_DENSE ? t->points : WORD_WEIGHT;
}

/* Where the partner of content `k` of `text` is among the content of the other; -2: it has none there. */
static int partner(const struct sr_gate_text *text, const struct content *own, const struct content *other,
                   size_t k)
{
    int16_t match = text->tokens[own->at[k]].match;
    return match < 0 || other->place[match] < 0 ? -2 : other->place[match];
}

/* Weight of the run without partners at `from`, in the direction of `step`. */
static unsigned run_weight(const struct sr_gate_text *text, const struct content *c, int from, int step)
{
    unsigned sum = 0;
    for (int k = from; k >= 0 && k < (int)c->n && text->tokens[c->at[k]].match < 0 && sum <= RUN_MAX;
         k += step)
        sum += weight(&text->tokens[c->at[k]]);
    return sum;
}

/* A word that counts or denies: it can stand where another text has content. */
static bool is_heavy(const struct sr_gate_token *t, unsigned languages)
{
    const int value = sr_gate_value(t, SR_GATE_QUANT, languages);
    return t->kind != SR_GATE_TOKEN_GONE && t->match < 0 &&
           ((value >= 0 && value != SR_GATE_SOME_OF && value != SR_GATE_ANY_OF) ||
            sr_gate_value(t, SR_GATE_NEG, languages) >= 0 || t->flags & SR_GATE_IS_NOT);
}

/* One is between the content at place `from`, in the direction of `step`, and the next. */
static bool heavy_beside(const struct sr_gate_text *text, const struct content *c, int from, int step,
                         unsigned languages)
{
    for (int i = c->at[from] + step; i >= 0 && i < (int)text->n && c->place[i] < 0; i += step)
        if (is_heavy(&text->tokens[i], languages))
            return true;
    return false;
}

/* Korean puts the predicate last, in one of many forms that say much the same. */
static bool is_predicate(const struct sr_gate_text *text, const struct content *c, size_t end)
{
    return text->hangul && end == c->n;
}

static bool is_exchanged(const struct sr_gate_text *text, const struct content *a,
                         const struct sr_gate_text *other_text, const struct content *b, unsigned languages)
{
    for (size_t i = 0; i < a->n;) {
        size_t end = i;
        unsigned own = 0, other = 0;
        while (end < a->n && text->tokens[a->at[end]].match < 0)
            own += weight(&text->tokens[a->at[end++]]);
        if (end == i) {
            i++;
            continue;
        }
        int left = i > 0 ? partner(text, a, b, i - 1) : -2;
        int right = end < a->n ? partner(text, a, b, end) : -2;
        if (left >= 0)
            other = run_weight(other_text, b, left + 1, 1);
        if (other == 0 && right >= 0)
            other = run_weight(other_text, b, right - 1, -1);
        if (other == 0 && left >= 0 && heavy_beside(other_text, b, left, 1, languages))
            other = WORD_WEIGHT;
        if (other == 0 && right >= 0 && heavy_beside(other_text, b, right, -1, languages))
            other = WORD_WEIGHT;
        if (own <= RUN_MAX && other > 0 && other <= RUN_MAX && !is_predicate(text, a, end))
            return true;
        i = end;
    }
    return false;
}

bool sr_gate_is_exchanged(const struct sr_gate_alignment *pair)
{
    struct content a, b;
    list_content(pair->a, &a);
    list_content(pair->b, &b);
    if (a.n > 0 && b.n > 0 && !(pair->a->hangul && pair->b->hangul) && pair->unmatched_a == a.n &&
        pair->unmatched_b == b.n)
        return true;
    return is_exchanged(pair->a, &a, pair->b, &b, pair->languages) ||
           is_exchanged(pair->b, &b, pair->a, &a, pair->languages);
}
