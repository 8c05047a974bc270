/*
 * The access log: one JSON object for each exchange, for operators. Holds nothing of what a user wrote; the
 * model is named only when it is one of the configuration.
 */
#include "router/report/access_log.h"

#include "base/clock.h"
#include "base/hex.h"
#include "base/json_write.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

/* Bytes of the path in the log: the client's path is cut, and its query is left out. */
#define PATH_LOG_MAX 200
/* Names of decisions in shadow; the metrics count all. */
#define SHADOWS_LOG_MAX 16
/* Bytes of all signals' scores. */
#define SIGNALS_LOG_MAX ((size_t)8 << 10)

/* Writes a member, unless it is empty. */
static void put_text(struct sr_json_writer *w, const char *key, const char *value)
{
    if (value && value[0])
        sr_json_text(w, key, value);
}

static void put_real(struct sr_json_writer *w, const char *key, double value)
{
    if (isfinite(value))
        sr_json_real(w, key, "%.6g", value);
}

static void put_ms(struct sr_json_writer *w, const char *key, uint64_t from, uint64_t to)
{
    if (from && to >= from)
        sr_json_real(w, key, "%.3f", (double)(to - from) / (double)SR_NS_PER_MS);
}

static void put_time(struct sr_json_writer *w)
{
    uint64_t now = sr_clock_wall_ns();
    time_t second = (time_t)(now / SR_NS_PER_S);
    struct tm tm;
    char text[48];
    gmtime_r(&second, &tm);
    size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text + n, sizeof text - n, ".%03uZ", (unsigned)(now % SR_NS_PER_S / SR_NS_PER_MS));
    sr_json_text(w, "time", text);
}

static void put_trace(struct sr_json_writer *w, const struct sr_record_trace *trace)
{
    char hex[2 * SR_TRACE_ID_SIZE + 1];
    if (!trace->known)
        return;
    sr_hex_write(trace->own.trace, SR_TRACE_ID_SIZE, hex);
    sr_json_text(w, "trace_id", hex);
    sr_hex_write(trace->own.span, SR_SPAN_ID_SIZE, hex);
    sr_json_text(w, "span_id", hex);
}

static void put_request(struct sr_json_writer *w, const struct sr_record *r, const struct sr_config *config)
{
    sr_json_bytes(w, "request_id", r->id);
    put_trace(w, &r->trace);
    put_text(w, "door", sr_door_name(r->door));
    if (r->peer.n)
        sr_json_bytes(w, "peer", r->peer);
    if (r->protocol.n)
        sr_json_bytes(w, "protocol", r->protocol);
    sr_json_bytes(w, "method", r->method);
    sr_json_bytes(w, "path", sr_bytes_of(r->path.p, r->path.n < PATH_LOG_MAX ? r->path.n : PATH_LOG_MAX));
    if (r->automatic)
        put_text(w, "requested_model", "auto");
    else if (r->requested_model >= 0)
        put_text(w, "requested_model", config->models[r->requested_model].name);
    if (config->n_recipes)
        put_text(w, "recipe", r->recipe);
    if (r->canary) {
        put_text(w, "canary", r->canary);
        put_text(w, "canary_side", sr_canary_side_name(r->canary_side));
    }
}

static void put_verdict(struct sr_json_writer *w, const struct sr_record *r)
{
    put_text(w, "model", r->model_name);
    put_text(w, "pool", r->pool.name);
    put_text(w, "workload", r->pool.workload);
    put_text(w, "target", r->target);
    if (r->failovers)
        sr_json_uint(w, "failovers", r->failovers);
    put_text(w, "decision", r->decision_name);
    put_text(w, "category", r->category);
    if (r->decision_name[0])
        put_real(w, "confidence", r->confidence);
    if (r->automatic && r->model >= 0)
        put_text(w, "reasoning", r->reasoning ? "on" : "off");
    put_text(w, "effort", r->effort);
    if (r->reasoning)
        put_text(w, "reasoning_description", r->choice.why_reasoning);
    put_text(w, "error", r->error_code);
}

static void put_signal(struct sr_json_writer *w, const struct sr_signal_result *result,
                       const struct sr_signals *signals, enum sr_signal_type type)
{
    const char *name = sr_signal_registry[type]->name;
    if (result->status) {
        sr_json_text(w, name, sr_record_failure(result->status));
        return;
    }
    sr_json_object(w, name);
    for (size_t i = 0; i < result->n_hits; i++)
        put_real(w, sr_signals_rule_name(signals, type, i),
                 result->hits[i].matched || result->hits[i].confidence < 1
                     ? (double)result->hits[i].confidence
                     : 0);
    sr_json_object_end(w);
}

/* Every rule of every signal that ran, with its score; too many to write are left out as a whole. */
static void put_signals(struct sr_json_writer *w, const struct sr_record *r, const struct sr_router *router)
{
    struct sr_buf own;
    if (!router->config->global.access_log_signals || !r->evaluated)
        return;
    sr_buf_init(&own, SIGNALS_LOG_MAX);
    struct sr_json_writer signals = sr_json_writer_of(&own);
    sr_json_object(&signals, NULL);
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        if (r->results[type])
            put_signal(&signals, r->results[type], router->signals, (enum sr_signal_type)type);
    sr_json_object_end(&signals);
    if (signals.rc == SR_OK)
        sr_json_raw(w, "signals", sr_buf_view(&own));
    sr_buf_dispose(&own);
}

static void put_shadows(struct sr_json_writer *w, const struct sr_record *r, const struct sr_config *config)
{
    if (!r->n_shadows)
        return;
    sr_json_array(w, "shadow");
    for (size_t i = 0; i < r->n_shadows && i < SHADOWS_LOG_MAX; i++)
        sr_json_text(w, NULL, config->decisions[r->shadows[i].decision].name);
    sr_json_array_end(w);
}

static void put_tools(struct sr_json_writer *w, const struct sr_record_tools *tools)
{
    if (!tools->known)
        return;
    sr_json_uint(w, "tools_kept", tools->kept);
    sr_json_uint(w, "tools_removed", tools->removed);
    sr_json_uint(w, "tools_added", tools->added);
    put_text(w, "tools_reason", tools->why_not);
}

static void put_cache(struct sr_json_writer *w, const struct sr_record *r)
{
    static const char *const kinds[] = {
        [SR_CACHE_MISS] = "miss", [SR_CACHE_HIT_EXACT] = "exact", [SR_CACHE_HIT_SEMANTIC] = "semantic"};
    const struct sr_record_cache *cache = &r->cache;
    if (!cache->used)
        return;
    put_text(w, "cache", kinds[cache->hit]);
    if (cache->hit == SR_CACHE_HIT_SEMANTIC)
        put_real(w, "cache_similarity", (double)cache->similarity);
    if (cache->hit != SR_CACHE_MISS)
        sr_json_uint(w, "cache_age_ms", (uint64_t)cache->age_ms);
    if (cache->stored)
        sr_json_bool(w, "cache_stored", true);
    put_text(w, "cache_not_stored", cache->not_stored);
}

static void put_usage(struct sr_json_writer *w, const struct sr_record *r, const struct sr_config *config)
{
    double cost = sr_record_cost(r, config);
    if (!r->usage.seen)
        return;
    sr_json_uint(w, "prompt_tokens", r->usage.prompt);
    sr_json_uint(w, "completion_tokens", r->usage.completion);
    if (r->usage.cached)
        sr_json_uint(w, "cached_tokens", r->usage.cached);
    if (cost > 0)
        put_real(w, "cost", cost);
}

static void put_answer(struct sr_json_writer *w, const struct sr_record *r, const struct sr_config *config)
{
    const struct sr_times *t = &r->times;
    bool replied = r->has_verdict && r->action == SR_ACTION_REPLY;
    sr_json_uint(w, "status", (unsigned)(replied ? r->status : r->answer_status));
    sr_json_uint(w, "bytes_in", r->bytes_in);
    sr_json_uint(w, "bytes_out", replied ? r->reply.n : r->bytes_out);
    put_usage(w, r, config);
    if (r->streamed)
        put_text(w, "stream", r->saw_done ? "done" : "unfinished");
    sr_json_uint(w, "overhead_us", t->busy_ns / SR_NS_PER_US);
    if (r->answer_status) {
        put_ms(w, "upstream_ms", t->verdict, t->last_token ? t->last_token : t->answer_head);
        put_ms(w, "ttft_ms", t->started, t->first_token ? t->first_token : t->answer_head);
    }
    put_ms(w, "total_ms", t->started, t->ended);
}

int sr_access_log_line(const struct sr_record *record, const struct sr_router *router, struct sr_buf *out)
{
    const struct sr_config *config = router->config;
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    put_time(&w);
    put_request(&w, record, config);
    put_text(&w, "outcome", sr_record_outcome(record));
    put_verdict(&w, record);
    put_signals(&w, record, router);
    put_shadows(&w, record, config);
    put_tools(&w, &record->tools);
    put_cache(&w, record);
    put_answer(&w, record, config);
    sr_json_object_end(&w);
    return w.rc;
}

int sr_access_log_refused(enum sr_door door, struct sr_bytes peer, int status, const char *reason,
                          struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    put_time(&w);
    put_text(&w, "door", sr_door_name(door));
    if (peer.n)
        sr_json_bytes(&w, "peer", peer);
    put_text(&w, "outcome", status == 503 ? "shed" : "refused");
    put_text(&w, "error", reason);
    sr_json_uint(&w, "status", (unsigned)status);
    sr_json_object_end(&w);
    return w.rc;
}
