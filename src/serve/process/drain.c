/* The loops stop accepting; the last of their doors whose connections end wakes the main thread. */
#include "serve/process/drain.h"

#include "base/mem.h"
#include "serve/process/private.h"

#include <unistd.h>

void sr_server_drained(void *ctx)
{
    struct sr_server *server = ctx;
    if (atomic_fetch_sub(&server->undrained, 1) == 1) {
        uint64_t one = 1;
        ssize_t n = write(server->done, &one, sizeof one);
        (void)n;
    }
}

struct drain_message {
    struct sr_message message; /* first: the message is the object */
    struct sr_server_loop *loop;
};

static void drain_loop(struct sr_message *self, bool closed)
{
    struct drain_message *drain = (struct drain_message *)(void *)self;
    if (!closed) {
        sr_gateway_drain(drain->loop->gateway);
        if (drain->loop->extproc)
            sr_extproc_drain(drain->loop->extproc);
    }
    sr_mem_free(drain);
}

bool sr_server_drain(struct sr_server *server)
{
    atomic_store(&server->draining, true);
    int doors = (server->n_listeners > 0 ? 1 : 0) + (server->extproc.address.off ? 0 : 1);
    if (doors == 0)
        return false;
    atomic_store(&server->undrained, doors * server->n_loops);
    for (int i = 0; i < server->n_loops; i++) {
        struct drain_message *drain = sr_mem_calloc(1, sizeof *drain);
        if (!drain)
            return false;
        drain->message.run = drain_loop;
        drain->loop = &server->loops[i];
        if (sr_loop_post(server->loops[i].loop, &drain->message) != SR_OK) {
            sr_mem_free(drain);
            return false;
        }
    }
    return true;
}
