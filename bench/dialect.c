/*
 * Times what a translation adds: a request and an answer of 1 KB, and one event of a stream, in each
 * direction. A request that is not translated pays none of it. The documents are made here, the same ones on
 * each machine; those of other APIs are made from a chat by the translator itself.
 *
 * Goals are printed next to the figures, never asserted.
 */
#include "bench/dialect.h"

#include "bench/bench.h"
#include "bench/options.h"

#include "base/arena.h"
#include "translate/translate.h"

#define MEMORY          ((size_t)16 << 20)
#define EVENTS          200 /* of a stream, each a piece of text */
#define ROWS            6
#define TEXT            "The router reads what a request means, and decides which model should answer it. "
#define LINES           9 /* of TEXT in a document: about 1 KB */
#define GOAL_EVENT_US   5.0
#define GOAL_REQUEST_US 20.0

enum { REQUEST, ANSWER, STREAM, SUBJECTS };

struct row {
    enum sr_translate_api from, to;
    struct sr_buf in[SUBJECTS], out;
    struct sr_arena arena;
    struct sr_bench_subject subjects[SUBJECTS];
};

static const struct sr_translate_settings settings = {.now_s = 1700000000, .usage = true};

static const char *name_of(enum sr_translate_api api)
{
    static const char *const names[] = {"chat", "responses", "messages"};
    return names[api];
}

/* ---- the documents ---- */

static int put_text(struct sr_buf *out)
{
    int rc = SR_OK;
    for (int i = 0; i < LINES && !rc; i++)
        rc = sr_buf_append(out, TEXT, sizeof TEXT - 1);
    return rc;
}

static int make_request(struct sr_buf *out)
{
    int rc = sr_buf_printf(out, "{\"model\":\"m\",\"stream\":true,\"temperature\":0.7,\"max_tokens\":512,"
                                "\"messages\":[{\"role\":\"system\",\"content\":\"You are brief.\"},"
                                "{\"role\":\"user\",\"content\":\"");
    if (!rc)
        rc = put_text(out);
    return rc ? rc
              : sr_buf_printf(
                    out,
                    "\"}],\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"description\":"
                    "\"looks something up\",\"parameters\":{\"type\":\"object\",\"properties\":"
                    "{\"q\":{\"type\":\"string\"}}}}}]}");
}

static int make_answer(struct sr_buf *out)
{
    int rc = sr_buf_printf(
        out, "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"m\","
             "\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"");
    if (!rc)
        rc = put_text(out);
    return rc ? rc
              : sr_buf_printf(
                    out,
                    "\",\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"f\","
                    "\"arguments\":\"{\\\"q\\\":\\\"x\\\"}\"}}]},\"finish_reason\":\"tool_calls\"}],"
                    "\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":9,\"total_tokens\":18}}");
}

static int make_stream(struct sr_buf *out)
{
    int rc = SR_OK;
    for (int i = 0; i < EVENTS && !rc; i++)
        rc = sr_buf_printf(out,
                           "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,"
                           "\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"},"
                           "\"logprobs\":null,\"finish_reason\":null}]}\n\n");
    return rc ? rc
              : sr_buf_printf(
                    out, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
                         "data: [DONE]\n\n");
}

static int pass_stream(enum sr_translate_api from, enum sr_translate_api to, struct sr_bytes in,
                       struct sr_buf *out)
{
    struct sr_translate_stream *stream;
    int rc = sr_translate_stream_new(&stream, from, to, &settings);
    if (!rc)
        rc = sr_translate_stream_feed(stream, in, out);
    if (!rc)
        rc = sr_translate_stream_end(stream, out);
    sr_translate_stream_free(stream);
    return rc;
}

/* The documents of the row's API. */
static int prepare(struct row *row)
{
    struct sr_buf chat[SUBJECTS];
    static int (*const makers[])(struct sr_buf *) = {make_request, make_answer, make_stream};
    int rc = SR_OK;
    for (int i = 0; i < SUBJECTS; i++) {
        sr_buf_init(&chat[i], MEMORY);
        sr_buf_init(&row->in[i], MEMORY);
        rc = rc ? rc : makers[i](&chat[i]);
    }
    for (int i = 0; i < SUBJECTS && !rc; i++) {
        struct sr_bytes in = sr_buf_view(&chat[i]);
        struct sr_buf *out = &row->in[i];
        if (row->from == SR_TRANSLATE_CHAT)
            rc = sr_buf_append_bytes(out, in);
        else if (i == REQUEST)
            rc = sr_translate_request(SR_TRANSLATE_CHAT, row->from, in, &settings, &row->arena, out, NULL,
                                      NULL);
        else if (i == ANSWER)
            rc = sr_translate_answer(SR_TRANSLATE_CHAT, row->from, in, &settings, &row->arena, out, NULL,
                                     NULL);
        else
            rc = pass_stream(SR_TRANSLATE_CHAT, row->from, in, out);
    }
    for (int i = 0; i < SUBJECTS; i++)
        sr_buf_dispose(&chat[i]);
    return rc;
}

/* ---- what is timed ---- */

static uint64_t run_request(void *ctx)
{
    struct row *row = ctx;
    struct sr_translate_warnings warnings = {.n = 0};
    sr_arena_reset(&row->arena);
    sr_buf_clear(&row->out);
    return sr_translate_request(row->from, row->to, sr_buf_view(&row->in[REQUEST]), &settings, &row->arena,
                                &row->out, &warnings, NULL)
               ? 0
               : row->out.len;
}

static uint64_t run_answer(void *ctx)
{
    struct row *row = ctx;
    struct sr_translate_warnings warnings = {.n = 0};
    sr_arena_reset(&row->arena);
    sr_buf_clear(&row->out);
    return sr_translate_answer(row->from, row->to, sr_buf_view(&row->in[ANSWER]), &settings, &row->arena,
                               &row->out, &warnings, NULL)
               ? 0
               : row->out.len;
}

static uint64_t run_stream(void *ctx)
{
    struct row *row = ctx;
    sr_buf_clear(&row->out);
    return pass_stream(row->from, row->to, sr_buf_view(&row->in[STREAM]), &row->out) ? 0 : row->out.len;
}

static int measure(struct row *row, double seconds)
{
    sr_arena_init(&row->arena, MEMORY);
    sr_buf_init(&row->out, MEMORY);
    int rc = prepare(row);
    row->subjects[REQUEST] = (struct sr_bench_subject){.name = "request", .run = run_request, .ctx = row};
    row->subjects[ANSWER] = (struct sr_bench_subject){.name = "answer", .run = run_answer, .ctx = row};
    row->subjects[STREAM] = (struct sr_bench_subject){.name = "stream", .run = run_stream, .ctx = row};
    if (!rc)
        rc = sr_bench_measure(row->subjects, SUBJECTS, seconds);
    for (int i = 0; i < SUBJECTS; i++) {
        rc = !rc && row->subjects[i].failed ? SR_EINVAL : rc;
        sr_buf_dispose(&row->in[i]);
    }
    sr_buf_dispose(&row->out);
    sr_arena_dispose(&row->arena);
    return rc;
}

static double us(const struct row *row, int subject)
{
    return row->subjects[subject].median_ns / 1e3 / (subject == STREAM ? EVENTS : 1);
}

/* ---- reports ---- */

static void print_json(const struct row *rows)
{
    printf("{\"bench\":\"dialect\",\"machine\":\"%s\",\"threads\":1,\"rows\":[", sr_bench_machine());
    for (size_t i = 0; i < ROWS; i++)
        printf("%s{\"from\":\"%s\",\"to\":\"%s\",\"request_us\":%.3f,\"answer_us\":%.3f,\"event_us\":%.3f}",
               i ? "," : "", name_of(rows[i].from), name_of(rows[i].to), us(&rows[i], REQUEST),
               us(&rows[i], ANSWER), us(&rows[i], STREAM));
    printf("],\"goals\":{\"request_us\":%.0f,\"event_us\":%.0f}}\n", GOAL_REQUEST_US, GOAL_EVENT_US);
}

static void print_table(const struct row *rows)
{
    static const char *const titles[] = {"from", "to", "request us", "answer us", "event us"};
    struct sr_bench_table table;
    sr_bench_table_init(&table, titles, sizeof titles / sizeof titles[0]);
    for (size_t i = 0; i < ROWS; i++) {
        sr_bench_table_cell(&table, "%s", name_of(rows[i].from));
        sr_bench_table_cell(&table, "%s", name_of(rows[i].to));
        for (int s = 0; s < SUBJECTS; s++)
            sr_bench_table_cell(&table, "%.2f", us(&rows[i], s));
    }
    printf("Translation, documents of 1 KB, %s, 1 thread; medians\n", sr_bench_machine());
    sr_bench_table_print(&table, stdout);
    printf("goals: %.0f us for a request, %.0f us for an event\n", GOAL_REQUEST_US, GOAL_EVENT_US);
}

int sr_bench_dialect(int argc, char **argv)
{
    static struct row rows[ROWS];
    struct sr_bench_options o = {.name = "dialect",
                                 .text = "Translates requests, answers and streams between chat completions, "
                                         "Responses and Messages; S seconds for each\n  direction.",
                                 .seconds = 0.5};
    int rc = SR_OK;
    int code = sr_bench_options_read(&o, argc, argv);
    if (code >= 0)
        return code;
    for (unsigned i = 0; i < ROWS && !rc; i++) {
        rows[i].from = (enum sr_translate_api)(i / 2);
        rows[i].to = (enum sr_translate_api)((i / 2 + 1 + i % 2) % 3);
        rc = measure(&rows[i], o.seconds);
    }
    if (rc) {
        fprintf(stderr, "semroute bench dialect: %s\n", sr_strerror(rc));
        return 3;
    }
    if (o.json)
        print_json(rows);
    else
        print_table(rows);
    return 0;
}
