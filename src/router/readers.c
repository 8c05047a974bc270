/* A model that cannot be opened is reported by the signal that needs it; here it is only missing. */
#include "router/readers.h"

void sr_readers_open(struct sr_readers *readers, const struct sr_config *config, struct sr_models *models)
{
    const char *domain = config->global.domain_model, *jailbreak = config->global.jailbreak_model;
    *readers = (struct sr_readers){NULL, NULL, NULL};
    if (sr_models_linear(models, domain ? domain : "", &readers->domain, NULL))
        readers->domain = NULL;
    if (sr_jailbreak_reader_new(&readers->jailbreak, jailbreak ? jailbreak : "",
                                &config->global.jailbreak_labels, models, NULL))
        readers->jailbreak = NULL;
    if (sr_pii_reader_new(&readers->pii, models, NULL))
        readers->pii = NULL;
}

void sr_readers_close(struct sr_readers *readers)
{
    sr_linear_unref(readers->domain);
    sr_jailbreak_reader_unref(readers->jailbreak);
    sr_pii_reader_unref(readers->pii);
    *readers = (struct sr_readers){NULL, NULL, NULL};
}
