/*
 * Which endpoint a method and a path ask for, and in which dialect its body is read.
 */
#ifndef SR_ROUTER_REQUEST_ENDPOINT_H
#define SR_ROUTER_REQUEST_ENDPOINT_H

#include "config/config.h"
#include "dialect/dialect.h"

enum sr_endpoint {
    SR_ENDPOINT_ROUTE,     /* read the body in `dialect` */
    SR_ENDPOINT_MODELS,    /* GET /v1/models */
    SR_ENDPOINT_MODEL,     /* GET /v1/models/{id}; `rest` is the id as it was sent */
    SR_ENDPOINT_STORED,    /* GET or DELETE /v1/responses/{id}, GET .../input_items; `rest` is the id and what
                              follows it */
    SR_ENDPOINT_NOT_FOUND, /* not a forwarded endpoint */
    SR_ENDPOINT_OPTIONS,   /* OPTIONS of one of these; `rest` are the methods that are allowed */
    SR_ENDPOINT_WRONG_METHOD, /* 405; `rest` is the method that is allowed */
};

/* Finds the endpoint of a method and a path in its normal form (without the query). `rest` borrows from
 * `path` or is static. `dialect` is unchanged when the endpoint has none. */
enum sr_endpoint sr_endpoint_find(const struct sr_config *config, struct sr_bytes method,
                                  struct sr_bytes path, const struct sr_dialect_ops **dialect,
                                  struct sr_bytes *rest);

/* What a path that is not served lacks, or has too much of, to be one that is. */
enum sr_endpoint_slip { SR_SLIP_NONE, SR_SLIP_NO_VERSION /* "/v1" before it */, SR_SLIP_TWO_VERSIONS };
enum sr_endpoint_slip sr_endpoint_slip(const struct sr_config *config, struct sr_bytes path);

#endif
