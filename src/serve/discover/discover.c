/* The thread of discovery: what is due, what was found, and how long the last good answer holds. */
#include "serve/discover/discover.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/read_file.h"
#include "base/thread.h"
#include "config/bind/value.h"
#include "serve/discover/lookup.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define FILE_BYTES_MAX ((size_t)1 << 20)
#define FILE_MS        5000 /* until a file is read */
#define AGAIN_NS       SR_NS_PER_S
#define TTL_MAX_S      3600u

/* One pool. */
struct source {
    const struct sr_config_pool *pool; /* of the configuration */
    struct sr_discovered_list last;    /* what the pool was told */
    uint64_t due_ns, good_ns;          /* the next try; the last good answer, 0: none yet */
    bool told;                         /* the pool was told of `last` */
    char problem[192];                 /* the last one that was logged; "" = it is good */
};

struct sr_discover {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t refs; /* the server's and the thread's */
    bool stopped;
    const struct sr_config *next; /* a reference; NULL: no news */
    struct sr_pool *pool;
    /* of the thread */
    const struct sr_config *config;
    struct source *sources;
    size_t n;
};

/* ---- telling ---- */

static int tell(struct sr_discover *discover, const struct source *source)
{
    const struct sr_discovered_list *list = &source->last;
    struct sr_pool_backend *backends = sr_mem_calloc(list->n + 1, sizeof *backends);
    const struct sr_config_model *model = &discover->config->models[source->pool->model];
    const struct sr_config_backend *like = model->n_backends ? &model->backends[0] : NULL;
    if (!backends)
        return SR_ENOMEM;
    for (size_t i = 0; i < list->n; i++)
        backends[i] = (struct sr_pool_backend){.scheme = like ? like->scheme : "http",
                                               .host = list->items[i].host,
                                               .base_path = like ? like->base_path : "",
                                               .port = list->items[i].port,
                                               .weight = list->items[i].weight,
                                               .backup = list->items[i].backup};
    pthread_mutex_lock(&discover->lock);
    int rc = discover->stopped ? SR_OK
                               : sr_pool_set_members(discover->pool, source->pool->name, backends, list->n);
    pthread_mutex_unlock(&discover->lock);
    sr_mem_free(backends);
    return rc;
}

/* Takes the list, which is good. */
static void found(struct sr_discover *discover, struct source *source, struct sr_discovered_list *list)
{
    bool same = source->told && sr_discovered_equal(&source->last, list);
    source->good_ns = sr_clock_ns();
    if (source->problem[0])
        sr_log(SR_LOG_INFO, "discover", "pool %s: good again", source->pool->name);
    source->problem[0] = '\0';
    if (!same) {
        struct sr_discovered_list before = source->last;
        source->last = *list;
        *list = before;
        source->told = tell(discover, source) == SR_OK;
        sr_log(SR_LOG_INFO, "discover", "pool %s: %zu workers", source->pool->name, source->last.n);
    }
    sr_discovered_dispose(list);
}

/* Nothing good was found: the last answer holds for a while. */
static void not_found(struct sr_discover *discover, struct source *source, const char *why)
{
    uint64_t keep_ns = source->pool->endpoints.keep_ms * SR_NS_PER_MS;
    bool over = source->last.n > 0 && keep_ns && sr_clock_ns() - source->good_ns > keep_ns;
    if (strcmp(source->problem, why) != 0) {
        snprintf(source->problem, sizeof source->problem, "%s", why);
        sr_log(SR_LOG_WARN, "discover", "pool %s: %s; it keeps %zu workers", source->pool->name, why,
               source->last.n);
    }
    if (over) {
        sr_discovered_dispose(&source->last);
        source->told = tell(discover, source) == SR_OK;
        sr_log(SR_LOG_ERROR, "discover", "pool %s: no good answer for too long: it has no worker now",
               source->pool->name);
    }
}

/* ---- asking ---- */

static int read_list(const char *path, struct sr_discovered_list *list, struct sr_err *err)
{
    struct sr_buf text;
    sr_buf_init(&text, FILE_BYTES_MAX);
    int rc = sr_read_file(&text, path, FILE_MS, err);
    if (rc == SR_OK)
        rc = sr_discovered_read(list, sr_buf_view(&text), err);
    sr_buf_dispose(&text);
    return rc;
}

static int ask_dns(const struct sr_config_pool *pool, struct sr_discovered_list *list, uint32_t *ttl_s,
                   struct sr_err *err)
{
    struct sr_value_endpoint at = {.port = 0};
    char name[SR_DISCOVER_HOST_MAX];
    bool srv = pool->endpoints.srv[0] != '\0';
    if (!srv && !sr_value_endpoint(sr_bytes_str(pool->endpoints.dns), &at))
        return SR_EINVAL;
    if (srv)
        at.host = sr_bytes_str(pool->endpoints.srv);
    snprintf(name, sizeof name, "%.*s", (int)at.host.n, at.host.p);
    int rc = sr_lookup(list, name, at.port, srv, pool->endpoints.server, ttl_s);
    const char *why = rc == SR_ENOENT     ? "the name has no such records"
                      : rc == SR_ETIMEOUT ? "no name server answers"
                                          : "the name server's answer is bad";
    return rc ? sr_err_set(err, rc, "`%s`: %s", name, why) : SR_OK;
}

/* Asks, and says when to ask again. */
static void ask(struct sr_discover *discover, struct source *source)
{
    const struct sr_config_pool *pool = source->pool;
    struct sr_discovered_list list = {0};
    struct sr_err err = {0};
    uint32_t ttl_s = 1;
    char why[192];
    bool file = pool->endpoints.file[0] != '\0';
    int rc = file ? read_list(pool->endpoints.file, &list, &err) : ask_dns(pool, &list, &ttl_s, &err);
    ttl_s = rc || ttl_s < 1 ? 1 : ttl_s < TTL_MAX_S ? ttl_s : TTL_MAX_S;
    if (rc == SR_OK) {
        found(discover, source, &list);
    } else {
        snprintf(why, sizeof why, "%s%s%s", file ? pool->endpoints.file : "DNS", ": ", err.message);
        not_found(discover, source, why);
        sr_discovered_dispose(&list);
    }
    source->due_ns = sr_clock_ns() + ttl_s * SR_NS_PER_S;
}

/* ---- the configuration ---- */

static bool same_endpoints(const struct sr_config_pool *a, const struct sr_config_pool *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->endpoints.file, b->endpoints.file) == 0 &&
           strcmp(a->endpoints.dns, b->endpoints.dns) == 0 &&
           strcmp(a->endpoints.srv, b->endpoints.srv) == 0 &&
           strcmp(a->endpoints.server, b->endpoints.server) == 0;
}

static void drop(struct sr_discover *discover)
{
    for (size_t i = 0; i < discover->n; i++)
        sr_discovered_dispose(&discover->sources[i].last);
    sr_mem_free(discover->sources);
    sr_config_unref(discover->config);
}

/* Takes the new configuration, and its reference. Sources that stay keep what they know; they are told again,
 * for the group may be another one. */
static void configure(struct sr_discover *discover, const struct sr_config *config)
{
    struct source *sources = sr_mem_calloc(config->global.n_pools + 1, sizeof *sources);
    size_t n = 0;
    if (!sources) {
        sr_log(SR_LOG_ERROR, "discover", "out of memory: pools stay as they are");
        sr_config_unref(config);
        return;
    }
    for (size_t i = 0; i < config->global.n_pools; i++) {
        const struct sr_config_pool *pool = &config->global.pools[i];
        if (!sr_config_pool_discovers(pool))
            continue;
        struct source *source = &sources[n++];
        for (size_t k = 0; k < discover->n; k++) {
            if (!same_endpoints(discover->sources[k].pool, pool))
                continue;
            *source = discover->sources[k];
            discover->sources[k].last = (struct sr_discovered_list){0};
            break;
        }
        source->pool = pool;
        source->told = false;
        source->due_ns = 0;
    }
    drop(discover);
    discover->sources = sources;
    discover->n = n;
    discover->config = config;
}

/* ---- the thread ---- */

static void unref(struct sr_discover *discover)
{
    pthread_mutex_lock(&discover->lock);
    bool last = --discover->refs == 0;
    pthread_mutex_unlock(&discover->lock);
    if (!last)
        return;
    drop(discover);
    sr_config_unref(discover->next);
    pthread_cond_destroy(&discover->changed);
    pthread_mutex_destroy(&discover->lock);
    sr_mem_free(discover);
}

/* Waits until something is due. A new configuration, with its reference; NULL: there is none. `*go` false:
 * stopped. */
static const struct sr_config *rest(struct sr_discover *discover, uint64_t until_ns, bool *go)
{
    pthread_mutex_lock(&discover->lock);
    uint64_t now = sr_clock_ns();
    while (!discover->stopped && !discover->next && (until_ns == 0 || now < until_ns)) {
        if (until_ns == 0) {
            pthread_cond_wait(&discover->changed, &discover->lock);
        } else {
            struct timespec at;
            clock_gettime(CLOCK_REALTIME, &at);
            uint64_t ns = (uint64_t)at.tv_nsec + (until_ns - now);
            at.tv_sec += (time_t)(ns / SR_NS_PER_S);
            at.tv_nsec = (long)(ns % SR_NS_PER_S);
            pthread_cond_timedwait(&discover->changed, &discover->lock, &at);
        }
        now = sr_clock_ns();
    }
    const struct sr_config *next = discover->next;
    discover->next = NULL;
    *go = !discover->stopped;
    pthread_mutex_unlock(&discover->lock);
    return next;
}

static void *thread_main(void *arg)
{
    struct sr_discover *discover = arg;
    uint64_t due = 0;
    bool go;
    sr_thread_name("sr-discover");
    for (;;) {
        const struct sr_config *next = rest(discover, due, &go);
        if (next)
            configure(discover, next);
        if (!go)
            break;
        uint64_t now = sr_clock_ns();
        due = 0;
        for (size_t i = 0; i < discover->n; i++) {
            struct source *source = &discover->sources[i];
            if (source->due_ns <= now)
                ask(discover, source);
            due = !due || source->due_ns < due ? source->due_ns : due;
        }
    }
    unref(discover);
    return NULL;
}

int sr_discover_start(struct sr_discover **out, struct sr_pool *pool, const struct sr_config *config)
{
    struct sr_discover *discover = sr_mem_calloc(1, sizeof *discover);
    pthread_t thread;
    *out = NULL;
    if (!discover)
        return SR_ENOMEM;
    pthread_mutex_init(&discover->lock, NULL);
    pthread_cond_init(&discover->changed, NULL);
    discover->refs = 2;
    discover->pool = pool;
    discover->next = sr_config_ref(config);
    if (pthread_create(&thread, NULL, thread_main, discover) != 0) {
        discover->refs = 1;
        unref(discover);
        return SR_EIO;
    }
    pthread_detach(thread);
    *out = discover;
    return SR_OK;
}

void sr_discover_configure(struct sr_discover *discover, const struct sr_config *config)
{
    pthread_mutex_lock(&discover->lock);
    sr_config_unref(discover->next);
    discover->next = sr_config_ref(config);
    pthread_cond_signal(&discover->changed);
    pthread_mutex_unlock(&discover->lock);
}

void sr_discover_stop(struct sr_discover *discover)
{
    if (!discover)
        return;
    pthread_mutex_lock(&discover->lock);
    discover->stopped = true;
    pthread_cond_signal(&discover->changed);
    pthread_mutex_unlock(&discover->lock);
    unref(discover);
}
