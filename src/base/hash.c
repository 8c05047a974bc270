/*
 * The only file that uses libxxhash and OpenSSL's digests for hashing.
 *
 * A digest of a short text takes less time than what OpenSSL does before it: to look the algorithm up and to
 * allocate a context. So the algorithm is fetched once for the process, and each thread keeps its context.
 */
#include "base/hash.h"

#include "base/hex.h"

#include <errno.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <sys/random.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t sr_hash64(struct sr_bytes s, uint64_t seed)
{
    return XXH3_64bits_withSeed(s.p, s.n, seed);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static EVP_MD *algorithm;             /* NULL when OpenSSL could not fetch it */
static pthread_key_t at_exit;         /* frees a thread's context */
static bool frees;                    /* the key exists */
static _Thread_local EVP_MD_CTX *own; /* of this thread; NULL before its first digest */

static void free_context(void *context)
{
    EVP_MD_CTX_free(context);
}

static void fetch(void)
{
    algorithm = EVP_MD_fetch(NULL, "SHA256", NULL);
    frees = algorithm && pthread_key_create(&at_exit, free_context) == 0;
}

/* This thread's context; NULL when there is none. */
static EVP_MD_CTX *context_of_thread(void)
{
    pthread_once(&once, fetch);
    if (own || !frees)
        return own;
    EVP_MD_CTX *fresh = EVP_MD_CTX_new();
    if (!fresh || EVP_DigestInit_ex2(fresh, algorithm, NULL) != 1 || pthread_setspecific(at_exit, fresh)) {
        EVP_MD_CTX_free(fresh);
        return NULL;
    }
    return own = fresh;
}

int sr_sha256_both(struct sr_bytes a, struct sr_bytes b, uint8_t out[SR_SHA256_SIZE])
{
    EVP_MD_CTX *context = context_of_thread();
    bool done = context && EVP_DigestInit_ex2(context, NULL, NULL) == 1 &&
                (a.n == 0 || EVP_DigestUpdate(context, a.p, a.n) == 1) &&
                (b.n == 0 || EVP_DigestUpdate(context, b.p, b.n) == 1) &&
                EVP_DigestFinal_ex(context, out, NULL) == 1;
    return done ? SR_OK : SR_ENOMEM;
}

int sr_sha256(struct sr_bytes s, uint8_t out[SR_SHA256_SIZE])
{
    return sr_sha256_both(s, SR_LIT(""), out);
}

int sr_sha256_hex(struct sr_bytes s, char out[SR_SHA256_HEX])
{
    uint8_t raw[SR_SHA256_SIZE];
    int rc = sr_sha256(s, raw);
    if (rc)
        return rc;
    sr_hex_write(raw, sizeof raw, out);
    return SR_OK;
}

int sr_sha256_file(int fd, char out[SR_SHA256_HEX], uint64_t *bytes)
{
    uint8_t raw[SR_SHA256_SIZE];
    char part[16384];
    EVP_MD_CTX *context = context_of_thread();
    if (!context || EVP_DigestInit_ex2(context, NULL, NULL) != 1)
        return SR_ENOMEM;
    *bytes = 0;
    for (;;) {
        ssize_t n = read(fd, part, sizeof part);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || (n > 0 && EVP_DigestUpdate(context, part, (size_t)n) != 1))
            return SR_EIO;
        if (n == 0)
            break;
        *bytes += (uint64_t)n;
    }
    if (EVP_DigestFinal_ex(context, raw, NULL) != 1)
        return SR_EIO;
    sr_hex_write(raw, sizeof raw, out);
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
