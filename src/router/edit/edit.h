/*
 * The edits of a request's body: from the decision to the bytes that are sent upstream.
 *
 * One function, sr_edit_body, from inputs to a list of splices, rendered. Each kind of edit is one file
 * and one function that adds entries to that list; all other bytes stay identical. Conflicts:
 * docs/internals/edits.md.
 */
#ifndef SR_ROUTER_EDIT_EDIT_H
#define SR_ROUTER_EDIT_EDIT_H

#include "router/edit/redact.h"
#include "router/router.h"
#include "router/toolbox/plan.h"

struct sr_edit_inputs {
    const struct sr_router *router;
    const struct sr_request *doc; /* a complete body */
    size_t root_open;             /* `root_open` of its scan */
    int model;                    /* chosen model; -1: nothing is sent, the router itself answers */
    const struct sr_choice *choice;
    const struct sr_config_decision *decision; /* decision that won; NULL: none */
    const char *effort;                        /* of reasoning; "" = none */
    bool named;       /* the client named the model: only its name and redacted spans change */
    bool hides_usage; /* a stage can remove from the answer the usage that only the router asked for */
    const struct sr_tool_plan *tools;           /* NULL: tools stay as they are */
    const struct sr_units *units;               /* the units of `redactions` */
    const struct sr_signal_finding *redactions; /* [n_redactions], by unit and offset */
    size_t n_redactions;
};

/* Kinds of edits, in their order: bits of `kinds`. */
enum sr_edit_kind {
    SR_EDIT_MODEL,
    SR_EDIT_STREAM,
    SR_EDIT_REASONING,
    SR_EDIT_PROMPT,
    SR_EDIT_TOOLS,
    SR_EDIT_PARAMS,
    SR_EDIT_REDACTION,
};

/* The edited body. */
struct sr_edited {
    const struct sr_bytes *slices; /* in the arena; they point into the arena and the body */
    size_t n_slices, size;         /* `size`: of all slices */
    uint32_t kinds;                /* edits that changed something; 0: the body is unchanged */
    int family;                    /* family whose reasoning members were set; -1 = none */
    bool injected_prompt;
    bool hidden_usage; /* the router asked for usage that the client did not ask for */
    struct sr_redaction redaction;
};

/* Edits the body. SR_ENOMEM, SR_ELIMIT, SR_ECONFLICT: `out` has what was done so far. */
int sr_edit_body(const struct sr_edit_inputs *in, struct sr_arena *arena,
                 struct sr_edited *out) SR_WARN_UNUSED;

#endif
