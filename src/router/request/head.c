/* Reads the headers that the router uses from a request's head, and the names of those to strip. */
#include "router/request/head.h"

#include "router/identity/identity.h"
#include "router/request/multipart.h"

/* Longest x-request-id that is accepted. */
#define REQUEST_ID_MAX 128

static bool id_is_usable(struct sr_bytes id)
{
    if (id.n == 0 || id.n > REQUEST_ID_MAX)
        return false;
    for (size_t i = 0; i < id.n; i++)
        if (id.p[i] <= ' ' || id.p[i] > '~')
            return false;
    return true;
}

static struct sr_bytes keep(struct sr_arena *arena, struct sr_bytes s, int *rc)
{
    struct sr_bytes copy = sr_arena_dup(arena, s);
    if (!copy.p)
        *rc = SR_ENOMEM;
    return copy;
}

static bool value_is_true(struct sr_bytes value)
{
    return sr_bytes_eq_nocase(sr_bytes_trim(value), SR_LIT("true"));
}

static bool names_sse(struct sr_bytes value)
{
    static const struct sr_bytes type = {"text/event-stream", sizeof "text/event-stream" - 1};
    for (size_t i = 0; i + type.n <= value.n; i++)
        if (sr_bytes_eq_nocase(sr_bytes_of(value.p + i, type.n), type))
            return true;
    return false;
}

/* The key that a header of credentials holds; empty: none that another header can carry. */
static struct sr_bytes key_of(struct sr_bytes name, struct sr_bytes value)
{
    static const struct sr_bytes scheme = {"bearer ", 7};
    if (sr_bytes_eq(name, SR_LIT("x-api-key")))
        return value;
    if (!sr_bytes_eq(name, SR_LIT("authorization")) || value.n <= scheme.n ||
        !sr_bytes_eq_nocase(sr_bytes_of(value.p, scheme.n), scheme))
        return SR_LIT("");
    return sr_bytes_trim(sr_bytes_of(value.p + scheme.n, value.n - scheme.n));
}

static void read_header(struct sr_head *out, const struct sr_header *header, const struct sr_config *config,
                        bool trusted, struct sr_arena *arena, int *rc)
{
    struct sr_bytes name = header->name, value = sr_bytes_trim(header->value);
    unsigned long long length = 0;
    if (sr_bytes_eq(name, SR_LIT("x-request-id"))) {
        if (id_is_usable(value))
            out->request_id = keep(arena, value, rc);
    } else if (sr_bytes_eq(name, SR_LIT("accept"))) {
        out->wants_sse |= names_sse(value);
    } else if (sr_bytes_eq(name, SR_LIT("content-type"))) {
        out->says_json = !out->content_type.p && sr_bytes_eq(value, SR_LIT("application/json"));
        out->content_type = keep(arena, value, rc);
    } else if (sr_bytes_eq(name, SR_LIT("content-length"))) {
        if (sr_bytes_to_u64(value, &length))
            out->content_length = length;
    } else if (sr_bytes_eq(name, SR_LIT("content-encoding"))) {
        out->coding = sr_coding_with(out->coding, value);
    } else if (sr_bytes_eq(name, SR_LIT("traceparent"))) {
        out->traceparent = out->n_traceparents++ ? (struct sr_bytes){"", 0} : keep(arena, value, rc);
    } else if (sr_bytes_eq(name, SR_LIT("tracestate"))) {
        out->tracestate = out->n_tracestates++ ? (struct sr_bytes){"", 0} : keep(arena, value, rc);
    } else if (sr_bytes_eq(name, SR_LIT("x-vsr-debug"))) {
        out->debug |= value_is_true(value);
    } else if (sr_bytes_eq(name, SR_LIT("x-vsr-skip-processing"))) {
        out->skip |= config->global.skip_processing && value_is_true(value);
    }
    if (sr_identity_strips(config, header, trusted))
        out->strip[out->n_strip++] = keep(arena, name, rc);
    else if (sr_config_is_credential(name)) {
        out->credentials[out->n_credentials++] = keep(arena, name, rc);
        if (!out->client_key.n)
            out->client_key = keep(arena, key_of(name, value), rc);
    }
}

/* Keeps a header that the configuration names; the first of its name. */
static void keep_one(struct sr_head *out, const struct sr_request_head *head, struct sr_bytes name,
                     struct sr_arena *arena, int *rc)
{
    for (size_t k = 0; k < head->n_headers && name.n; k++) {
        if (!sr_bytes_eq_nocase(head->headers[k].name, name))
            continue;
        out->named[out->n_named++] =
            (struct sr_header){name, keep(arena, sr_bytes_trim(head->headers[k].value), rc)};
        return;
    }
}

/* Keeps the headers that pools, authz, canaries and sessions name. */
static void keep_named(struct sr_head *out, const struct sr_request_head *head,
                       const struct sr_config *config, struct sr_arena *arena, int *rc)
{
    const struct sr_config_global *global = &config->global;
    const struct sr_config_protection *protection = &global->learning.protection;
    bool sessions = protection->enabled || global->replay.entries;
    size_t most =
        2 * global->n_pools + 1 + global->authz.n_providers + global->n_canaries + (sessions ? 3 : 0);
    if (most == 1 && !global->workloads.header[0])
        return;
    out->named = sr_arena_calloc(arena, most, sizeof *out->named);
    if (!out->named) {
        *rc = SR_ENOMEM;
        return;
    }
    keep_one(out, head, sr_bytes_str(global->workloads.header), arena, rc);
    for (size_t i = 0; i < global->n_pools; i++) {
        keep_one(out, head, sr_bytes_str(global->pools[i].queue.priority_header), arena, rc);
        keep_one(out, head, sr_bytes_str(global->pools[i].picking.session_header), arena, rc);
    }
    if (sessions) {
        keep_one(out, head, sr_bytes_str(protection->session_header), arena, rc);
        keep_one(out, head, SR_LIT(SR_SESSION_HEADER_OF_CODE), arena, rc);
        keep_one(out, head, sr_bytes_str(protection->conversation_header), arena, rc);
    }
    for (size_t i = 0; i < global->n_canaries; i++)
        if (global->canaries[i].by == SR_CANARY_SESSION)
            keep_one(out, head, sr_bytes_str(global->canaries[i].session_header), arena, rc);
    for (size_t i = 0; i < global->authz.n_providers; i++)
        if (global->authz.providers[i].type == SR_AUTHZ_HEADER)
            keep_one(out, head, sr_bytes_str(global->authz.providers[i].header), arena, rc);
}

static bool is_version(const struct sr_header *header)
{
    static const struct sr_bytes names[] = {
        {"anthropic-beta", 14}, {"openai-beta", 11}, {"openai-organization", 19}, {"openai-project", 14}};
    bool found = false;
    if (sr_bytes_eq_nocase(header->name, SR_LIT("anthropic-version")))
        return !sr_bytes_eq(sr_bytes_trim(header->value), SR_LIT(SR_ANTHROPIC_VERSION));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        found |= sr_bytes_eq_nocase(header->name, names[i]);
    return found;
}

static void keep_versions(struct sr_head *out, const struct sr_request_head *head, struct sr_arena *arena,
                          int *rc)
{
    size_t n = 0;
    for (size_t i = 0; i < head->n_headers; i++)
        n += is_version(&head->headers[i]);
    out->versions = n ? sr_arena_calloc(arena, 2 * n, sizeof *out->versions) : NULL;
    if (n && !out->versions)
        *rc = SR_ENOMEM;
    for (size_t i = 0; i < head->n_headers && out->versions; i++) {
        if (!is_version(&head->headers[i]))
            continue;
        out->versions[out->n_versions++] = keep(arena, head->headers[i].name, rc);
        out->versions[out->n_versions++] = keep(arena, sr_bytes_trim(head->headers[i].value), rc);
    }
}

struct sr_bytes sr_head_named(const struct sr_head *head, const char *name)
{
    for (size_t i = 0; i < head->n_named; i++)
        if (sr_bytes_eq(head->named[i].name, sr_bytes_str(name)))
            return head->named[i].value;
    return (struct sr_bytes){NULL, 0};
}

int sr_head_read(struct sr_head *out, const struct sr_request_head *head, const struct sr_config *config,
                 struct sr_arena *arena)
{
    int rc = SR_OK;
    *out = (struct sr_head){
        .door = head->door,
        .method = keep(arena, head->method, &rc),
        .peer = keep(arena, head->peer, &rc),
        .protocol = keep(arena, head->protocol, &rc),
        .has_body = head->has_body,
        .answer_unseen = head->answer_unseen,
        .passing_max = head->passing_max,
        .debug = config->global.debug_headers,
    };
    out->strip = sr_arena_calloc(arena, head->n_headers + 1, sizeof *out->strip);
    out->credentials = sr_arena_calloc(arena, head->n_headers + 1, sizeof *out->credentials);
    if (rc || !out->strip || !out->credentials || sr_request_path_read(&out->path, head->target, arena))
        return SR_ENOMEM;
    struct sr_identity_source source = {.headers = head->headers, .n = head->n_headers, .peer = head->peer};
    bool trusted = sr_identity_trusts(config, &source);
    for (size_t i = 0; i < head->n_headers; i++)
        read_header(out, &head->headers[i], config, trusted, arena, &rc);
    if (sr_multipart_boundary(out->content_type, &out->boundary))
        out->boundary = (struct sr_bytes){"", 0};
    keep_named(out, head, config, arena, &rc);
    keep_versions(out, head, arena, &rc);
    return rc;
}
