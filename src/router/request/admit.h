/* Decides from a request's head alone which endpoint it asks for and whether its body is read. */
#ifndef SR_ROUTER_REQUEST_ADMIT_H
#define SR_ROUTER_REQUEST_ADMIT_H

#include "router/refusal.h"
#include "router/request/endpoint.h"
#include "router/request/head.h"

enum sr_admission {
    SR_ADMIT_BODY,    /* read the body in `dialect` */
    SR_ADMIT_MODELS,  /* answer with the list of models */
    SR_ADMIT_MODEL,   /* answer with one model; `rest` is its id as it was sent */
    SR_ADMIT_STORED,  /* answer about a stored response; `rest` is the path behind that of the endpoint */
    SR_ADMIT_OPTIONS, /* answer which methods there are: `rest` */
    SR_ADMIT_REFUSED, /* `refusal` is filled */
};

/* `max_body`: limit in bytes of a body that is read. `dialect` is unchanged when the endpoint names none;
 * `rest` borrows from the head. */
enum sr_admission sr_admit(const struct sr_config *config, const struct sr_head *head, uint64_t max_body,
                           const struct sr_dialect_ops **dialect, struct sr_bytes *rest,
                           struct sr_refusal *refusal);

#endif
