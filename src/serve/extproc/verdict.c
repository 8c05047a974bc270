/*
 * From a verdict to the replies to Envoy: the header mutation, the address of the backend, the edited body in
 * the shape of the mode, or an immediate response.
 */
#include "base/clock.h"
#include "base/log.h"
#include "router/exchange/next.h"
#include "router/exchange/pool.h"
#include "router/exchange/send.h"
#include "router/exchange/trace.h"
#include "router/exchange/translate.h"
#include "serve/extproc/private.h"
#include "serve/forward.h"

#include <inttypes.h>
#include <stdatomic.h>

/* Headers beside the verdict's and the backend's: the endpoint's two, :path, content-length. */
#define MUTATION_EXTRA 4

#define LATE_LOG_EVERY_NS (1000 * SR_NS_PER_MS)

/* The changes of a verdict to the request's head. */
struct mutation {
    struct sr_forward headers;
    struct sr_bytes endpoint;
};

/* ---- the head ---- */

static void add_backend(struct sr_extproc_core *core, const struct sr_verdict *v, struct mutation *m)
{
    const char *header = core->options.config->global.extproc.destination_header;
    if (core->choice.address.n == 0)
        return;
    if (sr_extproc_is_picker(core)) {
        m->endpoint = sr_extproc_endpoints(core, v);
        sr_forward_set(&m->headers, SR_LIT(SR_EXTPROC_ENDPOINT_HEADER), m->endpoint);
    }
    if (header[0] != '\0' && strcmp(header, SR_EXTPROC_ENDPOINT_HEADER) != 0)
        sr_forward_set(&m->headers, sr_bytes_str(header), core->choice.address);
}

/* Fills the mutation. SR_ENOMEM. */
static int prepare(struct sr_extproc_core *core, const struct sr_verdict *v, struct mutation *m)
{
    struct sr_bytes path = sr_forward_path(v, core->choice.target, &core->arena);
    int rc =
        sr_forward_init(&m->headers, v, core->choice.target, SR_FORWARD_PROXY, MUTATION_EXTRA, &core->arena);
    if (rc != SR_OK || !path.p)
        return SR_ENOMEM;
    add_backend(core, v, m);
    sr_forward_trace(&m->headers, sr_exchange_try(core->exchange, core->choice.target));
    if (!sr_bytes_eq(path, core->sent_path))
        sr_forward_set(&m->headers, SR_LIT(":path"), path);
    if (v->edited && core->request_mode == SR_EXTPROC_MODE_BUFFERED && core->has_length) {
        const char *length = sr_arena_printf(&core->arena, "%zu", v->body_size);
        sr_forward_set(&m->headers, SR_LIT("content-length"), sr_bytes_str(length));
        if (!length)
            return SR_ENOMEM;
    }
    return SR_OK;
}

static void put_mutation(struct sr_extproc_core *core, struct sr_extproc_reply *reply,
                         const struct mutation *m)
{
    reply->set = m->headers.set;
    reply->n_set = m->headers.n_set;
    reply->remove = m->headers.remove;
    reply->n_remove = m->headers.n_remove;
    reply->endpoint = m->endpoint;
    reply->clear_route_cache = core->options.config->global.extproc.clear_route_cache;
}

static void send_head(struct sr_extproc_core *core, const struct mutation *m)
{
    struct sr_extproc_reply reply = {.phase = SR_EXTPROC_REQUEST_HEADERS};
    put_mutation(core, &reply, m);
    core->head_pending = false;
    sr_extproc_send(core, &reply);
}

static bool is_a_route(const struct sr_extproc_core *core, struct sr_bytes name)
{
    return sr_bytes_eq(name, SR_LIT("x-selected-model")) || sr_bytes_eq(name, SR_LIT("x-selected-pool")) ||
           sr_bytes_eq(name, SR_LIT(SR_EXTPROC_ENDPOINT_HEADER)) ||
           sr_bytes_eq(name, sr_bytes_str(core->options.config->global.extproc.destination_header));
}

/* The names of headers that do not go on with a head that goes before its verdict; NULL: out of memory. */
static struct sr_bytes *removed_early(struct sr_extproc_core *core, size_t *n)
{
    struct sr_bytes *names = sr_arena_calloc(&core->arena, core->n_strip + 1, sizeof *names);
    *n = 0;
    for (; names && *n < core->n_strip; ++*n)
        names[*n] = core->strip[*n];
    if (names && core->exchange && core->has_coding) /* the body goes without it */
        names[(*n)++] = SR_LIT("content-encoding");
    return names;
}

void sr_extproc_release_head(struct sr_extproc_core *core)
{
    struct sr_header set[2];
    struct sr_extproc_reply reply = {.phase = SR_EXTPROC_REQUEST_HEADERS, .set = set};
    reply.remove = removed_early(core, &reply.n_remove);
    if (!reply.remove) {
        sr_extproc_fail(core, "out of memory");
        return;
    }
    for (size_t i = 0; i < core->n_strip; i++) {
        reply.clear_route_cache |=
            is_a_route(core, core->strip[i]) && core->options.config->global.extproc.clear_route_cache;
    }
    if (core->exchange && core->request_mode == SR_EXTPROC_MODE_STREAMED)
        set[reply.n_set++] = (struct sr_header){SR_LIT("accept-encoding"), SR_LIT("identity")};
    if (!core->path.flaw && !sr_bytes_eq(core->path.target, core->sent_path)) {
        core->sent_path = core->path.target;
        set[reply.n_set++] = (struct sr_header){SR_LIT(":path"), core->path.target};
        reply.clear_route_cache |= core->options.config->global.extproc.clear_route_cache;
    }
    core->head_pending = false;
    sr_extproc_send(core, &reply);
}

/* ---- the body ---- */

/* Envoy still applies headers of a body's reply when it holds the head: in BUFFERED, and in STREAMED when the
 * whole body came in one message. */
static bool comes_too_late(const struct sr_extproc_core *core)
{
    return core->request_mode == SR_EXTPROC_MODE_STREAMED && !(core->chunks == 1 && core->ended);
}

/* Counts a verdict that is too late for the headers; logs at most once a second. */
static void note_late(struct sr_extproc_core *core, const struct sr_verdict *v)
{
    static _Atomic uint64_t next_ns;
    uint64_t now = sr_clock_ns(), next = atomic_load(&next_ns);
    sr_extproc_count_unrouted(core, "late");
    if (now >= next && atomic_compare_exchange_strong(&next_ns, &next, now + LATE_LOG_EVERY_NS)) {
        sr_log(
            SR_LOG_WARN, "extproc_late",
            "the verdict (model %s) came after %zu chunks, %" PRIu64 " bytes of the body: Envoy had sent the "
            "headers, so only the model in the body could change; use FULL_DUPLEX_STREAMED or BUFFERED, or "
            "raise hold_ms and hold_bytes",
            v->model, core->chunks, core->bytes);
    }
}

static void reply_buffered(struct sr_extproc_core *core, const struct sr_verdict *v, const struct mutation *m)
{
    struct sr_extproc_reply reply = {.phase = SR_EXTPROC_REQUEST_BODY};
    if (core->replies_pending == 0)
        return;
    core->replies_pending = 0;
    put_mutation(core, &reply, m);
    if (v->edited) {
        reply.change = SR_EXTPROC_REPLACE;
        reply.body = v->body;
        reply.n_body = v->n_body;
    }
    sr_extproc_send(core, &reply);
}

/* Sends one reply for each chunk that waits: the last one has the whole body, unless Envoy has all of it. */
static void reply_streamed(struct sr_extproc_core *core, const struct sr_verdict *v, const struct mutation *m)
{
    bool whole = !core->dropped && !v->edited;
    for (; core->replies_pending > 0; core->replies_pending--) {
        struct sr_extproc_reply reply = {.phase = SR_EXTPROC_REQUEST_BODY};
        if (!whole)
            reply.change = SR_EXTPROC_REPLACE;
        if (core->replies_pending == 1) {
            if (m)
                put_mutation(core, &reply, m);
            if (!whole) {
                reply.body = v->body;
                reply.n_body = v->n_body;
            }
        }
        sr_extproc_send(core, &reply);
    }
}

static void reply_to_body(struct sr_extproc_core *core, const struct sr_verdict *v, const struct mutation *m,
                          bool head_was_held)
{
    switch (core->request_mode) {
    case SR_EXTPROC_MODE_BUFFERED:
        reply_buffered(core, v, m);
        break;
    case SR_EXTPROC_MODE_FULL_DUPLEX:
        if (core->chunks > 0) {
            sr_extproc_pieces(core, SR_EXTPROC_REQUEST_BODY, v->body, v->n_body,
                              core->ended && !core->trailers_seen);
        }
        break;
    default:
        if (!head_was_held && comes_too_late(core))
            note_late(core, v);
        reply_streamed(core, v, head_was_held ? NULL : m);
    }
}

/* True for an answer that is sent in pieces: it is a stream or long, Envoy accepts pieces, and no reply to
 * the headers was sent. */
static bool goes_in_pieces(const struct sr_extproc_core *core, const struct sr_verdict *v)
{
    return core->options.config->global.extproc.streamed_replies && core->head_pending &&
           core->request_mode == SR_EXTPROC_MODE_FULL_DUPLEX &&
           (v->reply.n > SR_EXTPROC_PIECE_MAX || sr_extproc_is_sse(v->headers, v->n_headers));
}

static void answer_in_pieces(struct sr_extproc_core *core, const struct sr_verdict *v)
{
    struct sr_extproc_reply head = {.action = SR_EXTPROC_ANSWER,
                                    .phase = SR_EXTPROC_REQUEST_HEADERS,
                                    .status = v->status,
                                    .set = v->headers,
                                    .n_set = v->n_headers};
    sr_extproc_send(core, &head);
    for (size_t at = 0; at < v->reply.n;) {
        size_t rest = v->reply.n - at;
        struct sr_bytes piece = {v->reply.p + at, rest < SR_EXTPROC_PIECE_MAX ? rest : SR_EXTPROC_PIECE_MAX};
        at += piece.n;
        struct sr_extproc_reply reply = {.action = SR_EXTPROC_ANSWER_PIECE,
                                         .phase = SR_EXTPROC_REQUEST_HEADERS,
                                         .body = &piece,
                                         .n_body = 1,
                                         .end_of_stream = at == v->reply.n};
        sr_extproc_send(core, &reply);
    }
}

void sr_extproc_answer_here(struct sr_extproc_core *core, const struct sr_verdict *v,
                            enum sr_extproc_phase phase)
{
    core->state = SR_EXTPROC_CLOSED;
    struct sr_extproc_reply reply = {.action = SR_EXTPROC_IMMEDIATE,
                                     .phase = phase,
                                     .status = v->status,
                                     .set = v->headers,
                                     .n_set = v->n_headers,
                                     .body = &v->reply,
                                     .n_body = 1};
    sr_extproc_send(core, &reply);
}

static void answer_request(struct sr_extproc_core *core, const struct sr_verdict *v)
{
    if (v->reply.n > 0 && goes_in_pieces(core, v)) {
        core->state = SR_EXTPROC_CLOSED;
        answer_in_pieces(core, v);
    } else {
        sr_extproc_answer_here(core, v,
                               core->head_pending ? SR_EXTPROC_REQUEST_HEADERS : SR_EXTPROC_REQUEST_BODY);
    }
}

static const char *why_not_sent(const struct sr_extproc_core *core, int rc)
{
    switch (rc) {
    case SR_ENOENT:
        return sr_exchange_is_full(core->exchange) ? "all workers of the model are busy"
                                                   : "no backend of the model can be reached";
    case SR_ELIMIT:
        return "requests in progress have been offered too many different endpoints";
    default:
        return "out of memory";
    }
}

/* Chooses a backend of the verdict's model, of its next pool, or of the decision's next model when none can
 * be used; `v` is then the verdict for that one. As sr_extproc_choose. */
static int choose(struct sr_extproc_core *core, const struct sr_verdict **v)
{
    int rc;
    while ((rc = sr_extproc_choose(core, *v)) == SR_ENOENT) {
        const struct sr_verdict *next =
            sr_exchange_next_pool(core->exchange) ? *v : sr_exchange_next_model(core->exchange);
        if (!next)
            break;
        *v = next;
        core->choice = (struct sr_extproc_choice){0};
    }
    if (rc == SR_OK)
        sr_exchange_take_model(core->exchange);
    return rc;
}

/* Chooses a backend, and makes the verdict what it gets; a backend into whose API the request cannot be
 * translated gives way to another one. As choose; `*refused`: the verdict is a refusal now. */
static int place(struct sr_extproc_core *core, const struct sr_verdict **v, bool *refused)
{
    const struct sr_extproc_choice *choice = &core->choice;
    struct sr_err err = {0};
    int rc, unsaid = SR_OK;
    *refused = false;
    while ((rc = choose(core, v)) == SR_OK) {
        bool known = choice->made && choice->target;
        unsaid = sr_exchange_aim(core->exchange, known ? (int)(choice->target - (*v)->targets) : -1, &err);
        if (unsaid == SR_OK)
            return SR_OK;
        sr_ticket_end((*v)->ticket);
        if (unsaid != SR_EUNSUPPORTED || !known)
            break;
        core->choice = (struct sr_extproc_choice){0};
    }
    *refused = unsaid && (rc == SR_OK || rc == SR_ENOENT);
    if (*refused)
        sr_exchange_refuse_translation(core->exchange, unsaid, &err);
    return rc;
}

void sr_extproc_deliver(struct sr_extproc_core *core)
{
    const struct sr_verdict *v = sr_exchange_verdict(core->exchange);
    if (v->action == SR_ACTION_REPLY) {
        answer_request(core, v);
        return;
    }
    struct mutation m = {0};
    bool refused;
    int rc = place(core, &v, &refused);
    if (refused) {
        answer_request(core, v);
        return;
    }
    if (rc == SR_AGAIN) {
        core->state = SR_EXTPROC_RESOLVING;
        sr_extproc_extend(core, SR_EXTPROC_REQUEST_BODY, SR_EXTPROC_RESOLVE_MS);
        return;
    }
    if (rc == SR_OK)
        rc = prepare(core, v, &m);
    if (rc != SR_OK) {
        bool busy = rc == SR_ENOENT && sr_exchange_is_full(core->exchange) && sr_extproc_is_picker(core);
        const char *why = why_not_sent(core, rc);
        (void)sr_exchange_go_back(core->exchange);
        v = sr_exchange_fail(core->exchange, busy ? 429 : 503, NULL, why);
        answer_request(core, v);
        return;
    }
    bool head_was_held = core->head_pending;
    if (head_was_held)
        send_head(core, &m);
    reply_to_body(core, v, &m, head_was_held);
    core->state = v->streaming ? SR_EXTPROC_PASSING : SR_EXTPROC_DELIVERED;
    if (core->trailers_pending) {
        core->trailers_pending = false;
        sr_extproc_continue(core, SR_EXTPROC_REQUEST_TRAILERS);
    }
}

void sr_extproc_refuse(struct sr_extproc_core *core, int status, const char *message)
{
    sr_exchange_fail(core->exchange, status, NULL, message);
    sr_extproc_deliver(core);
}
