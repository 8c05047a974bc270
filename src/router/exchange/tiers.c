/* From the shape of a request to its workload, its estimated size, and the order of pools. */
#include "router/exchange/tiers.h"

#include "router/pick/shape.h"

#include <assert.h>

static_assert(SR_WORKLOADS <= SR_POOL_KINDS, "sizes are learned for each workload");

/* What the request says of its workload; -1: nothing that is known. */
static int said(sr_exchange *x, const char **from)
{
    const struct sr_config_workloads *config = &x->router->config->global.workloads;
    struct sr_bytes word = sr_head_named(&x->head, config->header);
    int workload = word.p ? sr_config_find_workload(word) : -1;
    *from = "header";
    if (workload < 0) {
        workload = sr_config_find_workload(sr_shape_metadata(&x->body.doc, config->metadata, &x->arena));
        *from = "metadata";
    }
    return workload;
}

static enum sr_workload by_shape(const struct sr_shape *shape, uint64_t prompt_tokens, uint64_t long_tokens)
{
    if (shape->may_wait)
        return SR_WORKLOAD_BATCH;
    if (shape->has_tools)
        return SR_WORKLOAD_AGENT;
    return prompt_tokens >= long_tokens ? SR_WORKLOAD_LONG_CONTEXT : SR_WORKLOAD_INTERACTIVE;
}

/* Tokens of the prompt as a request of this workload. */
static uint64_t prompt_of(const struct sr_router_model *model, enum sr_workload workload,
                          const struct sr_shape *shape)
{
    return sr_pool_sizes_prompt(model->sizes, workload, shape->bytes) +
           shape->attachments * SR_ATTACHMENT_TOKENS;
}

enum sr_workload sr_exchange_workload(sr_exchange *x)
{
    struct sr_exchange_workload *found = &x->workload;
    if (found->from)
        return found->workload;
    int workload = said(x, &found->from);
    if (workload < 0) {
        struct sr_shape shape = sr_shape_of(&x->body.doc);
        uint64_t tokens = shape.bytes / SR_POOL_TOKEN_BYTES + shape.attachments * SR_ATTACHMENT_TOKENS;
        found->from = "shape";
        workload = (int)by_shape(&shape, tokens, x->router->config->global.workloads.long_context_tokens);
    }
    found->workload = (enum sr_workload)workload;
    return found->workload;
}

static struct sr_tier_size size_of(sr_exchange *x, const struct sr_router_model *model)
{
    struct sr_shape shape = sr_shape_of(&x->body.doc);
    struct sr_tier_size size = {.bytes = shape.attachments ? 0 : shape.bytes};
    int workload = x->workload.from ? (int)x->workload.workload : said(x, &size.from);
    size.from = x->workload.from ? x->workload.from : size.from;
    if (workload < 0) {
        size.from = "shape";
        workload = (int)by_shape(&shape, prompt_of(model, SR_WORKLOAD_INTERACTIVE, &shape),
                                 x->router->config->global.workloads.long_context_tokens);
    }
    size.workload = (enum sr_workload)workload;
    size.prompt_tokens = prompt_of(model, size.workload, &shape);
    size.is_limited = shape.most > 0;
    if (x->body.doc.dialect->generates)
        size.answer_tokens = shape.most ? shape.most : sr_pool_sizes_answer(model->sizes, size.workload);
    return size;
}

/* Pools all of whose workers are gone come last. */
static void put_gone_last(const struct sr_router_model *model, struct sr_tiers *tiers)
{
    uint8_t gone[SR_MODEL_POOLS_MAX], first = tiers->order[0];
    size_t n = 0, n_gone = 0;
    for (size_t i = 0; i < tiers->n; i++)
        if (sr_pool_group_is_well(model->pools[tiers->order[i]].group))
            tiers->order[n++] = tiers->order[i];
        else
            gone[n_gone++] = tiers->order[i];
    memcpy(tiers->order + n, gone, n_gone);
    if (tiers->order[0] != first)
        tiers->why = "next";
}

void sr_exchange_rank_pools(sr_exchange *x)
{
    struct sr_exchange_pools *pools = &x->pools;
    const struct sr_router_model *model = &x->router->models[x->record.model];
    if (pools->model == x->record.model)
        return;
    *pools = (struct sr_exchange_pools){.model = x->record.model};
    if (model->n_pools > 1) {
        pools->size = size_of(x, model);
        pools->tiers = sr_tiers_rank(model, &pools->size);
        put_gone_last(model, &pools->tiers);
    }
    sr_exchange_note_pool(x);
}

const struct sr_router_pool *sr_exchange_pool(const sr_exchange *x)
{
    const struct sr_router_model *model = &x->router->models[x->record.model];
    const struct sr_exchange_pools *pools = &x->pools;
    bool ranked = pools->model == x->record.model && pools->tiers.n > 0;
    return &model->pools[ranked ? pools->tiers.order[pools->at] : 0];
}

void sr_exchange_note_pool(sr_exchange *x)
{
    const struct sr_exchange_pools *pools = &x->pools;
    x->record.pool = (struct sr_record_pool){.name = NULL};
    if (pools->tiers.n == 0)
        return;
    x->record.pool = (struct sr_record_pool){
        .name = sr_exchange_pool(x)->entry->name,
        .workload = sr_config_workload_name(pools->size.workload),
        .from = pools->size.from,
        .why = pools->at ? "next" : pools->tiers.why,
        .prompt_tokens = pools->size.prompt_tokens,
        .answer_tokens = pools->size.answer_tokens,
    };
}

void sr_exchange_learn_size(sr_exchange *x)
{
    const struct sr_exchange_pools *pools = &x->pools;
    const struct sr_record *r = &x->record;
    if (pools->tiers.n == 0 || !r->usage.seen || r->answer_status / 100 != 2 || r->end != SR_END_COMPLETE)
        return;
    sr_pool_sizes_learn(x->router->models[pools->model].sizes, pools->size.workload, pools->size.bytes,
                        r->usage.prompt, pools->size.is_limited ? 0 : r->usage.completion);
}
