/*
 * For the tests of net/http2/http2.h and net/grpc/grpc.h: nghttp2's client side on a connection of the same
 * loop, with streams whose bytes the test feeds and reads as it likes.
 */
#ifndef SR_TESTS_H2_CLIENT_H
#define SR_TESTS_H2_CLIENT_H

#include "tests/unit/cmocka_all.h"

#include "base/buf.h"
#include "base/mem.h"
#include "net/loop/loop.h"
#include "net/loop/sock.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>

struct h2_client {
    struct sr_loop *loop;
    struct sr_conn *conn;
    nghttp2_session *session;
    bool raw;    /* bytes are kept in `bytes` instead of being understood */
    bool hold;   /* window is given back only by h2_stream_consume */
    bool closed; /* the server closed the connection */
    bool goaway;
    bool opened;
    uint32_t goaway_code;
    size_t pings, settings;
    size_t streams_closed;
    struct sr_buf bytes;
};

struct h2_stream {
    struct h2_client *client;
    int32_t id;
    struct sr_buf out; /* not yet sent */
    size_t piece;      /* bytes of DATA at most per frame; 0: no limit */
    bool out_end;      /* END_STREAM after what is in `out` */
    struct sr_buf in;
    size_t in_total;
    int status;
    int grpc_status;
    char grpc_message[512];
    bool closed, end;
    uint32_t code;
};

/* ---- driving the loop ---- */

struct h2_until {
    struct sr_loop *loop;
    bool (*holds)(void *ctx);
    void *ctx;
    struct sr_timer poll, watchdog;
};

static inline void h2_watchdog(void *ctx)
{
    (void)ctx;
    fprintf(stderr, "the condition did not come true in two minutes\n");
    abort();
}

static inline void h2_poll(void *ctx)
{
    struct h2_until *until = ctx;
    if (until->holds(until->ctx))
        sr_loop_stop(until->loop);
    else
        sr_timer_start(&until->poll, 1);
}

/* Runs the loop until holds(ctx). */
static inline void h2_run(struct sr_loop *loop, bool (*holds)(void *ctx), void *ctx)
{
    struct h2_until until = {.loop = loop, .holds = holds, .ctx = ctx};
    sr_timer_init(&until.poll, loop, h2_poll, &until);
    sr_timer_init(&until.watchdog, loop, h2_watchdog, &until);
    sr_timer_start(&until.poll, 0);
    sr_timer_start(&until.watchdog, 120000);
    sr_loop_run(loop);
    sr_timer_stop(&until.poll);
    sr_timer_stop(&until.watchdog);
}

static inline bool h2_flag(void *ctx)
{
    return *(bool *)ctx;
}

struct h2_at_least {
    const size_t *value;
    size_t want;
};

static inline bool h2_reached(void *ctx)
{
    struct h2_at_least *at = ctx;
    return *at->value >= at->want;
}

static inline void h2_run_to(struct sr_loop *loop, const size_t *value, size_t want)
{
    struct h2_at_least at = {value, want};
    h2_run(loop, h2_reached, &at);
}

static inline bool h2_turns(void *ctx)
{
    return (*(size_t *)ctx)-- == 0;
}

/* A few turns of the loop, so that what would come wrongly has come. */
static inline void h2_settle(struct sr_loop *loop)
{
    size_t turns = 20;
    h2_run(loop, h2_turns, &turns);
}

/* ---- the connection ---- */

static inline void h2_flush(struct h2_client *client)
{
    const uint8_t *p;
    ssize_t n;
    while (client->session && client->conn && (n = nghttp2_session_mem_send(client->session, &p)) > 0) {
        struct sr_bytes slice = sr_bytes_of(p, (size_t)n);
        if (sr_conn_write(client->conn, &slice, 1) != SR_OK)
            break;
    }
}

static inline void h2_data(void *ctx, const char *p, size_t n)
{
    struct h2_client *client = ctx;
    if (client->raw) {
        assert_int_equal(sr_buf_append(&client->bytes, p, n), SR_OK);
        return;
    }
    assert_true(nghttp2_session_mem_recv(client->session, (const uint8_t *)p, n) >= 0);
    h2_flush(client);
}

static inline void h2_eof(void *ctx)
{
    ((struct h2_client *)ctx)->closed = true;
}

static inline void h2_failed(void *ctx, int code, const char *text)
{
    (void)code, (void)text;
    h2_eof(ctx);
}

static inline void h2_opened(void *ctx)
{
    ((struct h2_client *)ctx)->opened = true;
}

static const struct sr_conn_events h2_events = {
    .opened = h2_opened, .data = h2_data, .eof = h2_eof, .failed = h2_failed};

static inline struct h2_stream *h2_of(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

static inline int h2_on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                               size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags, void *ctx)
{
    struct h2_stream *stream = h2_of(session, frame->hd.stream_id);
    struct sr_bytes n = sr_bytes_of(name, name_n);
    (void)flags, (void)ctx;
    if (sr_bytes_eq(n, SR_LIT(":status")))
        stream->status = atoi((const char *)value);
    else if (sr_bytes_eq(n, SR_LIT("grpc-status")))
        stream->grpc_status = atoi((const char *)value);
    else if (sr_bytes_eq(n, SR_LIT("grpc-message")))
        snprintf(stream->grpc_message, sizeof stream->grpc_message, "%.*s", (int)value_n, value);
    return 0;
}

static inline int h2_on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
                             void *ctx)
{
    struct h2_client *client = ctx;
    struct h2_stream *stream = h2_of(session, id);
    (void)flags;
    stream->in_total += n;
    assert_int_equal(sr_buf_append(&stream->in, p, n), SR_OK);
    if (!client->hold)
        nghttp2_session_consume(session, id, n);
    return 0;
}

static inline int h2_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct h2_client *client = ctx;
    struct h2_stream *stream = frame->hd.stream_id ? h2_of(session, frame->hd.stream_id) : NULL;
    if (frame->hd.type == NGHTTP2_GOAWAY) {
        client->goaway = true;
        client->goaway_code = frame->goaway.error_code;
    }
    client->pings += frame->hd.type == NGHTTP2_PING;
    client->settings += frame->hd.type == NGHTTP2_SETTINGS;
    if (stream && (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        stream->end = true;
    return 0;
}

static inline int h2_on_close(nghttp2_session *session, int32_t id, uint32_t code, void *ctx)
{
    struct h2_client *client = ctx;
    struct h2_stream *stream = h2_of(session, id);
    if (stream) {
        stream->closed = true;
        stream->code = code;
        client->streams_closed++;
    }
    return 0;
}

/* `window` is the one that the client gives to each stream and to the connection. */
static inline void h2_open(struct h2_client *client, struct sr_loop *loop, uint16_t port, sr_tls_context *tls,
                           uint32_t window)
{
    struct sr_connect to = {.host = "127.0.0.1", .port = port, .tls = tls, .timeout_ms = 60000};
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    nghttp2_settings_entry entries[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window},
                                        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0}};
    *client = (struct h2_client){.loop = loop};
    sr_buf_init(&client->bytes, (size_t)64 << 20);
    assert_int_equal(nghttp2_session_callbacks_new(&callbacks), 0);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, h2_on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, h2_on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, h2_on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, h2_on_close);
    assert_int_equal(nghttp2_option_new(&option), 0);
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_peer_max_concurrent_streams(option, 1u << 20);
    assert_int_equal(nghttp2_session_client_new2(&client->session, callbacks, client, option), 0);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    assert_int_equal(nghttp2_submit_settings(client->session, 0, entries, 2), 0);
    assert_int_equal(nghttp2_session_set_local_window_size(client->session, 0, 0, (int32_t)window), 0);
    assert_int_equal(sr_conn_connect(&client->conn, loop, &to, &h2_events, client), SR_OK);
    sr_conn_set_queue_max(client->conn, (size_t)512 << 20);
    h2_flush(client);
}

/* A connection without a session: the test writes the bytes. */
static inline void h2_open_raw(struct h2_client *client, struct sr_loop *loop, uint16_t port)
{
    struct sr_connect to = {.host = "127.0.0.1", .port = port, .timeout_ms = 60000};
    *client = (struct h2_client){.loop = loop, .raw = true};
    sr_buf_init(&client->bytes, (size_t)64 << 20);
    assert_int_equal(sr_conn_connect(&client->conn, loop, &to, &h2_events, client), SR_OK);
}

static inline void h2_write(struct h2_client *client, const void *p, size_t n)
{
    struct sr_bytes slice = sr_bytes_of(p, n);
    assert_int_equal(sr_conn_write(client->conn, &slice, 1), SR_OK);
}

static inline void h2_close(struct h2_client *client)
{
    sr_conn_close(&client->conn);
    nghttp2_session_del(client->session);
    client->session = NULL;
    sr_buf_dispose(&client->bytes);
}

/* ---- streams ---- */

static inline ssize_t h2_stream_read(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length,
                                     uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
    struct h2_stream *stream = source->ptr;
    size_t n = stream->out.len < length ? stream->out.len : length;
    (void)session, (void)id, (void)ctx;
    if (stream->piece && n > stream->piece)
        n = stream->piece;
    if (!n && !stream->out_end)
        return NGHTTP2_ERR_DEFERRED;
    if (n)
        memcpy(buf, stream->out.data, n);
    sr_buf_consume(&stream->out, n);
    if (stream->out_end && !stream->out.len)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

/* `extra` is one more header, name and value, or NULL. */
static inline void h2_stream_begin(struct h2_stream *stream, struct h2_client *client, const char *path,
                                   const char *extra_name, const char *extra_value)
{
    const char *fields[][2] = {{":method", "POST"},
                               {":scheme", "http"},
                               {":authority", "test"},
                               {":path", path},
                               {"content-type", "application/grpc"},
                               {"te", "trailers"},
                               {extra_name, extra_value}};
    nghttp2_data_provider provider = {.source.ptr = stream, .read_callback = h2_stream_read};
    nghttp2_nv nv[7];
    size_t n = extra_name ? 7 : 6;
    *stream = (struct h2_stream){.client = client, .grpc_status = -1};
    sr_buf_init(&stream->in, (size_t)256 << 20);
    sr_buf_init(&stream->out, (size_t)256 << 20);
    for (size_t i = 0; i < n; i++)
        nv[i] = (nghttp2_nv){.name = (uint8_t *)fields[i][0],
                             .namelen = strlen(fields[i][0]),
                             .value = (uint8_t *)fields[i][1],
                             .valuelen = strlen(fields[i][1])};
    stream->id = nghttp2_submit_request(client->session, NULL, nv, n, &provider, stream);
    assert_true(stream->id > 0);
    h2_flush(client);
}

static inline void h2_stream_push(struct h2_stream *stream)
{
    nghttp2_session_resume_data(stream->client->session, stream->id);
    h2_flush(stream->client);
}

/* A gRPC message: prefix and bytes. */
static inline void h2_stream_message(struct h2_stream *stream, int flag, const void *p, size_t n)
{
    unsigned char prefix[5] = {(unsigned char)flag, (unsigned char)(n >> 24), (unsigned char)(n >> 16),
                               (unsigned char)(n >> 8), (unsigned char)n};
    assert_int_equal(sr_buf_append(&stream->out, prefix, 5), SR_OK);
    assert_int_equal(sr_buf_append(&stream->out, p, n), SR_OK);
    h2_stream_push(stream);
}

static inline void h2_stream_finish(struct h2_stream *stream)
{
    stream->out_end = true;
    h2_stream_push(stream);
}

static inline void h2_stream_wait(struct h2_stream *stream)
{
    h2_run(stream->client->loop, h2_flag, &stream->closed);
}

static inline void h2_stream_consume(struct h2_stream *stream, size_t n)
{
    nghttp2_session_consume(stream->client->session, stream->id, n);
    h2_flush(stream->client);
}

static inline void h2_stream_dispose(struct h2_stream *stream)
{
    sr_buf_dispose(&stream->in);
    sr_buf_dispose(&stream->out);
}

#endif
