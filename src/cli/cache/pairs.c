/*
 * Reads pairs or questions from JSON Lines. What they are compared by is compare.c's.
 */
#include "cli/cache/pairs.h"

#include "base/hash.h"
#include "base/mem.h"
#include "cli/cmd.h"
#include "json/doc.h"

#define FILE_MAX_BYTES ((size_t)512 << 20)
#define LINE_MAX_BYTES ((size_t)1 << 20)
#define TEXTS_BYTES    ((size_t)256 << 20)

void sr_pairs_init(struct sr_pairs *pairs)
{
    *pairs = (struct sr_pairs){0};
    sr_arena_init(&pairs->arena, TEXTS_BYTES);
}

void sr_pairs_dispose(struct sr_pairs *pairs)
{
    sr_arena_dispose(&pairs->arena);
    sr_mem_free(pairs->texts);
    sr_mem_free(pairs->items);
    sr_mem_free(pairs->slots);
}

/* Twice as many slots, with all texts in them. */
static bool grow_slots(struct sr_pairs *pairs)
{
    size_t n = pairs->n_slots ? 2 * pairs->n_slots : 1024;
    uint32_t *slots = sr_mem_calloc(n, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < pairs->n_texts; i++) {
        size_t at = sr_hash64(pairs->texts[i], 0) & (n - 1);
        while (slots[at])
            at = (at + 1) & (n - 1);
        slots[at] = (uint32_t)i + 1;
    }
    sr_mem_free(pairs->slots);
    pairs->slots = slots;
    pairs->n_slots = n;
    return true;
}

static int append_text(struct sr_pairs *pairs, struct sr_bytes text)
{
    if (pairs->n_texts == pairs->cap_texts) {
        size_t cap = pairs->cap_texts ? 2 * pairs->cap_texts : 256;
        struct sr_bytes *texts = sr_mem_realloc(pairs->texts, cap * sizeof *texts);
        if (!texts)
            return SR_ENOMEM;
        pairs->texts = texts;
        pairs->cap_texts = cap;
    }
    struct sr_bytes copy = sr_arena_dup(&pairs->arena, text);
    if (!copy.p)
        return SR_ENOMEM;
    pairs->texts[pairs->n_texts++] = copy;
    return SR_OK;
}

/* The number of a text, which is added when it is new. */
static int take_text(struct sr_pairs *pairs, struct sr_bytes text, uint32_t *out, bool *is_new)
{
    if (2 * (pairs->n_texts + 1) > pairs->n_slots && !grow_slots(pairs))
        return SR_ENOMEM;
    size_t at = sr_hash64(text, 0) & (pairs->n_slots - 1);
    while (pairs->slots[at] && !sr_bytes_eq(pairs->texts[pairs->slots[at] - 1], text))
        at = (at + 1) & (pairs->n_slots - 1);
    *is_new = pairs->slots[at] == 0;
    if (*is_new) {
        int rc = append_text(pairs, text);
        if (rc != SR_OK)
            return rc;
        pairs->slots[at] = (uint32_t)pairs->n_texts;
    }
    *out = pairs->slots[at] - 1;
    return SR_OK;
}

int sr_pairs_add(struct sr_pairs *pairs, struct sr_pair pair)
{
    if (pairs->n == SR_PAIRS_MAX)
        return SR_ELIMIT;
    if (pairs->n == pairs->cap) {
        size_t cap = pairs->cap ? 2 * pairs->cap : 256;
        struct sr_pair *items = sr_mem_realloc(pairs->items, cap * sizeof *items);
        if (!items)
            return SR_ENOMEM;
        pairs->items = items;
        pairs->cap = cap;
    }
    pairs->items[pairs->n++] = pair;
    return SR_OK;
}

static int add_question(struct sr_pairs *pairs, struct sr_bytes text)
{
    uint32_t number;
    bool is_new;
    if (pairs->n_texts == SR_QUESTIONS_MAX) {
        pairs->left_out++;
        return SR_OK;
    }
    int rc = take_text(pairs, text, &number, &is_new);
    pairs->repeated += rc == SR_OK && !is_new;
    return rc;
}

static int add_pair(struct sr_pairs *pairs, struct sr_bytes a, struct sr_bytes b, bool same)
{
    struct sr_pair pair = {.same = same};
    bool is_new;
    int rc = take_text(pairs, a, &pair.a, &is_new);
    if (rc == SR_OK)
        rc = take_text(pairs, b, &pair.b, &is_new);
    return rc == SR_OK ? sr_pairs_add(pairs, pair) : rc;
}

static int add_line(struct sr_pairs *pairs, const sr_doc_value *row, struct sr_err *err)
{
    struct sr_bytes a = sr_doc_string(sr_doc_get(row, "a")), b = sr_doc_string(sr_doc_get(row, "b"));
    struct sr_bytes text = sr_doc_string(sr_doc_get(row, "text"));
    int kind = sr_doc_kind(sr_doc_get(row, "same"));
    bool labelled = a.n && b.n && (kind == SR_JSON_TRUE || kind == SR_JSON_FALSE);
    if (!labelled && !text.n)
        return sr_err_set(err, SR_EPARSE, "expected `a`, `b` and `same` (true or false), or `text`");
    if ((labelled && pairs->guessed) || (!labelled && pairs->n))
        return sr_err_set(err, SR_EPARSE, "the file has pairs and questions; give one kind");
    pairs->guessed = !labelled;
    int rc = labelled ? add_pair(pairs, a, b, kind == SR_JSON_TRUE) : add_question(pairs, text);
    return rc == SR_ELIMIT ? sr_err_set(err, rc, "more than %d pairs", SR_PAIRS_MAX)
           : rc            ? sr_err_set(err, rc, "%s", sr_strerror(rc))
                           : SR_OK;
}

static int read_lines(struct sr_pairs *pairs, const char *path, struct sr_bytes rest, struct sr_err *err)
{
    for (size_t number = 1; rest.n; number++) {
        const char *end = memchr(rest.p, '\n', rest.n);
        struct sr_bytes line = sr_bytes_of(rest.p, end ? (size_t)(end - rest.p) : rest.n);
        struct sr_doc *doc = NULL;
        struct sr_err what = {0};
        int rc = SR_OK;
        if (sr_bytes_trim(line).n) {
            rc = sr_doc_parse(&doc, line, LINE_MAX_BYTES, &what);
            if (rc == SR_OK)
                rc = add_line(pairs, sr_doc_root(doc), &what);
        }
        sr_doc_free(doc);
        if (rc != SR_OK)
            return sr_err_set(err, rc, "%.200s:%zu: %.80s", path, number,
                              what.message[0] ? what.message : sr_strerror(rc));
        rest = sr_bytes_of(rest.p + line.n + (end != NULL), rest.n - line.n - (end != NULL));
    }
    return pairs->n_texts ? SR_OK : sr_err_set(err, SR_EPARSE, "%.200s: no rows", path);
}

int sr_pairs_read(struct sr_pairs *pairs, const char *path, struct sr_err *err)
{
    struct sr_buf file;
    sr_buf_init(&file, FILE_MAX_BYTES);
    int rc = sr_cmd_read(path, &file, err);
    if (rc == SR_OK)
        rc = read_lines(pairs, strcmp(path, "-") == 0 ? "standard input" : path, sr_buf_view(&file), err);
    sr_buf_dispose(&file);
    return rc;
}
