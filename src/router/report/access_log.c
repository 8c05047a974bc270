/*
 * The access log: one JSON object for each exchange, for operators. Holds nothing of what a user wrote; the
 * model is named only when it is one of the configuration.
 */
#include "base/clock.h"
#include "router/exchange.h"

#include <math.h>
#include <time.h>

#define LINE_MAX_BYTES ((size_t)16 << 10)

/* A path is the client's: it is cut, and its query is left out. */
#define PATH_LOG_MAX 200

const char *sr_door_name(enum sr_door door)
{
    static const char *const names[] = {
        [SR_DOOR_LIBRARY] = "library", [SR_DOOR_GATEWAY] = "gateway", [SR_DOOR_EXTPROC] = "extproc"};
    return names[door];
}

const char *sr_outcome_name(const sr_exchange *x, enum sr_end how)
{
    static const char *const names[] = {
        [SR_OUTCOME_ROUTED] = "routed",     [SR_OUTCOME_DEFAULT] = "default", [SR_OUTCOME_PASSED] = "passed",
        [SR_OUTCOME_DEGRADED] = "degraded", [SR_OUTCOME_FAST] = "fast",       [SR_OUTCOME_LOCAL] = "local",
        [SR_OUTCOME_REFUSED] = "refused",   [SR_OUTCOME_SHED] = "shed",       [SR_OUTCOME_FAILED] = "failed",
        [SR_OUTCOME_BLOCKED] = "blocked",
    };
    if (how == SR_END_CLIENT_GONE)
        return "canceled";
    if (how == SR_END_UPSTREAM_LOST)
        return "failed";
    return x->has_verdict ? names[x->verdict.outcome] : "canceled";
}

/* A line that is being written; the first failure ends it. */
struct line {
    struct sr_buf buf;
    int rc;
};

static void put_bytes(struct line *line, const char *key, struct sr_bytes value)
{
    if (!line->rc)
        line->rc = sr_buf_printf(&line->buf, "%s\"%s\":\"", line->buf.len > 1 ? "," : "", key);
    if (!line->rc)
        line->rc = sr_buf_append_json(&line->buf, value);
    if (!line->rc)
        line->rc = sr_buf_append(&line->buf, "\"", 1);
}

static void put_text(struct line *line, const char *key, const char *value)
{
    if (value && value[0])
        put_bytes(line, key, sr_bytes_str(value));
}

static void put_number(struct line *line, const char *key, unsigned long long value)
{
    if (!line->rc)
        line->rc = sr_buf_printf(&line->buf, ",\"%s\":%llu", key, value);
}

static void put_real(struct line *line, const char *key, double value)
{
    if (!line->rc && isfinite(value))
        line->rc = sr_buf_printf(&line->buf, ",\"%s\":%.6g", key, value);
}

static void put_ms(struct line *line, const char *key, uint64_t from, uint64_t to)
{
    if (from && to >= from && !line->rc)
        line->rc = sr_buf_printf(&line->buf, ",\"%s\":%.3f", key, (double)(to - from) / (double)SR_NS_PER_MS);
}

static void put_time(struct line *line)
{
    uint64_t now = sr_clock_wall_ns();
    time_t second = (time_t)(now / SR_NS_PER_S);
    struct tm tm;
    char text[40];
    gmtime_r(&second, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    if (!line->rc)
        line->rc = sr_buf_printf(&line->buf, "{\"time\":\"%s.%03uZ\"", text,
                                 (unsigned)(now % SR_NS_PER_S / SR_NS_PER_MS));
}

static void put_request(struct line *line, const sr_exchange *x)
{
    const struct sr_config *config = x->router->config;
    struct sr_bytes path = x->head.path;
    put_bytes(line, "request_id", sr_exchange_id(x));
    put_text(line, "door", sr_door_name(x->head.door));
    if (x->head.peer.n)
        put_bytes(line, "peer", x->head.peer);
    put_bytes(line, "method", x->head.method);
    put_bytes(line, "path", sr_bytes_of(path.p, path.n < PATH_LOG_MAX ? path.n : PATH_LOG_MAX));
    if (x->automatic)
        put_text(line, "requested_model", "auto");
    else if (x->client_model >= 0)
        put_text(line, "requested_model", config->models[x->client_model].name);
}

static void put_verdict(struct line *line, const sr_exchange *x)
{
    const struct sr_verdict *v = &x->verdict;
    put_text(line, "model", v->model);
    put_text(line, "target", x->target);
    put_text(line, "decision", v->decision);
    put_text(line, "category", v->category);
    if (v->decision[0])
        put_real(line, "confidence", v->confidence);
    if (x->automatic && x->model >= 0)
        put_text(line, "reasoning", v->reasoning ? "on" : "off");
    put_text(line, "effort", v->effort);
    if (v->reasoning)
        put_text(line, "reasoning_description", x->choice.why_reasoning);
    put_text(line, "error", x->error_code);
}

static void put_answer(struct line *line, const sr_exchange *x)
{
    const struct sr_answer *a = &x->answer;
    const struct sr_timings *t = &x->times;
    bool replied = x->has_verdict && x->verdict.action == SR_ACTION_REPLY;
    put_number(line, "status", (unsigned)(replied ? x->verdict.status : a->status));
    put_number(line, "bytes_in", x->body_bytes);
    put_number(line, "bytes_out", replied ? x->verdict.reply.n : a->bytes);
    if (a->usage.seen) {
        put_number(line, "prompt_tokens", a->usage.prompt);
        put_number(line, "completion_tokens", a->usage.completion);
        if (a->usage.cached)
            put_number(line, "cached_tokens", a->usage.cached);
        if (sr_exchange_cost(x) > 0)
            put_real(line, "cost", sr_exchange_cost(x));
    }
    if (a->mode == SR_ANSWER_SSE)
        put_text(line, "stream", a->saw_done ? "done" : "unfinished");
    put_number(line, "overhead_us", t->busy_ns / SR_NS_PER_US);
    if (a->status) {
        put_ms(line, "upstream_ms", t->verdict, t->last_token ? t->last_token : t->answer_head);
        put_ms(line, "ttft_ms", t->started, t->first_token ? t->first_token : t->answer_head);
    }
    put_ms(line, "total_ms", t->started, sr_clock_ns());
}

void sr_access_log_write(sr_exchange *x, enum sr_end how)
{
    if (!sr_runtime_wants_log(x->runtime))
        return;
    struct line line = {.rc = SR_OK};
    sr_buf_init(&line.buf, LINE_MAX_BYTES);
    put_time(&line);
    put_request(&line, x);
    put_text(&line, "outcome", sr_outcome_name(x, how));
    put_verdict(&line, x);
    put_answer(&line, x);
    if (!line.rc)
        line.rc = sr_buf_append(&line.buf, "}", 1);
    if (!line.rc)
        sr_runtime_log_line(x->runtime, sr_buf_view(&line.buf));
    sr_buf_dispose(&line.buf);
}

void sr_runtime_log_refused(sr_runtime *runtime, enum sr_door door, struct sr_bytes peer, int status,
                            const char *reason)
{
    if (!sr_runtime_wants_log(runtime))
        return;
    struct line line = {.rc = SR_OK};
    sr_buf_init(&line.buf, LINE_MAX_BYTES);
    put_time(&line);
    put_text(&line, "door", sr_door_name(door));
    if (peer.n)
        put_bytes(&line, "peer", peer);
    put_text(&line, "outcome", status == 503 ? "shed" : "refused");
    put_text(&line, "error", reason);
    put_number(&line, "status", (unsigned)status);
    if (!line.rc)
        line.rc = sr_buf_append(&line.buf, "}", 1);
    if (!line.rc)
        sr_runtime_log_line(runtime, sr_buf_view(&line.buf));
    sr_buf_dispose(&line.buf);
}
