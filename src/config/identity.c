/* Looks up keys by digest and tenants by name, and reads networks. */
#include "config/identity.h"

#include <arpa/inet.h>
#include <string.h>

static bool same_digest(const uint8_t *a, const uint8_t *b)
{
    unsigned difference = 0;
    for (size_t i = 0; i < SR_KEY_DIGEST; i++)
        difference |= a[i] ^ b[i];
    return difference == 0;
}

const struct sr_config_key *sr_config_find_key(const struct sr_config_identity *identity,
                                               const uint8_t digest[SR_KEY_DIGEST])
{
    size_t mask = identity->n_slots - 1;
    uint64_t place;
    if (!identity->n_slots)
        return NULL;
    memcpy(&place, digest, sizeof place);
    for (size_t i = place & mask; identity->slots[i]; i = (i + 1) & mask) {
        const struct sr_config_key *key = &identity->keys[identity->slots[i] - 1];
        if (same_digest(key->digest, digest))
            return key;
    }
    return NULL;
}

int sr_config_find_tenant(const struct sr_config_identity *identity, struct sr_bytes name)
{
    for (size_t i = 0; name.n && i < identity->n_tenants; i++)
        if (sr_bytes_eq(name, sr_bytes_str(identity->tenants[i].name)))
            return (int)i;
    return -1;
}

/* An address as 16 bytes, IPv4 mapped into IPv6; the number of bits that are before the address's own. */
static bool read_address(const char *text, uint8_t out[16], unsigned *before)
{
    static const uint8_t mapped[12] = {[10] = 0xff, 0xff};
    if (inet_pton(AF_INET6, text, out) == 1) {
        *before = 0;
        return true;
    }
    memcpy(out, mapped, sizeof mapped);
    *before = 96;
    return inet_pton(AF_INET, text, out + 12) == 1;
}

bool sr_config_network_read(struct sr_bytes text, struct sr_config_network *out)
{
    char address[INET6_ADDRSTRLEN + 1];
    unsigned long long bits = 0;
    unsigned before;
    const char *slash = text.n ? memchr(text.p, '/', text.n) : NULL;
    size_t n = slash ? (size_t)(slash - text.p) : text.n;
    if (!n || n >= sizeof address)
        return false;
    memcpy(address, text.p, n);
    address[n] = '\0';
    if (!read_address(address, out->address, &before))
        return false;
    out->bits = 128;
    if (!slash)
        return true;
    if (!sr_bytes_to_u64(sr_bytes_of(slash + 1, text.n - n - 1), &bits) || bits > 128 - before)
        return false;
    out->bits = before + (unsigned)bits;
    return true;
}

bool sr_config_network_has(const struct sr_config_network *network, const char *address)
{
    uint8_t bytes[16];
    unsigned before, whole = network->bits / 8, rest = network->bits % 8;
    if (!read_address(address, bytes, &before) || memcmp(bytes, network->address, whole) != 0)
        return false;
    return rest == 0 || ((bytes[whole] ^ network->address[whole]) >> (8 - rest)) == 0;
}
