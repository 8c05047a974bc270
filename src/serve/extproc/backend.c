/*
 * Where a request is sent, when Envoy leaves that to semroute: one of the model's backends by weight, those
 * that did not answer lately last, and of those only what Envoy offers.
 *
 * An address is `1.2.3.4:80` or `[::1]:80`. A backend with a host name is resolved, unless Envoy offers it
 * under that very name. Addresses are compared as numbers, and told as Envoy wrote them. What came of the
 * choice is learned from the answer.
 */
#include "base/clock.h"
#include "base/hash.h"
#include "serve/extproc/private.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

/* "[", an address with a scope, "]:65535" */
#define ADDRESS_MAX 80

/* ---- addresses ---- */

/* False when it is no address with a port. */
static bool read_place(struct sr_extproc_place *out, struct sr_bytes text)
{
    char host[ADDRESS_MAX];
    size_t colon = text.n;
    unsigned long long port;
    *out = (struct sr_extproc_place){.family = AF_UNSPEC};
    while (colon > 0 && text.p[colon - 1] != ':') {
        colon--;
    }
    if (colon == 0 || !sr_bytes_to_u64(sr_bytes_of(text.p + colon, text.n - colon), &port) || port == 0 ||
        port > 65535) {
        return false;
    }
    struct sr_bytes name = {text.p, colon - 1};
    bool brackets = name.n > 2 && name.p[0] == '[' && name.p[name.n - 1] == ']';
    if (brackets) {
        name = sr_bytes_of(name.p + 1, name.n - 2);
    }
    if (name.n >= sizeof host) {
        return false;
    }
    snprintf(host, sizeof host, "%.*s", (int)name.n, name.p);
    out->family = brackets ? AF_INET6 : AF_INET;
    out->port = (int)port;
    if (inet_pton(out->family, host, out->bytes) != 1) {
        out->family = AF_UNSPEC;
    }
    return out->family != AF_UNSPEC;
}

static bool is_same_place(const struct sr_extproc_place *a, const struct sr_extproc_place *b)
{
    return a->family == b->family && a->family != AF_UNSPEC && a->port == b->port &&
           memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

static struct sr_bytes print_address(struct sr_arena *arena, const char *host, int port)
{
    bool v6 = strchr(host, ':') != NULL;
    const char *text = sr_arena_printf(arena, v6 ? "[%s]:%d" : "%s:%d", host, port);
    return text ? sr_bytes_str(text) : (struct sr_bytes){NULL, 0};
}

static bool is_address(const char *host)
{
    unsigned char bytes[16];
    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

/* ---- what Envoy offers ---- */

bool sr_extproc_keep_subset(struct sr_extproc_core *core, const struct sr_extproc_message *message)
{
    core->has_subset = message->has_subset;
    if (message->n_subset == 0) {
        return true;
    }
    core->subset = sr_arena_calloc(&core->arena, message->n_subset, sizeof *core->subset);
    for (size_t i = 0; core->subset && i < message->n_subset; i++) {
        struct sr_extproc_offer *offer = &core->subset[i];
        offer->text = sr_arena_dup(&core->arena, sr_bytes_trim(message->subset[i]));
        if (!offer->text.p) {
            return false;
        }
        read_place(&offer->place, offer->text);
    }
    core->n_subset = message->n_subset;
    return core->subset != NULL;
}

/* The offer that `text` names, by name or number; NULL: none. */
static const struct sr_extproc_offer *find_offer(const struct sr_extproc_core *core, struct sr_bytes text)
{
    struct sr_extproc_place place;
    bool known = read_place(&place, text);
    for (size_t i = 0; i < core->n_subset; i++) {
        const struct sr_extproc_offer *offer = &core->subset[i];
        if (sr_bytes_eq_nocase(offer->text, text) || (known && is_same_place(&offer->place, &place))) {
            return offer;
        }
    }
    return NULL;
}

/* ---- the choice ---- */

bool sr_extproc_is_picker(const struct sr_extproc_core *core)
{
    return core->has_subset ||
           strcmp(core->options.config->global.extproc.destination_header, SR_EXTPROC_ENDPOINT_HEADER) == 0;
}

static uint64_t key_of(const struct sr_verdict *v, struct sr_bytes host, uint64_t port)
{
    return sr_hash64(host, sr_hash64(sr_bytes_str(v->model), port));
}

/* One candidate for each of the model's backends; for a model without any, one for each offer. */
static bool make_candidates(struct sr_extproc_core *core, const struct sr_verdict *v)
{
    struct sr_extproc_choice *choice = &core->choice;
    bool offers = v->n_targets == 0;
    choice->n = offers ? core->n_subset : v->n_targets;
    choice->candidates = sr_arena_calloc(&core->arena, choice->n + 1, sizeof *choice->candidates);
    choice->at = -1;
    for (size_t i = 0; choice->candidates && i < choice->n; i++) {
        struct sr_pick_candidate *c = &choice->candidates[i];
        c->weight = offers ? 1 : v->targets[i].weight;
        c->key = offers ? key_of(v, core->subset[i].text, 0)
                        : key_of(v, sr_bytes_str(v->targets[i].host), (uint64_t)v->targets[i].port);
        c->tried = offers && core->subset[i].place.family == AF_UNSPEC;
    }
    return choice->candidates != NULL;
}

static int next_candidate(struct sr_extproc_core *core)
{
    struct sr_extproc_choice *choice = &core->choice;
    if (core->options.pick) {
        return sr_pick_next(core->options.pick, choice->candidates, choice->n, sr_clock_ns());
    }
    for (size_t i = 0; i < choice->n; i++) {
        if (!choice->candidates[i].tried) {
            return (int)i;
        }
    }
    return -1;
}

/* An address as Envoy is to be told it; `n` is 0 when it may not be used. */
static struct sr_bytes allowed(struct sr_extproc_core *core, struct sr_bytes address)
{
    if (!core->has_subset || !address.p) {
        return address;
    }
    const struct sr_extproc_offer *offer = find_offer(core, address);
    return offer ? offer->text : (struct sr_bytes){"", 0};
}

/* The first usable one of a name's addresses. */
static struct sr_bytes allowed_of(struct sr_extproc_core *core, const struct sr_extproc_addresses *addresses,
                                  int port)
{
    struct sr_bytes found = {"", 0};
    for (size_t i = 0; i < addresses->count && found.n == 0 && found.p; i++) {
        found = allowed(core, print_address(&core->arena, addresses->text[i], port));
    }
    return found;
}

/* SR_OK: `address` is filled, `n` 0 when it may not be used. SR_AGAIN; SR_ENOENT: the name has no address;
 * SR_ENOMEM. */
static int find_address(struct sr_extproc_core *core, const struct sr_verdict *v, struct sr_bytes *address)
{
    struct sr_extproc_choice *choice = &core->choice;
    if (v->n_targets == 0) {
        *address = core->subset[choice->at].text;
        return SR_OK;
    }
    const struct sr_target *target = &v->targets[choice->at];
    struct sr_bytes plain = print_address(&core->arena, target->host, target->port);
    if (is_address(target->host) || (plain.p && core->has_subset && find_offer(core, plain))) {
        *address = allowed(core, plain);
        return address->p ? SR_OK : SR_ENOMEM;
    }
    struct sr_extproc_addresses addresses = {.count = 0};
    int rc = SR_ENOENT;
    if (choice->resolved) {
        choice->resolved = false;
        addresses = choice->addresses;
        rc = addresses.count > 0 ? SR_OK : SR_ENOENT;
    } else if (core->options.ops->resolve) {
        rc = core->options.ops->resolve(core->options.ctx, target->host, &addresses);
    }
    if (rc == SR_OK) {
        *address = allowed_of(core, &addresses, target->port);
        rc = address->p ? SR_OK : SR_ENOMEM;
    }
    return rc;
}

int sr_extproc_choose(struct sr_extproc_core *core, const struct sr_verdict *v)
{
    struct sr_extproc_choice *choice = &core->choice;
    choice->address = (struct sr_bytes){"", 0};
    if (!core->has_subset && core->options.config->global.extproc.destination_header[0] == '\0') {
        choice->target = v->n_targets > 0 ? &v->targets[0] : NULL;
        return SR_OK;
    }
    if (!choice->candidates && !make_candidates(core, v)) {
        return SR_ENOMEM;
    }
    for (;;) {
        choice->at = choice->at < 0 ? next_candidate(core) : choice->at;
        if (choice->at < 0) {
            return SR_ENOENT;
        }
        int rc = find_address(core, v, &choice->address);
        if (rc == SR_AGAIN || rc == SR_ENOMEM) {
            return rc;
        }
        struct sr_pick_candidate *candidate = &choice->candidates[choice->at];
        if (rc == SR_OK && choice->address.n > 0) {
            choice->target = v->n_targets > 0 ? &v->targets[choice->at] : NULL;
            choice->made = true;
            candidate->tried = true;
            return SR_OK;
        }
        if (rc == SR_ENOENT && core->options.pick) {
            sr_pick_failed(core->options.pick, candidate->key, sr_clock_ns());
        }
        candidate->tried = true;
        choice->at = -1;
    }
}

/* ---- those that are next ---- */

/* The head that goes to one fits the other as well. */
static bool is_alike(const struct sr_target *a, const struct sr_target *b)
{
    if (strcmp(a->base_path, b->base_path) != 0 || a->n_headers != b->n_headers) {
        return false;
    }
    for (size_t i = 0; i < a->n_headers; i++) {
        if (!sr_bytes_eq(a->headers[i].name, b->headers[i].name) ||
            !sr_bytes_eq(a->headers[i].value, b->headers[i].value)) {
            return false;
        }
    }
    return true;
}

/* The address of another candidate without waiting for a name; `n` 0: none. */
static struct sr_bytes spare_address(struct sr_extproc_core *core, const struct sr_verdict *v, size_t at)
{
    if (core->choice.candidates[at].tried) {
        return (struct sr_bytes){"", 0};
    }
    if (v->n_targets == 0) {
        return core->subset[at].text;
    }
    const struct sr_target *target = &v->targets[at];
    struct sr_bytes plain = print_address(&core->arena, target->host, target->port);
    if (!is_alike(target, core->choice.target) || !plain.p ||
        (!is_address(target->host) && !(core->has_subset && find_offer(core, plain)))) {
        return (struct sr_bytes){"", 0};
    }
    return allowed(core, plain);
}

struct sr_bytes sr_extproc_endpoints(struct sr_extproc_core *core, const struct sr_verdict *v)
{
    struct sr_bytes all = core->choice.address;
    size_t room = core->options.config->global.extproc.fallback_endpoints;
    for (size_t i = 0; i < core->choice.n && room > 0; i++) {
        struct sr_bytes spare = spare_address(core, v, i);
        if (spare.n == 0) {
            continue;
        }
        const char *joined =
            sr_arena_printf(&core->arena, "%.*s,%.*s", (int)all.n, all.p, (int)spare.n, spare.p);
        if (!joined) {
            break;
        }
        all = sr_bytes_str(joined);
        room--;
    }
    return all;
}

/* ---- what came of it ---- */

/* The backend that Envoy says it used, among the candidates; -1: another, or it does not say. */
static int find_served(struct sr_extproc_core *core, const struct sr_verdict *v, struct sr_bytes served)
{
    struct sr_extproc_place place, other;
    if (!read_place(&place, served)) {
        return -1;
    }
    for (size_t i = 0; i < core->choice.n; i++) {
        struct sr_bytes text = v->n_targets == 0
                                   ? core->subset[i].text
                                   : print_address(&core->arena, v->targets[i].host, v->targets[i].port);
        if (text.p && read_place(&other, text) && is_same_place(&place, &other)) {
            return (int)i;
        }
    }
    return -1;
}

/* Envoy names the time that the upstream took when there was one that answered. */
static bool upstream_answered(const struct sr_extproc_message *message, int status)
{
    for (size_t i = 0; i < message->n_headers; i++) {
        if (sr_bytes_eq(message->headers[i].name, SR_LIT("x-envoy-upstream-service-time"))) {
            return true;
        }
    }
    return status < 502 || status > 504;
}

void sr_extproc_learn(struct sr_extproc_core *core, const struct sr_extproc_message *message, int status)
{
    struct sr_extproc_choice *choice = &core->choice;
    struct sr_pick *pick = core->options.pick;
    const struct sr_verdict *v = sr_exchange_verdict(core->exchange);
    if (!choice->made || !pick) {
        return;
    }
    int served = find_served(core, v, message->served);
    if (served >= 0 && served != choice->at) {
        sr_pick_failed(pick, choice->candidates[choice->at].key, sr_clock_ns());
        choice->at = served;
        if (v->n_targets > 0) {
            sr_exchange_target(core->exchange, (size_t)served);
        }
    }
    if (upstream_answered(message, status)) {
        sr_pick_worked(pick, choice->candidates[choice->at].key);
    } else {
        sr_pick_failed(pick, choice->candidates[choice->at].key, sr_clock_ns());
    }
}
