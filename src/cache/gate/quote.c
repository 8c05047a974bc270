/*
 * Quoted text in the marks of many scripts. Knows no words.
 */
#include "cache/gate/quote.h"

#include "cache/gate/gate.h"

#define QUOTES_MAX 8  /* of a text; later ones are words like all others */
#define TRIES_MAX  32 /* marks that could begin one */

struct quotes {
    size_t n;
    struct sr_bytes items[QUOTES_MAX];
};

static const struct {
    const char *open, *close;
} marks[] = {{"\"", "\""}, {"`", "`"},   {"“", "”"},   {"„", "“"}, {"«", "»"},
             {"「", "」"}, {"『", "』"}, {"《", "》"}, {"‘", "’"}, {"'", "'"}};

static size_t close_of(struct sr_bytes text, size_t from, const char *close)
{
    size_t n = strlen(close);
    for (size_t i = from; i + n <= text.n; i++) {
        if (memcmp(text.p + i, close, n) != 0 || i == from)
            continue;
        if (close[0] != '\'' || i + 1 == text.n ||
            !(text.p[i + 1] & 0x80 || ((text.p[i + 1] | 0x20) >= 'a' && (text.p[i + 1] | 0x20) <= 'z')))
            return i;
    }
    return text.n;
}

static void read_quotes(struct quotes *out, struct sr_bytes text)
{
    size_t tries = 0;
    for (size_t at = 0; at < text.n && out->n < QUOTES_MAX && tries < TRIES_MAX; at++) {
        unsigned char c = (unsigned char)text.p[at];
        if (c != '"' && c != '`' && c != '\'' && c != 0xE2 && c != 0xC2 && c != 0xE3)
            continue;
        for (size_t k = 0; k < sizeof marks / sizeof marks[0]; k++) {
            size_t n = strlen(marks[k].open);
            if (at + n > text.n || memcmp(text.p + at, marks[k].open, n) != 0)
                continue;
            if (marks[k].open[0] == '\'' && at > 0 && text.p[at - 1] != ' ' && text.p[at - 1] != '(')
                break;
            tries++;
            size_t close = close_of(text, at + n, marks[k].close);
            if (close < text.n) {
                out->items[out->n++] = sr_bytes_trim(sr_bytes_of(text.p + at + n, close - at - n));
                at = close + strlen(marks[k].close) - 1;
            }
            break;
        }
    }
}

/* What is quoted is in the other text, quoted or not. */
static bool has_all(struct sr_bytes text, const struct quotes *quotes)
{
    for (size_t i = 0; i < quotes->n; i++)
        if (quotes->items[i].n && !memmem(text.p, text.n, quotes->items[i].p, quotes->items[i].n))
            return false;
    return true;
}

static bool has(const struct quotes *quotes, struct sr_bytes quote)
{
    for (size_t i = 0; i < quotes->n; i++)
        if (sr_bytes_eq(quotes->items[i], quote))
            return true;
    return false;
}

static struct sr_bytes lower(struct sr_bytes text, char out[SR_GATE_TEXT_MAX])
{
    for (size_t i = 0; i < text.n; i++)
        out[i] = sr_ascii_lower(text.p[i]);
    return sr_bytes_of(out, text.n);
}

bool sr_gate_quotes_agree(struct sr_bytes a, struct sr_bytes b)
{
    char copy_a[SR_GATE_TEXT_MAX], copy_b[SR_GATE_TEXT_MAX];
    struct quotes of_a = {0}, of_b = {0};
    a = lower(a, copy_a);
    b = lower(b, copy_b);
    read_quotes(&of_a, a);
    read_quotes(&of_b, b);
    if (!has_all(a, &of_b) || !has_all(b, &of_a))
        return false;
    for (size_t i = 0; of_a.n == of_b.n && i < of_a.n; i++)
        if (!has(&of_b, of_a.items[i]) || !has(&of_a, of_b.items[i]))
            return false;
    return true;
}
