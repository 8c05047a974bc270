/* Columns: time, outcome, status, decision and model, times, tokens, cost, what matched. */
#include "cli/admin/line.h"

#include <stdio.h>

#define RESET "\033[0m"
#define DIM   "\033[2m"

/* How bad an outcome is. */
static const struct {
    const char *outcome, *colour;
} colours[] = {{"routed", "\033[32m"},  {"passed", "\033[32m"},   {"cached", "\033[36m"},
               {"fast", "\033[36m"},    {"degraded", "\033[33m"}, {"canceled", "\033[33m"},
               {"shed", "\033[33m"},    {"refused", "\033[33m"},  {"blocked", "\033[31m"},
               {"failed", "\033[1;31m"}};

static const char *colour_of(struct sr_bytes outcome)
{
    for (size_t i = 0; i < sizeof colours / sizeof colours[0]; i++)
        if (sr_bytes_eq(outcome, sr_bytes_str(colours[i].outcome)))
            return colours[i].colour;
    return "";
}

static struct sr_bytes text_of(const sr_doc_value *request, const char *name)
{
    struct sr_bytes text = sr_doc_string(sr_doc_get(request, name));
    return text.p ? text : SR_LIT("");
}

/* Appends a text without control characters (C0, DEL, and C1 as UTF-8 has them). */
static int put(struct sr_buf *out, struct sr_bytes text)
{
    int rc = SR_OK;
    for (size_t i = 0; i < text.n && !rc; i++) {
        unsigned char c = (unsigned char)text.p[i];
        bool c1 = c == 0xc2 && i + 1 < text.n && (unsigned char)text.p[i + 1] < 0xa0;
        rc = sr_buf_append(out, c < ' ' || c == 0x7f || c1 ? "?" : text.p + i, 1);
        i += c1;
    }
    return rc;
}

/* "name=" and a text, dim; nothing for "". */
static int put_named(struct sr_buf *out, const char *before, struct sr_bytes text)
{
    int rc = text.n ? sr_buf_printf(out, "%s", before) : SR_OK;
    return rc ? rc : put(out, text);
}

static int put_number(struct sr_buf *out, const sr_doc_value *request, const char *name, const char *format)
{
    double value;
    return sr_doc_number(sr_doc_get(request, name), &value) ? sr_buf_printf(out, format, value) : SR_OK;
}

/* "12:34:56.789" of a timestamp. */
static int put_time(struct sr_buf *out, struct sr_bytes stamp)
{
    const char *t = stamp.n ? memchr(stamp.p, 'T', stamp.n) : NULL;
    size_t left = t ? stamp.n - (size_t)(t + 1 - stamp.p) : 0;
    return put(out, sr_bytes_of(t ? t + 1 : "", left < 12 ? left : 12));
}

static int put_route(struct sr_buf *out, const sr_doc_value *request)
{
    struct sr_bytes decision = text_of(request, "decision"), model = text_of(request, "selected_model");
    int rc = sr_buf_append(out, "  ", 2);
    if (!rc)
        rc = put(out, decision.n ? decision : SR_LIT("-"));
    return rc ? rc : put_named(out, " -> ", model);
}

static int put_tokens(struct sr_buf *out, const sr_doc_value *request)
{
    double prompt, answer;
    int rc = SR_OK;
    if (sr_doc_number(sr_doc_get(request, "prompt_tokens"), &prompt) &&
        sr_doc_number(sr_doc_get(request, "completion_tokens"), &answer))
        rc = sr_buf_printf(out, "  %.0f+%.0f tokens", prompt, answer);
    if (!rc && sr_doc_get(request, "actual_cost")) {
        rc = put_number(out, request, "actual_cost", "  %.6g");
        if (!rc)
            rc = put_named(out, " ", text_of(request, "currency"));
    }
    return rc;
}

/* "keyword:code" for each rule that matched. */
static int put_matches(struct sr_buf *out, const sr_doc_value *request)
{
    const sr_doc_value *signals = sr_doc_get(request, "signal_details");
    int rc = SR_OK;
    for (size_t i = 0; i < sr_doc_size(signals) && !rc; i++) {
        const sr_doc_value *signal = sr_doc_at(signals, i), *rules = sr_doc_get(signal, "rules");
        for (size_t k = 0; k < sr_doc_size(rules) && !rc; k++) {
            const sr_doc_value *rule = sr_doc_at(rules, k);
            if (!sr_doc_is_true(sr_doc_get(rule, "matched")))
                continue;
            rc = put_named(out, "  ", text_of(signal, "type"));
            if (!rc)
                rc = put_named(out, ":", text_of(rule, "name"));
        }
    }
    return rc;
}

static int put_rest(struct sr_buf *out, const sr_doc_value *request)
{
    int rc = put_named(out, "  tenant ", text_of(request, "tenant"));
    if (!rc)
        rc = put_named(out, "  guard ", text_of(request, "guard"));
    if (!rc)
        rc = put_named(out, " ", text_of(request, "guard_action"));
    if (!rc)
        rc = put_named(out, "  error ", text_of(request, "error"));
    return rc ? rc : put_matches(out, request);
}

int sr_admin_line(const sr_doc_value *request, bool colour, struct sr_buf *out)
{
    struct sr_bytes outcome = text_of(request, "outcome");
    int rc = put_time(out, text_of(request, "ended_at"));
    if (!rc)
        rc = sr_buf_printf(out, "  %s", colour ? colour_of(outcome) : "");
    if (!rc)
        rc = put(out, outcome);
    if (!rc)
        rc = sr_buf_printf(out, "%*s%s", (int)(outcome.n < 8 ? 8 - outcome.n : 0), "", colour ? RESET : "");
    if (!rc)
        rc = put_number(out, request, "response_status", " %3.0f");
    if (!rc)
        rc = put_route(out, request);
    if (!rc)
        rc = put_number(out, request, "total_ms", "  %.1f ms");
    if (!rc)
        rc = put_number(out, request, "ttft_ms", " (first %.1f)");
    if (!rc)
        rc = put_tokens(out, request);
    if (!rc && colour)
        rc = sr_buf_printf(out, DIM);
    if (!rc)
        rc = put_rest(out, request);
    return rc ? rc : sr_buf_printf(out, "%s\n", colour ? RESET : "");
}
