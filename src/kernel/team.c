/* Fork and join: a generation counter that members watch, first spinning, then asleep. */
#include "kernel/team.h"

#include "base/mem.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

/* How long a member looks before it sleeps: about as long as the gap between two operations of an encoder. */
#define SPINS 4000

struct sr_team {
    pthread_mutex_t lock;
    pthread_cond_t begin, end;
    unsigned size;
    unsigned started;
    atomic_uint generation;
    atomic_uint busy; /* members that have not finished this generation */
    atomic_uint asleep;
    bool closing;
    bool waiting; /* the caller sleeps on `end` */
    void (*fn)(void *ctx, unsigned part, unsigned parts);
    void *ctx;
    struct member {
        struct sr_team *team;
        unsigned part;
        pthread_t id;
    } members[SR_TEAM_MAX];
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

/* Returns the generation after `seen`. */
static unsigned await_begin(struct sr_team *team, unsigned seen)
{
    for (unsigned spin = 0; spin < SPINS; spin++) {
        unsigned now = atomic_load_explicit(&team->generation, memory_order_acquire);
        if (now != seen)
            return now;
        relax(spin);
    }
    unsigned now;
    pthread_mutex_lock(&team->lock);
    atomic_fetch_add(&team->asleep, 1);
    while ((now = atomic_load(&team->generation)) == seen)
        pthread_cond_wait(&team->begin, &team->lock);
    atomic_fetch_sub(&team->asleep, 1);
    pthread_mutex_unlock(&team->lock);
    return now;
}

static void *member_main(void *arg)
{
    struct member *member = arg;
    struct sr_team *team = member->team;
    unsigned seen = 0;
    for (;;) {
        seen = await_begin(team, seen);
        if (team->closing)
            return NULL;
        team->fn(team->ctx, member->part, team->size);
        if (atomic_fetch_sub(&team->busy, 1) == 1) {
            pthread_mutex_lock(&team->lock);
            if (team->waiting)
                pthread_cond_signal(&team->end);
            pthread_mutex_unlock(&team->lock);
        }
    }
}

/* Everything written before is seen by the members. */
static void begin(struct sr_team *team)
{
    atomic_fetch_add(&team->generation, 1);
    if (atomic_load(&team->asleep)) {
        pthread_mutex_lock(&team->lock);
        pthread_cond_broadcast(&team->begin);
        pthread_mutex_unlock(&team->lock);
    }
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
        team->members[i] = (struct member){.team = team, .part = i};
        if (pthread_create(&team->members[i].id, NULL, member_main, &team->members[i])) {
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
    team->closing = true;
    begin(team);
    for (unsigned i = 1; i <= team->started; i++)
        pthread_join(team->members[i].id, NULL);
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
    atomic_store(&team->busy, team->size - 1);
    begin(team);
    fn(ctx, 0, team->size);
    for (unsigned spin = 0; spin < SPINS; spin++) {
        if (!atomic_load_explicit(&team->busy, memory_order_acquire))
            return;
        relax(spin);
    }
    pthread_mutex_lock(&team->lock);
    team->waiting = true;
    while (atomic_load(&team->busy))
        pthread_cond_wait(&team->end, &team->lock);
    team->waiting = false;
    pthread_mutex_unlock(&team->lock);
}
