/*
 * One line of a file that warms the response cache: a known question and its answer, or a request and its
 * response from a log.
 *
 *   {"question": "...", "answer": "..."}        or "response": a whole response instead of "answer";
 *       optional "model", "system", "parameters" (an object: other members of the request), "stream"
 *   {"request": {...}, "response": {...}}       "response" may be the text of a stream's events, "answer" may
 *       stand in its place; optional "path", "status"; members that are not known are ignored
 *
 * Both: "tenant", "user", "team", "ttl_seconds". Texts are decoded, JSON values stay as they are written.
 * Knows no configuration and no dialect.
 */
#ifndef SR_SERVE_WARM_LINE_H
#define SR_SERVE_WARM_LINE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json_read.h"

#include <stdbool.h>

#define SR_WARM_LINE_MAX ((size_t)2 << 20) /* bytes of a line */

struct sr_warm_line {
    sr_json_view request;               /* an object; `p` NULL: it is made of the question */
    struct sr_bytes question;           /* `p` NULL: there is a request */
    struct sr_bytes model, system;      /* `p` NULL: not given */
    sr_json_view parameters;            /* an object; `p` NULL */
    struct sr_bytes answer;             /* `p` NULL: there is a response */
    sr_json_view response;              /* an object; `p` NULL */
    struct sr_bytes events;             /* of a stream, with their framing; `p` NULL */
    struct sr_bytes path;               /* of the request's endpoint */
    struct sr_bytes tenant, user, team; /* "": none */
    int64_t ttl_s;                      /* -1: as the policy says */
    int status;                         /* of the response */
    bool plain, streamed;               /* the forms in which it is kept; at least one */
};

/* Reads a line without its line end. Values are in `text` or the arena. SR_EPARSE with a message that says
 * what to write; SR_ELIMIT: longer than SR_WARM_LINE_MAX; SR_ENOMEM. */
int sr_warm_line_read(struct sr_warm_line *out, struct sr_bytes text, struct sr_arena *arena,
                      struct sr_err *err) SR_WARN_UNUSED;

#endif
