/*
 * What a request is in the cache: its question, and the keys that it and its answer are filed under.
 *
 * Pure functions over the body's spans. A key is a SHA-256, so that a client cannot make two requests
 * collide. The partition is everything that may change the answer but the question: who shares, the requested
 * and the chosen model, what edits put into the body, and the whole body without the question and without
 * members that only route or account. A part is never hashed without its name and length, so no two parts can
 * pass for one.
 */
#ifndef SR_ROUTER_CACHE_KEY_H
#define SR_ROUTER_CACHE_KEY_H

#include "cache/record.h"
#include "router/identity/identity.h"
#include "router/request/request.h"

/* Bytes of the body that hold a part of the question, without the quotes. */
struct sr_question_place {
    size_t start, end;
};

/* The text of the last user message. Without one that can be told from the rest, `text` is empty and the
 * whole body counts as partition: only exact hits. */
struct sr_question {
    struct sr_bytes text; /* decoded, its parts joined by a space; of the body or the arena */
    const struct sr_question_place *places; /* [n], in order */
    const struct sr_bytes *parts;           /* [n]: the text of each, decoded */
    size_t n;
};

/* Finds the question in a complete body. SR_ENOMEM. */
int sr_question_read(const struct sr_request *doc, struct sr_arena *arena,
                     struct sr_question *out) SR_WARN_UNUSED;

/* A named part of a key. */
struct sr_key_part {
    const char *name;
    struct sr_bytes value;
};

/* The hash of some parts, in order. SR_ENOMEM, also when the `p` of a part is NULL, or lengths have no sum.
 */
int sr_key_of(const struct sr_key_part *parts, size_t n, struct sr_arena *arena,
              struct sr_cache_key *out) SR_WARN_UNUSED;

/* A list of texts as a part: each after its length, in order. They may lie anywhere. `p` is NULL when out of
 * memory. */
struct sr_bytes sr_key_texts(const struct sr_bytes *texts, size_t n, struct sr_arena *arena);

/* What is known of a request before any signal. */
struct sr_key_request {
    const char *epoch;   /* of the configuration */
    const char *profile; /* as in struct sr_router */
    const struct sr_identity *identity;
    struct sr_bytes target; /* path and query */
    struct sr_bytes body;
    bool streams; /* its body or a header asks for a stream */
    /* What decisions read beside the body; empty where none does. */
    struct sr_bytes workload, session, conversation;
    struct sr_bytes versions; /* sr_key_texts of the headers that say how an upstream reads the body */
};

/* The key of the bytes of a request: the same client asks the same of the same configuration. SR_ENOMEM. */
int sr_key_of_request(const struct sr_key_request *in, struct sr_arena *arena,
                      struct sr_cache_key *out) SR_WARN_UNUSED;

/* The body as a part of a partition: top-level members by name, without white space, strings escaped in one
 * way, without members that cannot change the answer (among them `stream: false`), and with a mark in place
 * of the question. `p` is NULL when out of memory. */
struct sr_bytes sr_key_body(const struct sr_request *doc, const struct sr_question *question,
                            struct sr_arena *arena);

/* The bytes that edits put into a body: the slices that do not point into it, one after another, and how many
 * bytes remain. `p` is NULL when out of memory. */
struct sr_bytes sr_key_edits(struct sr_bytes body, const struct sr_bytes *slices, size_t n,
                             struct sr_arena *arena);

#endif
