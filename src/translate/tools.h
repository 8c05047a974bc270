/*
 * What the APIs say about tools beside their functions: which may be called, what a free text must look like,
 * and which results belong to tools of free text.
 *
 * Private to this layer.
 */
#ifndef SR_TRANSLATE_TOOLS_H
#define SR_TRANSLATE_TOOLS_H

#include "translate/model.h"

/* A choice of the type `allowed_tools`, with its `mode` and `tools`, in the shape of chat completions or of
 * Responses: keeps back the tools of the request that are not in its list. The tools are read before. */
void sr_tr_allow_tools(struct sr_tr *tr, sr_json_view allowed, struct sr_tr_request *request);
/* The first tool from `tool` on that may be called; NULL: none. */
const struct sr_tr_tool *sr_tr_tool_allowed(const struct sr_tr_tool *tool);

/* Takes back what a request says about its choice of tools where the tools for it are not there: left out of
 * the request, or none given. What then is not said is named. The tools and the choice are read before. */
void sr_tr_check_choice(struct sr_tr *tr, struct sr_tr_request *request);

/* The format of a tool's free text, in the shape of chat completions or of Responses. */
void sr_tr_read_tool_format(struct sr_tr *tr, sr_json_view format, struct sr_tr_tool *tool);

/* Results of calls of tools of free text become such results: chat completions write both alike. SR_ENOMEM.
 */
int sr_tr_mark_custom_results(struct sr_tr *tr, struct sr_tr_request *request) SR_WARN_UNUSED;

#endif
