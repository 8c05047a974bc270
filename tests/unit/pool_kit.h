/* A pool whose groups a test makes, and requests that choose or report. */
#ifndef TESTS_UNIT_POOL_KIT_H
#define TESTS_UNIT_POOL_KIT_H

#include "cmocka_all.h"

#include "pool/roster.h"
#include "pool/ticket.h"

struct site {
    struct sr_pool *pool;
    struct sr_arena arena;
};

static inline struct site site_open(void)
{
    struct site s;
    assert_int_equal(sr_pool_new(&s.pool), SR_OK);
    sr_arena_init(&s.arena, (size_t)16 << 20);
    return s;
}

static inline void site_close(struct site *s)
{
    assert_null(s->pool->groups);
    for (size_t i = 0; i < SR_POOL_BUCKETS; i++)
        assert_null(s->pool->workers[i]);
    sr_arena_dispose(&s->arena);
    sr_pool_free(s->pool);
}

static inline struct sr_pool_backend backend(const char *host, double weight)
{
    return (struct sr_pool_backend){
        .scheme = "http", .host = host, .base_path = "", .port = 8000, .weight = weight};
}

static inline struct sr_pool_group *group_of(struct site *s, const char *name,
                                             const struct sr_pool_backend *backends, size_t n)
{
    struct sr_pool_group *group;
    struct sr_err err = {0};
    assert_int_equal(sr_pool_group_get(s->pool, &group, name, NULL, NULL, NULL, NULL, backends, n, &err),
                     SR_OK);
    return group;
}

/* One request that is chosen a worker and reports nothing. */
static inline int choose_once(struct site *s, struct sr_pool_group *group)
{
    struct sr_ticket ticket;
    assert_int_equal(sr_ticket_open(&ticket, group, &s->arena), SR_OK);
    int at = sr_ticket_choose(&ticket);
    sr_ticket_dispose(&ticket);
    sr_arena_dispose(&s->arena);
    return at;
}

static inline void report_once(struct site *s, struct sr_pool_group *group, size_t at,
                               enum sr_ticket_event event)
{
    struct sr_ticket ticket;
    assert_int_equal(sr_ticket_open(&ticket, group, &s->arena), SR_OK);
    sr_ticket_report(&ticket, at, event, 0);
    sr_ticket_dispose(&ticket);
}

static inline struct sr_pool_group *ejecting(struct site *s, const char *policy,
                                             struct sr_pool_ejection ejection,
                                             const struct sr_pool_backend *backends, size_t n)
{
    struct sr_pool_group *group;
    struct sr_err err = {0};
    assert_int_equal(
        sr_pool_group_get(s->pool, &group, "m", policy, NULL, &ejection, NULL, backends, n, &err), SR_OK);
    return group;
}

#endif
