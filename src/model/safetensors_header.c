/*
 * The strict parser of a safetensors header. It accepts one fixed shape and so needs no recursion:
 * { "name": {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]}, ..., "__metadata__": {"k": "v"} }
 */
#include "model/safetensors_header.h"

#include "base/json_read.h"

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
    struct sr_json_cursor at;
    size_t base; /* of at.p[0] in the file */
    struct sr_arena *arena;
    struct sr_err *err;
};

static int fail(struct parser *ps, size_t at, const char *what)
{
    return sr_err_set_at(ps->err, SR_EPARSE, ps->base + at, "safetensors header: %s at byte %zu", what,
                         ps->base + at);
}

static bool take(struct parser *ps, char c)
{
    return sr_json_cursor_take(&ps->at, c);
}

static int expect(struct parser *ps, char c)
{
    char what[16] = "expected 'x'";
    what[10] = c;
    return take(ps, c) ? SR_OK : fail(ps, ps->at.i, what);
}

static int string(struct parser *ps, struct sr_bytes *out)
{
    size_t start = sr_json_cursor_next(&ps->at);
    sr_json_view found;
    if (!sr_json_cursor_string(&ps->at, &found))
        return fail(ps, ps->at.i == ps->at.n ? start : ps->at.i, ps->at.what);
    char *text = sr_arena_alloc(ps->arena, found.n);
    if (!text)
        return sr_err_set(ps->err, SR_ENOMEM, "out of memory for a safetensors header");
    *out = sr_bytes_of(text, sr_json_view_decode(found, text));
    return SR_OK;
}

static int number(struct parser *ps, uint64_t *out)
{
    size_t start = sr_json_cursor_next(&ps->at);
    sr_json_view found;
    int64_t value = 0;
    if (!sr_json_cursor_number(&ps->at, &found))
        return fail(ps, start, ps->at.what);
    size_t digits = 0;
    while (digits < found.n && found.p[digits] >= '0' && found.p[digits] <= '9')
        digits++;
    if (digits < found.n)
        return fail(ps, start, "expected a whole number");
    if (!sr_json_view_int(found, &value))
        return fail(ps, start, "number too large");
    *out = (uint64_t)value;
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
            return fail(ps, ps->at.i, "too many numbers in a list");
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
    size_t at = ps->at.i;
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
    size_t at = sr_json_cursor_next(&ps->at);
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
        struct sr_st_pair pair = {0};
        size_t at = ps->at.i;
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
    size_t at = sr_json_cursor_next(&ps->at);
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
    struct parser ps = {.at = {.p = text.p, .n = text.n}, .base = base, .arena = arena, .err = err};
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
    return rc || sr_json_cursor_next(&ps.at) == text.n ? rc : fail(&ps, ps.at.i, "text after the object");
}
