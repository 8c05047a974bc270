/*
 * KV events as vLLM publishes them: what one step of the engine stored and removed becomes one msgpack batch
 * [time, [event, ...], rank].
 *
 * vLLM writes each event as an array that opens with its name, Dynamo's mocker as a map with a `type`; both
 * are read by their routers. Coding only: no I/O.
 */
#ifndef SR_MOCK_ENGINE_EVENTS_H
#define SR_MOCK_ENGINE_EVENTS_H

#include "base/buf.h"

#include <stdint.h>

enum sr_mock_events_form { SR_MOCK_EVENTS_ARRAYS, SR_MOCK_EVENTS_MAPS };

struct sr_mock_events {
    enum sr_mock_events_form form;
    struct sr_buf body; /* the events so far */
    uint32_t n;
    int rc; /* the first failure; the batch is then not whole */
};

/* One batch holds at most SR_MOCK_EVENTS_MAX bytes. */
#define SR_MOCK_EVENTS_MAX ((size_t)64 << 20)

void sr_mock_events_init(struct sr_mock_events *events, enum sr_mock_events_form form);
void sr_mock_events_dispose(struct sr_mock_events *events);

/* `n` blocks that follow each other, with the tokens of all of them. `parent` is the hash of the block before
 * the first one, NULL at the start of a prompt. */
void sr_mock_events_stored(struct sr_mock_events *events, const uint64_t *hashes, size_t n,
                           const uint64_t *parent, const uint32_t *tokens, size_t block_tokens);
void sr_mock_events_removed(struct sr_mock_events *events, uint64_t hash);
void sr_mock_events_cleared(struct sr_mock_events *events);

/* Appends the batch to `out` and begins the next. `seconds` is the time since 1970. The failure of any event
 * since the last batch, or SR_ENOMEM. */
int sr_mock_events_take(struct sr_mock_events *events, double seconds, struct sr_buf *out) SR_WARN_UNUSED;

#endif
