/*
 * Reasoning: switches reasoning on or off with the members of the chosen model's family.
 *
 * The decision overrides the client's own `reasoning_effort`; the client's other chat_template_kwargs
 * stay. A model without a family gets no reasoning members.
 */
#include "router/edit/kinds.h"
#include "router/edit/piece.h"

static int drop_effort(struct sr_edit *edit)
{
    uint32_t span = edit->doc->at.reasoning_effort;
    return span == SR_SPAN_NONE ? SR_OK : sr_edits_remove(edit->list, span);
}

/* Sets chat_template_kwargs[parameter] = json and keeps the client's keys. */
static int set_kwarg(struct sr_edit *edit, const char *parameter, struct sr_bytes json)
{
    uint32_t kwargs = edit->doc->at.kwargs;
    edit->owns_kwargs = true;
    if (kwargs != SR_SPAN_NONE && edit->doc->spans[kwargs].kind == SR_JSON_OBJECT &&
        !sr_edit_blocked(edit, SR_LIT("chat_template_kwargs")))
        return sr_edits_set_member(edit->list, kwargs, sr_bytes_str(parameter), json);
    const char *value = sr_arena_printf(edit->arena, "\":%.*s}", (int)json.n, json.p);
    if (!value)
        return SR_ENOMEM;
    struct sr_bytes whole = sr_edit_json(edit, "{\"", sr_bytes_str(parameter), value);
    if (!whole.p)
        return SR_ENOMEM;
    return sr_edits_set_member(edit->list, SR_SPAN_NONE, SR_LIT("chat_template_kwargs"), whole);
}

/* With reasoning the decision's effort; without, the client's effort or low. */
static struct sr_bytes effort_value(struct sr_edit *edit)
{
    if (edit->in->choice->use_reasoning)
        return sr_edit_json(edit, "\"", sr_bytes_str(edit->in->effort), "\"");
    uint32_t span = edit->doc->at.reasoning_effort;
    if (span != SR_SPAN_NONE && edit->doc->spans[span].kind == SR_JSON_STRING)
        return sr_span_raw(&edit->doc->spans[span], edit->doc->body);
    return SR_LIT("\"low\"");
}

static int set_effort(struct sr_edit *edit, const struct sr_config_family *family, bool top_level)
{
    struct sr_bytes value = effort_value(edit);
    const char *parameter = family->parameter[0] ? family->parameter : "reasoning_effort";
    if (!value.p)
        return SR_ENOMEM;
    if (!top_level) {
        int rc = drop_effort(edit);
        return rc ? rc : set_kwarg(edit, parameter, value);
    }
    if (!sr_bytes_eq(sr_bytes_str(parameter), SR_LIT("reasoning_effort"))) {
        int rc = drop_effort(edit);
        if (rc)
            return rc;
    }
    edit->owns_effort = true;
    return sr_edits_set_member(edit->list, SR_SPAN_NONE, sr_bytes_str(parameter), value);
}

int sr_edit_reasoning(struct sr_edit *edit)
{
    const struct sr_router *router = edit->in->router;
    const struct sr_config_model *model = &router->config->models[edit->in->model];
    if (!edit->doc->dialect->takes_reasoning)
        return SR_OK;
    if (model->family < 0)
        return drop_effort(edit);
    const struct sr_config_family *family = &router->config->families[model->family];
    edit->out->family = model->family;
    switch (family->type) {
    case SR_REASONING_EFFORT:
        return set_effort(edit, family, router->models[edit->in->model].top_level_effort);
    case SR_REASONING_TOP_LEVEL_EFFORT:
        return set_effort(edit, family, true);
    case SR_REASONING_CHAT_TEMPLATE_KWARGS:
        break;
    }
    int rc = drop_effort(edit);
    return rc ? rc
              : set_kwarg(edit, family->parameter,
                          edit->in->choice->use_reasoning ? SR_LIT("true") : SR_LIT("false"));
}
