/* Writes lines of the audit log. */
#include "router/report/audit.h"

#include "base/clock.h"

#include <time.h>

static int put(struct sr_buf *line, const char *key, struct sr_bytes value)
{
    int rc = value.n ? sr_buf_printf(line, ",\"%s\":\"", key) : SR_OK;
    if (!rc && value.n)
        rc = sr_buf_append_json(line, value);
    return rc || !value.n ? rc : sr_buf_append(line, "\"", 1);
}

static int put_head(struct sr_buf *line, const struct sr_record *r, const struct sr_config *config,
                    const char *event, const char *action, const char *decision)
{
    uint64_t now = sr_clock_wall_ns();
    time_t second = (time_t)(now / SR_NS_PER_S);
    struct tm tm;
    char time_text[40];
    gmtime_r(&second, &tm);
    strftime(time_text, sizeof time_text, "%Y-%m-%dT%H:%M:%S", &tm);
    int rc = sr_buf_printf(line, "{\"time\":\"%s.%03uZ\",\"event\":\"%s\",\"action\":\"%s\"", time_text,
                           (unsigned)(now % SR_NS_PER_S / SR_NS_PER_MS), event, action);
    if (!rc)
        rc = put(line, "request_id", r->id);
    if (!rc)
        rc = put(line, "door", sr_bytes_str(sr_door_name(r->door)));
    if (!rc)
        rc = put(line, "peer", r->peer);
    if (!rc)
        rc = put(line, "decision", sr_bytes_str(decision));
    return rc ? rc : put(line, "model", sr_bytes_str(r->model >= 0 ? config->models[r->model].name : ""));
}

static int put_attack(struct sr_buf *line, const struct sr_record *r)
{
    const struct sr_signal_result *result = r->results[SR_SIGNAL_JAILBREAK];
    if (r->guard.risk < 0)
        return SR_OK;
    int rc = put(line, "type", sr_bytes_str(r->guard.attack));
    if (!rc)
        rc = sr_buf_printf(line, ",\"confidence\":%.4f", (double)r->guard.risk);
    if (!rc && result && !result->status && result->n_finds)
        rc = sr_buf_printf(line, ",\"turn\":%u,\"start\":%zu,\"end\":%zu", (unsigned)result->finds[0].turn,
                           result->finds[0].start, result->finds[0].end);
    return rc;
}

static int put_private(struct sr_buf *line, const struct sr_record_guard *guard)
{
    int rc = SR_OK;
    const char *comma = "";
    if (guard->types)
        rc = sr_buf_printf(line, ",\"pii_types\":[");
    for (int type = 0; !rc && type < SR_ENTITY_TYPES; type++) {
        if (guard->types >> type & 1) {
            rc = sr_buf_printf(line, "%s\"%s\"", comma, sr_entity_names[type]);
            comma = ",";
        }
    }
    if (!rc && guard->types)
        rc = sr_buf_append(line, "]", 1);
    return rc || !guard->redacted ? rc : sr_buf_printf(line, ",\"redacted\":%zu", guard->redacted);
}

bool sr_audit_wants(const struct sr_record *record)
{
    return record->guard.action >= 0 && record->guard.action != SR_GUARD_ALLOW;
}

int sr_audit_request(const struct sr_record *record, const struct sr_config *config, struct sr_buf *out)
{
    int action = record->guard.action;
    int rc = put_head(out, record, config, action == SR_GUARD_BLOCK ? "security_block" : "security_guard",
                      sr_guard_action_name(action), sr_record_guard_name(record, config));
    if (!rc)
        rc = put_attack(out, record);
    if (!rc)
        rc = put_private(out, &record->guard);
    return rc ? rc
              : sr_buf_printf(out, ",\"status\":%d}", record->action == SR_ACTION_REPLY ? record->status : 0);
}

int sr_audit_answer(const struct sr_record *record, const struct sr_config *config, struct sr_buf *out)
{
    const struct sr_record_answer_guard *guard = &record->answer_guard;
    int rc = put_head(out, record, config, "security_response", sr_response_action_name(guard->action),
                      guard->decision);
    if (!rc)
        rc = put(out, "type", sr_bytes_str(guard->attack));
    return rc ? rc
              : sr_buf_printf(out, ",\"confidence\":%.4f,\"status\":%d}", (double)guard->risk,
                              guard->replaced ? 403 : record->answer_status);
}
