/* The load on a thread of its own; this one changes the workers. */
#include "bench/pool_soak.h"

#include "base/clock.h"
#include "bench/bench.h"
#include "bench/load.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS 64
#define CHANGE_MS   500 /* between two changes of the workers */
#define SHOWN_MAX   20  /* errors that are told of */

/* ---- requests --------------------------------------------------------------------------------------- */

static int make_request(char *out, size_t size)
{
    static const char body[] =
        "{\"model\":\"pool\",\"messages\":[{\"role\":\"user\",\"content\":\"How far is it?\"}]}";
    return snprintf(
        out, size,
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        "content-length: %zu\r\n\r\n%s",
        sizeof body - 1, body);
}

/* PUT of an order at worker 0, which is never killed. What it answers does not matter. */
static void order(const struct sr_bench_site *site, const char *target)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)site->admin_port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char text[256];
    int n = snprintf(text, sizeof text,
                     "PUT %s HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n", target);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0 &&
        send(fd, text, (size_t)n, MSG_NOSIGNAL) == n)
        while (recv(fd, text, sizeof text, 0) > 0)
            ;
    if (fd >= 0)
        close(fd);
}

/* ---- changes ---------------------------------------------------------------------------------------- */

/* In turn a worker is killed for a while, answers 500 for a while, leaves the configuration, joins it again.
 */
static void change(const struct sr_bench_site *site, const char *policy, unsigned at)
{
    unsigned worker = 1 + at / 4 % (SR_BENCH_POOL_WORKERS - 1);
    char target[64];
    switch (at % 4) {
    case 0:
        snprintf(target, sizeof target, "/mock/kill?worker=%u&for_ms=700", worker);
        order(site, target);
        break;
    case 1:
        snprintf(target, sizeof target, "/mock/fail?worker=%u&status=500&for_ms=300",
                 1 + worker % (SR_BENCH_POOL_WORKERS - 1));
        order(site, target);
        break;
    default:
        if (sr_bench_site_configure(site, policy, at % 4 == 2 ? ~(1u << worker) : ~0u) == SR_OK)
            kill(site->router.pid, SIGHUP);
    }
}

struct load {
    struct sr_bench_load load;
    atomic_bool over;
    atomic_uint changes; /* begun so far */
    uint64_t begin, shown;
    int rc;
};

/* Tells of an answer that is an error: what was changed last, and what it says. */
static void show_error(void *ctx, struct sr_bytes answer)
{
    static const char *const CHANGES[] = {"killed", "answers 500", "left", "joined"};
    struct load *load = ctx;
    unsigned n = atomic_load(&load->changes);
    struct sr_bytes body = sr_bytes_of(answer.p + answer.n, 0);
    const char *end = memmem(answer.p, answer.n, "\r\n\r\n", 4);
    if (end)
        body = sr_bytes_of(end + 4, answer.n - (size_t)(end + 4 - answer.p));
    if (load->shown++ < SHOWN_MAX)
        fprintf(stderr, "error after %.3f s, change %u (a worker %s): %.12s: %.*s\n",
                (double)(sr_clock_ns() - load->begin) / 1e9, n, n ? CHANGES[(n - 1) % 4] : "none", answer.p,
                (int)(body.n < 300 ? body.n : 300), body.p);
}

static void *run_load(void *ctx)
{
    struct load *load = ctx;
    load->rc = sr_bench_load_run(&load->load);
    atomic_store(&load->over, true);
    return NULL;
}

static void watch(struct sr_bench_soak *soak, struct sr_bench_site *site, struct load *load)
{
    uint64_t begin = sr_clock_ns(), next = begin + CHANGE_MS * SR_NS_PER_MS;
    while (!atomic_load(&load->over)) {
        usleep(20000);
        uint64_t now = sr_clock_ns();
        if (soak->resident_mb <= 0 && (double)(now - begin) > soak->seconds * 1e8)
            soak->resident_mb = sr_bench_process_resident(&site->router) / 1e6;
        if (!soak->churn || now < next)
            continue;
        atomic_fetch_add(&load->changes, 1);
        change(site, soak->policy, soak->changes++);
        next = now + CHANGE_MS * SR_NS_PER_MS;
    }
}

int sr_bench_soak_run(struct sr_bench_soak *soak, struct sr_bench_site *site)
{
    struct sr_bench_way way = {"semroute", soak->policy};
    char request[512];
    struct load load = {.load = {.connections = CONNECTIONS, .rate = soak->rate, .seconds = soak->seconds}};
    pthread_t thread;
    int rc = sr_bench_site_start(site, &way, 0, 1);
    if (rc != SR_OK)
        return rc;
    load.load.port = site->port;
    load.load.failed = show_error;
    load.load.ctx = &load;
    load.begin = sr_clock_ns();
    load.load.request = sr_bytes_of(request, (size_t)make_request(request, sizeof request));
    double cpu = sr_bench_site_cpu(site);
    if (pthread_create(&thread, NULL, run_load, &load) != 0)
        return SR_EIO;
    watch(soak, site, &load);
    pthread_join(thread, NULL);
    soak->cpu_seconds = sr_bench_site_cpu(site) - cpu;
    soak->resident_end_mb = sr_bench_process_resident(&site->router) / 1e6;
    soak->answers = load.load.answers;
    soak->errors = load.load.errors;
    soak->refused = load.load.refused;
    soak->elapsed = load.load.elapsed;
    soak->p50_us = load.load.p50_us;
    soak->p99_us = load.load.p99_us;
    return load.rc;
}

void sr_bench_soak_print(const struct sr_bench_soak *soak, bool json)
{
    double rate = soak->elapsed > 0 ? (double)soak->answers / soak->elapsed : 0;
    double cores = soak->elapsed > 0 ? soak->cpu_seconds / soak->elapsed : 0;
    if (json)
        printf(
            "{\"bench\":\"pool\",\"machine\":\"%s\",\"policy\":\"%s\",\"churn\":%s,\"wanted_rate\":%.0f,"
            "\"seconds\":%.1f,\"answers\":%llu,\"errors\":%llu,\"refused\":%llu,\"changes\":%u,\"rate\":%.1f,"
            "\"p50_us\":%.0f,\"p99_us\":%.0f,\"cores\":%.2f,\"resident_mb\":%.1f,\"resident_end_mb\":%.1f}\n",
            sr_bench_machine(), soak->policy, soak->churn ? "true" : "false", soak->rate, soak->elapsed,
            (unsigned long long)soak->answers, (unsigned long long)soak->errors,
            (unsigned long long)soak->refused, soak->changes, rate, soak->p50_us, soak->p99_us, cores,
            soak->resident_mb, soak->resident_end_mb);
    else
        printf("%s\n%s over %d mock workers: %.0f requests a second for %.0f s (wanted: %.0f), load, router "
               "and\n"
               "workers on this machine; the router used %.2f cores\n"
               "%llu answers, %llu errors, %llu refused, %u changes of the workers\n"
               "from the time that a request was due: p50 %.0f us, p99 %.0f us\n"
               "resident after a tenth %.1f MB, at the end %.1f MB\n",
               sr_bench_machine(), soak->policy, SR_BENCH_POOL_WORKERS, rate, soak->elapsed, soak->rate,
               cores, (unsigned long long)soak->answers, (unsigned long long)soak->errors,
               (unsigned long long)soak->refused, soak->changes, soak->p50_us, soak->p99_us,
               soak->resident_mb, soak->resident_end_mb);
}
