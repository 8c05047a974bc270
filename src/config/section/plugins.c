/* One line a plugin. */
#include "config/section/plugins.h"

const struct sr_variant *const sr_plugins[] = {
    &sr_plugin_fast_response,
    &sr_plugin_system_prompt,
    &sr_plugin_header_mutation,
    &sr_plugin_request_params,
    &sr_plugin_guard,
    &sr_plugin_response_jailbreak,
    NULL,
};

const char *const sr_plugins_later[] = {"response_cache",
                                        "response-cache",
                                        "semantic-cache",
                                        "semantic_cache",
                                        "tools",
                                        "tool_selection",
                                        "hallucination",
                                        "router_replay",
                                        "memory",
                                        "rag",
                                        "image_gen",
                                        "context_compression",
                                        "jailbreak",
                                        "pii",
                                        NULL};
