/*
 * Random targets: a normal form is a path of one reading (no escape, no dot segment, no empty segment, no
 * upper-case letter, but in ids of models and responses) and its own normal form; a refused target is kept as
 * it was sent.
 */
#include "router/request/path.h"

#include <stdint.h>
#include <stdlib.h>

#define CHECK(x)                                                                                             \
    do {                                                                                                     \
        if (!(x))                                                                                            \
            abort();                                                                                         \
    } while (0)

static bool is_id(struct sr_bytes path)
{
    return sr_bytes_starts_with(path, SR_LIT("/v1/models/")) ||
           sr_bytes_starts_with(path, SR_LIT("/v1/responses/"));
}

static void check_segments(struct sr_bytes path)
{
    CHECK(path.n && path.p[0] == '/');
    CHECK(path.n == 1 || path.p[path.n - 1] != '/');
    for (size_t at = 0; path.n > 1 && at < path.n;) {
        size_t start = ++at;
        while (at < path.n && path.p[at] != '/')
            at++;
        struct sr_bytes segment = sr_bytes_of(path.p + start, at - start);
        CHECK(segment.n && !sr_bytes_eq(segment, SR_LIT(".")) && !sr_bytes_eq(segment, SR_LIT("..")));
    }
    for (size_t i = 0; i < path.n; i++) {
        CHECK((unsigned char)path.p[i] >= ' ' && path.p[i] != 0x7f && path.p[i] != '\\' && path.p[i] != '?');
        CHECK(is_id(path) ||
              (path.p[i] > ' ' && path.p[i] <= '~' && !strchr("%;#ABCDEFGHIJKLMNOPQRSTUVWXYZ", path.p[i])));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct sr_arena arena;
    struct sr_request_path path, again;
    struct sr_bytes target = sr_bytes_of(bytes, size);
    if (size > 1 << 14)
        return 0;
    sr_arena_init(&arena, 1 << 20);
    CHECK(sr_request_path_read(&path, target, &arena) == SR_OK);
    CHECK(path.path.n + path.query.n == path.target.n && path.query.p == path.path.p + path.path.n);
    if (path.flaw) {
        CHECK(sr_bytes_eq(path.target, target));
    } else {
        CHECK(!path.query.n || path.query.p[0] == '?');
        check_segments(path.path);
        CHECK(sr_request_path_read(&again, path.target, &arena) == SR_OK);
        CHECK(!again.flaw && sr_bytes_eq(again.target, path.target));
    }
    sr_arena_dispose(&arena);
    return 0;
}
