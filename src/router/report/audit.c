/* Writes lines of the audit log. */
#include "router/report/audit.h"

#include "base/clock.h"
#include "base/json_write.h"
#include "router/report/findings.h"
#include "router/report/unread.h"

#include <stdio.h>
#include <time.h>

#define SHADOWS_MAX 16 /* decisions in shadow that a line names; the metrics count all */

/* Writes a member, unless it is empty. */
static void put(struct sr_json_writer *w, const char *key, struct sr_bytes value)
{
    if (value.n)
        sr_json_bytes(w, key, value);
}

static void put_head(struct sr_json_writer *w, const struct sr_record *r, const struct sr_config *config,
                     const char *event, const char *action, const char *decision)
{
    uint64_t now = sr_clock_wall_ns();
    time_t second = (time_t)(now / SR_NS_PER_S);
    struct tm tm;
    char text[48];
    gmtime_r(&second, &tm);
    size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text + n, sizeof text - n, ".%03uZ", (unsigned)(now % SR_NS_PER_S / SR_NS_PER_MS));
    sr_json_object(w, NULL);
    sr_json_text(w, "time", text);
    sr_json_text(w, "event", event);
    sr_json_text(w, "action", action);
    put(w, "request_id", r->id);
    put(w, "door", sr_bytes_str(sr_door_name(r->door)));
    put(w, "peer", r->peer);
    put(w, "decision", sr_bytes_str(decision));
    put(w, "model", sr_bytes_str(r->model >= 0 ? config->models[r->model].name : ""));
}

static void put_attack(struct sr_json_writer *w, const struct sr_record *r)
{
    if (r->guard.risk < 0)
        return;
    put(w, "type", sr_bytes_str(r->guard.attack));
    sr_json_real(w, "confidence", "%.4f", (double)r->guard.risk);
}

static void put_private(struct sr_json_writer *w, const struct sr_record_guard *guard)
{
    if (guard->types) {
        sr_json_array(w, "pii_types");
        for (int type = 0; type < SR_ENTITY_TYPES; type++)
            if (guard->types >> type & 1)
                sr_json_text(w, NULL, sr_entity_names[type]);
        sr_json_array_end(w);
    }
    if (guard->redacted)
        sr_json_uint(w, "redacted", guard->redacted);
}

static bool acted(const struct sr_record *record)
{
    return record->guard.action >= 0 && record->guard.action != SR_GUARD_ALLOW;
}

/* A request went past what protects. */
static bool skipped(const struct sr_record *record)
{
    return record->skipped_guards && record->action == SR_ACTION_FORWARD;
}

bool sr_audit_wants(const struct sr_record *record)
{
    return acted(record) || record->n_shadows || skipped(record) || sr_findings_count(record);
}

static const char *event_of(const struct sr_record *record)
{
    return skipped(record)                          ? "security_skip"
           : record->guard.action == SR_GUARD_BLOCK ? "security_block"
           : acted(record)                          ? "security_guard"
           : record->n_shadows                      ? "security_shadow"
                                                    : "security_finding";
}

/* What decisions in shadow would have done. */
static void put_shadows(struct sr_json_writer *w, const struct sr_record *r, const struct sr_config *config)
{
    if (!r->n_shadows)
        return;
    sr_json_array(w, "shadow");
    for (size_t i = 0; i < r->n_shadows && i < SHADOWS_MAX; i++) {
        const struct sr_config_decision *decision = &config->decisions[r->shadows[i].decision];
        sr_json_object(w, NULL);
        sr_json_text(w, "decision", decision->name);
        sr_json_text(w, "action", sr_record_would(decision));
        sr_json_real(w, "confidence", "%.4f", (double)r->shadows[i].confidence);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
}

static int write_request(const struct sr_record *record, const struct sr_config *config, bool findings,
                         struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    const char *action = acted(record)       ? sr_guard_action_name(record->guard.action)
                         : record->n_shadows ? "shadow"
                                             : "none";
    put_head(&w, record, config, event_of(record), action,
             acted(record) ? sr_record_guard_name(record, config) : record->decision_name);
    put(&w, "reason", sr_bytes_str(record->guard.why));
    put_attack(&w, record);
    put_private(&w, &record->guard);
    if (findings)
        put_shadows(&w, record, config);
    if (findings)
        sr_findings_write(record, config, &w);
    else
        sr_json_uint(&w, "findings_omitted", sr_findings_count(record));
    sr_report_unread(&w, record->guard.unread);
    sr_json_int(&w, "status", record->action == SR_ACTION_REPLY ? record->status : 0);
    sr_json_object_end(&w);
    return w.rc;
}

int sr_audit_request(const struct sr_record *record, const struct sr_config *config, struct sr_buf *out)
{
    size_t before = out->len;
    int rc = write_request(record, config, true, out);
    if (rc != SR_ELIMIT)
        return rc;
    out->len = before; /* long names: the line without what is listed says more than none */
    return write_request(record, config, false, out);
}

int sr_audit_answer(const struct sr_record *record, const struct sr_config *config, struct sr_buf *out)
{
    const struct sr_record_answer_guard *guard = &record->answer_guard;
    struct sr_json_writer w = sr_json_writer_of(out);
    put_head(&w, record, config, "security_response", sr_response_action_name(guard->action),
             guard->decision);
    put(&w, "type", sr_bytes_str(guard->attack));
    sr_json_real(&w, "confidence", "%.4f", (double)guard->risk);
    sr_json_int(&w, "status", guard->replaced ? 403 : record->answer_status);
    sr_json_object_end(&w);
    return w.rc;
}
