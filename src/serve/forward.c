/* The rules of forwarding, as lists of headers and paths. */
#include "serve/forward.h"

#include <string.h>

/* Headers of the client's hop, in addition to sr_http1_is_hop_by_hop. */
static const struct sr_bytes OWN_HOP[] = {
    {"host", sizeof "host" - 1},
    {"expect", sizeof "expect" - 1},
    {"content-length", sizeof "content-length" - 1},
    {"x-forwarded-for", sizeof "x-forwarded-for" - 1},
};

#define OWN_HOP_COUNT (sizeof OWN_HOP / sizeof OWN_HOP[0])

static bool has_name(const struct sr_header *headers, size_t count, struct sr_bytes name)
{
    for (size_t i = 0; i < count; i++)
        if (sr_bytes_eq(headers[i].name, name))
            return true;
    return false;
}

static bool is_listed(const struct sr_bytes *names, size_t count, struct sr_bytes name)
{
    for (size_t i = 0; i < count; i++)
        if (sr_bytes_eq(names[i], name))
            return true;
    return false;
}

/* ---- changes ---- */

int sr_forward_init(struct sr_forward *forward, const struct sr_verdict *verdict,
                    const struct sr_target *target, enum sr_forward_hop hop, size_t extra,
                    struct sr_arena *arena)
{
    size_t own = target ? target->n_headers : 0;
    *forward = (struct sr_forward){
        .set = sr_arena_calloc(arena, verdict->n_set_headers + own + extra + 1, sizeof *forward->set),
        .remove = sr_arena_calloc(arena, verdict->n_remove_headers + OWN_HOP_COUNT, sizeof *forward->remove)};
    if (!forward->set || !forward->remove)
        return SR_ENOMEM;
    for (size_t i = 0; i < verdict->n_set_headers; i++) {
        const struct sr_header *header = &verdict->set_headers[i];
        if (own == 0 || !has_name(target->headers, own, header->name))
            forward->set[forward->n_set++] = *header;
    }
    for (size_t i = 0; i < own; i++)
        sr_forward_set(forward, target->headers[i].name, target->headers[i].value);
    for (size_t i = 0; i < verdict->n_remove_headers; i++)
        if (!sr_forward_sets(forward, verdict->remove_headers[i]))
            forward->remove[forward->n_remove++] = verdict->remove_headers[i];
    for (size_t i = 0; i < OWN_HOP_COUNT && hop == SR_FORWARD_HERE; i++)
        forward->remove[forward->n_remove++] = OWN_HOP[i];
    return SR_OK;
}

void sr_forward_set(struct sr_forward *forward, struct sr_bytes name, struct sr_bytes value)
{
    size_t kept = 0;
    for (size_t i = 0; i < forward->n_remove; i++)
        if (!sr_bytes_eq(forward->remove[i], name))
            forward->remove[kept++] = forward->remove[i];
    forward->n_remove = kept;
    for (size_t i = 0; i < forward->n_set; i++) {
        if (sr_bytes_eq(forward->set[i].name, name)) {
            forward->set[i].value = value;
            return;
        }
    }
    forward->set[forward->n_set++] = (struct sr_header){name, value};
}

void sr_forward_trace(struct sr_forward *forward, struct sr_bytes parent)
{
    if (parent.n && sr_forward_sets(forward, SR_LIT("traceparent")))
        sr_forward_set(forward, SR_LIT("traceparent"), parent);
}

bool sr_forward_sets(const struct sr_forward *forward, struct sr_bytes name)
{
    return has_name(forward->set, forward->n_set, name);
}

/* ---- the path ---- */

struct sr_bytes sr_forward_path(const struct sr_verdict *verdict, const struct sr_target *target,
                                struct sr_arena *arena)
{
    static const struct sr_bytes version = {"/v1/", 4};
    struct sr_bytes path = verdict->target;
    const char *query = target && target->query ? target->query : "";
    if (!target || (target->base_path[0] == '\0' && !target->unversioned && !query[0]))
        return path;
    if (target->unversioned && path.n >= version.n && memcmp(path.p, version.p, version.n) == 0)
        path = sr_bytes_of(path.p + version.n - 1, path.n - version.n + 1);
    const char *mark = !query[0] ? "" : path.n && memchr(path.p, '?', path.n) ? "&" : "?";
    const char *joined =
        sr_arena_printf(arena, "%s%.*s%s%s", target->base_path, (int)path.n, path.p, mark, query);
    return joined ? sr_bytes_str(joined) : (struct sr_bytes){NULL, 0};
}

/* ---- the client's address ---- */

/* The address without port and brackets. */
static struct sr_bytes address_of(const char *peer)
{
    const char *colon = strrchr(peer, ':');
    struct sr_bytes address = {peer, colon ? (size_t)(colon - peer) : strlen(peer)};
    if (address.n >= 2 && address.p[0] == '[' && address.p[address.n - 1] == ']')
        address = (struct sr_bytes){address.p + 1, address.n - 2};
    return address;
}

struct sr_bytes sr_forward_client(const struct sr_http_head *head, const char *peer, struct sr_arena *arena)
{
    struct sr_bytes address = address_of(peer);
    char *all = NULL;
    for (size_t i = 0; i < head->header_count; i++) {
        const struct sr_header *h = &head->headers[i];
        if (sr_bytes_eq(h->name, SR_LIT("x-forwarded-for")) && h->value.n > 0) {
            all = sr_arena_printf(arena, "%s%s%.*s", all ? all : "", all ? ", " : "", (int)h->value.n,
                                  h->value.p);
        }
    }
    if (!all)
        return address;
    return sr_bytes_str(sr_arena_printf(arena, "%s, %.*s", all, (int)address.n, address.p));
}

/* ---- a head ---- */

size_t sr_forward_merge(struct sr_header *out, const struct sr_http_head *head,
                        const struct sr_header_edits *edits)
{
    size_t n = 0;
    for (size_t i = 0; i < head->header_count; i++) {
        struct sr_bytes name = head->headers[i].name;
        if (!is_listed(edits->remove, edits->n_remove, name) && !has_name(edits->set, edits->n_set, name) &&
            !sr_http1_is_hop_by_hop(head, name))
            out[n++] = head->headers[i];
    }
    for (size_t i = 0; i < edits->n_set; i++)
        out[n++] = edits->set[i];
    return n;
}
