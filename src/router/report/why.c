/* Each part is a member of the object; parts of which nothing is known are left out. */
#include "router/report/why.h"

#include "base/clock.h"
#include "base/hex.h"
#include "base/json_write.h"
#include "router/report/explain.h"
#include "router/report/findings.h"
#include "router/report/unread.h"

#include <assert.h>

static void put_text(struct sr_json_writer *w, const char *key, const char *value)
{
    if (value && value[0])
        sr_json_text(w, key, value);
}

/* A moment, in microseconds after the request began. */
static void put_moment(struct sr_json_writer *w, const struct sr_record *r, const char *key, uint64_t at)
{
    if (at >= r->times.started && r->times.started)
        sr_json_uint(w, key, (at - r->times.started) / SR_NS_PER_US);
}

static void put_phases(struct sr_json_writer *w, const struct sr_record *r)
{
    static const char *const names[] = {
        [SR_PART_NONE] = "",          [SR_PART_EARLY] = "early cache", [SR_PART_SIGNALS] = "signals",
        [SR_PART_LIMIT] = "limits",   [SR_PART_TOOLS] = "tools",       [SR_PART_CACHE] = "cache",
        [SR_PART_EDIT] = "edit body", [SR_PART_PICK] = "pick worker",  [SR_PART_QUEUE] = "wait for a worker"};
    static_assert(sizeof names / sizeof names[0] == SR_PARTS, "each part has a name");
    sr_json_array(w, "phases");
    for (size_t i = 0; i < r->n_phases; i++) {
        const struct sr_record_phase *phase = &r->phases[i];
        if (phase->part == SR_PART_NONE || phase->ended < phase->began)
            continue;
        sr_json_object(w, NULL);
        sr_json_text(w, "name", names[phase->part]);
        put_moment(w, r, "start_us", phase->began);
        put_moment(w, r, "end_us", phase->ended);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
    sr_json_object(w, "moments");
    put_moment(w, r, "body_complete_us", r->times.body_complete);
    put_moment(w, r, "decided_us", r->times.decided);
    put_moment(w, r, "verdict_us", r->times.verdict);
    put_moment(w, r, "answer_head_us", r->times.answer_head);
    put_moment(w, r, "first_token_us", r->times.first_token);
    put_moment(w, r, "last_token_us", r->times.last_token);
    put_moment(w, r, "ended_us", r->times.ended);
    sr_json_object_end(w);
}

static void put_tries(struct sr_json_writer *w, const struct sr_record *r)
{
    if (!r->n_tries)
        return;
    sr_json_array(w, "tries");
    for (size_t i = 0; i < r->n_tries; i++) {
        const struct sr_record_try *attempt = &r->tries[i];
        sr_json_object(w, NULL);
        put_text(w, "model", attempt->model);
        put_text(w, "target", attempt->target);
        put_moment(w, r, "start_us", attempt->started);
        put_moment(w, r, "answered_us", attempt->answered);
        put_moment(w, r, "end_us", attempt->ended);
        if (attempt->status)
            sr_json_uint(w, "status", (unsigned)attempt->status);
        put_text(w, "failure", attempt->failure);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
}

/* The trees are written aside, so that too many of them leave room for the rest. */
static void put_decisions(struct sr_json_writer *w, const struct sr_record *r, const struct sr_router *router)
{
    struct sr_explanation plans;
    struct sr_buf trees;
    if (!sr_explain_plans(r, router, &plans))
        return;
    sr_buf_init(&trees, SR_WHY_TREES);
    struct sr_json_writer own = sr_json_writer_of(&trees);
    sr_json_object(&own, NULL);
    sr_plan_explain_json(&plans, &own);
    sr_json_object_end(&own);
    if (own.rc == SR_OK) {
        sr_json_raw(w, "rules", sr_buf_view(&trees));
    } else {
        char why[SR_ERR_MESSAGE_MAX];
        sr_plan_explain_why(&plans, why);
        sr_json_object(w, "rules");
        sr_json_bool(w, "left_out", true);
        sr_json_text(w, "why", why);
        sr_json_object_end(w);
    }
    sr_buf_dispose(&trees);
}

struct edits {
    struct sr_json_writer *w;
    size_t n;
};

static void put_edit(void *ctx, const struct sr_explain_edit *edit)
{
    struct edits *edits = ctx;
    size_t inserted = 0;
    if (edits->n++ >= SR_WHY_EDITS)
        return;
    for (size_t i = 0; i < edit->n_inserted; i++)
        inserted += edit->inserted[i].n;
    sr_json_object(edits->w, NULL);
    sr_json_uint(edits->w, "at", edit->at);
    sr_json_uint(edits->w, "removed", edit->removed.n);
    sr_json_uint(edits->w, "inserted", inserted);
    sr_json_object_end(edits->w);
}

static void put_edits(struct sr_json_writer *w, const struct sr_record *r)
{
    struct edits edits = {w, 0};
    if (!r->edited)
        return;
    sr_json_array(w, "splices");
    sr_explain_edits(r, put_edit, &edits);
    sr_json_array_end(w);
    if (edits.n > SR_WHY_EDITS)
        sr_json_uint(w, "splices_omitted", edits.n - SR_WHY_EDITS);
}

static void put_worker(struct sr_json_writer *w, const struct sr_record *r)
{
    const struct sr_pool_why *why = &r->why_target;
    if (r->target) {
        sr_json_object(w, "worker");
        sr_json_text(w, "name", r->target);
        put_text(w, "policy", r->policy);
        put_text(w, "reason", why->reason);
        if (why->blocks) {
            sr_json_real(w, "overlap", "%.0f", (double)why->overlap);
            sr_json_real(w, "blocks", "%.0f", (double)why->blocks);
        }
        if (why->similarity > 0)
            sr_json_real(w, "similarity", "%.4f", (double)why->similarity);
        sr_json_object_end(w);
    }
    if (r->pool.name) {
        sr_json_object(w, "pool");
        sr_json_text(w, "name", r->pool.name);
        put_text(w, "reason", r->pool.why);
        put_text(w, "workload", r->pool.workload);
        put_text(w, "workload_from", r->pool.from);
        sr_json_object_end(w);
    }
}

static void put_cache(struct sr_json_writer *w, const struct sr_record_cache *cache)
{
    static const char *const kinds[] = {
        [SR_CACHE_MISS] = "miss", [SR_CACHE_HIT_EXACT] = "exact", [SR_CACHE_HIT_SEMANTIC] = "semantic"};
    if (!cache->used)
        return;
    sr_json_object(w, "cache");
    sr_json_text(w, "result", kinds[cache->hit]);
    sr_json_uint(w, "us", cache->ns / SR_NS_PER_US);
    if (cache->hit != SR_CACHE_MISS) {
        sr_json_real(w, "similarity", "%.4f", (double)cache->similarity);
        sr_json_int(w, "age_ms", cache->age_ms);
    }
    sr_json_bool(w, "stored", cache->stored);
    put_text(w, "not_stored", cache->not_stored);
    sr_json_object_end(w);
}

/* Under which the request is found where traces are kept. */
static void put_trace(struct sr_json_writer *w, const struct sr_record_trace *trace)
{
    char id[2 * SR_TRACE_ID_SIZE + 1];
    if (!trace->known)
        return;
    sr_hex_write(trace->own.trace, SR_TRACE_ID_SIZE, id);
    sr_json_object(w, "trace");
    sr_json_text(w, "id", id);
    sr_json_bool(w, "kept", trace->own.flags & SR_TRACE_SAMPLED);
    sr_json_object_end(w);
}

int sr_report_why(const struct sr_record *record, const struct sr_router *router, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    put_phases(&w, record);
    put_tries(&w, record);
    put_decisions(&w, record, router);
    sr_findings_write(record, router->config, &w);
    sr_report_unread(&w, record->guard.unread);
    put_edits(&w, record);
    put_worker(&w, record);
    put_cache(&w, &record->cache);
    put_trace(&w, &record->trace);
    sr_json_object_end(&w);
    return w.rc;
}
