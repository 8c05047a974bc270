/* One series for each use; of many CA files the first that ends counts. */
#include "serve/process/certificates.h"

#include "net/tls/certificate.h"
#include "router/runtime.h"

#include <string.h>

/* When the certificate ends; 0: the file is not named or cannot be read. */
static int64_t end_of(const char *file)
{
    struct sr_certificate certificate;
    if (!file[0] || sr_certificate_read(&certificate, file, NULL) != SR_OK)
        return 0;
    return certificate.not_after;
}

/* The first end of the CA files of backends; 0: there is none. */
static int64_t first_end(const struct sr_config *config)
{
    const char *before = "";
    int64_t first = 0;
    for (size_t m = 0; m < config->n_models; m++) {
        for (size_t b = 0; b < config->models[m].n_backends; b++) {
            const char *file = config->models[m].backends[b].tls_ca_file;
            int64_t end = strcmp(file, before) == 0 ? 0 : end_of(file);
            before = file;
            if (end && (!first || end < first))
                first = end;
        }
    }
    return first;
}

void sr_certificates_measure(const struct sr_config *config, sr_runtime *runtime)
{
    const struct {
        struct sr_bytes use;
        int64_t end;
    } all[] = {
        {SR_LIT("gateway"), end_of(config->global.gateway.tls_cert_file)},
        {SR_LIT("extproc"), end_of(config->global.extproc.tls_cert_file)},
        {SR_LIT("upstream"), first_end(config)},
    };
    struct sr_metrics *metrics = sr_runtime_metrics_table(runtime);
    sr_runtime_begin_scrape(runtime);
    sr_metrics_clear(metrics, SR_METRIC_CERTIFICATE_END);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].end)
            sr_metrics_set(metrics, SR_METRIC_CERTIFICATE_END, (double)all[i].end, &all[i].use);
    sr_runtime_end_scrape(runtime);
}
