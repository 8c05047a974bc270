/* Runs: at once, on workers, cancelled, expired, refused; results are copied on the owner's thread. */
#include "tests/unit/signal_kit.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct owner {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool awake;
    struct sr_mailbox mailbox;
    struct sr_workers *workers;
    struct sr_arena arena;
    struct sr_signals *signals;
    int done, last;
};

static void owner_wake(void *ctx)
{
    struct owner *owner = ctx;
    pthread_mutex_lock(&owner->lock);
    owner->awake = true;
    pthread_cond_signal(&owner->wake);
    pthread_mutex_unlock(&owner->lock);
}

static void owner_done(void *ctx, enum sr_signal_type type)
{
    struct owner *owner = ctx;
    owner->done++;
    owner->last = (int)type;
}

static void owner_wait(struct owner *owner, int done)
{
    while (owner->done < done) {
        pthread_mutex_lock(&owner->lock);
        while (!owner->awake)
            pthread_cond_wait(&owner->wake, &owner->lock);
        owner->awake = false;
        pthread_mutex_unlock(&owner->lock);
        sr_mailbox_run(&owner->mailbox);
    }
}

static struct sr_config_keyword keyword = {.name = "k", .op = SR_KEYWORD_OR, .keywords = STRINGS("needle")};
static struct sr_config_domain domain = {.name = "math"};
static struct sr_config_context context = {"c", 0, UINT64_MAX};
static struct sr_config config = {
    .keywords = &keyword,
    .n_keywords = 1,
    .domains = &domain,
    .n_domains = 1,
    .contexts = &context,
    .n_contexts = 1,
    .global = {.domain_threshold = 0.6, .domain_fallback = "other", .domain_model = ""}};

static void owner_open(struct owner *owner, int threads, size_t queue)
{
    *owner = (struct owner){.last = -1};
    pthread_mutex_init(&owner->lock, NULL);
    pthread_cond_init(&owner->wake, NULL);
    sr_mailbox_init(&owner->mailbox, owner_wake, owner);
    sr_arena_init(&owner->arena, 1 << 20);
    assert_int_equal(sr_signals_new(&owner->signals, &config, NULL, NULL), SR_OK);
    assert_int_equal(sr_workers_new(&owner->workers, threads, queue), SR_OK);
}

static void owner_close(struct owner *owner)
{
    sr_workers_free(owner->workers);
    sr_mailbox_dispose(&owner->mailbox);
    sr_signals_unref(owner->signals);
    sr_arena_dispose(&owner->arena);
    pthread_cond_destroy(&owner->wake);
    pthread_mutex_destroy(&owner->lock);
}

static struct sr_signal_run *run_of(struct owner *owner, const char *text, size_t inline_bytes)
{
    struct sr_signal_input *input = sr_signal_input_new(sr_bytes_str(text), strlen(text));
    struct sr_signal_run *run = NULL;
    struct sr_signal_env env = {owner->workers, &owner->mailbox, inline_bytes};
    assert_int_equal(sr_signal_run_new(&run, owner->signals, input, env, &owner->arena), SR_OK);
    sr_signal_input_unref(input);
    return run;
}

static void test_inline(void **state)
{
    (void)state;
    struct owner owner;
    owner_open(&owner, 1, 8);
    struct sr_signal_run *run = run_of(&owner, "a needle", 100);
    assert_null(sr_signal_run_result(run, SR_SIGNAL_KEYWORD));
    assert_int_equal(sr_signal_run_start(run, SR_SIGNAL_KEYWORD, owner_done, &owner), SR_OK);
    assert_true(sr_signal_run_result(run, SR_SIGNAL_KEYWORD)->hits[0].matched);
    assert_int_equal(sr_signal_run_start(run, SR_SIGNAL_KEYWORD, owner_done, &owner), SR_OK);
    assert_int_equal(owner.done, 0);
    sr_signal_run_dispose(run);
    owner_close(&owner);
}

static void test_on_workers(void **state)
{
    (void)state;
    struct owner owner;
    owner_open(&owner, 2, 64);
    for (int round = 0; round < 50; round++) {
        struct sr_signal_run *run = run_of(&owner, "find the needle in the integral of x", 0);
        int before = owner.done;
        assert_int_equal(sr_signal_run_start(run, SR_SIGNAL_KEYWORD, owner_done, &owner), SR_AGAIN);
        assert_int_equal(sr_signal_run_start(run, SR_SIGNAL_KEYWORD, owner_done, &owner), SR_AGAIN);
        assert_int_equal(sr_signal_run_start(run, SR_SIGNAL_DOMAIN, owner_done, &owner), SR_AGAIN);
        assert_null(sr_signal_run_result(run, SR_SIGNAL_KEYWORD));
        owner_wait(&owner, before + 2);
        const struct sr_signal_result *result = sr_signal_run_result(run, SR_SIGNAL_DOMAIN);
        assert_int_equal(result->status, SR_OK);
        assert_int_equal(result->n_labels, 14);
        assert_true(result->ns > 0);
        assert_true(result->probabilities[result->top] > 0);
        assert_true(sr_signal_run_result(run, SR_SIGNAL_KEYWORD)->hits[0].matched);
        assert_int_equal(sr_signal_run_start(run, SR_SIGNAL_DOMAIN, owner_done, &owner), SR_OK);
        sr_signal_run_dispose(run);
    }
    owner_close(&owner);
}

/* The request goes away, arena and all, while its jobs are somewhere between queue and mailbox. */
static void test_owner_cancels(void **state)
{
    (void)state;
    struct owner owner;
    owner_open(&owner, 2, 512);
    for (int round = 0; round < 200; round++) {
        struct sr_signal_run *run = run_of(&owner, "find the needle in the integral of x", 0);
        assert_int_equal(sr_signal_run_start(run, SR_SIGNAL_DOMAIN, owner_done, &owner), SR_AGAIN);
        assert_int_equal(sr_signal_run_start(run, SR_SIGNAL_KEYWORD, owner_done, &owner), SR_AGAIN);
        if (round % 3 == 0)
            sr_mailbox_run(&owner.mailbox);
        sr_signal_run_dispose(run);
        sr_arena_dispose(&owner.arena);
        if (round % 2)
            sr_mailbox_run(&owner.mailbox);
    }
    owner_close(&owner);
}

struct blocker {
    struct sr_job job;
    pthread_mutex_t lock;
    atomic_bool started;
};

static void block(struct sr_job *job)
{
    struct blocker *blocker = (struct blocker *)job;
    atomic_store(&blocker->started, true);
    pthread_mutex_lock(&blocker->lock);
    pthread_mutex_unlock(&blocker->lock);
}

static void blocker_start(struct blocker *blocker, struct sr_workers *workers)
{
    *blocker = (struct blocker){.job.run = block};
    pthread_mutex_init(&blocker->lock, NULL);
    pthread_mutex_lock(&blocker->lock);
    assert_int_equal(sr_workers_submit(workers, &blocker->job, SR_JOB_INTERACTIVE), SR_OK);
    while (!atomic_load(&blocker->started))
        sched_yield();
}

static void test_deadline(void **state)
{
    (void)state;
    struct owner owner;
    struct blocker blocker;
    owner_open(&owner, 1, 8);
    blocker_start(&blocker, owner.workers);
    struct sr_signal_run *run = run_of(&owner, "a needle", 0);
    assert_int_equal(sr_signal_run_start(run, SR_SIGNAL_CONTEXT, owner_done, &owner), SR_AGAIN);
    assert_int_equal(sr_signal_run_start(run, SR_SIGNAL_KEYWORD, owner_done, &owner), SR_AGAIN);
    sr_signal_run_expire(run);
    assert_int_equal(sr_signal_run_result(run, SR_SIGNAL_KEYWORD)->status, SR_ETIMEOUT);
    assert_int_equal(sr_signal_run_result(run, SR_SIGNAL_KEYWORD)->n_hits, 0);
    assert_int_equal(sr_signal_run_start(run, SR_SIGNAL_KEYWORD, owner_done, &owner), SR_OK);
    sr_signal_run_cancel(run);
    assert_int_equal(sr_signal_run_result(run, SR_SIGNAL_KEYWORD)->status, SR_ETIMEOUT);
    pthread_mutex_unlock(&blocker.lock);
    sr_workers_free(owner.workers);
    owner.workers = NULL;
    sr_mailbox_run(&owner.mailbox);
    assert_int_equal(owner.done, 0);
    assert_int_equal(sr_signal_run_result(run, SR_SIGNAL_KEYWORD)->status, SR_ETIMEOUT);
    sr_signal_run_dispose(run);
    owner_close(&owner);
    pthread_mutex_destroy(&blocker.lock);
}

static void test_full_queue_is_busy(void **state)
{
    (void)state;
    struct owner owner;
    struct blocker blocker;
    owner_open(&owner, 1, 1);
    blocker_start(&blocker, owner.workers);
    struct sr_signal_run *run = run_of(&owner, "a needle", 0);
    assert_int_equal(sr_signal_run_start(run, SR_SIGNAL_CONTEXT, owner_done, &owner), SR_AGAIN);
    assert_int_equal(sr_signal_run_start(run, SR_SIGNAL_KEYWORD, owner_done, &owner), SR_OK);
    assert_int_equal(sr_signal_run_result(run, SR_SIGNAL_KEYWORD)->status, SR_EBUSY);
    pthread_mutex_unlock(&blocker.lock);
    owner_wait(&owner, 1);
    assert_int_equal(owner.last, SR_SIGNAL_CONTEXT);
    assert_int_equal(sr_signal_run_result(run, SR_SIGNAL_CONTEXT)->status, SR_OK);
    sr_signal_run_dispose(run);
    owner_close(&owner);
    pthread_mutex_destroy(&blocker.lock);
}

static void test_mailbox_closes_first(void **state)
{
    (void)state;
    struct owner owner;
    owner_open(&owner, 1, 8);
    struct sr_signal_run *run = run_of(&owner, "a needle", 0);
    assert_int_equal(sr_signal_run_start(run, SR_SIGNAL_KEYWORD, owner_done, &owner), SR_AGAIN);
    sr_workers_free(owner.workers);
    sr_mailbox_dispose(&owner.mailbox);
    assert_int_equal(owner.done, 0);
    assert_int_equal(sr_signal_run_result(run, SR_SIGNAL_KEYWORD)->status, SR_ECLOSED);
    sr_signal_run_dispose(run);
    owner.workers = NULL;
    sr_mailbox_init(&owner.mailbox, owner_wake, &owner);
    owner_close(&owner);
}

static void test_small_arena(void **state)
{
    (void)state;
    struct owner owner;
    owner_open(&owner, 1, 8);
    sr_arena_init(&owner.arena, 16);
    struct sr_signal_input *input = sr_signal_input_new(SR_LIT("x"), 1);
    struct sr_signal_run *run = NULL;
    struct sr_signal_env env = {NULL, NULL, 0};
    assert_int_equal(sr_signal_run_new(&run, owner.signals, input, env, &owner.arena), SR_ENOMEM);
    sr_arena_init(&owner.arena, 8192);
    assert_int_equal(sr_signal_run_new(&run, owner.signals, input, env, &owner.arena), SR_OK);
    while (sr_arena_alloc(&owner.arena, 16))
        ;
    assert_int_equal(sr_signal_run_start(run, SR_SIGNAL_KEYWORD, NULL, NULL), SR_OK);
    assert_int_equal(sr_signal_run_result(run, SR_SIGNAL_KEYWORD)->status, SR_ENOMEM);
    sr_signal_run_dispose(run);
    sr_signal_input_unref(input);
    owner_close(&owner);
}

/* Every allocation of building the rules fails once: an error comes back, nothing leaks. */
static void test_out_of_memory(void **state)
{
    (void)state;
    struct sr_config_keyword rules[4] = {keyword, keyword, keyword, keyword};
    struct sr_config_structure structure = {
        .name = "s", .source = SR_STRUCTURE_KEYWORD_SET, .keywords = STRINGS("a"), .predicate = NO_PREDICATE};
    struct sr_config all = config;
    int rc = SR_ENOMEM;
    rules[0].fuzzy_match = true;
    rules[1].method = SR_KEYWORD_BM25;
    rules[2].method = SR_KEYWORD_NGRAM;
    rules[3].method = SR_KEYWORD_REGEX;
    all.keywords = rules;
    all.n_keywords = 4;
    all.structures = &structure;
    all.n_structures = 1;
    for (size_t nth = 1; rc != SR_OK; nth++) {
        struct sr_signals *signals = NULL;
        struct sr_err err = {0};
        assert_true(nth < 1000);
        sr_mem_fail_at(nth);
        rc = sr_signals_new(&signals, &all, NULL, &err);
        sr_mem_fail_at(0);
        if (rc == SR_OK)
            sr_signals_unref(signals);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inline),
        cmocka_unit_test(test_on_workers),
        cmocka_unit_test(test_owner_cancels),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_full_queue_is_busy),
        cmocka_unit_test(test_mailbox_closes_first),
        cmocka_unit_test(test_small_arena),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
