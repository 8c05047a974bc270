/* Trusted headers become the identity; headers that claim one are stripped. */
#include "router/identity/identity.h"

#include "base/hash.h"

#include <arpa/inet.h>

/* x-vsr-* headers that a client may send; they are forwarded, so that routers can be chained. */
static const struct sr_bytes client_headers[] = {
    {"x-vsr-debug", sizeof "x-vsr-debug" - 1},
    {"x-vsr-cache-control", sizeof "x-vsr-cache-control" - 1},
    {"x-vsr-compression-control", sizeof "x-vsr-compression-control" - 1},
};

/* Headers by which some servers read another path or method than the request line's. */
static const struct sr_bytes second_lines[] = {
    {"x-original-url", sizeof "x-original-url" - 1},
    {"x-rewrite-url", sizeof "x-rewrite-url" - 1},
    {"x-original-uri", sizeof "x-original-uri" - 1},
    {"x-http-method", sizeof "x-http-method" - 1},
    {"x-http-method-override", sizeof "x-http-method-override" - 1},
    {"x-method-override", sizeof "x-method-override" - 1},
};

/* A letter of a name as servers compare it: CGI and WSGI turn '-' into '_', so both count as one. */
static char fold(char c)
{
    return c == '_' ? '-' : sr_ascii_lower(c);
}

static bool starts(struct sr_bytes name, struct sr_bytes prefix)
{
    for (size_t i = 0; i < prefix.n; i++)
        if (i == name.n || fold(name.p[i]) != fold(prefix.p[i]))
            return false;
    return true;
}

static bool is(struct sr_bytes name, struct sr_bytes other)
{
    return name.n == other.n && starts(name, other);
}

static bool ends(struct sr_bytes name, struct sr_bytes suffix)
{
    return name.n >= suffix.n && is(sr_bytes_of(name.p + name.n - suffix.n, suffix.n), suffix);
}

bool sr_identity_strips(const struct sr_config *config, struct sr_bytes name)
{
    if (starts(name, SR_LIT("x-vsr-"))) {
        for (size_t i = 0; i < sizeof client_headers / sizeof client_headers[0]; i++)
            if (sr_bytes_eq_nocase(name, client_headers[i]))
                return false;
        return true;
    }
    if (starts(name, SR_LIT("x-user-")) && ends(name, SR_LIT("-key")))
        return true;
    for (size_t i = 0; i < sizeof second_lines / sizeof second_lines[0]; i++)
        if (is(name, second_lines[i]))
            return true;
    struct sr_bytes destination = sr_bytes_str(config->global.extproc.destination_header);
    return starts(name, SR_LIT("x-authz-")) || is(name, SR_LIT("x-selected-model")) ||
           is(name, SR_LIT("x-gateway-destination-endpoint")) || (destination.n && is(name, destination));
}

static bool is_one_of(struct sr_bytes tenant, const struct sr_strings *names)
{
    for (size_t i = 0; tenant.n && i < names->count; i++)
        if (sr_bytes_eq(tenant, sr_bytes_str(names->items[i])))
            return true;
    return false;
}

/* The value of a trusted header; the last one counts. `p` NULL: out of memory; empty: not there. */
static struct sr_bytes read_trusted(const char *name, const struct sr_header *headers, size_t n,
                                    struct sr_arena *arena)
{
    struct sr_bytes trusted = sr_bytes_str(name), value = SR_LIT("");
    for (size_t i = 0; trusted.n && i < n; i++)
        if (sr_bytes_eq_nocase(headers[i].name, trusted))
            value = sr_bytes_trim(headers[i].value);
    return value.n ? sr_arena_dup(arena, value) : value;
}

/* Splits the user's groups at commas. */
static int read_groups(struct sr_identity *out, struct sr_bytes list, struct sr_arena *arena)
{
    size_t most = 1;
    for (size_t i = 0; i < list.n; i++)
        most += list.p[i] == ',';
    struct sr_bytes *groups = list.n ? sr_arena_calloc(arena, most, sizeof *groups) : NULL;
    if (list.n && !groups)
        return SR_ENOMEM;
    for (size_t at = 0; at < list.n;) {
        const char *comma = memchr(list.p + at, ',', list.n - at);
        size_t end = comma ? (size_t)(comma - list.p) : list.n;
        struct sr_bytes group = sr_bytes_trim(sr_bytes_of(list.p + at, end - at));
        if (group.n)
            groups[out->n_groups++] = group;
        at = end + 1;
    }
    out->groups = groups;
    return SR_OK;
}

int sr_identity_read(struct sr_identity *out, const struct sr_header *headers, size_t n,
                     const struct sr_config *config, struct sr_arena *arena)
{
    const struct sr_config_global *global = &config->global;
    *out = (struct sr_identity){
        .tenant = read_trusted(global->guards.tenant_header, headers, n, arena),
        .user = read_trusted(global->user_header, headers, n, arena),
        .team = read_trusted(global->cache.team_header, headers, n, arena),
    };
    struct sr_bytes groups = read_trusted(global->groups_header, headers, n, arena);
    if (!out->tenant.p || !out->user.p || !out->team.p || !groups.p || read_groups(out, groups, arena))
        return SR_ENOMEM;
    out->may_skip = is_one_of(out->tenant, &global->guards.skip_tenants);
    out->instructs = is_one_of(out->tenant, &global->guards.system_prompts.trusted_tenants);
    out->anonymous = !out->tenant.n && !out->user.n && !out->n_groups;
    return SR_OK;
}

/* Copies what is between the last comma and the port, without brackets; false when it is no address. */
static bool cut_address(struct sr_bytes peer, char out[INET6_ADDRSTRLEN])
{
    const char *comma = memrchr(peer.p, ',', peer.n);
    if (comma)
        peer = sr_bytes_of(comma + 1, (size_t)(peer.p + peer.n - comma - 1));
    peer = sr_bytes_trim(peer);
    const char *colon = memchr(peer.p, ':', peer.n), *last = memrchr(peer.p, ':', peer.n);
    if (peer.n && peer.p[0] == '[') {
        const char *end = memchr(peer.p, ']', peer.n);
        peer = end ? sr_bytes_of(peer.p + 1, (size_t)(end - peer.p) - 1) : SR_LIT("");
    } else if (colon && colon == last) {
        peer.n = (size_t)(colon - peer.p);
    }
    if (!peer.n || peer.n >= INET6_ADDRSTRLEN)
        return false;
    memcpy(out, peer.p, peer.n);
    out[peer.n] = '\0';
    return true;
}

uint64_t sr_identity_client(const struct sr_identity *identity, struct sr_bytes peer)
{
    char address[INET6_ADDRSTRLEN];
    unsigned char bytes[16];
    if (identity->tenant.n)
        return sr_hash64(identity->tenant, 0) | 1;
    if (!peer.n || !cut_address(peer, address))
        return 0;
    if (inet_pton(AF_INET6, address, bytes) == 1)
        return sr_hash64(sr_bytes_of((const char *)bytes, 8), 1) | 1;
    if (inet_pton(AF_INET, address, bytes) == 1)
        return sr_hash64(sr_bytes_of((const char *)bytes, 4), 1) | 1;
    return sr_hash64(sr_bytes_str(address), 1) | 1;
}
