/* One lock, one counter, and a hash table of the clients that have connections, which is as large as they
 * are. */
#include "net/server/census.h"

#include "base/hash.h"
#include "base/mem.h"

#include <netinet/in.h>
#include <pthread.h>
#include <string.h>

#define BUCKETS 1024

struct sr_census_client {
    unsigned char address[16]; /* IPv4 in its IPv6 form; the second half of an IPv6 address is zero */
    size_t connections;
    struct sr_census_client *next;
};

struct sr_census {
    pthread_mutex_t lock;
    size_t connections, max, max_client;
    struct sr_census_client *clients[BUCKETS];
};

static void address_of(const struct sockaddr *peer, unsigned char out[16])
{
    memset(out, 0, 16);
    if (peer->sa_family == AF_INET) {
        out[10] = out[11] = 0xff;
        memcpy(out + 12, &((const struct sockaddr_in *)(const void *)peer)->sin_addr, 4);
    } else if (peer->sa_family == AF_INET6) {
        const struct in6_addr *v6 = &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr;
        memcpy(out, v6, IN6_IS_ADDR_V4MAPPED(v6) ? 16 : 8);
    }
}

/* The link that points to the client, or to the NULL at the end of its chain. */
static struct sr_census_client **link_of(struct sr_census *census, const unsigned char address[16])
{
    struct sr_census_client **link = &census->clients[sr_hash64(sr_bytes_of(address, 16), 0) % BUCKETS];
    while (*link && memcmp((*link)->address, address, 16) != 0)
        link = &(*link)->next;
    return link;
}

int sr_census_new(struct sr_census **out)
{
    *out = sr_mem_calloc(1, sizeof **out);
    if (!*out)
        return SR_ENOMEM;
    pthread_mutex_init(&(*out)->lock, NULL);
    return SR_OK;
}

void sr_census_free(struct sr_census *census)
{
    if (!census)
        return;
    pthread_mutex_destroy(&census->lock);
    sr_mem_free(census);
}

void sr_census_limit(struct sr_census *census, size_t connections, size_t per_client)
{
    pthread_mutex_lock(&census->lock);
    census->max = connections;
    census->max_client = per_client;
    pthread_mutex_unlock(&census->lock);
}

/* Under the lock. */
static int enter(struct sr_census *census, const unsigned char address[16], struct sr_census_client **out)
{
    if (census->max && census->connections >= census->max)
        return SR_ELIMIT;
    struct sr_census_client **link = link_of(census, address), *client = *link;
    if (client && census->max_client && client->connections >= census->max_client)
        return SR_EBUSY;
    if (!client) {
        client = sr_mem_calloc(1, sizeof *client);
        if (!client)
            return SR_ENOMEM;
        memcpy(client->address, address, 16);
        *link = client;
    }
    client->connections++;
    census->connections++;
    *out = client;
    return SR_OK;
}

int sr_census_enter(struct sr_census *census, const struct sockaddr *peer, struct sr_census_client **client)
{
    unsigned char address[16];
    address_of(peer, address);
    pthread_mutex_lock(&census->lock);
    int rc = enter(census, address, client);
    pthread_mutex_unlock(&census->lock);
    return rc;
}

void sr_census_leave(struct sr_census *census, struct sr_census_client *client)
{
    pthread_mutex_lock(&census->lock);
    census->connections--;
    if (--client->connections == 0) {
        *link_of(census, client->address) = client->next;
        sr_mem_free(client);
    }
    pthread_mutex_unlock(&census->lock);
}

size_t sr_census_count(struct sr_census *census)
{
    pthread_mutex_lock(&census->lock);
    size_t n = census->connections;
    pthread_mutex_unlock(&census->lock);
    return n;
}
