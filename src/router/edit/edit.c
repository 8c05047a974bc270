/* Runs the edits in their order and renders the result. */
#include "router/edit/edit.h"

/* Every edit adds a few entries; request_params at most one for each top-level member; redaction comes on
 * top. */
#define EDITS_MAX 4096

#define JSON_TEXT_MAX ((size_t)16 << 20)

struct sr_bytes sr_edit_json(struct sr_edit *edit, const char *before, struct sr_bytes text,
                             const char *after)
{
    struct sr_buf buf;
    struct sr_bytes out = {NULL, 0};
    sr_buf_init(&buf, JSON_TEXT_MAX);
    if (sr_buf_append_bytes(&buf, sr_bytes_str(before)) == SR_OK && sr_buf_append_json(&buf, text) == SR_OK &&
        sr_buf_append_bytes(&buf, sr_bytes_str(after)) == SR_OK)
        out = sr_arena_dup(edit->arena, sr_buf_view(&buf));
    sr_buf_dispose(&buf);
    return out;
}

bool sr_edit_blocked(const struct sr_edit *edit, struct sr_bytes name)
{
    if (!edit->decision || !edit->decision->plugins.request_params.set)
        return false;
    const struct sr_strings *blocked = &edit->decision->plugins.request_params.blocked_params;
    for (size_t i = 0; i < blocked->count; i++) {
        if (sr_bytes_eq(name, sr_bytes_str(blocked->items[i])))
            return true;
    }
    return false;
}

static int edit_begin(struct sr_edit *edit, sr_exchange *x)
{
    *edit = (struct sr_edit){.x = x, .doc = &x->doc, .arena = &x->arena, .decision = sr_exchange_decision(x)};
    const struct sr_signal_result *pii = x->results[SR_SIGNAL_PII];
    size_t redacted = pii && !pii->status ? pii->n_finds + x->guard.turns.n_pieces : 0;
    return sr_edits_new(&edit->list, x->doc.body, x->doc.spans, x->doc.n_spans, sr_scan_root_open(x->scan),
                        EDITS_MAX + redacted, &x->arena);
}

static int edit_finish(struct sr_edit *edit)
{
    struct sr_verdict *v = &edit->x->verdict;
    v->edited = sr_edits_count(edit->list) > 0;
    return sr_edits_render(edit->list, &v->body, &v->n_body, &v->body_size, NULL);
}

int sr_edit_named(sr_exchange *x)
{
    struct sr_edit edit;
    int rc = edit_begin(&edit, x);
    if (!rc)
        rc = sr_edit_model(&edit);
    if (!rc)
        rc = sr_redact_edit(&edit);
    return rc ? rc : edit_finish(&edit);
}

int sr_edit_body(sr_exchange *x)
{
    struct sr_edit edit;
    int rc = edit_begin(&edit, x);
    if (!rc)
        rc = sr_edit_model(&edit);
    if (!rc && !x->head.skip)
        rc = sr_edit_stream(&edit);
    if (!rc && edit.decision)
        rc = sr_edit_reasoning(&edit);
    if (!rc && edit.decision)
        rc = sr_edit_prompt(&edit);
    if (!rc && edit.decision)
        rc = sr_edit_params(&edit);
    if (!rc)
        rc = sr_redact_edit(&edit);
    return rc ? rc : edit_finish(&edit);
}
