/* The body goes through the mock's reader and through the router's. */
#include "bench/pool_sim_ask.h"

#include "base/mem.h"
#include "dialect/registry.h"
#include "mock/engine/cache.h"
#include "mock/engine/prompt.h"
#include "pool/warm/warm.h"
#include "router/pick/ask.h"

#include <stdio.h>

struct sr_sim_asks {
    struct sr_mock_prompts *prompts;
    struct sr_paths *paths;
};

int sr_sim_asks_new(struct sr_sim_asks **out)
{
    struct sr_err err = {0};
    *out = sr_mem_calloc(1, sizeof **out);
    if (!*out)
        return SR_ENOMEM;
    int rc = sr_mock_prompts_new(&(*out)->prompts, &err);
    if (rc == SR_OK)
        rc = sr_paths_new_complete(&(*out)->paths, sr_dialect_chat.request.specs, sr_dialect_chat.request.n,
                                   NULL);
    if (rc) {
        sr_sim_asks_free(*out);
        *out = NULL;
    }
    return rc;
}

void sr_sim_asks_free(struct sr_sim_asks *asks)
{
    if (!asks)
        return;
    sr_mock_prompts_free(asks->prompts);
    sr_paths_unref(asks->paths);
    sr_mem_free(asks);
}

static int read_body(const struct sr_sim_asks *asks, struct sr_bytes body, struct sr_request *doc,
                     struct sr_arena *arena)
{
    struct sr_scan *scan;
    int rc = sr_scan_new(&scan, asks->paths, sr_scan_limits_defaults(), arena);
    if (rc == SR_OK)
        rc = sr_scan_feed(scan, body.p, body.n, NULL);
    if (rc == SR_OK)
        rc = sr_scan_finish(scan, NULL);
    if (rc)
        return rc;
    *doc = (struct sr_request){.dialect = &sr_dialect_chat, .body = body};
    doc->spans = sr_scan_spans(scan, &doc->n_spans);
    sr_request_index(doc);
    return SR_OK;
}

static int add_kv(struct sr_sim_ask *out, struct sr_arena *arena)
{
    size_t n = out->tokens.n / SR_MOCK_BLOCK;
    uint64_t *kv = sr_arena_alloc(arena, (n + 1) * sizeof *kv);
    if (!kv)
        return SR_ENOMEM;
    for (size_t i = 0; i < n; i++)
        kv[i] = sr_pool_kv_hash(i ? kv[i - 1] : 0, &out->tokens.ids[i * SR_MOCK_BLOCK], SR_MOCK_BLOCK);
    out->ask.kv_blocks = kv;
    out->ask.n_kv_blocks = out->ask.kv_total = n;
    return SR_OK;
}

int sr_sim_ask_make(struct sr_sim_ask *out, const struct sr_sim_asks *asks, const struct sr_bench_turn *turn,
                    size_t session, struct sr_arena *arena)
{
    struct sr_bytes body = sr_bytes_of(turn->body, turn->n);
    struct sr_mock_prompt prompt;
    struct sr_request doc;
    struct sr_err err = {0};
    char name[32];
    int length = snprintf(name, sizeof name, "session-%zu", session);
    sr_mock_tokens_init(&out->tokens, SR_BENCH_POOL_PROMPT_MAX);
    int rc = sr_mock_prompt_read(asks->prompts, body, arena, &out->tokens, &prompt, &err);
    if (rc == SR_OK)
        rc = read_body(asks, body, &doc, arena);
    if (rc)
        return rc;
    struct sr_ask_inputs in = {.needs = SR_POOL_NEEDS_SESSION | SR_POOL_NEEDS_BLOCKS,
                               .doc = &doc,
                               .session = sr_bytes_of(name, (size_t)length),
                               .block_tokens = SR_MOCK_BLOCK};
    rc = sr_ask_make(&in, arena, &out->ask);
    return rc ? rc : add_kv(out, arena);
}

void sr_sim_ask_dispose(struct sr_sim_ask *ask)
{
    sr_mock_tokens_dispose(&ask->tokens);
}
