/*
 * The kinds of edits: the state that they share while one body is edited, and one function for each kind,
 * in its own file. edit.c calls them in order; each adds entries to the list. SR_ENOMEM, SR_ELIMIT,
 * SR_ECONFLICT.
 */
#ifndef SR_ROUTER_EDIT_KINDS_H
#define SR_ROUTER_EDIT_KINDS_H

#include "router/edit/edit.h"
#include "json/splice.h"

struct sr_edit {
    const struct sr_edit_inputs *in;
    struct sr_edited *out;
    struct sr_edits *list;
    const struct sr_request *doc;
    struct sr_arena *arena;
    const struct sr_config_decision *decision; /* NULL: only model, stream and redaction */
    /* Members that the router has set: blocked_params and strip_unknown do not remove them. */
    bool owns_kwargs, owns_effort, owns_stream_options, owns_reasoning;
};

int sr_edit_model(struct sr_edit *edit) SR_WARN_UNUSED;
int sr_edit_stream(struct sr_edit *edit) SR_WARN_UNUSED;
int sr_edit_reasoning(struct sr_edit *edit) SR_WARN_UNUSED;
int sr_edit_prompt(struct sr_edit *edit) SR_WARN_UNUSED;
int sr_edit_tools(struct sr_edit *edit) SR_WARN_UNUSED;
int sr_edit_params(struct sr_edit *edit) SR_WARN_UNUSED;
int sr_edit_redact(struct sr_edit *edit) SR_WARN_UNUSED;

#endif
