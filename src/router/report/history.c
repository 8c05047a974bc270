/* From the record's members to texts and numbers. */
#include "router/report/history.h"

#include "base/clock.h"
#include "router/edit/edit.h"
#include "text/entity/entity.h"

#include <math.h>

static const char *const edit_words[] = {
    [SR_EDIT_MODEL] = "model",         [SR_EDIT_STREAM] = "stream_options",
    [SR_EDIT_REASONING] = "reasoning", [SR_EDIT_PROMPT] = "system_prompt",
    [SR_EDIT_TOOLS] = "tools",         [SR_EDIT_PARAMS] = "request_params",
    [SR_EDIT_REDACTION] = "redaction"};

const struct sr_history_words sr_history_words = {edit_words, sr_entity_names,
                                                  sizeof edit_words / sizeof edit_words[0], SR_ENTITY_TYPES};

/* What is built on the stack before it is copied. */
struct draft {
    struct sr_history_facts f;
    struct sr_history_signal signals[SR_HISTORY_SIGNALS_MAX];
    struct sr_history_rule rules[SR_HISTORY_RULES_MAX];
    struct sr_history_candidate candidates[SR_HISTORY_CANDIDATES_MAX];
};

static void put(struct draft *d, enum sr_history_text text, const char *value)
{
    d->f.texts[text] = sr_bytes_str(value);
}

static void put_ms(struct draft *d, enum sr_history_number number, uint64_t from, uint64_t to)
{
    if (from && to >= from)
        d->f.numbers[number] = (double)(to - from) / (double)SR_NS_PER_MS;
}

static void put_us(struct draft *d, enum sr_history_number number, uint64_t ns)
{
    d->f.numbers[number] = (double)(ns / SR_NS_PER_US);
}

static struct sr_bytes given(struct sr_bytes text)
{
    return text.p ? text : SR_LIT("");
}

/* What filters read: all that is needed of most requests while they are followed. */
static void put_filtered(struct sr_history_facts *f, const struct sr_record *r,
                         const struct sr_config *config)
{
    const struct sr_times *t = &r->times;
    const char *original = r->automatic              ? "auto"
                           : r->requested_model >= 0 ? config->models[r->requested_model].name
                                                     : "";
    f->texts[SR_HISTORY_REQUEST_ID] = r->id;
    f->texts[SR_HISTORY_RECIPE] = sr_bytes_str(r->recipe);
    f->texts[SR_HISTORY_DECISION] = sr_bytes_str(r->decision_name);
    f->texts[SR_HISTORY_ORIGINAL_MODEL] = sr_bytes_str(original);
    f->texts[SR_HISTORY_SELECTED_MODEL] = sr_bytes_str(r->model_name);
    f->texts[SR_HISTORY_TENANT] = given(r->tenant);
    f->texts[SR_HISTORY_SESSION] = given(r->session);
    f->texts[SR_HISTORY_OUTCOME] = sr_bytes_str(sr_record_outcome(r));
    f->numbers[SR_HISTORY_FROM_CACHE] = r->cache.used && r->cache.hit != SR_CACHE_MISS ? 1 : (double)NAN;
    f->numbers[SR_HISTORY_STREAMING] = r->streamed;
    f->numbers[SR_HISTORY_TOTAL_MS] = t->started && t->ended >= t->started
                                          ? (double)(t->ended - t->started) / (double)SR_NS_PER_MS
                                          : (double)NAN;
}

static void put_times(struct draft *d, const struct sr_times *t)
{
    uint64_t took = t->ended > t->started ? t->ended - t->started : 0;
    int64_t now = (int64_t)(sr_clock_wall_ns() / SR_NS_PER_US);
    d->f.ended_us = now;
    d->f.time_us = now - (int64_t)(took / SR_NS_PER_US);
    d->f.numbers[SR_HISTORY_DURATION_MS] = (double)(took / SR_NS_PER_MS);
    put_ms(d, SR_HISTORY_VERDICT_MS, t->started, t->verdict);
    if (t->answer_head) {
        put_ms(d, SR_HISTORY_TTFT_MS, t->started, t->first_token ? t->first_token : t->answer_head);
        put_ms(d, SR_HISTORY_UPSTREAM_MS, t->verdict, t->last_token ? t->last_token : t->answer_head);
    }
    put_us(d, SR_HISTORY_OVERHEAD_US, t->busy_ns);
    put_us(d, SR_HISTORY_SCAN_US, t->scan_ns);
    put_us(d, SR_HISTORY_SIGNALS_US, t->signals_ns);
    put_us(d, SR_HISTORY_DECIDE_US, t->decide_ns);
    put_us(d, SR_HISTORY_EDIT_US, t->edit_ns);
}

static int status_of(const struct sr_record *r)
{
    return r->has_verdict && r->action == SR_ACTION_REPLY ? r->status : r->answer_status;
}

/* Has the client the whole answer, and is it one? */
static void put_lifecycle(struct draft *d, const struct sr_record *r)
{
    const char *state = "completed", *why = "";
    if (r->end == SR_END_CLIENT_GONE) {
        state = "aborted";
        why = "client_gone";
    } else if (r->end == SR_END_UPSTREAM_LOST) {
        state = "failed";
        why = "upstream_lost";
    } else if (status_of(r) >= 500 || !status_of(r)) {
        state = "failed";
        why = r->error_code ? r->error_code : "upstream_error";
    } else if (r->streamed && !r->saw_done) {
        state = "aborted";
        why = "stream_unfinished";
    }
    put(d, SR_HISTORY_LIFECYCLE, state);
    put(d, SR_HISTORY_TERMINAL, why);
}

static void put_request(struct draft *d, const struct sr_record *r)
{
    put(d, SR_HISTORY_ID, r->replay_id);
    put(d, SR_HISTORY_DOOR, sr_door_name(r->door));
    put(d, SR_HISTORY_DIALECT, r->dialect);
    d->f.numbers[SR_HISTORY_BYTES_IN] = (double)r->bytes_in;
    if (r->has_text)
        d->f.numbers[SR_HISTORY_CONTEXT_TOKENS] = (double)r->text_tokens;
}

static void put_verdict(struct draft *d, const struct sr_record *r, const struct sr_config *config)
{
    const struct sr_config_decision *decision = sr_record_decision(r, config);
    bool replied = r->has_verdict && r->action == SR_ACTION_REPLY;
    put(d, SR_HISTORY_CATEGORY, r->category);
    put(d, SR_HISTORY_ERROR, r->error_code);
    put(d, SR_HISTORY_POOL, r->pool.name);
    put(d, SR_HISTORY_TARGET, r->target);
    put(d, SR_HISTORY_TARGET_REASON, r->target ? r->why_target.reason : NULL);
    if (r->automatic && r->model >= 0) {
        put(d, SR_HISTORY_REASONING, r->reasoning ? "on" : "off");
        put(d, SR_HISTORY_METHOD, r->choice.algorithm);
    }
    if (decision) {
        d->f.numbers[SR_HISTORY_PRIORITY] = (double)decision->priority;
        d->f.numbers[SR_HISTORY_TIER] = (double)decision->tier;
    }
    if (r->decision_name[0])
        d->f.numbers[SR_HISTORY_CONFIDENCE] = r->confidence;
    if (r->failovers)
        d->f.numbers[SR_HISTORY_FAILOVERS] = r->failovers;
    d->f.edits = replied ? 0 : r->edits;
    d->f.numbers[SR_HISTORY_STATUS] = status_of(r);
    d->f.numbers[SR_HISTORY_BYTES_OUT] = (double)(replied ? r->reply.n : r->bytes_out);
}

static void put_guard(struct draft *d, const struct sr_record *r, const struct sr_config *config)
{
    const struct sr_record_guard *guard = &r->guard;
    const struct sr_record_answer_guard *answer = &r->answer_guard;
    d->f.private_types = guard->types;
    d->f.numbers[SR_HISTORY_PRIVATE] = guard->types != 0;
    d->f.numbers[SR_HISTORY_PRIVATE_BLOCKED] = guard->types != 0 && r->outcome == SR_OUTCOME_BLOCKED;
    if (guard->action >= 0 || guard->denied) {
        put(d, SR_HISTORY_GUARD, sr_record_guard_name(r, config));
        put(d, SR_HISTORY_GUARD_ACTION, guard->denied ? "block" : sr_guard_action_name(guard->action));
    }
    if (guard->risk >= 0) {
        put(d, SR_HISTORY_ATTACK, guard->attack);
        d->f.numbers[SR_HISTORY_ATTACKED] = guard->attack[0] != 0;
        d->f.numbers[SR_HISTORY_RISK] = (double)guard->risk;
    }
    if (guard->redacted)
        d->f.numbers[SR_HISTORY_REDACTED] = (double)guard->redacted;
    if (answer->found) {
        put(d, SR_HISTORY_ANSWER_ATTACK, answer->attack);
        d->f.numbers[SR_HISTORY_ANSWER_ATTACKED] = 1;
        d->f.numbers[SR_HISTORY_ANSWER_RISK] = (double)answer->risk;
    }
}

static void put_protection(struct draft *d, const struct sr_record_protection *protection)
{
    if (!protection->known)
        return;
    put(d, SR_HISTORY_PROTECTION, protection->action);
    put(d, SR_HISTORY_PROTECTION_REASON, protection->reason);
    put(d, SR_HISTORY_PROTECTED_MODEL, protection->model);
}

static void put_cache(struct draft *d, const struct sr_record_cache *cache)
{
    if (!cache->used || cache->hit == SR_CACHE_MISS)
        return;
    put(d, SR_HISTORY_CACHE_KIND, cache->hit == SR_CACHE_HIT_EXACT ? "exact" : "semantic");
    d->f.numbers[SR_HISTORY_CACHE_SIMILARITY] = (double)cache->similarity;
    d->f.numbers[SR_HISTORY_CACHE_AGE_S] = (double)cache->age_ms / 1000;
}

/* The cost, and what the dearest model of the same currency would have cost. */
static void put_cost(struct draft *d, const struct sr_record *r, const struct sr_config *config)
{
    const struct sr_config_model *own = r->model >= 0 ? &config->models[r->model] : NULL, *dearest = own;
    if (!own || !own->pricing.set)
        return;
    for (size_t i = 0; i < config->n_models; i++) {
        const struct sr_config_model *other = &config->models[i];
        if (other->pricing.set &&
            sr_bytes_eq(sr_bytes_str(other->pricing.currency), sr_bytes_str(own->pricing.currency)) &&
            sr_record_price(r, other) > sr_record_price(r, dearest))
            dearest = other;
    }
    double cost = sr_record_price(r, own), baseline = sr_record_price(r, dearest);
    d->f.numbers[SR_HISTORY_COST] = cost;
    d->f.numbers[SR_HISTORY_BASELINE_COST] = baseline;
    d->f.numbers[SR_HISTORY_SAVED] = baseline - cost;
    put(d, SR_HISTORY_BASELINE_MODEL, dearest->name);
    put(d, SR_HISTORY_CURRENCY, own->pricing.currency);
}

static void put_usage(struct draft *d, const struct sr_record *r, const struct sr_config *config)
{
    const struct sr_usage *usage = &r->usage;
    if (!usage->seen)
        return;
    d->f.numbers[SR_HISTORY_PROMPT_TOKENS] = (double)usage->prompt;
    d->f.numbers[SR_HISTORY_COMPLETION_TOKENS] = (double)usage->completion;
    d->f.numbers[SR_HISTORY_TOTAL_TOKENS] = (double)(usage->prompt + usage->completion);
    if (usage->cached)
        d->f.numbers[SR_HISTORY_CACHED_TOKENS] = (double)usage->cached;
    if (usage->cache_write)
        d->f.numbers[SR_HISTORY_CACHE_WRITE_TOKENS] = (double)usage->cache_write;
    put_cost(d, r, config);
}

static uint32_t microseconds(uint64_t ns)
{
    uint64_t us = ns / SR_NS_PER_US;
    return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

/* The rules of a type: first those that match, then those that have a score, as far as there is room. */
static void put_rules(struct draft *d, const struct sr_router *router, enum sr_signal_type type,
                      const struct sr_signal_result *result)
{
    for (int matched = 1; matched >= 0; matched--) {
        for (size_t i = 0; i < result->n_hits && d->f.n_rules < SR_HISTORY_RULES_MAX; i++) {
            const struct sr_signal_hit *hit = &result->hits[i];
            if (hit->matched != (matched == 1) || (!matched && !(hit->confidence > 0)))
                continue;
            d->rules[d->f.n_rules++] = (struct sr_history_rule){
                .signal = (uint32_t)(d->f.n_signals - 1),
                .matched = hit->matched,
                .confidence = hit->confidence,
                .value = hit->value,
                .name = sr_bytes_str(sr_signals_rule_name(router->signals, type, i)),
            };
        }
    }
}

static void put_signals(struct draft *d, const struct sr_record *r, const struct sr_router *router)
{
    for (int type = 0; type < SR_SIGNAL_TYPES && d->f.n_signals < SR_HISTORY_SIGNALS_MAX; type++) {
        const struct sr_signal_result *result = r->results[type];
        uint64_t started = r->signal_started[type];
        if (!result)
            continue;
        d->signals[d->f.n_signals++] = (struct sr_history_signal){
            .type = sr_bytes_str(sr_signal_registry[type]->name),
            .tier = sr_bytes_str(result->tier),
            .error = sr_bytes_str(result->status ? sr_record_failure(result->status) : ""),
            .start_us = started > r->times.started ? microseconds(started - r->times.started) : 0,
            .took_us = microseconds(result->ns),
        };
        put_rules(d, router, (enum sr_signal_type)type, result);
    }
}

static void put_candidates(struct draft *d, const struct sr_record *r, const struct sr_config *config)
{
    const struct sr_config_decision *decision = sr_record_decision(r, config);
    for (size_t i = 0; decision && i < decision->n_refs && i < SR_HISTORY_CANDIDATES_MAX; i++) {
        const struct sr_select_score *score = r->ranking && i < r->ranking->n ? &r->ranking->items[i] : NULL;
        d->candidates[d->f.n_candidates++] = (struct sr_history_candidate){
            .model = sr_bytes_str(config->models[decision->refs[i].model].name),
            .excluded = sr_bytes_str(score ? score->excluded : ""),
            .score = score ? score->score : (double)NAN,
            .chosen = decision->refs[i].model == r->model,
        };
    }
    if (r->ranking)
        put(d, SR_HISTORY_SELECTION_REASON, r->ranking->fallback ? r->ranking->fallback : r->ranking->why);
}

void sr_report_history_brief(const struct sr_record *record, const struct sr_router *router,
                             struct sr_history_entry *entry)
{
    put_filtered(&entry->f, record, router->config);
}

int sr_report_history(const struct sr_record *record, const struct sr_router *router,
                      const struct sr_history_more *more, struct sr_history_entry **out)
{
    struct draft d;
    sr_history_facts_init(&d.f);
    d.f.signals = d.signals;
    d.f.rules = d.rules;
    d.f.candidates = d.candidates;
    put_filtered(&d.f, record, router->config);
    put_times(&d, &record->times);
    put_lifecycle(&d, record);
    put_request(&d, record);
    put_verdict(&d, record, router->config);
    put_guard(&d, record, router->config);
    put_protection(&d, &record->protection);
    put_cache(&d, &record->cache);
    put_usage(&d, record, router->config);
    put_signals(&d, record, router);
    put_candidates(&d, record, router->config);
    d.f.why = more->why;
    d.f.takers = more->takers;
    d.f.texts[SR_HISTORY_REQUEST_BODY] = more->request;
    d.f.texts[SR_HISTORY_RESPONSE_BODY] = more->response;
    d.f.numbers[SR_HISTORY_REQUEST_CUT] = more->request_cut;
    d.f.numbers[SR_HISTORY_RESPONSE_CUT] = more->response_cut;
    return sr_history_entry_new(out, &d.f);
}
