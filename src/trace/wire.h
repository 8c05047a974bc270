/* The wire format of protobuf, to write and to read: varints, and fields by number. Knows no message. */
#ifndef SR_TRACE_WIRE_H
#define SR_TRACE_WIRE_H

#include "base/buf.h"

#include <stdint.h>

enum sr_wire_type { SR_WIRE_VARINT = 0, SR_WIRE_FIXED64 = 1, SR_WIRE_BYTES = 2, SR_WIRE_FIXED32 = 5 };

#define SR_WIRE_VARINT_MAX 10

size_t sr_wire_varint_size(uint64_t value);
/* Writes at most SR_WIRE_VARINT_MAX bytes; returns their number. */
size_t sr_wire_put_varint(uint8_t *out, uint64_t value);

/* Append a field; SR_ENOMEM, SR_ELIMIT. */
int sr_wire_varint(struct sr_buf *out, unsigned field, uint64_t value) SR_WARN_UNUSED;
int sr_wire_fixed64(struct sr_buf *out, unsigned field, uint64_t value) SR_WARN_UNUSED;
int sr_wire_bytes(struct sr_buf *out, unsigned field, struct sr_bytes value) SR_WARN_UNUSED;
/* Its tag and its length alone; its `n` bytes follow. */
int sr_wire_head(struct sr_buf *out, unsigned field, size_t n) SR_WARN_UNUSED;
/* Bytes of a field of type bytes with `n` of them. */
size_t sr_wire_bytes_size(unsigned field, size_t n);

/* One field that was read. */
struct sr_wire_field {
    unsigned number;
    enum sr_wire_type type;
    uint64_t value;        /* of a varint */
    struct sr_bytes bytes; /* of SR_WIRE_BYTES, borrowed */
};

/* Takes the next field off `*rest`. SR_OK; SR_ENOENT: there is none; SR_EPARSE: these are no fields. */
int sr_wire_next(struct sr_bytes *rest, struct sr_wire_field *out) SR_WARN_UNUSED;

#endif
