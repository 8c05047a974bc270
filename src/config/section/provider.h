/*
 * What a backend's `type` (or `provider`) means: where its key goes, and where the endpoints of OpenAI's API
 * are below its address. All but
 * `anthropic`, which speaks Anthropic's API, have such endpoints.
 */
#ifndef SR_CONFIG_SECTION_PROVIDER_H
#define SR_CONFIG_SECTION_PROVIDER_H

#include "config/bind/binder.h"

extern const struct sr_enum_word sr_provider_words[];

/* The word that says whose API a backend has: its `type`, else its `provider`. NULL: none does. */
const struct sr_yaml_node *sr_provider_kind(const struct sr_yaml_node *node);

/* Completes a backend whose keys are bound: the path below its address, which `base_path` has as the file
 * says it, the query, and the header of its key where the file gives none. `model` is the name that it uses.
 */
void sr_provider_apply(struct sr_binder *b, const struct sr_yaml_node *node, const char *model,
                       struct sr_config_backend *backend);

/* Is the backend Anthropic's, or one that speaks its API? */
bool sr_provider_speaks_messages(const struct sr_yaml_node *node);

#endif
