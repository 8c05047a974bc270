/*
 * The access log: one JSON object for each exchange, for operators. Holds nothing of what a user wrote; the
 * model is named only when it is one of the configuration.
 */
#include "router/report/access_log.h"

#include "base/clock.h"

#include <math.h>
#include <time.h>

/* A path is the client's: it is cut, and its query is left out. */
#define PATH_LOG_MAX 200

/* A line that is being written; the first failure ends it. */
struct line {
    struct sr_buf *buf;
    int rc;
};

static void put_bytes(struct line *line, const char *key, struct sr_bytes value)
{
    if (!line->rc)
        line->rc = sr_buf_printf(line->buf, "%s\"%s\":\"", line->buf->len > 1 ? "," : "", key);
    if (!line->rc)
        line->rc = sr_buf_append_json(line->buf, value);
    if (!line->rc)
        line->rc = sr_buf_append(line->buf, "\"", 1);
}

static void put_text(struct line *line, const char *key, const char *value)
{
    if (value && value[0])
        put_bytes(line, key, sr_bytes_str(value));
}

static void put_number(struct line *line, const char *key, unsigned long long value)
{
    if (!line->rc)
        line->rc = sr_buf_printf(line->buf, ",\"%s\":%llu", key, value);
}

static void put_real(struct line *line, const char *key, double value)
{
    if (!line->rc && isfinite(value))
        line->rc = sr_buf_printf(line->buf, ",\"%s\":%.6g", key, value);
}

static void put_ms(struct line *line, const char *key, uint64_t from, uint64_t to)
{
    if (from && to >= from && !line->rc)
        line->rc = sr_buf_printf(line->buf, ",\"%s\":%.3f", key, (double)(to - from) / (double)SR_NS_PER_MS);
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
        line->rc = sr_buf_printf(line->buf, "{\"time\":\"%s.%03uZ\"", text,
                                 (unsigned)(now % SR_NS_PER_S / SR_NS_PER_MS));
}

static void put_request(struct line *line, const struct sr_record *r, const struct sr_config *config)
{
    put_bytes(line, "request_id", r->id);
    put_text(line, "door", sr_door_name(r->door));
    if (r->peer.n)
        put_bytes(line, "peer", r->peer);
    put_bytes(line, "method", r->method);
    put_bytes(line, "path", sr_bytes_of(r->path.p, r->path.n < PATH_LOG_MAX ? r->path.n : PATH_LOG_MAX));
    if (r->automatic)
        put_text(line, "requested_model", "auto");
    else if (r->requested_model >= 0)
        put_text(line, "requested_model", config->models[r->requested_model].name);
}

static void put_verdict(struct line *line, const struct sr_record *r)
{
    put_text(line, "model", r->model_name);
    put_text(line, "target", r->target);
    put_text(line, "decision", r->decision_name);
    put_text(line, "category", r->category);
    if (r->decision_name[0])
        put_real(line, "confidence", r->confidence);
    if (r->automatic && r->model >= 0)
        put_text(line, "reasoning", r->reasoning ? "on" : "off");
    put_text(line, "effort", r->effort);
    if (r->reasoning)
        put_text(line, "reasoning_description", r->choice.why_reasoning);
    put_text(line, "error", r->error_code);
}

static void put_usage(struct line *line, const struct sr_record *r, const struct sr_config *config)
{
    double cost = sr_record_cost(r, config);
    if (!r->usage.seen)
        return;
    put_number(line, "prompt_tokens", r->usage.prompt);
    put_number(line, "completion_tokens", r->usage.completion);
    if (r->usage.cached)
        put_number(line, "cached_tokens", r->usage.cached);
    if (cost > 0)
        put_real(line, "cost", cost);
}

static void put_answer(struct line *line, const struct sr_record *r, const struct sr_config *config)
{
    const struct sr_times *t = &r->times;
    bool replied = r->has_verdict && r->action == SR_ACTION_REPLY;
    put_number(line, "status", (unsigned)(replied ? r->status : r->answer_status));
    put_number(line, "bytes_in", r->bytes_in);
    put_number(line, "bytes_out", replied ? r->reply.n : r->bytes_out);
    put_usage(line, r, config);
    if (r->streamed)
        put_text(line, "stream", r->saw_done ? "done" : "unfinished");
    put_number(line, "overhead_us", t->busy_ns / SR_NS_PER_US);
    if (r->answer_status) {
        put_ms(line, "upstream_ms", t->verdict, t->last_token ? t->last_token : t->answer_head);
        put_ms(line, "ttft_ms", t->started, t->first_token ? t->first_token : t->answer_head);
    }
    put_ms(line, "total_ms", t->started, t->ended);
}

int sr_access_log_line(const struct sr_record *record, const struct sr_config *config, struct sr_buf *out)
{
    struct line line = {.buf = out};
    put_time(&line);
    put_request(&line, record, config);
    put_text(&line, "outcome", sr_record_outcome(record));
    put_verdict(&line, record);
    put_answer(&line, record, config);
    return line.rc ? line.rc : sr_buf_append(out, "}", 1);
}

int sr_access_log_refused(enum sr_door door, struct sr_bytes peer, int status, const char *reason,
                          struct sr_buf *out)
{
    struct line line = {.buf = out};
    put_time(&line);
    put_text(&line, "door", sr_door_name(door));
    if (peer.n)
        put_bytes(&line, "peer", peer);
    put_text(&line, "outcome", status == 503 ? "shed" : "refused");
    put_text(&line, "error", reason);
    put_number(&line, "status", (unsigned)status);
    return line.rc ? line.rc : sr_buf_append(out, "}", 1);
}
