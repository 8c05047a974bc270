/*
 * The strict parser of a safetensors header. It accepts one fixed shape and so needs no recursion:
 * { "name": {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]}, ..., "__metadata__": {"k": "v"} }
 */
#include "model/safetensors_header.h"

static const struct {
    const char *name;
    size_t size;
} dtypes[SR_DTYPES] = {
#define DTYPE_ROW(name, size) {#name, size},
    SR_DTYPE_LIST(DTYPE_ROW)
#undef DTYPE_ROW
};

const char *sr_dtype_name(enum sr_dtype dtype)
{
    return dtypes[dtype].name;
}

size_t sr_dtype_size(enum sr_dtype dtype)
{
    return dtypes[dtype].size;
}

#define METADATA_MAX 1024u
#define ARRAY_MAX    SR_SAFETENSORS_RANK_MAX

struct parser {
    const unsigned char *p;
    size_t n, i;
    size_t base; /* of p[0] in the file */
    struct sr_arena *arena;
    struct sr_err *err;
};

static int fail(struct parser *ps, size_t at, const char *what)
{
    return sr_err_set_at(ps->err, SR_EPARSE, ps->base + at, "safetensors header: %s at byte %zu", what,
                         ps->base + at);
}

static void skip_space(struct parser *ps)
{
    while (ps->i < ps->n &&
           (ps->p[ps->i] == ' ' || ps->p[ps->i] == '\n' || ps->p[ps->i] == '\r' || ps->p[ps->i] == '\t'))
        ps->i++;
}

static bool take(struct parser *ps, char c)
{
    skip_space(ps);
    if (ps->i >= ps->n || ps->p[ps->i] != (unsigned char)c)
        return false;
    ps->i++;
    return true;
}

static int expect(struct parser *ps, char c)
{
    char what[16] = "expected 'x'";
    what[10] = c;
    return take(ps, c) ? SR_OK : fail(ps, ps->i, what);
}

/* Four hex digits at ps->i; -1 when there are none. */
static long hex4(struct parser *ps)
{
    long value = 0;
    if (ps->n - ps->i < 4)
        return -1;
    for (int k = 0; k < 4; k++) {
        unsigned char c = ps->p[ps->i + (size_t)k];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    ps->i += 4;
    return value;
}

static size_t put_utf8(char *out, long c)
{
    if (c < 0x80)
        return out[0] = (char)c, 1;
    if (c < 0x800)
        return out[0] = (char)(0xC0 | c >> 6), out[1] = (char)(0x80 | (c & 63)), 2;
    size_t n = 0;
    if (c < 0x10000)
        out[n++] = (char)(0xE0 | c >> 12);
    else
        out[n++] = (char)(0xF0 | c >> 18), out[n++] = (char)(0x80 | (c >> 12 & 63));
    out[n++] = (char)(0x80 | (c >> 6 & 63));
    out[n++] = (char)(0x80 | (c & 63));
    return n;
}

/* After "\u": one code point, a surrogate pair included. At most 6 source bytes become 4. */
static int unicode_escape(struct parser *ps, size_t at, char *out, size_t *n)
{
    long c = hex4(ps);
    if (c >= 0xD800 && c <= 0xDBFF && ps->n - ps->i >= 2 && ps->p[ps->i] == '\\' && ps->p[ps->i + 1] == 'u') {
        ps->i += 2;
        long low = hex4(ps);
        c = low >= 0xDC00 && low <= 0xDFFF ? 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00) : -1;
    } else if (c >= 0xD800 && c <= 0xDFFF) {
        c = -1;
    }
    if (c < 0)
        return fail(ps, at, "bad \\u escape");
    *n += put_utf8(out + *n, c);
    return SR_OK;
}

static int unescape(struct parser *ps, char *out, size_t *n)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    size_t at = ps->i - 1;
    if (ps->i >= ps->n)
        return fail(ps, at, "unfinished string");
    char c = (char)ps->p[ps->i++];
    if (c == 'u')
        return unicode_escape(ps, at, out, n);
    const char *which = c ? strchr(from, c) : NULL;
    if (!which)
        return fail(ps, at, "unknown escape");
    out[(*n)++] = to[which - from];
    return SR_OK;
}

static int string(struct parser *ps, struct sr_bytes *out)
{
    skip_space(ps);
    size_t start = ps->i, close, n = 0;
    if (!take(ps, '"'))
        return fail(ps, ps->i, "expected a string");
    for (close = ps->i; close < ps->n && ps->p[close] != '"'; close++)
        close += ps->p[close] == '\\';
    if (close >= ps->n)
        return fail(ps, start, "unfinished string");
    char *text = sr_arena_alloc(ps->arena, close - ps->i + 1); /* decoding never lengthens */
    if (!text)
        return sr_err_set(ps->err, SR_ENOMEM, "out of memory for a safetensors header");
    while (ps->i < close) {
        unsigned char c = ps->p[ps->i++];
        if (c < 0x20)
            return fail(ps, ps->i - 1, "control character in a string");
        if (c != '\\') {
            text[n++] = (char)c;
            continue;
        }
        int rc = unescape(ps, text, &n);
        if (rc)
            return rc;
    }
    ps->i = close + 1;
    *out = sr_bytes_of(text, n);
    return SR_OK;
}

static int number(struct parser *ps, uint64_t *out)
{
    skip_space(ps);
    size_t start = ps->i;
    uint64_t value = 0;
    while (ps->i < ps->n && ps->p[ps->i] >= '0' && ps->p[ps->i] <= '9') {
        if (ps->i - start >= 18)
            return fail(ps, start, "number too large");
        value = value * 10 + (uint64_t)(ps->p[ps->i++] - '0');
    }
    if (ps->i == start)
        return fail(ps, start, "expected a whole number");
    if (ps->p[start] == '0' && ps->i - start > 1)
        return fail(ps, start, "number with a leading zero");
    *out = value;
    return SR_OK;
}

static int numbers(struct parser *ps, uint64_t *out, uint32_t max, uint32_t *count)
{
    int rc = expect(ps, '[');
    *count = 0;
    if (rc || take(ps, ']'))
        return rc;
    do {
        if (*count == max)
            return fail(ps, ps->i, "too many numbers in a list");
        rc = number(ps, &out[*count]);
        if (rc)
            return rc;
        ++*count;
    } while (take(ps, ','));
    return expect(ps, ']');
}

static int dtype(struct parser *ps, enum sr_dtype *out)
{
    struct sr_bytes name = {NULL, 0};
    size_t at = ps->i;
    int rc = string(ps, &name);
    for (int d = 0; !rc && d < SR_DTYPES; d++)
        if (sr_bytes_eq(name, sr_bytes_str(sr_dtype_name((enum sr_dtype)d))))
            return *out = (enum sr_dtype)d, SR_OK;
    return rc ? rc : fail(ps, at, "unknown dtype");
}

static int tensor_field(struct parser *ps, struct sr_st_entry *entry, unsigned *seen)
{
    static const char *const names[] = {"dtype", "shape", "data_offsets"};
    struct sr_bytes key = {NULL, 0};
    uint64_t offsets[2];
    uint32_t count = 0;
    unsigned field = 0;
    skip_space(ps);
    size_t at = ps->i;
    int rc = string(ps, &key);
    if (rc)
        return rc;
    while (field < 3 && !sr_bytes_eq(key, sr_bytes_str(names[field])))
        field++;
    if (field == 3)
        return fail(ps, at, "unknown field of a tensor");
    if (*seen & 1u << field)
        return fail(ps, at, "repeated field of a tensor");
    *seen |= 1u << field;
    rc = expect(ps, ':');
    if (rc)
        return rc;
    if (field == 0)
        return dtype(ps, &entry->tensor.dtype);
    if (field == 1)
        return numbers(ps, entry->tensor.shape, ARRAY_MAX, &entry->tensor.rank);
    rc = numbers(ps, offsets, 2, &count);
    if (!rc && count != 2)
        return fail(ps, at, "data_offsets needs two numbers");
    if (!rc)
        entry->begin = offsets[0], entry->end = offsets[1];
    return rc;
}

static int tensor(struct parser *ps, struct sr_st_entry *entry)
{
    unsigned seen = 0;
    int rc = expect(ps, '{');
    if (rc)
        return rc;
    do {
        rc = tensor_field(ps, entry, &seen);
        if (rc)
            return rc;
    } while (take(ps, ','));
    rc = expect(ps, '}');
    if (!rc && seen != 7)
        return fail(ps, entry->at - ps->base, "tensor without dtype, shape or data_offsets");
    return rc;
}

/* Doubles an arena array when it is full. */
static void *room(struct parser *ps, void *items, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return items;
    size_t want = *cap ? *cap * 2 : 16;
    void *more = sr_arena_calloc(ps->arena, want, size);
    if (more && n)
        memcpy(more, items, n * size);
    if (more)
        *cap = want;
    return more;
}

static int metadata(struct parser *ps, struct sr_st_header *h)
{
    int rc = expect(ps, '{');
    if (rc || take(ps, '}'))
        return rc;
    do {
        struct sr_st_pair pair;
        size_t at = ps->i;
        rc = string(ps, &pair.key);
        if (!rc)
            rc = expect(ps, ':');
        if (!rc)
            rc = string(ps, &pair.value);
        if (rc)
            return rc;
        for (size_t k = 0; k < h->n_metadata; k++)
            if (sr_bytes_eq(h->metadata[k].key, pair.key))
                return fail(ps, at, "repeated metadata key");
        if (h->n_metadata == METADATA_MAX)
            return fail(ps, at, "too much metadata");
        h->metadata = room(ps, h->metadata, h->n_metadata, &h->cap_metadata, sizeof *h->metadata);
        if (!h->metadata)
            return sr_err_set(ps->err, SR_ENOMEM, "out of memory for a safetensors header");
        h->metadata[h->n_metadata++] = pair;
    } while (take(ps, ','));
    return expect(ps, '}');
}

static int member(struct parser *ps, struct sr_st_header *h, bool *had_metadata)
{
    struct sr_bytes name = {NULL, 0};
    skip_space(ps);
    size_t at = ps->i;
    int rc = string(ps, &name);
    if (!rc)
        rc = expect(ps, ':');
    if (rc)
        return rc;
    if (sr_bytes_eq(name, SR_LIT("__metadata__"))) {
        if (*had_metadata)
            return fail(ps, at, "repeated __metadata__");
        *had_metadata = true;
        return metadata(ps, h);
    }
    if (h->n_entries == SR_SAFETENSORS_TENSORS_MAX)
        return sr_err_set_at(ps->err, SR_ELIMIT, ps->base + at, "more than %u tensors in a safetensors file",
                             SR_SAFETENSORS_TENSORS_MAX);
    h->entries = room(ps, h->entries, h->n_entries, &h->cap_entries, sizeof *h->entries);
    if (!h->entries)
        return sr_err_set(ps->err, SR_ENOMEM, "out of memory for a safetensors header");
    struct sr_st_entry *entry = &h->entries[h->n_entries++];
    *entry = (struct sr_st_entry){.tensor.name = name, .at = ps->base + at};
    return tensor(ps, entry);
}

int sr_st_header_parse(struct sr_st_header *header, struct sr_bytes text, size_t base, struct sr_arena *arena,
                       struct sr_err *err)
{
    struct parser ps = {
        .p = (const unsigned char *)text.p, .n = text.n, .base = base, .arena = arena, .err = err};
    bool had_metadata = false;
    *header = (struct sr_st_header){0};
    int rc = expect(&ps, '{');
    if (!rc && !take(&ps, '}')) {
        do
            rc = member(&ps, header, &had_metadata);
        while (!rc && take(&ps, ','));
        if (!rc)
            rc = expect(&ps, '}');
    }
    skip_space(&ps);
    return rc || ps.i == ps.n ? rc : fail(&ps, ps.i, "text after the object");
}
