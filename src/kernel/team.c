/*
 * Fork and join: members wait for the next generation, first spinning, then asleep.
 *
 * Parts are claimed, not assigned: a member whose thread is not scheduled when work starts claims none, and
 * the others do its share. So on a busy machine a computation does not wait until every thread was scheduled.
 * The claim is one word, generation and next part, so that a late member cannot take a part of a generation
 * that it has not seen.
 */
#include "kernel/team.h"

#include "base/mem.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

/* How long a member spins before it sleeps: about the gap between two operations of an encoder. */
#define SPINS 4000

struct sr_team {
    pthread_mutex_t lock;
    pthread_cond_t begin, end;
    unsigned size;
    unsigned started;
    atomic_uint_fast64_t claim; /* generation << 32 | the next part that is free */
    atomic_uint done;           /* parts of this generation, part 0 not counted */
    atomic_uint asleep;
    atomic_bool closing;
    bool waiting; /* the caller sleeps on `end` */
    void (*fn)(void *ctx, unsigned part, unsigned parts);
    void *ctx;
    pthread_t members[SR_TEAM_MAX]; /* from 1 */
};

static void relax(unsigned spin)
{
    if (spin % 256 == 255)
        sched_yield();
#if defined __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

static unsigned generation(struct sr_team *team)
{
    return (unsigned)(atomic_load(&team->claim) >> 32);
}

/* Waits for the generation after `seen` and returns it. */
static unsigned await_begin(struct sr_team *team, unsigned seen)
{
    unsigned now;
    for (unsigned spin = 0; spin < SPINS; spin++) {
        now = generation(team);
        if (now != seen)
            return now;
        relax(spin);
    }
    pthread_mutex_lock(&team->lock);
    atomic_fetch_add(&team->asleep, 1);
    while ((now = generation(team)) == seen)
        pthread_cond_wait(&team->begin, &team->lock);
    atomic_fetch_sub(&team->asleep, 1);
    pthread_mutex_unlock(&team->lock);
    return now;
}

/* Works on parts of generation `now` until none is left; returns how many it did. */
static unsigned take_parts(struct sr_team *team, unsigned now)
{
    uint64_t claim = atomic_load(&team->claim);
    unsigned taken = 0;
    while ((unsigned)(claim >> 32) == now && (unsigned)claim < team->size) {
        if (!atomic_compare_exchange_weak(&team->claim, &claim, claim + 1))
            continue;
        /* fn and ctx do not change until this part is done. */
        team->fn(team->ctx, (unsigned)claim, team->size);
        taken++;
        claim = atomic_load(&team->claim);
    }
    return taken;
}

static void *member_main(void *arg)
{
    struct sr_team *team = arg;
    unsigned seen = 0;
    pthread_setname_np(pthread_self(), "sr-infer-team");
    for (;;) {
        seen = await_begin(team, seen);
        if (atomic_load(&team->closing))
            return NULL;
        unsigned taken = take_parts(team, seen);
        if (taken && atomic_fetch_add(&team->done, taken) + taken == team->size - 1) {
            pthread_mutex_lock(&team->lock);
            if (team->waiting)
                pthread_cond_signal(&team->end);
            pthread_mutex_unlock(&team->lock);
        }
    }
}

/* Starts a generation: its members see all earlier writes. Returns the new generation. */
static unsigned begin(struct sr_team *team)
{
    unsigned now = generation(team) + 1;
    atomic_store(&team->claim, (uint64_t)now << 32 | 1); /* the caller does part 0 */
    if (atomic_load(&team->asleep)) {
        pthread_mutex_lock(&team->lock);
        pthread_cond_broadcast(&team->begin);
        pthread_mutex_unlock(&team->lock);
    }
    return now;
}

int sr_team_new(struct sr_team **out, unsigned size)
{
    if (size < 1 || size > SR_TEAM_MAX)
        return SR_EINVAL;
    struct sr_team *team = sr_mem_calloc(1, sizeof *team);
    if (!team)
        return SR_ENOMEM;
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->begin, NULL);
    pthread_cond_init(&team->end, NULL);
    team->size = size;
    for (unsigned i = 1; i < size; i++) {
        if (pthread_create(&team->members[i], NULL, member_main, team)) {
            sr_team_free(team);
            return SR_ENOMEM;
        }
        team->started++;
    }
    *out = team;
    return SR_OK;
}

void sr_team_free(struct sr_team *team)
{
    if (!team)
        return;
    atomic_store(&team->closing, true);
    begin(team);
    for (unsigned i = 1; i <= team->started; i++)
        pthread_join(team->members[i], NULL);
    pthread_cond_destroy(&team->begin);
    pthread_cond_destroy(&team->end);
    pthread_mutex_destroy(&team->lock);
    sr_mem_free(team);
}

unsigned sr_team_size(const struct sr_team *team)
{
    return team ? team->size : 1;
}

void sr_team_run(struct sr_team *team, void (*fn)(void *ctx, unsigned part, unsigned parts), void *ctx)
{
    if (!team || team->size == 1) {
        fn(ctx, 0, 1);
        return;
    }
    team->fn = fn;
    team->ctx = ctx;
    atomic_store(&team->done, 0);
    unsigned now = begin(team), parts = team->size - 1;
    fn(ctx, 0, team->size);
    atomic_fetch_add(&team->done, take_parts(team, now));
    for (unsigned spin = 0; spin < SPINS; spin++) {
        if (atomic_load(&team->done) == parts)
            return;
        relax(spin);
    }
    pthread_mutex_lock(&team->lock);
    team->waiting = true;
    while (atomic_load(&team->done) < parts)
        pthread_cond_wait(&team->end, &team->lock);
    team->waiting = false;
    pthread_mutex_unlock(&team->lock);
}
