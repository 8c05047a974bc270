/*
 * Closed-loop clients on the inference engine: each submits a text of its own length, waits for the answer,
 * and submits the next.
 *
 * The same clients with batches and without (every text a batch of its own) alternate several times, so that
 * other load affects both. Texts are random ids, in the mixture of lengths that chat has: most are short,
 * some fill the encoder. Each is classified by every head that classifies texts (the shipped neural
 * classifier's on the default encoder), or embedded where there is none. What is refused or fails is
 * unclassified and counted; a client that is refused stops.
 */
#include "bench/concurrency.h"

#include "base/clock.h"
#include "base/mem.h"
#include "bench/bench.h"
#include "bench/options.h"
#include "infer/engine/engine.h"
#include "infer/locate.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CLIENTS_MAX 128u
#define SAMPLES_MAX 200000u
#define ROUNDS      3

static const unsigned clients_of[] = {1, 8, 32, 128};
#define N_ROWS (sizeof clients_of / sizeof clients_of[0])

/* Tokens and how many of a hundred texts have so many. */
static const struct {
    size_t tokens;
    unsigned share;
} lengths[] = {{16, 30}, {32, 25}, {64, 20}, {128, 15}, {256, 8}, {512, 2}};

struct options {
    const char *model, *heads, *precision;
    double seconds;
    unsigned threads;
    bool json;
};

/* What one mode measured for one number of clients. */
struct figure {
    double *ms;                         /* [SAMPLES_MAX] from submission to answer */
    size_t n, refused, failed, batched; /* batched: sum of the jobs of each text's batch */
    double seconds;
};

struct client {
    struct sr_infer_job job;
    struct run *run;
    struct client *next; /* among those that have their answer */
    uint64_t since_ns, seed;
    int status;
    float *out;
};

struct run {
    struct sr_encoder *encoder;
    struct sr_infer *infer;
    const int32_t *ids;
    size_t max_tokens;
    struct client clients[CLIENTS_MAX];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct client *ready; /* answered, under the lock */
};

static void answered(struct sr_infer_job *job, int status)
{
    struct client *client = job->owner;
    struct run *run = client->run;
    client->status = status;
    pthread_mutex_lock(&run->lock);
    client->next = run->ready;
    run->ready = client;
    pthread_cond_signal(&run->changed);
    pthread_mutex_unlock(&run->lock);
}

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33);
}

static size_t choose_length(struct client *client)
{
    unsigned left = next_random(&client->seed) % 100;
    size_t i = 0;
    while (left >= lengths[i].share)
        left -= lengths[i++].share;
    return lengths[i].tokens < client->run->max_tokens ? lengths[i].tokens : client->run->max_tokens;
}

static int submit(struct client *client)
{
    struct run *run = client->run;
    struct sr_encoder_item *item = &client->job.item;
    item->n_ids = choose_length(client);
    item->ids = run->ids + next_random(&client->seed) % run->max_tokens;
    client->since_ns = sr_clock_ns();
    return sr_infer_submit(run->infer, &client->job);
}

static struct client *await_one(struct run *run)
{
    pthread_mutex_lock(&run->lock);
    while (!run->ready)
        pthread_cond_wait(&run->changed, &run->lock);
    struct client *client = run->ready;
    run->ready = client->next;
    pthread_mutex_unlock(&run->lock);
    return client;
}

static void count(struct figure *figure, const struct client *client)
{
    if (client->status)
        figure->failed++;
    else if (figure->n < SAMPLES_MAX) {
        figure->ms[figure->n++] = (double)(sr_clock_ns() - client->since_ns) / 1e6;
        figure->batched += client->job.batch_jobs;
    }
}

/* Runs n clients for some seconds, and until the last of them has its answer. */
static void run_clients(struct run *run, unsigned n, double seconds, struct figure *figure)
{
    uint64_t start = sr_clock_ns(), end = start + (uint64_t)(seconds * 1e9);
    unsigned under_way = 0;
    for (unsigned i = 0; i < n; i++)
        if (submit(&run->clients[i]) == SR_OK)
            under_way++;
        else
            figure->refused++;
    while (under_way) {
        struct client *client = await_one(run);
        under_way--;
        count(figure, client);
        if (sr_clock_ns() >= end)
            continue;
        if (submit(client) == SR_OK)
            under_way++;
        else
            figure->refused++;
    }
    figure->seconds += (double)(sr_clock_ns() - start) / 1e9;
}

static void print_row(const struct options *o, struct sr_bench_table *table, unsigned n,
                      struct figure figures[2])
{
    double rate[2], p50[2], p99[2];
    for (int mode = 0; mode < 2; mode++) {
        struct figure *f = &figures[mode];
        rate[mode] = (double)f->n / f->seconds;
        p50[mode] = f->n ? sr_bench_percentile(f->ms, f->n, 0.5) : 0;
        p99[mode] = f->n ? sr_bench_percentile(f->ms, f->n, 0.99) : 0;
    }
    double together = figures[0].n ? (double)figures[0].batched / (double)figures[0].n : 0;
    size_t lost = figures[0].failed + figures[1].failed, refused = figures[0].refused + figures[1].refused;
    if (o->json) {
        printf("%s{\"clients\":%u,\"batched\":{\"per_s\":%.1f,\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"jobs\":%.2f},"
               "\"alone\":{\"per_s\":%.1f,\"p50_ms\":%.3f,\"p99_ms\":%.3f},\"unclassified\":%zu,"
               "\"refused\":%zu,\"failed\":%zu}",
               n == clients_of[0] ? "" : ",", n, rate[0], p50[0], p99[0], together, rate[1], p50[1], p99[1],
               refused + lost, refused, lost);
        return;
    }
    sr_bench_table_cell(table, "%u", n);
    for (int mode = 0; mode < 2; mode++) {
        sr_bench_table_cell(table, "%.0f", rate[mode]);
        sr_bench_table_cell(table, "%.2f", p50[mode]);
        sr_bench_table_cell(table, "%.2f", p99[mode]);
    }
    sr_bench_table_cell(table, "%.2f", rate[1] > 0 ? rate[0] / rate[1] : 0);
    sr_bench_table_cell(table, "%.1f", together);
    sr_bench_table_cell(table, "%zu", refused + lost);
}

static int measure(const struct options *o, struct run *run, struct sr_infer *engines[2])
{
    static struct sr_bench_table table;
    static const char *const titles[] = {"clients", "batched/s", "p50 ms", "p99 ms", "alone/s",
                                         "p50 ms",  "p99 ms",    "ratio",  "jobs",   "unclassified"};
    struct figure figures[2] = {{0}};
    for (int mode = 0; mode < 2; mode++) {
        figures[mode].ms = sr_mem_calloc(SAMPLES_MAX, sizeof *figures[mode].ms);
        if (!figures[mode].ms) {
            sr_mem_free(figures[0].ms);
            return SR_ENOMEM;
        }
    }
    sr_bench_table_init(&table, titles, sizeof titles / sizeof titles[0]);
    for (size_t row = 0; row < N_ROWS; row++) {
        for (int mode = 0; mode < 2; mode++)
            figures[mode] = (struct figure){.ms = figures[mode].ms};
        for (int round = 0; round < ROUNDS; round++)
            for (int mode = 0; mode < 2; mode++) {
                run->infer = engines[mode];
                run_clients(run, clients_of[row], o->seconds / ROUNDS, &figures[mode]);
            }
        print_row(o, &table, clients_of[row], figures);
    }
    if (!o->json)
        sr_bench_table_print(&table, stdout);
    sr_mem_free(figures[0].ms);
    sr_mem_free(figures[1].ms);
    return SR_OK;
}

static size_t count_heads(uint32_t heads)
{
    size_t n = 0;
    for (; heads; heads >>= 1)
        n += heads & 1;
    return n;
}

/* Every head that gives one answer for a text, or the embedding where there is none. */
static uint32_t choose_heads(const struct sr_encoder_info *info, size_t *floats)
{
    uint32_t heads = 0;
    *floats = 0;
    for (int pass = 0; pass < 2 && !heads; pass++)
        for (size_t h = 0; h < info->n_heads; h++)
            if (info->heads[h].kind == (pass ? SR_HEAD_EMBEDDING : SR_HEAD_SEQUENCE)) {
                heads |= UINT32_C(1) << h;
                *floats += info->heads[h].n_labels;
            }
    return heads;
}

static int make_clients(struct run *run, float **room)
{
    const struct sr_encoder_info *info = sr_encoder_info(run->encoder);
    size_t floats;
    uint32_t heads = choose_heads(info, &floats);
    *room = sr_mem_calloc(CLIENTS_MAX * floats, sizeof **room);
    if (!*room)
        return SR_ENOMEM;
    for (unsigned i = 0; i < CLIENTS_MAX; i++) {
        struct client *client = &run->clients[i];
        float *out = *room + i * floats;
        *client = (struct client){.run = run, .seed = i + 1};
        client->job = (struct sr_infer_job){.encoder = run->encoder, .done = answered, .owner = client};
        client->job.item.heads = heads;
        for (size_t h = 0; h < info->n_heads; h++)
            if (heads >> h & 1) {
                client->job.item.out[h] = out;
                out += info->heads[h].n_labels;
            }
    }
    return SR_OK;
}

static int with_encoder(const struct options *o, struct sr_encoder *encoder, struct sr_err *err)
{
    static struct run run;
    const struct sr_encoder_info *info = sr_encoder_info(encoder);
    struct sr_infer_options options = sr_infer_defaults();
    struct sr_infer *engines[2] = {NULL, NULL};
    float *room = NULL;
    run = (struct run){.encoder = encoder, .max_tokens = info->max_tokens < 512 ? info->max_tokens : 512};
    int32_t *ids = sr_mem_calloc(2 * run.max_tokens, sizeof *ids);
    uint64_t seed = 1;
    for (size_t i = 0; ids && i < 2 * run.max_tokens; i++)
        ids[i] = (int32_t)(next_random(&seed) % info->vocab);
    run.ids = ids;
    pthread_mutex_init(&run.lock, NULL);
    pthread_cond_init(&run.changed, NULL);
    options.threads = o->threads;
    int rc = ids ? make_clients(&run, &room) : SR_ENOMEM;
    if (rc == SR_OK)
        rc = sr_infer_new(&engines[0], &options, err);
    options.batch_tokens = 1;
    options.wait_ns = 0;
    if (rc == SR_OK)
        rc = sr_infer_new(&engines[1], &options, err);
    if (rc == SR_OK) {
        printf(o->json
                   ? "{\"bench\":\"concurrency\",\"machine\":\"%s\",\"model\":\"%s\",\"precision\":\"%s\","
                     "\"threads\":%u,\"heads\":%zu,\"rows\":["
                   : "%s\n%s, %s, %u threads, heads: %zu; 16 to 512 tokens a text\n",
               sr_bench_machine(), info->folder, o->precision, sr_infer_stats(engines[0]).threads,
               count_heads(run.clients[0].job.item.heads));
        rc = measure(o, &run, engines);
        printf(o->json ? "]}\n" : "");
    }
    sr_infer_free(engines[0]);
    sr_infer_free(engines[1]);
    pthread_cond_destroy(&run.changed);
    pthread_mutex_destroy(&run.lock);
    sr_mem_free(room);
    sr_mem_free(ids);
    return rc;
}

static const char USAGE[] =
    "semroute bench concurrency [--json] [--model NAME|FOLDER] [--heads NAME|FOLDER]\n"
    "                           [--precision fp32|bf16|int8] [--threads N] [--seconds S]\n"
    "  Texts a second of 1 and more clients through one encoder, each alone and in batches.\n"
    "  Defaults: the default model with its heads, --precision fp32, all cores, --seconds 6\n";

static int usage(const char *what)
{
    return sr_bench_wrong("concurrency", what, USAGE);
}

static bool read_options(int argc, char **argv, struct options *o)
{
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--json"))
            o->json = true;
        else if (!strcmp(argv[i], "--model") && more)
            o->model = argv[++i];
        else if (!strcmp(argv[i], "--heads") && more)
            o->heads = argv[++i];
        else if (!strcmp(argv[i], "--precision") && more)
            o->precision = argv[++i];
        else if (!strcmp(argv[i], "--threads") && more)
            o->threads = (unsigned)atoi(argv[++i]);
        else if (!strcmp(argv[i], "--seconds") && more)
            o->seconds = atof(argv[++i]);
        else
            return usage(argv[i]) == 0;
    }
    if (!(o->seconds > 0 && o->seconds <= 600) || o->threads > SR_TEAM_MAX)
        return usage("--seconds is above 0 and at most 600, --threads at most 64") == 0;
    return true;
}

int sr_bench_concurrency(int argc, char **argv)
{
    static const char *const precisions[] = {"fp32", "bf16", "int8"};
    struct options o = {.precision = precisions[0], .seconds = 6};
    struct sr_encoder_options open = {.precision = SR_PRECISION_FP32};
    struct sr_encoder *encoder = NULL;
    struct sr_err err = {0};
    char folder[SR_LOCATE_MAX], neural[SR_LOCATE_MAX];
    const char *const heads[] = {neural};
    if (sr_bench_is_help(argc, argv, USAGE))
        return 0;
    if (!read_options(argc, argv, &o))
        return 2;
    int precision = 0;
    while (precision < 3 && strcmp(precisions[precision], o.precision) != 0)
        precision++;
    if (precision == 3)
        return usage("--precision is fp32, bf16 or int8");
    open.precision = (enum sr_precision)precision;
    int rc = sr_locate_model(folder, o.model, &err);
    if (rc == SR_OK && o.heads)
        rc = sr_locate_model(neural, o.heads, &err);
    if (rc == SR_OK && (o.heads || (!o.model && sr_locate_model(neural, "neural", NULL) == SR_OK))) {
        open.heads = heads;
        open.n_heads = 1;
    }
    if (rc == SR_OK)
        rc = sr_encoder_open(&encoder, folder, &open, &err);
    if (rc == SR_OK)
        rc = with_encoder(&o, encoder, &err);
    sr_encoder_unref(encoder);
    if (rc)
        fprintf(stderr, "semroute bench concurrency: %s\n", err.message[0] ? err.message : sr_strerror(rc));
    return rc ? 3 : 0;
}
