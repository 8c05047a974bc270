/*
 * Headers: what the upstream gets beside the client's own, what the client gets beside the upstream's, and
 * what a reply made here carries.
 *
 * Connection, framing and host headers belong to the doors; a configuration that touches them is refused.
 */
#include "base/clock.h"
#include "router/exchange.h"

#define SCHEMA_VERSION "2"

/* A list of headers of fixed room; adding past it or without memory is remembered. */
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

/* Sets a header: a later one of the same name takes the earlier one's place. */
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
    for (size_t i = 0; i < list->n; i++) {
        if (!sr_bytes_eq(list->items[i].name, name))
            list->items[kept++] = list->items[i];
    }
    list->n = kept;
}

/* Header values may not hold line ends, whatever a configuration or a model name says. */
static struct sr_bytes header_value(struct sr_arena *arena, const char *text)
{
    struct sr_bytes value = sr_bytes_str(text);
    bool clean = true;
    for (size_t i = 0; i < value.n; i++)
        clean &= (unsigned char)value.p[i] >= ' ' && value.p[i] != 0x7f;
    if (clean)
        return value;
    value = sr_arena_dup(arena, value);
    for (size_t i = 0; value.p && i < value.n; i++) {
        if ((unsigned char)value.p[i] < ' ' || value.p[i] == 0x7f)
            ((char *)value.p)[i] = ' ';
    }
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

static void seed_headers(struct header_list *set, const sr_exchange *x)
{
    const struct sr_verdict *v = &x->verdict;
    list_text(set, SR_LIT("x-vsr-model"), v->model);
    if (v->category[0])
        list_text(set, SR_LIT("x-vsr-category"), v->category);
    list_text(set, SR_LIT("x-vsr-reasoning"), v->reasoning ? "true" : "false");
    if (v->reasoning)
        list_text(set, SR_LIT("x-vsr-reasoning-effort"), v->effort);
    list_text(set, SR_LIT("x-vsr-cache-status"), "miss");
}

int sr_headers_upstream(sr_exchange *x)
{
    struct sr_verdict *v = &x->verdict;
    const struct sr_config_decision *decision = sr_exchange_decision(x);
    bool mutates = decision && decision->plugins.header_mutation.set;
    size_t extra =
        mutates ? decision->plugins.header_mutation.add.count + decision->plugins.header_mutation.update.count
                : 0;
    size_t deletes = mutates ? decision->plugins.header_mutation.remove.count : 0;
    struct header_list set = list_new(&x->arena, extra + 16);
    struct sr_bytes *remove = sr_arena_calloc(&x->arena, x->head.n_strip + deletes + 1, sizeof *remove);
    if (!remove)
        return SR_ENOMEM;
    size_t n_remove = x->head.n_strip;
    if (n_remove)
        memcpy(remove, x->head.strip, n_remove * sizeof *remove);
    if (x->router->models[x->model].has_key)
        remove[n_remove++] = SR_LIT("authorization");
    list_text(&set, SR_LIT("x-selected-model"), v->model);
    list_set(&set, SR_LIT("accept-encoding"), SR_LIT("identity"));
    if (!x->head.request_id.n)
        list_text(&set, SR_LIT("x-request-id"), x->request_id);
    if (x->router->config->global.request_headers)
        seed_headers(&set, x);
    if (mutates) {
        mutate(&set, &decision->plugins.header_mutation.add);
        mutate(&set, &decision->plugins.header_mutation.update);
    }
    for (size_t i = 0; i < deletes; i++) {
        struct sr_bytes name = lower(&x->arena, decision->plugins.header_mutation.remove.items[i]);
        if (!name.p)
            return SR_ENOMEM;
        list_drop(&set, name);
        remove[n_remove++] = name;
    }
    v->set_headers = set.items;
    v->n_set_headers = set.n;
    v->remove_headers = remove;
    v->n_remove_headers = n_remove;
    return set.failed ? SR_ENOMEM : SR_OK;
}

/* ---- the client's answer ---- */

static void list_number(struct header_list *list, struct sr_bytes name, unsigned long long number)
{
    list_set(list, name, sr_bytes_str(sr_arena_printf(list->arena, "%llu", number)));
}

/* The names of a signal's rules that matched, joined by commas; "" = none. */
static const char *matched_rules(sr_exchange *x, enum sr_signal_type type)
{
    const struct sr_signal_result *result = x->results[type];
    const char *names = "";
    for (size_t i = 0; result && names && i < result->n_hits; i++) {
        if (result->hits[i].matched)
            names = sr_arena_printf(&x->arena, "%s%s%s", names, names[0] ? "," : "",
                                    sr_signals_rule_name(x->router->signals, type, i));
    }
    return names ? names : "";
}

static void debug_headers(struct header_list *list, sr_exchange *x)
{
    static const struct {
        enum sr_signal_type type;
        const char *header;
    } types[] = {
        {SR_SIGNAL_KEYWORD, "x-vsr-matched-keywords"},
        {SR_SIGNAL_DOMAIN, "x-vsr-matched-domains"},
        {SR_SIGNAL_LANGUAGE, "x-vsr-matched-language"},
        {SR_SIGNAL_CONTEXT, "x-vsr-matched-context"},
        {SR_SIGNAL_STRUCTURE, "x-vsr-matched-structure"},
        {SR_SIGNAL_JAILBREAK, "x-vsr-matched-jailbreak"},
        {SR_SIGNAL_PII, "x-vsr-matched-pii"},
        {SR_SIGNAL_EMBEDDING, "x-vsr-matched-embeddings"},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        const char *names = matched_rules(x, types[i].type);
        if (names[0])
            list_text(list, sr_bytes_str(types[i].header), names);
    }
    if (x->input)
        list_number(list, SR_LIT("x-vsr-context-token-count"), x->input->total_tokens);
}

static void list_coverage(struct header_list *list, const sr_exchange *x)
{
    double least = 2;
    for (int type = SR_SIGNAL_JAILBREAK; type <= SR_SIGNAL_PII; type++) {
        double coverage = sr_record_coverage(x->results[type]);
        if (coverage >= 0 && coverage < least)
            least = coverage;
    }
    if (least <= 1)
        list_set(list, SR_LIT("x-vsr-scan-coverage"),
                 sr_bytes_str(sr_arena_printf(list->arena, "%.4f", least)));
}

/* What guards found and did. */
static void guard_headers(struct header_list *list, sr_exchange *x)
{
    const struct sr_guard *guard = &x->guard;
    int action = sr_guard_action(x);
    list_coverage(list, x);
    if (action < 0 || action == SR_GUARD_ALLOW)
        return;
    list_text(list, SR_LIT("x-vsr-guard-action"), sr_guard_action_name(action));
    if (guard->decision >= 0 && !guard->denied)
        list_text(list, SR_LIT("x-vsr-guard-decision"), x->router->config->decisions[guard->decision].name);
    if (guard->risk >= 0 && !guard->denied) {
        if (action == SR_GUARD_BLOCK)
            list_set(list, SR_LIT("x-vsr-jailbreak-blocked"), SR_LIT("true"));
        list_text(list, SR_LIT("x-vsr-jailbreak-type"), guard->kind);
        list_set(list, SR_LIT("x-vsr-jailbreak-confidence"),
                 sr_bytes_str(sr_arena_printf(list->arena, "%.3f", (double)guard->risk)));
    }
    if (!guard->types)
        return;
    if (action != SR_GUARD_REDACT)
        list_set(list, SR_LIT("x-vsr-pii-violation"), SR_LIT("true"));
    const char *types = sr_guard_type_names(guard->types, list->arena);
    list_set(list, SR_LIT("x-vsr-pii-types"), types ? sr_bytes_str(types) : (struct sr_bytes){NULL, 0});
}

static void routed_headers(struct header_list *list, sr_exchange *x)
{
    const struct sr_verdict *v = &x->verdict;
    list_text(list, SR_LIT("x-vsr-selected-model"), v->model);
    list_text(list, SR_LIT("x-vsr-selected-reasoning"), v->reasoning ? "on" : "off");
    list_text(list, SR_LIT("x-vsr-injected-system-prompt"), x->injected_prompt ? "true" : "false");
    if (v->category[0])
        list_text(list, SR_LIT("x-vsr-selected-category"), v->category);
    guard_headers(list, x);
    if (!x->automatic && x->decision.decision < 0)
        return;
    if (v->decision[0]) {
        list_text(list, SR_LIT("x-vsr-selected-decision"), v->decision);
        list_set(list, SR_LIT("x-vsr-selected-confidence"),
                 sr_bytes_str(sr_arena_printf(list->arena, "%.4f", v->confidence)));
    }
    if (x->choice.algorithm && x->choice.algorithm[0])
        list_text(list, SR_LIT("x-vsr-selected-algorithm"), x->choice.algorithm);
    if (x->head.debug)
        debug_headers(list, x);
}

/* Headers of an upstream's answer that only the router may set. */
static size_t spoofed_names(sr_exchange *x, const struct sr_header *headers, size_t n, struct sr_bytes *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        bool reserved = sr_bytes_starts_with(headers[i].name, SR_LIT("x-vsr-"));
        bool stale =
            sr_answer_changes_length(&x->answer) && sr_bytes_eq(headers[i].name, SR_LIT("content-length"));
        if (!reserved && !stale)
            continue;
        out[kept] = sr_arena_dup(&x->arena, headers[i].name);
        kept += out[kept].p != NULL;
    }
    return kept;
}

void sr_headers_answer(sr_exchange *x, int status, const struct sr_header *headers, size_t n_headers,
                       struct sr_header_edits *edits)
{
    *edits = (struct sr_header_edits){NULL, 0, NULL, 0};
    struct header_list set = list_new(&x->arena, 32);
    struct sr_bytes *remove = sr_arena_calloc(&x->arena, n_headers + 1, sizeof *remove);
    bool has_id = false;
    for (size_t i = 0; i < n_headers; i++)
        has_id |= sr_bytes_eq(headers[i].name, SR_LIT("x-request-id"));
    list_set(&set, SR_LIT("x-vsr-schema-version"), SR_LIT(SCHEMA_VERSION));
    list_set(&set, SR_LIT("x-vsr-response-path"), SR_LIT("upstream"));
    list_number(&set, SR_LIT("x-vsr-overhead-us"), x->record.times.busy_ns / SR_NS_PER_US);
    if (!has_id)
        list_set(&set, SR_LIT("x-request-id"), sr_exchange_id(x));
    if (status / 100 == 2)
        routed_headers(&set, x);
    if (set.failed || !remove)
        return;
    edits->set = set.items;
    edits->n_set = set.n;
    edits->remove = remove;
    edits->n_remove = spoofed_names(x, headers, n_headers, remove);
}

/* What the guard of answers found. */
static void response_headers(struct header_list *list, const sr_exchange *x)
{
    const struct sr_response_guard *guard = &x->answer.guard;
    double coverage = sr_response_guard_coverage(guard);
    if (coverage < 0 || guard->action == SR_RESPONSE_NONE)
        return;
    list_set(list, SR_LIT("x-vsr-response-scan-coverage"),
             sr_bytes_str(sr_arena_printf(list->arena, "%.4f", coverage)));
    if (guard->found)
        list_set(list, SR_LIT("x-vsr-response-warnings"), SR_LIT("response_jailbreak"));
}

void sr_exchange_answer_headers(sr_exchange *x, const struct sr_header **headers, size_t *n_headers)
{
    struct header_list list = list_new(&x->arena, 2);
    response_headers(&list, x);
    *headers = list.items;
    *n_headers = list.failed ? 0 : list.n;
}

/* ---- replies made here ---- */

int sr_headers_reply(sr_exchange *x, const char *content_type)
{
    struct header_list list = list_new(&x->arena, 24);
    const struct sr_verdict *v = &x->verdict;
    list_text(&list, SR_LIT("content-type"), content_type);
    list_set(&list, SR_LIT("x-request-id"), sr_exchange_id(x));
    list_set(&list, SR_LIT("x-vsr-schema-version"), SR_LIT(SCHEMA_VERSION));
    if (x->response_path)
        list_text(&list, SR_LIT("x-vsr-response-path"), x->response_path);
    if (v->outcome == SR_OUTCOME_FAST) {
        list_text(&list, SR_LIT("x-vsr-selected-decision"), v->decision);
        list_set(&list, SR_LIT("x-vsr-fast-response"), SR_LIT("true"));
        list_set(&list, SR_LIT("cache-control"), SR_LIT("no-cache"));
    }
    if (v->outcome == SR_OUTCOME_FAST || v->outcome == SR_OUTCOME_BLOCKED)
        guard_headers(&list, x);
    if (v->outcome == SR_OUTCOME_BLOCKED) {
        list_text(&list, SR_LIT("x-vsr-selected-decision"), v->decision);
        response_headers(&list, x);
    }
    if (v->status == 405)
        list_set(&list, SR_LIT("allow"), x->allow);
    if (v->status == 503 || v->status == 429)
        list_set(&list, SR_LIT("retry-after"), SR_LIT("1"));
    x->verdict.headers = list.items;
    x->verdict.n_headers = list.n;
    return list.failed ? SR_ENOMEM : SR_OK;
}
