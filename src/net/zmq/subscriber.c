/* For each subscription a SUB socket with its monitor, and a DEALER when it has a replay. */
#include "net/zmq/subscriber.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#define SEQ_BYTES   8
#define FRAMES      3
#define BURST       64 /* batches of one subscription before others have their turn */
#define ITEMS       2  /* sockets of a subscription that are polled */
#define AGAIN_MS    100
#define AGAIN_MAX   5000
#define ALIVE_IDLE  30 /* seconds without a byte until TCP asks whether the peer is there */
#define ALIVE_STEP  10
#define ALIVE_TRIES 3

struct sr_zmq_subscription {
    void *sub, *monitor, *dealer; /* dealer NULL: none yet */
    char *endpoint, *replay;      /* replay NULL: none */
    const struct sr_zmq_events *events;
    void *ctx;
    uint64_t replays_until_ns; /* 0: none is in progress */
    size_t at;                 /* in the set */
};

struct sr_zmq_subscribers {
    void *context;
    int wake; /* eventfd */
    size_t n;
    uint64_t monitors; /* made so far: their names differ */
    struct sr_zmq_subscription *subscriptions[SR_ZMQ_SUBSCRIBE_MAX];
    zmq_pollitem_t items[1 + ITEMS * SR_ZMQ_SUBSCRIBE_MAX];
};

/* ---- frames ---- */

struct frames {
    zmq_msg_t parts[FRAMES];
    size_t n;  /* that are to be closed */
    bool good; /* there are FRAMES, no more and no fewer */
};

/* One message. False: none is there. */
static bool receive(void *socket, struct frames *frames)
{
    bool more = true;
    *frames = (struct frames){.good = true};
    for (size_t i = 0; more; i++) {
        zmq_msg_t part;
        zmq_msg_init(&part);
        if (zmq_msg_recv(&part, socket, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(&part);
            frames->good = false;
            return i > 0;
        }
        more = zmq_msg_more(&part);
        if (i < FRAMES) {
            frames->parts[frames->n++] = part;
        } else {
            frames->good = false;
            zmq_msg_close(&part);
        }
    }
    frames->good &= frames->n == FRAMES;
    return true;
}

static struct sr_bytes frame(struct frames *frames, size_t at)
{
    return sr_bytes_of(zmq_msg_data(&frames->parts[at]), zmq_msg_size(&frames->parts[at]));
}

static void drop(struct frames *frames)
{
    for (size_t i = 0; i < frames->n; i++)
        zmq_msg_close(&frames->parts[i]);
}

/* The number in the second frame of three. */
static bool number_of(struct frames *frames, uint64_t *number)
{
    struct sr_bytes bytes = frames->good ? frame(frames, 1) : SR_LIT("");
    *number = 0;
    for (size_t i = 0; i < bytes.n && i < SEQ_BYTES; i++)
        *number = *number << 8 | (unsigned char)bytes.p[i];
    return bytes.n == SEQ_BYTES;
}

/* ---- life ---- */

int sr_zmq_subscribers_new(struct sr_zmq_subscribers **out, struct sr_err *err)
{
    struct sr_zmq_subscribers *set = sr_mem_calloc(1, sizeof *set);
    *out = NULL;
    if (!set)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    set->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    set->context = zmq_ctx_new();
    if (set->wake < 0 || !set->context) {
        sr_zmq_subscribers_free(set);
        return sr_err_set(err, SR_EIO, "no file descriptors left");
    }
    zmq_ctx_set(set->context, ZMQ_MAX_SOCKETS, 4 * SR_ZMQ_SUBSCRIBE_MAX);
    *out = set;
    return SR_OK;
}

void sr_zmq_subscribers_free(struct sr_zmq_subscribers *set)
{
    if (!set)
        return;
    while (set->n > 0)
        sr_zmq_unsubscribe(set, set->subscriptions[set->n - 1]);
    if (set->context)
        zmq_ctx_term(set->context);
    if (set->wake >= 0)
        close(set->wake);
    sr_mem_free(set);
}

static void set_number(void *socket, int option, int value)
{
    zmq_setsockopt(socket, option, &value, sizeof value);
}

static int make_socket(struct sr_zmq_subscribers *set, void **out, int type)
{
    int64_t most = SR_ZMQ_BATCH_MAX;
    *out = zmq_socket(set->context, type);
    if (!*out)
        return SR_EIO;
    set_number(*out, ZMQ_LINGER, 0);
    set_number(*out, ZMQ_IPV6, 1);
    set_number(*out, ZMQ_RCVHWM, SR_ZMQ_QUEUE_MAX);
    set_number(*out, ZMQ_RECONNECT_IVL, AGAIN_MS);
    set_number(*out, ZMQ_RECONNECT_IVL_MAX, AGAIN_MAX);
    set_number(*out, ZMQ_TCP_KEEPALIVE, 1);
    set_number(*out, ZMQ_TCP_KEEPALIVE_IDLE, ALIVE_IDLE);
    set_number(*out, ZMQ_TCP_KEEPALIVE_INTVL, ALIVE_STEP);
    set_number(*out, ZMQ_TCP_KEEPALIVE_CNT, ALIVE_TRIES);
    zmq_setsockopt(*out, ZMQ_MAXMSGSIZE, &most, sizeof most);
    return SR_OK;
}

static int open_monitor(struct sr_zmq_subscribers *set, struct sr_zmq_subscription *s)
{
    char name[48];
    snprintf(name, sizeof name, "inproc://monitor-%llu", (unsigned long long)set->monitors++);
    if (zmq_socket_monitor(s->sub, name, ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED) != 0)
        return SR_EIO;
    s->monitor = zmq_socket(set->context, ZMQ_PAIR);
    if (!s->monitor)
        return SR_EIO;
    set_number(s->monitor, ZMQ_LINGER, 0);
    return zmq_connect(s->monitor, name) == 0 ? SR_OK : SR_EIO;
}

/* The monitor first, so that the first connection is seen. */
static int open_subscription(struct sr_zmq_subscribers *set, struct sr_zmq_subscription *s, const char *topic)
{
    int rc = make_socket(set, &s->sub, ZMQ_SUB);
    if (rc == SR_OK)
        rc = open_monitor(set, s);
    if (rc == SR_OK && zmq_setsockopt(s->sub, ZMQ_SUBSCRIBE, topic, strlen(topic)) != 0)
        rc = SR_EIO;
    if (rc == SR_OK && zmq_connect(s->sub, s->endpoint) != 0)
        rc = errno == EINVAL || errno == EPROTONOSUPPORT ? SR_EINVAL : SR_EIO;
    return rc;
}

int sr_zmq_subscribe(struct sr_zmq_subscribers *set, struct sr_zmq_subscription **out, const char *endpoint,
                     const char *replay, const char *topic, const struct sr_zmq_events *events, void *ctx,
                     struct sr_err *err)
{
    *out = NULL;
    if (set->n == SR_ZMQ_SUBSCRIBE_MAX)
        return sr_err_set(err, SR_ELIMIT, "more than %d subscriptions", SR_ZMQ_SUBSCRIBE_MAX);
    struct sr_zmq_subscription *s = sr_mem_calloc(1, sizeof *s);
    if (!s)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    s->at = set->n;
    set->subscriptions[set->n++] = s;
    s->events = events;
    s->ctx = ctx;
    s->endpoint = sr_mem_dup(endpoint, strlen(endpoint));
    s->replay = replay ? sr_mem_dup(replay, strlen(replay)) : NULL;
    int rc = s->endpoint && (s->replay || !replay) ? open_subscription(set, s, topic) : SR_ENOMEM;
    if (rc != SR_OK) {
        sr_err_set(err, rc, "cannot subscribe to %s: %s", endpoint,
                   rc == SR_EINVAL ? "it is no endpoint" : sr_strerror(rc));
        sr_zmq_unsubscribe(set, s);
        return rc;
    }
    *out = s;
    return SR_OK;
}

static void close_socket(void **socket)
{
    if (*socket)
        zmq_close(*socket);
    *socket = NULL;
}

void sr_zmq_unsubscribe(struct sr_zmq_subscribers *set, struct sr_zmq_subscription *s)
{
    if (!s)
        return;
    set->subscriptions[s->at] = set->subscriptions[--set->n];
    set->subscriptions[s->at]->at = s->at;
    if (s->sub)
        zmq_socket_monitor(s->sub, NULL, 0);
    close_socket(&s->monitor);
    close_socket(&s->sub);
    close_socket(&s->dealer);
    sr_mem_free(s->endpoint);
    sr_mem_free(s->replay);
    sr_mem_free(s);
}

/* ---- replay ---- */

/* A socket of its own for each request: what is left of one before cannot be taken for its answer. */
bool sr_zmq_replay(struct sr_zmq_subscribers *set, struct sr_zmq_subscription *s, uint64_t from)
{
    uint8_t number[SEQ_BYTES];
    close_socket(&s->dealer);
    s->replays_until_ns = 0;
    if (!s->replay || make_socket(set, &s->dealer, ZMQ_DEALER) || zmq_connect(s->dealer, s->replay) != 0)
        return false;
    for (size_t i = 0; i < SEQ_BYTES; i++)
        number[i] = (uint8_t)(from >> (8 * (SEQ_BYTES - 1 - i)));
    if (zmq_send(s->dealer, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0 ||
        zmq_send(s->dealer, number, sizeof number, ZMQ_DONTWAIT) < 0)
        return false;
    s->replays_until_ns = sr_clock_ns() + SR_ZMQ_REPLAY_MS * SR_NS_PER_MS;
    return true;
}

static void end_replay(struct sr_zmq_subscription *s, bool whole)
{
    close_socket(&s->dealer);
    s->replays_until_ns = 0;
    s->events->replay_end(s->ctx, whole);
}

static void read_replay(struct sr_zmq_subscription *s)
{
    struct frames frames;
    uint64_t number;
    for (int i = 0; i < BURST && s->replays_until_ns && receive(s->dealer, &frames); i++) {
        bool good = number_of(&frames, &number);
        s->replays_until_ns = sr_clock_ns() + SR_ZMQ_REPLAY_MS * SR_NS_PER_MS;
        if (good && number != UINT64_MAX)
            s->events->replayed(s->ctx, number, frame(&frames, 2));
        drop(&frames);
        if (!good || number == UINT64_MAX)
            end_replay(s, good);
    }
}

/* ---- what arrives ---- */

/* Up to `most` batches. */
static void read_batches(struct sr_zmq_subscription *s, int most)
{
    struct frames frames;
    uint64_t number;
    for (int i = 0; i < most && !s->replays_until_ns && receive(s->sub, &frames); i++) {
        if (number_of(&frames, &number))
            s->events->batch(s->ctx, number, frame(&frames, 2));
        else
            s->events->bad(s->ctx);
        drop(&frames);
    }
}

/* What was received before the loss is given before it. */
static void lose(struct sr_zmq_subscription *s)
{
    if (s->replays_until_ns)
        end_replay(s, false);
    read_batches(s, SR_ZMQ_QUEUE_MAX);
    if (s->replays_until_ns) /* asked for in between, of one that is gone */
        end_replay(s, false);
    s->events->lost(s->ctx);
}

/* The monitor's messages have two frames: the event with 16 bits and its value; the endpoint. */
static void read_monitor(struct sr_zmq_subscription *s)
{
    struct frames frames;
    while (receive(s->monitor, &frames)) {
        uint16_t event = 0;
        struct sr_bytes first = frames.n ? frame(&frames, 0) : SR_LIT("");
        if (first.n >= sizeof event)
            memcpy(&event, first.p, sizeof event);
        drop(&frames);
        if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
            s->events->connected(s->ctx);
        else if (event == ZMQ_EVENT_DISCONNECTED)
            lose(s);
    }
}

/* ---- polling ---- */

static zmq_pollitem_t item_of(void *socket)
{
    return (zmq_pollitem_t){.socket = socket, .fd = socket ? 0 : -1, .events = socket ? ZMQ_POLLIN : 0};
}

/* How long to wait at most, for the end of a replay that does not go on. */
static long patience(const struct sr_zmq_subscribers *set, uint32_t ms)
{
    uint64_t now = sr_clock_ns(), least = ms * SR_NS_PER_MS;
    for (size_t i = 0; i < set->n; i++) {
        uint64_t until = set->subscriptions[i]->replays_until_ns;
        if (until && until < now + least)
            least = until > now ? until - now : 0;
    }
    return (long)((least + SR_NS_PER_MS - 1) / SR_NS_PER_MS);
}

void sr_zmq_poll(struct sr_zmq_subscribers *set, uint32_t ms)
{
    size_t n = 0, count = set->n;
    uint64_t unused;
    set->items[n++] = (zmq_pollitem_t){.fd = set->wake, .events = ZMQ_POLLIN};
    for (size_t i = 0; i < count; i++) {
        const struct sr_zmq_subscription *s = set->subscriptions[i];
        set->items[n++] = item_of(s->monitor);
        set->items[n++] = item_of(s->replays_until_ns ? s->dealer : s->sub);
    }
    if (zmq_poll(set->items, (int)n, patience(set, ms)) < 0)
        return;
    while (set->items[0].revents && read(set->wake, &unused, sizeof unused) > 0) {
    }
    uint64_t now = sr_clock_ns();
    for (size_t i = 0; i < count; i++) {
        struct sr_zmq_subscription *s = set->subscriptions[i];
        const zmq_pollitem_t *items = &set->items[1 + ITEMS * i];
        if (items[0].revents)
            read_monitor(s);
        if (items[1].revents && s->replays_until_ns)
            read_replay(s);
        else if (items[1].revents)
            read_batches(s, BURST);
        if (s->replays_until_ns && s->replays_until_ns <= now)
            end_replay(s, false);
    }
}

void sr_zmq_wake(struct sr_zmq_subscribers *set)
{
    uint64_t one = 1;
    if (write(set->wake, &one, sizeof one) < 0 && errno != EAGAIN)
        return;
}
