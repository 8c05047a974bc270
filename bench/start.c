/*
 * Starts this program's own server again and again, each way in turn: without a rule that needs an encoder,
 * and with the default encoder, named so that it is opened at once, in each precision.
 *
 * Ready is the first answer to GET /health, counted from the fork; memory is what is resident a moment later.
 */
#include "bench/start.h"

#include "bench/bench.h"
#include "bench/process.h"
#include "infer/locate.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPEATS_MAX      31
#define IDLE_US          300000
#define GOAL_READY_MS    1000.0
#define GOAL_RESIDENT_MB 200.0

struct way {
    const char *name, *precision; /* NULL: no encoder */
    double ready_ms[REPEATS_MAX], resident_mb[REPEATS_MAX];
};

static struct way ways[] = {{.name = "no rule needs one"},
                            {.name = "encoder, fp32", .precision = "fp32"},
                            {.name = "encoder, bf16", .precision = "bf16"},
                            {.name = "encoder, int8", .precision = "int8"}};
#define WAYS (sizeof ways / sizeof *ways)

static int write_config(const char *encoder, const char *precision, char path[64])
{
    snprintf(path, 64, "/tmp/semroute-bench-XXXXXX");
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file)
        return SR_EIO;
    fprintf(file, "version: v0.3\n");
    if (precision)
        fprintf(file,
                "global: {semroute: {inference: {precision: %s}}, model_catalog: {embeddings: {semantic: "
                "{mmbert_model_path: '%s'}}}}\n",
                precision, encoder);
    return fclose(file) ? SR_EIO : SR_OK;
}

static int start_once(struct way *way, const char *self, const char *encoder, int at)
{
    struct sr_bench_process process = {0};
    char config[64] = "", gateway[40], api[40];
    int port = sr_bench_free_port(), rc = write_config(encoder, way->precision, config);
    snprintf(gateway, sizeof gateway, "127.0.0.1:%d", port);
    snprintf(api, sizeof api, "127.0.0.1:%d", sr_bench_free_port());
    char *argv[] = {(char *)(uintptr_t)self,
                    "serve",
                    "-c",
                    config,
                    "--gateway",
                    gateway,
                    "--api",
                    api,
                    "--extproc",
                    "off",
                    "--metrics",
                    "off",
                    NULL};
    if (rc == SR_OK)
        rc = sr_bench_process_start(&process, argv, port, NULL);
    if (rc == SR_OK) {
        usleep(IDLE_US);
        way->ready_ms[at] = process.ready_ms;
        way->resident_mb[at] = sr_bench_process_resident(&process) / 1e6;
        sr_bench_process_stop(&process);
    }
    unlink(config);
    return rc;
}

static void print_json(const char *encoder, int repeats)
{
    printf("{\"bench\":\"start\",\"machine\":\"%s\",\"encoder\":%s%s%s,\"rows\":[", sr_bench_machine(),
           encoder ? "\"" : "", encoder ? encoder : "null", encoder ? "\"" : "");
    for (size_t i = 0; i < WAYS && (encoder || i == 0); i++) {
        size_t n = (size_t)repeats;
        printf("%s{\"way\":\"%s\",\"ready_ms\":%.1f,\"ready_ms_low\":%.1f,\"resident_mb\":%.1f}",
               i ? "," : "", ways[i].name, sr_bench_percentile(ways[i].ready_ms, n, 0.5),
               sr_bench_percentile(ways[i].ready_ms, n, 0.1),
               sr_bench_percentile(ways[i].resident_mb, n, 0.5));
    }
    printf("],\"goal\":{\"ready_ms\":%.0f,\"resident_mb\":%.0f}}\n", GOAL_READY_MS, GOAL_RESIDENT_MB);
}

static void print_table(const char *encoder, int repeats)
{
    static const char *const titles[] = {"way", "ready ms", "lowest", "resident MB"};
    static struct sr_bench_table table;
    sr_bench_table_init(&table, titles, 4);
    for (size_t i = 0; i < WAYS && (encoder || i == 0); i++) {
        size_t n = (size_t)repeats;
        sr_bench_table_cell(&table, "%s", ways[i].name);
        sr_bench_table_cell(&table, "%.0f", sr_bench_percentile(ways[i].ready_ms, n, 0.5));
        sr_bench_table_cell(&table, "%.0f", sr_bench_percentile(ways[i].ready_ms, n, 0));
        sr_bench_table_cell(&table, "%.1f", sr_bench_percentile(ways[i].resident_mb, n, 0.5));
    }
    printf("semroute serve, %s; medians of %d starts; encoder: %s\n", sr_bench_machine(), repeats,
           encoder ? encoder : "not there");
    sr_bench_table_print(&table, stdout);
    printf("goals: ready within %.0f ms, %.0f MB resident\n", GOAL_READY_MS, GOAL_RESIDENT_MB);
}

static int usage(FILE *out)
{
    fprintf(out, "semroute bench start [--repeats N] [--json]\n"
                 "  Starts the server with and without an encoder: time to the first answer, memory.\n");
    return out == stdout ? 0 : 2;
}

int sr_bench_start(int argc, char **argv)
{
    char self[4096], folder[SR_LOCATE_MAX];
    int repeats = 5;
    bool json = false;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return usage(stdout);
        else if (strcmp(argv[i], "--repeats") != 0 || i + 1 >= argc || (repeats = atoi(argv[++i])) < 1 ||
                 repeats > REPEATS_MAX)
            return usage(stderr);
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0)
        return 3;
    self[length] = '\0';
    const char *encoder = sr_locate_model(folder, NULL, NULL) == SR_OK ? folder : NULL;
    for (int r = 0; r < repeats; r++)
        for (size_t i = 0; i < WAYS && (encoder || i == 0); i++) {
            int rc = start_once(&ways[i], self, encoder, r);
            if (rc) {
                fprintf(stderr, "semroute bench start: %s: %s\n", ways[i].name, sr_strerror(rc));
                return 3;
            }
        }
    (json ? print_json : print_table)(encoder, repeats);
    return 0;
}
