/*
 * The classifiers of a configuration by themselves, for callers that want an answer about a text and no
 * routing: the domain model, the jailbreak reader and the PII reader.
 *
 * Opened with the engine, shared by any thread, immutable.
 */
#ifndef SR_ROUTER_READERS_H
#define SR_ROUTER_READERS_H

#include "signal/jailbreak_reader.h"
#include "signal/pii_reader.h"

struct sr_readers {
    struct sr_linear *domain;              /* NULL: it could not be opened */
    struct sr_jailbreak_reader *jailbreak; /* the same */
    struct sr_pii_reader *pii;             /* NULL only without memory */
};

/* Opens what can be opened. */
void sr_readers_open(struct sr_readers *readers, const struct sr_config *config, struct sr_models *models);
void sr_readers_close(struct sr_readers *readers);

#endif
