/* One thread, an epoll over all connections; frames are put together in one buffer for each. */
#include "bench/extproc_client.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "bench/bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS_MAX 64
#define STREAMS_MAX     256
#define FRAME_HEAD      9
#define FRAME_MAX       16384
#define IN_MAX          ((size_t)256 << 10)
#define OUT_MAX         ((size_t)512 << 20)
#define WINDOW          ((uint32_t)16 << 20)
#define WINDOW_AGAIN    ((uint32_t)4 << 20)
#define SAMPLES_MAX     ((size_t)1 << 20)
#define REPLY_MAX       ((size_t)4 << 20)
#define PATIENCE_NS     (10 * SR_NS_PER_S) /* after the end, for a first request that is done */

enum { DATA = 0, HEADERS = 1, RST_STREAM = 3, SETTINGS = 4, PING = 6, GOAWAY = 7, WINDOW_UPDATE = 8 };
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4 };

/* The fields of ProcessingResponse, and what a stream waits for. */
enum { REPLY_HEADERS = 1, REPLY_ANSWER = 2, REPLY_BODY = 3 };

struct stream {
    uint32_t id;
    int due; /* the kind of the next reply */
    uint64_t sent_at;
    int64_t window;
    struct sr_bytes left[2]; /* not sent yet, for want of window */
    struct sr_buf reply;     /* with its prefix */
};

struct connection {
    int fd;
    uint32_t next_id;
    int64_t window, initial_window;
    uint32_t consumed;
    struct sr_buf in, out;
    size_t out_at;
    bool waits_for_room; /* in the socket */
    struct stream streams[STREAMS_MAX];
};

struct run {
    struct sr_bench_extproc_client *client;
    int epoll;
    struct connection *connections;
    struct sr_buf head, body, answer, block; /* `body` with what says its end */
    double *samples;
    size_t n_samples;
};

/* ---- the messages ---- */

static int put_varint(struct sr_buf *out, uint64_t value)
{
    unsigned char bytes[10];
    size_t n = 0;
    do {
        bytes[n++] = (unsigned char)((value & 127) | (value > 127 ? 128 : 0));
        value >>= 7;
    } while (value);
    return sr_buf_append(out, bytes, n);
}

static int put_bytes(struct sr_buf *out, int field, struct sr_bytes value)
{
    int rc = put_varint(out, (uint64_t)field << 3 | 2);
    if (rc == SR_OK)
        rc = put_varint(out, value.n);
    return rc == SR_OK ? sr_buf_append_bytes(out, value) : rc;
}

static int put_number(struct sr_buf *out, int field, uint64_t value)
{
    int rc = put_varint(out, (uint64_t)field << 3);
    return rc == SR_OK ? put_varint(out, value) : rc;
}

static int put_header(struct sr_buf *map, const char *name, const char *value)
{
    struct sr_buf header;
    sr_buf_init(&header, 1024);
    int rc = put_bytes(&header, 1, sr_bytes_str(name));
    if (rc == SR_OK)
        rc = put_bytes(&header, 3, sr_bytes_str(value));
    if (rc == SR_OK)
        rc = put_bytes(map, 1, sr_buf_view(&header));
    sr_buf_dispose(&header);
    return rc;
}

/* Appends the prefix and a ProcessingRequest with `value` as its field. */
static int make_message(struct sr_buf *out, int field, struct sr_bytes value, int mode)
{
    struct sr_buf message, modes;
    sr_buf_init(&message, value.n + 128);
    sr_buf_init(&modes, 16);
    int rc = put_bytes(&message, field, value);
    if (rc == SR_OK && mode != 0)
        rc = put_number(&modes, 1, (uint64_t)mode);
    if (rc == SR_OK && mode != 0)
        rc = put_bytes(&message, 11, sr_buf_view(&modes));
    size_t n = message.len;
    unsigned char prefix[5] = {0, (unsigned char)(n >> 24), (unsigned char)(n >> 16), (unsigned char)(n >> 8),
                               (unsigned char)n};
    if (rc == SR_OK)
        rc = sr_buf_append(out, prefix, sizeof prefix);
    if (rc == SR_OK)
        rc = sr_buf_append_bytes(out, sr_buf_view(&message));
    sr_buf_dispose(&message);
    sr_buf_dispose(&modes);
    return rc;
}

static int make_headers(struct sr_buf *out, int field, const char *const (*headers)[2], size_t n, int mode)
{
    struct sr_buf map, value;
    sr_buf_init(&map, 4096);
    sr_buf_init(&value, 4096);
    int rc = SR_OK;
    for (size_t i = 0; i < n && rc == SR_OK; i++)
        rc = put_header(&map, headers[i][0], headers[i][1]);
    if (rc == SR_OK)
        rc = put_bytes(&value, 1, sr_buf_view(&map));
    if (rc == SR_OK)
        rc = make_message(out, field, sr_buf_view(&value), mode);
    sr_buf_dispose(&map);
    sr_buf_dispose(&value);
    return rc;
}

static int make_body(struct sr_buf *out, struct sr_bytes body, bool end)
{
    struct sr_buf value;
    sr_buf_init(&value, body.n + 32);
    int rc = body.n ? put_bytes(&value, 1, body) : SR_OK;
    if (rc == SR_OK && end)
        rc = put_number(&value, 2, 1);
    if (rc == SR_OK)
        rc = make_message(out, 4, sr_buf_view(&value), 0);
    sr_buf_dispose(&value);
    return rc;
}

/* HPACK without a table: index 3 is :method POST, 6 is :scheme http. */
static int put_field(struct sr_buf *out, unsigned char index, const char *name, const char *value)
{
    unsigned char lengths[2] = {(unsigned char)strlen(name), (unsigned char)strlen(value)};
    int rc = sr_buf_append(out, &index, 1);
    if (rc == SR_OK && index == 0)
        rc = sr_buf_append(out, &lengths[0], 1);
    if (rc == SR_OK && index == 0)
        rc = sr_buf_append_bytes(out, sr_bytes_str(name));
    if (rc == SR_OK)
        rc = sr_buf_append(out, &lengths[1], 1);
    return rc == SR_OK ? sr_buf_append_bytes(out, sr_bytes_str(value)) : rc;
}

static int make_block(struct sr_buf *out)
{
    static const unsigned char post_http[] = {0x83, 0x86};
    sr_buf_init(out, 1024);
    int rc = sr_buf_append(out, post_http, sizeof post_http);
    if (rc == SR_OK)
        rc = put_field(out, 4, "", "/envoy.service.ext_proc.v3.ExternalProcessor/Process");
    if (rc == SR_OK)
        rc = put_field(out, 1, "", "semroute");
    if (rc == SR_OK)
        rc = put_field(out, 0, "te", "trailers");
    if (rc == SR_OK)
        rc = put_field(out, 0, "content-type", "application/grpc");
    return rc == SR_OK ? put_field(out, 0, "x-envoy-internal", "true") : rc;
}

static int make_messages(struct run *run)
{
    const struct sr_bench_extproc_client *client = run->client;
    char length[24];
    snprintf(length, sizeof length, "%zu", client->body.n);
    const char *const request[][2] = {{":authority", "localhost"},
                                      {":path", "/v1/chat/completions"},
                                      {":method", "POST"},
                                      {":scheme", "http"},
                                      {"user-agent", "bench"},
                                      {"accept", "*/*"},
                                      {"content-type", "application/json"},
                                      {"content-length", length},
                                      {"x-forwarded-proto", "http"},
                                      {"x-request-id", "b8b2f2d2-7a3f-4a55-9d0c-2f1e5b7f6a01"}};
    static const char *const answer[][2] = {{":status", "200"},
                                            {"content-type", "application/json"},
                                            {"content-length", "420"},
                                            {"x-envoy-upstream-service-time", "3"}};
    struct sr_buf *messages[] = {&run->head, &run->body, &run->answer};
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        sr_buf_init(messages[i], client->body.n + 8192);
    int rc =
        make_headers(&run->head, 2, request, sizeof request / sizeof *request, client->full_duplex ? 4 : 2);
    if (rc == SR_OK)
        rc = make_headers(&run->answer, 3, answer, sizeof answer / sizeof *answer, 0);
    if (rc == SR_OK)
        rc = make_body(&run->body, client->body, !client->full_duplex);
    if (rc == SR_OK && client->full_duplex)
        rc = make_body(&run->body, (struct sr_bytes){NULL, 0}, true);
    return rc == SR_OK ? make_block(&run->block) : rc;
}

/* ---- frames out ---- */

static int put_frame(struct connection *c, int type, int flags, uint32_t id, struct sr_bytes payload)
{
    unsigned char head[FRAME_HEAD] = {(unsigned char)(payload.n >> 16),
                                      (unsigned char)(payload.n >> 8),
                                      (unsigned char)payload.n,
                                      (unsigned char)type,
                                      (unsigned char)flags,
                                      (unsigned char)(id >> 24),
                                      (unsigned char)(id >> 16),
                                      (unsigned char)(id >> 8),
                                      (unsigned char)id};
    int rc = sr_buf_append(&c->out, head, sizeof head);
    return rc == SR_OK ? sr_buf_append_bytes(&c->out, payload) : rc;
}

static int put_u32_frame(struct connection *c, int type, uint32_t id, uint32_t value)
{
    unsigned char bytes[4] = {(unsigned char)(value >> 24), (unsigned char)(value >> 16),
                              (unsigned char)(value >> 8), (unsigned char)value};
    return put_frame(c, type, 0, id, sr_bytes_of(bytes, sizeof bytes));
}

/* As much of what is left as the windows allow. */
static int push(struct connection *c, struct stream *s)
{
    for (int i = 0; i < 2; i++) {
        while (s->left[i].n > 0) {
            int64_t room = c->window < s->window ? c->window : s->window;
            size_t n = s->left[i].n < FRAME_MAX ? s->left[i].n : FRAME_MAX;
            if (room <= 0)
                return SR_OK;
            n = (int64_t)n < room ? n : (size_t)room;
            int rc = put_frame(c, DATA, 0, s->id, sr_bytes_of(s->left[i].p, n));
            if (rc != SR_OK)
                return rc;
            s->left[i] = sr_bytes_of(s->left[i].p + n, s->left[i].n - n);
            c->window -= (int64_t)n;
            s->window -= (int64_t)n;
        }
    }
    return SR_OK;
}

static int say(struct connection *c, struct stream *s, const struct sr_buf *first,
               const struct sr_buf *second)
{
    s->left[0] = sr_buf_view(first);
    s->left[1] = second ? sr_buf_view(second) : (struct sr_bytes){NULL, 0};
    return push(c, s);
}

static int begin(struct run *run, struct connection *c, struct stream *s)
{
    s->id = c->next_id;
    c->next_id += 2;
    s->due = REPLY_HEADERS;
    s->window = c->initial_window;
    s->sent_at = sr_clock_ns();
    s->reply.len = 0;
    int rc = put_frame(c, HEADERS, END_HEADERS, s->id, sr_buf_view(&run->block));
    if (rc != SR_OK)
        return rc;
    /* In FULL_DUPLEX the body waits for no reply. */
    return say(c, s, &run->head, run->client->full_duplex ? &run->body : NULL);
}

static int flush(struct run *run, struct connection *c)
{
    while (c->out_at < c->out.len) {
        ssize_t n = send(c->fd, c->out.data + c->out_at, c->out.len - c->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN)
            return SR_EIO;
        if (n < 0)
            break;
        c->out_at += (size_t)n;
    }
    bool waits = c->out_at < c->out.len;
    if (!waits)
        c->out.len = c->out_at = 0;
    if (waits == c->waits_for_room)
        return SR_OK;
    struct epoll_event event = {.events = EPOLLIN | (waits ? EPOLLOUT : 0), .data.ptr = c};
    c->waits_for_room = waits;
    return epoll_ctl(run->epoll, EPOLL_CTL_MOD, c->fd, &event) == 0 ? SR_OK : SR_EIO;
}

/* ---- frames in ---- */

static struct stream *find(struct run *run, struct connection *c, uint32_t id)
{
    for (int i = 0; i < run->client->streams; i++)
        if (c->streams[i].id == id)
            return &c->streams[i];
    return NULL;
}

/* Ends the stream at hand and begins the next. */
static int again(struct run *run, struct connection *c, struct stream *s, bool good)
{
    if (good) {
        run->client->requests++;
        if (run->n_samples < SAMPLES_MAX)
            run->samples[run->n_samples++] = (double)(sr_clock_ns() - s->sent_at) / 1e3;
    } else {
        run->client->errors++;
    }
    int rc = put_u32_frame(c, RST_STREAM, s->id, 2);
    return rc == SR_OK ? begin(run, c, s) : rc;
}

/* The varint at *at, which moves on; false at the end. */
static bool get_varint(struct sr_bytes text, size_t *at, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; *at < text.n && shift < 64; shift += 7) {
        unsigned char byte = (unsigned char)text.p[(*at)++];
        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

/* The field `want` of a message: its number, or its bytes in `inside`. False: it is not there. */
static bool get_field(struct sr_bytes text, unsigned want, uint64_t *number, struct sr_bytes *inside)
{
    uint64_t tag;
    for (size_t at = 0; get_varint(text, &at, &tag) && get_varint(text, &at, number);) {
        *inside = (struct sr_bytes){"", 0};
        if ((tag & 7) == 2) {
            if (*number > text.n - at)
                return false;
            *inside = sr_bytes_of(text.p + at, (size_t)*number);
            at += (size_t)*number;
        }
        if (tag >> 3 == want)
            return true;
    }
    return false;
}

/* BodyResponse: response.body_mutation.streamed_response.end_of_stream. */
static bool is_last_piece(struct sr_bytes reply)
{
    static const unsigned path[] = {1, 3, 3};
    uint64_t number;
    for (size_t i = 0; i < sizeof path / sizeof *path; i++)
        if (!get_field(reply, path[i], &number, &reply))
            return false;
    struct sr_bytes nothing;
    return get_field(reply, 2, &number, &nothing) && number == 1;
}

static int on_reply(struct run *run, struct connection *c, struct stream *s, struct sr_bytes reply)
{
    bool duplex = run->client->full_duplex;
    uint64_t number;
    struct sr_bytes inside;
    if (!get_field(reply, (unsigned)s->due, &number, &inside))
        return again(run, c, s, false);
    switch (s->due) {
    case REPLY_HEADERS:
        s->due = REPLY_BODY;
        return duplex ? SR_OK : say(c, s, &run->body, NULL);
    case REPLY_BODY:
        if (duplex && !is_last_piece(inside))
            return SR_OK;
        s->due = REPLY_ANSWER;
        return say(c, s, &run->answer, NULL);
    default:
        return again(run, c, s, true);
    }
}

static int on_data(struct run *run, struct connection *c, struct stream *s, struct sr_bytes bytes)
{
    uint32_t id = s->id;
    int rc = sr_buf_append_bytes(&s->reply, bytes);
    size_t at = 0;
    while (rc == SR_OK && s->id == id && s->reply.len - at >= 5) {
        const unsigned char *p = (const unsigned char *)s->reply.data + at;
        size_t n = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
        if (s->reply.len - at - 5 < n)
            break;
        at += 5 + n;
        rc = on_reply(run, c, s, sr_bytes_of(p + 5, n));
    }
    if (rc == SR_OK && s->id == id)
        sr_buf_consume(&s->reply, at);
    return rc;
}

static uint32_t get_u32(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int on_settings(struct run *run, struct connection *c, int flags, struct sr_bytes payload)
{
    if (flags & ACK)
        return SR_OK;
    for (size_t at = 0; at + 6 <= payload.n; at += 6) {
        const unsigned char *p = (const unsigned char *)payload.p + at;
        if (p[0] != 0 || p[1] != 4)
            continue;
        int64_t window = get_u32(payload.p + at + 2);
        for (int i = 0; i < run->client->streams; i++)
            c->streams[i].window += window - c->initial_window;
        c->initial_window = window;
    }
    return put_frame(c, SETTINGS, ACK, 0, (struct sr_bytes){NULL, 0});
}

static int push_all(struct run *run, struct connection *c)
{
    int rc = SR_OK;
    for (int i = 0; i < run->client->streams && rc == SR_OK && c->window > 0; i++)
        rc = push(c, &c->streams[i]);
    return rc;
}

static int on_frame(struct run *run, struct connection *c, int type, int flags, uint32_t id,
                    struct sr_bytes payload)
{
    struct stream *s = id ? find(run, c, id) : NULL;
    switch (type) {
    case SETTINGS: {
        int rc = on_settings(run, c, flags, payload);
        return rc == SR_OK ? push_all(run, c) : rc;
    }
    case PING:
        return flags & ACK ? SR_OK : put_frame(c, PING, ACK, 0, payload);
    case GOAWAY:
        return SR_EIO;
    case WINDOW_UPDATE:
        if (payload.n != 4)
            return SR_EPROTO;
        if (id == 0)
            c->window += get_u32(payload.p);
        else if (s)
            s->window += get_u32(payload.p);
        return id == 0 ? push_all(run, c) : s ? push(c, s) : SR_OK;
    case DATA: {
        c->consumed += (uint32_t)payload.n;
        int rc = SR_OK;
        if (c->consumed > WINDOW_AGAIN) {
            rc = put_u32_frame(c, WINDOW_UPDATE, 0, c->consumed);
            c->consumed = 0;
        }
        return rc == SR_OK && s ? on_data(run, c, s, payload) : rc;
    }
    case RST_STREAM:
        return s ? again(run, c, s, false) : SR_OK;
    case HEADERS:
        return s && flags & END_STREAM ? again(run, c, s, false) : SR_OK;
    default:
        return SR_OK;
    }
}

static int receive(struct run *run, struct connection *c)
{
    ssize_t n = recv(c->fd, c->in.data + c->in.len, IN_MAX - c->in.len, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN))
        return SR_EIO;
    c->in.len += n > 0 ? (size_t)n : 0;
    size_t at = 0;
    int rc = SR_OK;
    while (rc == SR_OK && c->in.len - at >= FRAME_HEAD) {
        const unsigned char *p = (const unsigned char *)c->in.data + at;
        size_t size = (size_t)p[0] << 16 | (size_t)p[1] << 8 | p[2];
        if (size > FRAME_MAX)
            return SR_EPROTO;
        if (c->in.len - at - FRAME_HEAD < size)
            break;
        at += FRAME_HEAD + size;
        rc = on_frame(run, c, p[3], p[4], get_u32((const char *)p + 5) & 0x7fffffff,
                      sr_bytes_of(p + FRAME_HEAD, size));
    }
    sr_buf_consume(&c->in, at);
    return rc == SR_OK ? flush(run, c) : rc;
}

/* ---- connections ---- */

static int open_connection(struct run *run, struct connection *c)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    static const unsigned char window[] = {
        0, 4, WINDOW >> 24, (WINDOW >> 16) & 255, (WINDOW >> 8) & 255, WINDOW & 255};
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)run->client->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1;
    c->next_id = 1;
    c->window = c->initial_window = 65535;
    sr_buf_init(&c->in, IN_MAX);
    sr_buf_init(&c->out, OUT_MAX);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address) != 0)
        return SR_EIO;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    if (epoll_ctl(run->epoll, EPOLL_CTL_ADD, c->fd, &event) != 0)
        return SR_EIO;
    int rc = sr_buf_reserve(&c->in, IN_MAX);
    if (rc == SR_OK)
        rc = sr_buf_append(&c->out, preface, sizeof preface - 1);
    if (rc == SR_OK)
        rc = put_frame(c, SETTINGS, 0, 0, sr_bytes_of(window, sizeof window));
    if (rc == SR_OK)
        rc = put_u32_frame(c, WINDOW_UPDATE, 0, WINDOW);
    for (int i = 0; i < run->client->streams && rc == SR_OK; i++) {
        sr_buf_init(&c->streams[i].reply, REPLY_MAX);
        rc = begin(run, c, &c->streams[i]);
    }
    return rc == SR_OK ? flush(run, c) : rc;
}

static double cpu_now(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static int loop(struct run *run)
{
    struct sr_bench_extproc_client *client = run->client;
    struct epoll_event events[CONNECTIONS_MAX];
    double cpu = cpu_now();
    uint64_t start = sr_clock_ns(), end = start + (uint64_t)(client->seconds * 1e9), now;
    int rc = SR_OK;
    while (rc == SR_OK && ((now = sr_clock_ns()) < end || (run->n_samples == 0 && now < end + PATIENCE_NS))) {
        int n = epoll_wait(run->epoll, events, CONNECTIONS_MAX, 100);
        for (int i = 0; i < n && rc == SR_OK; i++) {
            struct connection *c = events[i].data.ptr;
            if (events[i].events & EPOLLOUT)
                rc = flush(run, c);
            if (rc == SR_OK && events[i].events & ~(uint32_t)EPOLLOUT)
                rc = receive(run, c);
        }
    }
    client->elapsed = (double)(sr_clock_ns() - start) / 1e9;
    client->cpu = cpu_now() - cpu;
    return rc;
}

static void dispose(struct run *run)
{
    for (int i = 0; run->connections && i < run->client->connections; i++) {
        struct connection *c = &run->connections[i];
        if (c->fd >= 0)
            close(c->fd);
        sr_buf_dispose(&c->in);
        sr_buf_dispose(&c->out);
        for (int k = 0; k < run->client->streams; k++)
            sr_buf_dispose(&c->streams[k].reply);
    }
    struct sr_buf *messages[] = {&run->head, &run->body, &run->answer, &run->block};
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        sr_buf_dispose(messages[i]);
    if (run->epoll >= 0)
        close(run->epoll);
    sr_mem_free(run->connections);
    sr_mem_free(run->samples);
}

int sr_bench_extproc_client_run(struct sr_bench_extproc_client *client)
{
    struct run run = {.client = client, .epoll = epoll_create1(EPOLL_CLOEXEC)};
    int rc = SR_EINVAL;
    client->requests = client->errors = 0;
    client->elapsed = client->cpu = client->p50_us = client->p99_us = 0;
    if (client->connections < 1 || client->connections > CONNECTIONS_MAX || client->streams < 1 ||
        client->streams > STREAMS_MAX || client->body.n > (size_t)1 << 20)
        goto out;
    rc = SR_ENOMEM;
    run.connections = sr_mem_calloc((size_t)client->connections, sizeof *run.connections);
    run.samples = sr_mem_alloc(SAMPLES_MAX * sizeof *run.samples);
    if (!run.connections || !run.samples)
        goto out;
    for (int i = 0; i < client->connections; i++)
        run.connections[i].fd = -1;
    rc = run.epoll < 0 ? SR_EIO : make_messages(&run);
    for (int i = 0; i < client->connections && rc == SR_OK; i++)
        rc = open_connection(&run, &run.connections[i]);
    if (rc == SR_OK)
        rc = loop(&run);
    if (rc == SR_OK && run.n_samples == 0)
        rc = SR_EPROTO;
    if (rc == SR_OK) {
        client->p50_us = sr_bench_percentile(run.samples, run.n_samples, 0.5);
        client->p99_us = sr_bench_percentile(run.samples, run.n_samples, 0.99);
    }
out:
    dispose(&run);
    return rc;
}
