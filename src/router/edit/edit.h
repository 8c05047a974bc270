/*
 * The edits of a request's body: from what was decided to the bytes that go upstream.
 *
 * One function, sr_edit_body, from inputs to a list of splices, rendered. Each kind of edit is one file and
 * one function that adds entries to that list; what an edit does not name stays byte for byte. Conflicts:
 * docs/internals/request.md.
 */
#ifndef SR_ROUTER_EDIT_EDIT_H
#define SR_ROUTER_EDIT_EDIT_H

#include "router/edit/redact.h"
#include "router/router.h"

struct sr_edit_inputs {
    const struct sr_router *router;
    const struct sr_request *doc; /* a complete body */
    size_t root_open;             /* of its scan */
    int model;                    /* that it goes to */
    const struct sr_choice *choice;
    const struct sr_config_decision *decision; /* that won; NULL: none */
    const char *effort;                        /* of reasoning; "" = none */
    bool named;       /* the client named the model: only its name and what is redacted change */
    bool hides_usage; /* what is asked of the upstream here can be taken out of its answer again */
    const struct sr_turns *turns;               /* that `redactions` are of */
    const struct sr_signal_finding *redactions; /* [n_redactions], by turn and place */
    size_t n_redactions;
};

/* Kinds of edits, in their order: bits of `kinds`. */
enum sr_edit_kind {
    SR_EDIT_MODEL,
    SR_EDIT_STREAM,
    SR_EDIT_REASONING,
    SR_EDIT_PROMPT,
    SR_EDIT_PARAMS,
    SR_EDIT_REDACTION,
};

/* What became of the body. */
struct sr_edited {
    const struct sr_bytes *slices; /* in the arena; they point into it and into the body */
    size_t n_slices, size;         /* `size`: of all slices */
    uint32_t kinds;                /* that changed something; 0: the body is as it came */
    int family;                    /* whose switches of reasoning were set; -1 = none */
    bool injected_prompt;
    bool hidden_usage; /* usage was asked for that the client did not ask for */
    struct sr_redaction redaction;
};

/* Edits the body. SR_ENOMEM, SR_ELIMIT, SR_ECONFLICT: `out` has what was done so far. */
int sr_edit_body(const struct sr_edit_inputs *in, struct sr_arena *arena,
                 struct sr_edited *out) SR_WARN_UNUSED;

#endif
