/* One X.509 certificate by OpenSSL's reader of PEM files. */
#include "net/tls/certificate.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t seconds(const ASN1_TIME *at)
{
    struct tm parts;
    return ASN1_TIME_to_tm(at, &parts) ? (int64_t)timegm(&parts) : 0;
}

static void first_dns_name(X509 *x509, char *out, size_t size)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(x509, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        if (name->type != GEN_DNS)
            continue;
        snprintf(out, size, "%.*s", ASN1_STRING_length(name->d.dNSName),
                 (const char *)ASN1_STRING_get0_data(name->d.dNSName));
        break;
    }
    GENERAL_NAMES_free(names);
}

static void describe(struct sr_certificate *out, X509 *x509)
{
    *out = (struct sr_certificate){.not_before = seconds(X509_get0_notBefore(x509)),
                                   .not_after = seconds(X509_get0_notAfter(x509))};
    if (X509_NAME_get_text_by_NID(X509_get_subject_name(x509), NID_commonName, out->subject,
                                  sizeof out->subject) <= 0)
        first_dns_name(x509, out->subject, sizeof out->subject);
}

int sr_certificate_read(struct sr_certificate *out, const char *path, struct sr_err *err)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return sr_err_set(err, SR_EINVAL, "%s: cannot be opened", path);
    X509 *x509 = PEM_read_X509(file, NULL, NULL, NULL);
    fclose(file);
    if (!x509) {
        const char *reason = ERR_reason_error_string(ERR_get_error());
        ERR_clear_error();
        return sr_err_set(err, SR_EINVAL, "%s: no certificate in PEM format (%s)", path,
                          reason ? reason : "unreadable");
    }
    describe(out, x509);
    X509_free(x509);
    return SR_OK;
}
