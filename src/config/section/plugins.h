/*
 * The registry of plugins, which act on the requests that a decision matches. plugin_NAME.c declares what a
 * plugin is configured by: its member of struct sr_config_plugins, and the section that fills it. What it
 * does is the router's.
 */
#ifndef SR_CONFIG_SECTION_PLUGINS_H
#define SR_CONFIG_SECTION_PLUGINS_H

#include "config/section/section.h"

/* One line a plugin: plugin_NAME.c has `const struct sr_variant sr_plugin_NAME`. */
#define SR_PLUGIN_LIST(X)                                                                                    \
    X(fast_response)                                                                                         \
    X(system_prompt)                                                                                         \
    X(header_mutation)                                                                                       \
    X(request_params)                                                                                        \
    X(guard)                                                                                                 \
    X(response_jailbreak)                                                                                    \
    X(response_cache)                                                                                        \
    X(tools)                                                                                                 \
    X(tool_selection)                                                                                        \
    X(router_replay)

#define SR_PLUGIN_EXTERN(name) extern const struct sr_variant sr_plugin_##name;
SR_PLUGIN_LIST(SR_PLUGIN_EXTERN)
#undef SR_PLUGIN_EXTERN

extern const struct sr_variant *const sr_plugins[]; /* ends with NULL */

/* Those of vLLM Semantic Router that are not there; ends with NULL. */
extern const char *const sr_plugins_later[];

/* How tools are ranked, as a file may say it; ends with {NULL}. */
extern const struct sr_enum_word sr_tool_strategies[];

#endif
