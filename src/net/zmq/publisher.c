/* PUB sockets, kept batches under a lock, and the thread of the ROUTER sockets. */
#include "net/zmq/publisher.h"

#include "base/mem.h"
#include "base/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <zmq.h>

#define HIGH_WATER   100000 /* batches queued to one subscriber */
#define ENDPOINT_MAX 320
#define SEQ_BYTES    8

struct batch {
    char *bytes;
    size_t n;
};

struct publisher {
    void *pub, *router;
    uint16_t port, replay_port;
    pthread_mutex_t lock; /* of what follows */
    struct batch *kept;   /* a ring of SR_ZMQ_KEPT_MAX; number `next - count` is the oldest */
    uint64_t next;
    size_t count, bytes;
};

struct sr_zmq_publishers {
    void *context;
    pthread_t thread;
    bool has_thread;
    size_t n;
    struct publisher publishers[];
};

static void put_number(uint8_t out[SEQ_BYTES], uint64_t number)
{
    for (size_t i = 0; i < SEQ_BYTES; i++)
        out[i] = (uint8_t)(number >> (8 * (SEQ_BYTES - 1 - i)));
}

static uint64_t number_of(const uint8_t in[SEQ_BYTES])
{
    uint64_t number = 0;
    for (size_t i = 0; i < SEQ_BYTES; i++)
        number = number << 8 | in[i];
    return number;
}

/* ---- kept batches ----------------------------------------------------------------------------------- */

static void drop_oldest(struct publisher *p)
{
    struct batch *batch = &p->kept[(p->next - p->count) % SR_ZMQ_KEPT_MAX];
    p->bytes -= batch->n;
    p->count--;
    sr_mem_free(batch->bytes);
    *batch = (struct batch){0};
}

/* Gives the batch its number. */
static int keep(struct publisher *p, struct sr_bytes payload, uint64_t *number)
{
    char *bytes = sr_mem_dup(payload.p, payload.n);
    if (!bytes)
        return SR_ENOMEM;
    pthread_mutex_lock(&p->lock);
    while (p->count > 0 && (p->count == SR_ZMQ_KEPT_MAX || p->bytes + payload.n > SR_ZMQ_KEPT_BYTES_MAX))
        drop_oldest(p);
    *number = p->next++;
    p->kept[*number % SR_ZMQ_KEPT_MAX] = (struct batch){bytes, payload.n};
    p->count++;
    p->bytes += payload.n;
    pthread_mutex_unlock(&p->lock);
    return SR_OK;
}

void sr_zmq_publisher_restart(struct sr_zmq_publishers *set, size_t at)
{
    struct publisher *p = &set->publishers[at];
    pthread_mutex_lock(&p->lock);
    while (p->count > 0)
        drop_oldest(p);
    p->next = 0;
    pthread_mutex_unlock(&p->lock);
}

/* ---- replay ----------------------------------------------------------------------------------------- */

static void answer_batch(struct publisher *p, zmq_msg_t *client, uint64_t number, struct sr_bytes payload)
{
    uint8_t frame[SEQ_BYTES];
    zmq_msg_t copy;
    put_number(frame, number);
    zmq_msg_init(&copy);
    zmq_msg_copy(&copy, client);
    if (zmq_msg_send(&copy, p->router, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0) {
        zmq_msg_close(&copy);
        return;
    }
    zmq_send(p->router, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send(p->router, frame, sizeof frame, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send(p->router, payload.p, payload.n, ZMQ_DONTWAIT);
}

static void answer_from(struct publisher *p, zmq_msg_t *client, uint64_t from)
{
    pthread_mutex_lock(&p->lock);
    uint64_t oldest = p->next - p->count;
    for (uint64_t at = from > oldest ? from : oldest; at < p->next; at++) {
        const struct batch *batch = &p->kept[at % SR_ZMQ_KEPT_MAX];
        answer_batch(p, client, at, sr_bytes_of(batch->bytes, batch->n));
    }
    pthread_mutex_unlock(&p->lock);
    answer_batch(p, client, UINT64_MAX, SR_LIT(""));
}

/* One request: client, empty frame, number; anything else is dropped. */
static void serve_replay(struct publisher *p)
{
    zmq_msg_t frames[3];
    size_t n = 0;
    bool more = true, good = true;
    while (more) {
        zmq_msg_t frame;
        zmq_msg_init(&frame);
        if (zmq_msg_recv(&frame, p->router, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(&frame);
            good = false;
            break;
        }
        more = zmq_msg_more(&frame);
        if (n < 3) {
            frames[n++] = frame;
        } else {
            good = false;
            zmq_msg_close(&frame);
        }
    }
    if (good && n == 3 && zmq_msg_size(&frames[1]) == 0 && zmq_msg_size(&frames[2]) == SEQ_BYTES)
        answer_from(p, &frames[0], number_of(zmq_msg_data(&frames[2])));
    for (size_t i = 0; i < n; i++)
        zmq_msg_close(&frames[i]);
}

/* Ends when the context is shut down. */
static void *run_replay(void *ctx)
{
    struct sr_zmq_publishers *set = ctx;
    sr_thread_name("sr-zmq-replay");
    zmq_pollitem_t *items = sr_mem_calloc(set->n, sizeof *items);
    for (size_t i = 0; items && i < set->n; i++)
        items[i] = (zmq_pollitem_t){.socket = set->publishers[i].router, .events = ZMQ_POLLIN};
    while (items && (zmq_poll(items, (int)set->n, -1) >= 0 || errno == EINTR))
        for (size_t i = 0; i < set->n; i++)
            if (items[i].revents & ZMQ_POLLIN)
                serve_replay(&set->publishers[i]);
    sr_mem_free(items);
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------------- */

static int open_socket(struct sr_zmq_publishers *set, int type, const char *host, uint16_t port, void **out,
                       uint16_t *port_out, struct sr_err *err)
{
    char endpoint[ENDPOINT_MAX], number[8] = "*";
    size_t size = sizeof endpoint;
    int none = 0, high = HIGH_WATER;
    *out = zmq_socket(set->context, type);
    if (!*out)
        return sr_err_set(err, SR_EIO, "cannot open a ZeroMQ socket: %s", zmq_strerror(errno));
    zmq_setsockopt(*out, ZMQ_LINGER, &none, sizeof none);
    zmq_setsockopt(*out, ZMQ_SNDHWM, &high, sizeof high);
    if (port)
        snprintf(number, sizeof number, "%u", port);
    snprintf(endpoint, sizeof endpoint, "tcp://%s:%s", host[0] ? host : "*", number);
    if (zmq_bind(*out, endpoint) != 0)
        return sr_err_set(err, errno == EADDRINUSE ? SR_EBUSY : SR_EIO, "cannot listen on %s: %s", endpoint,
                          zmq_strerror(errno));
    if (zmq_getsockopt(*out, ZMQ_LAST_ENDPOINT, endpoint, &size) != 0 || !strrchr(endpoint, ':'))
        return sr_err_set(err, SR_EIO, "a ZeroMQ socket has no port");
    *port_out = (uint16_t)strtoul(strrchr(endpoint, ':') + 1, NULL, 10);
    return SR_OK;
}

static int open_publisher(struct sr_zmq_publishers *set, const char *host, uint16_t port,
                          uint16_t replay_port, struct sr_err *err)
{
    struct publisher *p = &set->publishers[set->n++];
    pthread_mutex_init(&p->lock, NULL);
    p->kept = sr_mem_calloc(SR_ZMQ_KEPT_MAX, sizeof *p->kept);
    if (!p->kept)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    int rc = open_socket(set, ZMQ_PUB, host, port, &p->pub, &p->port, err);
    return rc == SR_OK ? open_socket(set, ZMQ_ROUTER, host, replay_port, &p->router, &p->replay_port, err)
                       : rc;
}

int sr_zmq_publishers_new(struct sr_zmq_publishers **out, const char *host, uint16_t port,
                          uint16_t replay_port, size_t n, struct sr_err *err)
{
    *out = NULL;
    if (n < 1 || (port && port + n - 1 > UINT16_MAX) || (replay_port && replay_port + n - 1 > UINT16_MAX))
        return sr_err_set(err, SR_EINVAL, "no such ports for %zu publishers", n);
    struct sr_zmq_publishers *set = sr_mem_calloc(1, sizeof *set + n * sizeof set->publishers[0]);
    if (!set)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    set->context = zmq_ctx_new();
    int rc = set->context ? SR_OK : sr_err_set(err, SR_ENOMEM, "no ZeroMQ context");
    if (rc == SR_OK)
        zmq_ctx_set(set->context, ZMQ_MAX_SOCKETS, (int)(2 * n + 8));
    for (size_t i = 0; i < n && rc == SR_OK; i++)
        rc = open_publisher(set, host, port ? (uint16_t)(port + i) : 0,
                            replay_port ? (uint16_t)(replay_port + i) : 0, err);
    if (rc == SR_OK && pthread_create(&set->thread, NULL, run_replay, set) != 0)
        rc = sr_err_set(err, SR_EIO, "cannot start a thread");
    else
        set->has_thread = rc == SR_OK;
    if (rc != SR_OK)
        sr_zmq_publishers_free(set);
    else
        *out = set;
    return rc;
}

void sr_zmq_publishers_free(struct sr_zmq_publishers *set)
{
    if (!set)
        return;
    if (set->context)
        zmq_ctx_shutdown(set->context);
    if (set->has_thread)
        pthread_join(set->thread, NULL);
    for (size_t i = 0; i < set->n; i++) {
        struct publisher *p = &set->publishers[i];
        if (p->pub)
            zmq_close(p->pub);
        if (p->router)
            zmq_close(p->router);
        while (p->count > 0)
            drop_oldest(p);
        sr_mem_free(p->kept);
        pthread_mutex_destroy(&p->lock);
    }
    if (set->context)
        zmq_ctx_term(set->context);
    sr_mem_free(set);
}

uint16_t sr_zmq_publisher_port(const struct sr_zmq_publishers *set, size_t at)
{
    return set->publishers[at].port;
}

uint16_t sr_zmq_publisher_replay_port(const struct sr_zmq_publishers *set, size_t at)
{
    return set->publishers[at].replay_port;
}

/* A subscriber that reads too slowly misses batches: PUB sockets never wait. */
int sr_zmq_publisher_send(struct sr_zmq_publishers *set, size_t at, struct sr_bytes payload, bool lose)
{
    struct publisher *p = &set->publishers[at];
    uint64_t number = 0;
    uint8_t frame[SEQ_BYTES];
    int rc = keep(p, payload, &number);
    if (rc != SR_OK || lose)
        return rc;
    put_number(frame, number);
    zmq_send(p->pub, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send(p->pub, frame, sizeof frame, ZMQ_SNDMORE | ZMQ_DONTWAIT);
    zmq_send(p->pub, payload.p, payload.n, ZMQ_DONTWAIT);
    return SR_OK;
}
