/*
 * Orders ranked tools anew by what the conversation called before, beside their meaning: `dynamic_retrieval`
 * of the plugin `tools` with `hybrid_history`.
 *
 * A pure function of names and numbers. It changes the order alone: no tool joins the ranks or leaves them,
 * and similarities, with which thresholds are compared, stay.
 */
#ifndef SR_ROUTER_TOOLBOX_HISTORY_H
#define SR_ROUTER_TOOLBOX_HISTORY_H

#include "router/toolbox/rank.h"

#define SR_TOOL_CALLS_MAX 64u /* calls of a window */

/* The latest calls of a conversation, the newest first. */
struct sr_tool_calls {
    struct sr_bytes names[SR_TOOL_CALLS_MAX];
    size_t n;
};

/* Orders ranks[n] of the set, whose scores are those by meaning, by the weighed score, which replaces them.
 * Where the calls say too little and `settings` fall back, nothing changes. */
void sr_tools_rank_history(const struct sr_tool_set *set, const struct sr_tool_question *question,
                           const struct sr_tool_calls *calls, const struct sr_config_tool_history *settings,
                           struct sr_tool_rank *ranks, size_t n);

#endif
