/*
 * Any bytes as a line of a warming file: what is accepted gives a request that is JSON, and in each of its
 * forms an answer: one JSON document, or a stream whose events are JSON up to its end, so that an SSE parser
 * reads what the line says. Anything else has a message.
 */
#include "base/json_read.h"
#include "dialect/registry.h"
#include "serve/warm/build.h"

#include <stdlib.h>

#define OUT_MAX ((size_t)64 << 20)

static void check_json(struct sr_bytes text)
{
    sr_json_view root;
    if (sr_json_view_open(&root, text, NULL) && text.n)
        abort();
}

/* Each event that was made here has one JSON document; the last one ends the stream. */
static void check_events(struct sr_bytes text)
{
    while (text.p && text.n) {
        const char *end = memmem(text.p, text.n, "\n\n", 2);
        if (!end || text.n < 6 || memcmp(text.p, "data: ", 6) != 0)
            abort();
        struct sr_bytes data = sr_bytes_of(text.p + 6, (size_t)(end - text.p) - 6);
        bool last = end + 2 == text.p + text.n;
        if (memchr(data.p, '\n', data.n) || memchr(data.p, '\r', data.n))
            abort();
        if (last != sr_bytes_eq(data, SR_LIT("[DONE]")))
            abort();
        if (!last)
            check_json(data);
        text = sr_bytes_of(end + 2, text.n - (size_t)(end + 2 - text.p));
    }
}

static void build(const struct sr_warm_line *line, bool streamed)
{
    struct sr_buf out;
    struct sr_err err = {0};
    sr_buf_init(&out, OUT_MAX);
    if (sr_warm_request(line, "auto", streamed, &out))
        abort();
    check_json(sr_buf_view(&out));
    sr_buf_clear(&out);
    int rc = sr_warm_answer(line, &sr_dialect_chat, "m", 1, streamed, &out, &err);
    if (rc == SR_EUNSUPPORTED ? !err.message[0] : rc != SR_OK)
        abort();
    if (rc == SR_OK && !line->events.p && streamed)
        check_events(sr_buf_view(&out));
    else if (rc == SR_OK && !line->events.p)
        check_json(sr_buf_view(&out));
    sr_buf_dispose(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct sr_arena arena;
    struct sr_warm_line line;
    struct sr_err err = {0};
    if (size > 1 << 16)
        return 0;
    sr_arena_init(&arena, OUT_MAX);
    int rc = sr_warm_line_read(&line, sr_bytes_of(bytes, size), &arena, &err);
    if (rc) {
        if (!err.message[0])
            abort();
    } else {
        if (!line.plain && !line.streamed)
            abort();
        if (line.plain)
            build(&line, false);
        if (line.streamed)
            build(&line, true);
    }
    sr_arena_dispose(&arena);
    return 0;
}
