/* `routing.modelCards`: what a model is and can do. link/link.c joins the cards with `providers.models`. */
#include "config/section/section.h"

#define CARD(member) offsetof(struct sr_config_model, member)

static const struct sr_field fields[] = {
    {"name", SR_FIELD_TEXT, CARD(name), .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY,
     .help = "one of `providers.models`"},
    {"description", SR_FIELD_TEXT, CARD(description), .help = "shown in /v1/models"},
    {"param_size", SR_FIELD_TEXT, CARD(param_size), .help = "number of parameters, such as `7B`"},
    {"context_window_size", SR_FIELD_TOKENS, CARD(context_window), .def = "0",
     .help = "the context window in tokens; 0 = unknown"},
    {"modality", SR_FIELD_TEXT, CARD(modality), .help = "its modality, such as `text`"},
    {"quality_score", SR_FIELD_NUMBER, CARD(quality_score), .def = "0", .max = 1000,
     .help = "its general quality; any scale"},
    {"capabilities", SR_FIELD_TEXTS, CARD(capabilities), .help = "what it can do, such as `tools`"},
    {"tags", SR_FIELD_TEXTS, CARD(tags), .help = "for people and for queries"},
    {"loras", SR_FIELD_NAMES, CARD(loras), .help = "adapters that the upstream serves with it"},
};

static void prepare_card(void *target)
{
    struct sr_config_model *card = target;
    card->family = -1;
    card->provider_model_id = "";
}

const struct sr_section sr_section_card = {
    .name = "model card",
    .help = "What a model is and can do.",
    .size = sizeof(struct sr_config_model),
    SR_FIELDS(fields),
    .prepare = prepare_card,
};
