/*
 * Times whole forward passes. Each model and precision runs in a process of its own, so that its peak of
 * memory is its own; ONNX Runtime runs the same shapes in turn (bench/onnx_encoder.py). Times are the
 * shortest of the runs.
 *
 * The floor of a row: the linear layers at the peak of the precision, attention at the peak of its operands
 * (fp32, or bf16 with bf16 and int8 weights), both measured just before. Goals are printed, never asserted.
 */
#include "bench/encoder.h"

#include "bench/bench.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "infer/encoder.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_LENGTHS  6u
#define THREADS    2u /* rows of thread counts: 1, and what is asked for */
#define ROWS_MAX   (N_LENGTHS * THREADS)
#define WORK_MAX   ((size_t)8 << 30)
#define PEERS      2u
#define N_SUBJECTS (3u + PEERS)

static const size_t lengths[N_LENGTHS] = {32, 128, 512, 2048, 8192, 32768};
static const char *const names[N_SUBJECTS] = {"fp32", "bf16", "int8", "ONNX Runtime fp32",
                                              "ONNX Runtime int8"};

static const struct sr_bench_shape shapes[] = {
    {"mmbert-base", true, 22, 768, 12, 1152, 32768, 64},
    {"minilm-l12", false, 12, 384, 12, 1536, 512, SIZE_MAX},
    {"minilm-l6", false, 6, 384, 12, 1536, 512, SIZE_MAX},
};
#define N_SHAPES (sizeof shapes / sizeof shapes[0])

struct options {
    const char *model, *shape, *isa, *python;
    size_t max_tokens;
    unsigned threads;
    double seconds;
    bool json, peer;
};

struct cell {
    size_t tokens;
    unsigned threads;
    double ms, peak_mb, share; /* ms 0: not measured; below 0: does not fit */
    char kernel[32];
};

struct subject {
    struct cell cells[ROWS_MAX];
    size_t n;
};

static unsigned threads_of(const struct options *o, size_t row)
{
    return row % THREADS ? o->threads : 1;
}

/* ---- ours ---- */

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
        *attention += 4 * h * (s->window == SIZE_MAX || i % 3 == 0 ? tokens * tokens : local);
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

static double time_passes(const struct sr_encoder *encoder, struct sr_team *team,
                          struct sr_encoder_work *work, const struct sr_encoder_item *item, double seconds)
{
    double best = INFINITY;
    uint64_t start = sr_clock_ns();
    for (int runs = 0; runs < 2 || (double)(sr_clock_ns() - start) < seconds * 1e9; runs++) {
        uint64_t begin = sr_clock_ns();
        if (sr_encoder_run(encoder, team, work, item, 1, NULL))
            return 0;
        double took = (double)(sr_clock_ns() - begin) * 1e-6;
        best = took < best ? took : best;
        if (took > seconds * 1e3)
            break;
    }
    return best;
}

static void measure_cell(const struct options *o, const struct sr_bench_shape *shape,
                         const struct sr_encoder *encoder, const int32_t *ids, struct cell *cell)
{
    const struct sr_encoder_info *info = sr_encoder_info(encoder);
    float *out = sr_mem_calloc(info->heads[0].n_labels, sizeof *out);
    struct sr_encoder_item item = {.ids = ids, .n_ids = cell->tokens, .heads = 1, .out = {out}};
    struct sr_encoder_work *work = NULL;
    struct sr_team *team = NULL;
    double linear, attention;
    count_work(shape, cell->tokens, &linear, &attention);
    if (out && info->heads[0].kind != SR_HEAD_TOKEN && sr_encoder_work_new(&work, WORK_MAX) == SR_OK &&
        sr_team_new(&team, cell->threads) == SR_OK) {
        double peak = sr_kernel_peak(info->precision) * cell->threads;
        double attention_peak =
            sr_kernel_peak(info->precision ? SR_PRECISION_BF16 : SR_PRECISION_FP32) * cell->threads;
        peak_megabytes();
        cell->ms = time_passes(encoder, team, work, &item, o->seconds);
        cell->peak_mb = peak_megabytes();
        if (cell->ms > 0)
            cell->share = (linear / peak + attention / attention_peak) * 1e3 / cell->ms;
        kernel_name(info->precision, shape, cell->kernel);
    }
    sr_team_free(team);
    sr_encoder_work_free(work);
    sr_mem_free(out);
}

/* In a process of its own: writes one cell after the other. */
static int child(const struct options *o, const struct sr_bench_shape *shape, const char *folder,
                 enum sr_precision precision, int fd)
{
    struct sr_encoder_options options = {.precision = precision};
    struct sr_encoder *encoder = NULL;
    struct sr_err err = {0};
    int rc = sr_encoder_open(&encoder, folder, &options, &err);
    if (rc) {
        fprintf(stderr, "semroute bench encoder: %s\n", err.message);
        return 3;
    }
    int32_t *ids = sr_mem_calloc(lengths[N_LENGTHS - 1], sizeof *ids);
    for (size_t i = 0; ids && i < lengths[N_LENGTHS - 1]; i++)
        ids[i] = (int32_t)(4 + i * 7 % 50);
    for (size_t i = 0; ids && i < ROWS_MAX; i++) {
        struct cell cell = {.tokens = lengths[i / THREADS], .threads = threads_of(o, i)};
        if (cell.tokens > o->max_tokens || cell.tokens > sr_encoder_info(encoder)->max_tokens)
            break;
        if (i % THREADS && o->threads == 1)
            continue;
        measure_cell(o, shape, encoder, ids, &cell);
        if (write(fd, &cell, sizeof cell) != sizeof cell)
            break;
    }
    sr_mem_free(ids);
    sr_encoder_unref(encoder);
    return 0;
}

/* ---- the peer ---- */

static void run_peer(const struct options *o, const struct sr_bench_shape *shape, bool int8)
{
    char layers[16], hidden[16], heads[16], wide[16], window[24], threads[16], most[16], seconds[24];
    size_t positions = shape->positions < o->max_tokens ? shape->positions : o->max_tokens;
    snprintf(layers, sizeof layers, "%zu", shape->layers);
    snprintf(hidden, sizeof hidden, "%zu", shape->hidden);
    snprintf(heads, sizeof heads, "%zu", shape->heads);
    snprintf(wide, sizeof wide, "%zu", shape->intermediate);
    snprintf(window, sizeof window, "%zu", shape->modern ? shape->window : 0);
    snprintf(threads, sizeof threads, "%u", o->threads);
    snprintf(most, sizeof most, "%zu", positions);
    snprintf(seconds, sizeof seconds, "%g", o->seconds);
    execlp(o->python, o->python, "bench/onnx_encoder.py", "--layers", layers, "--hidden", hidden, "--heads",
           heads, "--intermediate", wide, "--window", window, "--threads", threads, "--max-tokens", most,
           "--seconds", seconds, "--type", int8 ? "int8" : "fp32", (char *)NULL);
    _exit(127);
}

/* Lines "tokens threads ms megabytes"; ms -1 where it does not fit. */
static void read_peer(FILE *in, struct subject *subject)
{
    char line[128];
    while (subject->n < ROWS_MAX && fgets(line, sizeof line, in)) {
        struct cell *cell = &subject->cells[subject->n];
        if (sscanf(line, "%zu %u %lf %lf", &cell->tokens, &cell->threads, &cell->ms, &cell->peak_mb) == 4)
            subject->n++;
    }
}

/* ---- a model ---- */

static bool run_subject(const struct options *o, const struct sr_bench_shape *shape, const char *folder,
                        size_t which, struct subject *subject)
{
    int fds[2], status = 0;
    fflush(NULL);
    if (pipe2(fds, O_CLOEXEC))
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        if (which < 3)
            _exit(child(o, shape, folder, (enum sr_precision)which, fds[1]));
        if (dup2(fds[1], STDOUT_FILENO) < 0)
            _exit(127);
        run_peer(o, shape, which == 4);
    }
    close(fds[1]);
    FILE *in = pid > 0 ? fdopen(fds[0], "rb") : NULL;
    if (!in) {
        close(fds[0]);
        return false;
    }
    if (which >= 3)
        read_peer(in, subject);
    else
        while (subject->n < ROWS_MAX && fread(&subject->cells[subject->n], sizeof(struct cell), 1, in) == 1)
            subject->n++;
    fclose(in);
    return waitpid(pid, &status, 0) == pid && status == 0;
}

static const struct cell *find(const struct subject *subject, const struct cell *like)
{
    for (size_t i = 0; i < subject->n; i++)
        if (subject->cells[i].tokens == like->tokens && subject->cells[i].threads == like->threads)
            return &subject->cells[i];
    return NULL;
}

static void put_ratio(struct sr_bench_table *table, const struct subject *peer, const struct cell *cell)
{
    const struct cell *other = find(peer, cell);
    if (other && other->ms > 0 && cell->ms > 0)
        sr_bench_table_cell(table, "%.2fx", other->ms / cell->ms);
    else
        sr_bench_table_cell(table, "%s", other && other->ms < 0 ? "does not fit" : "-");
}

static void print_table(const char *title, const struct subject subjects[N_SUBJECTS])
{
    static const char *const titles[] = {"what",       "tokens",     "threads",         "ms",
                                         "peak of MB", "% of floor", "ORT fp32 / this", "ORT int8 / this",
                                         "kernel"};
    struct sr_bench_table *table = sr_mem_alloc(sizeof *table);
    if (!table)
        return;
    sr_bench_table_init(table, titles, 9);
    for (size_t s = 0; s < N_SUBJECTS; s++)
        for (size_t i = 0; i < subjects[s].n; i++) {
            const struct cell *cell = &subjects[s].cells[i];
            sr_bench_table_cell(table, "%s", names[s]);
            sr_bench_table_cell(table, "%zu", cell->tokens);
            sr_bench_table_cell(table, "%u", cell->threads);
            if (cell->ms < 0)
                sr_bench_table_cell(table, "does not fit");
            else
                sr_bench_table_cell(table, "%.2f", cell->ms);
            sr_bench_table_cell(table, "%.0f", cell->peak_mb);
            if (s < 3)
                sr_bench_table_cell(table, "%.0f", 100 * cell->share);
            else
                sr_bench_table_cell(table, "-");
            put_ratio(table, &subjects[3], cell);
            put_ratio(table, &subjects[4], cell);
            sr_bench_table_cell(table, "%s", cell->kernel);
        }
    printf("\n%s\n", title);
    sr_bench_table_print(table, stdout);
    sr_mem_free(table);
}

static void print_json(const char *model, const struct subject subjects[N_SUBJECTS], bool *first)
{
    for (size_t s = 0; s < N_SUBJECTS; s++)
        for (size_t i = 0; i < subjects[s].n; i++) {
            const struct cell *c = &subjects[s].cells[i];
            printf(
                "%s{\"model\":\"%s\",\"what\":\"%s\",\"tokens\":%zu,\"threads\":%u,\"fits\":%s,\"ms\":%.4f,"
                "\"peak_mb\":%.1f,\"floor_share\":%.4f,\"kernel\":\"%s\"}",
                *first ? "" : ",\n", model, names[s], c->tokens, c->threads, c->ms < 0 ? "false" : "true",
                c->ms < 0 ? 0 : c->ms, c->peak_mb, c->share, c->kernel);
            *first = false;
        }
}

static int run_model(const struct options *o, const struct sr_bench_shape *shape, const char *model,
                     bool *first)
{
    struct subject *subjects = sr_mem_calloc(N_SUBJECTS, sizeof *subjects);
    char folder[256];
    int rc = subjects ? SR_OK : SR_ENOMEM;
    if (rc == SR_OK && !model)
        rc = sr_bench_encoder_folder(shape, folder);
    if (rc) {
        sr_mem_free(subjects);
        return rc;
    }
    for (size_t s = 0; s < N_SUBJECTS && rc == SR_OK; s++) {
        if (s >= 3 && !o->peer)
            break;
        if (!run_subject(o, shape, model ? model : folder, s, &subjects[s]) && s < 3)
            rc = SR_EIO;
        if (s >= 3 && subjects[s].n == 0)
            fprintf(stderr, "%s did not run: `make setup-bench` installs it; or --python\n", names[s]);
    }
    if (!model)
        sr_bench_encoder_folder_remove(folder);
    if (rc == SR_OK && o->json)
        print_json(model ? model : shape->name, subjects, first);
    else if (rc == SR_OK)
        print_table(model ? model : shape->name, subjects);
    sr_mem_free(subjects);
    return rc;
}

/* The shape of a user's folder, as far as counting needs it. */
static int shape_of(const char *model, struct sr_bench_shape *shape)
{
    struct sr_encoder *encoder = NULL;
    struct sr_encoder_options options = {.precision = SR_PRECISION_INT8};
    struct sr_err err = {0};
    int rc = sr_encoder_open(&encoder, model, &options, &err);
    if (rc) {
        fprintf(stderr, "semroute bench encoder: %s\n", err.message);
        return rc;
    }
    const struct sr_encoder_info *info = sr_encoder_info(encoder);
    bool modern = strcmp(info->architecture, "modernbert") == 0;
    *shape = (struct sr_bench_shape){"",
                                     modern,
                                     info->layers,
                                     info->hidden,
                                     info->attention_heads,
                                     info->intermediate,
                                     info->max_tokens,
                                     modern ? 64 : SIZE_MAX};
    sr_encoder_unref(encoder);
    return SR_OK;
}

static int usage(const char *what)
{
    fprintf(
        stderr,
        "semroute bench encoder: %s\nusage: semroute bench encoder [--json] [--model DIR] [--shape "
        "mmbert-base|"
        "minilm-l12|minilm-l6] [--max-tokens N] [--threads N] [--seconds S] [--isa scalar|avx2|avx512|...] "
        "[--python PATH] [--no-peer]\n",
        what);
    return 2;
}

static bool read_options(int argc, char **argv, struct options *o)
{
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--json"))
            o->json = true;
        else if (!strcmp(argv[i], "--no-peer"))
            o->peer = false;
        else if (!strcmp(argv[i], "--model") && more)
            o->model = argv[++i];
        else if (!strcmp(argv[i], "--shape") && more)
            o->shape = argv[++i];
        else if (!strcmp(argv[i], "--isa") && more)
            o->isa = argv[++i];
        else if (!strcmp(argv[i], "--python") && more)
            o->python = argv[++i];
        else if (!strcmp(argv[i], "--max-tokens") && more)
            o->max_tokens = (size_t)atol(argv[++i]);
        else if (!strcmp(argv[i], "--threads") && more)
            o->threads = (unsigned)atoi(argv[++i]);
        else if (!strcmp(argv[i], "--seconds") && more)
            o->seconds = atof(argv[++i]);
        else
            return usage(argv[i]) == 0;
    }
    if (!(o->seconds > 0 && o->seconds <= 600) || o->threads < 1 || o->threads > SR_TEAM_MAX ||
        !o->max_tokens)
        return usage("--seconds is above 0 and at most 600, --threads 1 to 64, --max-tokens at least 1") == 0;
    if (o->isa) {
        int isa = SR_ISA_SCALAR;
        while (isa <= SR_ISA_AVX512_BF16 && strcmp(o->isa, sr_isa_name((enum sr_isa)isa)) != 0)
            isa++;
        if (isa > SR_ISA_AVX512_BF16)
            return usage("--isa") == 0;
        sr_isa_limit((enum sr_isa)isa);
    }
    return true;
}

int sr_bench_encoder(int argc, char **argv)
{
    struct options o = {.python = "bench/.venv/bin/python", .max_tokens = 32768, .seconds = 2, .peer = true};
    bool first = true;
    o.threads = (unsigned)sr_cpu_cores() < SR_TEAM_MAX ? (unsigned)sr_cpu_cores() : SR_TEAM_MAX;
    if (!read_options(argc, argv, &o))
        return 2;
    int rc = SR_OK;
    if (o.json)
        printf("{\"machine\":\"%s\",\"isa\":\"%s\",\"peak_fp32\":%.4g,\"peak_bf16\":%.4g,\"peak_int8\":%.4g,"
               "\"rows\":[\n",
               sr_bench_machine(), sr_isa_name(sr_isa_current()), sr_kernel_peak(SR_PRECISION_FP32),
               sr_kernel_peak(SR_PRECISION_BF16), sr_kernel_peak(SR_PRECISION_INT8));
    else {
        printf("%s, %s\n\n", sr_bench_machine(), sr_isa_name(sr_isa_current()));
        sr_bench_encoder_kernels(o.threads, o.seconds);
    }
    if (o.model) {
        struct sr_bench_shape shape;
        rc = shape_of(o.model, &shape);
        if (rc == SR_OK)
            rc = run_model(&o, &shape, o.model, &first);
    }
    for (size_t i = 0; i < N_SHAPES && rc == SR_OK && !o.model; i++)
        if (!o.shape || strcmp(o.shape, shapes[i].name) == 0)
            rc = run_model(&o, &shapes[i], NULL, &first);
    if (o.json)
        printf("]}\n");
    else
        printf("\ngoals on two cores with AVX-512: bf16 85 %% of its floor at 512 tokens, int8 80 %%, AVX2 "
               "70 %%; against "
               "ONNX Runtime fp32 2.2x (bf16) and 3.9x (int8) at 512, 6x and 7.5x at 8192 with less than 5 "
               "%% of its "
               "memory; against its int8 1.8x at 512\n");
    if (rc)
        fprintf(stderr, "semroute bench encoder: %s\n", sr_strerror(rc));
    return rc ? 3 : 0;
}
