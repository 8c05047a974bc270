/* Problems at nodes, and memory of the snapshot. A node that is reported as broken is not reported again. */
#include "config/bind/binder.h"

#include "base/cut.h"

#include <stdarg.h>
#include <stdio.h>

static void report(struct sr_binder *b, enum sr_severity severity, const struct sr_yaml_node *node,
                   const char *fmt, va_list args)
{
    char message[SR_ERR_MESSAGE_MAX];
    if (node && node->broken)
        return;
    sr_cut_message(message, sizeof message, vsnprintf(message, sizeof message, fmt, args));
    sr_problems_add(b->problems, severity, node ? node->line : 0, node ? node->column : 0, "%s", message);
}

void sr_bind_error(struct sr_binder *b, const struct sr_yaml_node *node, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    report(b, SR_PROBLEM_ERROR, node, fmt, args);
    va_end(args);
}

void sr_bind_warning(struct sr_binder *b, const struct sr_yaml_node *node, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    report(b, SR_PROBLEM_WARNING, node, fmt, args);
    va_end(args);
}

void sr_bind_unsupported(struct sr_binder *b, const struct sr_yaml_node *node, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    report(b, b->lenient && !b->own ? SR_PROBLEM_WARNING : SR_PROBLEM_ERROR, node, fmt, args);
    va_end(args);
}

void sr_bind_drop(struct sr_binder *b, const struct sr_yaml_node *node)
{
    if (!b->lenient)
        return;
    if (b->n_dropped == b->dropped_capacity) {
        size_t capacity = b->dropped_capacity ? 2 * b->dropped_capacity : 16;
        const struct sr_yaml_node **more = sr_bind_calloc(b, capacity, sizeof *more);
        if (!more)
            return;
        if (b->n_dropped)
            memcpy(more, b->dropped, b->n_dropped * sizeof *more);
        b->dropped = more;
        b->dropped_capacity = capacity;
    }
    b->dropped[b->n_dropped++] = node;
}

bool sr_bind_dropped(const struct sr_binder *b, const struct sr_yaml_node *node)
{
    for (size_t i = 0; i < b->n_dropped; i++)
        if (b->dropped[i] == node)
            return true;
    return false;
}

bool sr_bind_is_partial(const struct sr_binder *b, const struct sr_yaml_node *node)
{
    bool partial = node && sr_bind_dropped(b, node);
    for (size_t i = 0; node && node->kind != SR_YAML_SCALAR && !partial && i < node->count; i++)
        partial = sr_bind_is_partial(b, node->items[i]);
    return partial;
}

void sr_bind_unset(struct sr_binder *b, const struct sr_yaml_node *node, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    report(b, b->draft ? SR_PROBLEM_WARNING : SR_PROBLEM_ERROR, node, fmt, args);
    va_end(args);
}

void *sr_bind_calloc(struct sr_binder *b, size_t count, size_t size)
{
    void *p = sr_arena_calloc(b->arena, count, size);
    if (!p)
        b->rc = SR_ENOMEM;
    return p;
}

const char *sr_bind_dup(struct sr_binder *b, struct sr_bytes s)
{
    struct sr_bytes copy = sr_arena_dup(b->arena, s);
    if (!copy.p)
        b->rc = SR_ENOMEM;
    return copy.p ? copy.p : "";
}

const struct sr_yaml_node *sr_bind_at(const struct sr_yaml_node *map, const char *key)
{
    const struct sr_yaml_node *value = sr_yaml_get(map, key);
    return value ? value : map;
}

struct sr_config_position sr_bind_position(const struct sr_yaml_node *node)
{
    return node->broken ? (struct sr_config_position){0}
                        : (struct sr_config_position){node->line, node->column};
}
