/*
 * Lookups in the cache's vector index by size, beside hnswlib and FAISS on the same vectors, and beside a
 * Milvus through the cache's own client; exact hits are in cache_hit.c.
 *
 * A peer gets the least number of candidates with which it finds as many nearest vectors as the index. Rounds
 * of the index and of a peer alternate; the time of a question is the shortest of its rounds, so that
 * percentiles show hard questions and not other load. The peers' times include the call from Python, which is
 * printed too.
 */
#include "bench/cache.h"

#include "bench/bench.h"
#include "bench/cache_hit.h"
#include "bench/cache_milvus.h"
#include "bench/cache_peer.h"
#include "bench/cache_vectors.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "cache/index/vectors.h"
#include "kernel/kernel.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS        7u
#define MILVUS_ROUNDS 2u
#define MILVUS_MOST   10000u /* entries, when no size was chosen: it needs minutes for more */
#define ENTRIES_MAX   10000000u
#define BUILD_WITH    200u /* candidates of a peer's insertion, the usual choice */
#define ROWS_MAX      16u

static const size_t sizes[] = {1000, 10000, 100000, 1000000};
static const char *const peers[] = {"hnswlib", "faiss"};
#define N_SIZES (sizeof sizes / sizeof sizes[0])
#define N_PEERS (sizeof peers / sizeof peers[0])

struct options {
    const char *data, *model, *python, *milvus, *peer;
    size_t size; /* 0: all */
    unsigned build_with;
    bool json, peers, hits; /* hits: only those */
};

struct row {
    const char *who, *why; /* `why`: there are no figures */
    size_t n;
    size_t asked;                 /* questions */
    unsigned threads, candidates; /* of inserting; of a search, 0: not said */
    double inserts, bytes, recall, call_us;
    double ns[SR_CACHE_QUERIES], p50, p99, lookups; /* ns: the shortest of the rounds; the rest of them */
};

struct bench {
    struct options o;
    struct sr_cache_vectors v;
    struct row rows[ROWS_MAX];
    struct sr_cache_hits hits;
    size_t n_rows;
};

static struct row *new_row(struct bench *b, const char *who, size_t n)
{
    struct row *row = &b->rows[b->n_rows++];
    *row = (struct row){.who = who, .n = n, .asked = SR_CACHE_QUERIES, .threads = 1};
    for (size_t q = 0; q < SR_CACHE_QUERIES; q++)
        row->ns[q] = 1e18;
    return row;
}

static void summarise(struct row *row)
{
    double sum = 0;
    for (size_t q = 0; q < row->asked; q++)
        sum += row->ns[q];
    row->lookups = row->asked / sum * 1e9;
    row->p50 = sr_bench_percentile(row->ns, row->asked, 0.5) / 1e3;
    row->p99 = sr_bench_percentile(row->ns, row->asked, 0.99) / 1e3;
}

/* One round of the index; returns its recall. */
static double ask_index(const struct bench *b, const struct sr_vectors *index, struct row *row)
{
    size_t found = 0;
    for (size_t q = 0; q < SR_CACHE_QUERIES; q++) {
        struct sr_vector_hit hit;
        const uint64_t start = sr_clock_ns();
        const size_t n = sr_vectors_search(index, b->v.queries + q * b->v.dimension, 1, &hit);
        const double ns = (double)(sr_clock_ns() - start);
        row->ns[q] = ns < row->ns[q] ? ns : row->ns[q];
        found += n == 1 && hit.id == b->v.truth[q];
    }
    return (double)found / SR_CACHE_QUERIES;
}

static int build_index(const struct bench *b, struct sr_vectors **index, struct row *row)
{
    int rc = sr_vectors_new(index, b->v.dimension);
    const uint64_t start = sr_clock_ns();
    for (size_t i = 0; i < row->n && rc == SR_OK; i++)
        rc = sr_vectors_add(*index, (uint32_t)i, b->v.vectors + i * b->v.dimension);
    if (rc)
        return rc;
    row->inserts = (double)row->n / ((double)(sr_clock_ns() - start) / 1e9);
    row->bytes = (double)sr_vectors_memory(*index) / (double)row->n;
    row->recall = ask_index(b, *index, row);
    return SR_OK;
}

static void ask_peer(struct bench *b, const struct sr_vectors *index, struct row *own, const char *name)
{
    struct row *row = new_row(b, name, own->n);
    struct sr_cache_peer peer;
    double seconds = 1, bytes = 0;
    row->recall = own->recall;
    row->threads = own->n > 10000 ? (unsigned)sr_cpu_cores() : 1;
    if (sr_cache_peer_start(&peer, b->o.python, name, &b->v)) {
        row->why = "not installed: `make setup-bench`, or --python";
        return;
    }
    int rc = sr_cache_peer_build(&peer, row->n, row->threads, b->o.build_with, &seconds, &bytes);
    if (rc == SR_OK)
        rc = sr_cache_peer_tune(&peer, &row->recall, &row->candidates, &row->call_us);
    for (unsigned round = 0; round < ROUNDS && rc == SR_OK; round++) {
        ask_index(b, index, own);
        rc = sr_cache_peer_search(&peer);
        for (size_t q = 0; q < SR_CACHE_QUERIES && rc == SR_OK; q++)
            row->ns[q] = (double)b->v.times[q] < row->ns[q] ? (double)b->v.times[q] : row->ns[q];
    }
    sr_cache_peer_stop(&peer);
    row->inserts = (double)row->n / seconds;
    row->bytes = bytes / (double)row->n;
    if (rc)
        row->why = "it ended early";
    else
        summarise(row);
}

static void ask_milvus(struct bench *b, const struct row *own)
{
    struct row *row = new_row(b, "milvus-lite", own->n);
    struct sr_cache_milvus got;
    row->asked = SR_CACHE_MILVUS_QUERIES;
    static struct sr_err err;
    err = (struct sr_err){0};
    int rc = sr_cache_milvus_run(&got, b->o.milvus, &b->v, own->n, MILVUS_ROUNDS, row->ns, &err);
    row->inserts = got.inserts;
    row->bytes = got.bytes;
    row->recall = got.recall;
    if (rc)
        row->why = rc == SR_ENOENT ? "not installed: `make setup`, or --milvus" : "it failed";
    else
        summarise(row);
    if (rc && rc != SR_ENOENT)
        fprintf(stderr, "semroute bench cache: %s\n", err.message[0] ? err.message : sr_strerror(rc));
}

static bool wants(const struct bench *b, const char *peer)
{
    return b->o.peers && (!b->o.peer || strcmp(b->o.peer, peer) == 0);
}

static int measure(struct bench *b, size_t n)
{
    struct sr_vectors *index = NULL;
    struct row *own = new_row(b, "semroute", n);
    int rc = sr_cache_vectors_ask(&b->v, n);
    if (rc == SR_OK)
        rc = build_index(b, &index, own);
    for (size_t i = 0; i < N_PEERS && rc == SR_OK; i++)
        if (wants(b, peers[i]))
            ask_peer(b, index, own, peers[i]);
    if (rc == SR_OK && wants(b, "milvus") && (n <= MILVUS_MOST || b->o.size))
        ask_milvus(b, own);
    for (unsigned round = 0; round < ROUNDS && rc == SR_OK && !b->o.peers; round++)
        ask_index(b, index, own);
    if (rc == SR_OK)
        summarise(own);
    sr_vectors_free(index);
    return rc;
}

/* ---- the report ---- */

static void print_json(const struct bench *b)
{
    printf("{\"bench\":\"cache\",\"machine\":\"%s\",\"isa\":\"%s\",\"dimensions\":%zu,\"texts\":%zu,"
           "\"questions\":%u,"
           "\"rows\":[",
           sr_bench_machine(), sr_isa_name(sr_isa_current()), b->v.dimension, b->v.n_base, SR_CACHE_QUERIES);
    for (size_t i = 0; i < b->n_rows; i++) {
        const struct row *r = &b->rows[i];
        printf("%s{\"entries\":%zu,\"by\":\"%s\"", i ? "," : "", r->n, r->who);
        if (r->why)
            printf(",\"error\":\"%s\"}", r->why);
        else
            printf(",\"p50_us\":%.1f,\"p99_us\":%.1f,\"lookups_per_s\":%.0f,\"recall\":%.4f,\"bytes_per_"
                   "entry\":%.0f,"
                   "\"inserts_per_s\":%.0f,\"insert_threads\":%u,\"candidates\":%u,\"call_us\":%.1f}",
                   r->p50, r->p99, r->lookups, r->recall, r->bytes, r->inserts, r->threads, r->candidates,
                   r->call_us);
    }
    printf("],\"hits\":[");
    for (size_t i = 0; i < b->hits.n; i++)
        printf("%s{\"by\":\"%s\",\"body_bytes\":%zu,\"p50_us\":%.1f,\"p99_us\":%.1f,\"ratio\":%.2f}",
               i ? "," : "", b->hits.rows[i].who, b->hits.rows[i].body, b->hits.rows[i].p50,
               b->hits.rows[i].p99, b->hits.rows[i].ratio);
    printf("],\"goals\":{\"recall\":0.99,\"bytes_per_entry\":%zu,\"p99\":\"no worse than hnswlib's\","
           "\"hit_p50_us\":%.0f}}\n",
           b->v.dimension * 3, SR_CACHE_HIT_GOAL_US);
}

static void print_hits(const struct bench *b)
{
    static const char *const titles[] = {"by", "request body", "p50 us", "p99 us", "times GET /health"};
    static struct sr_bench_table table;
    sr_bench_table_init(&table, titles, sizeof titles / sizeof titles[0]);
    for (size_t i = 0; i < b->hits.n; i++) {
        const struct sr_cache_hit_row *r = &b->hits.rows[i];
        char size[24];
        sr_bench_table_cell(&table, "%s", r->who);
        sr_bench_table_cell(&table, "%s", r->body ? sr_bench_size(size, r->body) : "-");
        sr_bench_table_cell(&table, "%.1f", r->p50);
        sr_bench_table_cell(&table, "%.1f", r->p99);
        sr_bench_table_cell(&table, "%.2f", r->ratio);
    }
    printf("exact hits, %s; one connection that is kept, medians of repeats that take turns\n",
           sr_bench_machine());
    sr_bench_table_print(&table, stdout);
    printf("goal: an exact hit under %.0f us at p50\n", SR_CACHE_HIT_GOAL_US);
}

static void print_index(const struct bench *b)
{
    static const char *const titles[] = {"entries",   "by",         "p50 us",       "p99 us",
                                         "lookups/s", "recall@1",   "bytes/entry",  "inserts/s",
                                         "threads",   "candidates", "of it call us"};
    static struct sr_bench_table table;
    sr_bench_table_init(&table, titles, sizeof titles / sizeof titles[0]);
    for (size_t i = 0; i < b->n_rows; i++) {
        const struct row *r = &b->rows[i];
        sr_bench_table_cell(&table, "%zu", r->n);
        sr_bench_table_cell(&table, "%s", r->who);
        if (r->why) {
            sr_bench_table_cell(&table, "%s", r->why);
            for (size_t k = 3; k < sizeof titles / sizeof titles[0]; k++)
                sr_bench_table_cell(&table, "-");
            continue;
        }
        sr_bench_table_cell(&table, "%.1f", r->p50);
        sr_bench_table_cell(&table, "%.1f", r->p99);
        sr_bench_table_cell(&table, "%.0f", r->lookups);
        sr_bench_table_cell(&table, "%.3f", r->recall);
        sr_bench_table_cell(&table, "%.0f", r->bytes);
        sr_bench_table_cell(&table, "%.0f", r->inserts);
        sr_bench_table_cell(&table, "%u", r->threads);
        sr_bench_table_cell(&table, r->candidates ? "%u" : "-", r->candidates);
        sr_bench_table_cell(&table, r->call_us > 0 ? "%.1f" : "-", r->call_us);
    }
    printf("%s, %s; %zu dimensions, embeddings of %zu texts mixed and perturbed, %u questions\n",
           sr_bench_machine(), sr_isa_name(sr_isa_current()), b->v.dimension, b->v.n_base, SR_CACHE_QUERIES);
    sr_bench_table_print(&table, stdout);
    printf("goals: recall@1 at least 0.99, p99 no worse than hnswlib's with as much recall, at most %zu "
           "bytes an entry "
           "(1.5 times 16-bit vectors)\n",
           b->v.dimension * 3);
}

static int usage(FILE *out)
{
    fprintf(
        out,
        "semroute bench cache [--json] [--size N] [--hits] [--data DIR] [--model DIR] [--no-peer]\n"
        "      [--peer hnswlib|faiss|milvus] [--peer-build N] [--python PATH] [--milvus PATH]\n"
        "  Lookups in the cache's vector index with 1K, 10K, 100K and 1M entries (or N), beside hnswlib, "
        "FAISS\n  (make setup-bench) and Milvus (milvus-lite; make setup), and exact hits through the "
        "gateway\n  (--hits: only those). DIR has intent-banking77 and intent-clinc150; without it the texts "
        "are parts of\n  those that the benches ship. --peer-build: candidates of an insertion (%u).\n",
        BUILD_WITH);
    return out == stdout ? 0 : 2;
}

static bool read_options(int argc, char **argv, struct options *o)
{
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--json"))
            o->json = true;
        else if (!strcmp(argv[i], "--no-peer"))
            o->peers = false;
        else if (!strcmp(argv[i], "--hits"))
            o->hits = true;
        else if (!strcmp(argv[i], "--size") && more && atol(argv[i + 1]) > 0 &&
                 atol(argv[i + 1]) <= ENTRIES_MAX)
            o->size = (size_t)atol(argv[++i]);
        else if (!strcmp(argv[i], "--peer-build") && more && atoi(argv[i + 1]) > 0)
            o->build_with = (unsigned)atoi(argv[++i]);
        else if (!strcmp(argv[i], "--data") && more)
            o->data = argv[++i];
        else if (!strcmp(argv[i], "--model") && more)
            o->model = argv[++i];
        else if (!strcmp(argv[i], "--python") && more)
            o->python = argv[++i];
        else if (!strcmp(argv[i], "--milvus") && more)
            o->milvus = argv[++i];
        else if (!strcmp(argv[i], "--peer") && more)
            o->peer = argv[++i];
        else
            return false;
    }
    return true;
}

static int run(struct bench *b, struct sr_err *err)
{
    int rc = SR_OK;
    if (!b->o.hits)
        rc = sr_cache_vectors_new(&b->v, b->o.size ? b->o.size : sizes[N_SIZES - 1], b->o.data, b->o.model,
                                  err);
    for (size_t i = 0; i < (b->o.hits ? 0 : b->o.size ? 1 : N_SIZES) && rc == SR_OK; i++)
        rc = measure(b, b->o.size ? b->o.size : sizes[i]);
    if (rc == SR_OK && (b->o.hits || !b->o.size))
        rc = sr_cache_hits_run(&b->hits, err);
    return rc;
}

int sr_bench_cache(int argc, char **argv)
{
    static struct bench b;
    struct sr_err err = {0};
    b = (struct bench){.v = {.fd = -1},
                       .o = {.python = "bench/.venv/bin/python",
                             .milvus = "tests/.venv/bin/milvus-lite",
                             .build_with = BUILD_WITH,
                             .peers = true}};
    if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
        return usage(stdout);
    if (!read_options(argc, argv, &b.o))
        return usage(stderr);
    int rc = run(&b, &err);
    if (rc == SR_OK && b.o.json)
        print_json(&b);
    if (rc == SR_OK && !b.o.json && b.n_rows)
        print_index(&b);
    if (rc == SR_OK && !b.o.json && b.hits.n)
        print_hits(&b);
    sr_cache_vectors_dispose(&b.v);
    if (rc)
        fprintf(stderr, "semroute bench cache: %s\n", err.message[0] ? err.message : sr_strerror(rc));
    return rc ? 3 : 0;
}
