/*
 * A bounded sketch of what workers were asked lately: topics, which are vectors of requests, shared by the
 * workers of a picker, and for each worker when it was asked about which topic last.
 *
 * A request near a topic belongs to it; another one makes a new topic in place of the one that was used least
 * recently. Vectors are kept in bytes. One thread at a time.
 */
#ifndef SR_POOL_WARM_TOPICS_H
#define SR_POOL_WARM_TOPICS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define SR_TOPICS_MAX 128

struct sr_topics;

/* A worker's part. All zero: it was asked nothing. */
struct sr_topics_seat {
    uint64_t asked;               /* requests that it had */
    uint64_t at[SR_TOPICS_MAX];   /* the number of the last one of each topic, from 1 */
    uint32_t born[SR_TOPICS_MAX]; /* the topic's own number then */
};

/* SR_ENOMEM. */
int sr_topics_new(struct sr_topics **out) SR_WARN_UNUSED;
void sr_topics_free(struct sr_topics *topics); /* NULL is allowed */

/* Compares a vector of length 1 with all topics; sr_topics_similarity reads the result until the next call.
 * Allocates nothing. A vector of other dimensions than the first one is like none. */
void sr_topics_compare(struct sr_topics *topics, const float *vector, size_t d);

/* The highest similarity to what the worker was asked in its latest `recent` requests; 0: none. */
float sr_topics_similarity(const struct sr_topics *topics, const struct sr_topics_seat *seat,
                           uint32_t recent);

/* The worker is asked this. */
void sr_topics_add(struct sr_topics *topics, struct sr_topics_seat *seat, const float *vector, size_t d);

size_t sr_topics_bytes(const struct sr_topics *topics);

#endif
