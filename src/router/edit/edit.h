/*
 * The edits of a routed request's body, in their order: model, stream options, reasoning, system prompt,
 * request parameters.
 *
 * Each kind is one file and one function that adds entries to the exchange's one list of splices; what an
 * edit does not name stays byte for byte. Conflicts: docs/internals/request.md.
 */
#ifndef SR_ROUTER_EDIT_EDIT_H
#define SR_ROUTER_EDIT_EDIT_H

#include "router/exchange.h"

struct sr_edit {
    sr_exchange *x;
    struct sr_edits *list;
    const struct sr_request *doc;
    struct sr_arena *arena;
    const struct sr_config_decision *decision; /* NULL: the default model, only model and stream are edited */
    /* Members that the router itself has set: blocked_params and strip_unknown leave them alone. */
    bool owns_kwargs, owns_effort, owns_stream_options;
};

/* Edits the body for the exchange's choice and renders it into the verdict. SR_ENOMEM, SR_ELIMIT,
 * SR_ECONFLICT. */
int sr_edit_body(sr_exchange *x) SR_WARN_UNUSED;

/* For a client that named a model: the name that its upstream knows, and what a guard takes out. */
int sr_edit_named(sr_exchange *x) SR_WARN_UNUSED;

int sr_edit_model(struct sr_edit *edit) SR_WARN_UNUSED;
int sr_edit_stream(struct sr_edit *edit) SR_WARN_UNUSED;
int sr_edit_reasoning(struct sr_edit *edit) SR_WARN_UNUSED;
int sr_edit_prompt(struct sr_edit *edit) SR_WARN_UNUSED;
int sr_edit_params(struct sr_edit *edit) SR_WARN_UNUSED;

/* `before`, the text escaped, `after`: a piece of JSON in the arena, `p` NULL when memory is out. */
struct sr_bytes sr_edit_json(struct sr_edit *edit, const char *before, struct sr_bytes text,
                             const char *after);

/* Does the decision's request_params plugin block this top-level member? */
bool sr_edit_blocked(const struct sr_edit *edit, struct sr_bytes name);

#endif
