/*
 * Decoding with protobuf-c into an arena. The library decodes nested messages by recursion without a limit of
 * its own, so a first pass over the tags checks the depth.
 */
#include "net/grpc/protobuf_arena.h"

#define DEPTH_MAX 64

static void *arena_alloc(void *arena, size_t size)
{
    return sr_arena_alloc(arena, size);
}

static void arena_free(void *arena, void *p)
{
    (void)arena, (void)p;
}

/* Borrows `arena`; valid as long as it. */
static ProtobufCAllocator allocator_of(struct sr_arena *arena)
{
    return (ProtobufCAllocator){.alloc = arena_alloc, .free = arena_free, .allocator_data = arena};
}

/* Bytes of the varint at `p`, 0 when it is cut or too long. */
static size_t varint_read(const char *p, const char *end, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < 10 && p + i < end; i++) {
        *out |= (uint64_t)((unsigned char)p[i] & 127) << (7 * i);
        if (!((unsigned char)p[i] & 128))
            return i + 1;
    }
    return 0;
}

/* The check descends only where `type` says that a field is one. */
static bool depth_is_sane(const ProtobufCMessageDescriptor *type, const char *p, const char *end,
                          unsigned depth)
{
    while (p < end) {
        const ProtobufCFieldDescriptor *field;
        uint64_t tag, value = 0;
        size_t n = varint_read(p, end, &tag);
        if (!n)
            return false;
        p += n;
        switch (tag & 7) {
        case PROTOBUF_C_WIRE_TYPE_VARINT:
            n = varint_read(p, end, &value);
            break;
        case PROTOBUF_C_WIRE_TYPE_64BIT:
            n = 8;
            break;
        case PROTOBUF_C_WIRE_TYPE_32BIT:
            n = 4;
            break;
        case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
            n = varint_read(p, end, &value);
            break;
        default:
            return false;
        }
        if (!n || n > (size_t)(end - p))
            return false;
        p += n;
        if ((tag & 7) != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
            continue;
        if (value > (size_t)(end - p))
            return false;
        field = protobuf_c_message_descriptor_get_field(type, (unsigned)(tag >> 3));
        if (field && field->type == PROTOBUF_C_TYPE_MESSAGE &&
            (depth == DEPTH_MAX || !depth_is_sane(field->descriptor, p, p + value, depth + 1)))
            return false;
        p += value;
    }
    return true;
}

int sr_protobuf_unpack(ProtobufCMessage **out, const ProtobufCMessageDescriptor *type, struct sr_arena *arena,
                       struct sr_bytes bytes)
{
    ProtobufCAllocator allocator = allocator_of(arena);
    *out = NULL;
    if (!depth_is_sane(type, bytes.p, bytes.p + bytes.n, 1))
        return SR_EPARSE;
    *out = protobuf_c_message_unpack(type, &allocator, bytes.n, (const uint8_t *)bytes.p);
    if (*out)
        return SR_OK;
    /* The library reports no cause; an almost full arena means out of memory. */
    return arena->max - arena->total < bytes.n ? SR_ENOMEM : SR_EPARSE;
}

struct sr_bytes sr_protobuf_pack(const ProtobufCMessage *message, struct sr_arena *arena)
{
    size_t n = protobuf_c_message_get_packed_size(message);
    uint8_t *p = sr_arena_alloc(arena, n ? n : 1);
    if (p)
        protobuf_c_message_pack(message, p);
    return sr_bytes_of(p, p ? n : 0);
}
