/* Finds the lists of models, and the endpoints that the configuration forwards. */
#include "router/request/endpoint.h"

#include "config/endpoints.h"
#include "dialect/registry.h"

enum sr_endpoint sr_endpoint_find(const struct sr_config *config, struct sr_bytes method,
                                  struct sr_bytes path, const struct sr_dialect_ops **dialect,
                                  struct sr_bytes *rest)
{
    bool get = sr_bytes_eq(method, SR_LIT("GET")) || sr_bytes_eq(method, SR_LIT("HEAD"));
    *rest = SR_LIT("GET");
    if (sr_bytes_eq(path, SR_LIT("/v1/models")))
        return get ? SR_ENDPOINT_MODELS : SR_ENDPOINT_WRONG_METHOD;
    if (sr_bytes_starts_with(path, SR_LIT("/v1/models/"))) {
        if (!get)
            return SR_ENDPOINT_WRONG_METHOD;
        *rest = sr_bytes_of(path.p + sizeof "/v1/models/" - 1, path.n - (sizeof "/v1/models/" - 1));
        return SR_ENDPOINT_MODEL;
    }
    if (!sr_config_forwards(config, path))
        return SR_ENDPOINT_NOT_FOUND;
    const struct sr_dialect_ops *own = sr_dialect_at(path);
    *dialect = own ? own : &sr_dialect_other;
    *rest = SR_LIT("POST");
    return sr_bytes_eq(method, SR_LIT("POST")) ? SR_ENDPOINT_ROUTE : SR_ENDPOINT_WRONG_METHOD;
}
