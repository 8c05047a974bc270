/*
 * Private to store/milvus: the backend that milvus.c (options, lifetime), setup.c (collection, index, load),
 * write.c (puts, removals, cleaning up), news.c (removals of others), lookup.c and call.c (one call and what
 * its answer means) share.
 */
#ifndef SR_STORE_MILVUS_PRIVATE_H
#define SR_STORE_MILVUS_PRIVATE_H

#include "net/grpc/client.h"
#include "store/milvus/message.h"

#define SR_MILVUS_BATCH 64

struct sr_milvus;

/* An answer of the server that is one: no failure of the connection, and none that ends it. */
typedef void sr_milvus_done(struct sr_milvus *milvus, void *arg, struct sr_bytes answer);
/* The call came to nothing; the server may be away by now (`milvus->remote.ready`). */
typedef void sr_milvus_failed(struct sr_milvus *milvus, void *arg, int rc);

struct sr_milvus_call {
    struct sr_milvus *milvus;
    struct sr_milvus_call *next, **pprev;
    struct sr_grpc_unary *unary;
    sr_milvus_done *done;
    sr_milvus_failed *failed;
    void *arg;
    bool patient; /* its timeout says nothing of the server */
};

struct sr_milvus {
    struct sr_cache_backend head; /* first */
    struct sr_remote remote;
    struct sr_milvus_place place;
    char *host, *server_name, *database, *collection, *authorization;
    uint16_t port;
    sr_tls_context *tls;
    struct sr_grpc_client *client; /* of the thread */
    struct sr_milvus_call *calls;
    unsigned late;    /* lookups without an answer, one after another */
    uint64_t written; /* the server's timestamp of the last write */
    uint64_t purged;  /* and of the latest removal, of any process */
    struct sr_milvus_name who;
    /* setup.c */
    size_t index_kind;
    struct sr_timer poll;
    uint64_t poll_until;
    /* write.c */
    struct sr_remote_write *batch[SR_MILVUS_BATCH];
    size_t batch_count, single; /* writes that go alone, after a batch was refused */
    size_t step;                /* of the batch, or of the removal that it is */
    struct sr_milvus_name name; /* of the version of a large record, or of a purge */
    uint64_t deleted;           /* the server's timestamp of the removal */
    int64_t removed_ms;
    struct sr_timer cleanup;
    uint32_t cleanup_ms;
    bool cleaning;
    /* news.c */
    struct sr_timer look;
    uint32_t purge_ms;
    bool looking, look_again, marked;
    void (*caught_up)(struct sr_milvus *milvus); /* all purges were read */
    struct sr_milvus_name mark, next_mark;       /* whose purges were read; that is read for */
    struct sr_milvus_seen *purges;               /* [purge_count], sorted */
    size_t purge_count;
    int64_t began_ms;   /* wall clock: nothing in memory is older */
    uint64_t looked_ns; /* when the purges were known last */
};

/* A purge, and how far it was. */
struct sr_milvus_seen {
    struct sr_milvus_name id;
    bool done;
};

/* ---- call.c ---- */

/* Calls a method with a request of message.h. False: out of memory (also of the arena: `request.p` is NULL)
 * or too many calls; nothing will be called. One of `done` and `failed` is called otherwise, but not when the
 * connection is closed. */
bool sr_milvus_call(struct sr_milvus *milvus, const char *method, struct sr_bytes request,
                    uint32_t timeout_ms, bool patient, sr_milvus_done *done, sr_milvus_failed *failed,
                    void *arg);
void sr_milvus_calls_cancel(struct sr_milvus *milvus);

/* Takes an answer's status: true when it went well. Otherwise *why says what happened, and after what nothing
 * else can work either (no collection, not loaded, not now) the server is away. */
bool sr_milvus_accepts(struct sr_milvus *milvus, int rc, const struct sr_milvus_status *status,
                       char why[160]);

/* ---- setup.c ---- */

void sr_milvus_connect(struct sr_remote *remote);
void sr_milvus_setup_reset(struct sr_milvus *milvus);

/* ---- write.c ---- */

void sr_milvus_write(struct sr_remote *remote);
void sr_milvus_cleanup_due(void *ctx);
void sr_milvus_write_reset(struct sr_milvus *milvus);

/* All purges were read that were there when the last batch was answered. */
void sr_milvus_write_proven(struct sr_milvus *milvus);

/* ---- news.c ---- */

/* Reads the purges, then calls `caught_up`. */
void sr_milvus_look(struct sr_milvus *milvus);
void sr_milvus_look_due(void *ctx);
void sr_milvus_news_reset(struct sr_milvus *milvus);

/* ---- lookup.c ---- */

void sr_milvus_lookup(struct sr_remote *remote, struct sr_remote_lookup *lookup);

static inline struct sr_milvus *sr_milvus_of(struct sr_remote *remote)
{
    return (struct sr_milvus *)((char *)remote - offsetof(struct sr_milvus, remote));
}

#endif
