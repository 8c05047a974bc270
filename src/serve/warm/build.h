/*
 * The request that a line of a warming file stands for, and the answer of an upstream to it, as bytes.
 *
 * Pure functions. What the line gives as JSON is copied as it is written, so that it falls into the partition
 * of clients that write it the same way.
 */
#ifndef SR_SERVE_WARM_BUILD_H
#define SR_SERVE_WARM_BUILD_H

#include "base/buf.h"
#include "dialect/dialect.h"
#include "serve/warm/line.h"

/* Appends the body of the request, for one of the line's forms. `model`: for a line that names none.
 * SR_ENOMEM, SR_ELIMIT. */
int sr_warm_request(const struct sr_warm_line *line, const char *model, bool streamed,
                    struct sr_buf *out) SR_WARN_UNUSED;

/* Appends the answer in that form. `model`: the one that is chosen for the request; `now`: seconds since
 * 1970. SR_EUNSUPPORTED with a message: the response cannot be told in this form. SR_ENOMEM, SR_ELIMIT. */
int sr_warm_answer(const struct sr_warm_line *line, const struct sr_dialect_ops *dialect, const char *model,
                   uint64_t now, bool streamed, struct sr_buf *out, struct sr_err *err) SR_WARN_UNUSED;

#endif
