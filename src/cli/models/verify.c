/* The runs and the comparison of verify.h. */
#include "cli/models/verify.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "cli/classify/encoder.h"
#include "cli/cmd.h"
#include "cli/term.h"
#include "infer/windows.h"

#include <math.h>

#define JSON_MAX   ((size_t)16 << 20)
#define ARENA_MAX  ((size_t)2 << 30)
#define PRECISIONS 3u

extern const char sr_embed_verify_text[], sr_embed_verify_text_end[];

/* The outputs of one precision: the numbers of all sequences, of all heads. */
struct said {
    double ms;
    size_t weight_bytes;
    float ***out; /* [n_heads][n] */
};

/* A head of one precision compared with the same head in fp32. */
struct beside {
    size_t same, compared; /* labels, or nearest neighbours */
    double cosine, worst;  /* embeddings: mean and lowest */
    double difference;     /* largest of any number */
    bool finite;
};

struct verify {
    const struct sr_usage *usage;
    struct sr_arena arena;
    struct sr_bytes texts;
    const struct sr_encoder_info *info; /* of fp32, whose encoder stays open */
    struct sr_window *sequences;
    size_t n, n_texts, ids;
    struct said said[PRECISIONS];
};

struct sr_bytes sr_verify_texts(void)
{
    return sr_bytes_of(sr_embed_verify_text, (size_t)(sr_embed_verify_text_end - sr_embed_verify_text));
}

static bool next_line(struct sr_bytes *rest, struct sr_bytes *line)
{
    while (rest->n) {
        const char *end = memchr(rest->p, '\n', rest->n);
        size_t n = end ? (size_t)(end - rest->p) : rest->n;
        *line = sr_bytes_trim(sr_bytes_of(rest->p, n));
        *rest = sr_bytes_of(rest->p + n + (end != NULL), rest->n - n - (end != NULL));
        if (line->n)
            return true;
    }
    return false;
}

/* All windows of all texts. */
static int cut(struct verify *v, struct sr_encoder *encoder)
{
    struct sr_windows_options options = sr_windows_defaults(sr_encoder_info(encoder)->max_tokens);
    struct sr_bytes rest = v->texts, line;
    struct sr_windows w;
    size_t cap = 0;
    while (next_line(&rest, &line))
        cap++;
    cap *= options.max_windows;
    v->sequences = sr_arena_calloc(&v->arena, cap ? cap : 1, sizeof *v->sequences);
    if (!v->sequences)
        return SR_ENOMEM;
    for (rest = v->texts; next_line(&rest, &line); v->n_texts++) {
        int rc = sr_windows_cut(&w, sr_encoder_tokenizer(encoder), line, &options, &v->arena);
        if (rc != SR_OK)
            return rc;
        for (size_t i = 0; i < w.n; i++, v->n++)
            v->sequences[v->n] = w.items[i];
        v->ids += w.total_ids;
    }
    return v->n ? SR_OK : SR_EINVAL;
}

/* How many numbers head `h` returns for sequence `i`. */
static size_t width(const struct verify *v, size_t h, size_t i)
{
    const struct sr_head_info *head = &v->info->heads[h];
    return head->n_labels * (head->kind == SR_HEAD_TOKEN ? v->sequences[i].n_ids : 1);
}

static int prepare(struct verify *v, struct said *said, struct sr_encoder *encoder, struct sr_infer_job *jobs)
{
    said->out = sr_arena_calloc(&v->arena, v->info->n_heads, sizeof *said->out);
    for (size_t h = 0; said->out && h < v->info->n_heads; h++) {
        said->out[h] = sr_arena_calloc(&v->arena, v->n, sizeof **said->out);
        for (size_t i = 0; said->out[h] && i < v->n; i++)
            if (!(said->out[h][i] = sr_arena_calloc(&v->arena, width(v, h, i), sizeof(float))))
                return SR_ENOMEM;
        if (!said->out[h])
            return SR_ENOMEM;
    }
    for (size_t i = 0; i < v->n; i++) {
        jobs[i] = (struct sr_infer_job){.encoder = encoder, .priority = SR_INFER_BULK};
        jobs[i].item.ids = v->sequences[i].ids;
        jobs[i].item.n_ids = v->sequences[i].n_ids;
        for (size_t h = 0; h < v->info->n_heads; h++) {
            jobs[i].item.heads |= UINT32_C(1) << h;
            jobs[i].item.out[h] = said->out ? said->out[h][i] : NULL;
        }
    }
    return said->out ? SR_OK : SR_ENOMEM;
}

/* Twice: the first pass pays for cold memory. */
static int run(struct verify *v, struct said *said, const struct sr_cli_encoder *encoder)
{
    struct sr_infer_job *jobs = sr_mem_calloc(v->n, sizeof *jobs);
    int rc = jobs ? prepare(v, said, encoder->encoder, jobs) : SR_ENOMEM;
    for (int pass = 0; pass < 2 && rc == SR_OK; pass++) {
        uint64_t start = sr_clock_ns();
        for (size_t at = 0; at < v->n && rc == SR_OK; at += 256)
            rc = sr_infer_run(encoder->infer, jobs + at, v->n - at < 256 ? v->n - at : 256);
        said->ms = (double)(sr_clock_ns() - start) / 1e6;
    }
    said->weight_bytes = sr_encoder_info(encoder->encoder)->weight_bytes;
    sr_mem_free(jobs);
    return rc;
}

/* ---- comparison ---- */

static size_t top(const float *x, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        best = x[i] > x[best] ? i : best;
    return best;
}

static double cosine(const float *a, const float *b, size_t n)
{
    double ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < n; i++) {
        ab += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

/* The other sequence whose vector is nearest. */
static size_t nearest(float *const *vectors, size_t n, size_t d, size_t i)
{
    size_t best = i;
    double most = -2;
    for (size_t k = 0; k < n; k++) {
        double c = k == i ? -2 : cosine(vectors[i], vectors[k], d);
        if (c > most) {
            most = c;
            best = k;
        }
    }
    return best;
}

static void compare_one(const struct verify *v, size_t h, size_t i, float *const *truth, float *const *other,
                        struct beside *b)
{
    const struct sr_head_info *head = &v->info->heads[h];
    size_t n = width(v, h, i);
    for (size_t k = 0; k < n; k++) {
        double d = fabs((double)truth[i][k] - (double)other[i][k]);
        b->finite &= isfinite(other[i][k]) != 0;
        b->difference = d > b->difference ? d : b->difference;
    }
    if (head->kind == SR_HEAD_EMBEDDING) {
        double c = cosine(truth[i], other[i], n);
        b->cosine += c / (double)v->n;
        b->worst = c < b->worst ? c : b->worst;
        b->same += nearest(truth, v->n, n, i) == nearest(other, v->n, n, i);
        b->compared++;
        return;
    }
    for (size_t k = 0; k < n; k += head->n_labels, b->compared++)
        b->same += top(truth[i] + k, head->n_labels) == top(other[i] + k, head->n_labels);
}

static struct beside compare(const struct verify *v, size_t h, const struct said *said)
{
    struct beside b = {.worst = 1, .finite = true};
    for (size_t i = 0; i < v->n; i++)
        compare_one(v, h, i, v->said[SR_PRECISION_FP32].out[h], said->out[h], &b);
    return b;
}

/* ---- output ---- */

static void print_row(const struct verify *v, enum sr_precision p, size_t h, const struct beside *b)
{
    const struct said *said = &v->said[p];
    char lowest[16] = "", mean[16] = "";
    if (v->info->heads[h].kind == SR_HEAD_EMBEDDING) {
        snprintf(mean, sizeof mean, "%.6f", b->cosine);
        snprintf(lowest, sizeof lowest, "%.6f", b->worst);
    }
    printf("%-9s %-12s %9.2f %% %11s %11s %12.6f %9.1f %9.1f%s\n", sr_precision_name(p),
           v->info->heads[h].name, 100 * (double)b->same / (double)b->compared, mean, lowest, b->difference,
           said->ms, (double)said->weight_bytes / 1e6, b->finite ? "" : "  NOT FINITE");
}

static bool print(const struct verify *v, const char *folder)
{
    bool finite = true;
    printf("%s: %zu texts, %zu sequences, %zu tokens; beside fp32\n", folder, v->n_texts, v->n, v->ids);
    printf("%-9s %-12s %11s %11s %11s %12s %9s %9s\n", "precision", "head", "agreement", "mean cosine",
           "lowest", "largest diff", "ms", "weights MB");
    for (unsigned p = 0; p < PRECISIONS; p++)
        for (size_t h = 0; h < v->info->n_heads; h++) {
            struct beside b = compare(v, h, &v->said[p]);
            finite &= b.finite;
            print_row(v, (enum sr_precision)p, h, &b);
        }
    printf("agreement: the same label, of a vector the same nearest neighbour among these texts\n");
    return finite;
}

static void put_row(struct sr_json_writer *w, const struct verify *v, enum sr_precision p, size_t h,
                    const struct beside *b)
{
    const struct said *said = &v->said[p];
    sr_json_object(w, NULL);
    sr_json_text(w, "precision", sr_precision_name(p));
    sr_json_text(w, "head", v->info->heads[h].name);
    sr_json_real(w, "agreement", "%.6f", (double)b->same / (double)b->compared);
    if (v->info->heads[h].kind == SR_HEAD_EMBEDDING) {
        sr_json_real(w, "cosine", "%.8f", b->cosine);
        sr_json_real(w, "lowest_cosine", "%.8f", b->worst);
    }
    sr_json_real(w, "largest_difference", "%.8g", isfinite(b->difference) ? b->difference : -1);
    sr_json_bool(w, "finite", b->finite);
    sr_json_real(w, "us", "%.1f", said->ms * 1e3);
    sr_json_uint(w, "weight_bytes", said->weight_bytes);
    sr_json_object_end(w);
}

static bool print_json(const struct verify *v, const char *folder)
{
    struct sr_buf out;
    bool finite = true;
    sr_buf_init(&out, JSON_MAX);
    struct sr_json_writer w = sr_json_writer_of(&out);
    sr_json_object(&w, NULL);
    sr_json_text(&w, "name", folder);
    sr_json_uint(&w, "texts", v->n_texts);
    sr_json_uint(&w, "sequences", v->n);
    sr_json_uint(&w, "tokens", v->ids);
    sr_json_array(&w, "rows");
    for (unsigned p = 0; p < PRECISIONS; p++)
        for (size_t h = 0; h < v->info->n_heads; h++) {
            struct beside b = compare(v, h, &v->said[p]);
            finite &= b.finite;
            put_row(&w, v, (enum sr_precision)p, h, &b);
        }
    sr_json_array_end(&w);
    sr_json_object_end(&w);
    printf("%.*s\n", (int)out.len, out.data);
    sr_buf_dispose(&out);
    return finite;
}

int sr_verify_precisions(const struct sr_usage *usage, const char *folder, const char *heads,
                         struct sr_bytes texts, long threads, bool json)
{
    struct verify v = {.usage = usage, .texts = texts};
    struct sr_cli_encoder first = {0}, other;
    int code = SR_EXIT_DONE, rc = SR_OK;
    sr_arena_init(&v.arena, ARENA_MAX);
    for (unsigned p = 0; p < PRECISIONS && rc == SR_OK && code == SR_EXIT_DONE; p++) {
        struct sr_cli_encoder_args args = {
            .model = folder, .precision = sr_precision_name((enum sr_precision)p), .threads = threads};
        sr_term_progress("verify", p, PRECISIONS);
        if (!sr_cli_encoder_open(usage, &args, heads, NULL, p ? &other : &first, &code))
            break;
        if (p == 0) {
            v.info = sr_encoder_info(first.encoder);
            rc = cut(&v, first.encoder);
        }
        if (rc == SR_OK)
            rc = run(&v, &v.said[p], p ? &other : &first);
        if (p)
            sr_cli_encoder_close(&other);
    }
    sr_term_progress("verify", 1, 1);
    if (rc != SR_OK)
        code = sr_cmd_fail(usage, rc == SR_EINVAL ? SR_EXIT_NO : SR_EXIT_FAILED, "%s: %s", folder,
                           rc == SR_EINVAL ? "no text to compare on" : sr_strerror(rc));
    else if (code == SR_EXIT_DONE && !(json ? print_json : print)(&v, folder))
        code = SR_EXIT_NO;
    sr_cli_encoder_close(&first);
    sr_arena_dispose(&v.arena);
    return code;
}
