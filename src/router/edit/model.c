/* The model: replaces the client's model name with the one that the upstream knows. */
#include "router/edit/kinds.h"
#include "router/edit/piece.h"

int sr_edit_model(struct sr_edit *edit)
{
    if (edit->in->model < 0) /* nothing is sent: the router itself answers */
        return SR_OK;
    const char *name = sr_edit_upstream_name(edit);
    const struct sr_span *span = &edit->doc->spans[edit->doc->at.model];
    if (sr_bytes_eq(sr_span_text(span, edit->doc->body, edit->arena), sr_bytes_str(name)))
        return SR_OK;
    struct sr_bytes json = sr_edit_json(edit, "\"", sr_bytes_str(name), "\"");
    return json.p ? sr_edits_replace(edit->list, edit->doc->at.model, json) : SR_ENOMEM;
}
