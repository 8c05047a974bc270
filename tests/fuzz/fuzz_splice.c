/*
 * Any edits of any document: what is rendered is JSON again, bytes that no edit is about stay and keep their
 * order, and rendering twice gives the same.
 *
 * The first byte tells how many edits follow, three bytes each (what, which span, which value); the rest is
 * the document.
 */
#include "tests/unit/json_check.h"
#include "json/splice.h"

#define EDITS_MAX 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "property broken: %s\n", what);
        abort();
    }
}

static void one_edit(struct sr_edits *edits, const struct scanned *s, const uint8_t *op)
{
    static const char *const values[] = {"null", "\"v\"", "[1,2]", "{\"a\":{}}"};
    static const char *const keys[] = {"model", "role", "x", "", "\"", "\xFF"};
    struct sr_bytes json = sr_bytes_str(values[op[2] % 4]), key = sr_bytes_str(keys[op[2] / 4 % 6]);
    uint32_t span = s->n ? op[1] % (uint32_t)s->n : 0;
    int rc = SR_OK;
    switch (op[0] % 5) {
    case 0:
        rc = sr_edits_replace(edits, span, json);
        break;
    case 1:
        rc = sr_edits_remove(edits, span);
        break;
    case 2:
        rc = sr_edits_set_member(edits, span, key, json);
        break;
    case 3:
        rc = sr_edits_set_member(edits, SR_SPAN_NONE, key, json);
        break;
    default:
        rc = sr_edits_prepend(edits, span, json);
    }
    check(rc == SR_OK || rc == SR_EINVAL || rc == SR_ELIMIT, "edits are added or refused");
}

/* The rendered bytes; slices that lie in the body have to come in its order. */
static struct sr_bytes render(struct sr_edits *edits, struct sr_bytes body, struct sr_arena *arena)
{
    const struct sr_bytes *slices;
    size_t n, total, at = 0;
    check(sr_edits_render(edits, &slices, &n, &total, NULL) == SR_OK, "edits of whole values never conflict");
    char *out = sr_arena_alloc(arena, total + 1);
    const char *last = body.p;
    for (size_t i = 0; i < n; i++) {
        if (slices[i].p >= body.p && slices[i].p < body.p + body.n) {
            check(slices[i].p >= last && slices[i].p + slices[i].n <= body.p + body.n, "slices are in order");
            last = slices[i].p + slices[i].n;
        }
        memcpy(out + at, slices[i].p, slices[i].n);
        at += slices[i].n;
    }
    check(at == total, "the total is right");
    return sr_bytes_of(out, at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sr_paths *paths;
    if (!paths)
        paths = check_paths();
    size_t ops = size ? data[0] % EDITS_MAX : 0;
    if (size < 1 + 3 * ops)
        return 0;
    struct sr_bytes body = {(const char *)data + 1 + 3 * ops, size - 1 - 3 * ops};
    struct scanned s, again;
    scan_whole(&s, paths, body);
    if (s.rc == SR_OK) {
        struct sr_edits *edits;
        check(sr_edits_new(&edits, body, s.spans, s.n, s.root_open, EDITS_MAX * 4, &s.arena) == SR_OK,
              "a list is made");
        for (size_t i = 0; i < ops; i++)
            one_edit(edits, &s, data + 1 + 3 * i);
        struct sr_bytes out = render(edits, body, &s.arena), twice = render(edits, body, &s.arena);
        check(sr_bytes_eq(out, twice), "rendering twice gives the same");
        check(sr_edits_count(edits) > 0 || sr_bytes_eq(out, body), "no edits change nothing");
        scan_whole(&again, paths, out);
        check(again.rc == SR_OK, "the result is JSON");
        scanned_dispose(&again);
    }
    scanned_dispose(&s);
    return 0;
}
