/* The ask is made once for each model; tokens and vector are added when they are there. */
#include "router/exchange/pick.h"
#include "router/exchange/mail.h"

#include "base/clock.h"
#include "base/hash.h"
#include "dialect/registry.h"
#include "pool/warm/warm.h"
#include "router/exchange/tiers.h"
#include "router/exchange/trace.h"
#include "router/pick/ask.h"

/* Of a prompt, the share that must be known so that its tokens are not waited for. */
#define KNOWN_OF 4
#define KNOWN    3

struct sr_bytes sr_exchange_session(const struct sr_exchange *x, const struct sr_config_pool *entry)
{
    struct sr_bytes value = {NULL, 0};
    if (entry && entry->picking.session_header[0])
        value = sr_head_named(&x->head, entry->picking.session_header);
    return value.p ? value : SR_LIT("");
}

/* The salt of the request's cache blocks; empty: none. */
static struct sr_bytes salt_of(const struct sr_exchange *x, struct sr_arena *arena)
{
    const struct sr_request *doc = &x->body.doc;
    for (size_t i = 0; i < doc->n_spans; i++) {
        const struct sr_span *span = &doc->spans[i];
        if (span->kind == SR_JSON_STRING && sr_request_is_top(span) &&
            sr_bytes_eq(sr_request_key(doc, span, arena), SR_LIT("cache_salt")))
            return sr_span_text(span, doc->body, arena);
    }
    return SR_LIT("");
}

/* What needs no time. NULL: out of memory. */
static struct sr_pool_ask *make(struct sr_exchange *x, const struct sr_router_pool *pool)
{
    const struct sr_record *r = &x->record;
    const struct sr_config_decision *decision = sr_record_decision(r, x->router->config);
    struct sr_bytes prompt = sr_bytes_str(r->injected_prompt && decision ? decision->name : "");
    const char *adapter = r->choice.lora_name ? r->choice.lora_name : "";
    x->kv_root = sr_pool_kv_root(sr_bytes_str(adapter), salt_of(x, &x->arena));
    struct sr_ask_inputs in = {
        .needs = sr_pool_group_needs(pool->group),
        .doc = &x->body.doc,
        .session = sr_exchange_session(x, pool->entry),
        .user = x->identity.user.n ? x->identity.user : x->identity.tenant,
        .block_tokens = sr_pool_group_settings(pool->group)->block_tokens,
        .seed = sr_hash64(prompt, x->kv_root),
    };
    struct sr_pool_ask *ask = sr_arena_calloc(&x->arena, 1, sizeof *ask);
    return ask && sr_ask_make(&in, &x->arena, ask) == SR_OK ? ask : NULL;
}

static int ask_of(struct sr_exchange *x, const struct sr_router_pool *pool, struct sr_pool_ask **out)
{
    *out = NULL;
    if (!sr_pool_group_needs(pool->group))
        return SR_OK;
    if (!x->ask || x->ask_pool != pool)
        x->ask = make(x, pool);
    x->ask_pool = pool;
    *out = x->ask;
    return x->ask ? SR_OK : SR_ENOMEM;
}

/* ---- tokens ---- */

/* Tokens are of use: workers tell of their caches, and can be asked for the tokens of such a request. */
static bool wants_tokens(const struct sr_exchange *x, const struct sr_router_pool *pool)
{
    const struct sr_dialect_ops *dialect = x->body.doc.dialect;
    bool readable = x->translation ? x->translation->upstream == SR_TRANSLATE_CHAT && !dialect->counts
                                   : dialect == &sr_dialect_chat || dialect == &sr_dialect_completions;
    return readable && sr_pool_group_needs(pool->group) & (SR_POOL_NEEDS_KV | SR_POOL_USES_KV) &&
           pool->entry && (pool->prompts || pool->entry->kv_events.tokenize[0]) &&
           sr_pool_group_kv_block(pool->group);
}

static struct sr_token_question question_of(const struct sr_exchange *x, const struct sr_router_pool *pool,
                                            const struct sr_pool_ask *ask)
{
    return (struct sr_token_question){
        .path = pool->entry->kv_events.tokenize,
        .prompts = pool->prompts,
        .model = sr_hash64(sr_bytes_str(x->router->config->models[x->record.model].name), 0),
        .blocks = ask->blocks,
        .n_blocks = ask->n_blocks,
        .block_size = sr_pool_group_kv_block(pool->group),
        .root = x->kv_root,
    };
}

/* What is known of the tokens; returns how many blocks of bytes that is. */
static size_t add_known(struct sr_exchange *x, const struct sr_router_pool *pool, struct sr_pool_ask *ask)
{
    struct sr_token_question question = question_of(x, pool, ask);
    uint64_t *kv;
    size_t n_kv, known = sr_tokens_known(sr_runtime_tokens(x->runtime), &question, &x->arena, &kv, &n_kv);
    ask->kv_blocks = kv;
    ask->n_kv_blocks = n_kv;
    ask->kv_total = known ? n_kv * ask->n_blocks / known : 0;
    return known;
}

/* A worker that can be asked. False: there is none. */
static bool find_worker(struct sr_exchange *x, const struct sr_router_pool *pool, struct sr_target *out)
{
    const struct sr_router_model *model = &x->router->models[x->record.model];
    static const struct sr_target plain = {.struct_size = sizeof plain,
                                           .scheme = "http",
                                           .base_path = "",
                                           .tls_ca_file = "",
                                           .tls_verify = true};
    struct sr_ticket ticket;
    if (sr_ticket_open(&ticket, pool->group, &x->arena))
        return false;
    int at = sr_ticket_any(&ticket, (size_t)(x->record.times.started >> 10));
    bool good = at >= 0;
    if (good && !pool->discovered)
        *out = pool->targets[at];
    else if (good)
        good = sr_exchange_worker_target(out, model->n_targets ? &model->targets[0] : &plain,
                                         sr_ticket_worker(&ticket, (size_t)at), &x->arena) == SR_OK;
    sr_ticket_dispose(&ticket);
    return good;
}

/* Asks for the tokens of a prompt that is not known as a whole. */
static void begin_tokens(struct sr_exchange *x, const struct sr_router_pool *pool,
                         const struct sr_bytes *slices, size_t n)
{
    struct sr_pool_ask *ask;
    struct sr_target target;
    if (ask_of(x, pool, &ask) || !ask->n_blocks)
        return;
    size_t known = add_known(x, pool, ask);
    bool waits =
        sr_pool_group_needs(pool->group) & SR_POOL_NEEDS_KV && known * KNOWN_OF < ask->n_blocks * KNOWN;
    if (known == ask->n_blocks || !find_worker(x, pool, &target))
        return;
    struct sr_token_question question = question_of(x, pool, ask);
    question.target = &target;
    question.slices = slices;
    question.n_slices = n;
    sr_pick_tokens_begin(&x->pick, sr_runtime_tokens(x->runtime), &question, sr_runtime_workers(x->runtime),
                         waits ? pool->entry->kv_events.wait_ms * SR_NS_PER_MS : 0, x->mailbox);
}

bool sr_exchange_awaits_pick(struct sr_exchange *x, const struct sr_bytes *slices, size_t n)
{
    const struct sr_router_pool *pool = sr_exchange_pool(x);
    struct sr_embedding_reader *reader = x->router->pick_reader;
    bool vector = reader && sr_pool_group_needs(pool->group) & SR_POOL_NEEDS_VECTOR;
    bool tokens = wants_tokens(x, pool);
    if ((!vector && !tokens) || !x->env.post || x->record.has_verdict || x->pick.asked ||
        !sr_exchange_mailbox(x))
        return false;
    const struct sr_span_ref origin = sr_exchange_origin(x);
    if (vector)
        sr_pick_vector_begin(&x->pick, reader, &x->body.doc, sr_identity_client(&x->identity, x->head.peer),
                             &origin, pool->entry->picking.meaning_wait_ms * SR_NS_PER_MS, x->mailbox,
                             &x->arena);
    if (tokens)
        begin_tokens(x, pool, slices, n);
    x->pick.asked = true;
    return x->pick.waits;
}

/* ---- all of it ---- */

/* The vector that was waited for, or that the cache has asked for anyway. */
static const float *vector_of(const struct sr_exchange *x, uint32_t needs)
{
    if (needs & SR_POOL_NEEDS_VECTOR)
        return sr_pick_vector(&x->pick);
    bool there = needs & SR_POOL_USES_VECTOR && x->recall.vector && sr_recall_vector_ended(x->recall.vector);
    return there ? sr_recall_vector_unit(x->recall.vector) : NULL;
}

/* The tokens that were waited for are those of the pool at which the request began. */
static void add_tokens(struct sr_exchange *x, const struct sr_router_pool *pool, struct sr_pool_ask *ask)
{
    size_t n;
    const uint64_t *tokens = sr_pick_tokens(&x->pick, &n);
    if (tokens && pool == sr_exchange_pool(x)) {
        ask->kv_blocks = tokens;
        ask->n_kv_blocks = ask->kv_total = n;
    } else if (!ask->kv_blocks) {
        add_known(x, pool, ask);
    }
}

int sr_exchange_ask(struct sr_exchange *x, const struct sr_router_pool *pool, const struct sr_pool_ask **out)
{
    uint32_t needs = sr_pool_group_needs(pool->group);
    struct sr_pool_ask *ask;
    int rc = ask_of(x, pool, &ask);
    *out = ask;
    if (!ask)
        return rc;
    ask->vector = vector_of(x, needs);
    if (ask->vector)
        ask->dimensions = sr_embedding_reader_dimensions(
            needs & SR_POOL_NEEDS_VECTOR ? x->router->pick_reader : x->router->cache_reader);
    if (wants_tokens(x, pool))
        add_tokens(x, pool, ask);
    return SR_OK;
}

int sr_exchange_worker_target(struct sr_target *target, const struct sr_target *like, struct sr_bytes worker,
                              struct sr_arena *arena)
{
    *target = *like;
    size_t skip = strlen(like->scheme) + 3, tail = strlen(like->base_path);
    struct sr_bytes address = sr_bytes_of(worker.p + skip, worker.n - skip - tail);
    size_t colon = address.n;
    while (colon > 0 && address.p[colon - 1] != ':')
        colon--;
    for (size_t i = colon; i < address.n; i++)
        target->port = (i == colon ? 0 : target->port * 10) + (address.p[i] - '0');
    target->name = sr_arena_printf(arena, "%.*s", (int)address.n, address.p);
    target->host = sr_arena_printf(arena, "%.*s", (int)colon - 1, address.p);
    return target->name && target->host ? SR_OK : SR_ENOMEM;
}
