/*
 * Which tools the model of one request gets: the request's own that stay, and those of a database that join
 * them.
 *
 * By lists at once; by meaning when the vectors of the question, and of the request's tools, are there. They
 * are waited for until the deadline of signals; without them the request keeps its tools and gets no others.
 * One for each exchange, on its thread; everything lies in the exchange's arena.
 */
#ifndef SR_ROUTER_TOOLS_CHOOSE_H
#define SR_ROUTER_TOOLS_CHOOSE_H

#include "router/cache/vector.h"
#include "router/request/request.h"
#include "router/toolbox/plan.h"
#include "router/toolbox/toolbox.h"

/* Tools of a request that are compared with its question; one with more keeps them. */
#define SR_TOOLS_OWN_MAX 1024u

struct sr_tool_choice_in {
    const struct sr_toolbox *box; /* NULL: nothing is chosen by meaning */
    const struct sr_config *config;
    const struct sr_config_plugins *plugins;
    const struct sr_request *doc; /* a complete body */
    uint64_t client;
    struct sr_span_ref origin;  /* the request's span */
    struct sr_mailbox *mailbox; /* NULL: nothing can be waited for */
    struct sr_arena *arena;
};

struct sr_tool_choice {
    struct sr_tool_choice_in in;
    struct sr_tool_plan plan;
    struct sr_tool *tools;             /* of `plan.own`, the same order; NULL: they are not compared */
    struct sr_recall_vector *question; /* NULL: not begun */
    struct sr_recall_vector **vectors; /* of `tools`; NULL entries: none */
    struct sr_bytes text;              /* the question */
    bool begun, waits;
    uint64_t started_ns, ended_ns, deadline_ns;
    void (*done)(void *ctx); /* given at birth; called once when it was waited for */
    void *ctx;
};

/* Do the decision's plugins say anything of tools? */
bool sr_tools_asked(const struct sr_config *config, const struct sr_config_plugins *plugins);

/* Begins. SR_OK: sr_tool_choice_end can be called. SR_AGAIN: `done` follows, or the deadline. SR_ENOMEM. */
int sr_tool_choice_begin(struct sr_tool_choice *choice, const struct sr_tool_choice_in *in) SR_WARN_UNUSED;

/* Completes the plan with what is known. `category` of the question may be empty. SR_ENOMEM. */
int sr_tool_choice_end(struct sr_tool_choice *choice, struct sr_bytes category,
                       double confidence) SR_WARN_UNUSED;

void sr_tool_choice_dispose(struct sr_tool_choice *choice);

#endif
