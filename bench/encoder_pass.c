/*
 * Times semroute's passes: by length, threads and instruction set, and one head against three on the same
 * trunk. Runs in a process of its own, so that its peak of memory is its own.
 */
#include "bench/encoder.h"

#include "base/clock.h"
#include "base/mem.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WORK_MAX     ((size_t)8 << 30)
#define HEADS_TOKENS 512u

/* The most resident memory since the last call of this. */
static double peak_megabytes(void)
{
    char line[128];
    double kilobytes = 0;
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %lf", &kilobytes) == 1)
            break;
    if (status)
        fclose(status);
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t ignored = write(fd, "5", 1);
        (void)ignored;
        close(fd);
    }
    return kilobytes / 1024;
}

/* Operations of the linear layers and of attention. */
static void count_work(const struct sr_bench_shape *s, size_t n, double *linear, double *attention)
{
    double h = (double)s->hidden, wide = (double)s->intermediate, tokens = (double)n, w = (double)s->window;
    double local = n > s->window ? tokens * (2 * w + 1) - w * (w + 1) : tokens * tokens;
    if (n > s->window && n < 2 * s->window)
        local = tokens * tokens - (tokens - w - 1) * (tokens - w);
    *linear = 2 * tokens * h * (4 * h + (s->modern ? 3 : 2) * wide) * (double)s->layers;
    *attention = 0;
    for (size_t i = 0; i < s->layers; i++)
        *attention += 8 * h * (double)s->span * tokens +
                      4 * h * (s->window == SIZE_MAX || i % 3 == 0 ? tokens * tokens : local);
}

static const char *kernel_name(enum sr_precision precision, const struct sr_bench_shape *shape, char out[32])
{
    struct sr_matrix *matrix;
    float *w = sr_mem_calloc(shape->hidden, sizeof *w);
    struct sr_matrix_source source = {.weights = w, .type = SR_SCALAR_F32, .n = 1, .k = shape->hidden};
    out[0] = 0;
    if (w && sr_matrix_pack(&matrix, &source, precision, SR_EPILOGUE_NONE) == SR_OK) {
        snprintf(out, 32, "%s", sr_matrix_kernel(matrix));
        sr_matrix_free(matrix);
    }
    sr_mem_free(w);
    return out;
}

/* What a process works with. */
struct bench {
    const struct sr_bench_encoder_job *job;
    struct sr_encoder *encoder;
    int32_t *ids;                     /* as many as the encoder takes */
    double pass_ms[SR_BENCH_THREADS]; /* of the latest length */
};

/* One pass, milliseconds; 0: it failed. */
static double pass(const struct bench *b, struct sr_team *team, struct sr_encoder_work *work,
                   const struct sr_encoder_item *item)
{
    uint64_t begin = sr_clock_ns();
    if (sr_encoder_run(b->encoder, team, work, item, 1, NULL))
        return 0;
    return (double)(sr_clock_ns() - begin) * 1e-6;
}

/* The shortest of the runs that fit, in turns for all `n` items; false: one failed. */
static bool time_passes(const struct bench *b, struct sr_team *team, const struct sr_encoder_item *items,
                        size_t n, double best[])
{
    struct sr_encoder_work *work = NULL;
    bool ok = sr_encoder_work_new(&work, WORK_MAX) == SR_OK;
    uint64_t start = sr_clock_ns();
    for (size_t i = 0; i < n; i++)
        best[i] = INFINITY;
    for (int runs = 0; ok && (runs < 2 || (double)(sr_clock_ns() - start) < b->job->seconds * 1e9); runs++) {
        double longest = 0;
        for (size_t i = 0; ok && i < n; i++) {
            double took = pass(b, team, work, &items[i]);
            ok = took > 0;
            best[i] = fmin(best[i], took);
            longest = fmax(longest, took);
        }
        if (longest > b->job->seconds * 1e3)
            break;
    }
    sr_encoder_work_free(work);
    return ok;
}

static void measure_cell(struct bench *b, struct sr_bench_cell *cell)
{
    const struct sr_encoder_info *info = sr_encoder_info(b->encoder);
    float *out = sr_mem_calloc(info->heads[0].n_labels, sizeof *out);
    struct sr_encoder_item item = {.ids = b->ids, .n_ids = cell->tokens, .heads = 1, .out = {out}};
    struct sr_team *team = NULL;
    double linear, attention;
    count_work(b->job->shape, cell->tokens, &linear, &attention);
    if (out && info->heads[0].kind != SR_HEAD_TOKEN && sr_team_new(&team, cell->threads) == SR_OK) {
        double peak = sr_kernel_peak(info->precision) * cell->threads;
        double attention_peak =
            sr_kernel_peak(info->precision ? SR_PRECISION_BF16 : SR_PRECISION_FP32) * cell->threads;
        peak_megabytes();
        bool ok = time_passes(b, team, &item, 1, &cell->ms);
        cell->peak_mb = peak_megabytes();
        if (ok)
            cell->share = (linear / peak + attention / attention_peak) * 1e3 / cell->ms;
        else
            cell->ms = 0;
        kernel_name(info->precision, b->job->shape, cell->kernel);
    }
    sr_team_free(team);
    sr_mem_free(out);
}

/* Would a pass that takes `factor` times the latest one, run twice, end after the deadline? */
static bool too_late(const struct bench *b, size_t row, double factor)
{
    double left = ((double)b->job->deadline_ns - (double)sr_clock_ns()) * 1e-6;
    return b->job->deadline_ns && 2 * factor * b->pass_ms[row] > left;
}

static bool each_length(struct bench *b, int fd)
{
    for (size_t i = 0; i < SR_BENCH_LENGTHS * SR_BENCH_THREADS; i++) {
        size_t row = i % SR_BENCH_THREADS;
        struct sr_bench_cell cell = {.tokens = sr_bench_lengths[i / SR_BENCH_THREADS],
                                     .threads = row ? b->job->threads : 1};
        if (cell.tokens > b->job->max_tokens || cell.tokens > sr_encoder_info(b->encoder)->max_tokens)
            break;
        if ((row && b->job->threads == 1) || too_late(b, row, 12))
            continue;
        measure_cell(b, &cell);
        b->pass_ms[row] = cell.ms;
        if (write(fd, &cell, sizeof cell) != sizeof cell)
            return false;
    }
    return true;
}

static bool one_length(struct bench *b, int fd)
{
    struct sr_bench_cell cell = {.tokens = 512, .threads = 1};
    if (cell.tokens > b->job->max_tokens || cell.tokens > sr_encoder_info(b->encoder)->max_tokens)
        return true;
    measure_cell(b, &cell);
    return write(fd, &cell, sizeof cell) == sizeof cell;
}

/* The folder's first head alone, then three: two of the sequence and one of tokens. */
static bool heads(struct bench *b, int fd)
{
    const struct sr_encoder_info *info = sr_encoder_info(b->encoder);
    size_t n = b->job->max_tokens < HEADS_TOKENS ? b->job->max_tokens : HEADS_TOKENS;
    struct sr_encoder_item items[2] = {{.ids = b->ids, .n_ids = n}, {.ids = b->ids, .n_ids = n}};
    struct sr_team *team = NULL;
    double ms[2];
    bool ok = sr_team_new(&team, b->job->threads) == SR_OK;
    for (size_t i = info->n_heads - 3; i < info->n_heads; i++) {
        float *out = sr_mem_calloc(n * info->heads[i].n_labels, sizeof *out);
        ok = ok && out;
        items[0].out[i] = items[1].out[i] = out;
        items[1].heads |= UINT32_C(1) << i;
    }
    items[0].heads = UINT32_C(1) << (info->n_heads - 3);
    ok = ok && time_passes(b, team, items, 2, ms);
    for (size_t i = 0; ok && i < 2; i++) {
        struct sr_bench_cell cell = {.tokens = n, .threads = b->job->threads, .ms = ms[i]};
        kernel_name(info->precision, b->job->shape, cell.kernel);
        ok = write(fd, &cell, sizeof cell) == sizeof cell;
    }
    for (size_t i = info->n_heads - 3; i < info->n_heads; i++)
        sr_mem_free(items[0].out[i]);
    sr_team_free(team);
    return ok;
}

int sr_bench_encoder_passes(const struct sr_bench_encoder_job *job, int fd)
{
    static bool (*const kinds[])(struct bench * b, int fd) = {each_length, one_length, heads};
    const char *folders[] = {job->heads};
    struct sr_encoder_options options = {
        .precision = job->precision, .heads = folders, .n_heads = job->heads != NULL};
    struct bench b = {.job = job};
    struct sr_err err = {0};
    if (job->lowered)
        sr_isa_limit(job->isa);
    if (sr_encoder_open(&b.encoder, job->folder, &options, &err)) {
        fprintf(stderr, "semroute bench encoder: %s\n", err.message);
        return 3;
    }
    size_t most = sr_bench_lengths[SR_BENCH_LENGTHS - 1];
    b.ids = sr_mem_calloc(most, sizeof *b.ids);
    for (size_t i = 0; b.ids && i < most; i++)
        b.ids[i] = (int32_t)(4 + i * 7 % 50);
    bool ok = b.ids && kinds[job->kind](&b, fd);
    sr_mem_free(b.ids);
    sr_encoder_unref(b.encoder);
    return ok ? 0 : 3;
}
