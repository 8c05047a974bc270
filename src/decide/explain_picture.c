/*
 * The picture: signals with their rules, decisions with their trees, the outcome. Lines are cut at the width
 * by columns, not by bytes, and a cut is shown; colours only repeat what signs already say.
 */
#include "decide/explain.h"
#include "decide/plan.h"
#include "text/utf8.h"

#include <stdarg.h>
#include <stdio.h>

#define PREFIX_MAX 160 /* bytes of the lines left of a tree */

enum style { PLAIN, BOLD, DIM, GREEN, RED };

struct picture {
    struct sr_buf *out;
    int width, column;
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
        int columns = sr_utf8_columns(cp);
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

static void draw_signal(struct picture *p, const struct sr_explanation *e, enum sr_signal_type type,
                        size_t rules)
{
    const struct sr_signal_result *result = e->results[type];
    put(p, PLAIN, "  %-10s", sr_signal_registry[type]->name);
    if (!result) {
        put(p, DIM, " not asked");
        end_line(p);
        return;
    }
    put(p, DIM, " %10.1f us", (double)result->ns / 1e3);
    if (result->status)
        put(p, RED, "  failed: %s", sr_strerror(result->status));
    else if (result->top >= 0 && result->probabilities)
        put(p, PLAIN, "  %s %.2f, entropy %.2f", result->labels[result->top],
            (double)result->probabilities[result->top], (double)result->entropy);
    if (!result->status && *result->tier)
        put(p, DIM, "  (%s)", result->tier);
    end_line(p);
    for (size_t i = 0; !result->status && i < rules && i < result->n_hits; i++) {
        const struct sr_signal_hit *hit = &result->hits[i];
        put(p, PLAIN, "    ");
        put_state(p, hit->matched ? SR_RULE_YES : SR_RULE_NO,
                  sr_signals_rule_name(e->plan->signals, type, i));
        if (hit->matched)
            put(p, PLAIN, "  %.2f", (double)hit->confidence);
        if (hit->value == hit->value)
            put(p, DIM, "  value %.4g", hit->value);
        end_line(p);
    }
}

static void draw_node(struct picture *p, const struct sr_explanation *e, const struct sr_rule_node *node,
                      char *prefix, bool last)
{
    static const char *const operators[] = {"", "all of", "any of", "not"};
    struct sr_rule_value value = sr_rule_eval(node, e->results);
    size_t n = strlen(prefix);
    put(p, DIM, "%s%s ", prefix, last ? "└─" : "├─");
    if (node->op == SR_RULE_LEAF) {
        enum sr_signal_type type = (enum sr_signal_type)node->type;
        char leaf[256];
        snprintf(leaf, sizeof leaf, "%s: %s", sr_signal_registry[type]->name,
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
    strcpy(prefix + n, last ? "   " : "│  ");
    for (uint32_t at = 1; at < node->size; at += node[at].size)
        draw_node(p, e, &node[at], prefix, at + node[at].size >= node->size);
    prefix[n] = 0;
}

static void draw_decision(struct picture *p, const struct sr_explanation *e,
                          const struct sr_plan_entry *entry)
{
    const struct sr_config_decision *decision = &e->plan->config->decisions[entry->decision];
    struct sr_rule_value value = sr_plan_eval(e->plan, entry, e->results);
    bool wins = entry->decision == e->decision->decision;
    char prefix[PREFIX_MAX] = "    ";
    put(p, wins ? BOLD : PLAIN, "  %s", wins ? "▶ " : "  ");
    put_state(p, value.state, "");
    put(p, wins ? BOLD : PLAIN, "%s", decision->name);
    put(p, DIM, "  priority %lld", (long long)decision->priority);
    if (decision->tier > 0)
        put(p, DIM, ", tier %lld", (long long)decision->tier);
    if (value.state == SR_RULE_YES)
        put(p, PLAIN, "  %.2f", (double)value.low);
    else if (value.state == SR_RULE_OPEN)
        put(p, DIM, "  not needed");
    end_line(p);
    if (entry->has_rules)
        draw_node(p, e, &e->plan->nodes[entry->first], prefix, true);
}

static void draw_outcome(struct picture *p, const struct sr_explanation *e)
{
    const struct sr_config *config = e->plan->config;
    char why[SR_ERR_MESSAGE_MAX];
    bool none = e->decision->decision < 0;
    sr_plan_explain_why(e, why);
    put(p, BOLD, "%s", none ? "No decision" : config->decisions[e->decision->decision].name);
    put(p, PLAIN, ": %s", why);
    end_line(p);
    put(p, PLAIN, "  model ");
    put(p, BOLD, "%s", e->choice->model < 0 ? "(none)" : config->models[e->choice->model].name);
    if (*e->choice->lora_name)
        put(p, PLAIN, " as %s", e->choice->lora_name);
    put(p, PLAIN, ", reasoning %s%s%s", e->choice->use_reasoning ? "on" : "off",
        *e->choice->effort ? ", effort " : "", e->choice->effort);
    if (*e->decision->category_name)
        put(p, PLAIN, ", category %s", e->decision->category_name);
    end_line(p);
}

int sr_plan_explain_picture(const struct sr_explanation *e, int width, bool colour, struct sr_buf *out)
{
    struct picture p = {.out = out, .width = width < 20 ? 20 : width, .colour = colour};
    put(&p, BOLD, "Signals");
    end_line(&p);
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        size_t rules = sr_signals_rules(e->plan->signals, (enum sr_signal_type)type);
        if (rules)
            draw_signal(&p, e, (enum sr_signal_type)type, rules);
    }
    put(&p, BOLD, "Decisions");
    end_line(&p);
    for (size_t i = 0; i < e->plan->n; i++)
        draw_decision(&p, e, &e->plan->entries[i]);
    draw_outcome(&p, e);
    return p.rc;
}
