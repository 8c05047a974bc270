/*
 * The sections of the configuration file, each declared in the file of its part: authz.c, cache.c, cards.c,
 * compression.c, decisions.c, embeddings.c, extproc.c, gateway.c, global.c, guards.c, identity.c, limits.c,
 * listeners.c, picking.c, pools.c, providers.c, reliability.c, signals.c, and plugin_*.c (plugins.h). root.c
 * puts them together.
 * The sections of the configuration file, each declared in the file of its part: cache.c, cards.c,
 * compression.c, decisions.c, embeddings.c, extproc.c, gateway.c, global.c, guards.c, identity.c,
 * listeners.c, picking.c, pools.c, projections.c, providers.c, reliability.c, routing.c, rule_types.c,
 * signals.c, signal_*.c, and plugin_*.c (plugins.h). root.c puts them together.
 * The sections of the configuration file, each declared in the file of its part: FILE.c of this folder, and
 * plugin_*.c (plugins.h). root.c puts them together.
 */
#ifndef SR_CONFIG_SECTION_SECTION_H
#define SR_CONFIG_SECTION_SECTION_H

#include "config/bind/binder.h"

extern const struct sr_section sr_section_root, sr_section_listener, sr_section_providers,
    sr_section_reliability, sr_section_routing, sr_section_card, sr_section_signals, sr_section_predicate,
    sr_section_decision, sr_section_rule, sr_section_global, sr_section_gateway, sr_section_extproc,
    sr_section_compression, sr_section_jailbreak, sr_section_pii, sr_section_guards, sr_section_unread,
    sr_section_system_prompts, sr_section_policy, sr_section_prompt_guard, sr_section_pii_classifier,
    sr_section_embedding, sr_section_embedding_models, sr_section_inference, sr_section_stores,
    sr_section_cache, sr_section_tools, sr_section_tools_advanced, sr_section_cache_use, sr_section_pool,
    sr_section_picking_session, sr_section_picking_prefix, sr_section_picking_cost,
    sr_section_picking_metrics, sr_section_picking_meaning;
    sr_section_cache, sr_section_cache_use, sr_section_pool, sr_section_picking_session,
    sr_section_picking_prefix, sr_section_picking_cost, sr_section_picking_metrics,
    sr_section_picking_meaning, sr_section_picking_kv_events;
    sr_section_cache, sr_section_cache_use, sr_section_pool, sr_section_picking_session,
    sr_section_picking_prefix, sr_section_picking_cost, sr_section_picking_metrics,
    sr_section_picking_meaning, sr_section_identity, sr_section_keys_file, sr_section_limits,
    sr_section_authz, sr_section_ratelimit, sr_section_store_server;
    sr_section_cache, sr_section_cache_use, sr_section_pool, sr_section_picking_session,
    sr_section_picking_prefix, sr_section_picking_cost, sr_section_picking_metrics,
    sr_section_picking_meaning, sr_section_conversation, sr_section_metadata, sr_section_event,
    sr_section_binding, sr_section_complexity, sr_section_reask, sr_section_preference, sr_section_kb_rule,
    sr_section_kb, sr_section_fact_check, sr_section_feedback, sr_section_modality,
    sr_section_modality_detector, sr_section_projections, sr_section_identity, sr_section_keys_file;
/* One line each, in order of the alphabet. */
extern const struct sr_section sr_section_algorithm;
extern const struct sr_section sr_section_cache;
extern const struct sr_section sr_section_cache_use;
extern const struct sr_section sr_section_card;
extern const struct sr_section sr_section_compression;
extern const struct sr_section sr_section_decision;
extern const struct sr_section sr_section_embedding;
extern const struct sr_section sr_section_embedding_models;
extern const struct sr_section sr_section_extproc;
extern const struct sr_section sr_section_gateway;
extern const struct sr_section sr_section_global;
extern const struct sr_section sr_section_guards;
extern const struct sr_section sr_section_identity;
extern const struct sr_section sr_section_inference;
extern const struct sr_section sr_section_jailbreak;
extern const struct sr_section sr_section_keys_file;
extern const struct sr_section sr_section_listener;
extern const struct sr_section sr_section_picking_cost;
extern const struct sr_section sr_section_picking_meaning;
extern const struct sr_section sr_section_picking_metrics;
extern const struct sr_section sr_section_picking_prefix;
extern const struct sr_section sr_section_picking_session;
extern const struct sr_section sr_section_pii;
extern const struct sr_section sr_section_pii_classifier;
extern const struct sr_section sr_section_policy;
extern const struct sr_section sr_section_pool;
extern const struct sr_section sr_section_predicate;
extern const struct sr_section sr_section_prompt_guard;
extern const struct sr_section sr_section_providers;
extern const struct sr_section sr_section_reliability;
extern const struct sr_section sr_section_root;
extern const struct sr_section sr_section_routing;
extern const struct sr_section sr_section_rule;
extern const struct sr_section sr_section_signals;
extern const struct sr_section sr_section_stores;
extern const struct sr_section sr_section_system_prompts;
extern const struct sr_section sr_section_unread;
extern const struct sr_section sr_section_workloads;
extern const struct sr_enum_word sr_picking_policies[], sr_on_error_words[], sr_effort_words[],
    sr_strategy_words[];
/* The signal types that rules may name; ends with {NULL}. */
extern const struct sr_enum_word sr_leaf_types[];
/* Those of vLLM Semantic Router that are not there yet; ends with NULL. */
extern const char *const sr_leaf_types_later[];

struct sr_config_pool;
/* Why several sections take keys that change nothing. */
#define SR_INERT_NOTE    "it is a note for people"
#define SR_INERT_RUNTIME "semroute has one runtime, on the CPU"
#define SR_INERT_FOLDER  "a model is named by its folder (`model_id`), which says its architecture"
#define SR_INERT_LABELS  "labels come from the model's folder"
#define SR_INERT_ENABLED "a signal is evaluated when a rule names it"

/* Keys of the classifiers of vLLM Semantic Router, for a list of `inert`. */
#define SR_INERT_CLASSIFIER                                                                                  \
    {"model_ref", SR_INERT_FOLDER, false}, {"variant", SR_INERT_FOLDER, false},                              \
        {"use_cpu", SR_INERT_RUNTIME, false}, {"use_modernbert", SR_INERT_FOLDER, false},                    \
    {                                                                                                        \
        "use_mmbert_32k", SR_INERT_FOLDER, false                                                             \
    }

/* global.integrations (integrations.c) */
extern const struct sr_section sr_section_integrations;

/* Sets what is not a number of a pool's picking keys. */
void sr_picking_prepare(struct sr_config_pool *pool);

#endif
