/*
 * Any body of any dialect: every string that cannot be a word, an id or bytes, because it has two spaces, is
 * given by the walk, once, whatever it is in; what is given is in order; units of it decode.
 *
 * The first byte is the number of the dialect; the rest is the body.
 */
#include "dialect/registry.h"
#include "router/request/units.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ARENA_MAX ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "property broken: %s\n", what);
        abort();
    }
}

/* The next string of a valid body, from *at on: its inside. */
static bool next_string(struct sr_bytes body, size_t *at, size_t *start, size_t *end)
{
    while (*at < body.n && body.p[*at] != '"')
        ++*at;
    if (*at == body.n)
        return false;
    *start = *end = *at + 1;
    while (body.p[*end] != '"')
        *end += body.p[*end] == '\\' ? 2 : 1;
    *at = *end + 1;
    return true;
}

static bool is_model(const struct sr_request *doc, size_t start)
{
    for (size_t i = 0; i < doc->n_spans; i++)
        if (doc->spans[i].id == SR_AT_MODEL && start >= doc->spans[i].start && start < doc->spans[i].end)
            return true;
    return false;
}

/* A key that stands for a named one is refused, so it need not be given. */
static bool is_alike(const struct sr_request *doc, size_t start)
{
    for (size_t i = 0; i < doc->n_spans; i++)
        if (doc->spans[i].flags & SR_SPAN_ALIKE && start == doc->spans[i].key_start + 1)
            return true;
    return false;
}

/* A string with two spaces has the form of no class. */
static bool is_text(const char *p, size_t n)
{
    const char *space = memchr(p, ' ', n);
    return space && memchr(space + 1, ' ', n - (size_t)(space + 1 - p));
}

/* The next string that is given; long integers are none. */
static bool next_given(struct sr_walk *walk, struct sr_walk_string *given)
{
    bool more;
    do
        more = sr_walk_next(walk, given);
    while (more && given->number);
    return more;
}

static void check_walk(const struct sr_request *doc)
{
    struct sr_walk walk;
    struct sr_walk_string given = {.start = 0};
    size_t at = 0, start, end, last = 0;
    bool more;
    sr_walk_begin(&walk, doc);
    more = next_given(&walk, &given);
    while (next_string(doc->body, &at, &start, &end)) {
        if (more && given.start == start) {
            check(given.end == end && given.start >= last, "a string is given whole, and in order");
            check(given.escaped == (memchr(doc->body.p + start, '\\', end - start) != NULL),
                  "escapes are known");
            check(given.group < doc->n_spans && given.span < doc->n_spans, "a string is in a unit");
            last = given.end;
            more = next_given(&walk, &given);
        } else if (is_text(doc->body.p + start, end - start)) {
            check(walk.strings == SR_WALK_STRINGS_MAX || is_model(doc, start) || is_alike(doc, start),
                  "every text is given");
        }
    }
    check(!more, "nothing else is given");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sr_dialect_paths *paths;
    const struct sr_dialect_ops *dialect = size ? sr_dialect_number(data[0] % 16) : NULL;
    struct sr_arena arena;
    struct sr_scan *scan;
    struct sr_units units;
    if (!dialect || (!paths && sr_dialect_paths_new(&paths, NULL)))
        return 0;
    sr_arena_init(&arena, ARENA_MAX);
    struct sr_request doc = {.dialect = dialect, .body = sr_bytes_of(data + 1, size - 1)};
    if (sr_scan_new(&scan, sr_dialect_request_paths(paths, dialect), sr_scan_limits_defaults(), &arena) ==
            SR_OK &&
        sr_scan_feed(scan, doc.body.p, doc.body.n, NULL) == SR_OK &&
        sr_scan_root_kind(scan) == SR_JSON_OBJECT) {
        doc.spans = sr_scan_spans(scan, &doc.n_spans);
        sr_request_index(&doc);
        check_walk(&doc);
        int rc = sr_units_read(&doc, &arena, &units);
        check(rc == SR_OK || rc == SR_ENOMEM, "units are read");
        for (size_t i = 0; rc == SR_OK && i < units.list.n; i++)
            check(units.list.items[i].n_parts > 0 || units.places[i].end > 0, "a unit has a place");
    }
    sr_arena_dispose(&arena);
    return 0;
}
