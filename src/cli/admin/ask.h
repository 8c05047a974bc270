/* A call of the admin API by a command: its answer as a document, or the command's exit code. */
#ifndef SR_CLI_ADMIN_ASK_H
#define SR_CLI_ADMIN_ASK_H

#include "cli/admin/call.h"
#include "json/doc.h"

/* Calls. SR_EXIT_DONE: *doc is the parsed answer of a 200, to be freed; with `json` it is printed instead,
 * and *doc stays as it was. Any other exit code: what went wrong has been said. */
int sr_admin_ask(const struct sr_usage *usage, const struct sr_admin_where *where, const char *path,
                 struct sr_bytes body, bool json, struct sr_doc **doc);

/* The message of an error's body; "" when there is none. */
void sr_admin_message(struct sr_bytes answer, char out[256]);

/* A whole number of an object; 0 when it is missing. */
int64_t sr_admin_number(const sr_doc_value *object, const char *name);

#endif
