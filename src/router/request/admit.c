/* Admits a request by its head, or refuses it. */
#include "router/request/admit.h"

/* Bytes of a path that a message shows. */
#define PATH_SHOWN 128

/* True for a body in parts that is not read: a form is, where the endpoint is none of a dialect's own. */
static bool is_unread_form(const struct sr_head *head, const struct sr_dialect_ops *dialect)
{
    static const struct sr_bytes prefix = {"multipart/", 10};
    struct sr_bytes type = head->content_type;
    bool parts = type.n >= prefix.n && sr_bytes_eq_nocase(sr_bytes_of(type.p, prefix.n), prefix);
    return parts && (!dialect->takes_forms || !head->boundary.n);
}

/* Admits a request for an endpoint that is routed. */
static enum sr_admission admit_body(const struct sr_head *head, const struct sr_dialect_ops *dialect,
                                    uint64_t max_body, struct sr_refusal *refusal)
{
    uint64_t most =
        head->passing_max > max_body ? head->passing_max : max_body; /* largest body that may arrive */
    if (head->coding == SR_CODING_OTHER)
        sr_refuse(refusal, 415, "unsupported_encoding", NULL,
                  "the content-encoding of the request body is not known: use gzip or deflate, or none");
    else if (is_unread_form(head, dialect))
        sr_refuse(refusal, 400, "unsupported_content_type", NULL, "%s",
                  !dialect->takes_forms ? "multipart bodies are not read at this endpoint: send JSON"
                                        : "of multipart bodies only multipart/form-data is read, with a "
                                          "boundary of letters, digits and -_.+'");
    else if (head->has_body && head->content_length > most)
        sr_refuse_size(refusal, most);
    else if (!head->has_body)
        sr_refuse(refusal, 400, "invalid_json", NULL, "the request has no body");
    else
        return SR_ADMIT_BODY;
    return SR_ADMIT_REFUSED;
}

static void refuse_unknown(const struct sr_config *config, struct sr_bytes path, struct sr_refusal *refusal)
{
    int n = (int)(path.n < PATH_SHOWN ? path.n : PATH_SHOWN);
    switch (sr_endpoint_slip(config, path)) {
    case SR_SLIP_NO_VERSION:
        sr_refuse(refusal, 404, "endpoint_not_found", NULL,
                  "endpoint not found: %.*s; did you mean /v1%.*s? The client's base URL has to end with /v1",
                  n, path.p, n, path.p);
        return;
    case SR_SLIP_TWO_VERSIONS:
        sr_refuse(refusal, 404, "endpoint_not_found", NULL,
                  "endpoint not found: %.*s; did you mean %.*s? The client's base URL has to end without /v1",
                  n, path.p, n - 3, path.p + 3);
        return;
    case SR_SLIP_NONE:
        break;
    }
    sr_refuse(refusal, 404, "endpoint_not_found", NULL,
              "endpoint not found: %.*s is not among the forwarded endpoints (global.semroute.endpoints)", n,
              path.p);
}

enum sr_admission sr_admit(const struct sr_config *config, const struct sr_head *head, uint64_t max_body,
                           const struct sr_dialect_ops **dialect, struct sr_bytes *rest,
                           struct sr_refusal *refusal)
{
    if (head->path.flaw) {
        sr_refuse(refusal, 400, "invalid_path", NULL, "%s", head->path.flaw);
        return SR_ADMIT_REFUSED;
    }
    switch (sr_endpoint_find(config, head->method, head->path.path, dialect, rest)) {
    case SR_ENDPOINT_MODELS:
        return SR_ADMIT_MODELS;
    case SR_ENDPOINT_MODEL:
        return SR_ADMIT_MODEL;
    case SR_ENDPOINT_STORED:
        return SR_ADMIT_STORED;
    case SR_ENDPOINT_OPTIONS:
        return SR_ADMIT_OPTIONS;
    case SR_ENDPOINT_NOT_FOUND:
        refuse_unknown(config, head->path.path, refusal);
        return SR_ADMIT_REFUSED;
    case SR_ENDPOINT_WRONG_METHOD:
        sr_refuse(refusal, 405, "method_not_allowed", NULL, "method not allowed: use %.*s", (int)rest->n,
                  rest->p);
        refusal->allow = *rest;
        return SR_ADMIT_REFUSED;
    case SR_ENDPOINT_ROUTE:
        break;
    }
    return admit_body(head, *dialect, max_body, refusal);
}
