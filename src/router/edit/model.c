/* The model: the client's name for it becomes the one that the upstream knows. */
#include "router/edit/edit.h"

int sr_edit_model(struct sr_edit *edit)
{
    const sr_exchange *x = edit->x;
    const struct sr_config_model *model = sr_exchange_model(x);
    const char *name =
        x->choice.lora_name && x->choice.lora_name[0] ? x->choice.lora_name : model->provider_model_id;
    const struct sr_span *span = &edit->doc->spans[edit->doc->at.model];
    if (sr_bytes_eq(sr_span_text(span, edit->doc->body, edit->arena), sr_bytes_str(name)))
        return SR_OK;
    struct sr_bytes json = sr_edit_json(edit, "\"", sr_bytes_str(name), "\"");
    return json.p ? sr_edits_replace(edit->list, edit->doc->at.model, json) : SR_ENOMEM;
}
