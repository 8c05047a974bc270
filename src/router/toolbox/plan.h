/* What is done to the tools of one request: router/tools makes it, router/edit carries it out. */
#ifndef SR_ROUTER_TOOLBOX_PLAN_H
#define SR_ROUTER_TOOLBOX_PLAN_H

#include "base/bytes.h"

#include <stdint.h>

/* One tool of the request. */
struct sr_tool_own {
    uint32_t span, list; /* the element, and the array that it stands in */
    bool drop;
};

/* What is done to the body. */
struct sr_tool_plan {
    bool remove_all;         /* tools and what speaks of them */
    bool strip_history;      /* and earlier calls with their results */
    bool empty_list;         /* where no tool is left, `tools` is an empty list */
    struct sr_tool_own *own; /* [n_own], in the body's order */
    size_t n_own, n_dropped;
    const struct sr_bytes *add; /* [n_add] tools as JSON */
    size_t n_add;
    uint32_t list;       /* the request's `tools`, SR_SPAN_NONE */
    bool retargets;      /* `tool_choice` names a tool that goes: it becomes `auto` */
    const char *why_not; /* why nothing was chosen by meaning; NULL: it was, or was not asked for */
    float best;          /* similarity of the best tool that was added or stays; 0 without one */
};

#endif
