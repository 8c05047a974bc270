/* Certificates by file: those that listeners show, then the CAs of upstreams. */
#include "cli/doctor/checks.h"

#include "base/clock.h"
#include "net/tls/certificate.h"
#include "net/tls/tls.h"

#include <inttypes.h>
#include <string.h>

#define DAY   INT64_C(86400)
#define SOON  21 /* days: time to renew by hand */
#define AREA  "certificate"
#define RENEW "renew it; the file is read again without a restart"

static void look(struct sr_diagnosis *d, const char *path)
{
    struct sr_certificate certificate;
    struct sr_err err = {0};
    if (sr_certificate_read(&certificate, path, &err) != SR_OK) {
        sr_diagnosis_add(d, SR_CONDITION_BAD, AREA, "it must be a PEM file that this user may read", "%s",
                         err.message);
        return;
    }
    int64_t now = (int64_t)(sr_clock_wall_ns() / SR_NS_PER_S), days = (certificate.not_after - now) / DAY;
    if (now > certificate.not_after)
        sr_diagnosis_add(d, SR_CONDITION_BAD, AREA, RENEW, "%s (%s): has expired", path, certificate.subject);
    else if (now < certificate.not_before)
        sr_diagnosis_add(d, SR_CONDITION_BAD, AREA, "check the clock", "%s (%s): is not valid yet", path,
                         certificate.subject);
    else
        sr_diagnosis_add(d, days < SOON ? SR_CONDITION_WARNING : SR_CONDITION_GOOD, AREA, RENEW,
                         "%s (%s): %" PRId64 " days left", path, certificate.subject, days);
}

static void look_at_pair(struct sr_diagnosis *d, const char *cert_file, const char *key_file,
                         const char *client_ca_file)
{
    if (!cert_file || !cert_file[0])
        return;
    look(d, cert_file);
    struct sr_tls_settings settings = {.server = true,
                                       .cert_file = cert_file,
                                       .key_file = key_file && key_file[0] ? key_file : NULL,
                                       .ca_file =
                                           client_ca_file && client_ca_file[0] ? client_ca_file : NULL};
    sr_tls_context *context = NULL;
    struct sr_err err = {0};
    if (sr_tls_context_new(&context, &settings, &err) != SR_OK)
        sr_diagnosis_add(d, SR_CONDITION_BAD, AREA, "certificate and key must be a pair", "%s", err.message);
    sr_tls_context_unref(context);
}

/* Has a backend before this one the same file? */
static bool seen(const struct sr_config *config, size_t model, size_t backend)
{
    const char *file = config->models[model].backends[backend].tls_ca_file;
    for (size_t m = 0; m <= model; m++)
        for (size_t b = 0; b < (m < model ? config->models[m].n_backends : backend); b++)
            if (strcmp(config->models[m].backends[b].tls_ca_file, file) == 0)
                return true;
    return false;
}

void sr_doctor_certificates(struct sr_diagnosis *diagnosis, const struct sr_config *config)
{
    const struct sr_config_gateway *gateway = &config->global.gateway;
    const struct sr_config_extproc *extproc = &config->global.extproc;
    look_at_pair(diagnosis, gateway->tls_cert_file, gateway->tls_key_file, NULL);
    look_at_pair(diagnosis, extproc->tls_cert_file, extproc->tls_key_file, extproc->tls_client_ca_file);
    for (size_t m = 0; m < config->n_models; m++) {
        for (size_t b = 0; b < config->models[m].n_backends; b++) {
            const char *file = config->models[m].backends[b].tls_ca_file;
            if (file[0] && !seen(config, m, b))
                look(diagnosis, file);
        }
    }
}
