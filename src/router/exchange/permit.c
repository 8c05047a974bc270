/* The record's model is this client's to use, and there is a key to ask its upstream with; else a refusal. */
#include "router/exchange/permit.h"

#include "router/exchange/key.h"
#include "router/exchange/reply.h"

/* False: only the operator's key would do, and the client is not known. */
static bool may_use_key(const sr_exchange *x, int model, enum sr_exchange_key key)
{
    return key == SR_KEY_INJECTED || !x->identity.anonymous ||
           x->router->config->global.access.allow_anonymous || !x->router->models[model].has_key;
}

bool sr_exchange_may_use(const sr_exchange *x, int model)
{
    struct sr_bytes own;
    enum sr_exchange_key key = sr_exchange_key_for(x, model, &own);
    return sr_identity_may_use(&x->identity, x->router->config, model) && key != SR_KEY_MISSING &&
           may_use_key(x, model, key);
}

/* The client's key or tenant does not have the record's model. */
static void refuse_model(sr_exchange *x)
{
    struct sr_refusal refusal;
    sr_refuse(&refusal, 403, SR_CODE_MODEL, "model",
              "this client may not use model `%s`; GET /v1/models lists those that it may use",
              x->router->config->models[x->record.model].name);
    refusal.type = "permission_error";
    refusal.reason = "model_not_allowed";
    sr_exchange_refuse(x, &refusal);
}

/* No provider of authz has a key for the upstream. */
static void refuse_no_key(sr_exchange *x)
{
    struct sr_refusal refusal;
    sr_refuse(&refusal, 401, "missing_upstream_key", NULL,
              "Authentication failed. Check your API key configuration: no provider of global.services.authz "
              "has a key for model `%s`",
              x->router->config->models[x->record.model].name);
    refusal.reason = "authentication_failed";
    sr_exchange_refuse(x, &refusal);
}

static void refuse_anonymous(sr_exchange *x)
{
    struct sr_refusal refusal;
    sr_refuse(
        &refusal, 401, "anonymous_client", NULL,
        "model `%s` needs a known client: the operator gives keys in global.semroute.identity.keys, names "
        "a trusted header in global.semroute.guards.tenant_header, or sets "
        "global.semroute.allow_anonymous",
        x->router->config->models[x->record.model].name);
    refusal.reason = "anonymous_client";
    sr_exchange_refuse(x, &refusal);
}

static enum sr_phase_step permit(sr_exchange *x)
{
    struct sr_bytes own;
    enum sr_exchange_key key = sr_exchange_key_for(x, x->record.model, &own);
    if (!sr_identity_may_use(&x->identity, x->router->config, x->record.model)) {
        refuse_model(x);
    } else if (!may_use_key(x, x->record.model, key)) {
        refuse_anonymous(x);
    } else if (key == SR_KEY_MISSING) {
        refuse_no_key(x);
    } else {
        x->head.injects = key == SR_KEY_INJECTED;
        return SR_PHASE_NEXT;
    }
    return SR_PHASE_SETTLED;
}

const struct sr_phase sr_phase_permit = {.begin = permit};
