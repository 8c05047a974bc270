/* Trusted headers become the identity; headers that claim one are stripped. */
#include "router/identity/identity.h"

/* x-vsr-* headers that a client may send; they are forwarded, so that routers can be chained. */
static const char *const client_headers[] = {
    "x-vsr-skip-processing",
    "x-vsr-debug",
    "x-vsr-cache-control",
    "x-vsr-compression-control",
};

static bool ends_with(struct sr_bytes s, struct sr_bytes suffix)
{
    return s.n >= suffix.n && memcmp(s.p + s.n - suffix.n, suffix.p, suffix.n) == 0;
}

bool sr_identity_strips(struct sr_bytes name)
{
    if (sr_bytes_starts_with(name, SR_LIT("x-vsr-"))) {
        for (size_t i = 0; i < sizeof client_headers / sizeof client_headers[0]; i++)
            if (sr_bytes_eq(name, sr_bytes_str(client_headers[i])))
                return false;
        return true;
    }
    if (sr_bytes_starts_with(name, SR_LIT("x-user-")) && ends_with(name, SR_LIT("-key")))
        return true;
    return sr_bytes_starts_with(name, SR_LIT("x-authz-")) || sr_bytes_eq(name, SR_LIT("x-selected-model")) ||
           sr_bytes_eq(name, SR_LIT("x-gateway-destination-endpoint"));
}

int sr_identity_read(struct sr_identity *out, const struct sr_header *headers, size_t n,
                     const struct sr_config *config, struct sr_arena *arena)
{
    struct sr_bytes trusted = sr_bytes_str(config->global.guards.tenant_header);
    *out = (struct sr_identity){.tenant = SR_LIT("")};
    for (size_t i = 0; trusted.n && i < n; i++) {
        if (!sr_bytes_eq_nocase(headers[i].name, trusted))
            continue;
        out->tenant = sr_arena_dup(arena, sr_bytes_trim(headers[i].value));
        if (!out->tenant.p)
            return SR_ENOMEM;
    }
    out->anonymous = !out->tenant.n && !out->user.n && !out->n_groups;
    return SR_OK;
}
