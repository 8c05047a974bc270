/*
 * Name resolution: a bounded cache in front of uv_getaddrinfo. Queries for the same name at the same time are
 * not merged: the pool of connections above makes that rare.
 */
#include "net/dns.h"

#include "base/mem.h"
#include "net/loop_uv.h"
#include "net/sock.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

struct dns_entry {
    char host[SR_SOCK_HOST_MAX];
    uint64_t expires;
    struct sr_dns_result result;
};

struct sr_dns_cache {
    struct dns_entry *entries[SR_DNS_CACHE_MAX];
    struct sr_dns_query *queries;
};

struct sr_dns_query {
    uv_getaddrinfo_t request;
    struct sr_loop *loop;
    struct sr_dns_query *next, **pprev;
    void (*done)(void *ctx, int code, const struct sr_dns_result *result, const char *text);
    void *ctx;
    char host[SR_SOCK_HOST_MAX];
};

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

static void query_unlink(struct sr_dns_query *query)
{
    *query->pprev = query->next;
    if (query->next)
        query->next->pprev = query->pprev;
}

static void query_done(uv_getaddrinfo_t *request, int status, struct addrinfo *list)
{
    struct sr_dns_query *query = request->data;
    struct sr_dns_result result = {0};
    query_unlink(query);
    for (struct addrinfo *a = status == 0 ? list : NULL; a && result.count < SR_DNS_ADDRESSES_MAX;
         a = a->ai_next)
        if (a->ai_addrlen <= sizeof result.address[0])
            memcpy(&result.address[result.count++], a->ai_addr, a->ai_addrlen);
    if (list)
        uv_freeaddrinfo(list);
    if (result.count)
        cache_store(query->loop, query->host, &result);
    if (query->done && result.count)
        query->done(query->ctx, SR_OK, &result, "");
    else if (query->done)
        query->done(query->ctx, SR_ENOENT, NULL, status ? uv_strerror(status) : "name has no address");
    sr_mem_free(query);
}

int sr_dns_resolve(struct sr_dns_query **out, struct sr_loop *loop, const char *host,
                   struct sr_dns_result *result,
                   void (*done)(void *ctx, int code, const struct sr_dns_result *result, const char *text),
                   void *ctx)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    struct sr_dns_query *query;
    struct dns_entry *entry;
    *out = NULL;
    if (strlen(host) >= SR_SOCK_HOST_MAX || !*host)
        return SR_EINVAL;
    if (literal_parse(host, result))
        return SR_OK;
    if (!loop->dns && !(loop->dns = sr_mem_calloc(1, sizeof *loop->dns)))
        return SR_ENOMEM;
    entry = cache_find(loop, host);
    if (entry && entry->expires > sr_loop_now(loop)) {
        *result = entry->result;
        return SR_OK;
    }
    query = sr_mem_calloc(1, sizeof *query);
    if (!query)
        return SR_ENOMEM;
    query->loop = loop;
    query->done = done;
    query->ctx = ctx;
    query->request.data = query;
    memcpy(query->host, host, strlen(host) + 1);
    if (uv_getaddrinfo(&loop->uv, &query->request, query_done, host, NULL, &hints) != 0) {
        sr_mem_free(query);
        return SR_ENOMEM;
    }
    query->next = loop->dns->queries;
    query->pprev = &loop->dns->queries;
    if (query->next)
        query->next->pprev = &query->next;
    loop->dns->queries = query;
    *out = query;
    return SR_AGAIN;
}

void sr_dns_cancel(struct sr_dns_query **query)
{
    if (*query) {
        (*query)->done = NULL;
        uv_cancel((uv_req_t *)&(*query)->request);
    }
    *query = NULL;
}

void sr_dns_cancel_all(struct sr_loop *loop)
{
    for (struct sr_dns_query *query = loop->dns ? loop->dns->queries : NULL; query; query = query->next) {
        query->done = NULL;
        uv_cancel((uv_req_t *)&query->request);
    }
}

void sr_dns_cache_free(struct sr_loop *loop)
{
    for (size_t i = 0; loop->dns && i < SR_DNS_CACHE_MAX; i++)
        sr_mem_free(loop->dns->entries[i]);
    sr_mem_free(loop->dns);
    loop->dns = NULL;
}
