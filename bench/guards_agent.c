/* Requests are written as JSON and read as the router reads them: scanner, units, signals. */
#include "bench/guards_agent.h"

#include "bench/bench.h"

#include "base/clock.h"
#include "base/json_write.h"
#include "dialect/registry.h"
#include "router/request/units.h"

#define TOOL_BYTES  ((size_t)64 << 10)
#define BODY_MAX    ((size_t)4 << 20)
#define ARENA_MAX   ((size_t)64 << 20)
#define DESCRIPTION 120u /* tokens */
#define PARAMETER   24u
#define TURN        500u
#define AGAIN       9u

static int put_text(struct sr_json_writer *w, const char *key, struct sr_guards_text *texts, size_t tokens)
{
    struct sr_buf text;
    sr_buf_init(&text, SR_GUARDS_TEXT_MAX);
    int rc = sr_guards_text_make(texts, tokens, &text, NULL);
    if (rc == SR_OK)
        sr_json_bytes(w, key, sr_buf_view(&text));
    sr_buf_dispose(&text);
    return rc ? rc : w->rc;
}

static int put_tool(struct sr_json_writer *w, struct sr_guards_text *texts, size_t number)
{
    static const char *const names[] = {"path", "pattern", "limit", "recursive"};
    char name[32];
    int rc;
    snprintf(name, sizeof name, "tool_%zu", number);
    sr_json_object(w, NULL);
    sr_json_text(w, "type", "function");
    sr_json_object(w, "function");
    sr_json_text(w, "name", name);
    rc = put_text(w, "description", texts, DESCRIPTION);
    sr_json_object(w, "parameters");
    sr_json_text(w, "type", "object");
    sr_json_object(w, "properties");
    for (size_t i = 0; i < sizeof names / sizeof names[0] && rc == SR_OK; i++) {
        sr_json_object(w, names[i]);
        sr_json_text(w, "type", "string");
        rc = put_text(w, "description", texts, PARAMETER);
        sr_json_object_end(w);
    }
    sr_json_object_end(w);
    sr_json_object_end(w);
    sr_json_object_end(w);
    sr_json_object_end(w);
    return rc;
}

static int make_tools(struct sr_guards_text *texts, struct sr_buf *out, size_t *n)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    int rc = SR_OK;
    sr_json_array(&w, NULL);
    for (*n = 0; out->len < TOOL_BYTES && rc == SR_OK; ++*n)
        rc = put_tool(&w, texts, *n);
    sr_json_array_end(&w);
    return rc ? rc : w.rc;
}

/* A request with the tools and these messages. */
static int make_body(struct sr_bytes tools, struct sr_bytes messages, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_buf_clear(out);
    sr_json_object(&w, NULL);
    sr_json_text(&w, "model", "m");
    sr_json_raw(&w, "tools", tools);
    sr_json_raw(&w, "messages", messages);
    sr_json_object_end(&w);
    return w.rc;
}

static int read_body(struct sr_guards *guards, struct sr_bytes body, double *ms, struct sr_err *err)
{
    struct sr_dialect_paths *paths = NULL;
    struct sr_guards_time time;
    struct sr_units units;
    struct sr_scan *scan;
    struct sr_arena arena;
    struct sr_request doc = {.dialect = &sr_dialect_chat, .body = body};
    uint64_t total;
    sr_arena_init(&arena, ARENA_MAX);
    int rc = sr_dialect_paths_new(&paths, err);
    if (rc == SR_OK)
        rc = sr_scan_new(&scan, sr_dialect_request_paths(paths, doc.dialect), sr_scan_limits_defaults(),
                         &arena);
    if (rc == SR_OK)
        rc = sr_scan_feed(scan, body.p, body.n, err);
    if (rc == SR_OK) {
        doc.spans = sr_scan_spans(scan, &doc.n_spans);
        sr_request_index(&doc);
        uint64_t start = sr_clock_ns();
        rc = sr_units_read(&doc, &arena, &units);
        struct sr_bytes asked = sr_request_text(&doc, &arena, &total);
        if (rc == SR_OK)
            rc = sr_guards_read_units(guards, &units.list, asked, &time, err);
        *ms = (double)(sr_clock_ns() - start) / 1e6;
    }
    sr_dialect_paths_free(paths);
    sr_arena_dispose(&arena);
    return rc;
}

/* Adds a message of the user's and one of the model's. */
static int grow(struct sr_guards_text *texts, struct sr_buf *messages, bool first)
{
    static const char *const roles[] = {"assistant", "user"};
    struct sr_json_writer w = sr_json_writer_of(messages);
    int rc = SR_OK;
    w.comma = !first;
    if (!first)
        messages->len--; /* the bracket */
    else
        rc = sr_buf_append(messages, "[", 1);
    for (size_t i = first; i < 2 && rc == SR_OK; i++) {
        sr_json_object(&w, NULL);
        sr_json_text(&w, "role", roles[i]);
        rc = put_text(&w, "content", texts, first ? TURN : TURN / 2);
        sr_json_object_end(&w);
    }
    return rc ? rc : sr_buf_append(messages, "]", 1);
}

static int converse(struct sr_guards *guards, struct sr_guards_text *texts, struct sr_bytes tools,
                    size_t turns, struct sr_guards_agent *out, struct sr_err *err)
{
    double later[SR_GUARDS_AGENT_TURNS];
    struct sr_buf messages, body;
    int rc = SR_OK;
    sr_buf_init(&messages, BODY_MAX);
    sr_buf_init(&body, BODY_MAX);
    for (size_t i = 0; i < turns && rc == SR_OK; i++) {
        rc = grow(texts, &messages, i == 0);
        if (rc == SR_OK)
            rc = make_body(tools, sr_buf_view(&messages), &body);
        if (rc == SR_OK)
            rc = read_body(guards, sr_buf_view(&body), i ? &later[i - 1] : &out->first, err);
    }
    out->turn = turns > 1 && rc == SR_OK ? sr_bench_percentile(later, turns - 1, 0.5) : 0;
    sr_buf_dispose(&messages);
    sr_buf_dispose(&body);
    return rc;
}

static int read_tools(struct sr_guards *guards, struct sr_bytes tools, struct sr_guards_agent *out,
                      struct sr_err *err)
{
    double again[AGAIN];
    struct sr_buf body;
    sr_buf_init(&body, BODY_MAX);
    int rc =
        make_body(tools, SR_LIT("[{\"role\":\"user\",\"content\":\"Please go on with the task.\"}]"), &body);
    if (rc == SR_OK)
        rc = read_body(guards, sr_buf_view(&body), &out->first_tools, err);
    for (size_t i = 0; i < AGAIN && rc == SR_OK; i++)
        rc = read_body(guards, sr_buf_view(&body), &again[i], err);
    out->tools_again = rc == SR_OK ? sr_bench_percentile(again, AGAIN, 0.5) : 0;
    sr_buf_dispose(&body);
    return rc;
}

int sr_guards_agent_measure(struct sr_guards *guards, struct sr_guards_text *texts, size_t turns,
                            struct sr_guards_agent *out, struct sr_err *err)
{
    struct sr_buf tools;
    *out = (struct sr_guards_agent){0};
    sr_buf_init(&tools, BODY_MAX);
    int rc = make_tools(texts, &tools, &out->tools);
    out->tool_bytes = tools.len;
    if (rc == SR_OK)
        rc = converse(guards, texts, sr_buf_view(&tools), turns, out, err);
    sr_buf_clear(&tools);
    if (rc == SR_OK)
        rc = make_tools(texts, &tools, &out->tools);
    if (rc == SR_OK)
        rc = read_tools(guards, sr_buf_view(&tools), out, err);
    sr_buf_dispose(&tools);
    return rc;
}
