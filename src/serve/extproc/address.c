/* Reads and writes addresses. */
#include "serve/extproc/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

/* "[", an address with a scope, "]:65535" */
#define ADDRESS_MAX 80

bool sr_extproc_address_parse(struct sr_extproc_address *out, struct sr_bytes text)
{
    char host[ADDRESS_MAX];
    size_t colon = text.n;
    unsigned long long port;
    *out = (struct sr_extproc_address){.family = AF_UNSPEC};
    while (colon > 0 && text.p[colon - 1] != ':')
        colon--;
    if (colon == 0 || !sr_bytes_to_u64(sr_bytes_of(text.p + colon, text.n - colon), &port) || port == 0 ||
        port > 65535)
        return false;
    struct sr_bytes name = {text.p, colon - 1};
    bool brackets = name.n > 2 && name.p[0] == '[' && name.p[name.n - 1] == ']';
    if (brackets)
        name = sr_bytes_of(name.p + 1, name.n - 2);
    if (name.n >= sizeof host)
        return false;
    snprintf(host, sizeof host, "%.*s", (int)name.n, name.p);
    out->family = brackets ? AF_INET6 : AF_INET;
    out->port = (int)port;
    if (inet_pton(out->family, host, out->bytes) != 1)
        out->family = AF_UNSPEC;
    return out->family != AF_UNSPEC;
}

bool sr_extproc_address_eq(const struct sr_extproc_address *a, const struct sr_extproc_address *b)
{
    return a->family == b->family && a->family != AF_UNSPEC && a->port == b->port &&
           memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

struct sr_bytes sr_extproc_address_print(struct sr_arena *arena, const char *host, int port)
{
    bool v6 = strchr(host, ':') != NULL;
    const char *text = sr_arena_printf(arena, v6 ? "[%s]:%d" : "%s:%d", host, port);
    return text ? sr_bytes_str(text) : (struct sr_bytes){NULL, 0};
}

bool sr_extproc_host_is_address(const char *host)
{
    unsigned char bytes[16];
    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}
