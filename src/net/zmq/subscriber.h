/*
 * ZeroMQ subscribers of numbered batches with replay, as vLLM's KV events have them (net/zmq/publisher.h is
 * the other side): a set of them that one thread polls.
 *
 * A subscription connects by itself and again after a loss, with back-off. Which numbers are missing is the
 * owner's to notice; it asks for them with sr_zmq_replay, and reads no published batches meanwhile: they
 * wait in the socket, at most SR_ZMQ_QUEUE_MAX of them, and what the publisher cannot send is lost there.
 * All functions but sr_zmq_wake are for the thread that polls.
 */
#ifndef SR_NET_ZMQ_SUBSCRIBER_H
#define SR_NET_ZMQ_SUBSCRIBER_H

#include "base/bytes.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define SR_ZMQ_QUEUE_MAX     128               /* batches that wait in one socket */
#define SR_ZMQ_BATCH_MAX     ((size_t)4 << 20) /* bytes of a batch; a publisher of a longer one is cut off */
#define SR_ZMQ_SUBSCRIBE_MAX 1024              /* subscriptions of a set */
#define SR_ZMQ_REPLAY_MS     5000              /* the longest wait for the next part of a replay */

struct sr_zmq_subscribers;
struct sr_zmq_subscription;

/* What happens to a subscription. Called by sr_zmq_poll; these may ask for a replay, and not unsubscribe. */
struct sr_zmq_events {
    void (*connected)(void *ctx); /* also again after a loss */
    void (*lost)(void *ctx);      /* the connection; all that arrived before it was given */
    void (*batch)(void *ctx, uint64_t number, struct sr_bytes payload);
    /* What a replay gives, in order. */
    void (*replayed)(void *ctx, uint64_t number, struct sr_bytes payload);
    /* The replay is over; false: no whole answer came. Published batches follow again. */
    void (*replay_end)(void *ctx, bool whole);
    /* Frames that are no batch. */
    void (*bad)(void *ctx);
};

/* SR_EIO, SR_ENOMEM. */
int sr_zmq_subscribers_new(struct sr_zmq_subscribers **out, struct sr_err *err) SR_WARN_UNUSED;
/* All subscriptions end. NULL is allowed. */
void sr_zmq_subscribers_free(struct sr_zmq_subscribers *set);

/* Begins; `endpoint` and `replay` (NULL: there is none) are ZeroMQ's, such as `tcp://10.0.0.1:5557`; batches
 * count whose topic begins with `topic`. SR_EINVAL: an endpoint is none; SR_ELIMIT: the set is full; SR_EIO,
 * SR_ENOMEM. */
int sr_zmq_subscribe(struct sr_zmq_subscribers *set, struct sr_zmq_subscription **out, const char *endpoint,
                     const char *replay, const char *topic, const struct sr_zmq_events *events, void *ctx,
                     struct sr_err *err) SR_WARN_UNUSED;
/* NULL is allowed. */
void sr_zmq_unsubscribe(struct sr_zmq_subscribers *set, struct sr_zmq_subscription *subscription);

/* Asks for what is kept from this number on; a replay that is in progress is given up. False: there is no
 * replay, or the request cannot be sent. */
bool sr_zmq_replay(struct sr_zmq_subscribers *set, struct sr_zmq_subscription *subscription, uint64_t from);

/* Waits up to `ms` for something to happen, and calls the events of all subscriptions that have some. */
void sr_zmq_poll(struct sr_zmq_subscribers *set, uint32_t ms);

/* Ends a wait of sr_zmq_poll, or the next one. Any thread. */
void sr_zmq_wake(struct sr_zmq_subscribers *set);

#endif
