/*
 * Times the linear tier on synthetic prompts of 64 B to 64 KB, one thread.
 *
 * Each figure is a median over repeats, each of which takes another piece of 1 MB of text: a core that meets
 * the same text again foresees its branches, and a classifier looks twice as fast as it is. Two limits of the
 * same core are printed with it: reading every byte once through a serial hash step, and one independent
 * random read in 8 MB per n-gram of the text. A classifier of this kind cannot be faster than the first and
 * should not be slower than the second.
 */
#include "bench/classify.h"

#include "bench/options.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "model/linear/linear.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_MAX_BYTES ((size_t)64 << 10)
#define POOL_BYTES     ((size_t)1 << 20)
#define REPEATS_MAX    4096
#define GRAMS_PER_BYTE 5 /* character n-grams that end at a byte, of 2 to 6; words come on top */

struct options {
    const char *model;
    double seconds;
    bool json;
};

struct figure {
    size_t bytes;
    double us, scan_us, lookup_us;
};

/* Words of many fields, so that the texts hit and miss the table as real ones do. */
static const char *const words[] = {
    "please",    "explain",     "how",      "the",      "integral",  "of",       "a",          "function",
    "relates",   "to",          "force",    "and",      "market",    "prices",   "in",         "cell",
    "membranes", "court",       "ruled",    "that",     "contract",  "memory",   "allocation", "Python",
    "emperor",   "treaty",      "patients", "with",     "chronic",   "pain",     "acid",       "solution",
    "at",        "25",          "degrees",  "voltage",  "across",    "resistor", "is",         "why",
    "does",      "utilitarian", "ethics",   "allow",    "behaviour", "of",       "children",   "zqxv",
    "weather",   "tomorrow",    "recipe",   "for",      "bread",     "x^2",      "=",          "3.14",
    "SELECT",    "from",        "café",     "光合作用",
};

static void make_text(char *text, size_t n)
{
    uint64_t state = 42;
    size_t at = 0;
    while (at < n) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const char *w = words[(state >> 33) % (sizeof words / sizeof *words)];
        size_t length = strlen(w);
        if (length > n - at)
            length = n - at;
        memcpy(text + at, w, length);
        at += length;
        if (at < n) {
            /* Every third word gets a letter of its own: real texts keep meeting new words. */
            if (state >> 40 & 1)
                text[at++] = (char)('a' + (state >> 50) % 26);
            if (at < n)
                text[at++] = ' ';
        }
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* What is timed: `n` bytes of `text` in some way. The result keeps the work alive. */
typedef uint64_t subject(const void *ctx, const char *text, size_t n);

static uint64_t classify(const void *ctx, const char *text, size_t n)
{
    float p[SR_CLASSIFIER_LABELS_MAX];
    sr_linear_scores(ctx, sr_bytes_of(text, n), p);
    return p[0] > 0.5f;
}

static uint64_t scan_bytes(const void *ctx, const char *text, size_t n)
{
    (void)ctx;
    uint64_t h = 0;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * UINT64_C(0x9E3779B97F4A7C15);
    return h;
}

/* As many dependent-free random reads in a table of 8 MB as the text has n-grams. */
static uint64_t random_reads(const void *ctx, const char *text, size_t n)
{
    const uint64_t *table = ctx;
    uint64_t sum = 0, x = (unsigned char)text[0];
    for (size_t i = 0; i < n * GRAMS_PER_BYTE; i++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
        sum += table[x >> 44];
    }
    return sum;
}

/* `text` holds POOL_BYTES, of which each repeat takes the next `n`. */
static double median_us(subject *f, const void *ctx, const char *text, size_t n, double seconds)
{
    static double times[REPEATS_MAX];
    uint64_t sink;
    uint64_t start = sr_clock_ns();
    size_t repeats = 0, at = 0;
    sink = f(ctx, text, n); /* warm */
    while (repeats < 5 || (repeats < REPEATS_MAX && (double)(sr_clock_ns() - start) < seconds * 1e9)) {
        uint64_t begin = sr_clock_ns();
        sink += f(ctx, text + at, n);
        times[repeats++] = (double)(sr_clock_ns() - begin) / 1e3;
        at = at + 2 * n <= POOL_BYTES ? at + n : 0;
    }
    qsort(times, repeats, sizeof *times, by_value);
    __asm__ volatile("" ::"r"(sink)); /* the work was for something */
    return times[repeats / 2];
}

static void print_row(const struct figure *f, bool json, bool first)
{
    double gbs = (double)f->bytes / f->us / 1e3;
    if (json)
        printf("%s{\"bytes\":%zu,\"us\":%.3f,\"gb_per_s\":%.4f,\"scan_us\":%.3f,\"random_reads_us\":%.3f}",
               first ? "" : ",", f->bytes, f->us, gbs, f->scan_us, f->lookup_us);
    else
        printf("%8zu B %10.1f us %8.3f GB/s %10.1f us %12.1f us\n", f->bytes, f->us, gbs, f->scan_us,
               f->lookup_us);
}

static int measure(const struct options *o, const struct sr_linear *model, char *text, const uint64_t *table)
{
    if (o->json)
        printf("{\"bench\":\"classify\",\"tier\":\"linear\",\"machine\":\"%s\",\"threads\":1,\"rows\":%zu,"
               "\"sizes\":[",
               sr_cpu_name(), sr_linear_rows(model));
    else
        printf("linear tier, %s, 1 thread, %s; medians\n%10s %13s %13s %13s %15s\n", sr_linear_task(model),
               sr_cpu_name(), "text", "classify", "", "hash bytes", "random reads");
    for (size_t bytes = 64; bytes <= SIZE_MAX_BYTES; bytes *= 4) {
        struct figure f = {.bytes = bytes};
        f.us = median_us(classify, model, text, bytes, o->seconds);
        f.scan_us = median_us(scan_bytes, NULL, text, bytes, o->seconds / 4);
        f.lookup_us = median_us(random_reads, table, text, bytes, o->seconds / 4);
        print_row(&f, o->json, bytes == 64);
        if (bytes == 16384 && !o->json)
            printf("%10s goal at 16384 B: 1000 us; this run: %.0f %%\n", "", f.us / 10);
    }
    if (o->json)
        puts("]}");
    return 0;
}

static const char USAGE[] =
    "semroute bench classify [--json] [--model FILE] [--seconds S]\n"
    "  Classifies texts of 64 B to 64 KB with a linear model, the built-in one of the domain.\n"
    "  Defaults: --seconds 0.3\n";

static int usage(const char *what)
{
    return sr_bench_wrong("classify", what, USAGE);
}

int sr_bench_classify(int argc, char **argv)
{
    struct options o = {.seconds = 0.3};
    struct sr_linear *model;
    struct sr_err err = {0};
    if (sr_bench_is_help(argc, argv, USAGE))
        return 0;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--json"))
            o.json = true;
        else if (!strcmp(argv[i], "--model") && i + 1 < argc)
            o.model = argv[++i];
        else if (!strcmp(argv[i], "--seconds") && i + 1 < argc)
            o.seconds = atof(argv[++i]);
        else
            return usage(argv[i]);
    if (!(o.seconds > 0 && o.seconds <= 60))
        return usage("--seconds must be above 0 and at most 60");
    int rc = o.model ? sr_linear_open_file(&model, o.model, NULL, &err) : sr_linear_open_domain(&model, &err);
    if (rc) {
        fprintf(stderr, "semroute bench classify: %s\n", err.message);
        return 3;
    }
    char *text = sr_mem_alloc(POOL_BYTES);
    uint64_t *table = sr_mem_calloc((size_t)1 << 20, sizeof *table);
    rc = text && table ? 0 : 3;
    if (rc == 0) {
        memset(table, 1, ((size_t)1 << 20) * sizeof *table); /* touch the pages */
        make_text(text, POOL_BYTES);
        rc = measure(&o, model, text, table);
    }
    sr_mem_free(table);
    sr_mem_free(text);
    sr_linear_unref(model);
    return rc;
}
