/* A request of the live stream as a line for people. */
#ifndef SR_CLI_ADMIN_LINE_H
#define SR_CLI_ADMIN_LINE_H

#include "base/buf.h"
#include "json/doc.h"

#define SR_ADMIN_LINE_MAX ((size_t)4 << 10)

/* Appends the line with its end. Control characters of texts become '?', so that no text moves the terminal's
 * cursor or changes its state. SR_ELIMIT, SR_ENOMEM. */
int sr_admin_line(const sr_doc_value *request, bool colour, struct sr_buf *out) SR_WARN_UNUSED;

#endif
