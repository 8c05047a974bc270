/* Intermediate texts of the tokenizer, with the original character of each byte. */
#include "model/tokenizer/private.h"

#include "base/grow.h"
#include "base/mem.h"

bool sr_tok_reserve(struct sr_tok_work *w, void *array, size_t *cap, size_t n, size_t size)
{
    int rc = sr_grow(array, cap, n, size, SR_GROW_NO_MAX);
    if (rc) {
        w->rc = rc;
        w->stop = true;
    }
    return rc == SR_OK;
}

bool sr_tok_within(struct sr_tok_work *w, size_t n)
{
    if (n <= SR_TOK_GROWTH_MAX * (w->original.n + SR_TOKENIZER_TOKEN_MAX))
        return true;
    w->rc = SR_ELIMIT;
    w->stop = true;
    return false;
}

void sr_tok_text_clear(struct sr_tok_text *text)
{
    text->p = text->own;
    text->n = text->n_runs = text->hint = 0;
}

void sr_tok_text_dispose(struct sr_tok_text *text)
{
    sr_mem_free(text->own);
    sr_mem_free(text->runs);
    *text = (struct sr_tok_text){0};
}

static bool room(struct sr_tok_work *w, struct sr_tok_text *text, size_t n)
{
    bool ok = sr_tok_within(w, text->n + n) &&
              sr_tok_reserve(w, &text->own, &text->cap, text->n + n + SR_TOK_PAD, 1);
    text->p = text->own;
    return ok;
}

static void add_run(struct sr_tok_work *w, struct sr_tok_text *text, uint32_t start)
{
    bool ok = sr_tok_reserve(w, &text->runs, &text->cap_runs, text->n_runs + 1, sizeof *text->runs);
    if (ok && text->runs)
        text->runs[text->n_runs++] = (struct sr_tok_run){(uint32_t)text->n, start};
}

/* Opens a plain run at the end of `text` unless the last run continues. */
static void plain_from(struct sr_tok_work *w, struct sr_tok_text *text, uint32_t start)
{
    const struct sr_tok_run *last = text->n_runs ? &text->runs[text->n_runs - 1] : NULL;
    if (!last || last->start & SR_TOK_LUMP || last->start + ((uint32_t)text->n - last->at) != start)
        add_run(w, text, start);
}

uint32_t sr_tok_unit_end(const struct sr_tok_work *w, uint32_t unit)
{
    bool valid;
    if (unit >= w->original.n)
        return (uint32_t)w->original.n;
    return unit + (uint32_t)sr_utf8_unit(w->original.p + unit, w->original.n - unit, &valid);
}

void sr_tok_text_put(struct sr_tok_work *w, struct sr_tok_text *text, const char *p, size_t n, uint32_t unit)
{
    if (!room(w, text, n))
        return;
    /* A stray continuation byte would look like the inside of the character before it. */
    if (sr_tok_unit_end(w, unit) - unit == n && !sr_utf8_is_tail(w->original.p[unit]))
        plain_from(w, text, unit);
    else if (!text->n_runs || text->runs[text->n_runs - 1].start != (unit | SR_TOK_LUMP))
        add_run(w, text, unit | SR_TOK_LUMP);
    memcpy(text->own + text->n, p, n);
    text->n += n;
}

/* Index of the run that holds byte `at`. */
static size_t find_run(struct sr_tok_text *text, size_t at)
{
    const struct sr_tok_run *runs = text->runs;
    size_t k = text->hint;
    if (k >= text->n_runs || runs[k].at > at) {
        size_t low = 0, high = text->n_runs;
        while (high - low > 1) {
            size_t mid = (low + high) / 2;
            if (runs[mid].at <= at)
                low = mid;
            else
                high = mid;
        }
        k = low;
    }
    while (k + 1 < text->n_runs && runs[k + 1].at <= at)
        k++;
    return text->hint = k;
}

char *sr_tok_text_copy(struct sr_tok_work *w, struct sr_tok_text *text, struct sr_tok_text *from, size_t a,
                       size_t b)
{
    if (!room(w, text, b - a))
        return NULL;
    char *to = text->own + text->n;
    for (size_t k = find_run(from, a); a < b; k++) {
        size_t end = k + 1 < from->n_runs && from->runs[k + 1].at < b ? from->runs[k + 1].at : b;
        uint32_t start = from->runs[k].start;
        if (!(start & SR_TOK_LUMP))
            plain_from(w, text, start + (uint32_t)(a - from->runs[k].at));
        else if (!text->n_runs || text->runs[text->n_runs - 1].start != start)
            add_run(w, text, start);
        memcpy(text->own + text->n, from->p + a, end - a);
        text->n += end - a;
        a = end;
    }
    return w->rc ? NULL : to;
}

uint32_t sr_tok_text_unit(struct sr_tok_work *w, struct sr_tok_text *text, size_t at)
{
    const struct sr_tok_run *run = &text->runs[find_run(text, at)];
    if (run->start & SR_TOK_LUMP)
        return run->start & ~SR_TOK_LUMP;
    uint32_t unit = run->start + (uint32_t)(at - run->at);
    while (unit > run->start && sr_utf8_is_tail(w->original.p[unit]))
        unit--;
    return unit;
}

const struct sr_tok_run *sr_tok_text_run(struct sr_tok_text *text, size_t at)
{
    return &text->runs[find_run(text, at)];
}

bool sr_tok_text_plain(struct sr_tok_text *text, size_t a, size_t b, size_t *start)
{
    size_t k = find_run(text, a);
    if (text->runs[k].start & SR_TOK_LUMP || (k + 1 < text->n_runs && text->runs[k + 1].at < b))
        return false;
    *start = text->runs[k].start + (a - text->runs[k].at);
    return true;
}
