/*
 * The sections of the configuration file, each declared in the file of its part: FILE.c of this folder, and
 * plugin_*.c (plugins.h). root.c puts them together.
 */
#ifndef SR_CONFIG_SECTION_SECTION_H
#define SR_CONFIG_SECTION_SECTION_H

#include "config/bind/binder.h"

/* One line each, in order of the alphabet. */
extern const struct sr_section sr_section_adaptations;
extern const struct sr_section sr_section_algorithm;
extern const struct sr_section sr_section_authz;
extern const struct sr_section sr_section_binding;
extern const struct sr_section sr_section_cache;
extern const struct sr_section sr_section_cache_use;
extern const struct sr_section sr_section_canary;
extern const struct sr_section sr_section_card;
extern const struct sr_section sr_section_complexity;
extern const struct sr_section sr_section_compression;
extern const struct sr_section sr_section_conversation;
extern const struct sr_section sr_section_decision;
extern const struct sr_section sr_section_embedding;
extern const struct sr_section sr_section_embedding_models;
extern const struct sr_section sr_section_emit;
extern const struct sr_section sr_section_entrypoint;
extern const struct sr_section sr_section_event;
extern const struct sr_section sr_section_extproc;
extern const struct sr_section sr_section_fact_check;
extern const struct sr_section sr_section_feedback;
extern const struct sr_section sr_section_external;
extern const struct sr_section sr_section_feedback_detector;
extern const struct sr_section sr_section_gateway;
extern const struct sr_section sr_section_global;
extern const struct sr_section sr_section_guards;
extern const struct sr_section sr_section_hallucination;
extern const struct sr_section sr_section_identity;
extern const struct sr_section sr_section_inference;
extern const struct sr_section sr_section_integrations;
extern const struct sr_section sr_section_jailbreak;
extern const struct sr_section sr_section_kb;
extern const struct sr_section sr_section_kb_rule;
extern const struct sr_section sr_section_keys_file;
extern const struct sr_section sr_section_learning;
extern const struct sr_section sr_section_limits;
extern const struct sr_section sr_section_listener;
extern const struct sr_section sr_section_management;
extern const struct sr_section sr_section_metadata;
extern const struct sr_section sr_section_modality;
extern const struct sr_section sr_section_modality_detector;
extern const struct sr_section sr_section_model_selection;
extern const struct sr_section sr_section_picking_cost;
extern const struct sr_section sr_section_picking_kv_events;
extern const struct sr_section sr_section_picking_meaning;
extern const struct sr_section sr_section_picking_metrics;
extern const struct sr_section sr_section_picking_prefix;
extern const struct sr_section sr_section_picking_session;
extern const struct sr_section sr_section_pii;
extern const struct sr_section sr_section_pii_classifier;
extern const struct sr_section sr_section_policy;
extern const struct sr_section sr_section_pool;
extern const struct sr_section sr_section_predicate;
extern const struct sr_section sr_section_preference;
extern const struct sr_section sr_section_projections;
extern const struct sr_section sr_section_prompt_guard;
extern const struct sr_section sr_section_providers;
extern const struct sr_section sr_section_ratelimit;
extern const struct sr_section sr_section_reask;
extern const struct sr_section sr_section_recipe;
extern const struct sr_section sr_section_recipe_routing;
extern const struct sr_section sr_section_reliability;
extern const struct sr_section sr_section_reliability_of_decision;
extern const struct sr_section sr_section_replay;
extern const struct sr_section sr_section_responses;
extern const struct sr_section sr_section_root;
extern const struct sr_section sr_section_router_replay;
extern const struct sr_section sr_section_routing;
extern const struct sr_section sr_section_rule;
extern const struct sr_section sr_section_signals;
extern const struct sr_section sr_section_store_server;
extern const struct sr_section sr_section_stores;
extern const struct sr_section sr_section_system_prompts;
extern const struct sr_section sr_section_tools;
extern const struct sr_section sr_section_tools_advanced;
extern const struct sr_section sr_section_metrics_export;
extern const struct sr_section sr_section_trace_export;
extern const struct sr_section sr_section_tracing;
extern const struct sr_section sr_section_unread;
extern const struct sr_section sr_section_workloads;

extern const struct sr_enum_word sr_picking_policies[], sr_on_error_words[], sr_effort_words[],
    sr_strategy_words[];
/* A condition of this type has no name, and always matches. */
#define SR_RULE_ALWAYS "always"

/* The signal types that rules may name; ends with {NULL}. */
extern const struct sr_enum_word sr_leaf_types[];
/* Those of vLLM Semantic Router that are not there yet; ends with NULL. */
extern const char *const sr_leaf_types_later[];

struct sr_config_pool;
/* Why several sections take keys that change nothing. */
#define SR_INERT_NOTE       "it is a note for people"
#define SR_INERT_RUNTIME    "semroute has one runtime, on the CPU"
#define SR_INERT_FOLDER     "a model is named by its folder (`model_id`), which says its architecture"
#define SR_INERT_LABELS     "labels come from the model's folder"
#define SR_INERT_PROTOTYPES "the nearest texts count by 0.75 and 0.25 (docs/internals/signals.md)"
#define SR_INERT_VECTORS    "texts are embedded by the router's one encoder"
#define SR_INERT_ELSEWHERE                                                                                   \
    "no other service is asked while a request is judged: built-in models take its place"
#define SR_INERT_ENABLED "a signal is evaluated when a rule names it"

/* Keys of the classifiers of vLLM Semantic Router, for a list of `inert`. */
#define SR_INERT_CLASSIFIER                                                                                  \
    {"model_ref", SR_INERT_FOLDER, false}, {"variant", SR_INERT_FOLDER, false},                              \
        {"use_cpu", SR_INERT_RUNTIME, false}, {"use_modernbert", SR_INERT_FOLDER, false},                    \
    {                                                                                                        \
        "use_mmbert_32k", SR_INERT_FOLDER, false                                                             \
    }

/* Sets what is not a number of a pool's picking keys. */
void sr_picking_prepare(struct sr_config_pool *pool);

#endif
