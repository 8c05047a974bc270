/* Asks the providers of authz in their order. The header is stripped from the request in any case. */
#include "router/exchange/key.h"

enum sr_exchange_key sr_exchange_key_for(const sr_exchange *x, int model, struct sr_bytes *value)
{
    const struct sr_config_authz *authz = &x->router->config->global.authz;
    for (size_t i = 0; i < authz->n_providers; i++) {
        const struct sr_config_authz_provider *provider = &authz->providers[i];
        if (provider->type == SR_AUTHZ_STATIC && x->router->models[model].has_key)
            return SR_KEY_AS_IS;
        struct sr_bytes sent =
            provider->type == SR_AUTHZ_HEADER ? sr_head_named(&x->head, provider->header) : SR_LIT("");
        if (sent.n) {
            *value = sent;
            return SR_KEY_INJECTED;
        }
    }
    return authz->n_providers && !authz->fail_open ? SR_KEY_MISSING : SR_KEY_AS_IS;
}

/* The target's own headers but those of credentials, and the key. */
static int inject(sr_exchange *x, struct sr_target *target, const struct sr_config_backend *backend,
                  struct sr_bytes value)
{
    struct sr_header *headers = sr_arena_calloc(&x->arena, target->n_headers + 1, sizeof *headers);
    const char *prefix = backend ? backend->auth_prefix : "Bearer";
    const char *text = prefix[0] ? sr_arena_printf(&x->arena, "%s %.*s", prefix, (int)value.n, value.p)
                                 : sr_arena_printf(&x->arena, "%.*s", (int)value.n, value.p);
    struct sr_bytes name =
        sr_arena_dup(&x->arena, sr_bytes_str(backend ? backend->auth_header : "authorization"));
    size_t n = 0;
    if (!headers || !text || !name.p)
        return SR_ENOMEM;
    for (size_t i = 0; i < name.n; i++)
        ((char *)name.p)[i] = sr_ascii_lower(name.p[i]);
    for (size_t i = 0; i < target->n_headers; i++)
        if (!sr_bytes_eq_nocase(target->headers[i].name, name) &&
            !sr_config_is_credential(target->headers[i].name))
            headers[n++] = target->headers[i];
    headers[n++] = (struct sr_header){name, sr_bytes_str(text)};
    target->headers = headers;
    target->n_headers = n;
    return SR_OK;
}

int sr_exchange_key_inject(sr_exchange *x, const struct sr_router_pool *pool, struct sr_bytes value,
                           const struct sr_target **targets, size_t n)
{
    const struct sr_config_model *model = &x->router->config->models[x->record.model];
    const struct sr_config_backend *pattern = model->n_backends ? &model->backends[0] : NULL;
    struct sr_target *own = sr_arena_calloc(&x->arena, n + 1, sizeof *own);
    int rc = own ? SR_OK : SR_ENOMEM;
    for (size_t i = 0; i < n && !rc; i++) {
        own[i] = (*targets)[i];
        rc = inject(x, &own[i], pool->discovered ? pattern : pool->backends[i], value);
    }
    if (!rc)
        *targets = own;
    return rc;
}
