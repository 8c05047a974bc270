/* Parts are small, so that each call ends long before its deadline. */
#include "cli/admin/warm.h"

#include "base/json_write.h"
#include "cli/admin/ask.h"
#include "cli/cmd.h"

#include <inttypes.h>
#include <stdio.h>

#define API            "/api/v1/response-cache/warm"
#define FILE_MAX_BYTES ((size_t)512 << 20)
#define PART_LINES     50
#define PART_BYTES     ((size_t)1 << 20)
#define LINE_BYTES     ((size_t)2 << 20) /* more is refused, so it is not sent */
#define PROBLEMS_MAX   ((size_t)64 << 20)

static const char *const counts[] = {"lines",   "taken",      "skipped", "invalid",
                                     "entries", "exact_only", "evicted"};
enum { LINES, TAKEN, SKIPPED, INVALID, ENTRIES, EXACT_ONLY, EVICTED, COUNTS };

/* What became of all parts so far. */
struct sum {
    const char *name; /* of the file */
    int64_t n[COUNTS], total;
    bool json;
    struct sr_buf problems; /* members of the JSON list */
    struct sr_json_writer w;
};

static void note(struct sum *sum, int64_t line, struct sr_bytes code, struct sr_bytes message)
{
    if (!sum->json) {
        fprintf(stderr, "%s:%" PRId64 ": %.*s\n", sum->name, line, (int)message.n,
                message.p ? message.p : "");
        return;
    }
    sr_json_object(&sum->w, NULL);
    sr_json_int(&sum->w, "line", line);
    sr_json_bytes(&sum->w, "code", code);
    sr_json_bytes(&sum->w, "message", message);
    sr_json_object_end(&sum->w);
}

/* Adds the report of a part that begins after `before` lines. */
static void add(struct sum *sum, const sr_doc_value *report, int64_t before)
{
    const sr_doc_value *problems = sr_doc_get(report, "problems");
    for (int i = 0; i < COUNTS; i++)
        sum->n[i] += sr_admin_number(report, counts[i]);
    sum->total = sr_admin_number(report, "total_entries");
    for (size_t i = 0; i < sr_doc_size(problems); i++) {
        const sr_doc_value *problem = sr_doc_at(problems, i);
        note(sum, before + sr_admin_number(problem, "line"), sr_doc_string(sr_doc_get(problem, "code")),
             sr_doc_string(sr_doc_get(problem, "message")));
    }
}

/* The size of the next part, with its line ends, and how many lines it has. */
static size_t cut(struct sr_bytes rest, int64_t *lines)
{
    size_t n = 0;
    *lines = 0;
    while (n < rest.n && *lines < PART_LINES) {
        const char *end = memchr(rest.p + n, '\n', rest.n - n);
        size_t line = end ? (size_t)(end - rest.p) + 1 - n : rest.n - n;
        if (n && n + line > PART_BYTES)
            break;
        n += line;
        ++*lines;
    }
    return n;
}

static int send(const struct sr_usage *usage, const struct sr_admin_where *where, struct sr_bytes rest,
                struct sum *sum)
{
    int64_t before = 0, lines;
    int code = SR_EXIT_DONE;
    while (code == SR_EXIT_DONE && rest.n) {
        struct sr_doc *doc = NULL;
        size_t n = cut(rest, &lines);
        struct sr_bytes part = sr_bytes_trim(sr_bytes_of(rest.p, n));
        if (n > LINE_BYTES + PART_BYTES) {
            note(sum, before + 1, SR_LIT("invalid"), SR_LIT("the line is longer than 2 MiB"));
            sum->n[LINES]++;
            sum->n[INVALID]++;
        } else if (part.n) {
            code = sr_admin_ask(usage, where, API, sr_bytes_of(rest.p, n), false, &doc);
            if (doc)
                add(sum, sr_doc_root(doc), before);
        }
        sr_doc_free(doc);
        before += lines;
        rest = sr_bytes_of(rest.p + n, rest.n - n);
    }
    return code;
}

static void print(struct sum *sum)
{
    const int64_t *n = sum->n;
    printf("%" PRId64 " of %" PRId64 " lines taken as %" PRId64 " entries; %" PRId64 " skipped, %" PRId64
           " invalid\n",
           n[TAKEN], n[LINES], n[ENTRIES], n[SKIPPED], n[INVALID]);
    if (n[EXACT_ONLY])
        printf("%" PRId64 " entries have no vector: only the same text finds them\n", n[EXACT_ONLY]);
    if (n[EVICTED])
        printf("%" PRId64 " entries were evicted meanwhile: `max_entries` or `max_bytes` is reached\n",
               n[EVICTED]);
    printf("the cache has %" PRId64 " entries\n", sum->total);
}

static int print_json(struct sum *sum)
{
    struct sr_buf out;
    sr_buf_init(&out, PROBLEMS_MAX + 4096);
    struct sr_json_writer w = sr_json_writer_of(&out);
    sr_json_object(&w, NULL);
    for (int i = 0; i < COUNTS; i++)
        sr_json_int(&w, counts[i], sum->n[i]);
    sr_json_int(&w, "total_entries", sum->total);
    sr_json_array(&w, "problems");
    sr_json_raw(&w, NULL, sr_buf_view(&sum->problems));
    sr_json_array_end(&w);
    sr_json_object_end(&w);
    bool shown = !w.rc && sr_cmd_put(sr_buf_view(&out)) && sr_cmd_put(SR_LIT("\n"));
    sr_buf_dispose(&out);
    return shown ? SR_EXIT_DONE : SR_EXIT_FAILED;
}

int sr_admin_cache_warm(const struct sr_usage *usage, const struct sr_admin_where *where, const char *path,
                        bool json)
{
    struct sum sum = {.name = strcmp(path, "-") == 0 ? "standard input" : path, .json = json};
    struct sr_buf file;
    struct sr_err err = {0};
    int code;
    sr_buf_init(&file, FILE_MAX_BYTES);
    sr_buf_init(&sum.problems, PROBLEMS_MAX);
    sum.w = sr_json_writer_of(&sum.problems);
    if (sr_cmd_read(path, &file, &err))
        code = sr_cmd_fail(usage, SR_EXIT_FAILED, "%s", err.message);
    else
        code = send(usage, where, sr_buf_view(&file), &sum);
    if (code == SR_EXIT_DONE && json)
        code = print_json(&sum);
    else if (code == SR_EXIT_DONE)
        print(&sum);
    if (code == SR_EXIT_DONE && (sum.n[INVALID] || !sum.n[TAKEN]))
        code = SR_EXIT_NO;
    sr_buf_dispose(&sum.problems);
    sr_buf_dispose(&file);
    return code;
}
