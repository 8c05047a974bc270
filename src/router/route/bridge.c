/* A mailbox with a lifetime of its own. The lock orders posts against the owner's leaving. */
#include "router/route/bridge.h"

#include "base/mem.h"
#include "base/ref.h"

struct sr_bridge {
    struct sr_ref ref;
    pthread_mutex_t lock;
    bool detached;
    struct sr_exchange_env env;
    struct sr_mailbox box;
};

static void bridge_unref(struct sr_bridge *bridge)
{
    if (!sr_ref_put(&bridge->ref))
        return;
    sr_mailbox_dispose(&bridge->box);
    pthread_mutex_destroy(&bridge->lock);
    sr_mem_free(bridge);
}

/* Owner's thread. */
static void bridge_task(void *arg)
{
    struct sr_bridge *bridge = arg;
    sr_mailbox_run(&bridge->box);
    bridge_unref(bridge);
}

/* Sender's thread, once for each message: passes on the reference that the message held. */
static void bridge_wake(void *ctx)
{
    struct sr_bridge *bridge = ctx;
    pthread_mutex_lock(&bridge->lock);
    bool detached = bridge->detached;
    if (!detached)
        bridge->env.post(bridge->env.ctx, bridge_task, bridge);
    pthread_mutex_unlock(&bridge->lock);
    if (detached)
        bridge_task(bridge);
}

int sr_bridge_new(struct sr_bridge **out, const struct sr_exchange_env *env)
{
    struct sr_bridge *bridge = sr_mem_calloc(1, sizeof *bridge);
    if (!bridge)
        return SR_ENOMEM;
    sr_ref_init(&bridge->ref);
    pthread_mutex_init(&bridge->lock, NULL);
    bridge->env = *env;
    sr_mailbox_init(&bridge->box, bridge_wake, bridge);
    *out = bridge;
    return SR_OK;
}

struct sr_mailbox *sr_bridge_mailbox(struct sr_bridge *bridge)
{
    return &bridge->box;
}

void sr_bridge_expect(struct sr_bridge *bridge)
{
    sr_ref_get(&bridge->ref);
}

void sr_bridge_unexpect(struct sr_bridge *bridge)
{
    bridge_unref(bridge);
}

void sr_bridge_detach(struct sr_bridge *bridge)
{
    if (!bridge)
        return;
    pthread_mutex_lock(&bridge->lock);
    bridge->detached = true;
    pthread_mutex_unlock(&bridge->lock);
    bridge_unref(bridge);
}
