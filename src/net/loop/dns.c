/*
 * Name resolution: a bounded cache, and getaddrinfo on separate threads.
 *
 * getaddrinfo blocks for as long as the resolver's configuration says, for example half a minute without a
 * reachable name server, and cannot be cancelled. So its threads are detached and belong to the process: a
 * loop that ends abandons its queries, and the process ends without waiting for them. Concurrent queries for
 * the same name are not merged: the connection pool makes them rare.
 */
#include "net/loop/dns.h"

#include "base/mem.h"
#include "base/thread.h"
#include "net/loop/loop_uv.h"
#include "net/loop/sock.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>

#define THREADS_MAX 8

struct dns_entry {
    char host[SR_SOCK_HOST_MAX];
    uint64_t expires;
    struct sr_dns_result result;
};

/* Receives the answers of one loop; exists until no thread works for it, even after the loop has ended. */
struct dns_port {
    pthread_mutex_t lock;
    struct sr_loop *loop; /* NULL: the loop has ended */
    size_t refs;
};

struct sr_dns_cache {
    struct dns_entry *entries[SR_DNS_CACHE_MAX];
    struct sr_dns_query *queries;
    struct dns_port *port;
};

/* Owned by the loop until it is queued for the threads, then by the threads until its message is run. */
struct sr_dns_query {
    struct sr_message message; /* first: the message is the object */
    struct dns_port *port;
    struct sr_dns_query *waiting; /* next in the queue of the threads */
    atomic_bool unwanted;
    int status; /* result of getaddrinfo */
    struct sr_dns_result result;
    char host[SR_SOCK_HOST_MAX];
    /* used by the loop only */
    struct sr_dns_query *next, **pprev;
    void (*done)(void *ctx, int code, const struct sr_dns_result *result, const char *text);
    void *ctx;
};

/* ---- the threads ---- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct sr_dns_query *head, **tail;
    size_t waiting, threads, idle;
} asking = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER, .tail = &asking.head};

static void port_unref(struct dns_port *port)
{
    pthread_mutex_lock(&port->lock);
    bool last = --port->refs == 0;
    pthread_mutex_unlock(&port->lock);
    if (last) {
        pthread_mutex_destroy(&port->lock);
        sr_mem_free(port);
    }
}

static void ask(struct sr_dns_query *query)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG}, *list = NULL;
    query->status = getaddrinfo(query->host, NULL, &hints, &list);
    for (struct addrinfo *a = query->status == 0 ? list : NULL;
         a && query->result.count < SR_DNS_ADDRESSES_MAX; a = a->ai_next)
        if (a->ai_addrlen <= sizeof query->result.address[0])
            memcpy(&query->result.address[query->result.count++], a->ai_addr, a->ai_addrlen);
    if (list)
        freeaddrinfo(list);
}

static void answer(struct sr_dns_query *query)
{
    struct dns_port *port = query->port;
    pthread_mutex_lock(&port->lock);
    bool sent = port->loop && sr_loop_post(port->loop, &query->message) == SR_OK;
    pthread_mutex_unlock(&port->lock);
    if (!sent)
        sr_mem_free(query);
    port_unref(port);
}

static void *thread_main(void *arg)
{
    (void)arg;
    sr_thread_name("sr-dns");
    for (;;) {
        pthread_mutex_lock(&asking.lock);
        while (!asking.head) {
            asking.idle++;
            pthread_cond_wait(&asking.more, &asking.lock);
            asking.idle--;
        }
        struct sr_dns_query *query = asking.head;
        asking.head = query->waiting;
        asking.waiting--;
        if (!asking.head)
            asking.tail = &asking.head;
        pthread_mutex_unlock(&asking.lock);
        if (!atomic_load(&query->unwanted))
            ask(query);
        answer(query);
    }
    return NULL;
}

static bool start_thread(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    if (pthread_attr_init(&attr) != 0)
        return false;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    bool started = pthread_create(&thread, &attr, thread_main, NULL) == 0;
    pthread_attr_destroy(&attr);
    return started;
}

/* False when no thread runs and none can be started. */
static bool submit(struct sr_dns_query *query)
{
    pthread_mutex_lock(&asking.lock);
    if (asking.waiting >= asking.idle && asking.threads < THREADS_MAX && start_thread())
        asking.threads++;
    bool taken = asking.threads > 0;
    if (taken) {
        *asking.tail = query;
        asking.tail = &query->waiting;
        asking.waiting++;
        pthread_cond_signal(&asking.more);
    }
    pthread_mutex_unlock(&asking.lock);
    return taken;
}

/* ---- the cache ---- */

static bool literal_parse(const char *host, struct sr_dns_result *result)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)&result->address[0];
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&result->address[0];
    memset(&result->address[0], 0, sizeof result->address[0]);
    result->count = 1;
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        return true;
    }
    if (inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        return true;
    }
    return false;
}

static struct dns_entry *cache_find(struct sr_loop *loop, const char *host)
{
    for (size_t i = 0; i < SR_DNS_CACHE_MAX; i++) {
        struct dns_entry *entry = loop->dns->entries[i];
        if (entry && strcmp(entry->host, host) == 0)
            return entry;
    }
    return NULL;
}

static void cache_store(struct sr_loop *loop, const char *host, const struct sr_dns_result *result)
{
    struct dns_entry *entry = cache_find(loop, host);
    size_t slot = 0;
    for (size_t i = 0; !entry && i < SR_DNS_CACHE_MAX; i++) {
        struct dns_entry *other = loop->dns->entries[i];
        if (!other || other->expires < loop->dns->entries[slot]->expires)
            slot = i;
        if (!other)
            break;
    }
    if (!entry && !loop->dns->entries[slot])
        loop->dns->entries[slot] = sr_mem_alloc(sizeof *entry);
    if (!entry)
        entry = loop->dns->entries[slot];
    if (!entry)
        return;
    memcpy(entry->host, host, strlen(host) + 1);
    entry->expires = sr_loop_now(loop) + SR_DNS_TTL_MS;
    entry->result = *result;
}

/* ---- queries ---- */

static void query_unlink(struct sr_dns_query *query)
{
    if (query->pprev)
        *query->pprev = query->next;
    if (query->next)
        query->next->pprev = query->pprev;
}

static void query_done(struct sr_message *message, bool closed)
{
    struct sr_dns_query *query = (struct sr_dns_query *)(void *)message;
    query_unlink(query);
    if (!closed && query->result.count)
        cache_store(query->port->loop, query->host, &query->result);
    if (!closed && query->done && query->result.count)
        query->done(query->ctx, SR_OK, &query->result, "");
    else if (!closed && query->done)
        query->done(query->ctx, SR_ENOENT, NULL,
                    query->status ? gai_strerror(query->status) : "name has no address");
    sr_mem_free(query);
}

static struct dns_port *port_new(struct sr_loop *loop)
{
    struct dns_port *port = sr_mem_calloc(1, sizeof *port);
    if (!port)
        return NULL;
    pthread_mutex_init(&port->lock, NULL);
    port->loop = loop;
    port->refs = 1;
    return port;
}

static void stop(struct sr_loop *loop)
{
    struct dns_port *port = loop->dns->port;
    if (!port)
        return;
    /* From here on a thread may free its query at any time, so no query may be reached through another
     * one. */
    pthread_mutex_lock(&port->lock);
    port->loop = NULL;
    while (loop->dns->queries) {
        struct sr_dns_query *query = loop->dns->queries;
        loop->dns->queries = query->next;
        query->next = NULL;
        query->pprev = NULL;
        atomic_store(&query->unwanted, true);
    }
    pthread_mutex_unlock(&port->lock);
}

static void cache_free(struct sr_loop *loop)
{
    for (size_t i = 0; i < SR_DNS_CACHE_MAX; i++)
        sr_mem_free(loop->dns->entries[i]);
    if (loop->dns->port)
        port_unref(loop->dns->port);
    sr_mem_free(loop->dns);
    loop->dns = NULL;
}

static bool cache_open(struct sr_loop *loop)
{
    if (!loop->dns) {
        loop->dns = sr_mem_calloc(1, sizeof *loop->dns);
        loop->dns_stop = stop;
        loop->dns_free = cache_free;
    }
    if (loop->dns && !loop->dns->port)
        loop->dns->port = port_new(loop);
    return loop->dns && loop->dns->port;
}

static void query_begin(struct sr_dns_query *query, struct sr_loop *loop)
{
    query->port = loop->dns->port;
    pthread_mutex_lock(&query->port->lock);
    query->port->refs++;
    pthread_mutex_unlock(&query->port->lock);
    query->next = loop->dns->queries;
    query->pprev = &loop->dns->queries;
    if (query->next)
        query->next->pprev = &query->next;
    loop->dns->queries = query;
}

int sr_dns_resolve(struct sr_dns_query **out, struct sr_loop *loop, const char *host,
                   struct sr_dns_result *result,
                   void (*done)(void *ctx, int code, const struct sr_dns_result *result, const char *text),
                   void *ctx)
{
    struct sr_dns_query *query;
    struct dns_entry *entry;
    *out = NULL;
    if (strlen(host) >= SR_SOCK_HOST_MAX || !*host)
        return SR_EINVAL;
    if (literal_parse(host, result))
        return SR_OK;
    if (!cache_open(loop))
        return SR_ENOMEM;
    entry = cache_find(loop, host);
    if (entry && entry->expires > sr_loop_now(loop)) {
        *result = entry->result;
        return SR_OK;
    }
    query = sr_mem_calloc(1, sizeof *query);
    if (!query)
        return SR_ENOMEM;
    query->message.run = query_done;
    query->done = done;
    query->ctx = ctx;
    memcpy(query->host, host, strlen(host) + 1);
    query_begin(query, loop);
    if (!submit(query)) {
        query_unlink(query);
        port_unref(query->port);
        sr_mem_free(query);
        return SR_ENOMEM;
    }
    *out = query;
    return SR_AGAIN;
}

void sr_dns_cancel(struct sr_dns_query **query)
{
    if (*query) {
        (*query)->done = NULL;
        atomic_store(&(*query)->unwanted, true);
    }
    *query = NULL;
}
