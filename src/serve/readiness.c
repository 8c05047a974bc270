/*
 * Gathers items; those that block make the status. Workers that health checks find down are used all the same
 * when all are down, so they block only where the configuration wants it; those in cooldown never do.
 */
#include "serve/readiness.h"

#include "base/clock.h"
#include "base/json_write.h"
#include "base/progress.h"
#include "cache/cache.h"
#include "config/config.h"
#include "router/router.h"
#include "router/runtime.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define STEPS_MAX 16
#define ITEMS_MAX (STEPS_MAX + 8)
#define NAMES_MAX 5 /* models that an item names */

struct item {
    const char *what; /* a stable word */
    char message[512];
    uint64_t done, total; /* `total` 0: not known */
    bool blocks;
};

struct items {
    struct item all[ITEMS_MAX];
    size_t n, blocking;
};

static struct item *add(struct items *items, bool blocks, const char *what, const char *fmt, ...)
    SR_PRINTF(4, 5);

/* There is room: ITEMS_MAX counts all calls. */
static struct item *add(struct items *items, bool blocks, const char *what, const char *fmt, ...)
{
    struct item *item = &items->all[items->n++];
    va_list args;
    *item = (struct item){.what = what, .blocks = blocks};
    items->blocking += blocks;
    va_start(args, fmt);
    vsnprintf(item->message, sizeof item->message, fmt, args);
    va_end(args);
    return item;
}

/* ---- steps in progress ---- */

static void add_steps(struct items *items, const struct sr_readiness_of *of)
{
    struct sr_progress_view steps[STEPS_MAX];
    size_t n = of->names ? sr_progress_now(steps, STEPS_MAX) : 0;
    for (size_t i = 0; i < n; i++) {
        const struct sr_progress_view *step = &steps[i];
        double seconds = (double)step->took_ns / SR_NS_PER_S;
        if (!step->total) {
            add(items, !of->runtime, "loading", "%s, for %.0f s", step->name, seconds);
            continue;
        }
        struct item *item = add(items, !of->runtime, "loading", "%s: %" PRIu64 " of %" PRIu64 ", for %.0f s",
                                step->name, step->done, step->total, seconds);
        item->done = step->done;
        item->total = step->total;
    }
}

/* ---- workers ---- */

struct models {
    size_t all, up, down, unwell; /* with workers; of them: some up, all down, none that takes requests now */
    char names[NAMES_MAX * 72];
    size_t named;
};

static void name_model(struct models *models, const char *name)
{
    size_t n = strlen(models->names);
    if (models->named++ < NAMES_MAX)
        snprintf(models->names + n, sizeof models->names - n, "%s%.60s", n ? ", " : "", name);
}

static void count_model(struct models *models, const struct sr_router_model *model, const char *name)
{
    size_t workers = 0, down = 0, well = 0;
    bool discovered = false;
    for (size_t i = 0; i < model->n_pools; i++) {
        struct sr_pool_group_count count;
        sr_pool_group_count(model->pools[i].group, &count);
        discovered |= model->pools[i].discovered;
        workers += count.workers;
        down += count.down;
        well += count.well;
    }
    if (!workers && !discovered)
        return;
    models->all++;
    models->up += down < workers;
    models->down += workers && down == workers;
    models->unwell += !well;
    if (!well)
        name_model(models, name);
}

static void add_workers(struct items *items, const struct sr_readiness_of *of)
{
    struct models models = {0};
    struct sr_router *router = sr_runtime_router(of->runtime);
    bool needed = router->config->global.ready_needs_worker;
    for (size_t i = 0; i < router->config->n_models; i++)
        count_model(&models, &router->models[i], router->config->models[i].name);
    sr_router_unref(router);
    if (!models.unwell)
        return;
    bool none = models.down && !models.up;
    const char *what = none ? "no model has a worker that is up" : "models without a worker that is well";
    struct item *item =
        add(items, none && needed, "workers", "%s: %zu of %zu", what, models.unwell, models.all);
    size_t n = strlen(item->message), left = models.named > NAMES_MAX ? models.named - NAMES_MAX : 0;
    if (of->names)
        n += (size_t)snprintf(item->message + n, sizeof item->message - n, " (%s", models.names);
    if (of->names && left)
        n += (size_t)snprintf(item->message + n, sizeof item->message - n, " and %zu more", left);
    if (of->names)
        snprintf(item->message + n, sizeof item->message - n, ")");
}

/* ---- the rest ---- */

static void add_reload(struct items *items, const struct sr_readiness_of *of)
{
    struct sr_reload_state state;
    sr_runtime_reload_state(of->runtime, &state);
    if (!state.failed)
        return;
    const struct sr_config *config = sr_runtime_config(of->runtime);
    add(items, false, "configuration", "the last reload failed, and revision %s stays%s%.300s",
        config->revision, of->names && state.message[0] ? ": " : "", of->names ? state.message : "");
    sr_config_unref(config);
}

static void add_store(struct items *items, struct sr_cache *cache, const char *what, const char *name)
{
    struct sr_cache_stats stats;
    sr_cache_stats(cache, &stats);
    if (stats.backend.state == SR_CACHE_BACKEND_STARTING)
        add(items, false, what, "%s: its store is not open yet", name);
    else if (stats.backend.state == SR_CACHE_BACKEND_AWAY)
        add(items, false, what, "%s: its store is away", name);
}

static void gather(struct items *items, const struct sr_readiness_of *of)
{
    if (of->draining)
        add(items, true, "process", "it drains: no new connections are accepted");
    if (!of->runtime)
        add(items, true, "process", "it starts");
    add_steps(items, of);
    if (!of->runtime)
        return;
    add_workers(items, of);
    add_reload(items, of);
    add_store(items, sr_runtime_cache(of->runtime), "cache", "response cache");
    add_store(items, sr_runtime_responses(of->runtime), "conversations", "conversations of Responses");
}

/* ---- the page ---- */

static void put_items(struct sr_json_writer *w, const struct items *items, bool blocking)
{
    if (blocking ? !items->blocking : items->n == items->blocking)
        return;
    sr_json_array(w, blocking ? "missing" : "notes");
    for (size_t i = 0; i < items->n; i++) {
        const struct item *item = &items->all[i];
        if (item->blocks != blocking)
            continue;
        sr_json_object(w, NULL);
        sr_json_text(w, "what", item->what);
        sr_json_text(w, "message", item->message);
        if (item->total) {
            sr_json_uint(w, "done", item->done);
            sr_json_uint(w, "total", item->total);
        }
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
}

bool sr_readiness_has_workers(sr_runtime *runtime)
{
    struct sr_readiness_of of = {.runtime = runtime};
    struct items items;
    items.n = items.blocking = 0;
    add_workers(&items, &of);
    return items.blocking == 0;
}

int sr_readiness(const struct sr_readiness_of *of, struct sr_buf *out)
{
    struct items items;
    struct sr_json_writer w = sr_json_writer_of(out);
    items.n = items.blocking = 0;
    gather(&items, of);
    bool ready = items.blocking == 0;
    sr_json_object(&w, NULL);
    sr_json_text(&w, "status",
                 ready          ? "ready"
                 : of->draining ? "draining"
                 : !of->runtime ? "starting"
                                : "not_ready");
    sr_json_text(&w, "service", of->service);
    sr_json_bool(&w, "ready", ready);
    put_items(&w, &items, true);
    put_items(&w, &items, false);
    sr_json_object_end(&w);
    return w.rc ? 500 : ready ? 200 : 503;
}
