/*
 * What a certificate file says of itself, for people: whom it is for, and until when.
 *
 * Reads files; not on a loop. Checks neither chain nor key: sr_tls_context_new does.
 */
#ifndef SR_NET_TLS_CERTIFICATE_H
#define SR_NET_TLS_CERTIFICATE_H

#include "base/err.h"

#include <stdint.h>

struct sr_certificate {
    char subject[160];  /* its common name, else its first DNS name; cut */
    int64_t not_before; /* seconds since 1970 */
    int64_t not_after;
};

/* The first certificate of a PEM file. SR_EINVAL with a message that names the file and OpenSSL's reason. */
int sr_certificate_read(struct sr_certificate *out, const char *path, struct sr_err *err) SR_WARN_UNUSED;

#endif
