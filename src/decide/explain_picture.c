/*
 * The picture: signals with their rules, decisions with their trees, the outcome. Lines are cut at the width
 * by columns, not by bytes, and a cut is shown; colours only repeat what signs already say.
 */
#include "base/unicode.h"
#include "decide/explain.h"
#include "decide/plan.h"

#include <stdarg.h>
#include <stdio.h>

#define PREFIX_MAX 160 /* bytes of the lines left of a tree */

enum style { PLAIN, BOLD, DIM, GREEN, RED };

struct picture {
    struct sr_buf *out;
    int indent, width, column;
    bool colour, cut;
    int rc;
};

static void put_raw(struct picture *p, const char *text, size_t n)
{
    if (!p->rc)
        p->rc = sr_buf_append(p->out, text, n);
}

/* Text as far as the line has room, then one ellipsis. Control characters become '?'. */
static void put_text(struct picture *p, const char *text)
{
    struct sr_bytes s = sr_bytes_str(text);
    for (size_t at = 0, length; at < s.n && !p->cut; at += length) {
        int32_t cp;
        length = sr_utf8_decode(s, at, &cp);
        int columns = sr_unicode_columns(cp);
        if (p->column + columns > p->width - 1) { /* the last column is the ellipsis' */
            p->cut = true;
            put_raw(p, "…", strlen("…"));
        } else if (cp < 0x20 || cp == 0x7F || cp == SR_UTF8_REPLACEMENT) {
            put_raw(p, "?", 1);
            p->column++;
        } else {
            put_raw(p, s.p + at, length);
            p->column += columns;
        }
    }
}

static void put(struct picture *p, enum style style, const char *fmt, ...) SR_PRINTF(3, 4);

static void put(struct picture *p, enum style style, const char *fmt, ...)
{
    static const char *const codes[] = {"", "\033[1m", "\033[2m", "\033[32m", "\033[31m"};
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    bool coloured = p->colour && style != PLAIN && !p->cut;
    if (coloured)
        put_raw(p, codes[style], strlen(codes[style]));
    put_text(p, text);
    if (coloured)
        put_raw(p, "\033[0m", 4);
}

static void begin_line(struct picture *p)
{
    put(p, PLAIN, "%*s", p->indent, "");
}

static void end_line(struct picture *p)
{
    put_raw(p, "\n", 1);
    p->column = 0;
    p->cut = false;
}

static void put_state(struct picture *p, enum sr_rule_state state, const char *text)
{
    static const enum style styles[] = {[SR_RULE_NO] = DIM, [SR_RULE_YES] = GREEN, [SR_RULE_OPEN] = DIM};
    static const char *const signs[] = {[SR_RULE_NO] = "✗", [SR_RULE_YES] = "✓", [SR_RULE_OPEN] = "·"};
    put(p, styles[state], "%s %s", signs[state], text);
}

static void draw_node(struct picture *p, const struct sr_explanation *e, const struct sr_rule_node *node,
                      char *prefix, bool last)
{
    static const char *const operators[] = {"", "all of", "any of", "not", "a dropped condition"};
    struct sr_rule_value value = sr_rule_eval(node, e->results);
    size_t n = strlen(prefix);
    begin_line(p);
    put(p, DIM, "%s%s ", prefix, last ? "└─" : "├─");
    if (node->op == SR_RULE_LEAF) {
        enum sr_signal_type type = (enum sr_signal_type)node->type;
        char leaf[256];
        snprintf(leaf, sizeof leaf, "%s %s", sr_signal_registry[type]->name,
                 sr_signals_rule_name(e->plan->signals, type, node->rule));
        put_state(p, value.state, leaf);
        if (e->results[type] && e->results[type]->status)
            put(p, RED, "  failed, counts as %s", value.state == SR_RULE_YES ? "match" : "no match");
    } else {
        put_state(p, value.state, operators[node->op]);
    }
    if (value.state == SR_RULE_YES)
        put(p, PLAIN, "  %.2f", (double)value.low);
    end_line(p);
    if (n + 8 > PREFIX_MAX)
        return;
    snprintf(prefix + n, PREFIX_MAX - n, "%s", last ? "   " : "│  ");
    for (uint32_t at = 1; at < node->size; at += node[at].size)
        draw_node(p, e, &node[at], prefix, at + node[at].size >= node->size);
    prefix[n] = 0;
}

static void draw_decision(struct picture *p, const struct sr_explanation *e, const struct sr_plan *plan,
                          const struct sr_plan_entry *entry)
{
    const struct sr_config_decision *decision = &plan->config->decisions[entry->decision];
    struct sr_rule_value value = sr_plan_eval_entry(plan, entry, e->without, e->results);
    bool wins = entry->decision == e->decision->decision;
    char prefix[PREFIX_MAX] = "  ";
    begin_line(p);
    put(p, wins ? BOLD : PLAIN, "%s", wins ? "▶ " : "  ");
    put_state(p, value.state, "");
    put(p, wins ? BOLD : PLAIN, "%s", decision->name);
    put(p, DIM, "%s  priority %lld", decision->plugins.guard.set ? "  guard" : "",
        (long long)decision->priority);
    if (decision->tier > 0)
        put(p, DIM, ", tier %lld", (long long)decision->tier);
    if (value.state == SR_RULE_YES)
        put(p, PLAIN, "  %.2f", (double)value.low);
    else if (value.state == SR_RULE_OPEN)
        put(p, DIM, "  not needed");
    if (decision->description && *decision->description)
        put(p, DIM, "  %s", decision->description);
    end_line(p);
    if (entry->has_rules)
        draw_node(p, e, &plan->nodes[entry->first], prefix, true);
}

int sr_plan_explain_picture(const struct sr_explanation *e, int indent, int width, bool colour,
                            struct sr_buf *out)
{
    struct picture p = {
        .out = out, .indent = indent, .width = width < indent + 20 ? indent + 20 : width, .colour = colour};
    char why[SR_ERR_MESSAGE_MAX];
    sr_plan_explain_why(e, why);
    begin_line(&p);
    put(&p, PLAIN, "%s", why);
    end_line(&p);
    const struct sr_plan *const plans[] = {e->before, e->plan, e->after};
    for (size_t k = 0; k < sizeof plans / sizeof plans[0]; k++)
        for (size_t i = 0; plans[k] && i < plans[k]->n; i++)
            draw_decision(&p, e, plans[k], &plans[k]->entries[i]);
    return p.rc;
}
