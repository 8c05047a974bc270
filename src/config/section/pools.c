/* `global.semroute.pools`: the workers of a model, and how one of them is chosen. */
#include "config/section/section.h"

#define POOL(member) offsetof(struct sr_config_pool, member)

/* The names of the pool's policies (pool/registry.c). */
static const struct sr_enum_word policies[] = {{"round_robin", 0}, {"least_request", 0}, {NULL, 0}};

static const struct sr_field fields[] = {
    {"name", SR_FIELD_TEXT, POOL(name), .flags = SR_FIELD_NOT_EMPTY, .def_note = "its `model`",
     .help = "a name for logs and metrics"},
    {"model", SR_FIELD_TEXT, POOL(model_name), .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY,
     .help = "the model of `providers.models` that its workers serve"},
    {"policy", SR_FIELD_WORD, POOL(policy), .words = policies, .def_note = "the model's `lb_policy`",
     .help = "how a worker is chosen: in turn by `weight` (`round_robin`), or the one with the fewest "
             "requests for its weight (`least_request`)"},
};

static void prepare(void *target)
{
    struct sr_config_pool *pool = target;
    pool->name = pool->model_name = pool->policy = "";
    pool->model = -1;
}

static void finish(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_pool *pool = target;
    (void)b;
    (void)node;
    if (!pool->name[0])
        pool->name = pool->model_name;
}

const struct sr_section sr_section_pool = {
    .name = "pool",
    .help = "The workers of a model. A model without an entry has one pool of its `backend_refs`.",
    .size = sizeof(struct sr_config_pool),
    SR_FIELDS(fields),
    .prepare = prepare,
    .finish = finish,
};
