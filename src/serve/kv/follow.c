/* A number that goes back is a publisher that began again; one that jumps is a gap. */
#include "serve/kv/follow.h"

#include "base/clock.h"
#include "serve/kv/batch.h"

void sr_kv_follow_init(struct sr_kv_follow *follow, const struct sr_kv_follow_ops *ops, void *ctx,
                       bool has_replay)
{
    *follow = (struct sr_kv_follow){.ops = ops, .ctx = ctx, .has_replay = has_replay};
}

static void tell(struct sr_kv_follow *follow, enum sr_pool_kv_kind kind)
{
    follow->ops->event(follow->ctx, &(struct sr_pool_kv_event){.kind = kind});
}

/* What was told of the worker is not reliable. */
static void clear(struct sr_kv_follow *follow)
{
    if (follow->dirty)
        tell(follow, SR_POOL_KV_UNKNOWN);
    follow->dirty = false;
}

static void give_on(void *ctx, const struct sr_pool_kv_event *event)
{
    struct sr_kv_follow *follow = ctx;
    follow->dirty |= event->kind != SR_POOL_KV_REMOVED;
    follow->ops->event(follow->ctx, event);
}

/* What a bad batch said is missing for good. */
static void apply(struct sr_kv_follow *follow, uint64_t number, struct sr_bytes payload)
{
    struct sr_kv_read read;
    int rc = sr_kv_batch_read(payload, give_on, follow, &read);
    follow->feed.events += read.events;
    follow->feed.left_out += read.left_out;
    follow->feed.batches++;
    follow->next = number + 1;
    follow->known = true;
    if (rc) {
        follow->feed.bad++;
        clear(follow);
    }
}

/* Asks for the batches from `from` on. */
static bool ask(struct sr_kv_follow *follow, uint64_t from, bool fills)
{
    follow->at_ns = sr_clock_ns();
    follow->replaying = follow->has_replay && follow->ops->replay(follow->ctx, from);
    follow->fills = follow->replaying && fills;
    if (follow->replaying && fills)
        follow->feed.replays++;
    return follow->replaying;
}

/* Begins anew, with what is kept. */
static void begin(struct sr_kv_follow *follow)
{
    clear(follow);
    follow->known = false;
    follow->next = 0;
    ask(follow, 0, true);
}

void sr_kv_follow_connected(struct sr_kv_follow *follow)
{
    follow->feed.connected = true;
    follow->heard = false;
    begin(follow);
}

void sr_kv_follow_lost(struct sr_kv_follow *follow)
{
    follow->feed.connected = false;
    follow->known = follow->heard = follow->replaying = false;
    tell(follow, SR_POOL_KV_CLEARED); /* a process that ends takes its cache with it */
    tell(follow, SR_POOL_KV_UNKNOWN);
    follow->dirty = false;
}

void sr_kv_follow_batch(struct sr_kv_follow *follow, uint64_t number, struct sr_bytes payload)
{
    bool again = follow->heard && number <= follow->live;
    follow->heard = true;
    follow->live = number;
    follow->at_ns = sr_clock_ns();
    if (again) {
        follow->feed.restarts++;
        tell(follow, SR_POOL_KV_CLEARED);
        begin(follow);
        if (follow->replaying)
            return;
    } else if (follow->known && number < follow->next) {
        return; /* the replay had it */
    } else if (follow->known && number > follow->next) {
        follow->feed.gaps++;
        if (ask(follow, follow->next, true))
            return;
        clear(follow);
    }
    apply(follow, number, payload);
}

void sr_kv_follow_replayed(struct sr_kv_follow *follow, uint64_t number, struct sr_bytes payload)
{
    follow->at_ns = sr_clock_ns();
    if (number < follow->next)
        return;
    if (number > follow->next) /* they are not kept any more */
        clear(follow);
    apply(follow, number, payload);
}

void sr_kv_follow_replay_end(struct sr_kv_follow *follow, bool whole)
{
    bool fills = follow->fills;
    follow->at_ns = sr_clock_ns();
    follow->replaying = follow->fills = false;
    if (whole && !follow->known && !follow->heard)
        follow->known = true;                            /* nothing was published yet: 0 is next */
    if (follow->heard && follow->next <= follow->live) { /* the gap is not filled */
        clear(follow);
        follow->next = follow->live + 1;
        follow->known = true;
    } else if (!whole && fills) {
        clear(follow);
        follow->known = false;
    }
}

void sr_kv_follow_bad(struct sr_kv_follow *follow)
{
    follow->feed.bad++;
}

void sr_kv_follow_check(struct sr_kv_follow *follow, uint64_t now_ns)
{
    if (follow->feed.connected && follow->known && !follow->replaying &&
        now_ns > follow->at_ns + SR_KV_CHECK_NS)
        ask(follow, follow->next, false);
}

void sr_kv_follow_again(struct sr_kv_follow *follow)
{
    if (follow->feed.connected && !follow->replaying && follow->has_replay)
        begin(follow);
}
