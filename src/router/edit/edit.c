/* Runs the edits in their order and renders the result. */
#include "router/edit/edit.h"

#include "router/edit/kinds.h"

/* Limit of list entries. An edit adds a few, request_params at most one for each top-level member,
 * redaction one for each span. */
#define EDITS_MAX 4096

/* Applies the edits of a request whose model the router chose. */
static bool applies(const struct sr_edit *edit, enum sr_edit_kind kind)
{
    switch (kind) {
    case SR_EDIT_MODEL:
    case SR_EDIT_REDACTION:
        return true;
    case SR_EDIT_STREAM:
        return !edit->in->named && edit->in->hides_usage;
    default:
        return !edit->in->named && edit->decision;
    }
}

static int run_all(struct sr_edit *edit)
{
    static int (*const edits[])(struct sr_edit * edit) = {
        [SR_EDIT_MODEL] = sr_edit_model,         [SR_EDIT_STREAM] = sr_edit_stream,
        [SR_EDIT_REASONING] = sr_edit_reasoning, [SR_EDIT_PROMPT] = sr_edit_prompt,
        [SR_EDIT_TOOLS] = sr_edit_tools,         [SR_EDIT_PARAMS] = sr_edit_params,
        [SR_EDIT_REDACTION] = sr_edit_redact,
    };
    int rc = SR_OK;
    for (size_t kind = 0; !rc && kind < sizeof edits / sizeof edits[0]; kind++) {
        size_t before = sr_edits_count(edit->list);
        if (applies(edit, (enum sr_edit_kind)kind))
            rc = edits[kind](edit);
        if (sr_edits_count(edit->list) > before)
            edit->out->kinds |= UINT32_C(1) << kind;
    }
    return rc;
}

int sr_edit_body(const struct sr_edit_inputs *in, struct sr_arena *arena, struct sr_edited *out)
{
    const struct sr_request *doc = in->doc;
    struct sr_edit edit = {.in = in, .out = out, .doc = doc, .arena = arena, .decision = in->decision};
    size_t redacted = in->n_redactions ? in->n_redactions + in->units->list.n_parts : 0;
    *out = (struct sr_edited){.family = -1};
    int rc = sr_edits_new(&edit.list, doc->body, doc->spans, doc->n_spans, in->root_open,
                          EDITS_MAX + redacted, arena);
    if (!rc)
        rc = run_all(&edit);
    return rc ? rc : sr_edits_render(edit.list, &out->slices, &out->n_slices, &out->size, NULL);
}
