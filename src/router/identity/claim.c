/* Each part has the header that the configuration trusts for it. */
#include "router/identity/claim.h"

#include "base/bytes.h"

int sr_claim_headers(const struct sr_claim *claim, const struct sr_config *config, struct sr_header *headers,
                     size_t *n, struct sr_err *err)
{
    const struct {
        struct sr_bytes value;
        const char *header, *what, *key;
    } all[SR_CLAIM_HEADERS] = {
        {claim->tenant, config->global.guards.tenant_header, "tenant", "global.semroute.guards.tenant_header"},
        {claim->user, config->global.user_header, "user", "global.services.authz.identity.user_id_header"},
        {claim->team, config->global.cache.team_header, "team", "global.semroute.cache.team_header"},
    };
    for (size_t i = 0; i < SR_CLAIM_HEADERS; i++) {
        if (!all[i].value.n)
            continue;
        if (!all[i].header[0])
            return sr_err_set(err, SR_EINVAL, "`%s` is given, and `%s` is not set", all[i].what, all[i].key);
        headers[(*n)++] = (struct sr_header){sr_bytes_str(all[i].header), all[i].value};
    }
    return SR_OK;
}
