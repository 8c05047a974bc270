/*
 * Rows of records, parts and purges, and what stands in their bodies.
 *
 * Bodies but those of whole records begin with four letters and are little-endian.
 */
#include "store/milvus/rows.h"

#include "base/base64.h"
#include "base/hash.h"
#include "base/hex.h"
#include "store/remote.h"
#include "store/selector.h"

#include <stdarg.h>
#include <stdio.h>

#define HEAD_MAGIC  "SRM1"
#define PART_MAGIC  "SRP1"
#define PURGE_MAGIC "SRG1"
#define MARK_MAGIC  "SRN1"
#define MAGIC       ((size_t)4)

#define PURGES "purges" /* `part` of purges */
#define MARK   "mark"   /* id and `part` of the mark */

enum {
    HEAD_SIZE = 4 + SR_MILVUS_NAME + 4 + 32,
    PART_HEAD = 4 + SR_MILVUS_NAME + 4,
    PURGE_HEAD = 4 + 2 * SR_MILVUS_NAME + 1 + 8 + 8,
    MARK_SIZE = 4 + SR_MILVUS_NAME,
};
_Static_assert(PART_HEAD + SR_MILVUS_PART_MAX <= SR_MILVUS_BODY_MAX, "a part fits a row");

#define KEY_TEXT (2 * (size_t)SR_CACHE_KEY + 2) /* with a sign and a NUL */
#define PARTS(n) (((n) + SR_MILVUS_PART_MAX - 1) / SR_MILVUS_PART_MAX)

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

/* ---- to rows ---- */

size_t sr_milvus_parts(size_t size)
{
    return size > SR_MILVUS_BODY_MAX ? PARTS(size) : 0;
}

static bool body_write(struct sr_milvus_row *out, const uint8_t *bytes, size_t n, struct sr_arena *arena)
{
    char *body = sr_arena_alloc(arena, SR_BASE64_SIZE(n) + 1);
    if (!body)
        return false;
    sr_base64_write(bytes, n, body);
    out->texts[SR_MILVUS_BODY] = body;
    return true;
}

/* A key's hex text, with a sign before it unless that is 0. */
static char *key_write(const struct sr_cache_key *key, char sign, struct sr_arena *arena)
{
    char *text = sr_arena_alloc(arena, KEY_TEXT);
    if (!text)
        return NULL;
    if (sign)
        *text = sign;
    sr_hex_write(key->bytes, SR_CACHE_KEY, text + (sign != 0));
    return text;
}

static char *model_write(struct sr_bytes model, struct sr_arena *arena)
{
    char *text = sr_arena_alloc(arena, SR_SHA256_HEX);
    return text && sr_sha256_hex(model.n ? model : SR_LIT(""), text) == SR_OK ? text : NULL;
}

/* What a record's row and its parts have in common. */
static bool row_begin(struct sr_milvus_row *out, const struct sr_cache_fields *f, struct sr_arena *arena)
{
    *out = (struct sr_milvus_row){.created_ms = f->created_ms, .expires_ms = f->expires_ms};
    out->texts[SR_MILVUS_TENANT] = key_write(&f->tenant, 0, arena);
    out->texts[SR_MILVUS_USER] = key_write(&f->user, 0, arena);
    out->texts[SR_MILVUS_MODEL] = model_write(f->model, arena);
    return out->texts[SR_MILVUS_TENANT] && out->texts[SR_MILVUS_USER] && out->texts[SR_MILVUS_MODEL];
}

/* The bytes of a record, in the arena. NULL: no room. */
static uint8_t *bytes_of(const struct sr_cache_record *record, struct sr_arena *arena)
{
    uint8_t *bytes = sr_arena_alloc(arena, sr_cache_record_size(record));
    if (bytes)
        sr_cache_record_write(record, bytes);
    return bytes;
}

static bool head_write(uint8_t out[HEAD_SIZE], const struct sr_milvus_name *version, const uint8_t *bytes,
                       size_t size)
{
    memcpy(out, HEAD_MAGIC, MAGIC);
    memcpy(out + MAGIC, version, SR_MILVUS_NAME);
    put_number(out + MAGIC + SR_MILVUS_NAME, size, 4);
    return sr_sha256(sr_bytes_of(bytes, size), out + MAGIC + SR_MILVUS_NAME + 4) == SR_OK;
}

bool sr_milvus_row_record(struct sr_milvus_row *out, const struct sr_cache_record *record,
                          const struct sr_milvus_name *version, const float *unit, struct sr_arena *arena)
{
    const struct sr_cache_fields *f = &record->f;
    size_t size = sr_cache_record_size(record);
    uint8_t *bytes = bytes_of(record, arena), head[HEAD_SIZE];
    if (!bytes || !row_begin(out, f, arena))
        return false;
    out->unit = unit;
    out->texts[SR_MILVUS_ID] = key_write(&f->exact, 0, arena);
    out->texts[SR_MILVUS_REQUEST] = key_write(&f->request, 0, arena);
    out->texts[SR_MILVUS_PART] = key_write(&f->partition, unit ? 0 : '-', arena);
    if (!out->texts[SR_MILVUS_ID] || !out->texts[SR_MILVUS_REQUEST] || !out->texts[SR_MILVUS_PART])
        return false;
    if (!sr_milvus_parts(size))
        return body_write(out, bytes, size, arena);
    return head_write(head, version, bytes, size) && body_write(out, head, sizeof head, arena);
}

static char *part_id(const struct sr_milvus_name *version, size_t index, struct sr_arena *arena)
{
    char hex[2 * SR_MILVUS_NAME + 1];
    sr_hex_write(version->bytes, SR_MILVUS_NAME, hex);
    return sr_arena_printf(arena, "p%s-%zu", hex, index);
}

bool sr_milvus_row_parts(struct sr_milvus_row *rows, const struct sr_cache_record *record,
                         const struct sr_milvus_name *version, size_t first, size_t count,
                         struct sr_arena *arena)
{
    const struct sr_cache_fields *f = &record->f;
    size_t size = sr_cache_record_size(record);
    uint8_t *bytes = bytes_of(record, arena), *part = sr_arena_alloc(arena, SR_MILVUS_BODY_MAX);
    for (size_t i = 0; bytes && part && i < count; i++) {
        struct sr_milvus_row *row = &rows[i];
        size_t at = (first + i) * SR_MILVUS_PART_MAX,
               n = size - at < SR_MILVUS_PART_MAX ? size - at : SR_MILVUS_PART_MAX;
        memcpy(part, PART_MAGIC, MAGIC);
        memcpy(part + MAGIC, version, SR_MILVUS_NAME);
        put_number(part + MAGIC + SR_MILVUS_NAME, first + i, 4);
        memcpy(part + PART_HEAD, bytes + at, n);
        if (!row_begin(row, f, arena) || !body_write(row, part, PART_HEAD + n, arena) ||
            !(row->texts[SR_MILVUS_ID] = part_id(version, first + i, arena)) ||
            !(row->texts[SR_MILVUS_REQUEST] = key_write(&f->exact, '=', arena)) ||
            !(row->texts[SR_MILVUS_PART] = key_write(&f->partition, '+', arena)))
            return false;
    }
    return bytes && part;
}

static void row_plain(struct sr_milvus_row *out, char *id, const char *part)
{
    *out = (struct sr_milvus_row){0};
    for (size_t i = 0; i < SR_MILVUS_TEXTS; i++)
        out->texts[i] = (char *)"";
    out->texts[SR_MILVUS_ID] = id;
    out->texts[SR_MILVUS_PART] = (char *)part;
}

bool sr_milvus_row_purge(struct sr_milvus_row *out, const struct sr_milvus_purge *purge,
                         struct sr_arena *arena)
{
    char hex[2 * SR_MILVUS_NAME + 1], *id;
    uint8_t head[PURGE_HEAD], *at = head + MAGIC;
    struct sr_buf bytes;
    bool whole;
    sr_hex_write(purge->id.bytes, SR_MILVUS_NAME, hex);
    id = sr_arena_printf(arena, "g%s", hex);
    row_plain(out, id, PURGES);
    out->created_ms = purge->at_ms;
    out->expires_ms = purge->at_ms + (int64_t)SR_MILVUS_PURGE_S * 1000;
    memcpy(head, PURGE_MAGIC, MAGIC);
    memcpy(at, &purge->id, SR_MILVUS_NAME);
    memcpy(at + SR_MILVUS_NAME, &purge->who, SR_MILVUS_NAME);
    at[2 * (size_t)SR_MILVUS_NAME] = purge->done;
    put_number(at + 2 * (size_t)SR_MILVUS_NAME + 1, purge->timestamp, 8);
    put_number(at + 2 * (size_t)SR_MILVUS_NAME + 9, (uint64_t)purge->at_ms, 8);
    sr_buf_init(&bytes, SR_MILVUS_BODY_MAX);
    whole = id && sr_buf_append(&bytes, head, sizeof head) == SR_OK &&
            sr_selector_write(&bytes, &purge->which) == SR_OK &&
            body_write(out, (const uint8_t *)bytes.data, bytes.len, arena);
    sr_buf_dispose(&bytes);
    return whole;
}

bool sr_milvus_row_mark(struct sr_milvus_row *out, const struct sr_milvus_name *mark, struct sr_arena *arena)
{
    uint8_t bytes[MARK_SIZE];
    row_plain(out, (char *)MARK, MARK);
    memcpy(bytes, MARK_MAGIC, MAGIC);
    memcpy(bytes + MAGIC, mark, SR_MILVUS_NAME);
    return body_write(out, bytes, sizeof bytes, arena);
}

/* ---- filters ---- */

struct filter {
    char text[1024]; /* all members of a selector take less */
    size_t n;
};

static void filter_and(struct filter *filter, const char *fmt, ...) SR_PRINTF(2, 3);
static void filter_and(struct filter *filter, const char *fmt, ...)
{
    va_list args;
    if (filter->n)
        filter->n += (size_t)snprintf(filter->text + filter->n, sizeof filter->text - filter->n, " && ");
    va_start(args, fmt);
    filter->n += (size_t)vsnprintf(filter->text + filter->n, sizeof filter->text - filter->n, fmt, args);
    va_end(args);
}

static void filter_key(struct filter *filter, const char *name, const struct sr_cache_key *key)
{
    char hex[KEY_TEXT];
    if (!sr_cache_key_is_set(key))
        return;
    sr_hex_write(key->bytes, SR_CACHE_KEY, hex);
    filter_and(filter, "%s == \"%s\"", name, hex);
}

char *sr_milvus_filter_removal(const struct sr_cache_selector *which, struct sr_arena *arena)
{
    char hex[KEY_TEXT], *model = which->model.n ? model_write(which->model, arena) : NULL;
    struct filter filter = {.n = 0};
    if (which->model.n && !model)
        return NULL;
    filter_and(&filter, "part not in [\"" PURGES "\", \"" MARK "\"]");
    if (sr_cache_key_is_set(&which->exact)) {
        sr_hex_write(which->exact.bytes, SR_CACHE_KEY, hex);
        filter_and(&filter, "(id == \"%s\" || request == \"=%s\")", hex, hex);
    }
    filter_key(&filter, "tenant", &which->tenant);
    filter_key(&filter, "user", &which->user);
    if (sr_cache_key_is_set(&which->partition)) {
        sr_hex_write(which->partition.bytes, SR_CACHE_KEY, hex);
        filter_and(&filter, "part in [\"%s\", \"-%s\", \"+%s\"]", hex, hex, hex);
    }
    if (model)
        filter_and(&filter, "model == \"%s\"", model);
    if (which->created_before_ms)
        filter_and(&filter, "created_at < %lld", (long long)which->created_before_ms);
    return (char *)sr_arena_dup(arena, sr_bytes_of(filter.text, filter.n)).p;
}

char *sr_milvus_filter_expired(int64_t now_ms, struct sr_arena *arena)
{
    return sr_arena_printf(arena, "expires_at > 0 && expires_at <= %lld", (long long)now_ms);
}

#define IS_LIVE "(expires_at == 0 || expires_at > %lld)"

char *sr_milvus_filter_partition(const struct sr_cache_key *partition, int64_t now_ms, struct sr_arena *arena)
{
    char hex[KEY_TEXT];
    sr_hex_write(partition->bytes, SR_CACHE_KEY, hex);
    return sr_arena_printf(arena, "part == \"%s\" && " IS_LIVE, hex, (long long)now_ms);
}

char *sr_milvus_filter_key(const struct sr_cache_key *key, int64_t now_ms, struct sr_arena *arena)
{
    char hex[KEY_TEXT];
    sr_hex_write(key->bytes, SR_CACHE_KEY, hex);
    return sr_arena_printf(arena, "(id == \"%s\" || request == \"%s\") && " IS_LIVE, hex, hex,
                           (long long)now_ms);
}

char *sr_milvus_filter_parts(const struct sr_milvus_head *heads, size_t n, struct sr_arena *arena)
{
    struct sr_buf filter;
    bool whole = true;
    char *out = NULL;
    sr_buf_init(&filter, (size_t)1 << 20);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < PARTS(heads[i].size) && whole; k++) {
            const char *id = part_id(&heads[i].version, k, arena);
            whole = id && sr_buf_printf(&filter, "%s\"%s\"", filter.len ? ", " : "", id) == SR_OK;
        }
    }
    if (whole)
        out = sr_arena_printf(arena, "id in [%.*s]", (int)filter.len, filter.len ? filter.data : "");
    sr_buf_dispose(&filter);
    return out;
}

char *sr_milvus_filter_mark(void)
{
    return (char *)"id == \"" MARK "\"";
}

char *sr_milvus_filter_purges(void)
{
    return (char *)"part == \"" PURGES "\"";
}

/* ---- from a row's body ---- */

int sr_milvus_body_read(struct sr_bytes *out, const char *body, struct sr_arena *arena)
{
    size_t n = strlen(body);
    uint8_t *bytes = sr_arena_alloc(arena, n / 4 * 3 + 1);
    int rc = bytes ? sr_base64_read(sr_bytes_of(body, n), bytes, &n) : SR_ENOMEM;
    *out = sr_bytes_of(bytes, rc == SR_OK ? n : 0);
    return rc;
}

static bool begins(struct sr_bytes bytes, const char *magic, size_t least)
{
    return bytes.n >= least && memcmp(bytes.p, magic, MAGIC) == 0;
}

static void name_read(struct sr_milvus_name *out, const uint8_t *p)
{
    memcpy(out->bytes, p, SR_MILVUS_NAME);
}

bool sr_milvus_head_read(struct sr_milvus_head *out, struct sr_bytes bytes)
{
    const uint8_t *p = (const uint8_t *)bytes.p;
    if (!begins(bytes, HEAD_MAGIC, HEAD_SIZE) || bytes.n != HEAD_SIZE)
        return false;
    name_read(&out->version, p + MAGIC);
    out->size = (uint32_t)get_number(p + MAGIC + SR_MILVUS_NAME, 4);
    memcpy(out->sha256, p + MAGIC + SR_MILVUS_NAME + 4, sizeof out->sha256);
    return out->size > 0 && out->size <= SR_MILVUS_RECORD_MAX;
}

bool sr_milvus_part_read(struct sr_milvus_part *out, struct sr_bytes bytes)
{
    const uint8_t *p = (const uint8_t *)bytes.p;
    if (!begins(bytes, PART_MAGIC, PART_HEAD + 1) || bytes.n > PART_HEAD + SR_MILVUS_PART_MAX)
        return false;
    name_read(&out->version, p + MAGIC);
    out->index = (uint32_t)get_number(p + MAGIC + SR_MILVUS_NAME, 4);
    out->bytes = sr_bytes_of(bytes.p + PART_HEAD, bytes.n - PART_HEAD);
    return true;
}

bool sr_milvus_purge_read(struct sr_milvus_purge *out, struct sr_bytes bytes)
{
    const uint8_t *p = (const uint8_t *)bytes.p + MAGIC;
    if (!begins(bytes, PURGE_MAGIC, PURGE_HEAD))
        return false;
    name_read(&out->id, p);
    name_read(&out->who, p + SR_MILVUS_NAME);
    out->done = p[2 * (size_t)SR_MILVUS_NAME];
    out->timestamp = get_number(p + 2 * (size_t)SR_MILVUS_NAME + 1, 8);
    out->at_ms = (int64_t)get_number(p + 2 * (size_t)SR_MILVUS_NAME + 9, 8);
    return sr_selector_read(&out->which, sr_bytes_of(bytes.p + PURGE_HEAD, bytes.n - PURGE_HEAD));
}

bool sr_milvus_mark_read(struct sr_milvus_name *out, struct sr_bytes bytes)
{
    if (!begins(bytes, MARK_MAGIC, MARK_SIZE) || bytes.n != MARK_SIZE)
        return false;
    name_read(out, (const uint8_t *)bytes.p + MAGIC);
    return true;
}

int sr_milvus_record_read(struct sr_cache_record **out, struct sr_bytes bytes)
{
    int rc = sr_cache_record_read(out, bytes);
    if (rc == SR_OK && !sr_remote_is_live(&(*out)->f)) {
        sr_cache_record_unref(*out);
        *out = NULL;
        rc = SR_ENOENT;
    }
    return rc;
}

int sr_milvus_join(struct sr_cache_record **out, const struct sr_milvus_head *head,
                   const struct sr_milvus_part *parts, size_t n, struct sr_arena *arena)
{
    size_t count = PARTS((size_t)head->size), have = 0;
    bool *there = sr_arena_calloc(arena, count, sizeof *there);
    uint8_t *bytes = sr_arena_alloc(arena, head->size), sha256[SR_SHA256_SIZE];
    *out = NULL;
    if (!there || !bytes)
        return SR_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct sr_milvus_part *part = &parts[i];
        size_t at = (size_t)part->index * SR_MILVUS_PART_MAX;
        if (memcmp(&part->version, &head->version, sizeof head->version) != 0)
            continue;
        if (part->index >= count ||
            part->bytes.n != (head->size - at < SR_MILVUS_PART_MAX ? head->size - at : SR_MILVUS_PART_MAX))
            return SR_EINVAL;
        memcpy(bytes + at, part->bytes.p, part->bytes.n);
        have += !there[part->index];
        there[part->index] = true;
    }
    if (have != count)
        return SR_ENOENT;
    if (sr_sha256(sr_bytes_of(bytes, head->size), sha256) != SR_OK ||
        memcmp(sha256, head->sha256, sizeof sha256) != 0)
        return SR_EINVAL;
    return sr_milvus_record_read(out, sr_bytes_of(bytes, head->size));
}
