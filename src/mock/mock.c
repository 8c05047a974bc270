/*
 * The mock upstream's servers: requests in, the answers of answer.c out, with the requested faults.
 *
 * One `call` per request, in the request's arena. Its life: reading the body, waiting (delay), writing pieces
 * of the answer while the client takes them, done.
 */
#include "mock/mock.h"

#include "base/json_write.h"
#include "base/mem.h"
#include "mock/answer.h"
#include "mock/behaviour.h"
#include "net/server/server.h"

#define QUEUE_MARK      ((size_t)256 << 10) /* bytes queued to a client, above which writing waits */
#define PIECES_TURN     64                  /* pieces written before other connections get a turn */
#define PIECE_MAX       65536
#define KEEP_BUFFER     65536 /* a remembered buffer up to this size is used again */
#define HEAD_MAX        ((size_t)256 << 10)
#define CONNECTIONS_MAX 20000
#define ANSWER_MAX      ((size_t)32 << 20)
#define SCAN_ARENA      ((size_t)16 << 20)
#define CONTENT_JSON    SR_LIT("application/json")

/* A request body; shared by its call and by the worker that remembers it. One thread, so a plain count. */
struct kept {
    int refs;
    struct sr_buf bytes;
};

struct worker {
    struct sr_mock *mock;
    struct sr_http_server *server;
    size_t index;
    uint16_t port;
    struct kept *last, *spare; /* `spare`: an unused one, so that small requests allocate nothing */
    struct sr_buf last_head;
    struct sr_mock_behaviour usual; /* of requests that do not ask for another */
    uint64_t requests, streams, canceled, body_bytes, open;
};

struct sr_mock {
    struct sr_loop *loop;
    struct sr_paths *paths;
    struct sr_buf head, tail; /* scratch of one answer */
    size_t n_workers;
    struct worker workers[];
};

struct call {
    struct sr_http_request *request;
    struct worker *worker;
    struct sr_mock_behaviour asked;
    struct sr_timer timer;
    struct sr_mock_ask ask;
    struct kept *body;
    struct sr_arena arena; /* spans */
    struct sr_scan *scan;
    int scan_status;
    struct sr_err scan_error;
    size_t frame, n_frames; /* streams */
    uint64_t fill_left;     /* other answers in pieces: filling still to write, then `tail` */
    struct sr_bytes tail;   /* in the request's arena, or in `body` */
    uint64_t written;       /* bytes of the answer's body */
    bool post, reading, answering, ended;
};

static struct kept *kept_new(struct worker *worker)
{
    struct kept *kept = worker->spare;
    worker->spare = NULL;
    if (!kept && !(kept = sr_mem_calloc(1, sizeof *kept)))
        return NULL;
    kept->refs = 1;
    kept->bytes.max = SR_MOCK_KEEP_MAX;
    sr_buf_clear(&kept->bytes);
    return kept;
}

static void kept_unref(struct worker *worker, struct kept *kept)
{
    if (!kept || --kept->refs > 0)
        return;
    if (worker && !worker->spare && kept->bytes.cap <= KEEP_BUFFER) {
        worker->spare = kept;
        return;
    }
    sr_buf_dispose(&kept->bytes);
    sr_mem_free(kept);
}

/* ---- the last request ------------------------------------------------------------------------------- */

/* The path from "/v1/" on: the part before it is a base path. */
static struct sr_bytes api_path(struct sr_bytes path)
{
    for (size_t i = 0; i + 4 <= path.n; i++)
        if (memcmp(path.p + i, "/v1/", 4) == 0)
            return sr_bytes_of(path.p + i, path.n - i);
    return path;
}

static int endpoint_of(struct sr_bytes path)
{
    static const struct {
        struct sr_bytes path;
        enum sr_mock_endpoint endpoint;
    } endpoints[] = {
        {{"/v1/chat/completions", 20}, SR_MOCK_CHAT},
        {{"/v1/completions", 15}, SR_MOCK_COMPLETION},
        {{"/v1/embeddings", 14}, SR_MOCK_EMBEDDING},
    };
    for (size_t i = 0; i < sizeof endpoints / sizeof endpoints[0]; i++)
        if (sr_bytes_eq(path, endpoints[i].path))
            return (int)endpoints[i].endpoint;
    return -1;
}

static void remember_head(struct worker *worker, const struct sr_http_head *head)
{
    struct sr_buf *out = &worker->last_head;
    sr_buf_clear(out);
    int rc = sr_buf_printf(out, "%.*s %.*s HTTP/1.%d\r\n", (int)head->method.n, head->method.p,
                           (int)head->target.n, head->target.p, head->minor);
    for (size_t i = 0; i < head->header_count && rc == SR_OK; i++) {
        const struct sr_header *h = &head->headers[i];
        rc = sr_buf_append_bytes(out, h->name);
        if (rc == SR_OK)
            rc = sr_buf_append(out, ": ", 2);
        if (rc == SR_OK)
            rc = sr_buf_append_bytes(out, h->value);
        if (rc == SR_OK)
            rc = sr_buf_append(out, "\r\n", 2);
    }
}

/* ---- answers --------------------------------------------------------------------------------------- */

/* Everything that cannot be written any more ends the connection; `done` cleans up. */
static void give_up(struct call *call)
{
    call->ended = true;
    sr_timer_stop(&call->timer);
    sr_http_request_abort(call->request);
}

static void reply(struct call *call, int status, struct sr_bytes type, struct sr_bytes body)
{
    struct sr_header headers[] = {{SR_LIT("content-type"), type}, {SR_LIT("retry-after"), SR_LIT("1")}};
    struct sr_http_response response = {
        .status = status, .headers = headers, .header_count = status == 429 || status == 503 ? 2 : 1};
    call->ended = true;
    if (sr_http_request_reply(call->request, &response, body) != SR_OK)
        sr_http_request_abort(call->request);
}

/* Replies with what a formatter put into the scratch buffer. */
static void reply_scratch(struct call *call, int status, int rc)
{
    if (rc == SR_OK)
        reply(call, status, CONTENT_JSON, sr_buf_view(&call->worker->mock->head));
    else
        give_up(call);
}

static struct sr_buf *scratch(struct call *call)
{
    struct sr_buf *out = &call->worker->mock->head;
    sr_buf_clear(out);
    return out;
}

static void reply_error(struct call *call, int status, const char *message)
{
    reply_scratch(call, status, sr_mock_error(status, message, scratch(call)));
}

static void reply_stats(struct call *call)
{
    struct worker *worker = call->worker;
    struct sr_json_writer w = sr_json_writer_of(scratch(call));
    sr_json_object(&w, NULL);
    sr_json_uint(&w, "requests", worker->requests);
    sr_json_uint(&w, "streams", worker->streams);
    sr_json_uint(&w, "open", worker->open);
    sr_json_uint(&w, "canceled", worker->canceled);
    sr_json_uint(&w, "body_bytes", worker->body_bytes);
    sr_json_uint(&w, "connections", sr_http_server_connections(worker->server));
    sr_json_object_end(&w);
    reply_scratch(call, 200, w.rc ? w.rc : sr_buf_append(w.out, "\n", 1));
}

/* Writes one piece of the answer's body, cut where x-mock-close says. False when the call has ended. */
static bool put(struct call *call, struct sr_bytes piece)
{
    bool cut = call->asked.close_inside && call->written + piece.n >= call->asked.close_after;
    if (cut)
        piece.n = (size_t)(call->asked.close_after - call->written);
    call->written += piece.n;
    if ((piece.n > 0 && sr_http_request_write(call->request, &piece, 1) != SR_OK) || cut) {
        give_up(call);
        return false;
    }
    return true;
}

static void finish(struct call *call)
{
    call->ended = true;
    if (sr_http_request_finish(call->request) != SR_OK)
        sr_http_request_abort(call->request);
}

static bool put_frame(struct call *call)
{
    struct sr_buf *out = scratch(call);
    size_t chunks = call->asked.chunks ? (size_t)call->asked.chunks : SR_MOCK_CHUNKS;
    if (sr_mock_frame(&call->ask, chunks, call->frame++, (size_t)(call->asked.body_bytes / chunks), out) !=
        SR_OK) {
        give_up(call);
        return false;
    }
    return put(call, sr_buf_view(out));
}

static bool put_fill(struct call *call)
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

/* Writes as long as the client takes it. An answer that is no stream counts as one frame, which ends with its
 * tail. */
static void go_on(struct call *call)
{
    for (int pieces = 0; call->frame < call->n_frames; pieces++) {
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
    finish(call);
}

static void answer_stream(struct call *call, int status)
{
    struct sr_header headers[] = {{SR_LIT("content-type"), SR_LIT("text/event-stream; charset=utf-8")},
                                  {SR_LIT("cache-control"), SR_LIT("no-cache")}};
    struct sr_http_response response = {
        .status = status, .headers = headers, .header_count = 2, .content_length = -1};
    call->worker->streams++;
    call->n_frames = sr_mock_frames(&call->ask, (size_t)call->asked.chunks);
    if (sr_http_request_respond(call->request, &response, NULL, 0) != SR_OK)
        give_up(call);
    else
        go_on(call);
}

static void answer_plain(struct call *call, int status)
{
    struct sr_buf *head = &call->worker->mock->head, *tail = &call->worker->mock->tail;
    sr_buf_clear(head);
    sr_buf_clear(tail);
    int rc = sr_mock_answer(&call->ask, head, tail);
    if (rc != SR_OK) {
        reply_error(call, 500, sr_strerror(rc));
        return;
    }
    if (call->asked.body_bytes == 0 && !call->asked.close_inside) {
        if (sr_buf_append_bytes(head, sr_buf_view(tail)) != SR_OK)
            give_up(call);
        else
            reply(call, status, CONTENT_JSON, sr_buf_view(head));
        return;
    }
    struct sr_header headers[] = {{SR_LIT("content-type"), CONTENT_JSON}};
    call->fill_left = call->ask.endpoint == SR_MOCK_EMBEDDING ? 0 : call->asked.body_bytes;
    struct sr_http_response response = {.status = status,
                                        .headers = headers,
                                        .header_count = 1,
                                        .content_length = (int64_t)(head->len + call->fill_left + tail->len)};
    call->n_frames = tail->len > 0;
    call->tail = sr_arena_dup(sr_http_request_arena(call->request), sr_buf_view(tail));
    if (!call->tail.p || sr_http_request_respond(call->request, &response, NULL, 0) != SR_OK)
        give_up(call);
    else if (put(call, sr_buf_view(head)))
        go_on(call);
}

static void answer(struct call *call)
{
    int status = call->asked.status >= 200 && call->asked.status <= 599 ? (int)call->asked.status : 200;
    call->answering = true;
    if (call->asked.close_before_head)
        give_up(call);
    else if (status >= 300)
        reply_error(call, status, "the mock was asked to fail");
    else if (call->scan_status != SR_OK)
        reply_error(call, 400, call->scan_error.message);
    else if (call->ask.stream && call->ask.endpoint != SR_MOCK_EMBEDDING)
        answer_stream(call, status);
    else
        answer_plain(call, status);
}

/* ---- requests -------------------------------------------------------------------------------------- */

static void on_timer(void *ctx)
{
    struct call *call = ctx;
    if (call->reading)
        sr_http_request_resume(call->request);
    else if (call->answering)
        go_on(call);
    else
        answer(call);
}

static void begin_post(struct call *call, const struct sr_http_head *head, enum sr_mock_endpoint endpoint)
{
    struct worker *worker = call->worker;
    call->post = call->reading = true;
    call->ask.endpoint = endpoint;
    call->ask.worker = worker->index;
    worker->open++;
    call->asked = call->worker->usual;
    sr_mock_behaviour_read(&call->asked, head);
    remember_head(worker, head);
    call->body = kept_new(worker);
    call->scan_status =
        sr_scan_new(&call->scan, worker->mock->paths, sr_scan_limits_defaults(), &call->arena);
    if (call->scan_status != SR_OK || !call->body) {
        give_up(call);
        return;
    }
    call->scan_status = SR_MORE;
    sr_http_request_continue(call->request);
}

static void reply_last(struct call *call)
{
    struct sr_header headers[] = {{SR_LIT("content-type"), SR_LIT("application/octet-stream")}};
    struct sr_http_response response = {.status = 200, .headers = headers, .header_count = 1};
    call->answering = true;
    call->body = call->worker->last;
    if (call->body) {
        call->body->refs++;
        call->tail = sr_buf_view(&call->body->bytes);
    }
    response.content_length = (int64_t)call->tail.n;
    call->n_frames = call->tail.n > 0;
    if (sr_http_request_respond(call->request, &response, NULL, 0) != SR_OK)
        give_up(call);
    else
        go_on(call);
}

static void reply_get(struct call *call, struct sr_bytes path)
{
    if (sr_bytes_eq(path, SR_LIT("/health")) || sr_bytes_eq(path, SR_LIT("/ready")))
        reply(call, 200, CONTENT_JSON, SR_LIT("{\"status\":\"ok\"}\n"));
    else if (sr_bytes_eq(path, SR_LIT("/mock/last")))
        reply_last(call);
    else if (sr_bytes_eq(path, SR_LIT("/mock/last-head")))
        reply(call, 200, SR_LIT("text/plain"), sr_buf_view(&call->worker->last_head));
    else if (sr_bytes_eq(path, SR_LIT("/mock/stats")))
        reply_stats(call);
    else if (sr_bytes_eq(path, SR_LIT("/v1/models")))
        reply_scratch(call, 200, sr_mock_models(scratch(call)));
    else
        reply_error(call, 404, "the mock has no such path");
}

static void on_request(void *ctx, struct sr_http_request *request)
{
    struct worker *worker = ctx;
    const struct sr_http_head *head = sr_http_request_head(request);
    struct sr_bytes path = api_path(head->path);
    int endpoint = endpoint_of(path);
    struct call *call = sr_arena_calloc(sr_http_request_arena(request), 1, sizeof *call);
    sr_http_request_set_ctx(request, call);
    if (!call) {
        sr_http_request_abort(request);
        return;
    }
    call->request = request;
    call->worker = worker;
    sr_timer_init(&call->timer, worker->mock->loop, on_timer, call);
    sr_arena_init(&call->arena, SCAN_ARENA);
    if (sr_bytes_eq(path, SR_LIT("/mock/behaviour")) && sr_bytes_eq(head->method, SR_LIT("PUT"))) {
        worker->usual = (struct sr_mock_behaviour){0};
        sr_mock_behaviour_read(&worker->usual, head);
        reply(call, 200, CONTENT_JSON, SR_LIT("{}\n"));
    } else if (endpoint >= 0 && sr_bytes_eq(head->method, SR_LIT("POST")))
        begin_post(call, head, (enum sr_mock_endpoint)endpoint);
    else if (endpoint >= 0)
        reply_error(call, 405, "use POST");
    else
        reply_get(call, path);
}

static void on_body(void *ctx, struct sr_http_request *request, struct sr_bytes slice)
{
    struct call *call = ctx;
    if (!call || call->ended || !call->post)
        return;
    struct sr_buf *body = &call->body->bytes;
    size_t room = body->max - body->len;
    if (sr_buf_append(body, slice.p, slice.n < room ? slice.n : room) != SR_OK) {
        give_up(call);
        return;
    }
    call->worker->body_bytes += slice.n;
    if (call->scan_status == SR_MORE || call->scan_status == SR_OK)
        call->scan_status = sr_scan_feed(call->scan, slice.p, slice.n, &call->scan_error);
    if (call->asked.slow_read_ms) {
        sr_http_request_pause(request);
        sr_timer_start(&call->timer, call->asked.slow_read_ms);
    }
}

static void on_body_end(void *ctx, struct sr_http_request *request)
{
    struct call *call = ctx;
    (void)request;
    if (!call || call->ended || !call->post)
        return;
    struct worker *worker = call->worker;
    call->reading = false;
    sr_timer_stop(&call->timer);
    worker->requests++;
    kept_unref(worker, worker->last);
    worker->last = call->body;
    call->body->refs++;
    if (call->scan_status == SR_MORE || call->scan_status == SR_OK)
        call->scan_status = sr_scan_finish(call->scan, &call->scan_error);
    if (call->scan_status == SR_OK) {
        size_t n = 0;
        const struct sr_span *spans = sr_scan_spans(call->scan, &n);
        sr_mock_ask_read(&call->ask, spans, n, sr_buf_view(&call->body->bytes));
    }
    if (call->asked.delay_ms)
        sr_timer_start(&call->timer, call->asked.delay_ms);
    else
        answer(call);
}

static void on_writable(void *ctx, struct sr_http_request *request)
{
    struct call *call = ctx;
    (void)request;
    if (call && call->answering && !call->ended && !call->timer.armed)
        go_on(call);
}

static void on_done(void *ctx, struct sr_http_request *request, bool complete)
{
    struct call *call = ctx;
    (void)request;
    if (!call)
        return;
    call->worker->open -= call->post;
    bool asked = call->asked.close_before_head || call->asked.close_inside;
    call->worker->canceled += call->post && !complete && !asked;
    sr_timer_stop(&call->timer);
    sr_arena_dispose(&call->arena);
    kept_unref(call->worker, call->body);
}

static struct sr_bytes on_error(void *ctx, int status, const char *reason, const char *peer,
                                const struct sr_http_head *head, struct sr_buf *body)
{
    (void)ctx;
    (void)peer;
    (void)head;
    return sr_mock_error(status, reason, body) == SR_OK ? CONTENT_JSON : (struct sr_bytes){0};
}

static const struct sr_http_handler handler = {
    .request = on_request,
    .error_body = on_error,
    .body = on_body,
    .body_end = on_body_end,
    .writable = on_writable,
    .done = on_done,
};

/* ---- life ------------------------------------------------------------------------------------------ */

static int open_worker(struct worker *worker, const char *host, uint16_t port, struct sr_err *err)
{
    struct sr_http_server_settings settings = sr_http_server_settings_defaults();
    int fd = -1;
    settings.max_connections = CONNECTIONS_MAX;
    settings.limits.head_bytes = HEAD_MAX;
    sr_buf_init(&worker->last_head, 2 * HEAD_MAX);
    int rc = sr_listen_open(host, port, 1, &fd, &worker->port, err);
    if (rc != SR_OK)
        return rc;
    rc = sr_http_server_new(&worker->server, worker->mock->loop, fd, NULL, &settings, &handler, worker);
    return rc == SR_OK ? rc
                       : sr_err_set(err, rc, "cannot serve on port %u: %s", worker->port, sr_strerror(rc));
}

int sr_mock_new(struct sr_mock **out, struct sr_loop *loop, const char *host, uint16_t port, size_t workers,
                struct sr_err *err)
{
    *out = NULL;
    if (workers < 1 || workers > SR_MOCK_WORKERS_MAX || (port && port + workers - 1 > UINT16_MAX))
        return sr_err_set(err, SR_EINVAL,
                          "%zu workers from port %u on: there are 1 to %d workers and ports up to %d",
                          workers, port, SR_MOCK_WORKERS_MAX, UINT16_MAX);
    struct sr_mock *mock = sr_mem_calloc(1, sizeof *mock + workers * sizeof mock->workers[0]);
    if (!mock)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    mock->loop = loop;
    sr_buf_init(&mock->head, ANSWER_MAX);
    sr_buf_init(&mock->tail, ANSWER_MAX);
    int rc = sr_mock_paths(&mock->paths, err);
    for (size_t i = 0; i < workers && rc == SR_OK; i++) {
        struct worker *worker = &mock->workers[mock->n_workers++];
        worker->mock = mock;
        worker->index = i;
        rc = open_worker(worker, host, port ? (uint16_t)(port + i) : 0, err);
    }
    if (rc != SR_OK)
        sr_mock_free(mock);
    else
        *out = mock;
    return rc;
}

void sr_mock_free(struct sr_mock *mock)
{
    if (!mock)
        return;
    for (size_t i = 0; i < mock->n_workers; i++) {
        struct worker *worker = &mock->workers[i];
        sr_http_server_free(worker->server);
        kept_unref(NULL, worker->last);
        kept_unref(NULL, worker->spare);
        sr_buf_dispose(&worker->last_head);
    }
    sr_paths_unref(mock->paths);
    sr_buf_dispose(&mock->head);
    sr_buf_dispose(&mock->tail);
    sr_mem_free(mock);
}

uint16_t sr_mock_port(const struct sr_mock *mock, size_t at)
{
    return mock->workers[at].port;
}
