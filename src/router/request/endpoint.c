/* Finds the lists of models, and the endpoints that the configuration forwards. */
#include "router/request/endpoint.h"

#include "config/endpoints.h"
#include "dialect/registry.h"

#include <stdio.h>

#define SERVED_MAX 128 /* bytes of a path that a slip is looked for in */

/* A stored response: its id has no slash; of what may follow only the items are known. */
static enum sr_endpoint stored(struct sr_bytes method, bool get, struct sr_bytes id, struct sr_bytes *rest)
{
    const char *slash = memchr(id.p, '/', id.n);
    bool items =
        slash && sr_bytes_eq(sr_bytes_of(slash, id.n - (size_t)(slash - id.p)), SR_LIT("/input_items"));
    if (slash && (!items || slash == id.p))
        return SR_ENDPOINT_NOT_FOUND;
    *rest = items ? SR_LIT("GET") : SR_LIT("GET, DELETE");
    if (!get && (items || !sr_bytes_eq(method, SR_LIT("DELETE"))))
        return SR_ENDPOINT_WRONG_METHOD;
    *rest = id;
    return SR_ENDPOINT_STORED;
}

static enum sr_endpoint find(const struct sr_config *config, struct sr_bytes method, struct sr_bytes path,
                             const struct sr_dialect_ops **dialect, struct sr_bytes *rest)
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
    if (config->global.responses.enabled && sr_bytes_starts_with(path, SR_LIT("/v1/responses/")) &&
        !sr_config_forwards(config, path))
        return stored(
            method, get,
            sr_bytes_of(path.p + sizeof "/v1/responses/" - 1, path.n - (sizeof "/v1/responses/" - 1)), rest);
    if (!sr_config_forwards(config, path))
        return SR_ENDPOINT_NOT_FOUND;
    const struct sr_dialect_ops *own = sr_dialect_at(path);
    *dialect = own ? own : &sr_dialect_other;
    *rest = SR_LIT("POST");
    return sr_bytes_eq(method, SR_LIT("POST")) ? SR_ENDPOINT_ROUTE : SR_ENDPOINT_WRONG_METHOD;
}

enum sr_endpoint sr_endpoint_find(const struct sr_config *config, struct sr_bytes method,
                                  struct sr_bytes path, const struct sr_dialect_ops **dialect,
                                  struct sr_bytes *rest)
{
    enum sr_endpoint endpoint = find(config, method, path, dialect, rest);
    if (endpoint != SR_ENDPOINT_WRONG_METHOD || !sr_bytes_eq(method, SR_LIT("OPTIONS")))
        return endpoint;
    *rest = sr_bytes_eq(*rest, SR_LIT("POST"))  ? SR_LIT("POST, OPTIONS")
            : sr_bytes_eq(*rest, SR_LIT("GET")) ? SR_LIT("GET, HEAD, OPTIONS")
                                                : SR_LIT("GET, HEAD, DELETE, OPTIONS");
    return SR_ENDPOINT_OPTIONS;
}

static bool is_served(const struct sr_config *config, struct sr_bytes path)
{
    return sr_bytes_eq(path, SR_LIT("/v1/models")) || sr_config_forwards(config, path);
}

enum sr_endpoint_slip sr_endpoint_slip(const struct sr_config *config, struct sr_bytes path)
{
    static const struct sr_bytes version = {"/v1", 3};
    char versioned[SERVED_MAX + 8];
    if (path.n > SERVED_MAX)
        return SR_SLIP_NONE;
    int n = snprintf(versioned, sizeof versioned, "/v1%.*s", (int)path.n, path.p);
    if (is_served(config, sr_bytes_of(versioned, (size_t)n)))
        return SR_SLIP_NO_VERSION;
    bool twice = sr_bytes_starts_with(path, version) &&
                 is_served(config, sr_bytes_of(path.p + version.n, path.n - version.n));
    return twice ? SR_SLIP_TWO_VERSIONS : SR_SLIP_NONE;
}
