/*
 * TLS 1.2 and 1.3 over memory: ciphertext in, plaintext out and back. Wraps OpenSSL's ssl.
 *
 * Does no I/O except reading certificate files when a context is created (start-up or reload, never on a
 * loop). net/loop/sock.h runs sessions transparently; other code needs only the context.
 */
#ifndef SR_NET_TLS_TLS_H
#define SR_NET_TLS_TLS_H

#include "base/bytes.h"
#include "base/err.h"

#include <stdbool.h>

/* Immutable settings and certificates; counted, shared between threads. To reload certificates make a new
 * context and give it to the listeners: open sessions keep their context. */
typedef struct sr_tls_context sr_tls_context;

struct sr_tls_settings {
    bool server;
    const char *cert_file; /* PEM chain; mandatory for a server, optional for a client (mutual TLS) */
    const char *key_file;  /* PEM; NULL: the key is in cert_file */
    const char *ca_file; /* PEM bundle. Client: NULL = the system's CAs. Server: not NULL = clients must show
                            a certificate signed by it */
    const char *alpn; /* the protocols offered or accepted, with commas, the preferred one first, at most 62
                         bytes in all; NULL: "http/1.1". A server refuses a client that offers others only,
                         and takes one that offers nothing */
    bool insecure;    /* client only: neither chain nor host name are checked; set only by configuration */
};

/* SR_EINVAL with a message that names the file and OpenSSL's reason; SR_ENOMEM. */
int sr_tls_context_new(sr_tls_context **out, const struct sr_tls_settings *settings,
                       struct sr_err *err) SR_WARN_UNUSED;
sr_tls_context *sr_tls_context_ref(sr_tls_context *context);
/* NULL is allowed. */
void sr_tls_context_unref(sr_tls_context *context);

/* One session. Not thread-safe. */
struct sr_tls;

/* `host` (client only, else NULL) is sent as SNI, and the certificate must be valid for it: a DNS name or an
 * IP address. Takes its own reference to the context. */
int sr_tls_new(struct sr_tls **out, sr_tls_context *context, const char *host) SR_WARN_UNUSED;
void sr_tls_free(struct sr_tls *tls);

/* The protocol that ALPN chose; "" when none was, or before the handshake is done. Lives as long as `tls`. */
const char *sr_tls_alpn(const struct sr_tls *tls);

/* Accepts ciphertext from the peer (all of it). SR_ENOMEM. */
int sr_tls_feed(struct sr_tls *tls, const char *p, size_t n) SR_WARN_UNUSED;

/* Drives the handshake: SR_OK done, SR_AGAIN more ciphertext needed, SR_EPROTO or SR_EMISMATCH (the peer's
 * certificate was not accepted; sr_tls_reason says why). Send the output after each call. */
int sr_tls_handshake(struct sr_tls *tls) SR_WARN_UNUSED;

/* Returns decrypted plaintext: SR_OK with *got > 0, SR_AGAIN, SR_ECLOSED after the peer's close_notify,
 * SR_EPROTO. */
int sr_tls_read(struct sr_tls *tls, char *out, size_t size, size_t *got) SR_WARN_UNUSED;

/* Encrypts all of `data` into the output. Only after the handshake. SR_EPROTO, SR_ENOMEM. */
int sr_tls_write(struct sr_tls *tls, const char *p, size_t n) SR_WARN_UNUSED;

/* Puts close_notify into the output, once. */
void sr_tls_shutdown(struct sr_tls *tls);

/* Ciphertext for the peer: borrowed until the next call on `tls`; remove sent bytes with consume. */
struct sr_bytes sr_tls_output(struct sr_tls *tls);
void sr_tls_output_consume(struct sr_tls *tls, size_t n);

/* Why the last call failed, for people; never NULL, lives as long as `tls`. */
const char *sr_tls_reason(const struct sr_tls *tls);

#endif
