/*
 * Times whole forward passes. Each model and precision runs in a process of its own (encoder_pass.c), so that
 * its peak of memory is its own; ONNX Runtime runs the same shapes in turn (bench/onnx_encoder.py). Times are
 * the shortest of the runs.
 *
 * The floor of a row: the linear layers at the peak of the precision, attention at the peak of its operands
 * (fp32, or 16 bits with bf16 and int8 weights), both measured just before. Goals are printed, never
 * asserted.
 */
#include "bench/encoder.h"

#include "bench/bench.h"
#include "bench/options.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROWS_MAX (SR_BENCH_LENGTHS * SR_BENCH_THREADS)

/* What is measured of each model, in this order. */
enum { OURS = 3, PEERS = 2, LOWER = 3, AT_LOWER = OURS + PEERS, AT_HEADS = AT_LOWER + LOWER, N_SUBJECTS };

const size_t sr_bench_lengths[SR_BENCH_LENGTHS] = {32, 128, 512, 2048, 8192, 32768};
static const char *const names[N_SUBJECTS] = {
    "fp32",       "bf16",       "int8",       "ONNX Runtime fp32", "ONNX Runtime int8",
    "fp32, AVX2", "bf16, AVX2", "int8, AVX2", "int8, heads"};

/* Of the time that is left, in tenths of what fp32 may take. */
static const unsigned weights[N_SUBJECTS] = {10, 10, 10, 40, 40, 1, 1, 1, 1};

/* The short ones first: what they leave of the time is the last one's. */
static const struct sr_bench_shape shapes[] = {
    {"minilm-l6", false, 6, 384, 12, 1536, 512, SIZE_MAX, 0},
    {"minilm-l12", false, 12, 384, 12, 1536, 512, SIZE_MAX, 0}, /* multilingual-e5-small's, too */
    {"deberta-v3-xsmall", false, 12, 384, 6, 1536, 512, SIZE_MAX, 256},
    {"xlm-roberta-base", false, 12, 768, 12, 3072, 512, SIZE_MAX, 0},
    {"deberta-v3-base", false, 12, 768, 12, 3072, 512, SIZE_MAX, 256},
    {"mmbert-base", true, 22, 768, 12, 1152, 32768, 64, 0},
};
#define N_SHAPES (sizeof shapes / sizeof shapes[0])

struct options {
    const char *model, *shape, *isa, *python;
    size_t max_tokens;
    unsigned threads;
    double seconds, minutes;
    uint64_t deadline_ns; /* 0: none */
    bool json, peer;
};

struct subject {
    struct sr_bench_cell cells[ROWS_MAX];
    size_t n;
};

static bool is_peer(size_t which)
{
    return which >= OURS && which < AT_LOWER;
}

/* ---- the peer ---- */

static void run_peer(const struct options *o, const struct sr_bench_shape *shape, bool int8)
{
    char layers[16], hidden[16], heads[16], wide[16], window[24], span[24], threads[16], most[16],
        seconds[24], left[24];
    size_t positions = shape->positions < o->max_tokens ? shape->positions : o->max_tokens;
    snprintf(layers, sizeof layers, "%zu", shape->layers);
    snprintf(hidden, sizeof hidden, "%zu", shape->hidden);
    snprintf(heads, sizeof heads, "%zu", shape->heads);
    snprintf(wide, sizeof wide, "%zu", shape->intermediate);
    snprintf(window, sizeof window, "%zu", shape->modern ? shape->window : 0);
    snprintf(span, sizeof span, "%zu", shape->span);
    snprintf(threads, sizeof threads, "%u", o->threads);
    snprintf(most, sizeof most, "%zu", positions);
    snprintf(seconds, sizeof seconds, "%g", o->seconds);
    snprintf(left, sizeof left, "%g",
             o->deadline_ns ? ((double)o->deadline_ns - (double)sr_clock_ns()) * 1e-9 : 0);
    execlp(o->python, o->python, "bench/onnx_encoder.py", "--layers", layers, "--hidden", hidden, "--heads",
           heads, "--intermediate", wide, "--window", window, "--span", span, "--threads", threads,
           "--max-tokens", most, "--seconds", seconds, "--left", left, "--type", int8 ? "int8" : "fp32",
           (char *)NULL);
    _exit(127);
}

/* Lines "tokens threads ms megabytes"; ms -1 where it does not fit. */
static void read_peer(FILE *in, struct subject *subject)
{
    char line[128];
    while (subject->n < ROWS_MAX && fgets(line, sizeof line, in)) {
        struct sr_bench_cell *cell = &subject->cells[subject->n];
        if (sscanf(line, "%zu %u %lf %lf", &cell->tokens, &cell->threads, &cell->ms, &cell->peak_mb) == 4)
            subject->n++;
    }
}

/* ---- a model ---- */

static struct sr_bench_encoder_job job_of(const struct options *o, const struct sr_bench_shape *shape,
                                          const char *folder, const char *heads, size_t which)
{
    struct sr_bench_encoder_job job = {.shape = shape,
                                       .folder = folder,
                                       .precision = (enum sr_precision)which,
                                       .max_tokens = o->max_tokens,
                                       .threads = o->threads,
                                       .seconds = o->seconds,
                                       .deadline_ns = o->deadline_ns};
    if (which == AT_HEADS) {
        job.kind = SR_BENCH_HEADS;
        job.heads = heads;
        job.precision = SR_PRECISION_INT8;
    } else if (which >= AT_LOWER) {
        job.kind = SR_BENCH_ONE_LENGTH;
        job.precision = (enum sr_precision)(which - AT_LOWER);
        job.lowered = true;
        job.isa = SR_ISA_AVX2;
    }
    return job;
}

static bool run_subject(const struct options *o, const struct sr_bench_shape *shape, const char *folder,
                        const char *heads, size_t which, struct subject *subject)
{
    int fds[2], status = 0;
    fflush(NULL);
    if (pipe2(fds, O_CLOEXEC))
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        struct sr_bench_encoder_job job = job_of(o, shape, folder, heads, which);
        if (!is_peer(which))
            _exit(sr_bench_encoder_passes(&job, fds[1]));
        if (dup2(fds[1], STDOUT_FILENO) < 0)
            _exit(127);
        run_peer(o, shape, which == OURS + 1);
    }
    close(fds[1]);
    FILE *in = pid > 0 ? fdopen(fds[0], "rb") : NULL;
    if (!in) {
        close(fds[0]);
        return false;
    }
    if (is_peer(which))
        read_peer(in, subject);
    else
        while (subject->n < ROWS_MAX &&
               fread(&subject->cells[subject->n], sizeof(struct sr_bench_cell), 1, in) == 1)
            subject->n++;
    fclose(in);
    return waitpid(pid, &status, 0) == pid && status == 0;
}

static const struct sr_bench_cell *find(const struct subject *subject, const struct sr_bench_cell *like)
{
    for (size_t i = 0; i < subject->n; i++)
        if (subject->cells[i].tokens == like->tokens && subject->cells[i].threads == like->threads)
            return &subject->cells[i];
    return NULL;
}

static void put_ratio(struct sr_bench_table *table, const struct subject *peer,
                      const struct sr_bench_cell *cell)
{
    const struct sr_bench_cell *other = find(peer, cell);
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
    for (size_t s = 0; s < AT_HEADS; s++)
        for (size_t i = 0; i < subjects[s].n; i++) {
            const struct sr_bench_cell *cell = &subjects[s].cells[i];
            sr_bench_table_cell(table, "%s", names[s]);
            sr_bench_table_cell(table, "%zu", cell->tokens);
            sr_bench_table_cell(table, "%u", cell->threads);
            if (cell->ms < 0)
                sr_bench_table_cell(table, "does not fit");
            else
                sr_bench_table_cell(table, "%.2f", cell->ms);
            sr_bench_table_cell(table, "%.0f", cell->peak_mb);
            if (is_peer(s))
                sr_bench_table_cell(table, "-");
            else
                sr_bench_table_cell(table, "%.0f", 100 * cell->share);
            put_ratio(table, &subjects[OURS], cell);
            put_ratio(table, &subjects[OURS + 1], cell);
            sr_bench_table_cell(table, "%s", cell->kernel);
        }
    printf("\n%s\n", title);
    sr_bench_table_print(table, stdout);
    sr_mem_free(table);
    const struct subject *heads = &subjects[AT_HEADS];
    if (heads->n == 2 && heads->cells[0].ms > 0)
        printf("int8, %zu tokens, %u threads, heads on one trunk: one %.2f ms, three (two of the text, one "
               "of its "
               "tokens) %.2f ms, %.3fx\n",
               heads->cells[0].tokens, heads->cells[0].threads, heads->cells[0].ms, heads->cells[1].ms,
               heads->cells[1].ms / heads->cells[0].ms);
}

static void print_json(const char *model, const struct subject subjects[N_SUBJECTS], bool *first)
{
    for (size_t s = 0; s < N_SUBJECTS; s++)
        for (size_t i = 0; i < subjects[s].n; i++) {
            const struct sr_bench_cell *c = &subjects[s].cells[i];
            const char *what = s < AT_HEADS ? names[s] : i ? "int8, three heads" : "int8, one head";
            printf(
                "%s{\"model\":\"%s\",\"what\":\"%s\",\"tokens\":%zu,\"threads\":%u,\"fits\":%s,\"ms\":%.4f,"
                "\"peak_mb\":%.1f,\"floor_share\":%.4f,\"kernel\":\"%s\"}",
                *first ? "" : ",\n", model, what, c->tokens, c->threads, c->ms < 0 ? "false" : "true",
                c->ms < 0 ? 0 : c->ms, c->peak_mb, c->share, c->kernel);
            *first = false;
        }
}

/* The end of what subject `which` may take of the time that is left; 0: there is no limit. */
static uint64_t deadline_of(const struct options *o, size_t which)
{
    unsigned all = 0;
    uint64_t now = sr_clock_ns();
    for (size_t s = which; s < N_SUBJECTS; s++)
        all += is_peer(s) && !o->peer ? 0 : weights[s];
    if (o->deadline_ns <= now)
        return o->deadline_ns;
    return now + (o->deadline_ns - now) / all * weights[which];
}

static int run_model(const struct options *o, const struct sr_bench_shape *shape, const char *model,
                     bool *first)
{
    struct subject *subjects = sr_mem_calloc(N_SUBJECTS, sizeof *subjects);
    char folder[256], heads[272];
    int rc = subjects ? SR_OK : SR_ENOMEM;
    if (rc == SR_OK && !model)
        rc = sr_bench_encoder_folder(shape, folder);
    if (rc) {
        sr_mem_free(subjects);
        return rc;
    }
    snprintf(heads, sizeof heads, "%s/heads", folder);
    for (size_t s = 0; s < N_SUBJECTS && rc == SR_OK; s++) {
        bool peer = is_peer(s);
        if ((peer && !o->peer) || (s >= AT_LOWER && s < AT_HEADS && sr_isa_current() <= SR_ISA_AVX2) ||
            (s == AT_HEADS && model))
            continue;
        struct options mine = *o;
        mine.deadline_ns = deadline_of(o, s);
        if (!run_subject(&mine, shape, model ? model : folder, heads, s, &subjects[s]) && !peer)
            rc = SR_EIO;
        if (peer && subjects[s].n == 0)
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
    bool relative = strcmp(info->architecture, "deberta-v2") == 0; /* as published: 256 buckets */
    *shape = (struct sr_bench_shape){"",
                                     modern,
                                     info->layers,
                                     info->hidden,
                                     info->attention_heads,
                                     info->intermediate,
                                     info->max_tokens,
                                     modern ? 64 : SIZE_MAX,
                                     relative ? 256 : 0};
    sr_encoder_unref(encoder);
    return SR_OK;
}

static const char USAGE[] =
    "semroute bench encoder [--json] [--model DIR | --shape mmbert-base|deberta-v3-base|xlm-roberta-base|\n"
    "                       deberta-v3-xsmall|minilm-l12|minilm-l6] [--max-tokens N] [--threads N]\n"
    "                       [--seconds S] [--minutes M] [--isa scalar|neon|avx2|avx512|avx512_bf16]\n"
    "                       [--python PATH | --no-peer]\n"
    "  Whole passes of a model, or of shapes with random weights, by precision and number of tokens,\n"
    "  beside the machine's floor and ONNX Runtime (tools/setup.sh bench installs it).\n"
    "  Defaults: all shapes, --max-tokens 32768, all cores, --seconds 2 a row, no limit of minutes\n";

static int usage(const char *what)
{
    return sr_bench_wrong("encoder", what, USAGE);
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
        else if (!strcmp(argv[i], "--minutes") && more)
            o->minutes = atof(argv[++i]);
        else
            return usage(argv[i]) == 0;
    }
    if (!(o->seconds > 0 && o->seconds <= 600) || !(o->minutes >= 0 && o->minutes <= 1e4) || o->threads < 1 ||
        o->threads > SR_TEAM_MAX || !o->max_tokens)
        return usage("--seconds is above 0 and at most 600, --minutes 0 (no limit) to 10000, --threads 1 to "
                     "64, --max-tokens at least 1") == 0;
    if (o->isa) {
        int isa = SR_ISA_SCALAR;
        while (isa <= SR_ISA_AVX512_BF16 && strcmp(o->isa, sr_isa_name((enum sr_isa)isa)) != 0)
            isa++;
        if (isa > SR_ISA_AVX512_BF16)
            return usage("--isa is scalar, neon, avx2, avx512 or avx512_bf16") == 0;
        sr_isa_limit((enum sr_isa)isa);
    }
    if (o->minutes > 0)
        o->deadline_ns = sr_clock_ns() + (uint64_t)(o->minutes * 60e9);
    return true;
}

int sr_bench_encoder(int argc, char **argv)
{
    struct options o = {.python = "bench/.venv/bin/python", .max_tokens = 32768, .seconds = 2, .peer = true};
    bool first = true;
    o.threads = (unsigned)sr_cpu_cores() < SR_TEAM_MAX ? (unsigned)sr_cpu_cores() : SR_TEAM_MAX;
    if (sr_bench_is_help(argc, argv, USAGE))
        return 0;
    if (!read_options(argc, argv, &o))
        return 2;
    int rc = SR_OK;
    if (o.json)
        printf("{\"bench\":\"encoder\",\"machine\":\"%s\",\"isa\":\"%s\",\"peak_fp32\":%.4g,\"peak_bf16\":%."
               "4g,\"peak_int8\":%.4g,"
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
