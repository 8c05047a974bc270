/*
 * The router: one configuration made ready to route, immutable and reference-counted.
 *
 * Holds the configuration snapshot, its signals, the compiled plan, the path tables of the dialects and, for
 * each model, its targets with their request headers. A reload builds a new router beside the old one; an
 * exchange keeps the one it started with.
 */
#ifndef SR_ROUTER_ROUTER_H
#define SR_ROUTER_ROUTER_H

#include "base/ref.h"
#include "decide/decide.h"
#include "dialect/registry.h"
#include "pool/sizes.h"
#include "select/select.h"
#include "select/state/holds.h"
#include "semroute/semroute.h"
#include "signal/readers.h"
#include "signal/topic/embedding_reader.h"

struct sr_toolbox; /* router/toolbox/toolbox.h */
struct sr_prompts;
/* Workers of a model that a policy chooses among. */
struct sr_router_pool {
    const struct sr_config_pool *entry; /* NULL: none */
    struct sr_pool_group *group;
    const struct sr_target *targets; /* in the order of the group's members */
    size_t n_targets;
    const struct sr_config_backend *const
        *backends;              /* [n_targets]: what each of them is in the configuration */
    struct sr_prompts *prompts; /* tells the tokens of prompts (router/prompt/prompt.h); NULL: workers do */
    bool discovered; /* the workers are the group's; the model's first target is the pattern of each */
};

struct sr_router_model {
    const struct sr_target *targets; /* used with the request's own path */
    size_t n_targets;
    struct sr_router_pool *pools; /* [n_pools], at least one; none where the router has no pool */
    size_t n_pools;
    struct sr_pool_sizes *sizes; /* of its requests, where it has several pools; else NULL */
    struct sr_pool_tally *tally; /* of its requests; NULL: the router has no pool */
    struct sr_bytes chat_path;   /* replaces the path of chat completions; empty = as the client asked */
    int api;                     /* enum sr_translate_api; -1: that of the request, or it is `mixed` */
    bool mixed;                  /* its targets speak different APIs (`api` of each) */
    bool has_key;                /* a target has its own credentials: the client's are not sent to it */
    bool top_level_effort;       /* its hosts take `reasoning_effort` at the top level */
};

/* The new side of a canary. */
struct sr_router_canary {
    const struct sr_config_canary *entry;
    struct sr_router *side; /* NULL: its share is 0 */
};

struct sr_router {
    struct sr_ref ref;
    struct sr_arena arena;
    const struct sr_config *config; /* of a profile: its own */
    /* A recipe, or the new side of a canary, is a profile: a router with signals, plans, algorithms and tools
     * of its own, and all else of the whole one. A request moves to it when its model is known. */
    struct sr_router *whole;           /* of a profile; NULL: it is the whole one */
    const char *profile;               /* names it in keys of the cache: "" of the top-level block */
    const char *recipe;                /* the name of its recipe */
    struct sr_router **recipes;        /* [n_recipes of the configuration] */
    struct sr_router_canary *canaries; /* [n_canaries] */
    struct sr_signals *signals;
    struct sr_plan *plan;   /* all decisions but guards */
    struct sr_plan *guards; /* guards, and what holds in every recipe; NULL: there are none */
    struct sr_plan *named;  /* what requests that name their model pass: guards, and decisions that answer
                               an attack or private data at once; NULL: nothing */
    struct sr_selector *selectors; /* [decisions]: how candidates are chosen; zeroed: static, or one only */
    struct sr_select_arms *arms;   /* what algorithms learn; borrowed; NULL: nothing */
    struct sr_holds *holds;        /* which models conversations have; borrowed; NULL: none */
    struct sr_plan *shadow;        /* decisions that are only recorded; NULL: there are none */
    bool shadow_named;             /* requests that name their model pass some of them */
    bool partial;                  /* some decisions count for a share of the requests */
    const uint32_t
        *may_see; /* for each model a mask over enum sr_entity_type; NULL: all models may see all types */
    bool guarded; /* there are guards, policies, or rules about attacks or private data */
    struct sr_pool *pool; /* of the workers; NULL: none */
    struct sr_dialect_paths *paths;
    bool caches;                              /* some requests may be answered from the cache */
    bool cache_semantic;                      /* some by meaning */
    struct sr_embedding_reader *cache_reader; /* of questions; NULL: there is no encoder, or none is needed */
    struct sr_embedding_reader
        *pick_reader;               /* of requests whose worker is picked by meaning; NULL: none is */
    struct sr_toolbox *tools;       /* what tools are chosen from; NULL: none are */
    struct sr_readers *readers;     /* of answers; NULL: none are read */
    struct sr_router_alone *alone;  /* for sr_router_readers */
    struct sr_router_model *models; /* one per model of the configuration */
    uint64_t created;               /* seconds since 1970 */
    size_t max_body;                /* limit of a request body in bytes; 413 above it */
    const char *embeds;             /* name of the encoder that embeds texts for clients; NULL: none does */
};

/* Takes one reference of `config`, also on failure. Model files come from `models`, the workers' groups
 * from `pool`, which must outlive the router. Both NULL: for a check of the configuration alone, no
 * exchange may use the router. */
int sr_router_new(struct sr_router **out, const struct sr_config *config, struct sr_model_store *models,
                  struct sr_pool *pool, struct sr_err *err) SR_WARN_UNUSED;
/* The readers of the API, whatever rules are configured: opened by the first call, which may take long, so
 * not on an event loop. NULL: out of memory, or the router has no model store. They live as long as the
 * router. Any thread. */
const struct sr_readers *sr_router_readers(const struct sr_router *router);

/* True once sr_router_readers has opened them. Any thread. */
bool sr_router_has_readers(const struct sr_router *router);

/* Opens in the background what requests may need later, of all profiles. */
void sr_router_open_ahead(const struct sr_router *router);

/* Of a profile: of the whole router. */
struct sr_router *sr_router_ref(struct sr_router *router);
void sr_router_unref(struct sr_router *router);

/* The profile of a recipe, an index of the configuration; of -1 the whole router itself. */
const struct sr_router *sr_router_profile(const struct sr_router *router, int recipe);

/* Texts of clients are embedded by the encoder in this folder, whose last part is its name. Once, before any
 * exchange. SR_ENOMEM. */
int sr_router_set_embeds(struct sr_router *router, const char *folder) SR_WARN_UNUSED;

/* Where bandits and the like learn, and which models conversations have, of all profiles. */
void sr_router_set_learned(struct sr_router *router, struct sr_select_arms *arms, struct sr_holds *holds);

#endif
