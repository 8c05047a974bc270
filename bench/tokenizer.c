/*
 * Times a tokenizer on texts of 1 KB to 1 MB, one thread: ids with offsets, and the count alone that budgets
 * need.
 *
 * Where there is one, the same bytes go through the `tokenizers` package of a Python interpreter in the same
 * run, on one thread too, between two measurements of semroute; the tokens of both are compared by a hash.
 * Without
 * --text the text is made here: words of several languages, every second one with a letter of its own, so
 * that neither side's cache of words knows them all.
 */
#include "bench/tokenizer.h"

#include "bench/bench.h"

#include "base/mem.h"
#include "infer/locate.h"
#include "model/tokenizer/tokenizer.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_PYTHON "tests/.venv/bin/python"
#define EACH_MAX       32 /* tokenizers of a folder */
#define TEXT_MAX       ((size_t)1 << 20)
#define GOAL_BYTES     ((size_t)64 << 10)
#define GOAL_RATIO     10.0

static const size_t sizes[] = {1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20};
#define SIZES (sizeof sizes / sizeof *sizes)

/* argv: tokenizer, text, bytes, seconds. Prints nanoseconds of one encode (median), tokens, and a hash of the
 * ids. */
static const char peer_script[] =
    "import sys, time, statistics\n"
    "from tokenizers import Tokenizer, __version__\n"
    "t = Tokenizer.from_file(sys.argv[1]); t.no_truncation(); t.no_padding()\n"
    "s = open(sys.argv[2], 'rb').read()[:int(sys.argv[3])].decode('utf-8', 'replace')\n"
    "e = t.encode(s); times = []; end = time.perf_counter() + float(sys.argv[4])\n"
    "while len(times) < 5 or time.perf_counter() < end:\n"
    "    a = time.perf_counter_ns(); t.encode(s); times.append(time.perf_counter_ns() - a)\n"
    "h = 14695981039346656037\n"
    "for i in e.ids: h = (h ^ i) * 1099511628211 % 2**64\n"
    "print(int(statistics.median(times)), len(e.ids), h, __version__)\n";

struct options {
    const char *tokenizer, *text, *python, *each;
    double seconds;
    bool json;
};

struct row {
    char name[64]; /* of the tokenizer, with --each */
    struct sr_bytes text;
    struct sr_tokenizer *tokenizer;
    struct sr_tokens out;
    struct sr_bench_subject encode, count;
    size_t tokens;
    double peer_ns; /* 0: not measured */
    bool peer_agrees;
    char peer_version[32];
};

static const char *const words[] = {
    "the ",      "router ",    "reads ",     "what ",      "request ", "means, ",   "deciding ",
    "which ",    "model ",     "answers. ",  "Explain ",   "photo",    "naïve ",    "übermäßig ",
    "Wörter ",   "größer ",    "решение ",   "модель ",    "запрос, ", "वाक्य ",     "नमस्ते ",
    "مرحبا ",    "نموذج ",     "請解釋量子", "糾纏是什麼", "モデル",   "テスト。",  "에너지는 ",
    "무엇인가 ", "return ",    "x <= 0 ",    "foo_bar(",   "); ",      "3.14159 ",  "2024-01 ",
    "\n\n",      "https://a.", "b/c?d=e ",   "👍🏽 ",  "don't ",   "tokenize ", "inter",
    "national ", "izing ",     "\t",
};
#define WORDS (sizeof words / sizeof *words)

static void make_text(char *text, size_t n)
{
    uint64_t state = 42;
    size_t at = 0;
    while (at < n) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const char *word = words[(state >> 33) % WORDS];
        size_t length = strlen(word) < n - at ? strlen(word) : n - at;
        memcpy(text + at, word, length);
        at += length;
        if (at < n && state >> 40 & 1)
            text[at++] = (char)('a' + (state >> 50) % 26);
    }
}

static int read_text(const char *path, char *text, size_t *n)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return SR_ENOENT;
    *n = fread(text, 1, TEXT_MAX, file);
    fclose(file);
    return *n ? SR_OK : SR_EINVAL;
}

/* ---- ours ---- */

static uint64_t run_encode(void *ctx)
{
    struct row *row = ctx;
    return sr_tokenizer_encode(row->tokenizer, row->text, SR_TOKENIZER_SPECIAL, &row->out) ? 0 : row->out.n;
}

static uint64_t run_count(void *ctx)
{
    struct row *row = ctx;
    size_t n;
    return sr_tokenizer_count(row->tokenizer, row->text, SR_TOKENIZER_SPECIAL, &n) ? 0 : n;
}

static uint64_t hash_ids(const struct sr_tokens *tokens)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < tokens->n; i++)
        h = (h ^ (uint64_t)tokens->ids[i]) * UINT64_C(1099511628211);
    return h;
}

/* ---- the peer ---- */

static int ask_peer(const struct options *o, struct row *row, const char *text_path)
{
    char bytes[32], seconds[32], line[256];
    int fds[2], status;
    unsigned long long ns = 0, tokens = 0, hash = 0;
    snprintf(bytes, sizeof bytes, "%zu", row->text.n);
    snprintf(seconds, sizeof seconds, "%g", o->seconds);
    fflush(stdout);
    if (pipe(fds))
        return SR_EIO;
    pid_t pid = fork();
    if (pid == 0) {
        setenv("TOKENIZERS_PARALLELISM", "false", 1);
        setenv("RAYON_NUM_THREADS", "1", 1);
        dup2(fds[1], STDOUT_FILENO);
        close(fds[0]);
        execlp(o->python, o->python, "-c", peer_script, o->tokenizer, text_path, bytes, seconds,
               (char *)NULL);
        _exit(127);
    }
    close(fds[1]);
    FILE *answer = fdopen(fds[0], "r");
    bool got = answer && fgets(line, sizeof line, answer);
    if (answer)
        fclose(answer);
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status || !got ||
        sscanf(line, "%llu %llu %llu %31s", &ns, &tokens, &hash, row->peer_version) != 4)
        return SR_EIO;
    row->peer_ns = (double)ns;
    row->peer_agrees = tokens == row->tokens && hash == hash_ids(&row->out);
    return SR_OK;
}

/* The text as a file for the other process; *path is to be removed. */
static int write_text(struct sr_bytes text, char path[64])
{
    snprintf(path, 64, "/tmp/semroute-bench-XXXXXX");
    int fd = mkstemp(path);
    if (fd < 0)
        return SR_EIO;
    bool ok = write(fd, text.p, text.n) == (ssize_t)text.n;
    close(fd);
    return ok ? SR_OK : SR_EIO;
}

/* ---- the table ---- */

static double mb_per_s(const struct row *row, double ns)
{
    return (double)row->text.n / ns * 1e3;
}

static int measure(const struct options *o, struct row *row, const char *text_path)
{
    double first[2];
    row->encode = (struct sr_bench_subject){.name = "encode", .run = run_encode, .ctx = row};
    row->count = (struct sr_bench_subject){.name = "count", .run = run_count, .ctx = row};
    for (int pass = 0; pass < 2; pass++) {
        struct sr_bench_subject both[] = {row->encode, row->count};
        int rc = sr_bench_measure(both, 2, o->seconds);
        if (rc || both[0].failed || both[1].failed)
            return rc ? rc : SR_EINVAL;
        row->encode = both[0];
        row->count = both[1];
        row->tokens = row->out.n;
        if (!o->python)
            return SR_OK;
        if (pass == 0) {
            first[0] = both[0].median_ns;
            first[1] = both[1].median_ns;
            rc = ask_peer(o, row, text_path);
            if (rc)
                return rc;
        }
    }
    row->encode.median_ns = (row->encode.median_ns + first[0]) / 2;
    row->count.median_ns = (row->count.median_ns + first[1]) / 2;
    return SR_OK;
}

static void print_json(const struct options *o, const struct row *rows, size_t n)
{
    printf("{\"bench\":\"tokenizer\",\"machine\":\"%s\",\"threads\":1,\"peer\":%s%s%s,\"rows\":[",
           sr_bench_machine(), o->python ? "\"tokenizers " : "null", o->python ? rows[0].peer_version : "",
           o->python ? "\"" : "");
    for (size_t i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        printf("%s{\"tokenizer\":\"%s\",\"bytes\":%zu,\"tokens\":%zu,\"encode_us\":%.2f,\"encode_mb_per_s\":%"
               ".2f,\"count_us\":%.2f,"
               "\"count_mb_per_s\":%.2f",
               i ? "," : "", r->name, r->text.n, r->tokens, r->encode.median_ns / 1e3,
               mb_per_s(r, r->encode.median_ns), r->count.median_ns / 1e3, mb_per_s(r, r->count.median_ns));
        if (o->python)
            printf(",\"peer_us\":%.1f,\"peer_mb_per_s\":%.3f,\"ratio\":%.1f,\"same_tokens\":%s",
                   r->peer_ns / 1e3, mb_per_s(r, r->peer_ns), r->peer_ns / r->encode.median_ns,
                   r->peer_agrees ? "true" : "false");
        printf("}");
    }
    printf("],\"goal\":{\"bytes\":%zu,\"ratio\":%.0f}}\n", GOAL_BYTES, GOAL_RATIO);
}

static void print_table(const struct options *o, const struct row *rows, size_t n)
{
    static const char *titles[] = {"text", "tokens",  "encode us", "MB/s",   "count us",
                                   "MB/s", "peer us", "MB/s",      "x peer", "same tokens"};
    static struct sr_bench_table table;
    titles[0] = o->each ? "tokenizer" : "text";
    sr_bench_table_init(&table, titles, o->python ? 10 : 6);
    for (size_t i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        char size[24];
        sr_bench_table_cell(&table, "%s", o->each ? r->name : sr_bench_size(size, r->text.n));
        sr_bench_table_cell(&table, "%zu", r->tokens);
        sr_bench_table_cell(&table, "%.1f", r->encode.median_ns / 1e3);
        sr_bench_table_cell(&table, "%.1f", mb_per_s(r, r->encode.median_ns));
        sr_bench_table_cell(&table, "%.1f", r->count.median_ns / 1e3);
        sr_bench_table_cell(&table, "%.1f", mb_per_s(r, r->count.median_ns));
        if (!o->python)
            continue;
        sr_bench_table_cell(&table, "%.1f", r->peer_ns / 1e3);
        sr_bench_table_cell(&table, "%.2f", mb_per_s(r, r->peer_ns));
        sr_bench_table_cell(&table, "%.1f", r->peer_ns / r->encode.median_ns);
        sr_bench_table_cell(&table, "%s", r->peer_agrees ? "yes" : "NO");
    }
    if (o->each)
        printf("64 KB, %s, 1 thread; medians; encode = ids and offsets\n", sr_bench_machine());
    else
        printf("%s, %s, 1 thread; medians; encode = ids and offsets\n", o->tokenizer, sr_bench_machine());
    sr_bench_table_print(&table, stdout);
    size_t reached = 0, measured = 0;
    double at_goal = 0;
    for (size_t i = 0; i < n; i++)
        if (rows[i].text.n == GOAL_BYTES) {
            at_goal = rows[i].peer_ns / rows[i].encode.median_ns;
            reached += at_goal >= GOAL_RATIO;
            measured++;
        }
    if (o->python && o->each)
        printf("peer: Hugging Face tokenizers %s; goal at 64 KB: %.0f x; %zu of %zu reach it\n",
               rows[0].peer_version, GOAL_RATIO, reached, measured);
    else if (o->python && measured)
        printf("peer: Hugging Face tokenizers %s; goal at 64 KB: %.0f x; this run: %.1f x\n",
               rows[0].peer_version, GOAL_RATIO, at_goal);
}

/* The work of one run: a text, its copy in a file for the peer, room for tokens. */
struct work {
    char *text;
    size_t n_text;
    struct sr_tokens out;
    char path[64]; /* "": no peer */
};

/* One tokenizer, all sizes. */
static int by_size(struct options *o, struct work *w, struct row *rows, size_t *n)
{
    struct sr_tokenizer *tokenizer;
    struct sr_err err = {0};
    int rc = sr_tokenizer_open_file(&tokenizer, o->tokenizer, &err);
    if (rc) {
        fprintf(stderr, "semroute bench tokenizer: %s\n", err.message);
        return rc;
    }
    for (; rc == SR_OK && *n < SIZES && sizes[*n] <= w->n_text; ++*n) {
        rows[*n] = (struct row){.text = {w->text, sizes[*n]}, .tokenizer = tokenizer, .out = w->out};
        rc = measure(o, &rows[*n], w->path);
    }
    sr_tokenizer_unref(tokenizer);
    return rc;
}

static int is_tokenizer(const struct dirent *entry)
{
    const char *end = strstr(entry->d_name, ".json");
    return end && end[5] == '\0';
}

/* One size, all tokenizers of a folder. */
static int by_tokenizer(struct options *o, struct work *w, struct row *rows, size_t *n)
{
    struct dirent **entries;
    struct sr_err err = {0};
    char path[SR_LOCATE_MAX];
    int count = scandir(o->each, &entries, is_tokenizer, alphasort), rc = count < 0 ? SR_ENOENT : SR_OK;
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", o->each, entries[i]->d_name);
        o->tokenizer = path;
        if (rc == SR_OK && *n < EACH_MAX && w->n_text >= GOAL_BYTES) {
            struct row *row = &rows[*n];
            *row = (struct row){.text = {w->text, GOAL_BYTES}, .out = w->out};
            snprintf(row->name, sizeof row->name, "%.*s", (int)(strlen(entries[i]->d_name) - 5),
                     entries[i]->d_name);
            rc = sr_tokenizer_open_file(&row->tokenizer, path, &err);
            if (rc)
                fprintf(stderr, "semroute bench tokenizer: %s\n", err.message);
            else if ((rc = measure(o, row, w->path)) == SR_OK)
                ++*n;
            sr_tokenizer_unref(row->tokenizer);
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    o->tokenizer = NULL;
    return rc;
}

static int run(struct options *o, struct work *w)
{
    static struct row rows[EACH_MAX];
    size_t n = 0;
    w->n_text = TEXT_MAX;
    make_text(w->text, TEXT_MAX);
    int rc = o->text ? read_text(o->text, w->text, &w->n_text) : SR_OK;
    if (rc == SR_OK && o->python)
        rc = write_text(sr_bytes_of(w->text, w->n_text), w->path);
    if (rc == SR_OK)
        rc = (o->each ? by_tokenizer : by_size)(o, w, rows, &n);
    if (*w->path)
        unlink(w->path);
    if (rc == SR_OK && n == 0)
        rc = SR_EINVAL;
    if (rc)
        fprintf(stderr, "semroute bench tokenizer: %s\n",
                rc == SR_EIO      ? "the other interpreter gave no answer; does it have `tokenizers`?"
                : rc == SR_ENOENT ? "the text or the tokenizers cannot be read"
                : rc == SR_EINVAL ? "the text needs 1 KB at least, 64 KB for --each"
                                  : sr_strerror(rc));
    else if (o->json)
        print_json(o, rows, n);
    else
        print_table(o, rows, n);
    return rc ? 3 : 0;
}

static int usage(FILE *out)
{
    fprintf(out,
            "semroute bench tokenizer [--tokenizer FILE | --each DIR] [--text FILE] [--python PATH|off] "
            "[--seconds S] [--json]\n"
            "  Tokenizes 1 KB to 1 MB with a tokenizer.json (the default model's), or 64 KB with each of a "
            "folder,\n"
            "  beside Hugging Face tokenizers in an interpreter that has the package (%s).\n",
            DEFAULT_PYTHON);
    return out == stdout ? 0 : 2;
}

static bool read_options(int argc, char **argv, struct options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--json") == 0) {
            o->json = true;
            continue;
        }
        if (!value)
            return false;
        if (strcmp(argv[i], "--tokenizer") == 0)
            o->tokenizer = value;
        else if (strcmp(argv[i], "--text") == 0)
            o->text = value;
        else if (strcmp(argv[i], "--each") == 0)
            o->each = value;
        else if (strcmp(argv[i], "--python") == 0)
            o->python = strcmp(value, "off") == 0 ? NULL : value;
        else if (strcmp(argv[i], "--seconds") != 0 || !((o->seconds = atof(value)) > 0))
            return false;
        i++;
    }
    return true;
}

int sr_bench_tokenizer(int argc, char **argv)
{
    struct options o = {.python = access(DEFAULT_PYTHON, X_OK) == 0 ? DEFAULT_PYTHON : NULL, .seconds = 0.5};
    struct sr_err err = {0};
    char folder[SR_LOCATE_MAX], file[SR_LOCATE_MAX + 20];
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return usage(stdout);
    if (!read_options(argc, argv, &o))
        return usage(stderr);
    if (!o.tokenizer && !o.each) {
        if (sr_locate_model(folder, NULL, &err)) {
            fprintf(stderr, "semroute bench tokenizer: %s\n", err.message);
            return 3;
        }
        snprintf(file, sizeof file, "%s/tokenizer.json", folder);
        o.tokenizer = file;
    }
    size_t cap = TEXT_MAX * 3 + 64;
    struct work w = {.text = sr_mem_alloc(TEXT_MAX + 1),
                     .out = {.ids = sr_mem_calloc(cap, sizeof *w.out.ids),
                             .starts = sr_mem_calloc(cap, sizeof *w.out.starts),
                             .ends = sr_mem_calloc(cap, sizeof *w.out.ends),
                             .cap = cap}};
    int rc = w.text && w.out.ids && w.out.starts && w.out.ends ? run(&o, &w) : 3;
    sr_mem_free(w.out.ids);
    sr_mem_free(w.out.starts);
    sr_mem_free(w.out.ends);
    sr_mem_free(w.text);
    return rc;
}
