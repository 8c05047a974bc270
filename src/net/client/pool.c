/*
 * The pool of idle upstream connections: grouped by origin and bounded. The least recently used connection is
 * closed first, and one timer closes connections after their idle timeout. An idle connection keeps reading,
 * so that it leaves the pool as soon as the peer closes it.
 */
#include "base/mem.h"
#include "net/client/private.h"

#include <stdint.h>

#define QUIET_CHECK_MS 50 /* a connection that was idle for longer is checked before it is used again */
#define PENDING_MAX    (4 * (size_t)SR_LOOP_READ_SIZE)

struct sr_pool_origin {
    struct sr_pool_origin *next;
    char host[SR_SOCK_HOST_MAX];
    char server_name[SR_SOCK_HOST_MAX];
    uint16_t port;
    sr_tls_context *tls;
    size_t users; /* connections, idle or not */
    size_t idle;
    struct sr_upstream *oldest, *newest; /* idle */
};

/* ---- origins ---- */

static const char *name_of(const struct sr_origin *origin)
{
    return origin->server_name ? origin->server_name : origin->host;
}

static struct sr_pool_origin *origin_find(struct sr_client *client, const struct sr_origin *origin)
{
    for (struct sr_pool_origin *o = client->origins; o; o = o->next)
        if (o->port == origin->port && o->tls == origin->tls && strcmp(o->host, origin->host) == 0 &&
            strcmp(o->server_name, name_of(origin)) == 0)
            return o;
    return NULL;
}

static struct sr_pool_origin *origin_get(struct sr_client *client, const struct sr_origin *origin)
{
    struct sr_pool_origin *o = origin_find(client, origin);
    if (o)
        return o;
    if (strlen(origin->host) >= sizeof o->host || strlen(name_of(origin)) >= sizeof o->server_name)
        return NULL;
    o = sr_mem_calloc(1, sizeof *o);
    if (!o)
        return NULL;
    memcpy(o->host, origin->host, strlen(origin->host) + 1);
    memcpy(o->server_name, name_of(origin), strlen(name_of(origin)) + 1);
    o->port = origin->port;
    o->tls = sr_tls_context_ref(origin->tls);
    o->next = client->origins;
    client->origins = o;
    return o;
}

static void origin_put(struct sr_client *client, struct sr_pool_origin *origin)
{
    struct sr_pool_origin **at = &client->origins;
    if (origin->users)
        return;
    while (*at != origin)
        at = &(*at)->next;
    *at = origin->next;
    sr_tls_context_unref(origin->tls);
    sr_mem_free(origin);
}

/* ---- idle lists ---- */

static void idle_unlink(struct sr_upstream *up)
{
    struct sr_client *client = up->client;
    struct sr_pool_origin *origin = up->origin;
    *(up->older ? &up->older->newer : &origin->oldest) = up->newer;
    *(up->newer ? &up->newer->older : &origin->newest) = up->older;
    *(up->older_of_all ? &up->older_of_all->newer_of_all : &client->oldest) = up->newer_of_all;
    *(up->newer_of_all ? &up->newer_of_all->older_of_all : &client->newest) = up->older_of_all;
    up->older = up->newer = up->older_of_all = up->newer_of_all = NULL;
    origin->idle--;
    client->idle--;
    up->idle = false;
}

static void idle_link(struct sr_upstream *up)
{
    struct sr_client *client = up->client;
    struct sr_pool_origin *origin = up->origin;
    up->older = origin->newest;
    *(up->older ? &up->older->newer : &origin->oldest) = up;
    origin->newest = up;
    up->older_of_all = client->newest;
    *(up->older_of_all ? &up->older_of_all->newer_of_all : &client->oldest) = up;
    client->newest = up;
    origin->idle++;
    client->idle++;
    up->idle = true;
}

static void reap(void *ctx)
{
    struct sr_client *client = ctx;
    uint64_t now = sr_loop_now(client->loop);
    while (client->oldest && client->oldest->idle_since + client->settings.keepalive_ms <= now) {
        struct sr_upstream *up = client->oldest;
        sr_upstream_close(&up);
    }
    if (client->oldest)
        sr_timer_start(&client->reaper, client->oldest->idle_since + client->settings.keepalive_ms - now);
}

/* ---- connections ---- */

void sr_upstream_close(struct sr_upstream **slot)
{
    struct sr_upstream *up = *slot;
    *slot = NULL;
    if (!up)
        return;
    if (up->idle)
        idle_unlink(up);
    up->origin->users--;
    origin_put(up->client, up->origin);
    sr_conn_close(&up->sock);
    sr_buf_dispose(&up->pending);
    sr_mem_free(up);
}

struct sr_upstream *sr_upstream_take(struct sr_client *client, const struct sr_origin *origin)
{
    struct sr_pool_origin *o;
    while ((o = origin_find(client, origin)) != NULL && o->newest) {
        struct sr_upstream *up = o->newest;
        uint64_t age = sr_loop_now(client->loop) - up->idle_since;
        if (age < client->settings.keepalive_ms && (age < QUIET_CHECK_MS || sr_conn_is_quiet(up->sock))) {
            idle_unlink(up);
            return up;
        }
        sr_upstream_close(&up);
    }
    return NULL;
}

int sr_upstream_connect(struct sr_upstream **out, struct sr_client *client, const struct sr_origin *origin,
                        struct sr_fetch *fetch, const struct sr_conn_events *events, uint32_t timeout_ms)
{
    struct sr_connect to = {.host = origin->host,
                            .port = origin->port,
                            .tls = origin->tls,
                            .server_name = origin->server_name,
                            .timeout_ms = timeout_ms};
    struct sr_pool_origin *o = origin_get(client, origin);
    struct sr_upstream *up = o ? sr_mem_calloc(1, sizeof *up) : NULL;
    int rc = SR_ENOMEM;
    if (up)
        rc = sr_conn_connect(&up->sock, client->loop, &to, events, up);
    if (rc != SR_OK) {
        sr_mem_free(up);
        if (o)
            origin_put(client, o);
        return rc;
    }
    up->client = client;
    up->origin = o;
    up->fetch = fetch;
    sr_buf_init(&up->pending, PENDING_MAX);
    o->users++;
    client->opened++;
    *out = up;
    return SR_OK;
}

void sr_upstream_release(struct sr_upstream *up)
{
    struct sr_client *client = up->client;
    struct sr_upstream *victim = NULL;
    up->fetch = NULL;
    up->idle_since = sr_loop_now(client->loop);
    sr_conn_resume(up->sock);
    idle_link(up);
    if (up->origin->idle > client->settings.max_idle_per_origin)
        victim = up->origin->oldest;
    else if (client->idle > client->settings.max_idle)
        victim = client->oldest;
    sr_upstream_close(&victim);
    if (client->oldest && !client->reaper.armed)
        sr_timer_start(&client->reaper, client->settings.keepalive_ms);
}

/* ---- the client ---- */

struct sr_client_settings sr_client_settings_defaults(void)
{
    return (struct sr_client_settings){
        .max_idle = 512, .max_idle_per_origin = 128, .keepalive_ms = 30000, .response_head_bytes = 65536};
}

int sr_client_new(struct sr_client **out, struct sr_loop *loop, const struct sr_client_settings *settings)
{
    struct sr_client *client = sr_mem_calloc(1, sizeof *client);
    if (!client)
        return SR_ENOMEM;
    client->loop = loop;
    client->settings = *settings;
    sr_buf_init(&client->scratch, (size_t)1 << 20);
    sr_timer_init(&client->reaper, loop, reap, client);
    *out = client;
    return SR_OK;
}

void sr_client_free(struct sr_client *client)
{
    if (!client)
        return;
    while (client->oldest) {
        struct sr_upstream *up = client->oldest;
        sr_upstream_close(&up);
    }
    sr_timer_stop(&client->reaper);
    sr_buf_dispose(&client->scratch);
    sr_mem_free(client);
}

size_t sr_client_idle(const struct sr_client *client)
{
    return client->idle;
}

uint64_t sr_client_opened(const struct sr_client *client)
{
    return client->opened;
}
