/*
 * For the tests of store/: real servers as children of the test, records, and a backend whose calls are
 * waited for. Children die with the test; ports are free ones. Deadlines are long: they only keep a defect
 * from hanging the test.
 */
#ifndef SR_TESTS_STORE_KIT_H
#define SR_TESTS_STORE_KIT_H

#include "tests/unit/cmocka_all.h"
#include "tests/unit/operations_kit.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cache/backend.h"
#include "store/remote.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define KIT_PATIENCE_S 120

/* ---- servers ---- */

struct kit_server {
    pid_t pid;
    uint16_t port;
    char dir[128];
};

static inline void kit_sleep_ms(unsigned ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

/* Waits until the expression is true. */
#define KIT_UNTIL(condition)                                                                                 \
    do {                                                                                                     \
        for (uint64_t kit_end = sr_clock_ns() + KIT_PATIENCE_S * SR_NS_PER_S; !(condition);) {               \
            if (sr_clock_ns() > kit_end)                                                                     \
                fail_msg("did not come true: %s", #condition);                                               \
            kit_sleep_ms(5);                                                                                 \
        }                                                                                                    \
    } while (0)

static inline int kit_connect(uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    close(fd);
    return -1;
}

/* A socket that listens on a free port. */
static inline int kit_listen(uint16_t *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 64), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    *port = ntohs(at.sin_port);
    return fd;
}

/* A port that was free a moment ago, and a folder. */
static inline void kit_server_init(struct kit_server *server)
{
    *server = (struct kit_server){0};
    close(kit_listen(&server->port));
    snprintf(server->dir, sizeof server->dir, "%s/semroute-store-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(server->dir));
}

static inline bool kit_port_open(uint16_t port)
{
    int fd = kit_connect(port);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static inline void kit_server_start(struct kit_server *server, char *const argv[])
{
    char log[200];
    pid_t parent = getpid();
    snprintf(log, sizeof log, "%s/log", server->dir);
    server->pid = fork();
    if (server->pid == 0) {
        int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        dup2(fd, 1);
        dup2(fd, 2);
        execvp(argv[0], argv);
        _exit(127);
    }
    assert_true(server->pid > 0);
    for (uint64_t end = sr_clock_ns() + KIT_PATIENCE_S * SR_NS_PER_S; !kit_port_open(server->port);) {
        if (waitpid(server->pid, NULL, WNOHANG) != 0 || sr_clock_ns() > end)
            fail_msg("%s does not start: see %s", argv[0], log);
        kit_sleep_ms(20);
    }
}

static inline void kit_server_end(struct kit_server *server, int number)
{
    if (server->pid > 0) {
        kill(server->pid, number);
        waitpid(server->pid, NULL, 0);
    }
    server->pid = 0;
}

static inline void kit_server_dispose(struct kit_server *server)
{
    char command[200];
    kit_server_end(server, SIGKILL);
    snprintf(command, sizeof command, "rm -rf '%s'", server->dir);
    assert_int_equal(system(command), 0);
}

/* ---- records ---- */

static inline struct sr_cache_key kit_key(const char *word, unsigned n)
{
    struct sr_cache_key key;
    char text[64];
    snprintf(text, sizeof text, "%s %u", word, n);
    assert_int_equal(sr_sha256(sr_bytes_str(text), key.bytes), SR_OK);
    return key;
}

static inline int64_t kit_now_ms(void)
{
    return (int64_t)(sr_clock_wall_ns() / SR_NS_PER_MS);
}

/* Question `n` of a tenant's partition. Vectors are floats as they are in memory. */
static inline struct sr_cache_fields kit_fields(unsigned tenant, unsigned partition, unsigned n)
{
    struct sr_cache_fields f = {
        .created_ms = kit_now_ms(), .expires_ms = kit_now_ms() + 3600000, .form = SR_CACHE_JSON};
    unsigned id = (tenant * 1000 + partition) * 100000 + n;
    f.tenant = kit_key("tenant", tenant);
    f.user = kit_key("user", tenant * 100 + n % 3);
    f.partition = kit_key("partition", tenant * 1000 + partition);
    f.exact = kit_key("exact", id);
    f.request = kit_key("request", id);
    f.model = SR_LIT("model-a");
    f.question = SR_LIT("What is it?");
    f.answer = SR_LIT("{\"a\":\"\xff\0 bytes\"}");
    return f;
}

static inline struct sr_cache_record *kit_record(const struct sr_cache_fields *fields)
{
    struct sr_cache_record *record = NULL;
    assert_int_equal(sr_cache_record_new(&record, fields), SR_OK);
    return record;
}

/* ---- events and answers ---- */

struct kit_events {
    pthread_mutex_t lock;
    size_t loaded, removed;
    struct sr_cache_selector last; /* removed; without its model */
    struct sr_cache_key seen[4096];
};

static inline void kit_loaded(void *ctx, struct sr_cache_record *record)
{
    struct kit_events *events = ctx;
    pthread_mutex_lock(&events->lock);
    if (events->loaded < sizeof events->seen / sizeof *events->seen)
        events->seen[events->loaded] = record->f.exact;
    events->loaded++;
    pthread_mutex_unlock(&events->lock);
}

static inline void kit_removed(void *ctx, const struct sr_cache_selector *which)
{
    struct kit_events *events = ctx;
    pthread_mutex_lock(&events->lock);
    events->removed++;
    events->last = *which;
    events->last.model = (struct sr_bytes){NULL, 0};
    pthread_mutex_unlock(&events->lock);
}

static const struct sr_cache_backend_events kit_events_ops = {kit_loaded, kit_removed};

static inline size_t kit_count(struct kit_events *events, const size_t *count)
{
    size_t n;
    pthread_mutex_lock(&events->lock);
    n = *count;
    pthread_mutex_unlock(&events->lock);
    return n;
}

/* What was removed last. */
static inline struct sr_cache_selector kit_last(struct kit_events *events)
{
    pthread_mutex_lock(&events->lock);
    struct sr_cache_selector last = events->last;
    pthread_mutex_unlock(&events->lock);
    return last;
}

/* One backend of the test. */
struct kit_backend {
    struct sr_cache_backend *backend;
    struct kit_events events;
};

static inline void kit_events_init(struct kit_events *events)
{
    memset(events, 0, sizeof *events);
    pthread_mutex_init(&events->lock, NULL);
}

static inline struct sr_cache_backend_health kit_health(struct kit_backend *b)
{
    struct sr_cache_backend_health health;
    b->backend->ops->health(b->backend, &health);
    return health;
}

static inline void kit_ready(struct kit_backend *b)
{
    KIT_UNTIL(kit_health(b).state == SR_CACHE_BACKEND_READY);
}

static inline void kit_flushed(struct kit_backend *b)
{
    KIT_UNTIL(kit_health(b).queued == 0);
}

static inline void kit_close(struct kit_backend *b)
{
    b->backend->ops->close(b->backend);
    pthread_mutex_destroy(&b->events.lock);
}

#define KIT_FOUND_MAX 16

struct kit_answer {
    pthread_mutex_t lock;
    pthread_cond_t there;
    bool done;
    int status;
    size_t n;
    struct sr_cache_candidate found[KIT_FOUND_MAX];
};

static inline void kit_found(void *ctx, int status, struct sr_cache_candidate *candidates, size_t n)
{
    struct kit_answer *answer = ctx;
    pthread_mutex_lock(&answer->lock);
    assert_false(answer->done);
    assert_true(n <= KIT_FOUND_MAX);
    answer->done = true;
    answer->status = status;
    answer->n = n;
    if (n)
        memcpy(answer->found, candidates, n * sizeof *candidates);
    pthread_cond_signal(&answer->there);
    pthread_mutex_unlock(&answer->lock);
}

static inline void kit_answer_wait(struct kit_answer *answer)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += KIT_PATIENCE_S;
    pthread_mutex_lock(&answer->lock);
    while (!answer->done)
        assert_int_equal(pthread_cond_timedwait(&answer->there, &answer->lock, &until), 0);
    pthread_mutex_unlock(&answer->lock);
}

static inline void kit_answer_dispose(struct kit_answer *answer)
{
    for (size_t i = 0; i < answer->n; i++)
        sr_cache_record_unref(answer->found[i].record);
    pthread_cond_destroy(&answer->there);
    pthread_mutex_destroy(&answer->lock);
}

static inline struct kit_answer kit_answer_new(void)
{
    return (struct kit_answer){.lock = PTHREAD_MUTEX_INITIALIZER, .there = PTHREAD_COND_INITIALIZER};
}

static inline uint64_t kit_deadline(unsigned ms)
{
    return sr_clock_ns() + ms * SR_NS_PER_MS;
}

/* Asks for a key and waits: 1 found (*out is a reference when wanted), 0 not, or an error's code. */
static inline int kit_get_within(struct kit_backend *b, const struct sr_cache_key *key,
                                 struct sr_cache_record **out, unsigned ms)
{
    struct kit_answer answer = kit_answer_new();
    int rc = b->backend->ops->get(b->backend, key, kit_deadline(ms), kit_found, &answer);
    if (rc == SR_OK) {
        kit_answer_wait(&answer);
        rc = answer.status == SR_OK ? (int)answer.n : answer.status;
    }
    if (rc == 1 && out)
        *out = sr_cache_record_ref(answer.found[0].record);
    kit_answer_dispose(&answer);
    return rc;
}

static inline int kit_get(struct kit_backend *b, struct sr_cache_key key)
{
    return kit_get_within(b, &key, NULL, KIT_PATIENCE_S * 1000);
}

static inline void kit_put(struct kit_backend *b, const struct sr_cache_fields *fields)
{
    struct sr_cache_record *record = kit_record(fields);
    assert_int_equal(b->backend->ops->put(b->backend, record), SR_OK);
    sr_cache_record_unref(record);
}

static inline void kit_remove(struct kit_backend *b, const struct sr_cache_selector *which)
{
    assert_int_equal(b->backend->ops->remove(b->backend, which), SR_OK);
}

/* The same bytes as the fields. */
static inline void kit_same(const struct sr_cache_record *record, const struct sr_cache_fields *fields)
{
    struct sr_cache_record *want = kit_record(fields);
    size_t n = sr_cache_record_size(want);
    uint8_t *a = malloc(n), *b = malloc(n);
    assert_int_equal(sr_cache_record_size(record), n);
    sr_cache_record_write(record, a);
    sr_cache_record_write(want, b);
    assert_memory_equal(a, b, n);
    free(a);
    free(b);
    sr_cache_record_unref(want);
}

#endif
