/* What edits share. */
#include "router/edit/piece.h"

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

const char *sr_edit_upstream_name(const struct sr_edit *edit)
{
    const char *lora = edit->in->choice->lora_name;
    return lora && lora[0] ? lora : edit->in->router->config->models[edit->in->model].provider_model_id;
}

bool sr_edit_blocked(const struct sr_edit *edit, struct sr_bytes name)
{
    if (!edit->decision || !edit->decision->plugins.request_params.set)
        return false;
    const struct sr_strings *blocked = &edit->decision->plugins.request_params.blocked_params;
    for (size_t i = 0; i < blocked->count; i++)
        if (sr_bytes_eq(name, sr_bytes_str(blocked->items[i])))
            return true;
    return false;
}
