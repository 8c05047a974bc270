/*
 * The files of the live page: HTML, style sheet, modules and icon, embedded in the program at its build.
 *
 * They hold nothing of this server, so they need no token: the page asks its user for one and sends it with
 * each call of the API. Their headers forbid everything that the page does not need (no inline script or
 * style, no other origin, no frame). Loop's thread only.
 */
#ifndef SR_SERVE_ADMIN_UI_H
#define SR_SERVE_ADMIN_UI_H

#include "net/server/server.h"

struct sr_ui_file;

/* The file of a path at or below /ui; NULL: there is none. */
const struct sr_ui_file *sr_ui_find(struct sr_bytes path);

/* Answers a GET or HEAD with the file, another method with 405. */
void sr_ui_reply(const struct sr_ui_file *file, struct sr_http_request *request);

#endif
