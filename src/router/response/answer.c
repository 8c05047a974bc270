/* Sequences the stages of the answer. */
#include "router/response/answer.h"

#include "base/clock.h"
#include "router/response/strip.h"

#include <stddef.h>

#define FRAME_MAX ((size_t)4 << 20) /* a larger event passes unread */

#define EVENT_MAX  ((size_t)160 << 20)
#define SCAN_MAX   ((size_t)32 << 20)
#define OUT_MAX    ((size_t)64 << 20)
#define BEFORE_MAX ((size_t)16 << 20)

#define NO_STATE SIZE_MAX

/* All stages, in the order in which an event passes them, with the offset of their state in struct
 * sr_answer. */
static const struct {
    const struct sr_answer_stage *ops;
    size_t state;
} stages[] = {
    {&sr_keep_stage, offsetof(struct sr_answer, keep)},
    {&sr_store_stage, offsetof(struct sr_answer, store)},
    {&sr_usage_stage, offsetof(struct sr_answer, usage)},
    {&sr_strip_stage, NO_STATE},
    {&sr_restore_stage, offsetof(struct sr_answer, restore)},
    {&sr_response_guard_stage, offsetof(struct sr_answer, guard)},
};

#define STAGES (sizeof stages / sizeof stages[0])

static void *state_of(struct sr_answer *a, size_t stage)
{
    return stages[stage].state == NO_STATE ? NULL : (char *)a + stages[stage].state;
}

static bool is_active(const struct sr_answer *a, size_t stage)
{
    return a->active >> stage & 1;
}

void sr_answer_init(struct sr_answer *a)
{
    sr_arena_init(&a->scans, SCAN_MAX);
    sr_arena_init(&a->events, EVENT_MAX);
    sr_sse_frames_init(&a->frames, FRAME_MAX);
    sr_buf_init(&a->body, SR_ANSWER_BODY_MAX);
    sr_buf_init(&a->before, BEFORE_MAX);
    sr_buf_init(&a->written, OUT_MAX);
    sr_buf_init(&a->held, SR_ANSWER_BODY_MAX);
    sr_response_guard_init(&a->guard);
}

void sr_answer_dispose(struct sr_answer *a)
{
    sr_answer_translation_dispose(&a->translation);
    sr_response_guard_dispose(&a->guard);
    sr_restore_dispose(&a->restore);
    sr_answer_keep_dispose(&a->keep);
    sr_answer_store_dispose(&a->store);
    sr_buf_dispose(&a->held);
    sr_buf_dispose(&a->written);
    sr_buf_dispose(&a->before);
    sr_buf_dispose(&a->body);
    sr_sse_frames_dispose(&a->frames);
    sr_arena_dispose(&a->events);
    sr_arena_dispose(&a->scans);
}

/* ---- the head ---- */

static bool type_is(struct sr_bytes value, struct sr_bytes type)
{
    return value.n >= type.n && sr_bytes_eq_nocase(sr_bytes_of(value.p, type.n), type);
}

enum sr_coding sr_answer_coding_of(const struct sr_header *headers, size_t n_headers)
{
    enum sr_coding coding = SR_CODING_NONE;
    for (size_t i = 0; i < n_headers; i++)
        if (sr_bytes_eq_nocase(headers[i].name, SR_LIT("content-encoding")))
            coding = sr_coding_with(coding, headers[i].value);
    return coding;
}

enum sr_answer_mode sr_answer_mode_of(int status, const struct sr_header *headers, size_t n_headers,
                                      bool plain)
{
    struct sr_bytes type = {"", 0};
    for (size_t i = 0; i < n_headers; i++)
        if (sr_bytes_eq(headers[i].name, SR_LIT("content-type")))
            type = sr_bytes_trim(headers[i].value);
    if (status / 100 != 2 || !plain)
        return SR_ANSWER_RAW;
    return type_is(type, SR_LIT("text/event-stream"))  ? SR_ANSWER_SSE
           : type_is(type, SR_LIT("application/json")) ? SR_ANSWER_JSON
                                                       : SR_ANSWER_RAW;
}

void sr_answer_begin(struct sr_answer *a, const struct sr_answer_head *head)
{
    a->status = head->status;
    a->mode = head->mode;
    a->dialect = head->dialect;
    if (head->translation) {
        sr_answer_translation_begin(&a->translation, head->translation, head->status,
                                    head->mode == SR_ANSWER_SSE);
        a->wants |= SR_WANTS_LENGTH;
    }
    for (size_t i = 0; i < STAGES; i++) {
        unsigned wants = stages[i].ops->wants(state_of(a, i), head);
        a->active |= wants ? UINT32_C(1) << i : 0;
        a->wants |= wants;
    }
    a->paths = a->wants & SR_WANTS_TEXTS ? head->paths->all : head->paths->counts;
    struct sr_scan_limits limits = sr_scan_limits_defaults();
    limits.max_spans = SR_ANSWER_SPANS_MAX;
    if (a->mode == SR_ANSWER_JSON && sr_scan_new(&a->scan, a->paths, limits, &a->scans))
        a->scan = NULL;
}

/* ---- what goes ---- */

static void put(struct sr_answer_out *out, struct sr_bytes slice)
{
    if (slice.n)
        out->slices[out->n++] = slice;
}

/* Passes an event through all stages. */
static int pass_stages(struct sr_answer *a, struct sr_answer_event *event)
{
    int rc = SR_OK;
    for (size_t i = 0; !rc && i < STAGES; i++)
        if (is_active(a, i))
            rc = stages[i].ops->event(state_of(a, i), event);
    return rc;
}

/* ---- streams ---- */

/* The LF of a CRLF that was split between chunks belongs to the previous event. */
static size_t begin_of(const struct sr_answer *a, const struct sr_sse_frame *frame)
{
    return a->dropped ? frame->lead : 0;
}

static int pass_frame(struct sr_answer *a, const struct sr_sse_frame *frame)
{
    struct sr_answer_event event;
    sr_answer_event_init(&event, frame, a->dialect, a->paths, &a->events, &a->before);
    event.begin = begin_of(a, frame);
    if (event.has_data && !a->first_event_ns)
        a->first_event_ns = sr_clock_ns();
    a->events_seen += event.has_data && !event.mark;
    a->saw_done |= event.done;
    int rc = pass_stages(a, &event);
    if (!rc && a->wants & SR_WANTS_CHANGES)
        rc = sr_answer_event_write(&event, &a->written);
    if (!rc)
        a->dropped = event.dropped;
    sr_arena_dispose(&a->events);
    return rc;
}

/* Handles out of memory while changing events: from here on everything passes unchanged. `pending` is the
 * incomplete event, `rest` the input that was not read. */
static void stop_changing(struct sr_answer *a, struct sr_bytes pending, struct sr_bytes rest)
{
    a->mode = SR_ANSWER_RAW;
    a->flow.broken = true;
    put(&a->out, sr_buf_view(&a->written));
    put(&a->out, pending);
    put(&a->out, rest);
}

static void end_stages(struct sr_answer *a)
{
    for (size_t i = 0; i < STAGES; i++) {
        size_t before = a->written.len;
        if (is_active(a, i) && stages[i].ops->end && stages[i].ops->end(state_of(a, i), &a->written))
            a->written.len = before;
    }
}

static void change_events(struct sr_answer *a, struct sr_bytes in, bool last)
{
    struct sr_sse_frame frame;
    int rc;
    sr_buf_clear(&a->written);
    while ((rc = sr_sse_frames_next(&a->frames, &in, &frame)) == SR_OK) {
        if (pass_frame(a, &frame)) {
            stop_changing(a, frame.raw, in);
            return;
        }
    }
    if (rc != SR_MORE) {
        struct sr_bytes pending = {"", 0};
        if (sr_sse_frames_finish(&a->frames, &frame) == SR_OK)
            pending = frame.raw;
        stop_changing(a, pending, in);
        return;
    }
    if (last)
        end_stages(a);
    put(&a->out, sr_buf_view(&a->written));
    if (last && sr_sse_frames_finish(&a->frames, &frame) == SR_OK) {
        size_t begin = begin_of(a, &frame);
        put(&a->out, sr_bytes_of(frame.raw.p + begin, frame.raw.n - begin));
    }
}

/* Reads the events of a stream that no stage changes: the bytes pass through. */
static void watch_events(struct sr_answer *a, struct sr_bytes in)
{
    struct sr_sse_frame frame;
    int rc = SR_OK;
    put(&a->out, in);
    while (!rc && (rc = sr_sse_frames_next(&a->frames, &in, &frame)) == SR_OK)
        (void)pass_frame(a, &frame);
    if (rc != SR_MORE)
        a->mode = SR_ANSWER_RAW;
}

/* ---- JSON answers ---- */

static void drop_scan(struct sr_answer *a)
{
    a->scan = NULL;
    sr_arena_dispose(&a->scans);
}

static void scan_piece(struct sr_answer *a, struct sr_bytes in)
{
    struct sr_answer_piece piece = {.bytes = in, .offset = a->offset};
    if (!a->scan || in.n == 0)
        return;
    int rc = sr_scan_feed(a->scan, in.p, in.n, NULL);
    if (rc != SR_OK && rc != SR_MORE) {
        drop_scan(a);
        return;
    }
    piece.spans = sr_scan_spans(a->scan, &piece.n_spans);
    piece.whole = rc == SR_OK;
    for (size_t i = 0; i < STAGES; i++)
        if (is_active(a, i) && stages[i].ops->piece)
            stages[i].ops->piece(state_of(a, i), &piece);
    a->offset += in.n;
}

static void overflow(struct sr_answer *a)
{
    for (size_t i = 0; i < STAGES; i++)
        if (is_active(a, i) && stages[i].ops->overflow)
            stages[i].ops->overflow(state_of(a, i));
}

/* Changes a complete JSON answer. */
static void change_body(struct sr_answer *a)
{
    struct sr_answer_event event;
    if (a->scan && sr_scan_finish(a->scan, NULL))
        drop_scan(a);
    sr_answer_event_init_body(&event, sr_buf_view(&a->body), a->scan, &a->events, &a->before);
    sr_buf_clear(&a->written);
    bool changed = pass_stages(a, &event) == SR_OK && event.n_marks &&
                   sr_answer_event_write(&event, &a->written) == SR_OK;
    put(&a->out, sr_buf_view(changed ? &a->written : &a->body));
    sr_arena_dispose(&a->events);
}

static void take_body(struct sr_answer *a, struct sr_bytes in, bool last)
{
    scan_piece(a, in);
    if (!(a->wants & SR_WANTS_CHANGES) || a->body_ended) {
        sr_buf_dispose(&a->body); /* the client already has what did not fit */
        put(&a->out, in);
        return;
    }
    a->body_ended = last;
    if (sr_buf_append_bytes(&a->body, in)) {
        a->body_ended = true;
        overflow(a);
        put(&a->out, sr_buf_view(&a->body));
        put(&a->out, in);
    } else if (last) {
        change_body(a);
    }
}

/* ---- the gate ---- */

/* Removes the held bytes that the latest slices gave to the client. */
static void forget_given(struct sr_answer *a)
{
    sr_buf_consume(&a->held, a->given);
    a->given = 0;
}

/* Holds bytes back at the gate. False: there is no room, and they are not held. */
static bool hold(struct sr_answer *a, const struct sr_answer_out *fresh)
{
    size_t before = a->held.len;
    for (size_t i = 0; i < fresh->n; i++) {
        if (sr_buf_append_bytes(&a->held, fresh->slices[i])) {
            a->held.len = before;
            return false;
        }
    }
    return true;
}

/* Fills the slices for the client: the gate's own text, the held bytes that may go, and new bytes unless
 * they are held. */
static void let_go(struct sr_answer *a, const struct sr_answer_gate *gate, const struct sr_answer_out *fresh)
{
    bool held = gate->holds && hold(a, fresh);
    uint64_t clean = gate->clean;
    if (gate->holds && !held) {
        overflow(a);
        clean = UINT64_MAX;
    }
    uint64_t goes = clean - a->flow.went;
    a->given = goes < a->held.len ? (size_t)goes : a->held.len;
    a->out.n = 0;
    put(&a->out, gate->says);
    put(&a->out, sr_bytes_of(a->held.data, a->given));
    for (size_t i = 0; !held && i < fresh->n; i++)
        put(&a->out, fresh->slices[i]);
}

static enum sr_answer_step pass_gate(struct sr_answer *a, bool last)
{
    struct sr_answer_out fresh = a->out;
    struct sr_answer_gate gate = {.says = {"", 0}};
    enum sr_answer_step step = SR_ANSWER_GO;
    uint64_t coming = 0;
    for (size_t i = 0; i < fresh.n; i++)
        coming += fresh.slices[i].n;
    a->flow.came += coming;
    a->flow.last |= last;
    a->flow.done = a->saw_done;
    a->flow.between = !a->frames.oversized;
    gate.clean = a->flow.came;
    for (size_t i = 0; i < STAGES; i++)
        if (is_active(a, i) && stages[i].ops->gate)
            step = stages[i].ops->gate(state_of(a, i), &a->flow, &gate);
    if (step == SR_ANSWER_END || step == SR_ANSWER_REPLACE) {
        a->saw_done |= step == SR_ANSWER_END;
        sr_buf_clear(&a->held);
        a->out.n = 0;
        put(&a->out, gate.says);
    } else {
        let_go(a, &gate, &fresh);
    }
    for (size_t i = 0; i < a->out.n; i++)
        a->bytes += a->out.slices[i].n;
    a->flow.went = a->flow.came - (a->held.len - a->given);
    return step;
}

enum sr_answer_step sr_answer_next(struct sr_answer *a)
{
    forget_given(a);
    a->out.n = 0;
    return pass_gate(a, false);
}

enum sr_answer_step sr_answer_body(struct sr_answer *a, struct sr_bytes in, bool last)
{
    forget_given(a);
    a->out.n = 0;
    if (a->translation.of) {
        enum sr_answer_step step = sr_answer_translation_take(&a->translation, in, last, &in);
        if (step != SR_ANSWER_GO)
            return step;
    }
    if (a->mode == SR_ANSWER_SSE && a->wants & SR_WANTS_CHANGES)
        change_events(a, in, last);
    else if (a->mode == SR_ANSWER_SSE && a->wants)
        watch_events(a, in);
    else if (a->mode == SR_ANSWER_JSON)
        take_body(a, in, last);
    else
        put(&a->out, in);
    return pass_gate(a, last);
}
