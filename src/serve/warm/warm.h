/*
 * Warms the response cache: files known answers line by line, as if clients had asked and models answered.
 *
 * A thread of its own with a loop of its own, started by the first job; one line at a time, so that requests
 * of clients go first everywhere. Jobs wait in a queue of SR_WARM_JOBS_MAX.
 */
#ifndef SR_SERVE_WARM_WARM_H
#define SR_SERVE_WARM_WARM_H

#include "base/buf.h"
#include "base/err.h"
#include "net/loop/loop.h"
#include "router/runtime.h"

#define SR_WARM_JOBS_MAX 4
#define SR_WARM_FILE_MAX ((size_t)64 << 20) /* bytes of a file that is read at the start */

struct sr_warm;
struct sr_warm_job;

/* SR_ENOMEM. */
int sr_warm_new(struct sr_warm **out, sr_runtime *runtime) SR_WARN_UNUSED;
/* Ends the thread; what is left of the jobs is dropped, and their `done` gets status 503. Before the runtime
 * closes. */
void sr_warm_stop(struct sr_warm *warm);
/* After the runtime is closed, and after sr_warm_stop. NULL is allowed. */
void sr_warm_free(struct sr_warm *warm);

/* Takes `lines` (emptied on success): JSON Lines as serve/warm/line.h has them. `done` is called on the
 * thread of `loop` with an HTTP status and, for 200, the report as JSON, borrowed for the call; the job is
 * gone then. SR_EBUSY: too many jobs wait. SR_ENOMEM, SR_EIO. Thread of `loop`. */
int sr_warm_start(struct sr_warm_job **out, struct sr_warm *warm, struct sr_buf *lines, struct sr_loop *loop,
                  void (*done)(void *ctx, int status, struct sr_bytes answer), void *ctx) SR_WARN_UNUSED;
/* Before `done`, which is not called any more; the rest of the lines is not read. NULL is allowed. */
void sr_warm_cancel(struct sr_warm_job *job);

/* Reads a file and warms with it; the log says what became of it. Not on a loop: it reads the file. */
void sr_warm_file(struct sr_warm *warm, const char *path);

#endif
