/*
 * Private to net/: the structure of the loop for the files that use libuv (loop.c, sock*.c, dns.c).
 */
#ifndef SR_NET_LOOP_LOOP_UV_H
#define SR_NET_LOOP_LOOP_UV_H

#include "net/loop/loop.h"

#include <stdatomic.h>
#include <uv.h>

struct sr_dns_cache;

struct sr_loop {
    uv_loop_t uv;
    uv_async_t wake;
    uv_timer_t alarm; /* set for the root of `heap` or earlier */
    uv_prepare_t prepare;
    uv_check_t check;
    struct sr_mailbox box;
    atomic_bool stop;
    struct sr_timer *heap; /* pairing heap by key */
    uint64_t alarm_due;    /* 0: not set */
    struct sr_deferred *deferred, **deferred_tail;
    char *read_buffer; /* SR_LOOP_READ_SIZE bytes, filled and drained within one callback */
    /* set by dns.c at the first query */
    struct sr_dns_cache *dns;
    void (*dns_stop)(struct sr_loop *loop); /* no answer reaches the loop after this is set */
    void (*dns_free)(struct sr_loop *loop);
};

/* Maps a negative libuv result to a code and a constant text. */
int sr_uv_code(int status);
const char *sr_uv_text(int status);

#endif
