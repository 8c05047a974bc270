/* Writes the identity of a worker: `http://host:8000/base`. */
#include "pool/key.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

struct sr_bytes sr_pool_key(const struct sr_pool_backend *backend, char **room)
{
    size_t host = strlen(backend->scheme) + 3, host_n = strlen(backend->host);
    size_t size = host + host_n + strlen(backend->base_path) + 16;
    char *text = sr_mem_realloc(*room, size);
    if (!text)
        return (struct sr_bytes){NULL, 0};
    *room = text;
    int n = snprintf(text, size, "%s://%s:%d%s", backend->scheme, backend->host, backend->port,
                     backend->base_path);
    for (size_t i = host; i < host + host_n; i++)
        text[i] = sr_ascii_lower(text[i]);
    return sr_bytes_of(text, (size_t)n);
}
