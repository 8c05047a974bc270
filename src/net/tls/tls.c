/*
 * TLS over OpenSSL's memory BIOs. Contexts hold certificates and rules; a session holds two BIOs and the
 * ciphertext that waits to be sent.
 */
#include "net/tls/tls.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/ref.h"

#include <arpa/inet.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>

#define TLS_OUTPUT_MAX ((size_t)64 << 20) /* far above the limit of a write queue */

struct sr_tls_context {
    struct sr_ref ref;
    SSL_CTX *ssl;
    bool server;
    bool insecure;
    unsigned char alpn[64]; /* length bytes and names, as in the ALPN extension */
    unsigned alpn_n;
};

struct sr_tls {
    sr_tls_context *context;
    SSL *ssl;
    BIO *in, *out;
    struct sr_buf output;
    size_t output_sent;
    bool shut;
    char alpn[64];
    char reason[160];
};

static int alpn_select(SSL *ssl, const unsigned char **out, unsigned char *out_n, const unsigned char *in,
                       unsigned in_n, void *arg)
{
    const struct sr_tls_context *context = arg;
    unsigned char *hit;
    (void)ssl;
    if (SSL_select_next_proto(&hit, out_n, context->alpn, context->alpn_n, in, in_n) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = hit;
    return SSL_TLSEXT_ERR_OK;
}

static int file_error(struct sr_err *err, const char *what, const char *file)
{
    unsigned long code = ERR_peek_last_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    sr_err_set(err, SR_EINVAL, "TLS: cannot use %s `%s`: %s", what, file, reason ? reason : "unknown reason");
    ERR_clear_error();
    return SR_EINVAL;
}

static int context_load(SSL_CTX *ssl, const struct sr_tls_settings *settings, struct sr_err *err)
{
    const char *key = settings->key_file ? settings->key_file : settings->cert_file;
    if (settings->server && !settings->cert_file)
        return sr_err_set(err, SR_EINVAL, "TLS: a server needs a certificate file");
    if (settings->cert_file && SSL_CTX_use_certificate_chain_file(ssl, settings->cert_file) != 1)
        return file_error(err, "certificate", settings->cert_file);
    if (settings->cert_file && SSL_CTX_use_PrivateKey_file(ssl, key, SSL_FILETYPE_PEM) != 1)
        return file_error(err, "private key", key);
    if (settings->cert_file && SSL_CTX_check_private_key(ssl) != 1)
        return file_error(err, "private key (it does not belong to the certificate)", key);
    if (settings->ca_file && SSL_CTX_load_verify_file(ssl, settings->ca_file) != 1)
        return file_error(err, "CA file", settings->ca_file);
    if (!settings->ca_file && !settings->server && !settings->insecure &&
        SSL_CTX_set_default_verify_paths(ssl) != 1)
        return file_error(err, "CA directory", "of the system");
    if (settings->server && settings->ca_file)
        SSL_CTX_set_client_CA_list(ssl, SSL_load_client_CA_file(settings->ca_file));
    return SR_OK;
}

/* "a,b" as the extension has it. */
static int alpn_list(struct sr_tls_context *context, const char *names)
{
    struct sr_bytes rest = sr_bytes_str(names);
    if (rest.n > sizeof context->alpn - 2)
        return SR_EINVAL;
    while (rest.n) {
        const char *comma = memchr(rest.p, ',', rest.n);
        size_t n = comma ? (size_t)(comma - rest.p) : rest.n, used = comma ? n + 1 : n;
        context->alpn[context->alpn_n++] = (unsigned char)n;
        memcpy(context->alpn + context->alpn_n, rest.p, n);
        context->alpn_n += (unsigned)n;
        rest = sr_bytes_of(rest.p + used, rest.n - used);
    }
    return SR_OK;
}

int sr_tls_context_new(sr_tls_context **out, const struct sr_tls_settings *settings, struct sr_err *err)
{
    sr_tls_context *context = sr_mem_calloc(1, sizeof *context);
    int rc = SR_ENOMEM, verify = SSL_VERIFY_NONE;
    if (!context)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    ERR_clear_error();
    sr_ref_init(&context->ref);
    context->server = settings->server;
    context->insecure = settings->insecure && !settings->server;
    rc = alpn_list(context, settings->alpn ? settings->alpn : "http/1.1");
    if (rc != SR_OK) {
        sr_err_set(err, rc, "TLS: too many protocols");
        goto out;
    }
    rc = SR_ENOMEM;
    context->ssl = SSL_CTX_new(settings->server ? TLS_server_method() : TLS_client_method());
    if (!context->ssl)
        goto out;
    SSL_CTX_set_min_proto_version(context->ssl, TLS1_2_VERSION);
    SSL_CTX_set_options(context->ssl,
                        SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(context->ssl, SSL_MODE_RELEASE_BUFFERS);
    if (settings->server)
        SSL_CTX_set_alpn_select_cb(context->ssl, alpn_select, context);
    else if (SSL_CTX_set_alpn_protos(context->ssl, context->alpn, context->alpn_n) != 0)
        goto out;
    if (settings->server && settings->ca_file)
        verify = SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    else if (!settings->server && !settings->insecure)
        verify = SSL_VERIFY_PEER;
    SSL_CTX_set_verify(context->ssl, verify, NULL);
    rc = context_load(context->ssl, settings, err);
out:
    if (rc == SR_OK) {
        *out = context;
        return SR_OK;
    }
    sr_tls_context_unref(context);
    return rc;
}

sr_tls_context *sr_tls_context_ref(sr_tls_context *context)
{
    if (context)
        sr_ref_get(&context->ref);
    return context;
}

void sr_tls_context_unref(sr_tls_context *context)
{
    if (!context || !sr_ref_put(&context->ref))
        return;
    SSL_CTX_free(context->ssl);
    sr_mem_free(context);
}

static bool is_address(const char *host)
{
    unsigned char scratch[16];
    return inet_pton(AF_INET, host, scratch) == 1 || inet_pton(AF_INET6, host, scratch) == 1;
}

static bool client_expect(struct sr_tls *tls, const char *host)
{
    bool address = is_address(host);
    if (!address && SSL_set_tlsext_host_name(tls->ssl, host) != 1)
        return false;
    if (tls->context->insecure)
        return true;
    if (address)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls->ssl), host) == 1;
    SSL_set_hostflags(tls->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(tls->ssl, host) == 1;
}

int sr_tls_new(struct sr_tls **out, sr_tls_context *context, const char *host)
{
    struct sr_tls *tls = sr_mem_calloc(1, sizeof *tls);
    if (!tls)
        return SR_ENOMEM;
    sr_buf_init(&tls->output, TLS_OUTPUT_MAX);
    tls->context = sr_tls_context_ref(context);
    tls->ssl = SSL_new(context->ssl);
    tls->in = BIO_new(BIO_s_mem());
    tls->out = BIO_new(BIO_s_mem());
    if (!tls->ssl || !tls->in || !tls->out || (host && !client_expect(tls, host))) {
        BIO_free(tls->in);
        BIO_free(tls->out);
        SSL_free(tls->ssl);
        sr_tls_context_unref(context);
        sr_mem_free(tls);
        return SR_ENOMEM;
    }
    SSL_set_bio(tls->ssl, tls->in, tls->out);
    if (context->server)
        SSL_set_accept_state(tls->ssl);
    else
        SSL_set_connect_state(tls->ssl);
    *out = tls;
    return SR_OK;
}

void sr_tls_free(struct sr_tls *tls)
{
    if (!tls)
        return;
    SSL_free(tls->ssl);
    sr_buf_dispose(&tls->output);
    sr_tls_context_unref(tls->context);
    sr_mem_free(tls);
}

const char *sr_tls_alpn(const struct sr_tls *tls)
{
    return tls->alpn;
}

int sr_tls_feed(struct sr_tls *tls, const char *p, size_t n)
{
    while (n) {
        int step = n > INT_MAX ? INT_MAX : (int)n;
        if (BIO_write(tls->in, p, step) != step)
            return SR_ENOMEM;
        p += step;
        n -= (size_t)step;
    }
    return SR_OK;
}

/* Maps a failed call of the library to a code. */
static int outcome(struct sr_tls *tls, int rc)
{
    int kind = SSL_get_error(tls->ssl, rc);
    long verify;
    unsigned long code;
    const char *reason;
    if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE)
        return SR_AGAIN;
    if (kind == SSL_ERROR_ZERO_RETURN)
        return SR_ECLOSED;
    verify = SSL_get_verify_result(tls->ssl);
    code = ERR_peek_error();
    reason = code ? ERR_reason_error_string(code) : NULL;
    if (!tls->context->insecure && verify != X509_V_OK) {
        snprintf(tls->reason, sizeof tls->reason, "certificate not accepted: %s",
                 X509_verify_cert_error_string(verify));
        ERR_clear_error();
        return SR_EMISMATCH;
    }
    snprintf(tls->reason, sizeof tls->reason, "TLS: %s", reason ? reason : "connection broken");
    ERR_clear_error();
    return SR_EPROTO;
}

int sr_tls_handshake(struct sr_tls *tls)
{
    const unsigned char *name = NULL;
    unsigned n = 0;
    int rc;
    ERR_clear_error();
    rc = SSL_do_handshake(tls->ssl);
    if (rc != 1)
        return outcome(tls, rc);
    SSL_get0_alpn_selected(tls->ssl, &name, &n);
    if (n < sizeof tls->alpn && n)
        memcpy(tls->alpn, name, n); /* the NUL is there */
    return SR_OK;
}

int sr_tls_read(struct sr_tls *tls, char *out, size_t size, size_t *got)
{
    int rc;
    ERR_clear_error();
    rc = SSL_read_ex(tls->ssl, out, size, got);
    return rc == 1 ? SR_OK : outcome(tls, rc);
}

int sr_tls_write(struct sr_tls *tls, const char *p, size_t n)
{
    size_t written;
    int rc;
    if (n == 0)
        return SR_OK;
    ERR_clear_error();
    rc = SSL_write_ex(tls->ssl, p, n, &written);
    if (rc == 1)
        return SR_OK;
    rc = outcome(tls, rc);
    return rc == SR_AGAIN ? SR_EPROTO : rc;
}

void sr_tls_shutdown(struct sr_tls *tls)
{
    if (tls->shut || !SSL_is_init_finished(tls->ssl))
        return;
    tls->shut = true;
    ERR_clear_error();
    SSL_shutdown(tls->ssl);
    ERR_clear_error();
}

struct sr_bytes sr_tls_output(struct sr_tls *tls)
{
    size_t pending = BIO_ctrl_pending(tls->out);
    if (pending && sr_buf_reserve(&tls->output, pending) == SR_OK) {
        int n = BIO_read(tls->out, tls->output.data + tls->output.len, (int)pending);
        tls->output.len += n > 0 ? (size_t)n : 0;
    }
    if (!tls->output.len)
        return (struct sr_bytes){"", 0};
    return sr_bytes_of(tls->output.data + tls->output_sent, tls->output.len - tls->output_sent);
}

void sr_tls_output_consume(struct sr_tls *tls, size_t n)
{
    tls->output_sent += n;
    if (tls->output_sent == tls->output.len)
        tls->output_sent = tls->output.len = 0;
}

const char *sr_tls_reason(const struct sr_tls *tls)
{
    return tls->reason;
}
