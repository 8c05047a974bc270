/* Queries with the resolver of libc, which gives TTLs and SRV records to those who read its messages. */
#include "serve/discover/lookup.h"

#include "base/mem.h"
#include "config/bind/value.h"

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <netdb.h>
#include <resolv.h>
#include <stdio.h>
#include <string.h>

#define ANSWER_MAX 65535
#define TRY_S      2 /* seconds until another try */

/* A resolver that asks `server`. SR_EINVAL: it is no address. */
static int open_resolver(struct __res_state *state, const char *server)
{
    struct sr_value_endpoint at;
    char host[64];
    memset(state, 0, sizeof *state);
    if (res_ninit(state) != 0)
        return SR_EIO;
    state->retrans = TRY_S;
    state->retry = 2;
    if (!server[0])
        return SR_OK;
    if (!sr_value_endpoint(sr_bytes_str(server), &at) || at.host.n >= sizeof host)
        return SR_EINVAL;
    snprintf(host, sizeof host, "%.*s", (int)at.host.n, at.host.p);
    state->nscount = 1;
    state->nsaddr_list[0] = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)at.port)};
    return inet_pton(AF_INET, host, &state->nsaddr_list[0].sin_addr) == 1 ? SR_OK : SR_EINVAL;
}

/* Adds what records of this type say. SR_ENOENT: there are none. */
static int query(struct __res_state *state, struct sr_discovered_list *out, const char *name, int type,
                 int port, double weight, uint32_t *ttl_s)
{
    unsigned char *answer = sr_mem_alloc(ANSWER_MAX);
    struct sr_dns_records records = {.ttl_s = UINT32_MAX};
    if (!answer)
        return SR_ENOMEM;
    int n = res_nsearch(state, name, ns_c_in, type, answer, ANSWER_MAX), rc;
    if (n < 0 || n > ANSWER_MAX)
        rc = state->res_h_errno == TRY_AGAIN ? SR_ETIMEOUT : SR_ENOENT;
    else
        rc = sr_dns_read(&records, sr_bytes_of((const char *)answer, (size_t)n), type == ns_t_srv, port);
    for (size_t i = 0; i < records.list.n && rc == SR_OK; i++) {
        const struct sr_discovered *item = &records.list.items[i];
        size_t before = out->n;
        rc = sr_discovered_add(out, sr_bytes_str(item->host), item->port, item->weight * weight);
        if (out->n > before)
            out->items[before].backup = item->backup;
    }
    if (records.ttl_s < *ttl_s)
        *ttl_s = records.ttl_s;
    if (rc == SR_OK && records.list.n == 0)
        rc = SR_ENOENT;
    sr_discovered_dispose(&records.list);
    sr_mem_free(answer);
    return rc;
}

/* IPv4 and IPv6 addresses. One kind alone is enough where the other is not there; one that was not answered
 * makes the whole answer bad, so that half of the workers do not go. */
static int query_addresses(struct __res_state *state, struct sr_discovered_list *out, const char *name,
                           int port, double weight, uint32_t *ttl_s)
{
    int v4 = query(state, out, name, ns_t_a, port, weight, ttl_s);
    if (v4 != SR_OK && v4 != SR_ENOENT)
        return v4;
    int v6 = query(state, out, name, ns_t_aaaa, port, weight, ttl_s);
    return v6 == SR_ENOENT ? v4 : v6;
}

/* The addresses of services, or of their backups. A backup that has none is left out. */
static int query_services(struct __res_state *state, struct sr_discovered_list *out,
                          const struct sr_discovered_list *services, bool backups, uint32_t *ttl_s)
{
    int rc = SR_OK;
    for (size_t i = 0; i < services->n && rc == SR_OK; i++) {
        const struct sr_discovered *service = &services->items[i];
        size_t before = out->n;
        if (service->backup != backups)
            continue;
        rc = query_addresses(state, out, service->host, service->port, service->weight, ttl_s);
        rc = backups && rc == SR_ENOENT ? SR_OK : rc;
        for (size_t k = before; k < out->n; k++)
            out->items[k].backup = backups;
    }
    return rc;
}

int sr_lookup(struct sr_discovered_list *out, const char *name, int port, bool srv, const char *server,
              uint32_t *ttl_s)
{
    struct __res_state state;
    struct sr_discovered_list services = {0};
    int rc = open_resolver(&state, server);
    *ttl_s = UINT32_MAX;
    if (rc == SR_OK && !srv)
        rc = query_addresses(&state, out, name, port, 1, ttl_s);
    if (rc == SR_OK && srv)
        rc = query(&state, &services, name, ns_t_srv, 0, 1, ttl_s);
    for (int backups = 0; backups < 2 && rc == SR_OK; backups++)
        rc = query_services(&state, out, &services, backups, ttl_s);
    sr_discovered_dispose(&services);
    res_nclose(&state);
    sr_discovered_sort(out);
    return rc;
}
