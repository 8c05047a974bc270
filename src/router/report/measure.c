/*
 * What metrics learn of an exchange: once when the verdict is there, once at its end.
 *
 * Labels are names of the configuration and fixed words only; what a client sends never becomes a label.
 */
#include "base/clock.h"
#include "router/exchange.h"

#include <math.h>

static double seconds(uint64_t from, uint64_t to)
{
    return to > from ? (double)(to - from) / (double)SR_NS_PER_S : 0;
}

static void count(const sr_exchange *x, enum sr_metric metric, const char *a, const char *b)
{
    struct sr_bytes labels[] = {sr_bytes_str(a), sr_bytes_str(b)};
    sr_metrics_add(x->metrics, metric, 1, labels);
}

static void observe(const sr_exchange *x, enum sr_metric metric, double value, const char *label)
{
    struct sr_bytes labels[] = {sr_bytes_str(label)};
    sr_metrics_add(x->metrics, metric, value, labels);
}

static const char *model_label(const sr_exchange *x)
{
    const struct sr_config_model *model = sr_exchange_model(x);
    return model ? model->name : "";
}

const char *sr_measure_reason(int status)
{
    switch (status) {
    case SR_ETIMEOUT:
        return "timeout";
    case SR_ECANCELED:
        return "canceled";
    case SR_EBUSY:
        return "busy";
    case SR_ELIMIT:
        return "limit";
    case SR_ENOENT:
        return "unavailable";
    default:
        return "error";
    }
}

static void measure_classifier(const sr_exchange *x, const struct sr_signal_result *result,
                               const char *signal)
{
    if (!result->probabilities || result->top < 0)
        return;
    struct sr_bytes labels[] = {sr_bytes_str(result->labels[result->top]), sr_bytes_str(result->tier)};
    double confidence = (double)result->probabilities[result->top];
    sr_metrics_add(x->metrics, SR_METRIC_CLASSIFICATION_CONFIDENCE, confidence, labels);
    labels[1] = sr_bytes_str(signal);
    double bits = (double)result->entropy * log2((double)result->n_labels);
    sr_metrics_add(x->metrics, SR_METRIC_ENTROPY_VALUES, bits, labels);
}

static void measure_signals(const sr_exchange *x)
{
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        const struct sr_signal_result *result = x->results[type];
        const char *name = sr_signal_registry[type]->name;
        if (!result)
            continue;
        if (result->status) {
            count(x, SR_METRIC_SIGNAL_ERRORS, name, sr_measure_reason(result->status));
            continue;
        }
        observe(x, SR_METRIC_SIGNAL_LATENCY, seconds(0, result->ns), name);
        if (result->neural_late)
            observe(x, SR_METRIC_NEURAL_LATE, 1, name);
        for (size_t i = 0; i < result->n_hits; i++) {
            const char *rule = sr_signals_rule_name(x->router->signals, (enum sr_signal_type)type, i);
            count(x, SR_METRIC_SIGNAL_EXTRACTION, name, rule);
            if (result->hits[i].matched)
                count(x, SR_METRIC_SIGNAL_MATCH, name, rule);
        }
        measure_classifier(x, result, name);
    }
}

static void measure_compression(const sr_exchange *x)
{
    struct sr_signal_brief_stats stats;
    if (!x->input || !sr_signal_input_stats(x->input, &stats))
        return;
    double ratio = (double)stats.compressed_tokens / (double)stats.original_tokens;
    sr_metrics_add(x->metrics, SR_METRIC_COMPRESSION_RATIO, ratio, NULL);
    sr_metrics_add(x->metrics, SR_METRIC_COMPRESSION_TIME, seconds(0, stats.ns), NULL);
}

static void measure_plugins(const sr_exchange *x, const struct sr_config_decision *decision)
{
    const struct sr_config_plugins *plugins = &decision->plugins;
    bool forward = x->verdict.action == SR_ACTION_FORWARD;
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
            sr_metrics_add(x->metrics, SR_METRIC_PLUGINS, 1, labels);
    }
}

static void measure_decision(const sr_exchange *x)
{
    const struct sr_config_decision *decision = sr_exchange_decision(x);
    sr_metrics_add(x->metrics, SR_METRIC_DECISION_EVALUATIONS, 1, NULL);
    sr_metrics_add(x->metrics, SR_METRIC_DECISION_LATENCY, seconds(0, x->times.decide_ns), NULL);
    measure_signals(x);
    measure_compression(x);
    if (!decision)
        return;
    observe(x, SR_METRIC_DECISION_MATCH, 1, decision->name);
    observe(x, SR_METRIC_DECISION_CONFIDENCE, x->verdict.confidence, decision->name);
    measure_plugins(x, decision);
    if (x->model < 0)
        return;
    struct sr_bytes labels[] = {
        sr_bytes_str(x->verdict.category),
        sr_bytes_str(model_label(x)),
        x->verdict.reasoning ? SR_LIT("true") : SR_LIT("false"),
        sr_bytes_str(x->verdict.effort),
    };
    sr_metrics_add(x->metrics, SR_METRIC_REASONING_DECISIONS, 1, labels);
}

/* The peer's sizes of contexts. */
static const char *context_level(uint64_t tokens)
{
    return tokens <= 1000 ? "low" : tokens <= 8000 ? "medium" : tokens <= 32000 ? "high" : "very_high";
}

void sr_measure_verdict(sr_exchange *x)
{
    if (!x->metrics)
        return;
    if (x->run)
        measure_decision(x);
    if (x->run)
        sr_guard_measure(x);
    if (x->verdict.action != SR_ACTION_FORWARD)
        return;
    const char *model = model_label(x);
    x->in_flight = true;
    observe(x, SR_METRIC_REQUESTS, 1, model);
    observe(x, SR_METRIC_INFLIGHT, 1, model);
    sr_metrics_add(x->metrics, SR_METRIC_ROUTING_LATENCY, seconds(0, x->times.busy_ns), NULL);
    count(x, SR_METRIC_REASON_CODES,
          x->guard.moved ? "pii_policy_alternative_selected"
          : x->automatic ? "auto_routing"
                         : "model_specified",
          model);
    if (x->automatic)
        count(x, SR_METRIC_MODIFICATIONS, "auto", model);
    if (x->input) {
        struct sr_bytes labels[] = {sr_bytes_str(model), sr_bytes_str(context_level(x->input->total_tokens))};
        sr_metrics_add(x->metrics, SR_METRIC_CONTEXT_TOKENS, (double)x->input->total_tokens, labels);
    }
}

static void measure_usage(const sr_exchange *x, const char *name)
{
    const struct sr_usage *usage = &x->answer.usage;
    const struct sr_config_model *model = sr_exchange_model(x);
    double prompt = (double)usage->prompt, completion = (double)usage->completion;
    observe(x, SR_METRIC_TOKENS, prompt + completion, name);
    observe(x, SR_METRIC_PROMPT_TOKENS, prompt, name);
    observe(x, SR_METRIC_COMPLETION_TOKENS, completion, name);
    observe(x, SR_METRIC_PROMPT_TOKENS_EACH, prompt, name);
    observe(x, SR_METRIC_COMPLETION_TOKENS_EACH, completion, name);
    if (model->pricing.set) {
        struct sr_bytes labels[] = {sr_bytes_str(name), sr_bytes_str(model->pricing.currency)};
        sr_metrics_add(x->metrics, SR_METRIC_COST, sr_exchange_cost(x), labels);
    }
}

double sr_exchange_cost(const sr_exchange *x)
{
    const struct sr_usage *usage = &x->answer.usage;
    const struct sr_config_model *model = sr_exchange_model(x);
    if (!model || !model->pricing.set || !usage->seen)
        return 0;
    /* Counts of cached tokens are parts of the prompt with a price of their own, where there is one. */
    double plain = (double)usage->prompt, cost = 0;
    if (model->pricing.cached_input_per_1m > 0 && usage->cached <= usage->prompt) {
        plain -= (double)usage->cached;
        cost += (double)usage->cached * model->pricing.cached_input_per_1m;
    }
    if (model->pricing.cache_write_per_1m > 0 && (double)usage->cache_write <= plain) {
        plain -= (double)usage->cache_write;
        cost += (double)usage->cache_write * model->pricing.cache_write_per_1m;
    }
    cost +=
        plain * model->pricing.prompt_per_1m + (double)usage->completion * model->pricing.completion_per_1m;
    return cost / 1e6;
}

static void measure_answer(const sr_exchange *x)
{
    const struct sr_timings *t = &x->times;
    const char *model = model_label(x);
    uint64_t first = t->first_token ? t->first_token : t->answer_head;
    uint64_t end = t->last_token ? t->last_token : t->answer_head;
    observe(x, SR_METRIC_TTFT, seconds(t->started, first), model);
    observe(x, SR_METRIC_COMPLETION_LATENCY, seconds(t->started, end), model);
    if (!x->answer.usage.seen)
        return;
    measure_usage(x, model);
    /* Without a stream no moment of a first token is known, and a mean over the wait would mislead. */
    if (x->answer.mode == SR_ANSWER_SSE && x->answer.usage.completion > 1)
        observe(x, SR_METRIC_TPOT, seconds(first, end) / (double)(x->answer.usage.completion - 1), model);
}

void sr_measure_end(sr_exchange *x, enum sr_end how)
{
    if (!x->metrics)
        return;
    const char *model = model_label(x), *reason = x->error_reason;
    if (x->in_flight)
        observe(x, SR_METRIC_INFLIGHT, -1, model);
    if (x->answer.status / 100 == 2 && how == SR_END_COMPLETE)
        measure_answer(x);
    if (x->answer.status >= 400)
        reason = x->answer.status >= 500 ? "upstream_5xx" : "upstream_4xx";
    sr_response_guard_measure(x);
    if (how == SR_END_CLIENT_GONE)
        reason = "cancellation";
    else if (how == SR_END_UPSTREAM_LOST)
        reason = "upstream_unreachable";
    if (reason)
        count(x, SR_METRIC_ERRORS, model, reason);
    count(x, SR_METRIC_OUTCOMES, sr_door_name(x->head.door), sr_outcome_name(x, how));
}
