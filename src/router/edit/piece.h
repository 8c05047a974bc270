/*
 * What several edits need: pieces of JSON, and which members the request_params plugin blocks.
 */
#ifndef SR_ROUTER_EDIT_PIECE_H
#define SR_ROUTER_EDIT_PIECE_H

#include "router/edit/kinds.h"

/* `before`, the text escaped, `after`: a piece of JSON in the arena, `p` NULL when it is out of memory. */
struct sr_bytes sr_edit_json(struct sr_edit *edit, const char *before, struct sr_bytes text,
                             const char *after);

/* Does the decision's request_params plugin block this top-level member? */
bool sr_edit_blocked(const struct sr_edit *edit, struct sr_bytes name);

#endif
