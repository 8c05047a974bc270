/* Hashes what may be a key and looks it up. */
#include "router/identity/credential.h"

#include "base/hash.h"

/* The key that a header may hold; empty: it is no such header. */
static struct sr_bytes candidate(const struct sr_header *header)
{
    static const struct sr_bytes scheme = {"bearer ", 7};
    struct sr_bytes value = sr_bytes_trim(header->value);
    if (sr_bytes_eq_nocase(header->name, SR_LIT("authorization"))) {
        if (value.n <= scheme.n || !sr_bytes_eq_nocase(sr_bytes_of(value.p, scheme.n), scheme))
            return SR_LIT("");
        return sr_bytes_trim(sr_bytes_of(value.p + scheme.n, value.n - scheme.n));
    }
    bool named = sr_bytes_eq_nocase(header->name, SR_LIT("x-api-key")) ||
                 sr_bytes_eq_nocase(header->name, SR_LIT("api-key"));
    return named ? value : SR_LIT("");
}

/* SR_ENOENT: it is none of ours. */
static int find(struct sr_bytes text, const struct sr_config_identity *identity,
                const struct sr_config_key **key)
{
    uint8_t digest[SR_KEY_DIGEST];
    if (!identity->n_slots || text.n < SR_KEY_TEXT_MIN || text.n > SR_KEY_TEXT_MAX)
        return SR_ENOENT;
    if (sr_sha256(text, digest))
        return SR_ENOMEM;
    *key = sr_config_find_key(identity, digest);
    return *key ? SR_OK : SR_ENOENT;
}

static bool looks_like_ours(struct sr_bytes text)
{
    return sr_bytes_starts_with(text, SR_LIT(SR_KEY_PREFIX));
}

int sr_credential_read(struct sr_credential *out, const struct sr_header *headers, size_t n,
                       const struct sr_config_identity *identity, int64_t now_s)
{
    *out = (struct sr_credential){0};
    for (size_t i = 0; i < n; i++) {
        const struct sr_config_key *key = NULL;
        struct sr_bytes text = candidate(&headers[i]);
        int rc = text.n ? find(text, identity, &key) : SR_ENOENT;
        if (rc == SR_ENOMEM)
            return rc;
        if (!key) {
            out->foreign |= text.n > 0;
            if (looks_like_ours(text))
                out->refused = SR_CODE_WRONG_KEY;
        } else if (key->expires_s && key->expires_s <= now_s) {
            out->refused = SR_CODE_EXPIRED_KEY;
        } else if (out->key && out->key != key) {
            out->refused = SR_CODE_WRONG_KEY;
        } else {
            out->key = key;
        }
    }
    if (out->refused)
        out->key = NULL;
    return SR_OK;
}

bool sr_credential_is_ours(const struct sr_header *header, const struct sr_config_identity *identity)
{
    const struct sr_config_key *key = NULL;
    struct sr_bytes text = candidate(header);
    if (sr_bytes_starts_with(header->name, SR_LIT(":"))) /* the request line, in HTTP/2 */
        return false;
    if (sr_bytes_contains(header->value, SR_LIT(SR_KEY_PREFIX)))
        return true;
    if (!text.n && sr_config_is_credential(header->name))
        text = sr_bytes_trim(header->value);
    return text.n && find(text, identity, &key) != SR_ENOENT;
}
