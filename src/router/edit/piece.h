/* Functions that edits share: pieces of JSON, the name of the model, and which members the request_params
 * plugin blocks. */
#ifndef SR_ROUTER_EDIT_PIECE_H
#define SR_ROUTER_EDIT_PIECE_H

#include "router/edit/kinds.h"

/* Joins `before`, the escaped text and `after` to a piece of JSON in the arena; `p` NULL when out of
 * memory. */
struct sr_bytes sr_edit_json(struct sr_edit *edit, const char *before, struct sr_bytes text,
                             const char *after);

/* The name of the chosen model that its upstream knows, or of the LoRA adapter. */
const char *sr_edit_upstream_name(const struct sr_edit *edit);

/* True when the decision's request_params plugin blocks this top-level member. */
bool sr_edit_blocked(const struct sr_edit *edit, struct sr_bytes name);

#endif
