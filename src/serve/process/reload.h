/*
 * Notices that the configuration should be loaded again: the file changed, or a reload was requested.
 *
 * One thread of its own watches the file and its directory (inotify), so that editors that replace files
 * and Kubernetes' swap of the `..data` link are seen; bursts of events become one call. The callback does
 * the reload.
 */
#ifndef SR_SERVE_PROCESS_RELOAD_H
#define SR_SERVE_PROCESS_RELOAD_H

#include "base/err.h"

/* Quiet time after the last event before the callback runs. */
#define SR_RELOAD_DEBOUNCE_MS 250

struct sr_reload;

#define SR_RELOAD_FILES_MAX 320 /* watched at once */

/* Starts watching `path` (NULL: none) and the files of `also` [n], all copied. sr_reload_now works in any
 * case. `changed` runs on the watcher's thread, one call at a time, and may take long. When the directory
 * cannot be watched (no inotify left) that is logged and sr_reload_now still works. SR_EIO, SR_ENOMEM. */
int sr_reload_start(struct sr_reload **out, const char *path, const char *const *also, size_t n,
                    void (*changed)(void *ctx), void *ctx, struct sr_err *err) SR_WARN_UNUSED;

/* Within the callback only: from now on these files are watched besides the first. */
void sr_reload_also(struct sr_reload *reload, const char *const *also, size_t n);

/* Any thread, never blocks: runs the callback soon. */
void sr_reload_now(struct sr_reload *reload);

/* Waits for a callback that runs, then ends the thread. NULL is allowed. */
void sr_reload_stop(struct sr_reload *reload);

#endif
