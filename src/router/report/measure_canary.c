/* Each figure has the labels `canary` and `side` first, so that a query divides one side by the other. */
#include "router/report/measure_canary.h"

#include "base/clock.h"

/* One side's way into the table. */
struct side {
    struct sr_metrics *metrics;
    struct sr_bytes canary, name;
};

static void add(const struct side *side, enum sr_metric metric, double value, const char *a, const char *b)
{
    struct sr_bytes labels[] = {side->canary, side->name, sr_bytes_str(a), sr_bytes_str(b)};
    sr_metrics_add(side->metrics, metric, value, labels);
}

static double seconds(uint64_t from, uint64_t to)
{
    return to > from ? (double)(to - from) / (double)SR_NS_PER_S : 0;
}

/* "2xx", ...; "" when the client got no status. */
static const char *status_class(const struct sr_record *r)
{
    static const char *const classes[] = {"", "1xx", "2xx", "3xx", "4xx", "5xx"};
    bool replied = r->has_verdict && r->action == SR_ACTION_REPLY;
    int status = replied ? r->status : r->answer_status;
    return status >= 100 && status < 600 ? classes[status / 100] : "";
}

static void add_answer(const struct side *side, const struct sr_record *r, const struct sr_config *config)
{
    const struct sr_times *t = &r->times;
    if (t->first_token || t->answer_head)
        add(side, SR_METRIC_CANARY_TTFT,
            seconds(t->started, t->first_token ? t->first_token : t->answer_head), "", "");
    if (!r->usage.seen)
        return;
    add(side, SR_METRIC_CANARY_TOKENS, (double)r->usage.prompt, "prompt", "");
    add(side, SR_METRIC_CANARY_TOKENS, (double)r->usage.completion, "completion", "");
    if (r->model >= 0 && config->models[r->model].pricing.set)
        add(side, SR_METRIC_CANARY_COST, sr_record_cost(r, config), config->models[r->model].pricing.currency,
            "");
}

void sr_measure_canary(const struct sr_record *record, const struct sr_config *config,
                       struct sr_metrics *metrics)
{
    struct side side = {metrics, sr_bytes_str(record->canary),
                        sr_bytes_str(sr_canary_side_name(record->canary_side))};
    add(&side, SR_METRIC_CANARY_REQUESTS, 1, sr_record_outcome(record), status_class(record));
    add(&side, SR_METRIC_CANARY_LATENCY, seconds(record->times.started, record->times.ended), "", "");
    if (record->guard.action >= 0)
        add(&side, SR_METRIC_CANARY_GUARDS, 1, sr_guard_action_name(record->guard.action), "");
    if (record->answer_status / 100 == 2 && record->end == SR_END_COMPLETE)
        add_answer(&side, record, config);
}
