/* All from the record; codes become sentences for people. */
#include "router/report/explain_cache.h"

#include "cache/gate/gate.h"
#include "router/cache_reasons.h"

#define MS_PER_S         1000
#define PARTITION_DIGITS 16 /* that people are shown */

static const char *const scopes[] = {[SR_SCOPE_USER] = "user",
                                     [SR_SCOPE_TEAM] = "team",
                                     [SR_SCOPE_TENANT] = "tenant",
                                     [SR_SCOPE_GLOBAL] = "global"};

/* ---- JSON ---- */

static void put_code(struct sr_json_writer *w, const char *key, const char *code)
{
    if (!code)
        return;
    sr_json_object(w, key);
    sr_json_text(w, "code", code);
    sr_json_text(w, "message", sr_cache_reason(code));
    sr_json_object_end(w);
}

static void put_found(struct sr_json_writer *w, const struct sr_record_recall *recall)
{
    static const char *const names[] = {
        [SR_CACHE_MISS] = "none", [SR_CACHE_HIT_EXACT] = "exact", [SR_CACHE_HIT_SEMANTIC] = "semantic"};
    if (!recall->looked)
        return;
    sr_json_text(w, "hit", names[recall->hit]);
    if (recall->hit != SR_CACHE_MISS) {
        sr_json_real(w, "similarity", "%.4f", (double)recall->similarity);
        sr_json_int(w, "age_seconds", recall->age_ms / MS_PER_S);
    }
    sr_json_array(w, "rejected");
    for (int i = 0; i < SR_GATE_REASONS; i++)
        if (recall->rejected >> i & 1)
            sr_json_text(w, NULL, sr_gate_reason_names[i]);
    sr_json_array_end(w);
}

void sr_explain_cache_json(const struct sr_explain *e, struct sr_json_writer *w)
{
    const struct sr_record_recall *recall = &e->record->recall;
    const char *unused = sr_cache_unused(e->record, e->router);
    char partition[2 * SR_CACHE_KEY + 1];
    sr_json_object(w, "cache");
    sr_json_bool(w, "used", !unused);
    put_code(w, "not_used", unused);
    if (recall->policy)
        sr_json_text(w, "scope", scopes[recall->policy->scope]);
    if (!unused && recall->known) {
        sr_cache_partition_text(e->record, 2 * SR_CACHE_KEY, partition);
        sr_json_text(w, "partition", partition);
        sr_json_bool(w, "by_meaning", !recall->exact_only);
        put_code(w, "exact_only", recall->exact_only);
        sr_json_real(w, "similarity_threshold", "%.4g", recall->policy->threshold);
        sr_json_int(w, "ttl_seconds", recall->ttl_ms / MS_PER_S);
        put_code(w, "not_asked", recall->unasked);
        put_code(w, "not_kept", recall->unkept);
        put_found(w, recall);
    }
    sr_json_object_end(w);
}

/* ---- text ---- */

static int put_line(struct sr_buf *out, const char *indent, const char *what, const char *code)
{
    return code ? sr_buf_printf(out, "%s%s: %s\n", indent, what, sr_cache_reason(code)) : SR_OK;
}

static int put_outcome(const struct sr_record_recall *recall, const char *indent, struct sr_buf *out)
{
    int rc = SR_OK;
    if (recall->looked && recall->hit != SR_CACHE_MISS)
        rc = sr_buf_printf(out, "%shas the answer: similarity %.4f, %lld s old\n", indent,
                           (double)recall->similarity, (long long)(recall->age_ms / MS_PER_S));
    else if (recall->looked)
        rc = sr_buf_printf(out, "%shas no answer to it\n", indent);
    for (int i = 0; !rc && i < SR_GATE_REASONS; i++)
        if (recall->rejected >> i & 1)
            rc = sr_buf_printf(out, "%sa near question differs: %s\n", indent, sr_gate_reason_names[i]);
    return rc;
}

int sr_explain_cache_text(const struct sr_explain *e, const char *indent, struct sr_buf *out)
{
    const struct sr_record_recall *recall = &e->record->recall;
    const char *unused = sr_cache_unused(e->record, e->router);
    char partition[PARTITION_DIGITS + 1];
    if (unused && recall->policy)
        return sr_buf_printf(out, "not used: %s (%s)\n", sr_cache_reason(unused),
                             scopes[recall->policy->scope]);
    if (unused || !recall->known)
        return sr_buf_printf(out, "not used: %s\n", sr_cache_reason(unused ? unused : "no_policy"));
    sr_cache_partition_text(e->record, PARTITION_DIGITS, partition);
    int rc = sr_buf_printf(out, "partition %s, shared by: %s", partition, scopes[recall->policy->scope]);
    if (!rc && !recall->exact_only)
        rc = sr_buf_printf(out, "; by meaning from %.4g on", recall->policy->threshold);
    if (!rc && !recall->unkept)
        rc = recall->ttl_ms ? sr_buf_printf(out, "; kept for %lld s", (long long)(recall->ttl_ms / MS_PER_S))
                            : sr_buf_append_bytes(out, SR_LIT("; kept for ever"));
    rc = rc ? rc : sr_buf_append(out, "\n", 1);
    rc = rc ? rc : put_line(out, indent, "the same text only", recall->exact_only);
    rc = rc ? rc : put_line(out, indent, "not asked", recall->unasked);
    rc = rc ? rc : put_line(out, indent, "not kept", recall->unkept);
    return rc ? rc : put_outcome(recall, indent, out);
}
