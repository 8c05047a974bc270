/* The response stages of one exchange. */
#include "router/response/answer.h"

#include "base/clock.h"

/* A single event over this passes unread. */
#define FRAME_MAX   ((size_t)4 << 20)
#define SCRATCH_MAX ((size_t)8 << 20)
#define OUT_MAX     ((size_t)64 << 20)

void sr_answer_init(sr_exchange *x)
{
    sr_arena_init(&x->answer.scratch, SCRATCH_MAX);
    sr_buf_init(&x->answer.out, OUT_MAX);
    sr_sse_frames_init(&x->answer.frames, FRAME_MAX);
    sr_buf_init(&x->answer.cut, FRAME_MAX + 16);
    sr_restore_init(&x->answer.restore, NULL, NULL);
    sr_response_guard_init(&x->answer.guard);
}

void sr_answer_dispose(sr_exchange *x)
{
    if (x->answer.metering)
        sr_meter_dispose(&x->answer.meter);
    sr_arena_dispose(&x->answer.scratch);
    sr_buf_dispose(&x->answer.out);
    sr_buf_dispose(&x->answer.cut);
    sr_restore_dispose(&x->answer.restore);
    sr_response_guard_dispose(&x->answer.guard);
    sr_sse_frames_dispose(&x->answer.frames);
}

static bool type_is(struct sr_bytes value, struct sr_bytes type)
{
    return value.n >= type.n && sr_bytes_eq_nocase(sr_bytes_of(value.p, type.n), type);
}

void sr_exchange_answer_head(sr_exchange *x, int status, const struct sr_header *headers, size_t n_headers,
                             struct sr_header_edits *edits)
{
    struct sr_answer *a = &x->answer;
    bool encoded = false;
    struct sr_bytes type = {"", 0};
    a->status = status;
    x->record.times.answer_head = sr_clock_ns();
    for (size_t i = 0; i < n_headers; i++) {
        if (sr_bytes_eq(headers[i].name, SR_LIT("content-type")))
            type = sr_bytes_trim(headers[i].value);
        else if (sr_bytes_eq(headers[i].name, SR_LIT("content-encoding")))
            encoded = !sr_bytes_eq_nocase(sr_bytes_trim(headers[i].value), SR_LIT("identity"));
    }
    a->mode = SR_ANSWER_RAW;
    if (status / 100 == 2 && !encoded && type_is(type, SR_LIT("text/event-stream"))) {
        a->mode = SR_ANSWER_SSE;
        a->strip_usage = x->hidden_usage;
    } else if (status / 100 == 2 && !encoded && type_is(type, SR_LIT("application/json"))) {
        a->mode = SR_ANSWER_JSON;
        a->metering = true;
        sr_meter_init(&a->meter, x->router->answer_paths);
    }
    const struct sr_config_decision *guard =
        x->guard.decision >= 0 ? &x->router->config->decisions[x->guard.decision] : NULL;
    if (a->mode != SR_ANSWER_RAW && guard && guard->plugins.guard.restore)
        sr_restore_init(&a->restore, &x->guard.redaction, x->router->restore_paths);
    if (status / 100 == 2)
        sr_response_guard_begin(x);
    sr_headers_answer(x, status, headers, n_headers, edits);
}

bool sr_exchange_answer_held(const sr_exchange *x)
{
    const struct sr_response_guard *guard = &x->answer.guard;
    return guard->decision && guard->whole && guard->action != SR_RESPONSE_NONE;
}

/* What to do with a frame. */
enum verdict { KEEP, DROP, CUT };

/* Learns from an event; says what of it the client gets. For CUT, [*from, *to) of `raw` goes. */
static enum verdict read_frame(sr_exchange *x, const struct sr_sse_frame *frame, size_t *from, size_t *to)
{
    struct sr_answer *a = &x->answer;
    if (!frame->whole || !frame->has_data)
        return KEEP;
    if (!x->record.times.first_token)
        x->record.times.first_token = sr_clock_ns();
    if (sr_bytes_eq(frame->data, SR_LIT("[DONE]"))) {
        a->saw_done = true;
        return KEEP;
    }
    if (!sr_bytes_contains(frame->data, SR_LIT("\"usage\"")))
        return KEEP;
    struct sr_usage_event event;
    bool read = sr_usage_read_event(&event, frame->data, x->router->answer_paths, &a->scratch);
    sr_arena_dispose(&a->scratch);
    if (!read || !event.has_member)
        return KEEP;
    if (event.usage.seen)
        a->usage = event.usage;
    if (!a->strip_usage)
        return KEEP;
    if (!event.is_null && event.choices_empty)
        return DROP;
    if (frame->data_lines != 1)
        return KEEP;
    *from = frame->data_at + event.start;
    *to = frame->data_at + event.end;
    return CUT;
}

/* Appends the frame from `begin` on without [from, to), its values restored. */
static int put_restored(sr_exchange *x, const struct sr_sse_frame *frame, size_t begin, size_t from,
                        size_t to)
{
    struct sr_answer *a = &x->answer;
    struct sr_sse_frame kept = *frame;
    sr_buf_clear(&a->cut);
    int rc = sr_buf_append(&a->cut, frame->raw.p + begin, from - begin);
    if (!rc)
        rc = sr_buf_append(&a->cut, frame->raw.p + to, frame->raw.n - to);
    kept.raw = sr_buf_view(&a->cut);
    if (frame->data_lines == 1 && !rc) {
        kept.data_at = frame->data_at - begin;
        kept.data = sr_bytes_of(a->cut.data + kept.data_at, frame->data.n - (to - from));
    }
    return rc ? rc : sr_restore_event(&a->restore, &kept, &a->out);
}

/* Appends what the client gets of a frame. The LF of a CRLF that was cut in two shares the fate of the frame
 * it ends, which is the one before. */
static int put_frame(sr_exchange *x, const struct sr_sse_frame *frame)
{
    struct sr_buf *out = &x->answer.out;
    size_t from = 0, to = 0, begin = x->answer.dropped ? frame->lead : 0;
    enum verdict verdict = read_frame(x, frame, &from, &to);
    if (verdict == DROP) {
        int rc = sr_buf_append(out, frame->raw.p + begin, frame->lead - begin);
        x->answer.dropped = true;
        return rc;
    }
    x->answer.dropped = false;
    if (verdict == KEEP)
        from = to = frame->raw.n;
    if (sr_restore_wanted(&x->answer.restore))
        return put_restored(x, frame, begin, from, to);
    int rc = sr_buf_append(out, frame->raw.p + begin, from - begin);
    return rc ? rc : sr_buf_append(out, frame->raw.p + to, frame->raw.n - to);
}

/* Memory is out in the middle of changing events: from here on everything passes as it is. `rest` is what was
 * not taken. Returns the number of slices. */
static size_t stop_changing(struct sr_answer *a, struct sr_bytes pending, struct sr_bytes rest)
{
    const struct sr_bytes parts[] = {sr_buf_view(&a->out), pending, rest};
    size_t n = 0;
    a->mode = SR_ANSWER_RAW;
    for (size_t i = 0; i < 3; i++) {
        if (parts[i].n)
            a->slices[n++] = parts[i];
    }
    return n;
}

static size_t change_events(sr_exchange *x, struct sr_bytes in, bool last)
{
    struct sr_answer *a = &x->answer;
    struct sr_sse_frame frame;
    int rc;
    sr_buf_clear(&a->out);
    while ((rc = sr_sse_frames_next(&a->frames, &in, &frame)) == SR_OK) {
        size_t before = a->out.len;
        if (sr_response_guard_reads(&a->guard))
            sr_response_guard_event(x, &frame);
        if (put_frame(x, &frame)) {
            a->out.len = before;
            return stop_changing(a, frame.raw, in);
        }
    }
    struct sr_bytes nothing = {"", 0};
    if (rc != SR_MORE)
        return stop_changing(a, sr_sse_frames_finish(&a->frames, &frame) == SR_OK ? frame.raw : nothing, in);
    if (last && sr_restore_wanted(&a->restore) && sr_restore_finish(&a->restore, &a->out))
        a->restore.redaction = NULL; /* without memory the end of a placeholder is all that is lost */
    a->slices[0] = sr_buf_view(&a->out);
    if (!last || sr_sse_frames_finish(&a->frames, &frame) != SR_OK)
        return a->out.len ? 1 : 0;
    size_t begin = a->dropped ? frame.lead : 0, n = a->out.len ? 1 : 0;
    a->slices[n] = sr_bytes_of(frame.raw.p + begin, frame.raw.n - begin);
    return n + 1;
}

static void read_events(sr_exchange *x, struct sr_bytes in)
{
    struct sr_answer *a = &x->answer;
    struct sr_sse_frame frame;
    size_t from, to;
    int rc;
    while ((rc = sr_sse_frames_next(&a->frames, &in, &frame)) == SR_OK)
        (void)read_frame(x, &frame, &from, &to);
    if (rc != SR_MORE)
        a->mode = SR_ANSWER_RAW;
}

/* A whole answer is held for its values; without memory for it, it goes on as it is. */
static size_t restore_body(struct sr_answer *a, struct sr_bytes in, bool last)
{
    sr_buf_clear(&a->out);
    if (sr_restore_body(&a->restore, in, last, &a->out)) {
        size_t n = 0;
        if (a->restore.body.len)
            a->slices[n++] = sr_buf_view(&a->restore.body);
        a->slices[n++] = in;
        a->restore.redaction = NULL;
        return n;
    }
    a->slices[0] = sr_buf_view(&a->out);
    return a->out.len ? 1 : 0;
}

/* The stage behind all others, and the count of what leaves it. */
static enum sr_answer_step pass_guard(sr_exchange *x, bool last, const struct sr_bytes **slices,
                                      size_t *n_slices)
{
    struct sr_answer *a = &x->answer;
    enum sr_answer_step step = SR_ANSWER_GO;
    *slices = a->slices;
    if (sr_response_guard_reads(&a->guard))
        step = sr_response_guard_pass(x, last, n_slices);
    for (size_t i = 0; i < *n_slices; i++)
        a->bytes += a->slices[i].n;
    return step;
}

enum sr_answer_step sr_exchange_answer_next(sr_exchange *x, const struct sr_bytes **slices, size_t *n_slices)
{
    *n_slices = 0;
    return pass_guard(x, false, slices, n_slices);
}

enum sr_answer_step sr_exchange_answer_body(sr_exchange *x, const void *p, size_t n, bool last,
                                            const struct sr_bytes **slices, size_t *n_slices)
{
    struct sr_answer *a = &x->answer;
    struct sr_bytes in = sr_bytes_of(p, n);
    a->slices[0] = in;
    *n_slices = n ? 1 : 0;
    if (n)
        x->record.times.last_token = sr_clock_ns();
    if (a->mode == SR_ANSWER_SSE &&
        (a->strip_usage || sr_restore_wanted(&a->restore) || sr_response_guard_reads(&a->guard)))
        *n_slices = change_events(x, in, last);
    else if (a->mode == SR_ANSWER_SSE)
        read_events(x, in);
    else if (a->mode == SR_ANSWER_JSON)
        sr_meter_feed(&a->meter, in);
    if (a->mode == SR_ANSWER_JSON && sr_restore_wanted(&a->restore))
        *n_slices = restore_body(a, in, last);
    if (a->metering)
        a->usage = a->meter.usage;
    return pass_guard(x, last, slices, n_slices);
}
