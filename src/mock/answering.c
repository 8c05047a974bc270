/* Answers out: whole, in pieces, as streams; cut where the request asks for it. */
#include "mock/private.h"

#define QUEUE_MARK  ((size_t)256 << 10) /* bytes queued to a client, above which writing waits */
#define PIECES_TURN 64                  /* pieces written before other connections get a turn */
#define PIECE_MAX   65536

/* Everything that cannot be written any more ends the connection; `done` cleans up. */
void sr_mock_give_up(struct sr_mock_call *call)
{
    call->ended = true;
    sr_timer_stop(&call->timer);
    sr_http_request_abort(call->request);
}

void sr_mock_reply(struct sr_mock_call *call, int status, struct sr_bytes type, struct sr_bytes body)
{
    struct sr_header headers[] = {{SR_LIT("content-type"), type}, {SR_LIT("retry-after"), SR_LIT("1")}};
    struct sr_http_response response = {
        .status = status, .headers = headers, .header_count = status == 429 || status == 503 ? 2 : 1};
    call->ended = true;
    if (sr_http_request_reply(call->request, &response, body) != SR_OK)
        sr_http_request_abort(call->request);
}

/* Replies with what a formatter put into the scratch buffer. */
void sr_mock_reply_scratch(struct sr_mock_call *call, int status, int rc)
{
    if (rc == SR_OK)
        sr_mock_reply(call, status, SR_MOCK_JSON, sr_buf_view(&call->worker->mock->head));
    else
        sr_mock_give_up(call);
}

struct sr_buf *sr_mock_scratch(struct sr_mock_call *call)
{
    struct sr_buf *out = &call->worker->mock->head;
    sr_buf_clear(out);
    return out;
}

void sr_mock_reply_error(struct sr_mock_call *call, int status, const char *message)
{
    sr_mock_reply_scratch(call, status,
                          sr_mock_error(call->ask.endpoint, status, message, sr_mock_scratch(call)));
}

/* Writes one piece of the answer's body, cut where x-mock-close says. False when the call has ended. */
static bool put(struct sr_mock_call *call, struct sr_bytes piece)
{
    bool cut = call->asked.close_inside && call->written + piece.n >= call->asked.close_after;
    if (cut)
        piece.n = (size_t)(call->asked.close_after - call->written);
    call->written += piece.n;
    if ((piece.n > 0 && sr_http_request_write(call->request, &piece, 1) != SR_OK) || cut) {
        sr_mock_give_up(call);
        return false;
    }
    return true;
}

static void finish(struct sr_mock_call *call)
{
    call->ended = true;
    if (sr_http_request_finish(call->request) != SR_OK)
        sr_http_request_abort(call->request);
}

/* The last frame of a stream that was asked to fail. */
static bool put_error_frame(struct sr_mock_call *call, struct sr_buf *out)
{
    int rc = sr_mock_error_frame(call->ask.endpoint, 500, "the mock was asked to fail", out);
    if (rc != SR_OK)
        sr_mock_give_up(call);
    else if (put(call, sr_buf_view(out)))
        finish(call);
    return false;
}

static bool put_frame(struct sr_mock_call *call)
{
    struct sr_buf *out = sr_mock_scratch(call);
    size_t chunks = call->n_chunks ? call->n_chunks : SR_MOCK_CHUNKS;
    if (call->asked.fail_after && call->frame == call->asked.fail_after)
        return put_error_frame(call, out);
    if (sr_mock_frame(&call->ask, chunks, call->frame++, (size_t)(call->asked.body_bytes / chunks), out) !=
        SR_OK) {
        sr_mock_give_up(call);
        return false;
    }
    return put(call, sr_buf_view(out));
}

static bool put_fill(struct sr_mock_call *call)
{
    static char dots[PIECE_MAX];
    if (!dots[0])
        memset(dots, '.', sizeof dots);
    uint64_t left = call->fill_left ? call->fill_left : call->tail.n;
    size_t n = left < PIECE_MAX ? (size_t)left : PIECE_MAX;
    struct sr_bytes piece = {call->fill_left ? dots : call->tail.p, n};
    if (call->fill_left) {
        call->fill_left -= n;
    } else {
        call->tail = sr_bytes_of(call->tail.p + n, call->tail.n - n);
        if (call->tail.n == 0)
            call->n_frames = 0;
    }
    return put(call, piece);
}

/* Frames that may be written now: those of an engine's stream wait for its tokens. */
static size_t frames_ready(const struct sr_mock_call *call)
{
    const struct sr_mock_sequence *sequence = &call->sequence;
    if (!call->ask.measured || !call->ask.stream || sequence->finished)
        return call->n_frames;
    size_t before = sr_mock_frames_before(&call->ask);
    size_t interval = call->worker->mock->settings.stream_interval;
    return sequence->produced ? before + 1 + (sequence->produced - 1) / interval : 0;
}

/* An answer that is no stream counts as one frame, which ends with its tail. */
void sr_mock_go_on(struct sr_mock_call *call)
{
    size_t ready = frames_ready(call);
    for (int pieces = 0; call->frame < ready; pieces++) {
        if (sr_http_request_queued(call->request) > QUEUE_MARK)
            return; /* `writable` calls again */
        if (pieces == PIECES_TURN) {
            sr_timer_start(&call->timer, 0);
            return;
        }
        if (!(call->ask.stream ? put_frame(call) : put_fill(call)))
            return;
        if (call->ask.stream && call->asked.chunk_delay_ms && call->frame < call->n_frames) {
            sr_timer_start(&call->timer, call->asked.chunk_delay_ms);
            return;
        }
    }
    if (ready == call->n_frames)
        finish(call);
}

static void answer_stream(struct sr_mock_call *call, int status)
{
    struct sr_header headers[] = {{SR_LIT("content-type"), SR_LIT("text/event-stream; charset=utf-8")},
                                  {SR_LIT("cache-control"), SR_LIT("no-cache")}};
    struct sr_http_response response = {
        .status = status, .headers = headers, .header_count = 2, .content_length = -1};
    call->worker->streams++;
    if (!call->n_chunks)
        call->n_chunks = (size_t)call->asked.chunks;
    call->n_frames = sr_mock_frames(&call->ask, call->n_chunks);
    if (sr_http_request_respond(call->request, &response, NULL, 0) != SR_OK)
        sr_mock_give_up(call);
    else
        sr_mock_go_on(call);
}

static void answer_plain(struct sr_mock_call *call, int status)
{
    struct sr_buf *head = &call->worker->mock->head, *tail = &call->worker->mock->tail;
    sr_buf_clear(head);
    sr_buf_clear(tail);
    int rc = sr_mock_answer(&call->ask, head, tail);
    if (rc != SR_OK) {
        sr_mock_reply_error(call, 500, sr_strerror(rc));
        return;
    }
    if (call->asked.body_bytes == 0 && !call->asked.close_inside) {
        if (sr_buf_append_bytes(head, sr_buf_view(tail)) != SR_OK)
            sr_mock_give_up(call);
        else
            sr_mock_reply(call, status, SR_MOCK_JSON, sr_buf_view(head));
        return;
    }
    struct sr_header headers[] = {{SR_LIT("content-type"), SR_MOCK_JSON}};
    call->fill_left = tail->len > 0 ? call->asked.body_bytes : 0;
    struct sr_http_response response = {.status = status,
                                        .headers = headers,
                                        .header_count = 1,
                                        .content_length = (int64_t)(head->len + call->fill_left + tail->len)};
    call->n_frames = tail->len > 0;
    call->tail = sr_arena_dup(sr_http_request_arena(call->request), sr_buf_view(tail));
    if (!call->tail.p || sr_http_request_respond(call->request, &response, NULL, 0) != SR_OK)
        sr_mock_give_up(call);
    else if (put(call, sr_buf_view(head)))
        sr_mock_go_on(call);
}

void sr_mock_reply_tail(struct sr_mock_call *call)
{
    struct sr_header headers[] = {{SR_LIT("content-type"), SR_LIT("application/octet-stream")}};
    struct sr_http_response response = {
        .status = 200, .headers = headers, .header_count = 1, .content_length = (int64_t)call->tail.n};
    call->answering = true;
    call->n_frames = call->tail.n > 0;
    if (sr_http_request_respond(call->request, &response, NULL, 0) != SR_OK)
        sr_mock_give_up(call);
    else
        sr_mock_go_on(call);
}

void sr_mock_answer_begin(struct sr_mock_call *call, int status)
{
    call->answering = true;
    if (call->ask.stream && sr_mock_generates(call->ask.endpoint))
        answer_stream(call, status);
    else
        answer_plain(call, status);
}
