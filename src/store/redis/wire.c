/*
 * Replies come in the order of their commands; `["message", channel, text]` stands between them.
 */
#include "store/redis/wire.h"

#include "base/mem.h"
#include "cache/record.h"

#include <stdio.h>

#define REPLY_MAX   (SR_CACHE_RECORD_MAX + ((size_t)4 << 20)) /* the largest record, or a page of keys */
#define QUEUE_MAX   (2 * SR_CACHE_RECORD_MAX + ((size_t)64 << 20))
#define GREETINGS   3
#define WHY_MAX     160
#define SERVER_TEXT 100 /* of a server's error, in a message for people */

struct waiting {
    struct waiting *next;
    sr_redis_done *done;
    void *arg;
};

struct sr_redis_wire {
    struct sr_conn *conn;
    struct sr_resp_reader *reader;
    const struct sr_redis_wire_events *events;
    void *ctx;
    struct sr_redis_wire_options options;
    struct waiting *first, **last;
    size_t count;
    struct sr_timer timer; /* of the oldest command, or of the next question whether it is there */
    unsigned greetings;    /* replies to come before it is up */
    bool up, failed, busy, closed;
};

/* ---- the end ---- */

static void wire_free(struct sr_redis_wire *wire)
{
    sr_resp_reader_free(wire->reader);
    sr_mem_free(wire);
}

void sr_redis_wire_close(struct sr_redis_wire **at)
{
    struct sr_redis_wire *wire = *at;
    *at = NULL;
    if (!wire || wire->closed)
        return;
    wire->closed = true;
    sr_timer_stop(&wire->timer);
    sr_conn_close(&wire->conn);
    while (wire->first) {
        struct waiting *waiting = wire->first;
        wire->first = waiting->next;
        waiting->done(wire->ctx, waiting->arg, NULL);
        sr_mem_free(waiting);
    }
    if (!wire->busy)
        wire_free(wire);
}

static void wire_fail(struct sr_redis_wire *wire, const char *why)
{
    if (wire->failed || wire->closed)
        return;
    wire->failed = true;
    wire->events->down(wire->ctx, why);
}

/* ---- commands ---- */

static void reply_ignored(void *ctx, void *arg, const struct sr_resp *reply)
{
    (void)ctx, (void)arg, (void)reply;
}

static void timer_due(void *ctx)
{
    static const struct sr_bytes ping[] = {{"PING", 4}};
    struct sr_redis_wire *wire = ctx;
    wire->busy = true;
    if (wire->first || !wire->up)
        wire_fail(wire, wire->up ? "no answer in time" : "no greeting in time");
    else if (sr_redis_wire_send(wire, reply_ignored, NULL, ping, 1) != SR_OK)
        wire_fail(wire, "out of memory");
    wire->busy = false;
    if (wire->closed)
        wire_free(wire);
}

int sr_redis_wire_send(struct sr_redis_wire *wire, sr_redis_done *done, void *arg,
                       const struct sr_bytes *argv, size_t argc)
{
    struct waiting *waiting;
    struct sr_bytes bytes;
    struct sr_buf buf;
    int rc;
    if (wire->failed || wire->closed)
        return SR_ECLOSED;
    waiting = sr_mem_calloc(1, sizeof *waiting);
    if (!waiting)
        return SR_ENOMEM;
    sr_buf_init(&buf, QUEUE_MAX);
    rc = sr_resp_command(&buf, argv, argc);
    bytes = sr_buf_view(&buf);
    if (rc == SR_OK)
        rc = sr_conn_write(wire->conn, &bytes, 1);
    sr_buf_dispose(&buf);
    if (rc != SR_OK) {
        sr_mem_free(waiting);
        return rc;
    }
    *waiting = (struct waiting){.done = done, .arg = arg};
    *wire->last = waiting;
    wire->last = &waiting->next;
    if (!wire->count++)
        sr_timer_start(&wire->timer, wire->options.command_ms);
    return SR_OK;
}

size_t sr_redis_wire_queued(const struct sr_redis_wire *wire)
{
    return sr_conn_queued(wire->conn);
}

/* ---- the greeting ---- */

static void greeted(void *ctx, void *arg, const struct sr_resp *reply)
{
    struct sr_redis_wire *wire = arg;
    char why[WHY_MAX];
    (void)ctx;
    if (!reply || wire->failed)
        return;
    if (reply->type == SR_RESP_ERROR) {
        snprintf(why, sizeof why, "refused: %.*s",
                 (int)(reply->text.n < SERVER_TEXT ? reply->text.n : SERVER_TEXT), reply->text.p);
        wire_fail(wire, why);
        return;
    }
    if (reply->type != SR_RESP_STATUS) {
        wire_fail(wire, "not the greeting of a Redis");
        return;
    }
    if (--wire->greetings)
        return;
    wire->up = true;
    wire->events->up(wire->ctx);
}

static int greeting_send(struct sr_redis_wire *wire, const struct sr_bytes *argv, size_t argc)
{
    int rc = sr_redis_wire_send(wire, greeted, wire, argv, argc);
    wire->greetings += rc == SR_OK;
    return rc;
}

static void sock_opened(void *ctx)
{
    struct sr_redis_wire *wire = ctx;
    const struct sr_redis_wire_options *o = &wire->options;
    struct sr_bytes argv[GREETINGS] = {SR_LIT("AUTH")};
    char number[16];
    size_t argc = 1;
    int rc = SR_OK;
    wire->busy = true;
    if (o->password) {
        if (o->user)
            argv[argc++] = sr_bytes_str(o->user);
        argv[argc++] = sr_bytes_str(o->password);
        rc = greeting_send(wire, argv, argc);
    }
    if (o->database && rc == SR_OK) {
        argv[0] = SR_LIT("SELECT");
        argv[1] = sr_bytes_of(number, (size_t)snprintf(number, sizeof number, "%u", o->database));
        rc = greeting_send(wire, argv, 2);
    }
    argv[0] = SR_LIT("PING");
    if (rc == SR_OK)
        rc = greeting_send(wire, argv, 1);
    if (rc != SR_OK)
        wire_fail(wire, sr_strerror(rc));
    wire->busy = false;
    if (wire->closed)
        wire_free(wire);
}

/* ---- replies ---- */

static bool is_published(const struct sr_resp *reply)
{
    return reply->type == SR_RESP_ARRAY && reply->count == 3 &&
           sr_bytes_eq(reply->items[0]->text, SR_LIT("message")) && reply->items[2]->type == SR_RESP_TEXT;
}

static void reply_arrived(struct sr_redis_wire *wire, const struct sr_resp *reply)
{
    struct waiting *waiting = wire->first;
    if (is_published(reply)) {
        wire->events->published(wire->ctx, reply->items[2]->text);
        return;
    }
    if (!waiting) {
        wire_fail(wire, "a reply without a command");
        return;
    }
    wire->first = waiting->next;
    if (!wire->first)
        wire->last = &wire->first;
    wire->count--;
    sr_timer_start(&wire->timer, wire->options.command_ms);
    waiting->done(wire->ctx, waiting->arg, reply);
    sr_mem_free(waiting);
}

static void sock_data(void *ctx, const char *p, size_t n)
{
    struct sr_redis_wire *wire = ctx;
    struct sr_resp *reply;
    int rc = wire->failed ? SR_ECLOSED : sr_resp_feed(wire->reader, p, n);
    wire->busy = true;
    while (rc == SR_OK && !wire->failed && !wire->closed) {
        rc = sr_resp_next(wire->reader, &reply);
        if (rc == SR_OK)
            reply_arrived(wire, reply);
        sr_resp_free(reply);
    }
    if (rc == SR_EPROTO)
        wire_fail(wire, "not the protocol of Redis");
    else if (rc != SR_OK && rc != SR_MORE)
        wire_fail(wire, "a reply that is too large");
    wire->busy = false;
    if (wire->closed)
        wire_free(wire);
}

static void sock_eof(void *ctx)
{
    wire_fail(ctx, "closed by the server");
}

static void sock_failed(void *ctx, int code, const char *text)
{
    (void)code;
    wire_fail(ctx, text);
}

static const struct sr_conn_events conn_events = {
    .opened = sock_opened, .data = sock_data, .eof = sock_eof, .failed = sock_failed};

int sr_redis_wire_open(struct sr_redis_wire **out, struct sr_loop *loop,
                       const struct sr_redis_wire_options *options, const struct sr_redis_wire_events *events,
                       void *ctx)
{
    struct sr_connect to = {.host = options->host,
                            .port = options->port,
                            .tls = options->tls,
                            .server_name = options->server_name,
                            .timeout_ms = options->connect_ms};
    struct sr_redis_wire *wire = sr_mem_calloc(1, sizeof *wire);
    int rc;
    *out = NULL;
    if (!wire)
        return SR_ENOMEM;
    wire->options = *options;
    wire->events = events;
    wire->ctx = ctx;
    wire->last = &wire->first;
    sr_timer_init(&wire->timer, loop, timer_due, wire);
    rc = sr_resp_reader_new(&wire->reader, REPLY_MAX);
    if (rc == SR_OK)
        rc = sr_conn_connect(&wire->conn, loop, &to, &conn_events, wire);
    if (rc != SR_OK) {
        wire_free(wire);
        return rc;
    }
    sr_conn_set_queue_max(wire->conn, QUEUE_MAX);
    *out = wire;
    return SR_OK;
}
