/*
 * A span whose times are not known is left out; one that has not ended ends with the request. Ids of inner
 * spans follow from the request's own, which is random.
 */
#include "router/report/spans.h"

#include "base/clock.h"
#include "base/hash.h"
#include "router/report/gen_ai.h"
#include "trace/span.h"

#define NAME(rest)        "semantic_router." rest
#define NAME_MAX_BYTES    96
#define ENTITIES_MEMORY   4096
#define ADDRESS_MAX_BYTES 264
#define PORT_MAX_BYTES    8
#define MATCHES_MAX       16
#define MATCH_MAX_BYTES   96

/* One tree in the making. */
struct tree {
    struct sr_trace_writer w;
    const struct sr_record *r;
    const struct sr_router *router;
    uint64_t offset;
    uint64_t next; /* number of the next inner span */
};

/* A span inside the request; times as in the record. */
struct part {
    const char *name;
    enum sr_trace_kind kind;
    uint64_t began, ended;
    const uint8_t *id, *parent; /* NULL: a new one, the request's own */
    enum sr_trace_status status;
    const char *message;
};

static double ms_of(uint64_t ns)
{
    return (double)ns / (double)SR_NS_PER_MS;
}

/* Begins a span; its id goes to `out`, if that is not NULL. */
static void begin(struct tree *t, const struct part *part, uint8_t out[SR_SPAN_ID_SIZE])
{
    struct sr_trace_context own = t->r->trace.own;
    uint64_t id = sr_hash64(sr_bytes_of(own.span, sizeof own.span), ++t->next);
    uint64_t ended = part->ended > part->began ? part->ended : part->began;
    memcpy(own.span, part->id ? part->id : (const uint8_t *)&id, SR_SPAN_ID_SIZE);
    own.span[0] |= (uint8_t)(!part->id && !own.span[0]); /* an id of zeros only is none */
    if (out)
        memcpy(out, own.span, SR_SPAN_ID_SIZE);
    struct sr_trace_span span = {.trace = &own,
                                 .parent = part->parent ? part->parent : t->r->trace.own.span,
                                 .state = t->r->trace.state,
                                 .name = part->name,
                                 .kind = part->kind ? part->kind : SR_TRACE_INTERNAL,
                                 .start_ns = part->began + t->offset,
                                 .end_ns = ended + t->offset,
                                 .status = part->status,
                                 .message = part->message};
    sr_trace_begin(&t->w, &span);
}

static inline void put(struct tree *t, const char *key, const char *value)
{
    sr_trace_text(&t->w, key, value);
}

static void put_event(struct tree *t, const char *name, uint64_t at)
{
    if (at)
        sr_trace_event(&t->w, at + t->offset, name);
}

/* ---- what the conventions of gen_ai say ---- */

static void put_usage(struct tree *t)
{
    const struct sr_usage *usage = &t->r->usage;
    const char *reasons[SR_FINISH_REASONS];
    size_t n = 0;
    for (int i = 0; i < SR_FINISH_REASONS; i++)
        if (usage->finish >> i & 1)
            reasons[n++] = sr_finish_name(i);
    sr_trace_texts(&t->w, "gen_ai.response.finish_reasons", reasons, n);
    if (!usage->seen)
        return;
    sr_trace_int(&t->w, "gen_ai.usage.input_tokens", (int64_t)usage->prompt);
    sr_trace_int(&t->w, "gen_ai.usage.output_tokens", (int64_t)usage->completion);
    if (usage->cached)
        sr_trace_int(&t->w, "gen_ai.usage.cache_read.input_tokens", (int64_t)usage->cached);
    if (usage->cache_write)
        sr_trace_int(&t->w, "gen_ai.usage.cache_creation.input_tokens", (int64_t)usage->cache_write);
}

static void put_gen_ai(struct tree *t, const char *provider, const char *request_model)
{
    put(t, "gen_ai.operation.name", sr_gen_ai_operation(t->r->dialect));
    put(t, "gen_ai.provider.name", provider);
    put(t, "gen_ai.request.model", request_model);
}

/* ---- the request ---- */

static int status_of(const struct sr_record *r)
{
    return r->has_verdict && r->action == SR_ACTION_REPLY ? r->status : r->answer_status;
}

static const char *failure_of(const struct sr_record *r, int status)
{
    if (r->end == SR_END_UPSTREAM_LOST && status < 500)
        return "upstream_lost";
    if (r->end == SR_END_CLIENT_GONE)
        return "client_gone";
    if (status < 500)
        return NULL;
    return r->error_reason ? r->error_reason : r->error_code ? r->error_code : "upstream_5xx";
}

/* How long a signal took, which may have failed or not have run. */
static void put_detection(struct tree *t, const char *key, enum sr_signal_type type)
{
    const struct sr_signal_result *result = t->r->results[type];
    if (result)
        sr_trace_real(&t->w, key, ms_of(result->ns));
}

static void put_guard(struct tree *t)
{
    const struct sr_record_guard *guard = &t->r->guard;
    struct sr_arena arena;
    if (guard->risk >= 0 && guard->attack[0]) {
        sr_trace_bool(&t->w, "jailbreak.detected", true);
        put(t, "jailbreak.type", guard->attack);
        put_detection(t, "jailbreak.detection_time_ms", SR_SIGNAL_JAILBREAK);
    }
    if (guard->types) {
        sr_arena_init(&arena, ENTITIES_MEMORY);
        sr_trace_bool(&t->w, "pii.detected", true);
        put(t, "pii.types", sr_record_entities(guard->types, &arena));
        put_detection(t, "pii.detection_time_ms", SR_SIGNAL_PII);
        sr_arena_dispose(&arena);
    }
    if (guard->action >= 0)
        put(t, "security.action",
            guard->action == SR_GUARD_BLOCK ? "blocked" : sr_guard_action_name(guard->action));
}

static void put_choice(struct tree *t)
{
    const struct sr_record *r = t->r;
    put(t, "routing.original_model", sr_gen_ai_request_model(r, t->router->config));
    put(t, "routing.selected_model", r->model_name);
    put(t, "routing.strategy", r->choice.algorithm);
    put(t, "model.name", r->model_name);
    put(t, "category.name", r->category);
    put(t, "decision.name", r->decision_name);
    if (r->decision_name[0])
        sr_trace_real(&t->w, "decision.confidence", r->confidence);
    if (r->automatic && r->model >= 0)
        sr_trace_bool(&t->w, "model.reasoning_enabled", r->reasoning);
    put(t, "model.reasoning_effort", r->effort);
    if (r->family >= 0)
        put(t, "reasoning.family", t->router->config->families[r->family].name);
    if (r->cache.used)
        sr_trace_bool(&t->w, "cache.hit", r->cache.hit != SR_CACHE_MISS);
    if (r->failovers)
        sr_trace_int(&t->w, "semroute.failovers", r->failovers);
}

static void put_http(struct tree *t, int status)
{
    const struct sr_record *r = t->r;
    sr_trace_bytes(&t->w, "request.id", r->id);
    if (r->session.n)
        sr_trace_bytes(&t->w, "session.id", r->session);
    sr_trace_bytes(&t->w, "http.method", r->method);
    sr_trace_bytes(&t->w, "http.request.method", r->method);
    sr_trace_bytes(&t->w, "http.path", r->path);
    sr_trace_bytes(&t->w, "url.path", r->path);
    if (status) {
        sr_trace_int(&t->w, "http.status_code", status);
        sr_trace_int(&t->w, "http.response.status_code", status);
    }
    sr_trace_int(&t->w, "http.request.body.size", (int64_t)r->bytes_in);
    put(t, "semroute.door", sr_door_name(r->door));
    put(t, "semroute.outcome", sr_record_outcome(r));
}

static void write_request(struct tree *t)
{
    const struct sr_record *r = t->r;
    int status = status_of(r);
    const char *failure = failure_of(r, status);
    bool failed = failure && r->end != SR_END_CLIENT_GONE;
    double cost = sr_record_cost(r, t->router->config);
    struct sr_trace_span span = {.trace = &r->trace.own,
                                 .parent = r->trace.has_parent ? r->trace.parent : NULL,
                                 .remote_parent = r->trace.has_parent,
                                 .state = r->trace.state,
                                 .name = NAME("request.received"),
                                 .kind = SR_TRACE_SERVER,
                                 .start_ns = r->times.started + t->offset,
                                 .end_ns = r->times.ended + t->offset,
                                 .status = failed ? SR_TRACE_ERROR : SR_TRACE_UNSET,
                                 .message = failed ? failure : NULL};
    sr_trace_begin(&t->w, &span);
    put_http(t, status);
    put(t, "error.type", failure);
    put_gen_ai(t, sr_gen_ai_provider_of(r, t->router->config), sr_gen_ai_request_model(r, t->router->config));
    put(t, "gen_ai.response.model", r->model_name);
    put_usage(t);
    put_choice(t);
    put_guard(t);
    sr_trace_real(&t->w, "processing.time_ms", ms_of(r->times.busy_ns));
    if (cost > 0)
        sr_trace_real(&t->w, "semroute.cost", cost);
    put_event(t, "request.body.complete", r->times.body_complete);
    put_event(t, "verdict", r->times.verdict);
    sr_trace_end(&t->w);
}

/* ---- signals and decision ---- */

static void put_matches(struct tree *t, enum sr_signal_type type)
{
    const struct sr_signal_result *result = t->r->results[type];
    char names[SR_TRACE_TEXT_MAX] = "";
    float confidence = -1;
    size_t n = 0;
    for (size_t i = 0; i < result->n_hits; i++) {
        const char *name = sr_signals_rule_name(t->router->signals, type, i);
        size_t length = strlen(name);
        if (!result->hits[i].matched || n + length + 2 > sizeof names)
            continue;
        if (n)
            names[n++] = ',';
        memcpy(names + n, name, length + 1);
        n += length;
        if (result->hits[i].confidence > confidence)
            confidence = result->hits[i].confidence;
    }
    put(t, "signal.matched_rules", names);
    if (confidence >= 0)
        sr_trace_real(&t->w, "signal.confidence", (double)confidence);
}

static void write_signal(struct tree *t, enum sr_signal_type type, const uint8_t *parent)
{
    const struct sr_signal_result *result = t->r->results[type];
    char name[NAME_MAX_BYTES] = NAME("signal.");
    uint64_t began = t->r->signal_started[type];
    strncat(name, sr_signal_registry[type]->name, sizeof name - strlen(name) - 1);
    begin(t,
          &(struct part){.name = name,
                         .began = began,
                         .ended = began + result->ns,
                         .parent = parent,
                         .status = result->status ? SR_TRACE_ERROR : SR_TRACE_UNSET,
                         .message = result->status ? sr_record_failure(result->status) : NULL},
          NULL);
    put(t, "signal.type", sr_signal_registry[type]->name);
    sr_trace_real(&t->w, "signal.latency_ms", ms_of(result->ns));
    put(t, "classifier.type", result->tier);
    if (!result->status)
        put_matches(t, type);
    if (result->probabilities && result->top >= 0) {
        put(t, "category.name", result->labels[result->top]);
        sr_trace_real(&t->w, "category.confidence", (double)result->probabilities[result->top]);
    }
    sr_trace_end(&t->w);
}

/* "A:B" into `out`; its length, or 0 when it is too long. Done for each request, so without a format. */
static size_t join(char *out, size_t max, const char *a, const char *b)
{
    size_t n = strlen(a), k = strlen(b);
    if (n + k + 2 > max)
        return 0;
    memcpy(out, a, n);
    out[n] = ':';
    memcpy(out + n + 1, b, k + 1);
    return n + 1 + k;
}

/* The first rules that matched, each as TYPE:NAME; without those of a long name. */
static void put_matched_rules(struct tree *t)
{
    char names[MATCHES_MAX][MATCH_MAX_BYTES];
    const char *list[MATCHES_MAX];
    size_t n = 0;
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        const struct sr_signal_result *result = t->r->results[type];
        for (size_t i = 0; result && i < result->n_hits && n < MATCHES_MAX; i++) {
            if (!result->hits[i].matched)
                continue;
            list[n] = names[n];
            n += join(names[n], sizeof names[n], sr_signal_registry[type]->name,
                      sr_signals_rule_name(t->router->signals, (enum sr_signal_type)type, i)) > 0;
        }
    }
    sr_trace_texts(&t->w, "decision.matched_rules", list, n);
}

static void write_signals(struct tree *t, const struct sr_record_phase *phase)
{
    const struct sr_times *times = &t->r->times;
    uint8_t id[SR_SPAN_ID_SIZE];
    uint64_t decided = times->decided ? times->decided : phase->ended;
    if (!t->r->evaluated)
        return;
    begin(t, &(struct part){.name = NAME("signal.evaluation"), .began = phase->began, .ended = decided}, id);
    sr_trace_real(&t->w, "classification.time_ms", ms_of(times->signals_ns));
    if (t->r->has_text)
        sr_trace_int(&t->w, "semroute.text_tokens", (int64_t)t->r->text_tokens);
    sr_trace_end(&t->w);
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        if (t->r->results[type] && t->r->signal_started[type])
            write_signal(t, (enum sr_signal_type)type, id);
    begin(t,
          &(struct part){.name = NAME("decision.evaluation"),
                         .began = decided > times->decide_ns ? decided - times->decide_ns : decided,
                         .ended = decided},
          NULL);
    put(t, "decision.name", t->r->decision_name);
    put(t, "decision.strategy",
        t->router->config->strategy == SR_STRATEGY_CONFIDENCE ? "confidence" : "priority");
    put_matched_rules(t);
    sr_trace_real(&t->w, "decision.confidence", (double)t->r->decision.confidence);
    put(t, "category.name", t->r->decision.category_name);
    sr_trace_end(&t->w);
}

/* ---- the phases behind them ---- */

static void write_cache(struct tree *t, const struct sr_record_phase *phase)
{
    static const char *const hits[] = {
        [SR_CACHE_MISS] = "miss", [SR_CACHE_HIT_EXACT] = "exact", [SR_CACHE_HIT_SEMANTIC] = "semantic"};
    const struct sr_record_cache *cache = &t->r->cache;
    if (!cache->used || cache->early != (phase->part == SR_PART_EARLY))
        return;
    begin(t, &(struct part){.name = NAME("cache.lookup"), .began = phase->began, .ended = phase->ended},
          NULL);
    sr_trace_bool(&t->w, "cache.hit", cache->hit != SR_CACHE_MISS);
    put(t, "semroute.cache.result", hits[cache->hit]);
    sr_trace_real(&t->w, "cache.lookup_time_ms", ms_of(cache->ns));
    if (cache->hit != SR_CACHE_MISS) {
        sr_trace_real(&t->w, "semroute.cache.similarity", (double)cache->similarity);
        sr_trace_int(&t->w, "semroute.cache.age_ms", cache->age_ms);
    }
    put(t, "cache.write_skipped_reason", cache->not_stored);
    sr_trace_end(&t->w);
}

static void write_limit(struct tree *t, const struct sr_record_phase *phase)
{
    const struct sr_record_limit *limit = &t->r->limit;
    if (!limit->rule)
        return;
    begin(t, &(struct part){.name = NAME("ratelimit.check"), .began = phase->began, .ended = phase->ended},
          NULL);
    put(t, "ratelimit.rule", limit->rule);
    sr_trace_bool(&t->w, "ratelimit.store_away", limit->away);
    sr_trace_end(&t->w);
}

static void write_tools(struct tree *t, const struct sr_record_phase *phase)
{
    const struct sr_record_tools *tools = &t->r->tools;
    if (!tools->known)
        return;
    begin(t, &(struct part){.name = NAME("tools.selection"), .began = phase->began, .ended = phase->ended},
          NULL);
    sr_trace_int(&t->w, "tools.count", (int64_t)(tools->kept + tools->added));
    sr_trace_int(&t->w, "semroute.tools.removed", (int64_t)tools->removed);
    sr_trace_int(&t->w, "semroute.tools.added", (int64_t)tools->added);
    sr_trace_end(&t->w);
}

static void write_edit(struct tree *t, const struct sr_record_phase *phase)
{
    const struct sr_record *r = t->r;
    if (!r->edits)
        return;
    begin(t,
          &(struct part){.name =
                             r->injected_prompt ? NAME("system_prompt.injection") : NAME("plugin.execution"),
                         .began = phase->began,
                         .ended = phase->ended},
          NULL);
    put(t, "plugin.decision", r->decision_name);
    put(t, "plugin.status", "success");
    sr_trace_bool(&t->w, "system_prompt.injected", r->injected_prompt);
    sr_trace_int(&t->w, "semroute.redactions", (int64_t)r->guard.redacted);
    sr_trace_end(&t->w);
}

static void write_pick(struct tree *t, const struct sr_record_phase *phase)
{
    const struct sr_record *r = t->r;
    if (!r->target && !r->pool.name)
        return;
    begin(t, &(struct part){.name = NAME("backend.selection"), .began = phase->began, .ended = phase->ended},
          NULL);
    put(t, "endpoint.name", r->target);
    put(t, "routing.reason", r->why_target.reason);
    put(t, "semroute.policy", r->policy);
    put(t, "semroute.pool", r->pool.name);
    put(t, "semroute.workload", r->pool.workload);
    sr_trace_end(&t->w);
}

static void write_wait(struct tree *t, const struct sr_record_phase *phase)
{
    begin(t, &(struct part){.name = NAME("queue.wait"), .began = phase->began, .ended = phase->ended}, NULL);
    put(t, "semroute.pool", t->r->pool.name);
    put(t, "semroute.model", t->r->model_name);
    sr_trace_end(&t->w);
}

/* Where a phase ends that did not: a wait goes on to the end of the request, all others to the verdict. */
static uint64_t end_of(const struct tree *t, const struct sr_record_phase *phase)
{
    const struct sr_times *times = &t->r->times;
    return phase->part != SR_PART_QUEUE && times->verdict ? times->verdict : times->ended;
}

static void write_phases(struct tree *t)
{
    static void (*const writers[])(struct tree *, const struct sr_record_phase *) = {
        [SR_PART_EARLY] = write_cache, [SR_PART_SIGNALS] = write_signals, [SR_PART_LIMIT] = write_limit,
        [SR_PART_TOOLS] = write_tools, [SR_PART_CACHE] = write_cache,     [SR_PART_EDIT] = write_edit,
        [SR_PART_PICK] = write_pick,   [SR_PART_QUEUE] = write_wait,
    };
    for (size_t i = 0; i < t->r->n_phases; i++) {
        struct sr_record_phase phase = t->r->phases[i];
        if (!phase.ended)
            phase.ended = end_of(t, &phase);
        writers[phase.part](t, &phase);
    }
}

/* ---- upstreams and the answer ---- */

static void put_address(struct tree *t, const char *host, int port)
{
    char address[ADDRESS_MAX_BYTES], digits[PORT_MAX_BYTES], *at = digits + sizeof digits;
    *--at = '\0';
    for (int left = port; left > 0 && at > digits; left /= 10)
        *--at = (char)('0' + left % 10);
    put(t, "server.address", host);
    sr_trace_int(&t->w, "server.port", port);
    sr_trace_bytes(&t->w, "endpoint.address", sr_bytes_of(address, join(address, sizeof address, host, at)));
}

static void write_try(struct tree *t, size_t at)
{
    const struct sr_record *r = t->r;
    const struct sr_record_try *try = &r->tries[at];
    bool last = at + 1 == r->n_tries, failed = try->failure || try->status >= 400;
    const char *sent =
        try->model_index >= 0 ? t->router->config->models[try->model_index].provider_model_id : try->model;
    begin(t,
          &(struct part){.name = NAME("upstream.request"),
                         .kind = SR_TRACE_CLIENT,
                         .began = try->started,
                         .ended = try->ended,
                         .id = try->span,
                         .status = failed ? SR_TRACE_ERROR : SR_TRACE_UNSET,
                         .message = try->failure},
          NULL);
    put_gen_ai(t, sr_gen_ai_provider(t->router->config, try->model_index, try->target), sent);
    put(t, "model.name", try->model);
    put(t, "endpoint.name", try->target);
    if (try->host)
        put_address(t, try->host, try->port);
    if (try->status)
        sr_trace_int(&t->w, "http.response.status_code", try->status);
    put(t, "error.type", try->failure);
    if (at)
        sr_trace_int(&t->w, "http.request.resend_count", (int64_t)at);
    put_event(t, "answer.head", try->answered);
    if (last && try->answered && !try->failure) {
        put(t, "gen_ai.response.model", sent);
        sr_trace_bool(&t->w, "gen_ai.request.stream", r->streamed);
        put_usage(t);
        put_event(t, "first_token", r->times.first_token);
        put_event(t, "last_token", r->times.last_token);
    }
    sr_trace_end(&t->w);
}

static void write_answer(struct tree *t)
{
    const struct sr_record *r = t->r;
    const struct sr_record_answer_guard *guard = &r->answer_guard;
    if (!r->times.answer_head)
        return;
    begin(t,
          &(struct part){
              .name = NAME("response.processing"), .began = r->times.answer_head, .ended = r->times.ended},
          NULL);
    sr_trace_int(&t->w, "http.response.body.size", (int64_t)r->bytes_out);
    if (guard->decision) {
        put(t, "plugin.type", "response_jailbreak");
        put(t, "plugin.decision", guard->decision);
        sr_trace_bool(&t->w, "jailbreak.detected", guard->found);
    }
    if (r->cache.used)
        sr_trace_bool(&t->w, "semroute.cache.stored", r->cache.stored);
    put_event(t, "first_token", r->times.first_token);
    put_event(t, "last_token", r->times.last_token);
    sr_trace_end(&t->w);
}

int sr_spans_of_record(const struct sr_record *r, const struct sr_router *router, uint64_t offset,
                       struct sr_buf *out, size_t *n)
{
    struct tree t = {.w = sr_trace_writer_of(out), .r = r, .router = router, .offset = offset};
    write_request(&t);
    write_phases(&t);
    for (size_t i = 0; i < r->n_tries; i++)
        write_try(&t, i);
    write_answer(&t);
    *n = t.w.n;
    return t.w.rc;
}
