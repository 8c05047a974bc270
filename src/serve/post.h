/* Posts a function call to a loop's thread: the exchanges' `post` for doors that run on loops. */
#ifndef SR_SERVE_POST_H
#define SR_SERVE_POST_H

#include "net/loop/loop.h"

/* Any thread. Runs task(arg) once on the loop's thread, in order of posting; if the loop is freed first,
 * within sr_loop_free. Waits for memory instead of losing the call, so loop threads must not call it. */
void sr_serve_post(struct sr_loop *loop, void (*task)(void *arg), void *arg);

#endif
