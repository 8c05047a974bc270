/* Reads selectors and formats the cache's statistics, in vLLM Semantic Router's names where it has them. */
#include "serve/admin/cache.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/json_write.h"
#include "cache/gate/gate.h"
#include "serve/local.h"
#include "json/doc.h"

#define CONFIRMATION "flush response cache"
#define BODY_MAX     ((size_t)64 << 10)
#define MS_PER_S     1000

static const char *state_name(enum sr_cache_backend_state state)
{
    static const char *const names[] = {[SR_CACHE_BACKEND_STARTING] = "starting",
                                        [SR_CACHE_BACKEND_READY] = "ready",
                                        [SR_CACHE_BACKEND_AWAY] = "away"};
    return names[state];
}

static int refuse(struct sr_buf *out, int status, const char *message)
{
    sr_buf_clear(out);
    (void)sr_local_error(out, status, NULL, NULL, message);
    return status;
}

/* ---- what it says of itself ---- */

static void put_capabilities(struct sr_json_writer *w)
{
    static const char *const lists[][8] = {
        {"backends", "memory", "redis", "valkey", "milvus"},
        {"modes", "exact", "semantic", "exact_then_semantic"},
        {"scopes", "user", "team", "tenant", "global"},
        {"eviction_policies", "lru", "lfu", "fifo"},
        {"request_controls", "no-cache", "no-store", "bypass", "max-age", "ttl"},
        {"selectors", "tenant", "user", "model", "older_than_seconds"},
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        sr_json_array(w, lists[i][0]);
        for (size_t k = 1; k < 8 && lists[i][k]; k++)
            sr_json_text(w, NULL, lists[i][k]);
        sr_json_array_end(w);
    }
}

static void put_backend(struct sr_json_writer *w, const struct sr_cache_stats *stats)
{
    const struct sr_cache_backend_health *health = &stats->backend;
    sr_json_text(w, "backend", stats->backend_name);
    sr_json_text(w, "state", state_name(health->state));
    if (health->message[0])
        sr_json_text(w, "message", health->message);
    sr_json_uint(w, "queued", health->queued);
    sr_json_uint(w, "written", health->written);
    sr_json_uint(w, "dropped", health->dropped);
    sr_json_uint(w, "errors", health->errors);
}

static void put_stats(struct sr_json_writer *w, const struct sr_cache_stats *s)
{
    uint64_t hits = s->exact_hits + s->semantic_hits, lookups = hits + s->misses;
    sr_json_uint(w, "total_entries", s->entries);
    sr_json_uint(w, "total_bytes", s->bytes);
    sr_json_uint(w, "partitions", s->partitions);
    sr_json_uint(w, "hit_count", hits);
    sr_json_uint(w, "miss_count", s->misses);
    sr_json_real(w, "hit_ratio", "%.4f", lookups ? (double)hits / (double)lookups : 0);
    sr_json_uint(w, "exact_hit_count", s->exact_hits);
    sr_json_uint(w, "semantic_hit_count", s->semantic_hits);
    sr_json_uint(w, "stored_count", s->stored);
    sr_json_uint(w, "expired_count", s->expired);
    sr_json_uint(w, "evicted_count", s->evicted);
    sr_json_uint(w, "invalidation_count", s->removed);
    sr_json_uint(w, "singleflight_waiters", s->waiting);
    sr_json_uint(w, "singleflight_joined", s->joined);
    sr_json_int(w, "last_cleanup_time", s->last_cleanup_ms / MS_PER_S);
    sr_json_object(w, "rejected");
    for (int i = 0; i < SR_GATE_REASONS; i++)
        if (s->rejected[i])
            sr_json_uint(w, sr_gate_reason_names[i], s->rejected[i]);
    sr_json_object_end(w);
    sr_json_object(w, "store");
    put_backend(w, s);
    sr_json_object_end(w);
}

static int say(sr_runtime *runtime, enum sr_api_cache_call call, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    struct sr_router *router = sr_runtime_router(runtime);
    struct sr_cache_stats stats;
    sr_cache_stats(sr_runtime_cache(runtime), &stats);
    bool away = stats.backend.state == SR_CACHE_BACKEND_AWAY;
    sr_json_object(&w, NULL);
    sr_json_bool(&w, "enabled", router->caches);
    if (call == SR_API_CACHE_CAPABILITIES) {
        put_capabilities(&w);
    } else if (call == SR_API_CACHE_HEALTH) {
        sr_json_text(&w, "status", away ? "degraded" : "healthy");
        put_backend(&w, &stats);
    } else {
        put_stats(&w, &stats);
    }
    sr_json_object_end(&w);
    sr_router_unref(router);
    return w.rc ? refuse(out, 503, "The server is out of memory.") : 200;
}

/* ---- removing ---- */

struct removal {
    struct sr_cache_selector which;
    bool dry;
};

static bool take_name(const sr_doc_value *root, const char *name, struct sr_cache_key *out, bool *any)
{
    const sr_doc_value *value = sr_doc_get(root, name);
    struct sr_bytes text = sr_doc_string(value);
    if (!value)
        return true;
    *any = true;
    return text.p && text.n && sr_sha256(text, out->bytes) == SR_OK;
}

/* Fills the removal; returns what is wrong with the body, or NULL. */
static const char *read_removal(const sr_doc_value *root, struct removal *out)
{
    const sr_doc_value *model = sr_doc_get(root, "model"), *age = sr_doc_get(root, "older_than_seconds");
    const sr_doc_value *dry = sr_doc_get(root, "dry_run");
    int64_t seconds, now = (int64_t)(sr_clock_wall_ns() / SR_NS_PER_MS);
    bool any = model || age;
    *out = (struct removal){.which.model = SR_LIT(""), .dry = !dry || sr_doc_is_true(dry)};
    if (dry && sr_doc_kind(dry) != SR_JSON_TRUE && sr_doc_kind(dry) != SR_JSON_FALSE)
        return "dry_run must be true or false.";
    if (!take_name(root, "tenant", &out->which.tenant, &any) ||
        !take_name(root, "user", &out->which.user, &any))
        return "tenant and user must be names.";
    if (model && !sr_doc_string(model).n)
        return "model must be the name of a model.";
    if (model)
        out->which.model = sr_doc_string(model);
    if (age && (!sr_doc_int(age, &seconds) || seconds < 0 || seconds > now / MS_PER_S))
        return "older_than_seconds must be a whole number of seconds.";
    if (age)
        out->which.created_before_ms = now - seconds * MS_PER_S;
    return any ? NULL : "Name what is to go: tenant, user, model or older_than_seconds. flush removes all.";
}

static int removed(sr_runtime *runtime, const struct removal *removal, const char *operation,
                   struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    struct sr_cache_stats stats;
    size_t n = sr_cache_remove(sr_runtime_cache(runtime), &removal->which, removal->dry);
    sr_cache_stats(sr_runtime_cache(runtime), &stats);
    struct sr_bytes labels[] = {sr_bytes_str(stats.backend_name), sr_bytes_str(operation),
                                removal->dry ? SR_LIT("true") : SR_LIT("false")};
    sr_metrics_add(sr_runtime_metrics_table(runtime), SR_METRIC_CACHE_INVALIDATIONS, 1, labels);
    sr_json_object(&w, NULL);
    sr_json_bool(&w, "dry_run", removal->dry);
    sr_json_uint(&w, removal->dry ? "would_remove" : "removed", n);
    sr_json_uint(&w, "total_entries", stats.entries);
    sr_json_object_end(&w);
    return w.rc ? refuse(out, 503, "The server is out of memory.") : 200;
}

static int invalidate(sr_runtime *runtime, const sr_doc_value *root, struct sr_buf *out)
{
    struct removal removal;
    const char *wrong = read_removal(root, &removal);
    return wrong ? refuse(out, 400, wrong) : removed(runtime, &removal, "invalidate", out);
}

static int flush(sr_runtime *runtime, const sr_doc_value *root, struct sr_buf *out)
{
    struct removal all = {.which.model = SR_LIT("")};
    if (!sr_bytes_eq(sr_doc_string(sr_doc_get(root, "confirm")), SR_LIT(CONFIRMATION)))
        return refuse(out, 400, "The body must be {\"confirm\": \"" CONFIRMATION "\"}.");
    return removed(runtime, &all, "flush", out);
}

int sr_api_cache(sr_runtime *runtime, enum sr_api_cache_call call, struct sr_bytes body, struct sr_buf *out)
{
    struct sr_doc *doc = NULL;
    struct sr_err err = {0};
    int status;
    if (call < SR_API_CACHE_INVALIDATE)
        return say(runtime, call, out);
    if (sr_doc_parse(&doc, body, BODY_MAX, &err))
        return refuse(out, 400, "The body must be a JSON object.");
    const sr_doc_value *root = sr_doc_root(doc);
    if (sr_doc_kind(root) != SR_JSON_OBJECT)
        status = refuse(out, 400, "The body must be a JSON object.");
    else
        status = call == SR_API_CACHE_FLUSH ? flush(runtime, root, out) : invalidate(runtime, root, out);
    sr_doc_free(doc);
    return status;
}
