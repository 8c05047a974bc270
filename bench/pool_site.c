/* Command lines and configurations. */
#include "bench/pool_site.h"

#include "base/buf.h"
#include "config/section/section.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARGS_MAX     64
#define BLOCKS_LEAST ((size_t)64) /* that a policy can be told of */

/* ---- what there is ---------------------------------------------------------------------------------- */

static const struct sr_field *pool_field(const char *key)
{
    for (size_t i = 0; i < sr_section_pool.n_fields; i++)
        if (strcmp(sr_section_pool.fields[i].key, key) == 0)
            return &sr_section_pool.fields[i];
    return NULL;
}

size_t sr_bench_pool_ways(struct sr_bench_way ways[SR_BENCH_POOL_WAYS_MAX], const char *peer)
{
    static const char *const peers[] = {"round_robin", "cache_aware"};
    const struct sr_enum_word *words = pool_field("policy")->words;
    size_t n = 0;
    for (; words->word && n < SR_BENCH_POOL_WAYS_MAX - 2; words++)
        ways[n++] = (struct sr_bench_way){"semroute", words->word};
    for (size_t i = 0; peer && i < 2; i++)
        ways[n++] = (struct sr_bench_way){"vllm-router", peers[i]};
    return n;
}

/* ---- processes -------------------------------------------------------------------------------------- */

int sr_bench_site_init(struct sr_bench_site *site, const char *peer)
{
    *site = (struct sr_bench_site){.peer = peer};
    ssize_t n = readlink("/proc/self/exe", site->self, sizeof site->self - 1);
    snprintf(site->directory, sizeof site->directory, "/tmp/semroute-bench-XXXXXX");
    return n > 0 && mkdtemp(site->directory) ? SR_OK : SR_EIO;
}

#define PLAIN_ARGS 8 /* of a mock without engines */

static int start_mock(struct sr_bench_site *site, size_t blocks, unsigned speed)
{
    char port[16], count[24], number[24], fast[16];
    site->admin_port = sr_bench_free_ports(3 * SR_BENCH_POOL_WORKERS);
    if (!site->admin_port)
        return SR_EBUSY;
    snprintf(port, sizeof port, "%d", site->admin_port);
    snprintf(count, sizeof count, "%d", SR_BENCH_POOL_WORKERS);
    snprintf(number, sizeof number, "%zu", blocks);
    snprintf(fast, sizeof fast, "%u", speed);
    char events[16], replay[16];
    snprintf(events, sizeof events, "%d", site->admin_port + SR_BENCH_POOL_WORKERS);
    snprintf(replay, sizeof replay, "%d", site->admin_port + 2 * SR_BENCH_POOL_WORKERS);
    const char *argv[] = {
        site->self, "mock",        "--port",   port,          "--workers", count, "--model",
        "pool",     "--engine",    "--blocks", number,        "--speed",   fast,  "--stream-interval",
        "1000000",  "--kv-events", events,     "--kv-replay", replay,      NULL};
    if (!blocks)
        argv[PLAIN_ARGS] = NULL;
    return sr_bench_process_start(&site->mock, (char *const *)(uintptr_t)argv, site->admin_port, NULL);
}

/* What the workers' caches are like, and where they tell of them, as far as this configuration has such keys.
 */
static void put_pool(const struct sr_bench_site *site, const char *policy, FILE *out)
{
    fprintf(out, "      - model: pool\n        policy: %s\n", policy);
    if (site->blocks && pool_field("prefix"))
        fprintf(out, "        prefix: {blocks: %zu}\n",
                site->blocks < BLOCKS_LEAST ? BLOCKS_LEAST : site->blocks);
    if (site->blocks && pool_field("metrics"))
        fprintf(out, "        metrics: {interval: 500ms}\n");
    if (site->blocks && pool_field("kv_events"))
        fprintf(
            out,
            "        kv_events: {endpoint: \"tcp://{host}:{port+%d}\", replay: \"tcp://{host}:{port+%d}\"}\n",
            SR_BENCH_POOL_WORKERS, 2 * SR_BENCH_POOL_WORKERS);
}

int sr_bench_site_configure(const struct sr_bench_site *site, const char *policy, unsigned members)
{
    char path[128], other[136];
    snprintf(path, sizeof path, "%s/semroute.yaml", site->directory);
    snprintf(other, sizeof other, "%s.new", path);
    FILE *out = fopen(other, "we");
    if (!out)
        return SR_EIO;
    fprintf(out, "version: v0.3\nproviders:\n  defaults: {default_model: pool}\n  models:\n    - name: pool\n"
                 "      reliability: {retry_count: 3, retry_on: \"connect-failure,reset,5xx,429,timeout\"}\n"
                 "      backend_refs:\n");
    for (int i = 0; i < SR_BENCH_POOL_WORKERS; i++)
        if (members & 1u << i)
            fprintf(out, "        - {name: w%d, endpoint: \"127.0.0.1:%d\"}\n", i, site->admin_port + i);
    fprintf(out, "routing: {modelCards: [{name: pool}]}\nglobal:\n  semroute:\n    pools:\n");
    put_pool(site, policy, out);
    bool good = !ferror(out);
    return fclose(out) == 0 && good && rename(other, path) == 0 ? SR_OK : SR_EIO;
}

static int start_semroute(struct sr_bench_site *site, const char *policy)
{
    char path[128], log[128], door[32];
    snprintf(path, sizeof path, "%s/semroute.yaml", site->directory);
    snprintf(log, sizeof log, "%s/router.log", site->directory);
    snprintf(door, sizeof door, "127.0.0.1:%d", site->port);
    int rc = sr_bench_site_configure(site, policy, UINT_MAX);
    if (rc != SR_OK)
        return rc;
    const char *argv[] = {site->self, "serve",     "-c",  path,        "--gateway", door, "--api",
                          "off",      "--metrics", "off", "--extproc", "off",       NULL};
    return sr_bench_process_start(&site->router, (char *const *)(uintptr_t)argv, site->port, log);
}

static int start_peer(struct sr_bench_site *site, const char *policy)
{
    const char *argv[ARGS_MAX] = {site->peer};
    char urls[SR_BENCH_POOL_WORKERS][40], port[16], metrics[16], log[128];
    size_t n = 1;
    snprintf(log, sizeof log, "%s/router.log", site->directory);
    snprintf(port, sizeof port, "%d", site->port);
    snprintf(metrics, sizeof metrics, "%d", sr_bench_free_port());
    const char *const options[] = {"--host",       "127.0.0.1", "--port", port,          "--prometheus-port",
                                   metrics,        "--policy",  policy,   "--log-level", "warning",
                                   "--worker-urls"};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        argv[n++] = options[i];
    for (int i = 0; i < SR_BENCH_POOL_WORKERS; i++) {
        snprintf(urls[i], sizeof urls[i], "http://127.0.0.1:%d", site->admin_port + i);
        argv[n++] = urls[i];
    }
    return sr_bench_process_start(&site->router, (char *const *)(uintptr_t)argv, site->port, log);
}

int sr_bench_site_start(struct sr_bench_site *site, const struct sr_bench_way *way, size_t blocks,
                        unsigned speed)
{
    site->blocks = blocks;
    int rc = start_mock(site, blocks, speed);
    if (rc != SR_OK)
        return rc;
    site->port = sr_bench_free_port();
    return strcmp(way->router, "semroute") == 0 ? start_semroute(site, way->policy)
                                                : start_peer(site, way->policy);
}

double sr_bench_site_cpu(const struct sr_bench_site *site)
{
    return sr_bench_process_cpu(&site->router);
}

void sr_bench_site_stop(struct sr_bench_site *site)
{
    sr_bench_process_stop(&site->router);
    sr_bench_process_stop(&site->mock);
}

void sr_bench_site_dispose(struct sr_bench_site *site)
{
    static const char *const names[] = {"semroute.yaml", "semroute.yaml.new", "router.log"};
    sr_bench_site_stop(site);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", site->directory, names[i]);
        remove(path);
    }
    rmdir(site->directory);
}
