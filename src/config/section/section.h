/*
 * The sections of the configuration file, each declared in the file of its part: authz.c, cache.c, cards.c,
 * compression.c, decisions.c, embeddings.c, extproc.c, gateway.c, global.c, guards.c, identity.c, limits.c,
 * listeners.c, picking.c, pools.c, providers.c, reliability.c, signals.c, and plugin_*.c (plugins.h). root.c
 * puts them together.
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
    sr_section_cache, sr_section_cache_use, sr_section_pool, sr_section_picking_session,
    sr_section_picking_prefix, sr_section_picking_cost, sr_section_picking_metrics,
    sr_section_picking_meaning, sr_section_identity, sr_section_keys_file, sr_section_limits,
    sr_section_authz, sr_section_ratelimit, sr_section_store_server;
extern const struct sr_enum_word sr_picking_policies[], sr_on_error_words[], sr_effort_words[],
    sr_strategy_words[];
/* The signal types that rules may name; `value` is the index of the field of sr_section_signals that lists
 * their rules. Ends with {NULL}. */
extern const struct sr_enum_word sr_leaf_types[];
/* Those of vLLM Semantic Router that are not there yet; ends with NULL. */
extern const char *const sr_leaf_types_later[];

/* Sets what is not a number of a pool's picking keys. */
void sr_picking_prepare(struct sr_config_picking *picking);

#endif
