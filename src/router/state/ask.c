/* The lookup keeps its own deadline; the exchange's is a little later, for a result that is on its way. */
#include "router/state/ask.h"

#include "base/clock.h"

#include <string.h>

#define LATE_MS 100u

/* Can a response be there that was not found? A Redis that was not asked (`late` is false) may have it: it
 * has too many questions. */
static bool is_unsure(const struct sr_state_ask *ask, bool late)
{
    struct sr_cache_stats stats;
    sr_cache_stats(ask->cache, &stats);
    return stats.backend.state != SR_CACHE_BACKEND_READY ||
           (late ? sr_clock_ns() + LATE_MS * SR_NS_PER_MS >= ask->deadline_ns
                 : strcmp(stats.backend_name, "redis") == 0);
}

static void take(struct sr_state_ask *ask, bool late)
{
    struct sr_cache_lookup *lookup = ask->lookup;
    ask->record = lookup->record ? sr_cache_record_ref(lookup->record) : NULL;
    ask->away = !ask->record && is_unsure(ask, late);
    ask->lookup = NULL;
    sr_task_unref(&lookup->task);
}

/* Runs on the exchange's thread. */
static void lookup_done(struct sr_task *task, int status)
{
    struct sr_state_ask *ask = sr_cache_lookup_ctx(task);
    if (status == SR_ECANCELED || !ask->pending)
        return;
    take(ask, true);
    ask->pending = false;
    ask->done(ask->ctx);
}

int sr_state_ask_begin(struct sr_state_ask *ask, const struct sr_state_ask_in *in)
{
    uint64_t due = sr_clock_ns() + in->timeout_ms * SR_NS_PER_MS;
    *ask = (struct sr_state_ask){
        .cache = in->cache, .deadline_ns = due + LATE_MS * SR_NS_PER_MS, .done = in->done, .ctx = in->ctx};
    int rc = sr_stored_key(in->owner, in->id, &ask->key);
    if (rc)
        return rc == SR_EINVAL ? SR_OK : rc;
    struct sr_cache_query query = {.exact = ask->key, .store_deadline_ns = in->mailbox ? due : 0};
    ask->pending = true;
    rc = sr_cache_lookup(in->cache, &query, in->mailbox, lookup_done, ask, &ask->lookup);
    ask->pending = rc == SR_AGAIN;
    if (rc == SR_OK)
        take(ask, false);
    return rc;
}

void sr_state_ask_give_up(struct sr_state_ask *ask)
{
    ask->pending = false;
    ask->away = true;
    if (!ask->lookup)
        return;
    sr_task_cancel(&ask->lookup->task);
    sr_task_unref(&ask->lookup->task);
    ask->lookup = NULL;
}

void sr_state_ask_remove(struct sr_state_ask *ask)
{
    struct sr_cache_selector selector = {.exact = ask->key, .model = SR_LIT("")};
    (void)sr_cache_remove(ask->cache, &selector, false);
}

void sr_state_ask_dispose(struct sr_state_ask *ask)
{
    if (ask->lookup)
        sr_state_ask_give_up(ask);
    sr_cache_record_unref(ask->record);
    ask->record = NULL;
}
