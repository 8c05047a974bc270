/* What guards say: the reply of a block, metrics, the audit log. */
#include "base/clock.h"
#include "router/exchange.h"
#include "router/reply/reply.h"

#include <time.h>

#define AUDIT_MAX ((size_t)4 << 10)

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
        return sr_arena_printf(
            &x->arena,
            "The request was blocked: it holds private data (%s) that no model which could "
            "answer it may see. Remove it and try again.",
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

/* ---- metrics ---- */

const char *sr_guard_action_name(const sr_exchange *x)
{
    static const char *const names[] = {[SR_GUARD_ALLOW] = "allow",
                                        [SR_GUARD_FLAG] = "flag",
                                        [SR_GUARD_ROUTE] = "route",
                                        [SR_GUARD_BLOCK] = "block",
                                        [SR_GUARD_REDACT] = "redact"};
    int action = sr_guard_action(x);
    return action < 0 ? "" : names[action];
}

static void count(const sr_exchange *x, enum sr_metric metric, double value, const char *a, const char *b)
{
    struct sr_bytes labels[] = {sr_bytes_str(a), sr_bytes_str(b)};
    sr_metrics_add(x->metrics, metric, value, labels);
}

static void measure_reading(const sr_exchange *x, enum sr_signal_type type)
{
    const struct sr_signal_result *result = x->results[type];
    const char *name = sr_signal_registry[type]->name;
    if (!result)
        return;
    count(x, SR_METRIC_SCAN_COVERAGE, sr_guard_coverage(x, type), name, "");
    if (result->status)
        return;
    count(x, SR_METRIC_SCANNED_BYTES, (double)result->scanned_bytes, name, "");
    if (result->remembered)
        count(x, SR_METRIC_REMEMBERED_TURNS, (double)result->remembered, name, "");
}

void sr_guard_measure(const sr_exchange *x)
{
    const struct sr_config_model *model = sr_exchange_model(x);
    measure_reading(x, SR_SIGNAL_JAILBREAK);
    measure_reading(x, SR_SIGNAL_PII);
    const struct sr_config_decision *guard = guard_of(x);
    if (guard) {
        struct sr_bytes labels[] = {SR_LIT("guard"), sr_bytes_str(guard->name), SR_LIT("success")};
        sr_metrics_add(x->metrics, SR_METRIC_PLUGINS, 1, labels);
    }
    if (guard && x->guard.decision != x->decision.decision)
        count(x, SR_METRIC_DECISION_MATCH, 1, guard->name, "");
    if (sr_guard_action(x) >= 0)
        count(x, SR_METRIC_GUARD_ACTIONS, 1, name_of(x), sr_guard_action_name(x));
    bool violates = sr_guard_action(x) >= 0 && sr_guard_action(x) != SR_GUARD_ALLOW;
    for (int type = 0; (violates || x->guard.moved) && type < SR_ENTITY_TYPES; type++)
        if (x->guard.types >> type & 1)
            count(x, SR_METRIC_PII_VIOLATIONS, 1, model ? model->name : "", sr_entity_names[type]);
}

/* ---- the audit log ---- */

static int put(struct sr_buf *line, const char *key, struct sr_bytes value)
{
    int rc = value.n ? sr_buf_printf(line, ",\"%s\":\"", key) : SR_OK;
    if (!rc && value.n)
        rc = sr_buf_append_json(line, value);
    return rc || !value.n ? rc : sr_buf_append(line, "\"", 1);
}

static int put_head(struct sr_buf *line, const sr_exchange *x, const char *event, const char *action,
                    const char *decision)
{
    uint64_t now = sr_clock_wall_ns();
    time_t second = (time_t)(now / SR_NS_PER_S);
    struct tm tm;
    char time_text[40];
    gmtime_r(&second, &tm);
    strftime(time_text, sizeof time_text, "%Y-%m-%dT%H:%M:%S", &tm);
    const struct sr_config_model *model = sr_exchange_model(x);
    int rc = sr_buf_printf(line, "{\"time\":\"%s.%03uZ\",\"event\":\"%s\",\"action\":\"%s\"", time_text,
                           (unsigned)(now % SR_NS_PER_S / SR_NS_PER_MS), event, action);
    if (!rc)
        rc = put(line, "request_id", sr_exchange_id(x));
    if (!rc)
        rc = put(line, "door", sr_bytes_str(sr_door_name(x->head.door)));
    if (!rc)
        rc = put(line, "peer", x->head.peer);
    if (!rc)
        rc = put(line, "decision", sr_bytes_str(decision));
    return rc ? rc : put(line, "model", sr_bytes_str(model ? model->name : ""));
}

static int put_attack(struct sr_buf *line, const sr_exchange *x)
{
    const struct sr_signal_result *result = x->results[SR_SIGNAL_JAILBREAK];
    if (x->guard.risk < 0)
        return SR_OK;
    int rc = put(line, "type", sr_bytes_str(x->guard.kind));
    if (!rc)
        rc = sr_buf_printf(line, ",\"confidence\":%.4f", (double)x->guard.risk);
    if (!rc && result && !result->status && result->n_finds)
        rc = sr_buf_printf(line, ",\"turn\":%u,\"start\":%zu,\"end\":%zu", (unsigned)result->finds[0].turn,
                           result->finds[0].start, result->finds[0].end);
    return rc;
}

static int put_private(struct sr_buf *line, const sr_exchange *x)
{
    int rc = SR_OK;
    const char *comma = "";
    if (x->guard.types)
        rc = sr_buf_printf(line, ",\"pii_types\":[");
    for (int type = 0; !rc && type < SR_ENTITY_TYPES; type++) {
        if (x->guard.types >> type & 1) {
            rc = sr_buf_printf(line, "%s\"%s\"", comma, sr_entity_names[type]);
            comma = ",";
        }
    }
    if (!rc && x->guard.types)
        rc = sr_buf_append(line, "]", 1);
    return rc || !x->guard.redaction.places
               ? rc
               : sr_buf_printf(line, ",\"redacted\":%zu", x->guard.redaction.places);
}

void sr_guard_audit(const sr_exchange *x)
{
    struct sr_buf line;
    int action = sr_guard_action(x);
    if (action < 0 || action == SR_GUARD_ALLOW || !sr_runtime_wants_audit(x->runtime))
        return;
    sr_buf_init(&line, AUDIT_MAX);
    int rc = put_head(&line, x, action == SR_GUARD_BLOCK ? "security_block" : "security_guard",
                      sr_guard_action_name(x), name_of(x));
    if (!rc)
        rc = put_attack(&line, x);
    if (!rc)
        rc = put_private(&line, x);
    if (!rc)
        rc = sr_buf_printf(&line, ",\"status\":%d}",
                           x->verdict.action == SR_ACTION_REPLY ? x->verdict.status : 0);
    if (!rc)
        sr_runtime_audit_line(x->runtime, sr_buf_view(&line));
    sr_buf_dispose(&line);
}

void sr_guard_audit_answer(const sr_exchange *x)
{
    const struct sr_response_guard *guard = &x->answer.guard;
    struct sr_buf line;
    if (!sr_runtime_wants_audit(x->runtime))
        return;
    sr_buf_init(&line, AUDIT_MAX);
    int rc = put_head(&line, x, "security_response", sr_response_action_name(guard->action),
                      guard->decision->name);
    if (!rc)
        rc = put(&line, "type", sr_bytes_str(guard->kind));
    if (!rc)
        rc = sr_buf_printf(&line, ",\"confidence\":%.4f,\"status\":%d}", (double)guard->risk,
                           guard->whole && guard->action == SR_RESPONSE_BLOCK ? 403 : x->answer.status);
    if (!rc)
        sr_runtime_audit_line(x->runtime, sr_buf_view(&line));
    sr_buf_dispose(&line);
}
