/* Little-endian base-128 numbers, and tags of number and type (protobuf.dev/programming-guides/encoding). */
#include "trace/wire.h"

#define FIELDS_MAX 0x1fffffffu /* of a field's number */

size_t sr_wire_varint_size(uint64_t value)
{
    size_t n = 1;
    for (; value > 0x7f; value >>= 7)
        n++;
    return n;
}

size_t sr_wire_put_varint(uint8_t *out, uint64_t value)
{
    size_t n = 0;
    for (; value > 0x7f; value >>= 7)
        out[n++] = (uint8_t)(value | 0x80);
    out[n++] = (uint8_t)value;
    return n;
}

static size_t put_tag(uint8_t *out, unsigned field, enum sr_wire_type type)
{
    return sr_wire_put_varint(out, (uint64_t)field << 3 | (uint64_t)type);
}

int sr_wire_varint(struct sr_buf *out, unsigned field, uint64_t value)
{
    uint8_t bytes[2 * SR_WIRE_VARINT_MAX];
    size_t n = put_tag(bytes, field, SR_WIRE_VARINT);
    n += sr_wire_put_varint(bytes + n, value);
    return sr_buf_append(out, bytes, n);
}

int sr_wire_fixed64(struct sr_buf *out, unsigned field, uint64_t value)
{
    uint8_t bytes[SR_WIRE_VARINT_MAX + sizeof value];
    size_t n = put_tag(bytes, field, SR_WIRE_FIXED64);
    for (size_t i = 0; i < sizeof value; i++)
        bytes[n++] = (uint8_t)(value >> 8 * i);
    return sr_buf_append(out, bytes, n);
}

/* The tag and the length of a field of `n` bytes, which follow; `put` writes at most 2 * SR_WIRE_VARINT_MAX
 * bytes and returns their number. */
static size_t put_head(uint8_t *out, unsigned field, size_t n)
{
    size_t used = put_tag(out, field, SR_WIRE_BYTES);
    return used + sr_wire_put_varint(out + used, n);
}

int sr_wire_head(struct sr_buf *out, unsigned field, size_t n)
{
    uint8_t bytes[2 * SR_WIRE_VARINT_MAX];
    return sr_buf_append(out, bytes, put_head(bytes, field, n));
}

int sr_wire_bytes(struct sr_buf *out, unsigned field, struct sr_bytes value)
{
    int rc = sr_wire_head(out, field, value.n);
    return rc ? rc : sr_buf_append_bytes(out, value);
}

size_t sr_wire_bytes_size(unsigned field, size_t n)
{
    return sr_wire_varint_size((uint64_t)field << 3) + sr_wire_varint_size(n) + n;
}

/* ---- reading ---- */

static bool take_varint(struct sr_bytes *rest, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < SR_WIRE_VARINT_MAX && i < rest->n; i++) {
        uint8_t byte = (uint8_t)rest->p[i];
        *out |= (uint64_t)(byte & 0x7f) << 7 * i;
        if (byte & 0x80)
            continue;
        *rest = sr_bytes_of(rest->p + i + 1, rest->n - i - 1);
        return true;
    }
    return false;
}

static bool take_bytes(struct sr_bytes *rest, uint64_t n, struct sr_bytes *out)
{
    if (n > rest->n)
        return false;
    *out = sr_bytes_of(rest->p, (size_t)n);
    *rest = sr_bytes_of(rest->p + n, rest->n - (size_t)n);
    return true;
}

static bool take_value(struct sr_bytes *rest, struct sr_wire_field *out)
{
    uint64_t n;
    switch (out->type) {
    case SR_WIRE_VARINT:
        return take_varint(rest, &out->value);
    case SR_WIRE_FIXED64:
        return take_bytes(rest, 8, &out->bytes);
    case SR_WIRE_FIXED32:
        return take_bytes(rest, 4, &out->bytes);
    case SR_WIRE_BYTES:
        return take_varint(rest, &n) && take_bytes(rest, n, &out->bytes);
    }
    return false;
}

int sr_wire_next(struct sr_bytes *rest, struct sr_wire_field *out)
{
    uint64_t tag;
    *out = (struct sr_wire_field){0};
    if (rest->n == 0)
        return SR_ENOENT;
    if (!take_varint(rest, &tag) || tag >> 3 == 0 || tag >> 3 > FIELDS_MAX)
        return SR_EPARSE;
    out->number = (unsigned)(tag >> 3);
    out->type = (enum sr_wire_type)(tag & 7);
    return take_value(rest, out) ? SR_OK : SR_EPARSE;
}
