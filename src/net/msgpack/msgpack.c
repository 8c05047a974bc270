/* The first byte of an item says its kind, and how its length is written. */
#include "net/msgpack/msgpack.h"

static size_t left_of(const struct sr_msgpack *in)
{
    return (size_t)(in->end - in->p);
}

/* A big-endian number of so many bytes. */
static int take_number(struct sr_msgpack *in, size_t bytes, uint64_t *out)
{
    if (left_of(in) < bytes)
        return SR_EPARSE;
    *out = 0;
    for (size_t i = 0; i < bytes; i++)
        *out = *out << 8 | (unsigned char)*in->p++;
    return SR_OK;
}

static int take_bytes(struct sr_msgpack *in, uint64_t n, enum sr_msgpack_kind kind,
                      struct sr_msgpack_item *out)
{
    if (left_of(in) < n)
        return SR_EPARSE;
    out->kind = kind;
    out->bytes = sr_bytes_of(in->p, (size_t)n);
    in->p += n;
    return SR_OK;
}

/* Each element has a byte at least. */
static int begin(const struct sr_msgpack *in, uint64_t n, enum sr_msgpack_kind kind,
                 struct sr_msgpack_item *out)
{
    out->kind = kind;
    out->number = n;
    return n <= left_of(in) / (kind == SR_MSGPACK_MAP ? 2 : 1) ? SR_OK : SR_EPARSE;
}

static int take_unsigned(struct sr_msgpack *in, size_t bytes, struct sr_msgpack_item *out)
{
    out->kind = SR_MSGPACK_UINT;
    return take_number(in, bytes, &out->number);
}

static int take_signed(struct sr_msgpack *in, size_t bytes, struct sr_msgpack_item *out)
{
    int rc = take_number(in, bytes, &out->number);
    uint64_t sign = UINT64_C(1) << (8 * bytes - 1);
    out->kind = out->number & sign ? SR_MSGPACK_INT : SR_MSGPACK_UINT;
    if (out->number & sign)
        out->number |= ~(sign - 1);
    return rc;
}

/* Items whose length has bytes of its own; `type` bytes follow it. */
static int take_sized(struct sr_msgpack *in, size_t bytes, size_t type, enum sr_msgpack_kind kind,
                      struct sr_msgpack_item *out)
{
    uint64_t n;
    if (take_number(in, bytes, &n))
        return SR_EPARSE;
    if (kind == SR_MSGPACK_ARRAY || kind == SR_MSGPACK_MAP)
        return begin(in, n, kind, out);
    return take_bytes(in, n + type, kind, out);
}

/* First bytes from 0xc0 to 0xdf. */
static int take_tagged(struct sr_msgpack *in, unsigned tag, struct sr_msgpack_item *out)
{
    switch (tag) {
    case 0xc0:
        return SR_OK;
    case 0xc2:
    case 0xc3:
        *out = (struct sr_msgpack_item){.kind = SR_MSGPACK_BOOL, .number = tag & 1};
        return SR_OK;
    case 0xc4:
    case 0xc5:
    case 0xc6:
        return take_sized(in, (size_t)1 << ((tag - 0xc4) & 7), 0, SR_MSGPACK_BYTES, out);
    case 0xc7:
    case 0xc8:
    case 0xc9:
        return take_sized(in, (size_t)1 << ((tag - 0xc7) & 7), 1, SR_MSGPACK_EXTENSION, out);
    case 0xca:
    case 0xcb:
        return take_bytes(in, tag == 0xca ? 4 : 8, SR_MSGPACK_FLOAT, out);
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf:
        return take_unsigned(in, (size_t)1 << ((tag - 0xcc) & 7), out);
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:
        return take_signed(in, (size_t)1 << ((tag - 0xd0) & 7), out);
    case 0xd4:
    case 0xd5:
    case 0xd6:
    case 0xd7:
    case 0xd8:
        return take_bytes(in, 1 + ((uint64_t)1 << ((tag - 0xd4) & 7)), SR_MSGPACK_EXTENSION, out);
    case 0xd9:
    case 0xda:
    case 0xdb:
        return take_sized(in, (size_t)1 << ((tag - 0xd9) & 7), 0, SR_MSGPACK_TEXT, out);
    case 0xdc:
    case 0xdd:
        return take_sized(in, (size_t)2 << ((tag - 0xdc) & 7), 0, SR_MSGPACK_ARRAY, out);
    case 0xde:
    case 0xdf:
        return take_sized(in, (size_t)2 << ((tag - 0xde) & 7), 0, SR_MSGPACK_MAP, out);
    default:
        return SR_EPARSE;
    }
}

int sr_msgpack_next(struct sr_msgpack *in, struct sr_msgpack_item *out)
{
    *out = (struct sr_msgpack_item){.kind = SR_MSGPACK_NIL};
    if (in->p == in->end)
        return SR_EPARSE;
    unsigned tag = (unsigned char)*in->p++;
    if (tag < 0x80) {
        *out = (struct sr_msgpack_item){.kind = SR_MSGPACK_UINT, .number = tag};
        return SR_OK;
    }
    if (tag >= 0xe0) {
        *out = (struct sr_msgpack_item){.kind = SR_MSGPACK_INT, .number = ~UINT64_C(0xff) | tag};
        return SR_OK;
    }
    if (tag < 0x90)
        return begin(in, tag & 0x0f, SR_MSGPACK_MAP, out);
    if (tag < 0xa0)
        return begin(in, tag & 0x0f, SR_MSGPACK_ARRAY, out);
    return tag < 0xc0 ? take_bytes(in, tag & 0x1f, SR_MSGPACK_TEXT, out) : take_tagged(in, tag, out);
}

int sr_msgpack_skip(struct sr_msgpack *in)
{
    for (uint64_t left = 1; left > 0; left--) {
        struct sr_msgpack_item item;
        if (sr_msgpack_next(in, &item))
            return SR_EPARSE;
        if (item.kind == SR_MSGPACK_ARRAY)
            left += item.number;
        else if (item.kind == SR_MSGPACK_MAP)
            left += 2 * item.number;
        if (left > (uint64_t)(in->end - in->p) + 1) /* more values than bytes */
            return SR_EPARSE;
    }
    return SR_OK;
}
