/*
 * ZeroMQ publishers of numbered batches with replay, as vLLM's KV events have them: a set of PUB sockets on
 * consecutive ports, each with a ROUTER socket that gives recent batches again.
 *
 * A batch is published in three frames: an empty topic, its number (8 bytes, big-endian, from 0 on), the
 * payload. A client asks the ROUTER with an empty frame and a number, and gets every kept batch from that
 * number on as an empty frame, number, payload; the end has the number 2^64-1 and an empty payload. One
 * thread of the set answers these; everything else is for one thread of the caller's.
 */
#ifndef SR_NET_ZMQ_PUBLISHER_H
#define SR_NET_ZMQ_PUBLISHER_H

#include "base/bytes.h"
#include "base/err.h"

#include <stdint.h>

#define SR_ZMQ_KEPT_MAX       10000              /* batches that one publisher can give again */
#define SR_ZMQ_KEPT_BYTES_MAX ((size_t)64 << 20) /* and their bytes */

struct sr_zmq_publishers;

/* Binds `n` PUB sockets on host:port .. port+n-1 and as many ROUTERs from `replay_port` on; a port of 0 takes
 * free ones. SR_EBUSY with a message that names the port, SR_EINVAL for no publisher, SR_EIO, SR_ENOMEM. */
int sr_zmq_publishers_new(struct sr_zmq_publishers **out, const char *host, uint16_t port,
                          uint16_t replay_port, size_t n, struct sr_err *err) SR_WARN_UNUSED;

/* Closes everything at once; what was not sent yet is lost. NULL is allowed. */
void sr_zmq_publishers_free(struct sr_zmq_publishers *set);

uint16_t sr_zmq_publisher_port(const struct sr_zmq_publishers *set, size_t at);
uint16_t sr_zmq_publisher_replay_port(const struct sr_zmq_publishers *set, size_t at);

/* Publishes a batch of publisher `at`, without waiting; with `lose` it gets its number and is kept, but is
 * not sent, as when a subscriber misses it. SR_ENOMEM: then it has no number either. */
int sr_zmq_publisher_send(struct sr_zmq_publishers *set, size_t at, struct sr_bytes payload,
                          bool lose) SR_WARN_UNUSED;

/* Publisher `at` forgets its batches and counts from 0 again, as a process that was started again. */
void sr_zmq_publisher_restart(struct sr_zmq_publishers *set, size_t at);

#endif
