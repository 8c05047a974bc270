/* Writes the texts of a block. */
#include "router/route/guard_block.h"

#include "router/record.h"
#include "router/refusal.h"

static const struct sr_config_decision *guard_of(const struct sr_guard *guard)
{
    return guard->decision >= 0 ? &guard->in.router->config->decisions[guard->decision] : NULL;
}

/* Nothing was found: what could not be read is the reason. */
static bool is_unread(const struct sr_guard *guard)
{
    return guard->why[0] && !(guard->denied && guard->types);
}

static bool is_overload(const struct sr_guard *guard)
{
    return is_unread(guard) && strcmp(guard->why, SR_CODE_OVERLOADED) == 0;
}

static bool is_over(const struct sr_guard *guard)
{
    return is_unread(guard) && strcmp(guard->why, SR_CODE_TOO_LARGE) == 0;
}

/* The limit that the request is over. NULL when it is out of memory. */
static const char *over_message(const struct sr_guard *guard)
{
    const struct sr_config_global *global = &guard->in.router->config->global;
    enum sr_signal_over over = SR_SIGNAL_OVER_NONE;
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        if (guard->in.results[type] && guard->in.results[type]->over > over)
            over = guard->in.results[type]->over;
    if (over == SR_SIGNAL_OVER_DEADLINE)
        return sr_arena_printf(guard->in.arena,
                               "The request is too large: a guard cannot read its text within "
                               "global.semroute.signal_deadline_max_ms, %llu ms.",
                               (unsigned long long)global->signal_deadline_max_ms);
    return sr_arena_printf(
        guard->in.arena,
        "The request is too large: a guard must read more windows of its text than wait at "
        "once; global.semroute.inference.queue_jobs is %zu.",
        (size_t)global->inference.queue_jobs);
}

/* The text of a block of what could not be read. */
static const char *unread_message(const struct sr_guard *guard)
{
    if (is_over(guard))
        return over_message(guard);
    if (is_overload(guard))
        return "The request could not be classified before its deadline. Try again later.";
    return strcmp(guard->why, SR_CODE_UNREAD_CONTENT) == 0
               ? "The request was blocked: it has content that cannot be classified."
               : "The request was blocked: it could not be classified.";
}

/* The text of a block; NULL when it is out of memory. */
static const char *message_of(const struct sr_guard *guard)
{
    const struct sr_config_decision *decision = guard_of(guard);
    struct sr_arena *arena = guard->in.arena;
    if (!guard->denied && decision && decision->plugins.guard.message[0] && !is_overload(guard) &&
        !is_over(guard))
        return decision->plugins.guard.message;
    if (is_unread(guard))
        return unread_message(guard);
    if (!guard->denied && guard->risk >= 0)
        return sr_arena_printf(arena,
                               "The request was blocked: it looks like an attempt to turn the model against "
                               "its instructions (type: %s, confidence: %.3f).",
                               guard->kind, (double)guard->risk);
    const char *types = sr_record_entities(guard->types, arena);
    if (!types)
        return NULL;
    if (guard->denied)
        return sr_arena_printf(arena,
                               "The request was blocked: it holds private data (%s) that no candidate model "
                               "may see. Remove it and try again.",
                               types);
    return types[0]
               ? sr_arena_printf(arena,
                                 "The request was blocked: it holds private data (%s). Remove it and try "
                                 "again.",
                                 types)
               : "The request was blocked by a guard.";
}

int sr_guard_block(const struct sr_guard *guard, struct sr_guard_block *out)
{
    const struct sr_config_decision *decision = guard_of(guard);
    bool policy = guard->denied || !decision;
    bool unread = is_unread(guard);
    bool attack = !guard->denied && !unread && guard->risk >= 0;
    *out = (struct sr_guard_block){
        .name = policy ? "pii_policy" : decision->name,
        .status = is_overload(guard) ? 503
                  : is_over(guard)   ? 413
                  : policy           ? 403
                                     : decision->plugins.guard.status,
        .code = unread         ? guard->why
                : attack       ? "jailbreak_blocked"
                : guard->types ? "pii_blocked"
                               : "guard_blocked",
        .message = message_of(guard),
        .reason = unread   ? "classification_failed"
                  : attack ? "jailbreak_block"
                           : "pii_policy_denied",
    };
    return out->message ? SR_OK : SR_ENOMEM;
}
