/*
 * Chooses the backend of a request when Envoy leaves the choice to semroute: the pool chooses among the
 * model's backends that Envoy offers, and the reply names the choice exactly as Envoy wrote it.
 *
 * A backend with a host name is resolved when it is chosen, unless Envoy offers it under that name. The
 * result of the choice is read from the answer's head and reported to the pool.
 */
#include "pool/ticket.h"
#include "serve/extproc/private.h"

#include <stdio.h>
#include <sys/socket.h>

/* ---- what Envoy offers ---- */

bool sr_extproc_keep_subset(struct sr_extproc_core *core, const struct sr_extproc_message *message)
{
    core->has_subset = message->has_subset;
    if (message->n_subset == 0)
        return true;
    core->subset = sr_arena_calloc(&core->arena, message->n_subset, sizeof *core->subset);
    for (size_t i = 0; core->subset && i < message->n_subset; i++) {
        struct sr_extproc_offer *offer = &core->subset[i];
        offer->text = sr_arena_dup(&core->arena, sr_bytes_trim(message->subset[i]));
        if (!offer->text.p)
            return false;
        sr_extproc_address_parse(&offer->address, offer->text);
    }
    core->n_subset = message->n_subset;
    return core->subset != NULL;
}

/* The offer that `text` names, by host name or address; NULL: none. */
static const struct sr_extproc_offer *find_offer(const struct sr_extproc_core *core, struct sr_bytes text)
{
    struct sr_extproc_address address;
    bool known = sr_extproc_address_parse(&address, text);
    for (size_t i = 0; i < core->n_subset; i++) {
        const struct sr_extproc_offer *offer = &core->subset[i];
        if (sr_bytes_eq_nocase(offer->text, text) ||
            (known && sr_extproc_address_eq(&offer->address, &address)))
            return offer;
    }
    return NULL;
}

bool sr_extproc_is_picker(const struct sr_extproc_core *core)
{
    return core->has_subset ||
           strcmp(core->options.config->global.extproc.destination_header, SR_EXTPROC_ENDPOINT_HEADER) == 0;
}

/* ---- the candidates as Envoy knows them ---- */

/* An address as it is sent to Envoy; `n` is 0 when it may not be used. */
static struct sr_bytes allowed(const struct sr_extproc_core *core, struct sr_bytes address)
{
    if (!core->has_subset || !address.p)
        return address;
    const struct sr_extproc_offer *offer = find_offer(core, address);
    return offer ? offer->text : (struct sr_bytes){"", 0};
}

static int describe(struct sr_extproc_core *core, const struct sr_target *target,
                    struct sr_extproc_endpoint *out)
{
    struct sr_bytes plain = sr_extproc_address_print(&core->arena, target->host, target->port);
    if (!plain.p)
        return SR_ENOMEM;
    sr_extproc_address_parse(&out->address, plain);
    out->is_name =
        !sr_extproc_host_is_address(target->host) && !(core->has_subset && find_offer(core, plain));
    out->text = out->is_name ? (struct sr_bytes){"", 0} : allowed(core, plain);
    return SR_OK;
}

/* Makes candidates of Envoy's valid offers, for a model without backends. */
static int list_offers(struct sr_extproc_core *core, const struct sr_verdict *v,
                       struct sr_extproc_endpoint *endpoints)
{
    struct sr_extproc_choice *choice = &core->choice;
    struct sr_bytes *addresses = sr_arena_calloc(&core->arena, core->n_subset + 1, sizeof *addresses);
    if (!addresses)
        return SR_ENOMEM;
    for (size_t i = 0; i < core->n_subset; i++) {
        const struct sr_extproc_offer *offer = &core->subset[i];
        if (offer->address.family != AF_UNSPEC) {
            addresses[choice->n] = offer->text;
            endpoints[choice->n++] =
                (struct sr_extproc_endpoint){.text = offer->text, .address = offer->address};
        }
    }
    return sr_ticket_offer(v->ticket, addresses, choice->n);
}

static int list_endpoints(struct sr_extproc_core *core, const struct sr_verdict *v)
{
    struct sr_extproc_choice *choice = &core->choice;
    size_t room = v->n_targets > 0 ? v->n_targets : core->n_subset;
    struct sr_extproc_endpoint *endpoints = sr_arena_calloc(&core->arena, room + 1, sizeof *endpoints);
    int rc = endpoints ? SR_OK : SR_ENOMEM;
    choice->at = -1;
    choice->n = v->n_targets;
    for (size_t i = 0; i < v->n_targets && rc == SR_OK; i++)
        rc = describe(core, &v->targets[i], &endpoints[i]);
    if (rc == SR_OK && v->n_targets == 0)
        rc = list_offers(core, v, endpoints);
    choice->endpoints = rc == SR_OK ? endpoints : NULL;
    return rc;
}

/* ---- the choice ---- */

/* Restricts the pool's choice to usable candidates. A host name is checked after it is resolved. */
static bool may_be_used(void *ctx, size_t candidate)
{
    const struct sr_extproc_core *core = ctx;
    const struct sr_extproc_endpoint *endpoint = &core->choice.endpoints[candidate];
    return endpoint->is_name || endpoint->text.n > 0;
}

/* The first usable one of a name's addresses; `p` NULL: out of memory. */
static struct sr_bytes allowed_of(struct sr_extproc_core *core, const struct sr_extproc_addresses *addresses,
                                  int port)
{
    struct sr_bytes found = {"", 0};
    for (size_t i = 0; i < addresses->count && found.n == 0 && found.p; i++)
        found = allowed(core, sr_extproc_address_print(&core->arena, addresses->text[i], port));
    return found;
}

/* SR_OK: `address` is filled, `n` 0 when it may not be used. SR_AGAIN; SR_ENOENT: the name has no address;
 * SR_ENOMEM. */
static int find_address(struct sr_extproc_core *core, const struct sr_verdict *v, struct sr_bytes *address)
{
    struct sr_extproc_choice *choice = &core->choice;
    const struct sr_extproc_endpoint *endpoint = &choice->endpoints[choice->at];
    if (!endpoint->is_name) {
        *address = endpoint->text;
        return SR_OK;
    }
    const struct sr_target *target = &v->targets[choice->at];
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
        sr_ticket_assume(v->ticket, 0);
        return SR_OK;
    }
    int listed = choice->endpoints ? SR_OK : list_endpoints(core, v);
    if (listed != SR_OK)
        return listed;
    for (;;) {
        choice->at = choice->at < 0 ? sr_ticket_choose_among(v->ticket, may_be_used, core) : choice->at;
        if (choice->at < 0)
            return SR_ENOENT;
        int rc = find_address(core, v, &choice->address);
        if (rc == SR_AGAIN || rc == SR_ENOMEM)
            return rc;
        if (rc == SR_OK && choice->address.n > 0) {
            choice->target = v->n_targets > 0 ? &v->targets[choice->at] : NULL;
            choice->made = true;
            sr_ticket_begin(v->ticket, (size_t)choice->at);
            return SR_OK;
        }
        if (rc != SR_OK)
            sr_ticket_report(v->ticket, (size_t)choice->at, SR_TICKET_UNREACHABLE, 0);
        choice->at = -1;
    }
}

/* ---- fallbacks ---- */

/* True when both targets get the same request. */
static bool is_alike(const struct sr_target *a, const struct sr_target *b)
{
    if (strcmp(a->base_path, b->base_path) != 0 || a->n_headers != b->n_headers ||
        a->unversioned != b->unversioned || strcmp(a->query ? a->query : "", b->query ? b->query : "") != 0 ||
        strcmp(a->api ? a->api : "", b->api ? b->api : "") != 0)
        return false;
    for (size_t i = 0; i < a->n_headers; i++)
        if (!sr_bytes_eq(a->headers[i].name, b->headers[i].name) ||
            !sr_bytes_eq(a->headers[i].value, b->headers[i].value))
            return false;
    return true;
}

/* The address of another candidate without waiting for a name; `n` 0: none. */
static struct sr_bytes spare_address(const struct sr_extproc_core *core, const struct sr_verdict *v,
                                     size_t at)
{
    bool usable = !sr_ticket_is_tried(v->ticket, at) &&
                  (v->n_targets == 0 || is_alike(&v->targets[at], core->choice.target));
    return usable ? core->choice.endpoints[at].text : (struct sr_bytes){"", 0};
}

struct sr_bytes sr_extproc_endpoints(struct sr_extproc_core *core, const struct sr_verdict *v)
{
    struct sr_bytes all = core->choice.address;
    size_t room = core->options.config->global.extproc.fallback_endpoints;
    for (size_t i = 0; i < core->choice.n && room > 0; i++) {
        struct sr_bytes spare = spare_address(core, v, i);
        if (spare.n == 0)
            continue;
        const char *joined =
            sr_arena_printf(&core->arena, "%.*s,%.*s", (int)all.n, all.p, (int)spare.n, spare.p);
        if (!joined)
            break;
        all = sr_bytes_str(joined);
        room--;
    }
    return all;
}

/* ---- the result ---- */

/* The candidate that Envoy reports as used; -1: another one, or none reported. */
static int find_served(const struct sr_extproc_core *core, struct sr_bytes served)
{
    struct sr_extproc_address address;
    if (!sr_extproc_address_parse(&address, served))
        return -1;
    for (size_t i = 0; i < core->choice.n; i++)
        if (sr_extproc_address_eq(&address, &core->choice.endpoints[i].address))
            return (int)i;
    return -1;
}

/* True when an upstream answered: Envoy added its service time, or the status is not one of Envoy's own
 * (502 to 504). */
static bool upstream_answered(const struct sr_extproc_message *message, int status)
{
    for (size_t i = 0; i < message->n_headers; i++)
        if (sr_bytes_eq(message->headers[i].name, SR_LIT("x-envoy-upstream-service-time")))
            return true;
    return status < 502 || status > 504;
}

void sr_extproc_learn(struct sr_extproc_core *core, const struct sr_extproc_message *message, int status)
{
    struct sr_extproc_choice *choice = &core->choice;
    sr_ticket *ticket = sr_exchange_verdict(core->exchange)->ticket;
    if (!choice->made)
        return;
    int served = find_served(core, message->served);
    if (served >= 0 && served != choice->at) {
        sr_ticket_report(ticket, (size_t)choice->at, SR_TICKET_UNREACHABLE, 0);
        choice->at = served;
        sr_ticket_begin(ticket, (size_t)served);
    }
    bool answered = upstream_answered(message, status);
    sr_ticket_report(ticket, (size_t)choice->at, answered ? SR_TICKET_ANSWERED : SR_TICKET_UNREACHABLE,
                     answered ? status : 0);
}
