/* `routing`: from signals to decisions. */
#include "config/section/section.h"

const struct sr_enum_word sr_strategy_words[] = {
    {"priority", SR_STRATEGY_PRIORITY}, {"confidence", SR_STRATEGY_CONFIDENCE}, {NULL, 0}};

static const struct sr_field routing_fields[] = {
    {"modelCards", SR_FIELD_LIST, offsetof(struct sr_config, cards), offsetof(struct sr_config, n_cards),
     .of = &sr_section_card, .help = "what the models are and can do"},
    {"strategy", SR_FIELD_ENUM, offsetof(struct sr_config, strategy), .words = sr_strategy_words,
     .def = "priority",
     .help = "what decides between decisions that match: their priority or their confidence"},
    {"signals", SR_FIELD_OBJECT, .of = &sr_section_signals, .help = "the signals of a request"},
    {"projections", SR_FIELD_OBJECT, .of = &sr_section_projections,
     .help = "what is computed from the results of signals"},
    {"decisions", SR_FIELD_LIST, offsetof(struct sr_config, decisions),
     offsetof(struct sr_config, n_decisions), .of = &sr_section_decision, .help = "which requests go where"},
};

const struct sr_section sr_section_routing = {
    .name = "routing",
    .help = "From a request to a decision.",
    SR_FIELDS(routing_fields),
};

/* All but the cards, which are of all recipes alike. */
const struct sr_section sr_section_recipe_routing = {
    .name = "recipe routing",
    .help = "From a request to a decision, in one recipe.",
    .fields = routing_fields + 1,
    .n_fields = sizeof routing_fields / sizeof routing_fields[0] - 1,
};
