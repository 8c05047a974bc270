/* What a worker shows at GET. */
#include "mock/private.h"

#include "base/json_write.h"
#include "mock/engine/metrics.h"

static void put_engine(const struct sr_mock_worker *worker, struct sr_json_writer *w)
{
    struct sr_mock_engine_stats stats;
    sr_mock_drive_stats(worker->drive, &stats);
    sr_json_object(w, "engine");
    sr_json_uint(w, "running", stats.running);
    sr_json_uint(w, "waiting", stats.waiting);
    sr_json_uint(w, "blocks", stats.blocks);
    sr_json_uint(w, "blocks_held", stats.blocks_held);
    sr_json_uint(w, "blocks_stored", stats.blocks_stored);
    sr_json_uint(w, "steps", stats.steps);
    sr_json_uint(w, "preempted", stats.preempted);
    sr_json_uint(w, "finished", stats.finished);
    sr_json_uint(w, "refused", stats.refused);
    sr_json_uint(w, "prompt_tokens", stats.prompt_tokens);
    sr_json_uint(w, "answer_tokens", stats.answer_tokens);
    sr_json_uint(w, "cache_queries", stats.cache_queries);
    sr_json_uint(w, "cache_hits", stats.cache_hits);
    sr_json_object_end(w);
}

static void reply_stats(struct sr_mock_call *call)
{
    struct sr_mock_worker *worker = call->worker;
    struct sr_json_writer w = sr_json_writer_of(sr_mock_scratch(call));
    sr_json_object(&w, NULL);
    sr_json_uint(&w, "requests", worker->requests);
    sr_json_uint(&w, "streams", worker->streams);
    sr_json_uint(&w, "open", worker->open);
    sr_json_uint(&w, "canceled", worker->canceled);
    sr_json_uint(&w, "body_bytes", worker->body_bytes);
    sr_json_uint(&w, "connections", sr_http_server_connections(worker->server));
    if (worker->drive)
        put_engine(worker, &w);
    sr_json_object_end(&w);
    sr_mock_reply_scratch(call, 200, w.rc ? w.rc : sr_buf_append(w.out, "\n", 1));
}

static void reply_metrics(struct sr_mock_call *call)
{
    struct sr_mock_engine_stats stats;
    struct sr_buf *out = sr_mock_scratch(call);
    sr_mock_drive_stats(call->worker->drive, &stats);
    if (sr_mock_metrics(&stats, call->worker->mock->settings.model, out) != SR_OK)
        sr_mock_give_up(call);
    else
        sr_mock_reply(call, 200, SR_LIT("text/plain; version=0.0.4; charset=utf-8"), sr_buf_view(out));
}

static void reply_last(struct sr_mock_call *call)
{
    call->body = call->worker->last;
    if (call->body) {
        call->body->refs++;
        call->tail = sr_buf_view(&call->body->bytes);
    }
    sr_mock_reply_tail(call);
}

void sr_mock_page(struct sr_mock_call *call, struct sr_bytes path)
{
    struct sr_mock_worker *worker = call->worker;
    if (sr_bytes_eq(path, SR_LIT("/health")) || sr_bytes_eq(path, SR_LIT("/ready")))
        sr_mock_reply(call, 200, SR_MOCK_JSON, SR_LIT("{\"status\":\"ok\"}\n"));
    else if (sr_bytes_eq(path, SR_LIT("/mock/last")))
        reply_last(call);
    else if (sr_bytes_eq(path, SR_LIT("/mock/last-head")))
        sr_mock_reply(call, 200, SR_LIT("text/plain"), sr_buf_view(&worker->last_head));
    else if (sr_bytes_eq(path, SR_LIT("/mock/stats")))
        reply_stats(call);
    else if (sr_bytes_eq(path, SR_LIT("/metrics")) && worker->drive)
        reply_metrics(call);
    else if (sr_bytes_eq(path, SR_LIT("/v1/models")))
        sr_mock_reply_scratch(call, 200, sr_mock_models(worker->mock->settings.model, sr_mock_scratch(call)));
    else
        sr_mock_reply_error(call, 404, "the mock has no such path");
}
