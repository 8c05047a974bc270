/*
 * One known answer on its way into the cache: an exchange that is given the request and, in place of an
 * upstream's, the answer. So keys, signals, guards and limits are those of a client's request.
 *
 * On the thread of its loop; one at a time.
 */
#ifndef SR_SERVE_WARM_RUN_H
#define SR_SERVE_WARM_RUN_H

#include "base/buf.h"
#include "net/loop/loop.h"
#include "router/purpose.h"
#include "router/runtime.h"
#include "serve/warm/line.h"

struct sr_warm_outcome {
    const char *code;  /* why it is not kept; NULL: it is */
    char message[256]; /* the same for people */
    bool by_meaning;   /* it has a vector */
    bool again;        /* there was no room, or something was late: it may succeed later */
};

struct sr_warm_run {
    sr_runtime *runtime;
    struct sr_loop *loop;
    void (*done)(void *ctx);
    void *ctx;

    /* private */
    const struct sr_warm_line *line;
    bool streamed, answering;
    sr_exchange *exchange; /* NULL: none is in progress */
    struct sr_timer timer;
    struct sr_buf answer;
    struct sr_warm_outcome outcome; /* of the last one */
};

void sr_warm_run_init(struct sr_warm_run *run, sr_runtime *runtime, struct sr_loop *loop,
                      void (*done)(void *ctx), void *ctx);
/* Ends what is in progress, without `done`. */
void sr_warm_run_dispose(struct sr_warm_run *run);

/* Begins with a line, in one of its forms; the line must live until the end. SR_OK: `outcome` is there.
 * SR_AGAIN: `done` will be called. */
int sr_warm_run_start(struct sr_warm_run *run, const struct sr_warm_line *line, bool streamed) SR_WARN_UNUSED;

#endif
