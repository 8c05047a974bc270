/*
 * Private to store/redis: the backend that redis.c (lifetime, lookups), write.c (puts, removals) and news.c
 * (what others did, and the start) share.
 */
#ifndef SR_STORE_REDIS_PRIVATE_H
#define SR_STORE_REDIS_PRIVATE_H

#include "store/redis/keys.h"
#include "store/redis/wire.h"

#define SR_REDIS_ID_MAX     48 /* of an entry of a stream: "milliseconds-number" */
#define SR_REDIS_CURSOR_MAX 24

struct sr_redis {
    struct sr_cache_backend head; /* first */
    struct sr_remote remote;
    struct sr_redis_wire_options to;
    char *host, *server_name, *user, *password, *prefix;
    size_t load_max;
    uint8_t who[SR_REDIS_WHO];
    struct sr_redis_wire *commands, *listener;
    unsigned up; /* connections that are */
    /* write.c */
    size_t puts;                     /* on their way */
    struct sr_redis_put *unproven;   /* of these: they wait for the removals that are being read */
    struct sr_remote_write *removal; /* in progress; no put is sent meanwhile */
    size_t heads;                    /* of records that the removal asks for */
    char removal_cursor[SR_REDIS_CURSOR_MAX];
    /* news.c */
    uint64_t began_ms;          /* wall clock */
    char seen[SR_REDIS_ID_MAX]; /* the last removal that was read; "": none was asked for yet */
    bool reading, read_again;   /* the removals */
    bool scanning;              /* for the next page of a start */
    void (*caught_up)(struct sr_redis *redis); /* all removals were read */
    size_t loading, load_count;                /* records that are asked for; that were */
    char load_cursor[SR_REDIS_CURSOR_MAX];     /* of the SCAN of a start; "": it is over */
};

/* ---- command.c ---- */

/* Sends a command on the connection for commands. False: `done` will not be called, and the server is away:
 * both connections were closed within this call. */
bool sr_redis_send(struct sr_redis *redis, sr_redis_done *done, void *arg, const struct sr_bytes *argv,
                   size_t argc);

/* A `done` for replies that say nothing but errors; without right or room the server is away. */
void sr_redis_expect_ok(void *ctx, void *arg, const struct sr_resp *reply);

/* Says that the server is away because of this reply. */
void sr_redis_refused(struct sr_redis *redis, const struct sr_resp *reply);

/* True for errors after which nothing else can work either: loading, a replica, no right. */
bool sr_redis_is_fatal(const struct sr_resp *reply);

/* SCAN from `cursor` for records. */
bool sr_redis_scan(struct sr_redis *redis, sr_redis_done *done, const char *cursor);
/* The keys of a page of SCAN, and its cursor; false: it is none. */
bool sr_redis_page(const struct sr_resp *reply, char cursor[SR_REDIS_CURSOR_MAX],
                   const struct sr_resp **keys);

/* ---- write.c ---- */

void sr_redis_write(struct sr_remote *remote);
/* All removals up to `seen` were read: puts that were sent before are proven. */
void sr_redis_write_prove(struct sr_redis *redis);
/* The connection is gone. */
void sr_redis_write_reset(struct sr_redis *redis);

/* ---- news.c ---- */

/* Reads the removals after `seen`, then calls `caught_up`. */
void sr_redis_news_catch_up(struct sr_redis *redis);
/* Loads what is there. */
void sr_redis_news_load(struct sr_redis *redis);
void sr_redis_news_published(struct sr_redis *redis, struct sr_bytes message);
/* -1, 0, 1: the order of two ids of a stream. */
int sr_redis_id_compare(struct sr_bytes a, struct sr_bytes b);
void sr_redis_news_reset(struct sr_redis *redis);

#endif
