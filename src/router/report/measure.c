/* Turns a record into samples. */
#include "router/report/measure.h"

#include "base/clock.h"
#include "cache/gate/gate.h"
#include "router/report/measure_canary.h"

#include <math.h>

#define MS_PER_S 1000

/* One record on its way into the table. */
struct sink {
    struct sr_metrics *metrics;
    const struct sr_record *record;
    const struct sr_router *router;
    bool sampled; /* `origin` is set */
    struct sr_metrics_origin origin;
};

static double seconds(uint64_t from, uint64_t to)
{
    return to > from ? (double)(to - from) / (double)SR_NS_PER_S : 0;
}

/* A request whose trace is not kept is no exemplar: there is nothing to open. */
static struct sink sink_of(const struct sr_record *record, const struct sr_router *router,
                           struct sr_metrics *metrics)
{
    const struct sr_record_trace *trace = &record->trace;
    struct sink sink = {.metrics = metrics, .record = record, .router = router};
    sink.sampled = trace->known && trace->own.flags & SR_TRACE_SAMPLED;
    if (!sink.sampled)
        return sink;
    memcpy(sink.origin.trace, trace->own.trace, sizeof sink.origin.trace);
    memcpy(sink.origin.span, trace->own.span, sizeof sink.origin.span);
    sink.origin.at_ns = sr_clock_wall_ns();
    return sink;
}

static void add(const struct sink *sink, enum sr_metric metric, double value, const char *a, const char *b)
{
    struct sr_bytes labels[] = {sr_bytes_str(a), sr_bytes_str(b)};
    sr_metrics_add(sink->metrics, metric, value, labels);
}

static void count(const struct sink *sink, enum sr_metric metric, const char *a, const char *b)
{
    add(sink, metric, 1, a, b);
}

static void observe(const struct sink *sink, enum sr_metric metric, double value, const char *label)
{
    struct sr_bytes labels[] = {sr_bytes_str(label)};
    sr_metrics_add(sink->metrics, metric, value, labels);
}

/* A duration; it names the request's trace. */
static void take_time(const struct sink *sink, enum sr_metric metric, double value,
                      const struct sr_bytes *labels)
{
    sr_metrics_observe(sink->metrics, metric, value, labels, sink->sampled ? &sink->origin : NULL);
}

static void take_time_of(const struct sink *sink, enum sr_metric metric, double value, const char *label)
{
    struct sr_bytes labels[] = {sr_bytes_str(label)};
    take_time(sink, metric, value, labels);
}

static const char *model_label(const struct sink *sink)
{
    int model = sink->record->model;
    return model >= 0 ? sink->router->config->models[model].name : "";
}

/* ---- signals and decision ---- */

static void measure_classifier(const struct sink *sink, const struct sr_signal_result *result,
                               const char *signal)
{
    if (!result->probabilities || result->top < 0)
        return;
    struct sr_bytes labels[] = {sr_bytes_str(result->labels[result->top]), sr_bytes_str(result->tier)};
    double confidence = (double)result->probabilities[result->top];
    sr_metrics_add(sink->metrics, SR_METRIC_CLASSIFICATION_CONFIDENCE, confidence, labels);
    labels[1] = sr_bytes_str(signal);
    double bits = (double)result->entropy * log2((double)result->n_labels);
    sr_metrics_add(sink->metrics, SR_METRIC_ENTROPY_VALUES, bits, labels);
}

static void measure_signals(const struct sink *sink)
{
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        const struct sr_signal_result *result = sink->record->results[type];
        const char *name = sr_signal_registry[type]->name;
        if (!result)
            continue;
        if (result->status) {
            count(sink, SR_METRIC_SIGNAL_ERRORS, name, sr_record_failure(result->status));
            continue;
        }
        if (result->over)
            count(sink, SR_METRIC_SIGNAL_ERRORS, name, sr_record_failure(SR_ELIMIT));
        take_time_of(sink, SR_METRIC_SIGNAL_LATENCY, seconds(0, result->ns), name);
        if (result->neural_late)
            observe(sink, SR_METRIC_NEURAL_LATE, 1, name);
        if (result->multilingual_bytes)
            observe(sink, SR_METRIC_MULTILINGUAL_BYTES, (double)result->multilingual_bytes, name);
        if (result->read_twice)
            add(sink, SR_METRIC_SECOND_READS, result->read_twice, name, "read");
        if (result->not_read_twice)
            add(sink, SR_METRIC_SECOND_READS, result->not_read_twice, name, "unread");
        for (size_t i = 0; i < result->n_hits; i++) {
            const char *rule = sr_signals_rule_name(sink->router->signals, (enum sr_signal_type)type, i);
            count(sink, SR_METRIC_SIGNAL_EXTRACTION, name, rule);
            if (result->hits[i].matched)
                count(sink, SR_METRIC_SIGNAL_MATCH, name, rule);
        }
        measure_classifier(sink, result, name);
    }
}

static void measure_compression(const struct sink *sink)
{
    const struct sr_signal_brief_stats *stats = &sink->record->compression;
    if (!sink->record->compressed)
        return;
    double ratio = (double)stats->compressed_tokens / (double)stats->original_tokens;
    sr_metrics_add(sink->metrics, SR_METRIC_COMPRESSION_RATIO, ratio, NULL);
    take_time(sink, SR_METRIC_COMPRESSION_TIME, seconds(0, stats->ns), NULL);
}

static void measure_plugins(const struct sink *sink, const struct sr_config_decision *decision)
{
    const struct sr_config_plugins *plugins = &decision->plugins;
    bool forward = sink->record->action == SR_ACTION_FORWARD;
    const struct {
        const char *type;
        bool ran;
    } ran[] = {
        {"fast_response", plugins->fast_response.set},
        {"system_prompt", plugins->system_prompt.set && forward},
        {"header_mutation", plugins->header_mutation.set && forward},
        {"request_params", plugins->request_params.set && forward},
    };
    for (size_t i = 0; i < sizeof ran / sizeof ran[0]; i++) {
        struct sr_bytes labels[] = {sr_bytes_str(ran[i].type), sr_bytes_str(decision->name),
                                    SR_LIT("success")};
        if (ran[i].ran)
            sr_metrics_add(sink->metrics, SR_METRIC_PLUGINS, 1, labels);
    }
}

static void measure_decision(const struct sink *sink)
{
    const struct sr_record *r = sink->record;
    sr_metrics_add(sink->metrics, SR_METRIC_DECISION_EVALUATIONS, 1, NULL);
    take_time(sink, SR_METRIC_DECISION_LATENCY, seconds(0, r->times.decide_ns), NULL);
    measure_signals(sink);
    measure_compression(sink);
    const struct sr_config_decision *decision = sr_record_decision(r, sink->router->config);
    if (!decision)
        return;
    observe(sink, SR_METRIC_DECISION_MATCH, 1, decision->name);
    observe(sink, SR_METRIC_DECISION_CONFIDENCE, r->confidence, decision->name);
    measure_plugins(sink, decision);
    if (r->model < 0)
        return;
    struct sr_bytes labels[] = {
        sr_bytes_str(r->category),
        sr_bytes_str(model_label(sink)),
        r->reasoning ? SR_LIT("true") : SR_LIT("false"),
        sr_bytes_str(r->effort),
    };
    sr_metrics_add(sink->metrics, SR_METRIC_REASONING_DECISIONS, 1, labels);
}

/* An edit that switches reasoning on. */
static void measure_reasoning(const struct sink *sink)
{
    const struct sr_record *r = sink->record;
    if (r->family < 0 || !r->choice.use_reasoning)
        return;
    const struct sr_config_family *family = &sink->router->config->families[r->family];
    count(sink, SR_METRIC_REASONING_TEMPLATE, family->name, family->parameter);
    count(sink, SR_METRIC_REASONING_EFFORT, family->name, r->effort);
}

/* ---- guards ---- */

static void measure_scan(const struct sink *sink, enum sr_signal_type type)
{
    const struct sr_signal_result *result = sink->record->results[type];
    const char *name = sr_signal_registry[type]->name;
    if (!result)
        return;
    observe(sink, SR_METRIC_SCAN_COVERAGE, sr_record_coverage(result), name);
    if (result->status)
        return;
    observe(sink, SR_METRIC_SCANNED_BYTES, (double)result->scanned_bytes, name);
    bool asked = result->neural_bytes || result->neural_late;
    if (asked && result->scanned_bytes > result->neural_bytes)
        observe(sink, SR_METRIC_NEURAL_UNREAD, (double)(result->scanned_bytes - result->neural_bytes), name);
    if (result->remembered)
        observe(sink, SR_METRIC_REMEMBERED_UNITS, (double)result->remembered, name);
}

static void measure_guard(const struct sink *sink)
{
    const struct sr_record *r = sink->record;
    const struct sr_config *config = sink->router->config;
    const struct sr_record_guard *guard = &r->guard;
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        if (sr_signal_registry[type]->reads == SR_SIGNAL_READS_UNITS)
            measure_scan(sink, (enum sr_signal_type)type);
    const char *matched = guard->decision >= 0 ? config->decisions[guard->decision].name : NULL;
    if (matched) {
        struct sr_bytes labels[] = {SR_LIT("guard"), sr_bytes_str(matched), SR_LIT("success")};
        sr_metrics_add(sink->metrics, SR_METRIC_PLUGINS, 1, labels);
    }
    if (matched && guard->decision != r->decision.decision)
        observe(sink, SR_METRIC_DECISION_MATCH, 1, matched);
    if (guard->action >= 0)
        count(sink, SR_METRIC_GUARD_ACTIONS, sr_record_guard_name(r, config),
              sr_guard_action_name(guard->action));
    for (size_t i = 0; i < r->n_shadows; i++) {
        const struct sr_config_decision *shadow = &config->decisions[r->shadows[i].decision];
        count(sink, SR_METRIC_SHADOW_MATCHES, shadow->name, sr_record_would(shadow));
    }
    bool violates = guard->action >= 0 && guard->action != SR_GUARD_ALLOW;
    for (int type = 0; (violates || guard->moved) && type < SR_ENTITY_TYPES; type++)
        if (guard->types >> type & 1)
            count(sink, SR_METRIC_PII_VIOLATIONS, model_label(sink), sr_entity_names[type]);
}

/* ---- the cache ---- */

static const char *store_name(const struct sink *sink)
{
    static const char *const names[] = {
        [SR_STORE_MEMORY] = "memory", [SR_STORE_REDIS] = "redis", [SR_STORE_MILVUS] = "milvus"};
    return names[sink->router->config->global.cache.store];
}

static void measure_cache(const struct sink *sink)
{
    const struct sr_record_cache *cache = &sink->record->cache;
    bool hit = cache->hit != SR_CACHE_MISS;
    if (!cache->used)
        return;
    const char *kind = cache->hit == SR_CACHE_HIT_SEMANTIC ? "semantic" : "exact";
    struct sr_bytes labels[] = {sr_bytes_str(store_name(sink)),
                                cache->early ? SR_LIT("find_exact") : SR_LIT("find_similar"),
                                hit ? SR_LIT("hit") : SR_LIT("miss")};
    sr_metrics_add(sink->metrics, SR_METRIC_CACHE_OPERATIONS, 1, labels);
    take_time(sink, SR_METRIC_CACHE_TIME, seconds(0, cache->ns), labels);
    count(sink, hit ? SR_METRIC_CACHE_HITS : SR_METRIC_CACHE_MISSES, sink->record->decision_name,
          "response_cache");
    for (int i = 0; i < SR_GATE_REASONS; i++)
        if (cache->rejected >> i & 1)
            observe(sink, SR_METRIC_CACHE_REJECTED, 1, sr_gate_reason_names[i]);
    labels[1] = sr_bytes_str(kind);
    labels[2] = cache->early ? SR_LIT("request") : SR_LIT("decision");
    if (hit)
        sr_metrics_add(sink->metrics, SR_METRIC_CACHE_AGE, (double)cache->age_ms / MS_PER_S, labels);
}

static void measure_cache_write(const struct sink *sink)
{
    const struct sr_record_cache *cache = &sink->record->cache;
    struct sr_bytes labels[] = {sr_bytes_str(store_name(sink)), SR_LIT("add_entry"), SR_LIT("success")};
    if (cache->stored)
        sr_metrics_add(sink->metrics, SR_METRIC_CACHE_OPERATIONS, 1, labels);
    if (cache->not_stored)
        observe(sink, SR_METRIC_CACHE_SKIPPED, 1, cache->not_stored);
}

/* ---- the verdict ---- */

/* Size classes of contexts, as in vLLM Semantic Router. */
static const char *context_level(uint64_t tokens)
{
    return tokens <= 1000 ? "low" : tokens <= 8000 ? "medium" : tokens <= 32000 ? "high" : "very_high";
}

/* What the decision's algorithm did; `model_label` is what was chosen in the end. */
static void measure_selection(const struct sink *sink)
{
    const struct sr_record *r = sink->record;
    const struct sr_ranking *ranking = r->ranking;
    const char *decision = r->decision_name, *model = model_label(sink);
    if (r->protection.known) {
        struct sr_bytes action = sr_bytes_str(r->protection.action);
        sr_metrics_add(sink->metrics, SR_METRIC_PROTECTION, 1, &action);
    }
    if (!ranking)
        return;
    if (ranking->fallback) {
        struct sr_bytes why[] = {sr_bytes_str(ranking->algorithm), sr_bytes_str(decision),
                                 sr_bytes_str(ranking->fallback)};
        sr_metrics_add(sink->metrics, SR_METRIC_SELECTION_FALLBACKS, 1, why);
    }
    struct sr_bytes chosen[] = {sr_bytes_str(r->choice.algorithm), sr_bytes_str(model),
                                sr_bytes_str(decision), SR_LIT("supported")};
    sr_metrics_add(sink->metrics, SR_METRIC_SELECTIONS, 1, chosen);
    if (ranking->explored)
        count(sink, SR_METRIC_EXPLORED, decision, model);
    double score = sr_ranking_score(ranking, sr_record_decision(r, sink->router->config), r->model);
    if (isfinite(score))
        add(sink, SR_METRIC_SELECTION_SCORE, score, r->choice.algorithm, model);
}

static void measure_forward(const struct sink *sink)
{
    const struct sr_record *r = sink->record;
    const char *model = model_label(sink);
    observe(sink, SR_METRIC_REQUESTS, 1, model);
    observe(sink, SR_METRIC_INFLIGHT, 1, model);
    measure_selection(sink);
    take_time(sink, SR_METRIC_ROUTING_LATENCY, seconds(0, r->times.busy_ns), NULL);
    count(sink, SR_METRIC_REASON_CODES,
          r->guard.moved ? "pii_policy_alternative_selected"
          : r->automatic ? "auto_routing"
                         : "model_specified",
          model);
    if (r->automatic)
        count(sink, SR_METRIC_MODIFICATIONS, "auto", model);
    if (r->has_text)
        add(sink, SR_METRIC_CONTEXT_TOKENS, (double)r->text_tokens, model, context_level(r->text_tokens));
}

void sr_measure_verdict(const struct sr_record *record, const struct sr_router *router,
                        struct sr_metrics *metrics)
{
    struct sink sink = sink_of(record, router, metrics);
    if (!metrics)
        return;
    measure_reasoning(&sink);
    if (record->tools.known)
        take_time_of(&sink, SR_METRIC_TOOLS_TIME, seconds(0, record->tools.ns), "default");
    measure_cache(&sink);
    if (record->evaluated) {
        measure_decision(&sink);
        measure_guard(&sink);
    }
    if (record->action == SR_ACTION_FORWARD)
        measure_forward(&sink);
}

/* ---- the answer ---- */

static void measure_usage(const struct sink *sink, const char *name)
{
    const struct sr_usage *usage = &sink->record->usage;
    const struct sr_config *config = sink->router->config;
    double prompt = (double)usage->prompt, completion = (double)usage->completion;
    observe(sink, SR_METRIC_TOKENS, prompt + completion, name);
    observe(sink, SR_METRIC_PROMPT_TOKENS, prompt, name);
    observe(sink, SR_METRIC_COMPLETION_TOKENS, completion, name);
    observe(sink, SR_METRIC_PROMPT_TOKENS_EACH, prompt, name);
    observe(sink, SR_METRIC_COMPLETION_TOKENS_EACH, completion, name);
    const struct sr_config_model *model = &config->models[sink->record->model];
    if (model->pricing.set)
        add(sink, SR_METRIC_COST, sr_record_cost(sink->record, config), name, model->pricing.currency);
}

static void measure_answer(const struct sink *sink)
{
    const struct sr_record *r = sink->record;
    const struct sr_times *t = &r->times;
    const char *model = model_label(sink);
    uint64_t first = t->first_token ? t->first_token : t->answer_head;
    uint64_t end = t->last_token ? t->last_token : t->answer_head;
    take_time_of(sink, SR_METRIC_TTFT, seconds(t->started, first), model);
    take_time_of(sink, SR_METRIC_COMPLETION_LATENCY, seconds(t->started, end), model);
    if (!r->usage.seen)
        return;
    measure_usage(sink, model);
    /* Only a stream shows the time of the first token; without it a mean per token would mislead. */
    if (r->streamed && r->usage.completion > 1)
        take_time_of(sink, SR_METRIC_TPOT, seconds(first, end) / (double)(r->usage.completion - 1), model);
}

void sr_measure_answer_finding(const struct sr_record *record, struct sr_metrics *metrics)
{
    const struct sr_record_answer_guard *guard = &record->answer_guard;
    struct sr_bytes labels[] = {SR_LIT("response_jailbreak"), sr_bytes_str(guard->decision),
                                sr_bytes_str(sr_response_action_name(guard->action))};
    sr_metrics_add(metrics, SR_METRIC_RESPONSE_WARNINGS, 1, labels);
}

static void measure_answer_guard(const struct sink *sink)
{
    const struct sr_record_answer_guard *guard = &sink->record->answer_guard;
    static const char name[] = "response_jailbreak";
    if (!guard->decision || !sink->record->answer_status)
        return;
    struct sr_bytes labels[] = {sr_bytes_str(name), sr_bytes_str(guard->decision),
                                guard->status ? SR_LIT("error") : SR_LIT("success")};
    sr_metrics_add(sink->metrics, SR_METRIC_PLUGINS, 1, labels);
    if (guard->status)
        count(sink, SR_METRIC_SIGNAL_ERRORS, name, sr_record_failure(guard->status));
    if (guard->complete && !guard->found)
        observe(sink, SR_METRIC_SCAN_COVERAGE, guard->coverage, name);
    observe(sink, SR_METRIC_SCANNED_BYTES, (double)guard->read, name);
}

static void measure_pool(const struct sink *sink)
{
    const struct sr_record_pool *pool = &sink->record->pool;
    if (!pool->name)
        return;
    struct sr_bytes labels[] = {sr_bytes_str(pool->name), sr_bytes_str(pool->workload),
                                sr_bytes_str(pool->why)};
    sr_metrics_add(sink->metrics, SR_METRIC_POOL_REQUESTS, 1, labels);
}

void sr_measure_next_model(const struct sr_record *record, int before, const struct sr_router *router,
                           struct sr_metrics *metrics)
{
    struct sink sink = sink_of(record, router, metrics);
    if (!metrics || before < 0 || !record->forwarded)
        return;
    observe(&sink, SR_METRIC_INFLIGHT, -1, router->config->models[before].name);
    observe(&sink, SR_METRIC_INFLIGHT, 1, model_label(&sink));
}

void sr_measure_end(const struct sr_record *record, const struct sr_router *router,
                    struct sr_metrics *metrics)
{
    struct sink sink = sink_of(record, router, metrics);
    const char *model = model_label(&sink), *reason = record->error_reason;
    if (!metrics)
        return;
    if (record->forwarded)
        observe(&sink, SR_METRIC_INFLIGHT, -1, model);
    if (record->answer_status / 100 == 2 && record->end == SR_END_COMPLETE)
        measure_answer(&sink);
    if (record->answer_status >= 400)
        reason = record->answer_status >= 500 ? "upstream_5xx" : "upstream_4xx";
    measure_answer_guard(&sink);
    measure_cache_write(&sink);
    measure_pool(&sink);
    if (record->end == SR_END_CLIENT_GONE)
        reason = "cancellation";
    else if (record->end == SR_END_UPSTREAM_LOST)
        reason = "upstream_unreachable";
    if (reason)
        count(&sink, SR_METRIC_ERRORS, model, reason);
    count(&sink, SR_METRIC_OUTCOMES, sr_door_name(record->door), sr_record_outcome(record));
    if (record->recipe && router->config->n_recipes)
        count(&sink, SR_METRIC_RECIPE_REQUESTS, record->recipe, sr_record_outcome(record));
    if (record->canary && !record->explains)
        sr_measure_canary(record, router->config, metrics);
}
