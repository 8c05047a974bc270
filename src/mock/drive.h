/*
 * One worker's engine in real time: the clock of the engine is the machine's monotonic clock times a speed,
 * a timer of the loop completes its steps, and a publisher sends its KV events.
 *
 * Owns the engine and its events. Knows no HTTP. Loop's thread only.
 */
#ifndef SR_MOCK_DRIVE_H
#define SR_MOCK_DRIVE_H

#include "mock/engine/engine.h"
#include "net/loop/loop.h"
#include "net/zmq/publisher.h"

struct sr_mock_drive;

struct sr_mock_drive_settings {
    struct sr_mock_engine_settings engine;
    unsigned speed; /* seconds of the engine's clock in a second: 1 to SR_MOCK_SPEED_MAX */
    enum sr_mock_events_form events_form;
    struct sr_zmq_publishers *publishers; /* borrowed; NULL: events are not published */
    size_t publisher;                     /* which of them */
    /* A sequence has produced tokens, or has finished. It may be removed within the call. */
    void (*news)(void *ctx, struct sr_mock_sequence *sequence);
    void *ctx;
};

/* SR_EINVAL, SR_ENOMEM. */
int sr_mock_drive_new(struct sr_mock_drive **out, struct sr_loop *loop,
                      const struct sr_mock_drive_settings *settings) SR_WARN_UNUSED;

/* Every sequence must have been removed. NULL is allowed. */
void sr_mock_drive_free(struct sr_mock_drive *drive);

/* As sr_mock_engine_submit and _remove, now. */
int sr_mock_drive_submit(struct sr_mock_drive *drive, struct sr_mock_sequence *sequence,
                         const uint32_t *tokens) SR_WARN_UNUSED;
void sr_mock_drive_remove(struct sr_mock_drive *drive, struct sr_mock_sequence *sequence);

/* The engine's clock stops, and goes on where it was. */
void sr_mock_drive_hang(struct sr_mock_drive *drive, bool hangs);

void sr_mock_drive_slow(struct sr_mock_drive *drive, double factor);
void sr_mock_drive_evict(struct sr_mock_drive *drive);

/* The next `batches` of events get numbers but are not sent. */
void sr_mock_drive_lose_events(struct sr_mock_drive *drive, uint64_t batches);

/* As a process that was started again: an empty cache, counts of 0, events from 0 on. Every sequence must
 * have been removed. SR_ENOMEM: nothing has changed. */
int sr_mock_drive_restart(struct sr_mock_drive *drive) SR_WARN_UNUSED;

void sr_mock_drive_stats(const struct sr_mock_drive *drive, struct sr_mock_engine_stats *out);

#endif
