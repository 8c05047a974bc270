/* Base64 of RFC 4648 with padding: the bytes of a record in a text field. */
#ifndef SR_STORE_MILVUS_BASE64_H
#define SR_STORE_MILVUS_BASE64_H

#include "base/bytes.h"
#include "base/err.h"

#include <stdint.h>

#define SR_BASE64_SIZE(n) (((n) + 2) / 3 * 4)

/* Writes SR_BASE64_SIZE(n) characters and a NUL. */
void sr_base64_write(const uint8_t *p, size_t n, char *out);

/* Writes at most text.n / 4 * 3 bytes. SR_EPARSE: anything but whole, padded base64. */
int sr_base64_read(struct sr_bytes text, uint8_t *out, size_t *n) SR_WARN_UNUSED;

#endif
