/* A decision may say one of both and leave the other to the model. */
#include "router/exchange/retry.h"

#include "router/record.h"

struct sr_config_retry sr_exchange_retry(const sr_exchange *x)
{
    const struct sr_config *config = x->router->config;
    const struct sr_config_decision *decision = sr_record_decision(&x->record, config);
    struct sr_config_retry retry = {.retries = -1, .retry_on = SR_RETRY_DEFAULT};
    if (x->record.model >= 0)
        retry = config->models[x->record.model].reliability.retry;
    if (decision && decision->retry.says_on)
        retry.retry_on = decision->retry.retry_on;
    if (decision && decision->retry.retries >= 0)
        retry.retries = decision->retry.retries;
    if (retry.retries < 0)
        retry.retries = config->global.gateway.upstream.retries;
    return retry;
}
