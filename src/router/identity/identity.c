/* Keys and trusted headers become the identity; headers that claim one are stripped. */
#include "router/identity/identity.h"

#include "base/hash.h"
#include "router/identity/credential.h"

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

/* Configurations that are built by hand have NULL for texts. */
static struct sr_bytes text_of(const char *text)
{
    return sr_bytes_str(text ? text : "");
}

static bool ends(struct sr_bytes name, struct sr_bytes suffix)
{
    return name.n >= suffix.n && is(sr_bytes_of(name.p + name.n - suffix.n, suffix.n), suffix);
}

/* Is it one of the headers that say who asks? */
static bool names_client(const struct sr_config_global *global, struct sr_bytes name)
{
    const char *const all[] = {global->guards.tenant_header, global->user_header, global->groups_header,
                               global->cache.team_header};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (text_of(all[i]).n && is(name, text_of(all[i])))
            return true;
    return false;
}

bool sr_identity_strips(const struct sr_config *config, const struct sr_header *header, bool trusted)
{
    struct sr_bytes name = header->name, secret = text_of(config->global.identity.secret_header);
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
    if ((secret.n && is(name, secret)) || (!trusted && names_client(&config->global, name)) ||
        sr_credential_is_ours(header, &config->global.identity))
        return true;
    struct sr_bytes destination = sr_bytes_str(config->global.extproc.destination_header);
    return starts(name, SR_LIT("x-authz-")) || is(name, SR_LIT("x-selected-model")) ||
           is(name, SR_LIT("x-selected-pool")) || is(name, SR_LIT("x-gateway-destination-endpoint")) ||
           (destination.n && is(name, destination));
}

static bool is_one_of(struct sr_bytes tenant, const struct sr_strings *names)
{
    for (size_t i = 0; tenant.n && i < names->count; i++)
        if (sr_bytes_eq(tenant, sr_bytes_str(names->items[i])))
            return true;
    return false;
}

/* The value of a trusted header; the last one counts. `p` NULL: out of memory; empty: not there. */
static struct sr_bytes read_trusted(const char *name, const struct sr_identity_source *source,
                                    struct sr_arena *arena)
{
    struct sr_bytes trusted = text_of(name), value = SR_LIT("");
    for (size_t i = 0; trusted.n && i < source->n; i++)
        if (sr_bytes_eq_nocase(source->headers[i].name, trusted))
            value = sr_bytes_trim(source->headers[i].value);
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

/* ---- who may say it ---- */

/* Is the proxy's secret among the headers? Takes the same time for every wrong one of its length. */
static bool has_secret(const struct sr_config_identity *trust, const struct sr_identity_source *source)
{
    struct sr_bytes secret = sr_bytes_str(trust->secret);
    bool found = false;
    for (size_t i = 0; i < source->n; i++) {
        struct sr_bytes value = sr_bytes_trim(source->headers[i].value);
        unsigned difference = 0;
        if (!sr_bytes_eq_nocase(source->headers[i].name, sr_bytes_str(trust->secret_header)) ||
            value.n != secret.n)
            continue;
        for (size_t k = 0; k < secret.n; k++)
            difference |= (unsigned char)(value.p[k] ^ secret.p[k]);
        found |= difference == 0;
    }
    return found;
}

static bool is_in_network(const struct sr_config_identity *trust, struct sr_bytes peer)
{
    char address[INET6_ADDRSTRLEN];
    if (!peer.n || !cut_address(peer, address))
        return false;
    for (size_t i = 0; i < trust->trusted_peers.count; i++)
        if (sr_config_network_has(&trust->networks[i], address))
            return true;
    return false;
}

bool sr_identity_trusts(const struct sr_config *config, const struct sr_identity_source *source)
{
    const struct sr_config_identity *trust = &config->global.identity;
    if (trust->trusted_peers.count && !is_in_network(trust, source->peer))
        return false;
    return !trust->secret_header || !trust->secret_header[0] || has_secret(trust, source);
}

/* ---- what it says ---- */

static int read_headers(struct sr_identity *out, const struct sr_identity_source *source,
                        const struct sr_config_global *global, struct sr_arena *arena)
{
    out->tenant = read_trusted(global->guards.tenant_header, source, arena);
    out->user = read_trusted(global->user_header, source, arena);
    out->team = read_trusted(global->cache.team_header, source, arena);
    struct sr_bytes groups = read_trusted(global->groups_header, source, arena);
    if (!out->tenant.p || !out->user.p || !out->team.p || !groups.p)
        return SR_ENOMEM;
    return read_groups(out, groups, arena);
}

/* What the key says counts before what trusted headers say. */
static int read_key(struct sr_identity *out, const struct sr_config_key *key, bool headers,
                    struct sr_arena *arena)
{
    out->key = key;
    if (!headers || key->tenant[0])
        out->tenant = sr_bytes_str(key->tenant);
    if (!headers || !out->user.n)
        out->user = sr_bytes_str(key->user);
    if (!headers || key->team[0])
        out->team = sr_bytes_str(key->team);
    if (headers && out->n_groups)
        return SR_OK;
    struct sr_bytes *groups = sr_arena_calloc(arena, key->groups.count + 1, sizeof *groups);
    if (!groups)
        return SR_ENOMEM;
    for (size_t i = 0; i < key->groups.count; i++)
        groups[i] = sr_bytes_str(key->groups.items[i]);
    out->groups = groups;
    out->n_groups = key->groups.count;
    return SR_OK;
}

int sr_identity_read(struct sr_identity *out, const struct sr_identity_source *source,
                     const struct sr_config *config, struct sr_arena *arena)
{
    const struct sr_config_global *global = &config->global;
    const struct sr_config_identity *trust = &global->identity;
    struct sr_credential sent;
    *out = (struct sr_identity){.tenant = SR_LIT(""), .user = SR_LIT(""), .team = SR_LIT("")};
    bool headers = sr_identity_trusts(config, source);
    int rc = sr_credential_read(&sent, source->headers, source->n, trust, source->now_s);
    if (!rc && headers)
        rc = read_headers(out, source, global, arena);
    if (!rc && sent.key)
        rc = read_key(out, sent.key, headers, arena);
    if (rc)
        return rc;
    int tenant = sr_config_find_tenant(trust, out->tenant);
    out->rules = tenant >= 0 ? &trust->tenants[tenant] : NULL;
    out->may_skip = is_one_of(out->tenant, &global->guards.skip_tenants);
    out->instructs = is_one_of(out->tenant, &global->guards.system_prompts.trusted_tenants);
    out->anonymous = !source->known && !sent.key && !out->tenant.n && !out->user.n && !out->n_groups;
    if (!source->known)
        out->refused = sent.refused;
    if (!out->refused && out->anonymous && trust->n_slots && !global->access.allow_anonymous)
        out->refused = sent.foreign ? SR_CODE_WRONG_KEY : SR_CODE_NO_KEY;
    return SR_OK;
}

void sr_identity_refuse(const struct sr_identity *identity, struct sr_refusal *refusal)
{
    const char *what = "no API key was sent";
    if (strcmp(identity->refused, SR_CODE_WRONG_KEY) == 0)
        what = "the API key is not known here";
    else if (strcmp(identity->refused, SR_CODE_EXPIRED_KEY) == 0)
        what = "the API key has expired";
    sr_refuse(
        refusal, 401, identity->refused, NULL,
        "%s: send a key of this gateway in `authorization: Bearer KEY` or `x-api-key`; its operator makes "
        "keys (global.semroute.identity.keys)",
        what);
    refusal->reason = "authentication_failed";
}

static bool lists(const struct sr_strings *models, const char *name)
{
    for (size_t i = 0; i < models->count; i++)
        if (strcmp(models->items[i], name) == 0)
            return true;
    return models->count == 0;
}

bool sr_identity_may_use(const struct sr_identity *identity, const struct sr_config *config, int model)
{
    const char *name = config->models[model].name;
    return (!identity->key || lists(&identity->key->models, name)) &&
           (!identity->rules || lists(&identity->rules->models, name));
}

bool sr_identity_is_limited(const struct sr_identity *identity)
{
    return (identity->key && identity->key->models.count) ||
           (identity->rules && identity->rules->models.count);
}

uint64_t sr_identity_client(const struct sr_identity *identity, struct sr_bytes peer)
{
    char address[INET6_ADDRSTRLEN];
    unsigned char bytes[16];
    if (identity->tenant.n)
        return sr_hash64(identity->tenant, 0) | 1;
    if (identity->key)
        return sr_hash64(sr_bytes_str(identity->key->name), 2) | 1;
    if (!peer.n || !cut_address(peer, address))
        return 0;
    if (inet_pton(AF_INET6, address, bytes) == 1)
        return sr_hash64(sr_bytes_of((const char *)bytes, 8), 1) | 1;
    if (inet_pton(AF_INET, address, bytes) == 1)
        return sr_hash64(sr_bytes_of((const char *)bytes, 4), 1) | 1;
    return sr_hash64(sr_bytes_str(address), 1) | 1;
}
