/* The reply of a block. */
#include "router/exchange.h"
#include "router/reply/reply.h"

const char *sr_guard_type_names(uint32_t types, struct sr_arena *arena)
{
    const char *names = "";
    for (int type = 0; type < SR_ENTITY_TYPES && names; type++)
        if (types >> type & 1)
            names = sr_arena_printf(arena, "%s%s%s", names, names[0] ? "," : "", sr_entity_names[type]);
    return names;
}

static const struct sr_config_decision *guard_of(const sr_exchange *x)
{
    return x->guard.decision >= 0 ? &x->router->config->decisions[x->guard.decision] : NULL;
}

/* Whose block it is: the guard's name, or the policy's. */
static const char *name_of(const sr_exchange *x)
{
    const struct sr_config_decision *decision = guard_of(x);
    return x->guard.denied || !decision ? "pii_policy" : decision->name;
}

/* The text of a block; NULL when memory is out. */
static const char *message_of(sr_exchange *x)
{
    const struct sr_config_decision *decision = guard_of(x);
    if (!x->guard.denied && decision && decision->plugins.guard.message[0])
        return decision->plugins.guard.message;
    if (!x->guard.denied && x->guard.risk >= 0)
        return sr_arena_printf(&x->arena,
                               "The request was blocked: it looks like an attempt to turn the model against "
                               "its instructions (type: %s, confidence: %.3f).",
                               x->guard.kind, (double)x->guard.risk);
    const char *types = sr_guard_type_names(x->guard.types, &x->arena);
    if (!types)
        return NULL;
    if (x->guard.denied)
        return sr_arena_printf(&x->arena,
                               "The request was blocked: it holds private data (%s) that no candidate model "
                               "may see. Remove it and try again.",
                               types);
    return types[0]
               ? sr_arena_printf(&x->arena,
                                 "The request was blocked: it holds private data (%s). Remove it and try "
                                 "again.",
                                 types)
               : "The request was blocked by a guard.";
}

void sr_guard_block(sr_exchange *x)
{
    const struct sr_config_decision *decision = guard_of(x);
    bool attack = !x->guard.denied && x->guard.risk >= 0;
    int status = x->guard.denied || !decision ? 403 : decision->plugins.guard.status;
    const char *code = attack ? "jailbreak_blocked" : x->guard.types ? "pii_blocked" : "guard_blocked";
    const char *message = message_of(x);
    x->verdict.decision = name_of(x);
    x->verdict.confidence = (double)x->guard.confidence;
    x->error_reason = attack ? "jailbreak_block" : "pii_policy_denied";
    if (!message)
        sr_exchange_refuse_memory(x);
    else if (status == 200)
        sr_reply_filtered(x, message, code);
    else
        sr_reply_error(x, (struct sr_error_reply){status, "invalid_request_error", code, NULL, true}, "%s",
                       message);
}
