/* Finds the endpoints of the dialects, the lists of models, and other paths below /v1. */
#include "router/request/endpoint.h"

#include "dialect/registry.h"

enum sr_endpoint sr_endpoint_find(struct sr_bytes method, struct sr_bytes path,
                                  const struct sr_dialect_ops **dialect, struct sr_bytes *rest)
{
    bool post = sr_bytes_eq(method, SR_LIT("POST"));
    bool get = sr_bytes_eq(method, SR_LIT("GET"));
    const struct sr_dialect_ops *own = sr_dialect_at(path);
    if (own) {
        *dialect = own;
        *rest = SR_LIT("POST");
        return post ? SR_ENDPOINT_ROUTE : SR_ENDPOINT_WRONG_METHOD;
    }
    *rest = SR_LIT("GET");
    if (sr_bytes_eq(path, SR_LIT("/v1/models")))
        return get ? SR_ENDPOINT_MODELS : SR_ENDPOINT_WRONG_METHOD;
    if (sr_bytes_starts_with(path, SR_LIT("/v1/models/"))) {
        if (!get)
            return SR_ENDPOINT_WRONG_METHOD;
        *rest = sr_bytes_of(path.p + sizeof "/v1/models/" - 1, path.n - (sizeof "/v1/models/" - 1));
        return SR_ENDPOINT_MODEL;
    }
    if (!post || !sr_bytes_starts_with(path, SR_LIT("/v1/")))
        return SR_ENDPOINT_NOT_FOUND;
    *dialect = &sr_dialect_other;
    return SR_ENDPOINT_ROUTE;
}
