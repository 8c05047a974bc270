/* The server's process, records with vectors, and lookups that are waited for. */
#include "bench/cache_milvus.h"

#include "bench/process.h"

#include "base/clock.h"
#include "base/hash.h"
#include "cache/index/pack.h"
#include "store/milvus/milvus.h"

#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_NS (600 * SR_NS_PER_S) /* for all records to be there */
#define LOOKUP_NS   (60 * SR_NS_PER_S)
#define HOUR_MS     3600000

struct lookup {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool done;
    int status;
    size_t id; /* of the best record; SIZE_MAX: none */
};

struct milvus {
    struct sr_bench_process process;
    struct sr_cache_backend *backend;
    struct sr_cache_key partition;
    char directory[64];
};

/* ---- the server ---- */

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *walk)
{
    (void)stat, (void)type, (void)walk;
    return remove(path);
}

static void stop(struct milvus *milvus)
{
    if (milvus->backend)
        milvus->backend->ops->close(milvus->backend);
    sr_bench_process_stop(&milvus->process);
    if (*milvus->directory)
        nftw(milvus->directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void ignore_record(void *ctx, struct sr_cache_record *record)
{
    (void)ctx, (void)record;
}

static void ignore_removal(void *ctx, const struct sr_cache_selector *selector)
{
    (void)ctx, (void)selector;
}

static int start(struct milvus *milvus, const char *program, size_t dimensions, struct sr_err *err)
{
    static const struct sr_cache_backend_events events = {ignore_record, ignore_removal};
    struct sr_milvus_options options = sr_milvus_options_defaults();
    char path[4096], port[16], data[80], server[] = "server", at[] = "--data-dir", host[] = "--host",
                                         local[] = "127.0.0.1", flag[] = "--port", log[80];
    snprintf(milvus->directory, sizeof milvus->directory, "/tmp/semroute-bench-XXXXXX");
    if (!mkdtemp(milvus->directory)) {
        *milvus->directory = '\0';
        return sr_err_set(err, SR_EIO, "no folder can be made below /tmp");
    }
    if (!realpath(program, path) || access(path, X_OK))
        return SR_ENOENT;
    const int number = sr_bench_free_port();
    snprintf(port, sizeof port, "%d", number);
    snprintf(data, sizeof data, "%s/data", milvus->directory);
    snprintf(log, sizeof log, "%s/log", milvus->directory);
    char *argv[] = {path, server, at, data, host, local, flag, port, NULL};
    int rc = sr_bench_process_start(&milvus->process, argv, number, log);
    if (rc)
        return rc == SR_ECLOSED ? SR_ENOENT : rc;
    options.host = local;
    options.port = (uint16_t)number;
    options.dimensions = dimensions;
    options.cleanup_ms = 0;
    return sr_milvus_backend(&milvus->backend, &options, &events, NULL, err);
}

static struct sr_cache_backend_health health_of(const struct milvus *milvus)
{
    struct sr_cache_backend_health health;
    milvus->backend->ops->health(milvus->backend, &health);
    return health;
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = SR_NS_PER_MS}, NULL);
}

/* Until it is there, and every one of `written` records is. */
static int wait_for(const struct milvus *milvus, size_t written, struct sr_err *err)
{
    for (const uint64_t end = sr_clock_ns() + PATIENCE_NS; sr_clock_ns() < end; nap()) {
        const struct sr_cache_backend_health health = health_of(milvus);
        if (health.dropped)
            return sr_err_set(err, SR_EIO, "milvus refused records: %s", health.message);
        if (health.state == SR_CACHE_BACKEND_READY && health.written >= written)
            return SR_OK;
    }
    return sr_err_set(err, SR_ETIMEOUT, "milvus took more than 10 minutes: %s", health_of(milvus).message);
}

/* ---- records ---- */

static int key_of(const char *word, size_t n, struct sr_cache_key *key)
{
    char text[64];
    snprintf(text, sizeof text, "%s %zu", word, n);
    return sr_sha256(sr_bytes_str(text), key->bytes);
}

static int put(const struct milvus *milvus, const struct sr_cache_vectors *v, size_t id)
{
    uint8_t packed[4 + SR_VECTOR_DIMENSION_MAX + SR_VECTOR_DIMENSION_MAX / 2];
    char question[32];
    struct sr_cache_record *record;
    const int64_t now = (int64_t)(sr_clock_wall_ns() / SR_NS_PER_MS);
    struct sr_cache_fields fields = {.partition = milvus->partition,
                                     .created_ms = now,
                                     .expires_ms = now + HOUR_MS,
                                     .form = SR_CACHE_JSON,
                                     .model = SR_LIT("bench"),
                                     .answer = SR_LIT("{}")};
    snprintf(question, sizeof question, "%zu", id);
    fields.question = sr_bytes_str(question);
    int rc = sr_vector_pack(v->vectors + id * v->dimension, v->dimension, packed);
    fields.vector = sr_bytes_of(packed, sr_vector_packed_size(v->dimension));
    if (rc == SR_OK)
        rc = key_of("exact", id, &fields.exact);
    if (rc == SR_OK)
        rc = key_of("request", id, &fields.request);
    if (rc == SR_OK)
        rc = sr_cache_record_new(&record, &fields);
    if (rc)
        return rc;
    rc = milvus->backend->ops->put(milvus->backend, record);
    sr_cache_record_unref(record);
    return rc;
}

/* All records, in groups that its queue has room for. */
static int fill(const struct milvus *milvus, const struct sr_cache_vectors *v, size_t n, struct sr_err *err)
{
    const size_t group = 2048;
    int rc = SR_OK;
    for (size_t id = 0; id < n && rc == SR_OK;) {
        for (const size_t end = id + group < n ? id + group : n; id < end && rc == SR_OK; id++)
            rc = put(milvus, v, id);
        if (rc == SR_OK)
            rc = wait_for(milvus, id, err);
    }
    return rc;
}

/* ---- lookups ---- */

static void found(void *ctx, int status, struct sr_cache_candidate *candidates, size_t n)
{
    struct lookup *lookup = ctx;
    char digits[32] = "";
    pthread_mutex_lock(&lookup->lock);
    lookup->status = status;
    lookup->id = SIZE_MAX;
    if (n && candidates[0].record->f.question.n < sizeof digits) {
        memcpy(digits, candidates[0].record->f.question.p, candidates[0].record->f.question.n);
        lookup->id = strtoul(digits, NULL, 10);
    }
    for (size_t i = 0; i < n; i++)
        sr_cache_record_unref(candidates[i].record);
    lookup->done = true;
    pthread_cond_signal(&lookup->ended);
    pthread_mutex_unlock(&lookup->lock);
}

static int search(const struct milvus *milvus, struct lookup *lookup, const float *unit, size_t dimension)
{
    lookup->done = false;
    int rc = milvus->backend->ops->search(milvus->backend, &milvus->partition, unit, dimension, 1,
                                          sr_clock_ns() + LOOKUP_NS, found, lookup);
    if (rc)
        return rc;
    pthread_mutex_lock(&lookup->lock);
    while (!lookup->done)
        pthread_cond_wait(&lookup->ended, &lookup->lock);
    pthread_mutex_unlock(&lookup->lock);
    return lookup->status;
}

static int ask(const struct milvus *milvus, const struct sr_cache_vectors *v, double *ns, double *recall)
{
    struct lookup lookup = {.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};
    size_t right = 0;
    int rc = SR_OK;
    for (size_t q = 0; q < SR_CACHE_MILVUS_QUERIES && rc == SR_OK; q++) {
        const uint64_t begin = sr_clock_ns();
        rc = search(milvus, &lookup, v->queries + q * v->dimension, v->dimension);
        const double took = (double)(sr_clock_ns() - begin);
        ns[q] = took < ns[q] ? took : ns[q];
        right += lookup.id == v->truth[q];
    }
    *recall = (double)right / SR_CACHE_MILVUS_QUERIES;
    return rc;
}

int sr_cache_milvus_run(struct sr_cache_milvus *out, const char *program, const struct sr_cache_vectors *v,
                        size_t n, unsigned rounds, double ns[SR_CACHE_MILVUS_QUERIES], struct sr_err *err)
{
    struct milvus milvus = {.process = {0}};
    *out = (struct sr_cache_milvus){0};
    int rc = start(&milvus, program, v->dimension, err);
    if (rc == SR_OK)
        rc = key_of("partition", 0, &milvus.partition);
    if (rc == SR_OK)
        rc = wait_for(&milvus, 0, err);
    const double before = sr_bench_process_resident(&milvus.process);
    const uint64_t begin = sr_clock_ns();
    if (rc == SR_OK)
        rc = fill(&milvus, v, n, err);
    out->inserts = (double)n / ((double)(sr_clock_ns() - begin) / 1e9);
    for (unsigned round = 0; round < rounds && rc == SR_OK; round++)
        rc = ask(&milvus, v, ns, &out->recall);
    out->bytes = (sr_bench_process_resident(&milvus.process) - before) / (double)n;
    stop(&milvus);
    return rc;
}
