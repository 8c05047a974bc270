/*
 * The configuration as plain data: what a `version: v0.3` file says, checked and with defaults filled in.
 *
 * A snapshot is immutable and reference-counted; every pointer in it lives as long as the snapshot.
 * Loading is in config/load.h; the layers above interpret the values.
 * Strings are NUL-terminated and never NULL (empty when absent) unless said otherwise.
 */
#ifndef SR_CONFIG_CONFIG_H
#define SR_CONFIG_CONFIG_H

#include "base/bytes.h"
#include "base/err.h"
#include "base/ref.h"
#include "config/algorithm.h"
#include "config/identity.h"
#include "config/part/access.h"
#include "config/part/cache.h"
#include "config/part/decisions.h"
#include "config/part/doors.h"
#include "config/part/guards.h"
#include "config/part/inference.h"
#include "config/part/learning.h"
#include "config/part/limits.h"
#include "config/part/models.h"
#include "config/part/plugins.h"
#include "config/part/pools.h"
#include "config/part/replay.h"
#include "config/part/responses.h"
#include "config/part/rules.h"
#include "config/part/signals.h"
#include "config/part/strings.h"
#include "config/part/tools.h"
#include "config/part/tracing.h"

#include <stdbool.h>
#include <stdint.h>

/* global.router and the rest of global that this program has. */
struct sr_config_global {
    struct sr_config_learning learning;
    struct sr_config_tools tools;
    const char *tool_vectors; /* file; "" = beside the database, "off" = none */
    const char *auto_model_name;
    struct sr_strings auto_model_names; /* "auto", "vllm-sr/auto", auto_model_name (MoM), auto_model_names */
    bool include_config_models_in_list;
    bool skip_processing;                /* honour x-vsr-skip-processing: true */
    double domain_threshold;             /* 0.6 */
    double fact_check_threshold;         /* of the label `needs_fact_check`: 0.5 */
    double feedback_threshold;           /* of the likeliest label: 0.5 */
    const char *domain_fallback;         /* "other" */
    const char *domain_model;            /* file; empty = the embedded one */
    enum sr_on_error jailbreak_on_error; /* of conditions that do not say it */
    double jailbreak_threshold;          /* of rules that have none: 0.7 */
    const char *jailbreak_model;         /* file; empty = the embedded one */
    struct sr_strings jailbreak_labels;  /* labels that mean an attack; none: all but benign ones */
    double pii_threshold;                /* of rules that have none: 0.7 */
    const char *pii_model;               /* folder; empty = the bundled neural classifier */
    double override_confidence;          /* fusion: a classifier at least this sure overrides; 0 = never */
    uint64_t signal_deadline_ms;         /* 1,000: of a request without text */
    double signal_deadline_ms_per_kib;   /* 1: more for each KiB of text */
    uint64_t signal_deadline_max_ms;     /* 25,000: but not more than this */
    bool request_headers;                /* X-VSR-* on the upstream request */
    bool debug_headers;                  /* the debug set without x-vsr-debug */
    const char *access_log;              /* "stdout", "off" or a file; "off" */
    bool access_log_signals;             /* its lines have every signal's scores */
    bool ready_needs_worker;             /* without a worker that is up the process is not ready */
    const char *log_level;               /* debug, info, warn, error */
    int log_format, access_log_format;   /* enum sr_log_wanted */
    bool metrics;
    struct sr_config_tracing tracing;
    struct sr_config_metrics_export metrics_export;
    int loops, workers; /* 0 = by the machine */
    struct sr_config_compression compression;
    struct sr_config_gateway gateway;
    struct sr_config_extproc extproc;
    struct sr_config_inference inference;
    struct sr_config_guards guards;
    struct sr_config_access access;
    struct sr_config_cache cache;
    const char *user_header, *groups_header; /* set by a trusted proxy; "" = none */
    struct sr_config_identity identity;
    struct sr_config_limits limits;
    struct sr_config_replay replay;
    struct sr_config_responses responses;
    struct sr_config_authz authz;
    struct sr_config_policy *policies;
    size_t n_policies;
    struct sr_config_pool *pools;
    size_t n_pools;
    struct sr_config_kb *kbs;
    size_t n_kbs;
    struct sr_config_external *externals;
    size_t n_externals;
    bool preference_examples; /* modules.classifier.preference.use_contrastive: examples decide, not the model
                               */
    struct sr_strings image_words, both_words; /* of the modality signal; none: its own */
    struct sr_config_workloads workloads;
    const char *selection_state; /* the file of what algorithms have learned; "" = none */
    struct {
        bool enabled;
        struct sr_config_algorithm algorithm; /* of decisions that name none */
    } model_selection;
    struct sr_config_canary *canaries;
    size_t n_canaries;
};

#define SR_RECIPE_DEFAULT "default" /* names the top-level routing block */

/* entrypoints[]: names of models that ask for a recipe. */
struct sr_config_entrypoint {
    struct sr_strings model_names;
    const char *recipe_name;
    int recipe; /* index in recipes; -1: the top-level routing block */
};

struct sr_config {
    const char *path; /* the file; "(built-in)" for the default */
    struct sr_config_listener *listeners;
    size_t n_listeners;
    int default_model;        /* index in models, -1 = none */
    const char *default_lora; /* the default is this adapter of it; "" or NULL = none */
    const char *default_effort;
    struct sr_config_family *families;
    size_t n_families;
    struct sr_config_model *models;
    size_t n_models;
    struct sr_config_model *cards; /* routing.modelCards; carried over to `models`, use those */
    size_t n_cards;
    enum sr_strategy strategy;
    struct sr_config_keyword *keywords;
    size_t n_keywords;
    struct sr_config_domain *domains;
    size_t n_domains;
    struct sr_config_context *contexts;
    size_t n_contexts;
    struct sr_config_language *languages;
    size_t n_languages;
    struct sr_config_structure *structures;
    size_t n_structures;
    struct sr_config_jailbreak *jailbreaks;
    size_t n_jailbreaks;
    struct sr_config_pii *piis;
    size_t n_piis;
    struct sr_config_embedding *embeddings;
    size_t n_embeddings;
    struct sr_config_conversation *conversations;
    size_t n_conversations;
    struct sr_config_metadata *metadatas;
    size_t n_metadatas;
    struct sr_config_event *events;
    size_t n_events;
    struct sr_config_binding *bindings;
    size_t n_bindings;
    struct sr_config_label *fact_checks, *feedbacks, *modalities;
    size_t n_fact_checks, n_feedbacks, n_modalities;
    struct sr_config_reask *reasks;
    size_t n_reasks;
    struct sr_config_complexity *complexities;
    size_t n_complexities;
    struct sr_config_preference *preferences;
    size_t n_preferences;
    struct sr_config_kb_rule *kb_rules;
    size_t n_kb_rules;
    struct sr_config_partition *partitions;
    size_t n_partitions;
    struct sr_config_score *scores;
    size_t n_scores;
    struct sr_config_mapping *mappings;
    size_t n_mappings;
    struct sr_config_decision *decisions;
    size_t n_decisions;
    struct sr_config_recipe *recipes;
    size_t n_recipes;
    struct sr_config_entrypoint *entrypoints;
    size_t n_entrypoints;
    struct sr_config_global global;
    struct sr_strings watched; /* files with secrets or keys that it was read from, besides `path` */
    char revision[17]; /* 16 hex digits over the file's bytes: names the snapshot in logs and metrics */
    char epoch[17]; /* 16 hex digits over what it means: its values with variables and `${file:}` filled in,
                       and the texts that it names (config/link/epoch.h). Of recipes and canaries it is "" */
    struct sr_ref
        *ref; /* the loader's count; NULL in one built by hand, which sr_config_ref/unref leave alone */
};

/* recipes[]: a routing block beside the top-level one, over the same models. */
struct sr_config_recipe {
    const char *name;
    const char *description;
    struct sr_config config; /* the file as if its routing block were the recipe's, with what holds
                                everywhere; it shares the snapshot's reference count */
};

/* Who is always on the same side of a canary. */
enum sr_canary_by { SR_CANARY_USER, SR_CANARY_SESSION };

/* global.semroute.canaries[] */
struct sr_config_canary {
    const char *name;
    const char *of_name; /* the recipe whose requests are split */
    int of;              /* index in recipes; -1: the top-level routing block */
    double share;        /* 0..1 that takes the new side */
    enum sr_canary_by by;
    const char *session_header;
    const char *recipe_name; /* of the new side; "" = the same */
    int recipe;
    struct sr_name_values models;                           /* old names and what takes their place */
    const char *domain_model, *jailbreak_model, *pii_model; /* in place of the modules'; "" = the same */
    struct sr_config *config; /* of the new side, like a recipe's; NULL where the share is 0 */
};

struct sr_config *sr_config_ref(const struct sr_config *config);
void sr_config_unref(const struct sr_config *config);

/* Leaves a configuration without rules of any signal. */
void sr_config_clear_rules(struct sr_config *config);

/* True when the backend's own headers have credentials: a key, or a header of that kind among
 * `extra_headers`. */
bool sr_config_backend_has_key(const struct sr_config_backend *backend);

/* Is this the name of a header that carries a client's or an operator's credentials? Without case; '_' counts
 * as '-'. */
bool sr_config_is_credential(struct sr_bytes header);

/* Index of a model by name, -1 when there is none. */
int sr_config_find_model(const struct sr_config *config, struct sr_bytes name);

/* Reads a priority of a queue: a whole number from -1000 to 1000. */
bool sr_config_priority(struct sr_bytes text, int *priority);

/* Is the backend one of the pool's workers, by its name? Where the pool lists none, all of its model are. */
bool sr_config_pool_has(const struct sr_config_pool *pool, const struct sr_config_backend *backend);

/* Does the pool keep this backend for when no other worker can take a request? */
bool sr_config_pool_is_backup(const struct sr_config_pool *pool, const struct sr_config_backend *backend);

/* The workload with this name, in any case; -1: there is none. */
int sr_config_find_workload(struct sr_bytes name);
const char *sr_config_workload_name(enum sr_workload workload);

/* True when the workers come from a file or DNS. */
bool sr_config_pool_discovers(const struct sr_config_pool *pool);

/* True when something may answer for the model: it has backends, or a pool discovers its workers. */
bool sr_config_is_served(const struct sr_config *config, int model);

/* True when a request that no signal reads goes round something that protects, in any recipe: a guard that is
 * enforced, a policy, a plugin that reads answers, or a decision about attacks or private data. */
bool sr_config_protects(const struct sr_config *config);

/* The model that says which preference a text has; NULL: examples do. */
const struct sr_config_external *sr_config_preference_model(const struct sr_config *config);

/* The signal that evaluates rules of `jailbreak` with the method contrastive: conditions that name one have
 * this type once the file is loaded. */
#define SR_TYPE_CONTRASTIVE "contrastive"

/* True for the types of rules about attacks and private data. */
bool sr_config_is_guard_type(const char *type);

/* True when a decision is for all requests: those of every recipe, and those that name their model. Guards
 * are, and decisions that answer an attack or private data at once. */
bool sr_config_holds_everywhere(const struct sr_config_decision *decision);

/* True when a decision chooses among its candidates by the meaning of the request. */
bool sr_config_chooses_by_meaning(const struct sr_config *config);

/* True when some requests, of any recipe, may be answered from the cache; `by_meaning`: of those, some by
 * meaning. */
bool sr_config_caches(const struct sr_config *config, bool by_meaning);

/* Milliseconds from the beginning of signals that read `bytes` of text until their deadline; 0 = none. */
uint64_t sr_config_signal_deadline_ms(const struct sr_config *config, uint64_t bytes);

/* Is this one of the names that ask the router to choose: an automatic name, or an entrypoint's? */
bool sr_config_is_auto(const struct sr_config *config, struct sr_bytes name);

/* The recipe that such a name asks for: an index in recipes; -1: the top-level routing block. */
int sr_config_recipe_of(const struct sr_config *config, struct sr_bytes name);

/* The name of a recipe, "default" of -1. */
const char *sr_config_recipe_name(const struct sr_config *config, int recipe);

#endif
