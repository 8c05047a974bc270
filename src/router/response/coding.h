/*
 * The content coding of an answer: undone before any stage sees the bytes, so that stages read it and the
 * client, which was not asked, gets it plain.
 *
 * Upstreams are asked for identity; this is for those that compress all the same. A coding that is not known
 * stays as it is, unless a stage must read the answer: then it is refused.
 */
#ifndef SR_ROUTER_RESPONSE_CODING_H
#define SR_ROUTER_RESPONSE_CODING_H

#include "base/gzip.h"

#define SR_ANSWER_PLAIN_MAX ((size_t)64 << 20) /* what may come of the bytes of one call */

struct sr_answer_coding {
    struct sr_inflate *inflate; /* NULL: nothing is undone */
    struct sr_buf plain;        /* what came of the latest bytes */
    bool failed;                /* the answer cannot be read */
    bool unknown;               /* that was known from its head on */
    bool told;                  /* the client was told */
};

/* Allocates nothing. */
void sr_answer_coding_init(struct sr_answer_coding *c);
void sr_answer_coding_dispose(struct sr_answer_coding *c);

/* Begins with an answer of this coding; forgets an earlier one. `required`: a coding that is not known, or
 * for which there is no memory, makes the answer unreadable. */
void sr_answer_coding_begin(struct sr_answer_coding *c, enum sr_coding coding, bool required);

/* Replaces `in` by what comes of it, valid until the next call. SR_EPARSE: the answer cannot be read, now and
 * later. */
int sr_answer_coding_undo(struct sr_answer_coding *c, struct sr_bytes *in, bool last) SR_WARN_UNUSED;

/* The bytes that leave have no coding of which stages know nothing. */
static inline bool sr_answer_coding_undoes(const struct sr_answer_coding *c)
{
    return c->inflate != NULL;
}

#endif
