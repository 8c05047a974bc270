/*
 * Earlier calls of tools and their results: a request without tools may lose them.
 */
#ifndef SR_ROUTER_EDIT_TOOL_HISTORY_H
#define SR_ROUTER_EDIT_TOOL_HISTORY_H

#include "router/edit/kinds.h"

/* Removes the calls and results of all messages, and messages that have nothing else. SR_ENOMEM, SR_ELIMIT.
 */
int sr_edit_strip_history(struct sr_edit *edit) SR_WARN_UNUSED;

#endif
