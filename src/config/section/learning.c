/*
 * `global.router.learning` and `routing.decisions[].adaptations`: when a conversation keeps its model.
 *
 * What learns is an algorithm (`bandit`), so `adaptation` changes nothing.
 */
#include "config/bind/value.h"
#include "config/section/section.h"

#define PROTECTION(member)  offsetof(struct sr_config_protection, member)
#define ADAPTATIONS(member) offsetof(struct sr_config_adaptations, member)

#define WEIGHT_MAX 100.0

static const struct sr_field header_fields[] = {
    {"session", SR_FIELD_TEXT, PROTECTION(session_header), .def = "x-session-id",
     .help = "the header that names the session, also in records of `router_replay`"},
    {"conversation", SR_FIELD_TEXT, PROTECTION(conversation_header), .def = "x-conversation-id",
     .help = "the header that names the conversation"},
};

static void finish_headers(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_config_protection *protection = target;
    const struct {
        const char *key, *value;
    } all[] = {{"session", protection->session_header}, {"conversation", protection->conversation_header}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (!sr_value_is_header_name(sr_bytes_str(all[i].value)))
            sr_bind_error(b, sr_bind_at(node, all[i].key), "`%s` must be the name of a header", all[i].key);
}

static const struct sr_section headers_section = {
    .name = "learning_headers",
    .help = "Headers by which clients name what belongs together.",
    SR_FIELDS(header_fields),
    .finish = finish_headers,
};
static const struct sr_field identity_fields[] = {
    {"headers", SR_FIELD_OBJECT, .of = &headers_section, .help = "names of headers"},
};
static const struct sr_section identity_section = {
    .name = "learning_identity",
    .help = "How a conversation is known.",
    SR_FIELDS(identity_fields),
};

static const struct sr_field tuning_fields[] = {
    {"idle_timeout_seconds", SR_FIELD_INT64, PROTECTION(idle_timeout_s), .def = "300", .max = 1e9,
     .help = "after so long without a turn the model is chosen anew; 0 = never"},
    {"min_turns_before_switch", SR_FIELD_INT64, PROTECTION(min_turns), .def = "1", .max = 1e6,
     .help = "answered turns of a model before another one may take over"},
    {"switch_margin", SR_FIELD_NUMBER, PROTECTION(switch_margin), .def = "0.05", .max = WEIGHT_MAX,
     .help = "by how much another model's score must be better"},
    {"stability_weight", SR_FIELD_NUMBER, PROTECTION(stability_weight), .def = "1", .max = WEIGHT_MAX,
     .help = "how much the cost of a switch counts on top of it: a cold prefix cache, the handoff, earlier "
             "switches"},
};
static const struct sr_section tuning_section = {
    .name = "learning_tuning",
    .help = "When a conversation may change its model.",
    SR_FIELDS(tuning_fields),
};

static const struct sr_enum_word scopes[] = {
    {"conversation", SR_PROTECT_CONVERSATION}, {"session", SR_PROTECT_SESSION}, {NULL, 0}};

static const struct sr_field protection_fields[] = {
    {"enabled", SR_FIELD_BOOL, PROTECTION(enabled), .def = "false",
     .help = "whether a conversation keeps the model that it has, unless another one is worth the switch"},
    {"scope", SR_FIELD_ENUM, PROTECTION(scope), .words = scopes, .def = "conversation",
     .help = "what keeps its model: requests of one conversation, or of one session"},
    {"identity", SR_FIELD_OBJECT, .of = &identity_section, .help = "how a conversation is known"},
    {"tuning", SR_FIELD_OBJECT, .of = &tuning_section, .help = "when it may change its model"},
};
static const struct sr_section protection_section = {
    .name = "protection",
    .help = "A conversation keeps its model.",
    SR_FIELDS(protection_fields),
};

static const struct sr_field learning_fields[] = {
    {"enabled", SR_FIELD_BOOL, offsetof(struct sr_config_learning, enabled), .def = "true",
     .help = "whether what stands here acts"},
    {"protection", SR_FIELD_OBJECT, offsetof(struct sr_config_learning, protection),
     .of = &protection_section, .help = "a conversation keeps its model"},
};

const struct sr_section sr_section_learning = {
    .name = "learning",
    .help = "What earlier requests change in the choice of a model.",
    SR_FIELDS(learning_fields),
    .inert = (const struct sr_inert_key[]){{"adaptation",
                                            "an algorithm of the decision learns (`bandit`), and it chooses "
                                            "among the decision's candidates",
                                            true},
                                           {NULL, NULL, false}},
};

/* ---- of a decision ---- */

static const struct sr_enum_word modes[] = {{"apply", SR_ADAPTATION_APPLY},
                                            {"observe", SR_ADAPTATION_OBSERVE},
                                            {"bypass", SR_ADAPTATION_BYPASS},
                                            {NULL, 0}};

static const struct sr_field own_fields[] = {
    {"mode", SR_FIELD_ENUM, ADAPTATIONS(protection_mode), .words = modes, .def = "apply",
     .help = "the same of the protection alone; the stricter one counts"},
    {"switch_margin", SR_FIELD_NUMBER, ADAPTATIONS(switch_margin), .max = WEIGHT_MAX,
     .def_note = "`global.router.learning`", .help = "`switch_margin` of this decision"},
    {"stability_weight", SR_FIELD_NUMBER, ADAPTATIONS(stability_weight), .max = WEIGHT_MAX,
     .def_note = "`global.router.learning`", .help = "`stability_weight` of this decision"},
};
static const struct sr_section own_section = {
    .name = "decision_protection",
    .help = "The protection of this decision's conversations.",
    SR_FIELDS(own_fields),
};

static const struct sr_field adaptations_fields[] = {
    {"mode", SR_FIELD_ENUM, ADAPTATIONS(mode), .words = modes, .def = "apply",
     .help = "apply; observe: what would be done is only recorded; bypass: each request is chosen for anew"},
    {"protection", SR_FIELD_OBJECT, .of = &own_section, .help = "the protection of its conversations"},
};

static void prepare_adaptations(void *target)
{
    struct sr_config_adaptations *own = target;
    own->switch_margin = own->stability_weight = -1;
}

const struct sr_section sr_section_adaptations = {
    .name = "adaptations",
    .help = "What `global.router.learning` may do to this decision's requests.",
    SR_FIELDS(adaptations_fields),
    .inert = (const struct sr_inert_key[]){{"adaptation",
                                            "an algorithm of the decision learns (`bandit`), and it chooses "
                                            "among the decision's candidates",
                                            false},
                                           {NULL, NULL, false}},
    .prepare = prepare_adaptations,
};
