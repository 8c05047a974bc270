/* The only file that uses libxxhash and OpenSSL's digestsfor hashing. */
#include "base/hash.h"

#include <openssl/evp.h>
#include <sys/random.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t sr_hash64(struct sr_bytes s, uint64_t seed)
{
    return XXH3_64bits_withSeed(s.p, s.n, seed);
}

int sr_sha256(struct sr_bytes s, uint8_t out[SR_SHA256_SIZE])
{
    return EVP_Digest(s.p ? s.p : "", s.n, out, NULL, EVP_sha256(), NULL) == 1 ? SR_OK : SR_ENOMEM;
}

int sr_sha256_hex(struct sr_bytes s, char out[SR_SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t raw[SR_SHA256_SIZE];
    int rc = sr_sha256(s, raw);
    if (rc)
        return rc;
    for (size_t i = 0; i < sizeof raw; i++) {
        out[2 * i] = digits[raw[i] >> 4];
        out[2 * i + 1] = digits[raw[i] & 15];
    }
    out[2 * sizeof raw] = 0;
    return SR_OK;
}

int sr_random(void *out, size_t n)
{
    char *p = out;
    while (n) {
        ssize_t got = getrandom(p, n, 0);
        if (got <= 0)
            return SR_EIO;
        p += got;
        n -= (size_t)got;
    }
    return SR_OK;
}
