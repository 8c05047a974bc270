/* Keeps bytes; reads them once more when the answer is complete. */
#include "router/response/keep.h"

#define CHOICES_MAX 64u /* a request for more answers at once is not kept */
#define SCAN_MAX    ((size_t)64 << 20)

static unsigned keep_wants(void *state, const struct sr_answer_head *head)
{
    struct sr_answer_keep *keep = state;
    if (head->mode == SR_ANSWER_RAW || !head->keeps)
        return 0;
    sr_buf_init(&keep->bytes, head->keeps);
    keep->kept = true;
    return SR_WANTS_EVENTS;
}

static void append(struct sr_answer_keep *keep, struct sr_bytes bytes)
{
    if (!keep->kept)
        return;
    keep->kept = sr_buf_append_bytes(&keep->bytes, bytes) == SR_OK;
    if (!keep->kept)
        sr_buf_dispose(&keep->bytes);
}

static void keep_piece(void *state, const struct sr_answer_piece *piece)
{
    append(state, piece->bytes);
}

static int keep_event(void *state, struct sr_answer_event *event)
{
    if (!event->is_body)
        append(state, event->raw);
    return SR_OK;
}

const struct sr_answer_stage sr_keep_stage = {
    .name = "keep",
    .wants = keep_wants,
    .piece = keep_piece,
    .event = keep_event,
};

void sr_answer_keep_dispose(struct sr_answer_keep *keep)
{
    sr_buf_dispose(&keep->bytes);
    keep->kept = false;
}

/* ---- is it whole ---- */

/* What was seen of an answer. */
struct seen {
    uint64_t begun, finished; /* choices: bits by their number */
    bool content, ended;      /* of an answer without choices */
    bool failed;
};

static void see_choice(struct seen *seen, struct sr_answer_event *event, const struct sr_span *span)
{
    uint64_t number = sr_answer_event_choice(event, span);
    if (number >= CHOICES_MAX)
        seen->failed = true;
    else if (span->id == SR_ANSWER_FINISH && span->kind == SR_JSON_STRING)
        seen->finished |= UINT64_C(1) << number;
    else if (span->id == SR_ANSWER_CHOICE)
        seen->begun |= UINT64_C(1) << number;
}

static bool is_error(const struct sr_answer_event *event, const struct sr_span *span)
{
    size_t n = span->key_end - span->key_start;
    return span->parent == SR_SPAN_NONE && span->kind != SR_JSON_NULL &&
           sr_bytes_eq(sr_bytes_of(event->data.p + span->key_start, n), SR_LIT("\"error\""));
}

static bool is_end(const struct sr_answer_event *event, const struct sr_span *span)
{
    return span->kind == SR_JSON_STRING &&
           (span->id == SR_ANSWER_STOP ||
            sr_bytes_eq(sr_span_raw(span, event->data), SR_LIT("\"completed\"")));
}

static void see(struct seen *seen, struct sr_answer_event *event)
{
    if (event->mark || !event->data.n)
        return;
    if (!sr_answer_event_scan(event) || !event->is_object) {
        seen->failed = true;
        return;
    }
    for (size_t i = 0; i < event->n_spans; i++) {
        const struct sr_span *span = &event->spans[i];
        if (span->id == SR_ANSWER_CHOICE || span->id == SR_ANSWER_FINISH)
            see_choice(seen, event, span);
        else if (span->id == SR_ANSWER_BLOCK || sr_answer_event_text(event, span))
            seen->content = true;
        else if (span->id == SR_ANSWER_STOP || span->id == SR_ANSWER_STATUS)
            seen->ended |= is_end(event, span);
        else if (is_error(event, span))
            seen->failed = true;
    }
}

static bool is_whole_stream(struct sr_bytes bytes, const struct sr_dialect_ops *dialect,
                            const struct sr_paths *paths, struct seen *seen)
{
    struct sr_sse_frames frames;
    struct sr_sse_frame frame;
    struct sr_arena arena;
    struct sr_buf before;
    bool done = false;
    sr_sse_frames_init(&frames, bytes.n + 1);
    sr_arena_init(&arena, SCAN_MAX);
    sr_buf_init(&before, 4096);
    while (!seen->failed && sr_sse_frames_next(&frames, &bytes, &frame) == SR_OK) {
        struct sr_answer_event event;
        sr_answer_event_init(&event, &frame, dialect, paths, &arena, &before);
        done |= event.done;
        if (event.has_data)
            see(seen, &event);
        sr_arena_dispose(&arena);
    }
    sr_buf_dispose(&before);
    sr_arena_dispose(&arena);
    sr_sse_frames_dispose(&frames);
    return done;
}

static bool is_whole_body(struct sr_bytes bytes, const struct sr_paths *paths, struct seen *seen)
{
    struct sr_scan_limits limits = sr_scan_limits_defaults();
    struct sr_answer_event event;
    struct sr_arena arena;
    struct sr_buf before;
    struct sr_scan *scan = NULL;
    limits.max_spans = SR_ANSWER_SPANS_MAX;
    sr_arena_init(&arena, SCAN_MAX);
    sr_buf_init(&before, 4096);
    bool whole = sr_scan_new(&scan, paths, limits, &arena) == SR_OK &&
                 sr_scan_feed(scan, bytes.p, bytes.n, NULL) == SR_OK && sr_scan_finish(scan, NULL) == SR_OK;
    if (whole) {
        sr_answer_event_init_body(&event, bytes, scan, &arena, &before);
        see(seen, &event);
    }
    sr_buf_dispose(&before);
    sr_arena_dispose(&arena);
    return whole;
}

bool sr_answer_is_usable(struct sr_bytes bytes, enum sr_answer_mode mode,
                         const struct sr_dialect_ops *dialect, const struct sr_paths *paths)
{
    struct seen seen = {0};
    bool whole = mode == SR_ANSWER_SSE    ? is_whole_stream(bytes, dialect, paths, &seen)
                 : mode == SR_ANSWER_JSON ? is_whole_body(bytes, paths, &seen)
                                          : false;
    return whole && !seen.failed &&
           (seen.begun ? !(seen.begun & ~seen.finished) : seen.content && seen.ended);
}
