/*
 * The registry of plugins, which act on the requests that a decision matches. plugin_NAME.c declares what a
 * plugin is configured by: its member of struct sr_config_plugins, and the section that fills it. What it
 * does is the router's.
 */
#ifndef SR_CONFIG_SECTION_PLUGINS_H
#define SR_CONFIG_SECTION_PLUGINS_H

#include "config/section/section.h"

extern const struct sr_variant sr_plugin_fast_response, sr_plugin_system_prompt, sr_plugin_header_mutation,
    sr_plugin_request_params, sr_plugin_guard, sr_plugin_response_jailbreak;

extern const struct sr_variant *const sr_plugins[]; /* ends with NULL */

/* Those of vLLM Semantic Router that are not there; ends with NULL. */
extern const char *const sr_plugins_later[];

#endif
