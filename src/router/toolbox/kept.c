/*
 * The layout, little-endian: "SRVECT1\n", SHA-256 of the rest, 32 bytes that name the encoder, dimensions and
 * count as u32, then for each text 16 bytes of its SHA-256, then the vectors as float32, in the same order.
 */
#include "router/toolbox/kept.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC      "SRVECT1\n"
#define MAGIC_SIZE (sizeof MAGIC - 1)
#define KEY_SIZE   16u
#define HEAD_SIZE  (MAGIC_SIZE + SR_SHA256_SIZE + SR_SHA256_SIZE + 8)
#define READ_MS    10000

struct key {
    uint8_t bytes[KEY_SIZE];
    uint32_t at;
};

static int key_of(const char *text, struct key *key)
{
    uint8_t digest[SR_SHA256_SIZE];
    int rc = sr_sha256(sr_bytes_str(text), digest);
    memcpy(key->bytes, digest, KEY_SIZE);
    return rc;
}

static int by_key(const void *a, const void *b)
{
    return memcmp(((const struct key *)a)->bytes, ((const struct key *)b)->bytes, KEY_SIZE);
}

static uint32_t u32_at(const char *p)
{
    const unsigned char *b = (const unsigned char *)p;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static void put_u32(uint8_t *p, uint32_t value)
{
    for (size_t i = 0; i < 4; i++)
        p[i] = (uint8_t)(value >> (8 * i));
}

/* The number of vectors in the file; 0: it is damaged, or of others. */
static size_t count_in(struct sr_bytes file, const struct sr_kept_of *of)
{
    uint8_t digest[SR_SHA256_SIZE], encoder[SR_SHA256_SIZE];
    if (file.n < HEAD_SIZE || memcmp(file.p, MAGIC, MAGIC_SIZE) != 0 || of->dimensions == 0)
        return 0;
    const char *p = file.p + MAGIC_SIZE;
    size_t rest = file.n - MAGIC_SIZE - SR_SHA256_SIZE;
    if (sr_sha256(of->encoder, encoder) || sr_sha256(sr_bytes_of(p + SR_SHA256_SIZE, rest), digest) ||
        memcmp(p, digest, sizeof digest) != 0 || memcmp(p + SR_SHA256_SIZE, encoder, sizeof encoder) != 0 ||
        u32_at(file.p + HEAD_SIZE - 8) != of->dimensions)
        return 0;
    size_t count = u32_at(file.p + HEAD_SIZE - 4), each = KEY_SIZE + of->dimensions * sizeof(float);
    return (file.n - HEAD_SIZE) / each == count && (file.n - HEAD_SIZE) % each == 0 ? count : 0;
}

size_t sr_kept_read(struct sr_bytes file, const struct sr_kept_of *of, const char *const *texts, size_t n,
                    float *vectors, bool *has)
{
    size_t count = count_in(file, of), found = 0;
    struct key *keys = count ? sr_mem_calloc(count, sizeof *keys) : NULL, wanted, *key;
    for (size_t i = 0; keys && i < count; i++) {
        memcpy(keys[i].bytes, file.p + HEAD_SIZE + i * KEY_SIZE, KEY_SIZE);
        keys[i].at = (uint32_t)i;
    }
    if (keys)
        qsort(keys, count, sizeof *keys, by_key);
    for (size_t i = 0; keys && i < n; i++) {
        if (key_of(texts[i], &wanted) || !(key = bsearch(&wanted, keys, count, sizeof *keys, by_key)))
            continue;
        size_t size = of->dimensions * sizeof(float);
        memcpy(vectors + i * of->dimensions, file.p + HEAD_SIZE + count * KEY_SIZE + key->at * size, size);
        has[i] = true;
        found++;
    }
    sr_mem_free(keys);
    return found;
}

size_t sr_kept_load(const char *path, const struct sr_kept_of *of, const char *const *texts, size_t n,
                    float *vectors, bool *has)
{
    struct sr_buf buf;
    size_t found = 0;
    sr_buf_init(&buf, SR_KEPT_FILE_MAX);
    if (sr_read_file(&buf, path, READ_MS, NULL) == SR_OK)
        found = sr_kept_read(sr_buf_view(&buf), of, texts, n, vectors, has);
    sr_buf_dispose(&buf);
    return found;
}

static int make(struct sr_buf *buf, const struct sr_kept_of *of, const char *const *texts, size_t n,
                const float *vectors)
{
    uint8_t head[HEAD_SIZE] = {0};
    struct key key;
    memcpy(head, MAGIC, MAGIC_SIZE);
    put_u32(head + HEAD_SIZE - 8, (uint32_t)of->dimensions);
    put_u32(head + HEAD_SIZE - 4, (uint32_t)n);
    int rc = sr_sha256(of->encoder, head + MAGIC_SIZE + SR_SHA256_SIZE);
    if (!rc)
        rc = sr_buf_append(buf, head, sizeof head);
    for (size_t i = 0; i < n && !rc; i++) {
        rc = key_of(texts[i], &key);
        if (!rc)
            rc = sr_buf_append(buf, key.bytes, KEY_SIZE);
    }
    if (!rc)
        rc = sr_buf_append(buf, vectors, n * of->dimensions * sizeof *vectors);
    size_t from = MAGIC_SIZE + SR_SHA256_SIZE;
    if (!rc)
        rc = sr_sha256(sr_bytes_of(buf->data + from, buf->len - from), (uint8_t *)buf->data + MAGIC_SIZE);
    return rc;
}

static bool write_all(int fd, struct sr_bytes bytes)
{
    while (bytes.n) {
        ssize_t n = write(fd, bytes.p, bytes.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes = sr_bytes_of(bytes.p + n, bytes.n - (size_t)n);
    }
    return fsync(fd) == 0;
}

/* Writes beside the file and renames: a reader sees the old one or the new one. */
static int replace(const char *path, struct sr_bytes bytes, struct sr_err *err)
{
    size_t size = strlen(path) + 16;
    char *beside = sr_mem_alloc(size);
    if (!beside)
        return SR_ENOMEM;
    snprintf(beside, size, "%s.%d", path, (int)getpid());
    int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool written = fd >= 0 && write_all(fd, bytes);
    int cause = errno;
    if (fd >= 0 && close(fd) != 0 && written) {
        cause = errno;
        written = false;
    }
    if (written && rename(beside, path) != 0) {
        cause = errno;
        written = false;
    }
    if (!written && fd >= 0)
        unlink(beside);
    sr_mem_free(beside);
    return written ? SR_OK : sr_err_set(err, SR_EIO, "cannot write `%.200s`: %s", path, strerror(cause));
}

int sr_kept_save(const char *path, const struct sr_kept_of *of, const char *const *texts, size_t n,
                 const float *vectors, struct sr_err *err)
{
    struct sr_buf buf;
    sr_buf_init(&buf, SR_KEPT_FILE_MAX);
    int rc = make(&buf, of, texts, n, vectors);
    rc = rc ? sr_err_set(err, rc, "the vectors cannot be kept: %s", sr_strerror(rc))
            : replace(path, sr_buf_view(&buf), err);
    sr_buf_dispose(&buf);
    return rc;
}
