/* One series for each use; of many CA files the first that ends counts. */
#include "serve/process/certificates.h"

#include "net/tls/certificate.h"

#include <string.h>

/* When the certificate ends; 0: the file is not named or cannot be read. */
static int64_t end_of(const char *file)
{
    struct sr_certificate certificate;
    if (!file[0] || sr_certificate_read(&certificate, file, NULL) != SR_OK)
        return 0;
    return certificate.not_after;
}

static void set(struct sr_metrics *metrics, struct sr_bytes use, int64_t end)
{
    if (end)
        sr_metrics_set(metrics, SR_METRIC_CERTIFICATE_END, (double)end, &use);
}

void sr_certificates_measure(const struct sr_config *config, struct sr_metrics *metrics)
{
    const char *before = "";
    int64_t first = 0;
    sr_metrics_clear(metrics, SR_METRIC_CERTIFICATE_END);
    set(metrics, SR_LIT("gateway"), end_of(config->global.gateway.tls_cert_file));
    set(metrics, SR_LIT("extproc"), end_of(config->global.extproc.tls_cert_file));
    for (size_t m = 0; m < config->n_models; m++) {
        for (size_t b = 0; b < config->models[m].n_backends; b++) {
            const char *file = config->models[m].backends[b].tls_ca_file;
            int64_t end = strcmp(file, before) == 0 ? 0 : end_of(file);
            before = file;
            if (end && (!first || end < first))
                first = end;
        }
    }
    set(metrics, SR_LIT("upstream"), first);
}
