/* Draws a record. */
#include "router/report/explain_picture.h"

#include "base/clock.h"
#include "decide/explain.h"
#include "router/report/explain_cache.h"
#include "router/report/explain_ranking.h"
#include "router/report/explain_reply.h"

#include <math.h>
#include <stdio.h>

#define LABEL_WIDTH 10
#define BAR_MAX     30
#define REPLY_MAX   1000 /* bytes shown of what a reply says */
#define REPLY_ROOM  256  /* for a code and its brackets */

struct picture {
    struct sr_buf *out;
    int width;
    bool colour;
    int rc;
};

enum paint { PLAIN, BOLD, DIM, GREEN, RED, CYAN };

static void put(struct picture *pic, const char *text)
{
    if (!pic->rc)
        pic->rc = sr_buf_append_bytes(pic->out, sr_bytes_str(text));
}

static void paint(struct picture *pic, enum paint paint)
{
    static const char *const codes[] = {"\033[0m", "\033[1m", "\033[2m", "\033[32m", "\033[31m", "\033[36m"};
    if (pic->colour)
        put(pic, codes[paint]);
}

static void painted(struct picture *pic, enum paint how, const char *text)
{
    paint(pic, how);
    put(pic, text);
    paint(pic, PLAIN);
}

static void label(struct picture *pic, const char *text)
{
    paint(pic, BOLD);
    if (!pic->rc)
        pic->rc = sr_buf_printf(pic->out, "%-*s", LABEL_WIDTH, text);
    paint(pic, PLAIN);
}

static void indent(struct picture *pic)
{
    if (!pic->rc)
        pic->rc = sr_buf_printf(pic->out, "%*s", LABEL_WIDTH, "");
}

/* Writes user text as one line, cut, without control characters. */
static void quoted(struct picture *pic, struct sr_bytes text, size_t max)
{
    bool long_text = text.n > max;
    size_t n = long_text ? max : text.n;
    while (long_text && n > 0 && ((unsigned char)text.p[n] & 0xc0) == 0x80)
        n--;
    struct sr_buf clean;
    sr_buf_init(&clean, 6 * max + 16);
    if (!pic->rc)
        pic->rc = sr_buf_append_json(&clean, sr_bytes_of(text.p, n));
    for (size_t i = 0; i < clean.len && !pic->rc; i++) {
        if (clean.data[i] == '\\' && (clean.data[i + 1] == '"' || clean.data[i + 1] == '\\'))
            i++; /* they need no escape here */
        pic->rc = sr_buf_append(pic->out, &clean.data[i], 1);
    }
    sr_buf_dispose(&clean);
    if (long_text)
        put(pic, "…");
}

static void bar(struct picture *pic, double share)
{
    int room = pic->width - LABEL_WIDTH - 50;
    int full = room < 5 ? 5 : room > BAR_MAX ? BAR_MAX : room;
    int n = (int)lround(share * full);
    paint(pic, CYAN);
    for (int i = 0; i < full; i++)
        put(pic, i < n ? "█" : "·");
    paint(pic, PLAIN);
}

static void draw_request(struct picture *pic, const struct sr_explain *e)
{
    label(pic, "request");
    if (!pic->rc)
        pic->rc = sr_buf_printf(pic->out, "%s, %llu bytes", e->record->dialect,
                                (unsigned long long)e->record->bytes_in);
    if (e->record->has_text && !pic->rc)
        pic->rc = sr_buf_printf(pic->out, ", about %llu tokens of text",
                                (unsigned long long)e->record->text_tokens);
    put(pic, e->record->automatic ? ", the router chooses the model\n" : "\n");
}

/* The three most probable classes. */
static void draw_classes(struct picture *pic, const struct sr_signal_result *result)
{
    float below = INFINITY;
    for (int rank = 0; rank < 3; rank++) {
        size_t best = result->n_labels;
        for (size_t i = 0; i < result->n_labels; i++) {
            float p = result->probabilities[i];
            if (p < below && (best == result->n_labels || p > result->probabilities[best]))
                best = i;
        }
        if (best == result->n_labels)
            return;
        below = result->probabilities[best];
        if (rank && below < 0.005f)
            return;
        indent(pic);
        if (!pic->rc)
            pic->rc = sr_buf_printf(pic->out, "%*s%-20s ", 22, "", result->labels[best]);
        bar(pic, (double)below);
        if (!pic->rc)
            pic->rc = sr_buf_printf(pic->out, " %.2f\n", (double)below);
    }
}

static void draw_hits(struct picture *pic, const struct sr_explain *e, enum sr_signal_type type)
{
    const struct sr_signal_result *result = e->record->results[type];
    bool any = false;
    for (size_t i = 0; i < result->n_hits; i++) {
        if (!result->hits[i].matched)
            continue;
        put(pic, any ? ", " : "");
        painted(pic, GREEN, sr_signals_rule_name(e->router->signals, type, i));
        any = true;
    }
    if (!any)
        painted(pic, DIM, "no rule matches");
    put(pic, "\n");
}

static void draw_signals(struct picture *pic, const struct sr_explain *e)
{
    bool first = true;
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        const struct sr_signal_result *result = e->record->results[type];
        if (!result)
            continue;
        if (first)
            label(pic, "signals");
        else
            indent(pic);
        first = false;
        if (!pic->rc)
            pic->rc = sr_buf_printf(pic->out, "%-10s %8.1f µs  ", sr_signal_registry[type]->name,
                                    (double)result->ns / 1000);
        if (result->status) {
            painted(pic, RED, sr_strerror(result->status));
            put(pic, "\n");
            continue;
        }
        draw_hits(pic, e, (enum sr_signal_type)type);
        if (result->probabilities)
            draw_classes(pic, result);
    }
}

static void draw_guard(struct picture *pic, const struct sr_explain *e)
{
    const char *action = sr_guard_action_name(e->record->guard.action);
    if (!action[0])
        return;
    label(pic, "guard");
    painted(pic, BOLD,
            e->record->guard.denied ? "the model's pii_policy"
                                    : e->router->config->decisions[e->record->guard.decision].name);
    if (!pic->rc)
        pic->rc = sr_buf_printf(pic->out, ": %s\n", action);
}

static void draw_decision(struct picture *pic, const struct sr_explain *e)
{
    const struct sr_config_decision *decision = sr_record_decision(e->record, e->router->config);
    struct sr_explanation plans;
    if (!sr_explain_plans(e->record, e->router, &plans))
        return;
    label(pic, "decision");
    painted(pic, BOLD, decision ? decision->name : "none");
    if (decision && !pic->rc)
        pic->rc = sr_buf_printf(pic->out, " (priority %lld, confidence %.2f)", (long long)decision->priority,
                                (double)e->record->decision.confidence);
    put(pic, "\n");
    if (!pic->rc)
        pic->rc = sr_plan_explain_picture(&plans, LABEL_WIDTH, pic->width, pic->colour, pic->out);
}

/* Decisions in shadow that match, and what they would have done. */
static void draw_shadows(struct picture *pic, const struct sr_explain *e)
{
    for (size_t i = 0; i < e->record->n_shadows; i++) {
        const struct sr_match *match = &e->record->shadows[i];
        const struct sr_config_decision *decision = &e->router->config->decisions[match->decision];
        if (i == 0)
            label(pic, "shadow");
        else
            indent(pic);
        painted(pic, BOLD, decision->name);
        if (!pic->rc)
            pic->rc = sr_buf_printf(pic->out, " (%.3f) would %s\n", (double)match->confidence,
                                    sr_record_would(decision));
    }
}

/* Left out where no algorithm ranked the candidates. */
static void draw_ranking(struct picture *pic, const struct sr_explain *e)
{
    if (!e->record->ranking || !sr_record_decision(e->record, e->router->config))
        return;
    label(pic, "model");
    if (!pic->rc)
        pic->rc = sr_explain_ranking_text(e, "          ", pic->out);
}

/* Left out where no decision uses it. */
static void draw_cache(struct picture *pic, const struct sr_explain *e)
{
    if (!e->router->caches)
        return;
    label(pic, "cache");
    if (!pic->rc)
        pic->rc = sr_explain_cache_text(e, "          ", pic->out);
}

static void draw_edit(void *ctx, const struct sr_explain_edit *edit)
{
    struct picture *pic = ctx;
    size_t room = pic->width > 60 ? (size_t)(pic->width - 34) / 2 : 20;
    indent(pic);
    if (!pic->rc)
        pic->rc = sr_buf_printf(pic->out, "at byte %zu: ", edit->at);
    if (edit->removed.n) {
        paint(pic, RED);
        quoted(pic, edit->removed, room);
        paint(pic, PLAIN);
        put(pic, " → ");
    } else {
        put(pic, "+ ");
    }
    paint(pic, GREEN);
    for (size_t i = 0; i < edit->n_inserted; i++)
        quoted(pic, edit->inserted[i], room);
    paint(pic, PLAIN);
    put(pic, "\n");
}

/* The worker that was picked of several, and why. */
static void draw_worker(struct picture *pic, const struct sr_record *r)
{
    const struct sr_pool_why *why = &r->why_target;
    if (!r->target || !r->policy || !r->of_several || pic->rc)
        return;
    indent(pic);
    pic->rc = sr_buf_printf(pic->out, "on %s (%s: %s", r->target, r->policy, why->reason);
    if (why->blocks && !pic->rc)
        pic->rc = sr_buf_printf(pic->out, ", has %u of %u blocks", why->overlap, why->blocks);
    if (why->similarity > 0 && !pic->rc)
        pic->rc = sr_buf_printf(pic->out, ", similarity %.3f", (double)why->similarity);
    put(pic, ")\n");
}

/* The pool of several, and why. */
static void draw_pool(struct picture *pic, const struct sr_record_pool *pool)
{
    if (!pool->name || pic->rc)
        return;
    indent(pic);
    pic->rc = sr_buf_printf(pic->out, "in pool %s (%s: %s, about %llu + %llu tokens)\n", pool->name,
                            pool->why, pool->workload, (unsigned long long)pool->prompt_tokens,
                            (unsigned long long)pool->answer_tokens);
}

static void draw_reply(struct picture *pic, struct sr_bytes reply)
{
    struct sr_buf said;
    sr_buf_init(&said, reply.n + REPLY_ROOM);
    if (!pic->rc)
        pic->rc = sr_explain_reply(reply, &said);
    indent(pic);
    quoted(pic, sr_buf_view(&said), REPLY_MAX);
    put(pic, "\n");
    sr_buf_dispose(&said);
}

static void draw_verdict(struct picture *pic, const struct sr_explain *e)
{
    const struct sr_record *r = e->record;
    label(pic, "verdict");
    if (r->action == SR_ACTION_REPLY) {
        if (!pic->rc)
            pic->rc = sr_buf_printf(pic->out, "answered here with status %d\n", r->status);
        draw_reply(pic, r->reply);
        return;
    }
    put(pic, "→ ");
    painted(pic, BOLD, r->model_name);
    if (r->reasoning && !pic->rc)
        pic->rc = sr_buf_printf(pic->out, ", reasoning on (%s)", r->effort);
    put(pic, r->edited ? ", body edited:\n" : ", body untouched\n");
    draw_pool(pic, &r->pool);
    draw_worker(pic, r);
    sr_explain_edits(r, draw_edit, pic);
}

int sr_explain_picture(const struct sr_explain *e, int width, bool colour, struct sr_buf *out)
{
    struct picture pic = {.out = out, .width = width > 0 ? width : 80, .colour = colour};
    draw_request(&pic, e);
    draw_signals(&pic, e);
    draw_guard(&pic, e);
    draw_decision(&pic, e);
    draw_shadows(&pic, e);
    draw_ranking(&pic, e);
    draw_cache(&pic, e);
    if (e->record->has_verdict)
        draw_verdict(&pic, e);
    label(&pic, "time");
    if (!pic.rc)
        pic.rc =
            sr_buf_printf(out, "%.0f µs: scan %.0f, signals %.0f, decide %.0f, edits %.0f\n",
                          (double)e->record->times.busy_ns / 1000, (double)e->record->times.scan_ns / 1000,
                          (double)e->record->times.signals_ns / 1000,
                          (double)e->record->times.decide_ns / 1000, (double)e->record->times.edit_ns / 1000);
    return pic.rc;
}
