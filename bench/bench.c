/* Alternating repeats, medians, tables. */
#include "bench/bench.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "base/version.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES_MIN   5u
#define SAMPLES_MAX   2000u
#define SAMPLE_MIN_NS 20000.0 /* a sample is at least this long */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double sr_bench_percentile(double *values, size_t n, double p)
{
    qsort(values, n, sizeof *values, by_value);
    size_t at = (size_t)(p * (double)(n - 1) + 0.5);
    return values[at < n ? at : n - 1];
}

/* Nanoseconds of `times` runs, after one that brings the caches back from the subject before. */
static double run_times(struct sr_bench_subject *subject, size_t times)
{
    uint64_t sum = subject->run(subject->ctx), start = sr_clock_ns();
    for (size_t i = 0; i < times; i++) {
        uint64_t value = subject->run(subject->ctx);
        subject->failed |= value == 0;
        sum += value;
    }
    double ns = (double)(sr_clock_ns() - start);
    __asm__ volatile("" ::"r"(sum)); /* the work was for something */
    return ns;
}

/* How many runs make one sample. */
static size_t runs_per_sample(struct sr_bench_subject *subject)
{
    size_t times = 1;
    while (times < (1u << 20) && run_times(subject, times) < SAMPLE_MIN_NS)
        times *= 2;
    return times;
}

int sr_bench_measure(struct sr_bench_subject *subjects, size_t n, double seconds)
{
    double *values = sr_mem_alloc(n * SAMPLES_MAX * sizeof *values);
    size_t *times = sr_mem_calloc(n, sizeof *times), samples = 0;
    int rc = values && times ? SR_OK : SR_ENOMEM;
    for (size_t i = 0; i < n && rc == SR_OK; i++) {
        subjects[i].failed = false;
        times[i] = runs_per_sample(&subjects[i]);
    }
    uint64_t start = sr_clock_ns();
    while (rc == SR_OK && samples < SAMPLES_MAX &&
           (samples < SAMPLES_MIN || (double)(sr_clock_ns() - start) < seconds * 1e9)) {
        for (size_t i = 0; i < n; i++)
            values[i * SAMPLES_MAX + samples] = run_times(&subjects[i], times[i]) / (double)times[i];
        samples++;
    }
    for (size_t i = 0; i < n && rc == SR_OK; i++) {
        subjects[i].samples = samples;
        subjects[i].median_ns = sr_bench_percentile(values + i * SAMPLES_MAX, samples, 0.5);
        subjects[i].low_ns = sr_bench_percentile(values + i * SAMPLES_MAX, samples, 0.1);
    }
    sr_mem_free(values);
    sr_mem_free(times);
    return rc;
}

void sr_bench_table_init(struct sr_bench_table *table, const char *const *titles, size_t columns)
{
    memset(table, 0, sizeof *table);
    table->columns = columns < SR_BENCH_COLUMNS_MAX ? columns : SR_BENCH_COLUMNS_MAX;
    for (size_t i = 0; i < table->columns; i++)
        sr_bench_table_cell(table, "%s", titles[i]);
}

void sr_bench_table_cell(struct sr_bench_table *table, const char *fmt, ...)
{
    if (table->cell == table->columns || table->rows == 0) {
        if (table->rows == SR_BENCH_ROWS_MAX)
            return;
        table->rows++;
        table->cell = 0;
    }
    va_list args;
    va_start(args, fmt);
    vsnprintf(table->cells[table->rows - 1][table->cell++], SR_BENCH_CELL_MAX, fmt, args);
    va_end(args);
}

void sr_bench_table_print(const struct sr_bench_table *table, FILE *out)
{
    int widths[SR_BENCH_COLUMNS_MAX] = {0};
    for (size_t r = 0; r < table->rows; r++)
        for (size_t c = 0; c < table->columns; c++) {
            int n = (int)strlen(table->cells[r][c]);
            widths[c] = n > widths[c] ? n : widths[c];
        }
    for (size_t r = 0; r < table->rows; r++) {
        for (size_t c = 0; c < table->columns; c++)
            fprintf(out, "%s%*s", c ? "  " : "", c ? widths[c] : -widths[c], table->cells[r][c]);
        fputc('\n', out);
    }
}

const char *sr_bench_machine(void)
{
    static char line[256];
#ifdef NDEBUG
    const char *build = "release";
#else
    const char *build = "debug";
#endif
    snprintf(line, sizeof line, "%s, %d cores, semroute %s, %s build", sr_cpu_name(), sr_cpu_cores(),
             sr_version_text, build);
    return line;
}

const char *sr_bench_size(char text[24], size_t bytes)
{
    if (bytes >= 1 << 20)
        snprintf(text, 24, "%zu MB", bytes >> 20);
    else if (bytes >= 1 << 10)
        snprintf(text, 24, "%zu KB", bytes >> 10);
    else
        snprintf(text, 24, "%zu B", bytes);
    return text;
}
