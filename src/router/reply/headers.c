/* Builds lists of headers. */
#include "router/reply/headers.h"

#include "base/clock.h"
#include "router/cache_reasons.h"

#include <math.h>
#include <stdio.h>

#define SCHEMA_VERSION "2"
#define MS_PER_S       1000u
#define TRACE_HEADERS  3 /* traceparent, tracestate, baggage */

/* A list of headers with a fixed capacity; records when an addition fails. */
struct header_list {
    struct sr_arena *arena;
    struct sr_header *items;
    size_t n, max;
    bool failed;
};

static struct header_list list_new(struct sr_arena *arena, size_t max)
{
    struct header_list list = {.arena = arena, .max = max};
    list.items = sr_arena_calloc(arena, max, sizeof *list.items);
    list.failed = list.items == NULL;
    return list;
}

/* Sets a header: a later one replaces an earlier one of the same name. */
static void list_set(struct header_list *list, struct sr_bytes name, struct sr_bytes value)
{
    if (list->failed || !name.p || !value.p) {
        list->failed = true;
        return;
    }
    for (size_t i = 0; i < list->n; i++) {
        if (sr_bytes_eq(list->items[i].name, name)) {
            list->items[i].value = value;
            return;
        }
    }
    if (list->n == list->max)
        list->failed = true;
    else
        list->items[list->n++] = (struct sr_header){name, value};
}

static void list_drop(struct header_list *list, struct sr_bytes name)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->n; i++)
        if (!sr_bytes_eq(list->items[i].name, name))
            list->items[kept++] = list->items[i];
    list->n = kept;
}

/* Removes line ends, which header values may not contain. */
static struct sr_bytes header_value(struct sr_arena *arena, const char *text)
{
    struct sr_bytes value = sr_bytes_str(text);
    bool clean = true;
    for (size_t i = 0; i < value.n; i++)
        clean &= (unsigned char)value.p[i] >= ' ' && value.p[i] != 0x7f;
    if (clean)
        return value;
    value = sr_arena_dup(arena, value);
    for (size_t i = 0; value.p && i < value.n; i++)
        if ((unsigned char)value.p[i] < ' ' || value.p[i] == 0x7f)
            ((char *)value.p)[i] = ' ';
    return value;
}

static void list_text(struct header_list *list, struct sr_bytes name, const char *text)
{
    list_set(list, name, header_value(list->arena, text));
}

static struct sr_bytes lower(struct sr_arena *arena, const char *name)
{
    struct sr_bytes copy = sr_arena_dup(arena, sr_bytes_str(name));
    for (size_t i = 0; copy.p && i < copy.n; i++)
        ((char *)copy.p)[i] = sr_ascii_lower(copy.p[i]);
    return copy;
}

/* ---- the upstream request ---- */

static void mutate(struct header_list *set, const struct sr_name_values *values)
{
    for (size_t i = 0; i < values->count; i++) {
        struct sr_bytes name = lower(set->arena, values->items[i].name);
        list_text(set, name, values->items[i].value);
    }
}

static void seed_headers(struct header_list *set, const struct sr_record *r)
{
    list_text(set, SR_LIT("x-vsr-model"), r->model_name);
    if (r->category[0])
        list_text(set, SR_LIT("x-vsr-category"), r->category);
    list_text(set, SR_LIT("x-vsr-reasoning"), r->reasoning ? "true" : "false");
    if (r->reasoning)
        list_text(set, SR_LIT("x-vsr-reasoning-effort"), r->effort);
}

/* The request's place in its trace; a sender may name a span of each try instead. A tracestate without a
 * usable traceparent is not sent. Returns the number of names in `remove` [TRACE_HEADERS]. */
static size_t trace_headers(struct header_list *set, const struct sr_record *r,
                            const struct sr_config_tracing *tracing, struct sr_bytes *remove)
{
    size_t n = 0;
    char parent[SR_TRACE_PARENT_SIZE];
    if (!r->trace.known)
        return 0;
    if (!tracing->propagate || !r->trace.has_parent)
        remove[n++] = SR_LIT("tracestate");
    if (tracing->propagate) {
        sr_trace_parent_write(&r->trace.own, parent);
        list_set(set, SR_LIT("traceparent"), sr_arena_dup(set->arena, sr_bytes_str(parent)));
    } else {
        remove[n++] = SR_LIT("traceparent");
        remove[n++] = SR_LIT("baggage");
    }
    return n;
}

/* Headers that only the other API knows. */
static const struct sr_bytes of_openai[] = {
    {"openai-organization", 19}, {"openai-project", 14}, {"openai-beta", 11}};
static const struct sr_bytes of_anthropic[] = {{"anthropic-version", 17}, {"anthropic-beta", 14}};

enum { FOREIGN_MAX = sizeof of_openai / sizeof of_openai[0] };

/* The headers of a request that is translated: the version of the API, and the client's own key, where it is
 * passed on, in the header that carries it there. `remove` has room for FOREIGN_MAX and the credentials. */
static void translated_headers(struct header_list *set, const struct sr_record *r, const struct sr_head *head,
                               bool own_key, struct sr_bytes *remove, size_t *n_remove)
{
    bool messages = r->translated == SR_TRANSLATE_MESSAGES;
    const struct sr_bytes *foreign = messages ? of_openai : of_anthropic;
    size_t n =
        messages ? sizeof of_openai / sizeof of_openai[0] : sizeof of_anthropic / sizeof of_anthropic[0];
    for (size_t i = 0; i < n; i++)
        remove[(*n_remove)++] = foreign[i];
    if (messages)
        list_set(set, SR_LIT("anthropic-version"), SR_LIT(SR_ANTHROPIC_VERSION));
    if (!own_key || !head->client_key.n)
        return;
    for (size_t i = 0; i < head->n_credentials; i++)
        remove[(*n_remove)++] = head->credentials[i];
    struct sr_bytes key = head->client_key;
    if (messages)
        list_set(set, SR_LIT("x-api-key"), key);
    else
        list_set(set, SR_LIT("authorization"),
                 sr_bytes_str(sr_arena_printf(set->arena, "Bearer %.*s", (int)key.n, key.p)));
}

int sr_headers_upstream(const struct sr_record *r, const struct sr_head *head, const struct sr_router *router,
                        struct sr_arena *arena, struct sr_header_edits *out)
{
    const struct sr_config_decision *decision = sr_record_decision(r, router->config);
    const struct sr_config_plugins *plugins =
        decision && decision->plugins.header_mutation.set ? &decision->plugins : NULL;
    size_t extra = plugins ? plugins->header_mutation.add.count + plugins->header_mutation.update.count : 0;
    size_t deletes = plugins ? plugins->header_mutation.remove.count : 0;
    bool keyed = router->models[r->model].has_key || head->injects;
    struct header_list set = list_new(arena, extra + 22);
    struct sr_bytes *remove = sr_arena_calloc(
        arena, head->n_strip + head->n_credentials + deletes + FOREIGN_MAX + TRACE_HEADERS + 2,
        sizeof *remove);
    if (!remove)
        return SR_ENOMEM;
    size_t n_remove = head->n_strip;
    if (n_remove)
        memcpy(remove, head->strip, n_remove * sizeof *remove);
    for (size_t i = 0; keyed && i < head->n_credentials; i++)
        remove[n_remove++] = head->credentials[i];
    if (head->coding != SR_CODING_NONE) /* it was undone */
        remove[n_remove++] = SR_LIT("content-encoding");
    if (r->translated >= 0)
        translated_headers(&set, r, head, !keyed, remove, &n_remove);
    list_text(&set, SR_LIT("x-selected-model"), r->model_name);
    if (r->pool.name)
        list_text(&set, SR_LIT("x-selected-pool"), r->pool.name);
    list_set(&set, SR_LIT("accept-encoding"), SR_LIT("identity"));
    if (head->boundary.n)
        list_set(&set, SR_LIT("content-type"),
                 sr_bytes_str(sr_arena_printf(arena, "multipart/form-data; boundary=%.*s",
                                              (int)head->boundary.n, head->boundary.p)));
    else if (!head->says_json) /* the body was read as JSON in UTF-8: so it is for the upstream, too */
        list_set(&set, SR_LIT("content-type"), SR_LIT("application/json"));
    if (!head->request_id.n)
        list_set(&set, SR_LIT("x-request-id"), r->id);
    n_remove += trace_headers(&set, r, &router->config->global.tracing, remove + n_remove);
    if (router->config->global.request_headers)
        seed_headers(&set, r);
    if (plugins) {
        mutate(&set, &plugins->header_mutation.add);
        mutate(&set, &plugins->header_mutation.update);
    }
    for (size_t i = 0; i < deletes; i++) {
        struct sr_bytes name = lower(arena, plugins->header_mutation.remove.items[i]);
        if (!name.p)
            return SR_ENOMEM;
        list_drop(&set, name);
        remove[n_remove++] = name;
    }
    *out = (struct sr_header_edits){.set = set.items, .n_set = set.n, .remove = remove, .n_remove = n_remove};
    return set.failed ? SR_ENOMEM : SR_OK;
}

/* ---- the client's answer ---- */

static void list_number(struct header_list *list, struct sr_bytes name, unsigned long long number)
{
    list_set(list, name, sr_bytes_str(sr_arena_printf(list->arena, "%llu", number)));
}

/* `names` with the names of a signal's rules that matched, joined by commas; NULL: out of memory. */
static const char *add_matched(const char *names, const struct sr_record *r, const struct sr_router *router,
                               enum sr_signal_type type, struct sr_arena *arena)
{
    const struct sr_signal_result *result = r->results[type];
    for (size_t i = 0; result && names && i < result->n_hits; i++) {
        if (result->hits[i].matched)
            names = sr_arena_printf(arena, "%s%s%s", names, names[0] ? "," : "",
                                    sr_signals_rule_name(router->signals, type, i));
    }
    return names;
}

/* Those of all signals with the header of the one at `place`; "" = none, or an earlier place has them. */
static const char *matched_rules(const struct sr_record *r, const struct sr_router *router, int place,
                                 struct sr_arena *arena)
{
    const char *header = sr_signal_registry[sr_signal_header_at(place)]->header, *names = "";
    for (int i = 0; i < SR_SIGNAL_TYPES; i++) {
        enum sr_signal_type type = sr_signal_header_at(i);
        if (strcmp(sr_signal_registry[type]->header, header) != 0)
            continue;
        if (i < place)
            return "";
        names = add_matched(names, r, router, type, arena);
    }
    return names ? names : "";
}

/* The worker and why it was picked: `prefix; overlap=48/64; similarity=0.912`. */
static void worker_headers(struct header_list *list, const struct sr_record *r)
{
    const struct sr_pool_why *why = &r->why_target;
    if (!r->target)
        return;
    list_text(list, SR_LIT("x-vsr-worker"), r->target);
    if (!r->policy)
        return;
    list_text(list, SR_LIT("x-vsr-worker-policy"), r->policy);
    const char *text = sr_arena_printf(list->arena, "%s", why->reason);
    if (why->blocks && text)
        text = sr_arena_printf(list->arena, "%s; overlap=%u/%u", text, why->overlap, why->blocks);
    if (why->similarity > 0 && text)
        text = sr_arena_printf(list->arena, "%s; similarity=%.3f", text, (double)why->similarity);
    list_set(list, SR_LIT("x-vsr-worker-reason"), sr_bytes_str(text));
}

/* What the request is for, its pool and why: `fits; workload=shape; prompt=812; answer=256`. */
static void pool_headers(struct header_list *list, const struct sr_record *r)
{
    const struct sr_record_pool *pool = &r->pool;
    if (!pool->name)
        return;
    list_text(list, SR_LIT("x-vsr-pool"), pool->name);
    list_text(list, SR_LIT("x-vsr-workload"), pool->workload);
    const char *text =
        sr_arena_printf(list->arena, "%s; workload=%s; prompt=%llu; answer=%llu", pool->why, pool->from,
                        (unsigned long long)pool->prompt_tokens, (unsigned long long)pool->answer_tokens);
    list_set(list, SR_LIT("x-vsr-pool-reason"), sr_bytes_str(text));
}

/* Where the cache was asked; not known for an answer that was there before the decision. */
static void list_partition(struct header_list *list, const struct sr_record *r)
{
    char partition[17];
    sr_cache_partition_text(r, sizeof partition - 1, partition);
    if (partition[0])
        list_set(list, SR_LIT("x-vsr-cache-partition"), sr_arena_dup(list->arena, sr_bytes_str(partition)));
}

/* Whether the cache was asked, and where: for those who wonder why it has no answer. */
static void cache_headers(struct header_list *list, const struct sr_record *r, const struct sr_router *router)
{
    const char *unused = sr_cache_unused(r, router);
    const char *why = unused ? unused : r->recall.unasked;
    if (!router->caches)
        return;
    list_text(list, SR_LIT("x-vsr-cache-status"), sr_cache_state(r, router));
    if (why)
        list_text(list, SR_LIT("x-vsr-cache-reason"), why);
    list_partition(list, r);
}

static void tools_headers(struct header_list *list, const struct sr_record *r)
{
    const struct sr_record_tools *tools = &r->tools;
    if (!tools->known)
        return;
    list_number(list, SR_LIT("x-vsr-tools-added"), tools->added);
    list_number(list, SR_LIT("x-vsr-tools-removed"), tools->removed);
    list_number(list, SR_LIT("x-vsr-tools-latency-ms"), tools->ns / SR_NS_PER_MS);
    if (tools->best > 0)
        list_set(list, SR_LIT("x-vsr-tools-confidence"),
                 sr_bytes_str(sr_arena_printf(list->arena, "%.4f", (double)tools->best)));
    if (tools->why_not)
        list_text(list, SR_LIT("x-vsr-tools-reason"), tools->why_not);
}

static void debug_headers(struct header_list *list, const struct sr_record *r, const struct sr_router *router)
{
    for (int place = 0; place < SR_SIGNAL_TYPES; place++) {
        enum sr_signal_type type = sr_signal_header_at(place);
        const char *names = matched_rules(r, router, place, list->arena);
        if (names[0])
            list_text(list, sr_bytes_str(sr_signal_registry[type]->header), names);
    }
    if (r->has_text)
        list_number(list, SR_LIT("x-vsr-context-token-count"), r->text_tokens);
    tools_headers(list, r);
}

static void list_coverage(struct header_list *list, const struct sr_record *r)
{
    double least = 2;
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        bool guard = sr_signal_registry[type]->reads == SR_SIGNAL_READS_UNITS;
        double coverage = guard ? sr_record_coverage(r->results[type]) : -1;
        if (coverage >= 0 && coverage < least)
            least = coverage;
    }
    if (least <= 1)
        list_set(list, SR_LIT("x-vsr-scan-coverage"),
                 sr_bytes_str(sr_arena_printf(list->arena, "%.4f", least)));
}

static void attack_headers(struct header_list *list, const struct sr_record_guard *guard)
{
    if (guard->action == SR_GUARD_BLOCK)
        list_set(list, SR_LIT("x-vsr-jailbreak-blocked"), SR_LIT("true"));
    list_text(list, SR_LIT("x-vsr-jailbreak-type"), guard->attack);
    list_set(list, SR_LIT("x-vsr-jailbreak-confidence"),
             sr_bytes_str(sr_arena_printf(list->arena, "%.3f", (double)guard->risk)));
}

/* Adds what guards found and did. */
static void guard_headers(struct header_list *list, const struct sr_record *r, const struct sr_config *config)
{
    const struct sr_record_guard *guard = &r->guard;
    list_coverage(list, r);
    if (guard->action < 0 || guard->action == SR_GUARD_ALLOW)
        return;
    list_text(list, SR_LIT("x-vsr-guard-action"), sr_guard_action_name(guard->action));
    if (guard->decision >= 0 && !guard->denied)
        list_text(list, SR_LIT("x-vsr-guard-decision"), config->decisions[guard->decision].name);
    if (guard->why[0])
        list_text(list, SR_LIT("x-vsr-guard-reason"), guard->why);
    if (guard->risk >= 0 && !guard->denied)
        attack_headers(list, guard);
    if (!guard->types)
        return;
    if (guard->action != SR_GUARD_REDACT)
        list_set(list, SR_LIT("x-vsr-pii-violation"), SR_LIT("true"));
    const char *types = sr_record_entities(guard->types, list->arena);
    list_set(list, SR_LIT("x-vsr-pii-types"), types ? sr_bytes_str(types) : (struct sr_bytes){NULL, 0});
}

/* Under which id the request is kept. */
static void list_replay(struct header_list *list, const struct sr_record *r)
{
    if (r->replay_id)
        list_text(list, SR_LIT("x-vsr-replay-id"), r->replay_id);
}

static void recipe_headers(struct header_list *list, const struct sr_record *r)
{
    if (r->recipe && r->tells_recipe)
        list_text(list, SR_LIT("x-vsr-selected-recipe"), r->recipe);
    if (r->canary && r->debug) {
        list_text(list, SR_LIT("x-vsr-canary"), r->canary);
        list_text(list, SR_LIT("x-vsr-canary-side"), sr_canary_side_name(r->canary_side));
    }
}

static void list_flag(struct header_list *list, struct sr_bytes name, bool says, bool value)
{
    if (says)
        list_set(list, name, value ? SR_LIT("true") : SR_LIT("false"));
}

/* What the decision emits, as far as it says it. */
static void retention_headers(struct header_list *list, const struct sr_config_decision *decision)
{
    const struct sr_config_retention *retention =
        decision && decision->n_emits ? &decision->emits[0].retention : NULL;
    if (!retention)
        return;
    list_flag(list, SR_LIT("x-vsr-retention-drop"), retention->says_drop, retention->drop);
    if (retention->says_ttl)
        list_number(list, SR_LIT("x-vsr-retention-ttl-turns"), (unsigned long long)retention->ttl_turns);
    list_flag(list, SR_LIT("x-vsr-retention-keep-current-model"), retention->says_model,
              retention->keep_model);
    list_flag(list, SR_LIT("x-vsr-retention-prefer-prefix"), retention->says_prefix,
              retention->prefer_prefix);
}

/* Whether the conversation keeps its model, in the words of vLLM Semantic Router. */
static void learning_headers(struct header_list *list, const struct sr_record_protection *protection)
{
    if (!protection->known)
        return;
    list_set(list, SR_LIT("x-vsr-learning-methods"), SR_LIT("protection"));
    list_set(list, SR_LIT("x-vsr-learning-actions"),
             sr_bytes_str(sr_arena_printf(list->arena, "protection=%s%s",
                                          protection->observes ? "observe:" : "", protection->action)));
    list_set(list, SR_LIT("x-vsr-learning-scopes"),
             sr_bytes_str(sr_arena_printf(list->arena, "protection=%s", protection->scope)));
    list_set(list, SR_LIT("x-vsr-learning-reasons"),
             sr_bytes_str(sr_arena_printf(list->arena, "protection=%s", protection->reason)));
}

static void routed_headers(struct header_list *list, const struct sr_record *r,
                           const struct sr_router *router)
{
    list_text(list, SR_LIT("x-vsr-selected-model"), r->model_name);
    list_text(list, SR_LIT("x-vsr-selected-reasoning"), r->reasoning ? "on" : "off");
    list_text(list, SR_LIT("x-vsr-injected-system-prompt"), r->injected_prompt ? "true" : "false");
    if (r->category[0])
        list_text(list, SR_LIT("x-vsr-selected-category"), r->category);
    guard_headers(list, r, router->config);
    if (r->debug) {
        cache_headers(list, r, router);
        pool_headers(list, r);
        worker_headers(list, r);
    }
    if (!r->automatic && r->decision.decision < 0)
        return;
    if (r->decision_name[0]) {
        list_text(list, SR_LIT("x-vsr-selected-decision"), r->decision_name);
        list_set(list, SR_LIT("x-vsr-selected-confidence"),
                 sr_bytes_str(sr_arena_printf(list->arena, "%.4f", r->confidence)));
    }
    recipe_headers(list, r);
    if (r->choice.algorithm && r->choice.algorithm[0])
        list_text(list, SR_LIT("x-vsr-selected-algorithm"), r->choice.algorithm);
    if (r->debug) {
        debug_headers(list, r, router);
        retention_headers(list, sr_record_decision(r, router->config));
        learning_headers(list, &r->protection);
    }
}

/* Finds headers of an upstream's answer that only the router may set, and those that are not valid any
 * more. */
static size_t stale_names(const struct sr_answer_headers *answer, struct sr_arena *arena,
                          struct sr_bytes *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < answer->n; i++) {
        struct sr_bytes name = answer->items[i].name;
        bool reserved = sr_bytes_starts_with(name, SR_LIT("x-vsr-"));
        bool length = (answer->changes || answer->decoded) && sr_bytes_eq(name, SR_LIT("content-length"));
        bool coding = answer->decoded && sr_bytes_eq(name, SR_LIT("content-encoding"));
        if (!reserved && !length && !coding)
            continue;
        out[kept] = sr_arena_dup(arena, name);
        kept += out[kept].p != NULL;
    }
    return kept;
}

#define WARNINGS_MAX ((size_t)4096)

/* What was not carried over into the model's API, or back, joined by commas. */
static void warning_headers(struct header_list *list, const struct sr_translate_warnings *lost)
{
    struct sr_bytes text = {NULL, 0};
    struct sr_buf names;
    if (!lost || !lost->n)
        return;
    sr_buf_init(&names, WARNINGS_MAX);
    if (sr_translate_warnings_write(lost, &names) == SR_OK)
        text = sr_arena_dup(list->arena, sr_buf_view(&names));
    sr_buf_dispose(&names);
    list_set(list, SR_LIT("x-vsr-protocol-warnings"), text);
}

void sr_headers_answer(const struct sr_record *r, const struct sr_router *router,
                       const struct sr_answer_headers *answer, struct sr_arena *arena,
                       struct sr_header_edits *edits)
{
    *edits = (struct sr_header_edits){.struct_size = sizeof *edits};
    struct header_list set = list_new(arena, 55);
    struct sr_bytes *remove = sr_arena_calloc(arena, answer->n + 1, sizeof *remove);
    bool has_id = false;
    for (size_t i = 0; i < answer->n; i++)
        has_id |= sr_bytes_eq(answer->items[i].name, SR_LIT("x-request-id"));
    list_set(&set, SR_LIT("x-vsr-schema-version"), SR_LIT(SCHEMA_VERSION));
    list_set(&set, SR_LIT("x-vsr-response-path"), SR_LIT("upstream"));
    list_number(&set, SR_LIT("x-vsr-overhead-us"), r->times.busy_ns / SR_NS_PER_US);
    if (!has_id)
        list_set(&set, SR_LIT("x-request-id"), r->id);
    if (r->answer_status / 100 == 2)
        routed_headers(&set, r, router);
    if (r->answer_status / 100 == 2)
        list_replay(&set, r);
    if (!answer->json) /* else they come with the rest of a held head */
        warning_headers(&set, r->lost);
    else
        list_set(&set, SR_LIT("content-type"), SR_LIT("application/json"));
    if (set.failed || !remove)
        return;
    edits->set = set.items;
    edits->n_set = set.n;
    edits->remove = remove;
    edits->n_remove = stale_names(answer, arena, remove);
}

static void response_headers(struct header_list *list, const struct sr_record_answer_guard *guard)
{
    if (!guard->decision || guard->action == SR_RESPONSE_NONE)
        return;
    list_set(list, SR_LIT("x-vsr-response-scan-coverage"),
             sr_bytes_str(sr_arena_printf(list->arena, "%.4f", guard->coverage)));
    if (guard->found)
        list_set(list, SR_LIT("x-vsr-response-warnings"), SR_LIT("response_jailbreak"));
}

void sr_headers_answer_guard(const struct sr_record *r, struct sr_arena *arena,
                             const struct sr_header **headers, size_t *n_headers)
{
    struct header_list list = list_new(arena, 3);
    response_headers(&list, &r->answer_guard);
    warning_headers(&list, r->lost);
    *headers = list.items;
    *n_headers = list.failed ? 0 : list.n;
}

/* ---- replies made here ---- */

static struct sr_bytes seconds_text(struct sr_arena *arena, unsigned seconds)
{
    char text[16];
    int n = snprintf(text, sizeof text, "%u", seconds ? seconds : 1);
    struct sr_bytes copy = sr_arena_dup(arena, sr_bytes_of(text, (size_t)n));
    return copy.p ? copy : SR_LIT("1");
}

/* Of an answer from the cache: what the answer's own request was told. */
static void cached_headers(struct header_list *list, const struct sr_record *r)
{
    list_set(list, SR_LIT("x-vsr-cache-hit"), SR_LIT("true"));
    recipe_headers(list, r);
    list_text(list, SR_LIT("x-vsr-selected-model"), r->model_name);
    list_text(list, SR_LIT("x-vsr-selected-reasoning"), r->reasoning ? "on" : "off");
    if (r->category[0])
        list_text(list, SR_LIT("x-vsr-selected-category"), r->category);
    if (r->decision_name[0]) {
        list_text(list, SR_LIT("x-vsr-selected-decision"), r->decision_name);
        list_set(list, SR_LIT("x-vsr-selected-confidence"),
                 sr_bytes_str(sr_arena_printf(list->arena, "%.4f", r->confidence)));
    }
    list_number(list, SR_LIT("age"), (uint64_t)r->cache.age_ms / MS_PER_S);
    list_number(list, SR_LIT("x-vsr-overhead-us"), r->times.busy_ns / SR_NS_PER_US);
    if (!r->debug)
        return;
    list_set(list, SR_LIT("x-vsr-cache-status"), SR_LIT("hit"));
    list_partition(list, r);
    list_set(list, SR_LIT("x-vsr-cache-similarity"),
             sr_bytes_str(sr_arena_printf(list->arena, "%.4f", (double)r->cache.similarity)));
}

/* Requests and tokens are whole numbers; a cost has up to six decimals, rounded down: what is said to remain
 * is there. */
static void list_amount(struct header_list *list, struct sr_bytes name, double amount)
{
    double millionths = floor(amount * 1e6 + 0.01);
    char text[48];
    int n = snprintf(text, sizeof text, "%.6f", millionths / 1e6);
    while (n > 1 && text[n - 1] == '0')
        n--;
    n -= text[n - 1] == '.';
    list_set(list, name, sr_arena_dup(list->arena, sr_bytes_of(text, (size_t)n)));
}

/* What a client that is limited should know; a budget's or a long wait is not for retries. */
static void limit_headers(struct header_list *list, const struct sr_record_limit *limit)
{
    if (!limit->rule || limit->away)
        return;
    list_amount(list, SR_LIT("x-ratelimit-limit"), limit->max);
    list_amount(list, SR_LIT("x-ratelimit-remaining"), limit->remaining);
    list_number(list, SR_LIT("x-ratelimit-reset"), limit->reset_s);
    if (limit->no_retry)
        list_set(list, SR_LIT("x-should-retry"), SR_LIT("false"));
}

int sr_headers_reply(const struct sr_record *r, const struct sr_config *config, const char *content_type,
                     struct sr_arena *arena, const struct sr_header **headers, size_t *n_headers)
{
    struct header_list list = list_new(arena, 32);
    if (content_type)
        list_text(&list, SR_LIT("content-type"), content_type);
    list_set(&list, SR_LIT("x-request-id"), r->id);
    list_set(&list, SR_LIT("x-vsr-schema-version"), SR_LIT(SCHEMA_VERSION));
    if (r->response_path)
        list_text(&list, SR_LIT("x-vsr-response-path"), r->response_path);
    if (r->outcome == SR_OUTCOME_FAST || r->outcome == SR_OUTCOME_BLOCKED)
        recipe_headers(&list, r);
    if (r->outcome == SR_OUTCOME_FAST) {
        list_text(&list, SR_LIT("x-vsr-selected-decision"), r->decision_name);
        list_set(&list, SR_LIT("x-vsr-fast-response"), SR_LIT("true"));
        list_set(&list, SR_LIT("cache-control"), SR_LIT("no-cache"));
    }
    if (r->outcome == SR_OUTCOME_CACHED)
        cached_headers(&list, r);
    if (r->status / 100 == 2)
        list_replay(&list, r);
    if (r->outcome == SR_OUTCOME_FAST || r->outcome == SR_OUTCOME_BLOCKED)
        guard_headers(&list, r, config);
    if (r->outcome == SR_OUTCOME_BLOCKED) {
        list_text(&list, SR_LIT("x-vsr-selected-decision"), r->decision_name);
        response_headers(&list, &r->answer_guard);
    }
    if (r->status == 401)
        list_set(&list, SR_LIT("www-authenticate"), SR_LIT("Bearer"));
    if (r->status == 405 || r->status == 204)
        list_set(&list, SR_LIT("allow"), r->allow);
    if (r->status == 503 || r->status == 429)
        list_set(&list, SR_LIT("retry-after"), seconds_text(arena, r->retry_after_s));
    if (r->status == 429)
        limit_headers(&list, &r->limit);
    *headers = list.items;
    *n_headers = list.n;
    return list.failed ? SR_ENOMEM : SR_OK;
}
