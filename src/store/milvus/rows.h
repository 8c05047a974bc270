/*
 * What the rows of the collection hold, and the filters that find them.
 *
 * A record that fits is one row: its keys as hex texts, its times, its vector, and its bytes as base64 in
 * `body`. A larger one is cut: parts of a version of it, which is random and named by the record's own row,
 * whose body is then a head: version, size and SHA-256 of the whole. Parts are written before the head, so a
 * head is whole or it is nothing. A part has the record's tenant, user, model and times, and its partition
 * and key with a sign before them: no question finds it, every removal does. A record without a vector has
 * such a partition too.
 *
 * A removal is a row (a purge) too, so that every process gets to know of it; the mark is a row whose body
 * changes with each of them. Does no I/O; bytes from a server are checked here.
 */
#ifndef SR_STORE_MILVUS_ROWS_H
#define SR_STORE_MILVUS_ROWS_H

#include "base/arena.h"
#include "store/milvus/milvus.h"

#define SR_MILVUS_BODY_MAX   ((size_t)49149) /* its base64 fits a VarChar of 65535 */
#define SR_MILVUS_PART_MAX   ((size_t)49120) /* bytes of a record in one part */
#define SR_MILVUS_PURGES_MAX 4096u           /* more than that within their time: everything is removed */
#define SR_MILVUS_PURGE_S    3600            /* how long a purge stays */
#define SR_MILVUS_NAME       16              /* random bytes: of a version, a process, a purge, a mark */

enum sr_milvus_text {
    SR_MILVUS_ID,
    SR_MILVUS_REQUEST,
    SR_MILVUS_PART,
    SR_MILVUS_TENANT,
    SR_MILVUS_USER,
    SR_MILVUS_MODEL,
    SR_MILVUS_BODY,
    SR_MILVUS_TEXTS
};

struct sr_milvus_row {
    char *texts[SR_MILVUS_TEXTS];
    int64_t created_ms, expires_ms;
    const float *unit; /* [dimensions]; NULL: it has none */
};

struct sr_milvus_name {
    uint8_t bytes[SR_MILVUS_NAME];
};

struct sr_milvus_head {
    struct sr_milvus_name version;
    uint32_t size;
    uint8_t sha256[32]; /* of all bytes */
};

struct sr_milvus_part {
    struct sr_milvus_name version;
    uint32_t index;
    struct sr_bytes bytes;
};

struct sr_milvus_purge {
    struct sr_milvus_name id, who;
    bool done;          /* the records were deleted, at the server's `timestamp` */
    uint64_t timestamp; /* 0: not known */
    int64_t at_ms;      /* the wall clock of who removes */
    struct sr_cache_selector which;
};

/* ---- to rows: false: no room in the arena ---- */

/* How many parts a record of so many bytes has; 0: it fits its own row. */
size_t sr_milvus_parts(size_t size);

/* A record's row; with parts, `version` names them. `unit` NULL: no search finds it. */
bool sr_milvus_row_record(struct sr_milvus_row *out, const struct sr_cache_record *record,
                          const struct sr_milvus_name *version, const float *unit, struct sr_arena *arena);
/* `count` of its parts, from number `first` on, into rows[count]. */
bool sr_milvus_row_parts(struct sr_milvus_row *rows, const struct sr_cache_record *record,
                         const struct sr_milvus_name *version, size_t first, size_t count,
                         struct sr_arena *arena);
bool sr_milvus_row_purge(struct sr_milvus_row *out, const struct sr_milvus_purge *purge,
                         struct sr_arena *arena);
bool sr_milvus_row_mark(struct sr_milvus_row *out, const struct sr_milvus_name *mark, struct sr_arena *arena);

/* ---- filters: in the arena; NULL: no room ---- */

char *sr_milvus_filter_removal(const struct sr_cache_selector *which, struct sr_arena *arena);
char *sr_milvus_filter_expired(int64_t now_ms, struct sr_arena *arena);
char *sr_milvus_filter_partition(const struct sr_cache_key *partition, int64_t now_ms,
                                 struct sr_arena *arena);
/* Under the exact or the request key. */
char *sr_milvus_filter_key(const struct sr_cache_key *key, int64_t now_ms, struct sr_arena *arena);
/* All parts of all these. */
char *sr_milvus_filter_parts(const struct sr_milvus_head *heads, size_t n, struct sr_arena *arena);
char *sr_milvus_filter_mark(void);
char *sr_milvus_filter_purges(void);

/* ---- from a row's body ---- */

/* The bytes of a body, in the arena. SR_EPARSE: it is no base64; SR_ENOMEM. */
int sr_milvus_body_read(struct sr_bytes *out, const char *body, struct sr_arena *arena) SR_WARN_UNUSED;

/* False: it is none. The bytes of a part and the model of a purge borrow `bytes`. */
bool sr_milvus_head_read(struct sr_milvus_head *out, struct sr_bytes bytes);
bool sr_milvus_part_read(struct sr_milvus_part *out, struct sr_bytes bytes);
bool sr_milvus_purge_read(struct sr_milvus_purge *out, struct sr_bytes bytes);
bool sr_milvus_mark_read(struct sr_milvus_name *out, struct sr_bytes bytes);

/* A live record from its bytes. SR_ENOENT: expired; SR_EINVAL: none; SR_ENOMEM. */
int sr_milvus_record_read(struct sr_cache_record **out, struct sr_bytes bytes) SR_WARN_UNUSED;

/* The same from the parts that were found, of this head and of others, in any order. SR_ENOENT: one is
 * missing, too; SR_EINVAL: they are not what the head says. */
int sr_milvus_join(struct sr_cache_record **out, const struct sr_milvus_head *head,
                   const struct sr_milvus_part *parts, size_t n, struct sr_arena *arena) SR_WARN_UNUSED;

#endif
