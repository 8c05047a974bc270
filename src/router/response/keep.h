/*
 * The answer stage that keeps the upstream's bytes for the cache, before any other stage changes them; and
 * the check whether they are a whole answer that may be given again.
 */
#ifndef SR_ROUTER_RESPONSE_KEEP_H
#define SR_ROUTER_RESPONSE_KEEP_H

#include "router/response/stage.h"

/* Embedded in struct sr_answer; zeroed at first. */
struct sr_answer_keep {
    struct sr_buf bytes;
    bool kept; /* all bytes so far are in `bytes` */
};

void sr_answer_keep_dispose(struct sr_answer_keep *keep);

extern const struct sr_answer_stage sr_keep_stage;

/* True when kept bytes are a whole answer: a JSON object, or a stream up to its final event, with no error in
 * it and with an answer: choices, each with a finish reason; or content and a reason why it ends. Scans them
 * once. */
bool sr_answer_is_usable(struct sr_bytes bytes, enum sr_answer_mode mode,
                         const struct sr_dialect_ops *dialect, const struct sr_paths *paths);

#endif
