/* The plugins of the list as an array, and those that are not supported. */
#include "config/section/plugins.h"

#define PLUGIN(name) &sr_plugin_##name,
const struct sr_variant *const sr_plugins[] = {SR_PLUGIN_LIST(PLUGIN) NULL};

const char *const sr_plugins_later[] = {"hallucination",       "memory",    "rag", "image_gen",
                                        "context_compression", "jailbreak", "pii", NULL};
