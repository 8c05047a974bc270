/*
 * Names, heads and messages of the cache in a Redis.
 */
#include "store/redis/keys.h"

#include "base/hash.h"
#include "base/hex.h"

#include <stdio.h>

#define MAGIC "SRR1"

/* Offsets of the head. */
enum {
    AT_MAGIC = 0,
    AT_CREATED = 4,
    AT_REQUEST = 12,
    AT_PARTITION = AT_REQUEST + SR_CACHE_KEY,
    AT_TENANT = AT_PARTITION + SR_CACHE_KEY,
    AT_USER = AT_TENANT + SR_CACHE_KEY,
    AT_MODEL = AT_USER + SR_CACHE_KEY, /* its SHA-256, cut */
    HEAD_END = AT_MODEL + 32,
};
_Static_assert(HEAD_END <= SR_REDIS_HEAD, "the head");

static void put_number(uint8_t *p, uint64_t v)
{
    for (size_t i = 0; i < 8; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t get_number(const uint8_t *p)
{
    uint64_t v = 0;
    for (size_t i = 0; i < 8; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

/* ---- names ---- */

void sr_redis_name_of(struct sr_redis_name *out, const char *prefix, const char *word)
{
    int n = snprintf(out->text, sizeof out->text, "%s%s", prefix, word);
    out->bytes = sr_bytes_of(out->text, (size_t)n);
}

void sr_redis_name_key(struct sr_redis_name *out, const char *prefix, enum sr_redis_kind kind,
                       const struct sr_cache_key *key)
{
    int n = snprintf(out->text, sizeof out->text, "%s%c:", prefix, (char)kind);
    sr_hex_write(key->bytes, SR_CACHE_KEY, out->text + n);
    out->bytes = sr_bytes_of(out->text, (size_t)n + 2 * (size_t)SR_CACHE_KEY);
}

bool sr_redis_name_read(struct sr_bytes name, const char *prefix, struct sr_cache_key *out)
{
    size_t n = strlen(prefix);
    if (name.n != n + 2 + 2 * (size_t)SR_CACHE_KEY || memcmp(name.p, prefix, n) != 0 ||
        name.p[n] != SR_REDIS_RECORD || name.p[n + 1] != ':')
        return false;
    return sr_hex_read(name.p + n + 2, SR_CACHE_KEY, out->bytes);
}

int sr_redis_pattern(struct sr_buf *out, const char *prefix)
{
    int rc = SR_OK;
    for (const char *p = prefix; *p && rc == SR_OK; p++) {
        if (strchr("*?[]^\\", *p))
            rc = sr_buf_append(out, "\\", 1);
        if (rc == SR_OK)
            rc = sr_buf_append(out, p, 1);
    }
    return rc == SR_OK ? sr_buf_append(out, "r:*", 3) : rc;
}

/* ---- records ---- */

static int model_hash(struct sr_bytes model, uint8_t out[SR_SHA256_SIZE])
{
    return sr_sha256(model.n ? model : SR_LIT(""), out);
}

int sr_redis_value(struct sr_buf *out, const struct sr_cache_record *record)
{
    size_t size = sr_cache_record_size(record);
    uint8_t *p;
    int rc = sr_buf_reserve(out, SR_REDIS_HEAD + size);
    if (rc != SR_OK)
        return rc;
    p = (uint8_t *)out->data + out->len;
    memset(p, 0, SR_REDIS_HEAD);
    memcpy(p + AT_MAGIC, MAGIC, 4);
    put_number(p + AT_CREATED, (uint64_t)record->f.created_ms);
    memcpy(p + AT_REQUEST, &record->f.request, SR_CACHE_KEY);
    memcpy(p + AT_PARTITION, &record->f.partition, SR_CACHE_KEY);
    memcpy(p + AT_TENANT, &record->f.tenant, SR_CACHE_KEY);
    memcpy(p + AT_USER, &record->f.user, SR_CACHE_KEY);
    rc = model_hash(record->f.model, p + AT_MODEL);
    if (rc != SR_OK)
        return rc;
    sr_cache_record_write(record, p + SR_REDIS_HEAD);
    out->len += SR_REDIS_HEAD + size;
    return SR_OK;
}

int sr_redis_value_read(struct sr_cache_record **out, struct sr_bytes value, const struct sr_cache_key *exact)
{
    struct sr_cache_record *record;
    int rc;
    *out = NULL;
    if (value.n < SR_REDIS_HEAD || memcmp(value.p, MAGIC, 4) != 0)
        return SR_EPARSE;
    rc = sr_cache_record_read(&record, sr_bytes_of(value.p + SR_REDIS_HEAD, value.n - SR_REDIS_HEAD));
    if (rc != SR_OK)
        return rc == SR_ENOMEM ? rc : SR_EPARSE;
    rc = memcmp(&record->f.exact, exact, sizeof *exact) != 0 ? SR_EPARSE
         : sr_remote_is_live(&record->f)                     ? SR_OK
                                                             : SR_ENOENT;
    if (rc == SR_OK)
        *out = record;
    else
        sr_cache_record_unref(record);
    return rc;
}

bool sr_redis_head_selects(const struct sr_cache_selector *which, const struct sr_cache_key *exact,
                           struct sr_bytes head, struct sr_cache_key *request)
{
    const uint8_t *p = (const uint8_t *)head.p;
    struct sr_cache_fields f = {.exact = *exact};
    struct sr_cache_selector keys = *which;
    uint8_t model[SR_SHA256_SIZE];
    memset(request, 0, sizeof *request);
    if (head.n < SR_REDIS_HEAD || memcmp(p, MAGIC, 4) != 0)
        return true;
    memcpy(request, p + AT_REQUEST, SR_CACHE_KEY);
    memcpy(&f.partition, p + AT_PARTITION, SR_CACHE_KEY);
    memcpy(&f.tenant, p + AT_TENANT, SR_CACHE_KEY);
    memcpy(&f.user, p + AT_USER, SR_CACHE_KEY);
    f.created_ms = (int64_t)get_number(p + AT_CREATED);
    keys.model = (struct sr_bytes){NULL, 0};
    if (!sr_remote_selects(&keys, &f))
        return false;
    return !which->model.n || model_hash(which->model, model) != SR_OK ||
           memcmp(model, p + AT_MODEL, sizeof model) == 0;
}

/* ---- news and removals ---- */

size_t sr_redis_news_write(const struct sr_redis_news *news, uint8_t *out)
{
    memcpy(out, news->who, SR_REDIS_WHO);
    out[SR_REDIS_WHO] = news->removals ? 'R' : 'P';
    if (news->removals)
        return SR_REDIS_WHO + 1;
    memcpy(out + SR_REDIS_WHO + 1, &news->exact, SR_CACHE_KEY);
    return SR_REDIS_NEWS;
}

bool sr_redis_news_read(struct sr_redis_news *out, struct sr_bytes bytes)
{
    if (bytes.n != SR_REDIS_WHO + 1 && bytes.n != SR_REDIS_NEWS)
        return false;
    *out = (struct sr_redis_news){.removals = bytes.n == SR_REDIS_WHO + 1};
    if (bytes.p[SR_REDIS_WHO] != (out->removals ? 'R' : 'P'))
        return false;
    memcpy(out->who, bytes.p, SR_REDIS_WHO);
    if (!out->removals)
        memcpy(&out->exact, bytes.p + SR_REDIS_WHO + 1, SR_CACHE_KEY);
    return true;
}
