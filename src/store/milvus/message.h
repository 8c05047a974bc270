/*
 * The messages that are sent to a Milvus and those that come back: requests to bytes, answers from bytes. The
 * seam of the generated code of proto/milvus.proto.
 *
 * What rows hold, and by which filters they are found, is in rows.h. Does no I/O; bytes from a server are
 * checked here.
 */
#ifndef SR_STORE_MILVUS_MESSAGE_H
#define SR_STORE_MILVUS_MESSAGE_H

#include "store/milvus/rows.h"

/* What every request names. */
struct sr_milvus_place {
    const char *database; /* "" = the server's default */
    const char *collection;
    size_t dimensions;
    enum sr_milvus_metric metric;
    unsigned m, ef_construction, ef;
    enum sr_milvus_consistency consistency;
};

/* Requests: in the arena; `p` is NULL at its limit. */
struct sr_bytes sr_milvus_has(struct sr_arena *arena, const struct sr_milvus_place *place);
struct sr_bytes sr_milvus_describe(struct sr_arena *arena, const struct sr_milvus_place *place);
struct sr_bytes sr_milvus_describe_index(struct sr_arena *arena, const struct sr_milvus_place *place);
struct sr_bytes sr_milvus_create(struct sr_arena *arena, const struct sr_milvus_place *place);
/* Of `type`: "HNSW", or what the server has instead. */
struct sr_bytes sr_milvus_index(struct sr_arena *arena, const struct sr_milvus_place *place,
                                const char *type);
struct sr_bytes sr_milvus_load(struct sr_arena *arena, const struct sr_milvus_place *place);
struct sr_bytes sr_milvus_load_state(struct sr_arena *arena, const struct sr_milvus_place *place);
struct sr_bytes sr_milvus_upsert(struct sr_arena *arena, const struct sr_milvus_place *place,
                                 const struct sr_milvus_row *rows, size_t count);
/* A filter that is NULL (no room) makes no request. */
struct sr_bytes sr_milvus_delete(struct sr_arena *arena, const struct sr_milvus_place *place, char *filter);

/* How current an answer must be: at the place's consistency, and not from before `as_of`, a timestamp of the
 * server (0: none). */
struct sr_bytes sr_milvus_search(struct sr_arena *arena, const struct sr_milvus_place *place, char *filter,
                                 const float *unit, size_t k, uint64_t as_of);
/* Of all rows, at most `limit`. */
struct sr_bytes sr_milvus_query(struct sr_arena *arena, const struct sr_milvus_place *place, char *filter,
                                size_t limit, uint64_t as_of);

/* How an answer says that it went. `reason` lies in the arena. */
struct sr_milvus_status {
    int32_t code; /* 0: it went well */
    bool retriable;
    const char *reason;
};

enum { SR_MILVUS_NO_COLLECTION = 100, SR_MILVUS_NOT_LOADED = 101 };

/* Answers. SR_EPARSE: not that message; SR_ENOMEM: too large. */
int sr_milvus_status_read(struct sr_milvus_status *out, struct sr_arena *arena,
                          struct sr_bytes bytes) SR_WARN_UNUSED;
int sr_milvus_has_read(struct sr_milvus_status *out, bool *has, struct sr_arena *arena,
                       struct sr_bytes bytes) SR_WARN_UNUSED;
/* SR_EMISMATCH: fields or dimensions are not ours; `out->reason` says which. */
int sr_milvus_describe_read(struct sr_milvus_status *out, struct sr_arena *arena,
                            const struct sr_milvus_place *place, struct sr_bytes bytes) SR_WARN_UNUSED;
/* *found: there is an index of the vectors. SR_EMISMATCH: of another metric. */
int sr_milvus_describe_index_read(struct sr_milvus_status *out, bool *found, struct sr_arena *arena,
                                  const struct sr_milvus_place *place, struct sr_bytes bytes) SR_WARN_UNUSED;
int sr_milvus_load_state_read(struct sr_milvus_status *out, bool *loaded, struct sr_arena *arena,
                              struct sr_bytes bytes) SR_WARN_UNUSED;
/* Of Upsert and Delete. */
int sr_milvus_mutation_read(struct sr_milvus_status *out, uint64_t *timestamp, struct sr_arena *arena,
                            struct sr_bytes bytes) SR_WARN_UNUSED;
/* A row that was found. */
struct sr_milvus_hit {
    struct sr_bytes body; /* its bytes, in the arena */
    float similarity;     /* of Query: 1 */
};

/* At most `max` rows, as the server ordered them; those whose body is no base64 are left out. */
int sr_milvus_search_read(struct sr_milvus_status *out, struct sr_milvus_hit *hits, size_t max, size_t *n,
                          struct sr_arena *arena, struct sr_bytes bytes) SR_WARN_UNUSED;
int sr_milvus_query_read(struct sr_milvus_status *out, struct sr_milvus_hit *hits, size_t max, size_t *n,
                         struct sr_arena *arena, struct sr_bytes bytes) SR_WARN_UNUSED;

#endif
