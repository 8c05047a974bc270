/*
 * Records and their form as bytes: a head of fixed size, then the fields of variable size one after another.
 *
 * Numbers are little-endian. The checksum covers everything after itself: it finds damage, not malice; a
 * store that others can write to is the operator's trust (docs/operations.md).
 */
#include "cache/record.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stddef.h>
#include <string.h>

#define MAGIC   0x31435253u /* "SRC1": layout and version */
#define N_KEYS  5
#define N_TEXTS 6

/* Offsets of the head. */
enum {
    AT_MAGIC = 0,
    AT_FORM = 4,
    AT_CHECKSUM = 8,
    AT_CREATED = 16,
    AT_EXPIRES = 24,
    AT_SIZES = 32, /* [N_TEXTS] of 4 bytes */
    AT_KEYS = AT_SIZES + 4 * N_TEXTS,
    HEAD = AT_KEYS + N_KEYS * SR_CACHE_KEY,
};

/* Names fit a header; a vector has at most 16,384 bytes. */
static const size_t LIMITS[N_TEXTS] = {1024, 1024, 4096, SR_CACHE_QUESTION_MAX, 16384, SR_CACHE_RECORD_MAX};

static void texts_of(struct sr_cache_fields *f, struct sr_bytes *texts[N_TEXTS])
{
    texts[0] = &f->model;
    texts[1] = &f->decision;
    texts[2] = &f->verdict;
    texts[3] = &f->question;
    texts[4] = &f->vector;
    texts[5] = &f->answer;
}

static void keys_of(struct sr_cache_fields *f, struct sr_cache_key *keys[N_KEYS])
{
    keys[0] = &f->request;
    keys[1] = &f->exact;
    keys[2] = &f->partition;
    keys[3] = &f->tenant;
    keys[4] = &f->user;
}

static void put_number(uint8_t *p, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t get_number(const uint8_t *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

int sr_cache_record_new(struct sr_cache_record **out, const struct sr_cache_fields *fields)
{
    struct sr_cache_fields f = *fields;
    struct sr_bytes *texts[N_TEXTS];
    size_t size = 0;
    texts_of(&f, texts);
    *out = NULL;
    for (size_t i = 0; i < N_TEXTS; i++) {
        if (texts[i]->n > LIMITS[i])
            return SR_ELIMIT;
        size += texts[i]->n;
    }
    if (size + HEAD > SR_CACHE_RECORD_MAX)
        return SR_ELIMIT;
    struct sr_cache_record *record = sr_mem_alloc(sizeof *record + size);
    if (!record)
        return SR_ENOMEM;
    char *at = (char *)(record + 1);
    for (size_t i = 0; i < N_TEXTS; i++) {
        if (texts[i]->n)
            memcpy(at, texts[i]->p, texts[i]->n);
        texts[i]->p = at;
        at += texts[i]->n;
    }
    sr_ref_init(&record->ref);
    record->f = f;
    record->bytes = sizeof *record + size;
    *out = record;
    return SR_OK;
}

struct sr_cache_record *sr_cache_record_ref(struct sr_cache_record *record)
{
    sr_ref_get(&record->ref);
    return record;
}

void sr_cache_record_unref(struct sr_cache_record *record)
{
    if (record && sr_ref_put(&record->ref))
        sr_mem_free(record);
}

size_t sr_cache_record_size(const struct sr_cache_record *record)
{
    return HEAD + record->bytes - sizeof *record;
}

void sr_cache_record_write(const struct sr_cache_record *record, uint8_t *out)
{
    struct sr_cache_fields f = record->f;
    struct sr_bytes *texts[N_TEXTS];
    struct sr_cache_key *keys[N_KEYS];
    uint8_t *at = out + HEAD;
    texts_of(&f, texts);
    keys_of(&f, keys);
    put_number(out + AT_MAGIC, MAGIC, 4);
    put_number(out + AT_FORM, (uint64_t)f.form, 4);
    put_number(out + AT_CREATED, (uint64_t)f.created_ms, 8);
    put_number(out + AT_EXPIRES, (uint64_t)f.expires_ms, 8);
    for (size_t i = 0; i < N_KEYS; i++)
        memcpy(out + AT_KEYS + i * SR_CACHE_KEY, keys[i]->bytes, SR_CACHE_KEY);
    for (size_t i = 0; i < N_TEXTS; i++) {
        put_number(out + AT_SIZES + 4 * i, texts[i]->n, 4);
        if (texts[i]->n)
            memcpy(at, texts[i]->p, texts[i]->n);
        at += texts[i]->n;
    }
    struct sr_bytes covered = sr_bytes_of(out + AT_CREATED, (size_t)(at - out) - AT_CREATED);
    put_number(out + AT_CHECKSUM, sr_hash64(covered, (uint64_t)f.form), 8);
}

int sr_cache_record_read(struct sr_cache_record **out, struct sr_bytes bytes)
{
    const uint8_t *p = (const uint8_t *)bytes.p;
    struct sr_cache_fields f;
    struct sr_bytes *texts[N_TEXTS];
    struct sr_cache_key *keys[N_KEYS];
    *out = NULL;
    if (bytes.n < HEAD || bytes.n > SR_CACHE_RECORD_MAX || get_number(p + AT_MAGIC, 4) != MAGIC)
        return SR_EINVAL;
    uint64_t form = get_number(p + AT_FORM, 4);
    struct sr_bytes covered = sr_bytes_of(p + AT_CREATED, bytes.n - AT_CREATED);
    if ((form != SR_CACHE_JSON && form != SR_CACHE_SSE) ||
        get_number(p + AT_CHECKSUM, 8) != sr_hash64(covered, form))
        return SR_EINVAL;
    memset(&f, 0, sizeof f);
    f.form = (enum sr_cache_form)form;
    f.created_ms = (int64_t)get_number(p + AT_CREATED, 8);
    f.expires_ms = (int64_t)get_number(p + AT_EXPIRES, 8);
    texts_of(&f, texts);
    keys_of(&f, keys);
    for (size_t i = 0; i < N_KEYS; i++)
        memcpy(keys[i]->bytes, p + AT_KEYS + i * SR_CACHE_KEY, SR_CACHE_KEY);
    size_t at = HEAD;
    for (size_t i = 0; i < N_TEXTS; i++) {
        size_t n = (size_t)get_number(p + AT_SIZES + 4 * i, 4);
        if (n > bytes.n - at)
            return SR_EINVAL;
        *texts[i] = sr_bytes_of(p + at, n);
        at += n;
    }
    return at == bytes.n ? sr_cache_record_new(out, &f) : SR_EINVAL;
}
