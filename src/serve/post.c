/* One small heap message for each call. */
#include "serve/post.h"

#include "base/mem.h"

#include <time.h>

struct posted {
    struct sr_message message; /* first: the message is the object */
    void (*task)(void *arg);
    void *arg;
};

static void run_posted(struct sr_message *self, bool closed)
{
    struct posted *posted = (struct posted *)(void *)self;
    (void)closed; /* the task also frees its argument, so it runs after close too */
    posted->task(posted->arg);
    sr_mem_free(posted);
}

void sr_serve_post(struct sr_loop *loop, void (*task)(void *arg), void *arg)
{
    struct posted *posted;
    while (!(posted = sr_mem_alloc(sizeof *posted)))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    *posted = (struct posted){.message.run = run_posted, .task = task, .arg = arg};
    if (sr_loop_post(loop, &posted->message) != SR_OK)
        sr_mem_free(posted);
}
