/* Rules about what a request is apart from its text: `conversation`, `metadata`, `events` and `role_bindings`
 * of `routing.signals`. The signal layer evaluates them. */
#include "config/section/section.h"

#define CONVERSATION(member) offsetof(struct sr_config_conversation, member)
#define METADATA(member)     offsetof(struct sr_config_metadata, member)
#define EVENT(member)        offsetof(struct sr_config_event, member)
#define BINDING(member)      offsetof(struct sr_config_binding, member)
#define NAMED                SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY

static const struct sr_enum_word features[] = {{"exists", 0}, {"count", 1}, {NULL, 0}};
static const struct sr_enum_word sources[] = {{"message", SR_CONVERSATION_MESSAGE},
                                              {"tool_definition", SR_CONVERSATION_TOOL_DEFINITION},
                                              {"tool_choice_required", SR_CONVERSATION_TOOL_CHOICE_REQUIRED},
                                              {"tool_choice_none", SR_CONVERSATION_TOOL_CHOICE_NONE},
                                              {"assistant_tool_call", SR_CONVERSATION_TOOL_CALL},
                                              {"assistant_tool_cycle", SR_CONVERSATION_TOOL_CYCLE},
                                              {"active_tool_loop", SR_CONVERSATION_TOOL_LOOP},
                                              {"image_content", SR_CONVERSATION_IMAGE},
                                              {NULL, 0}};
static const struct sr_enum_word roles[] = {{"user", 0}, {"assistant", 0}, {"system", 0}, {"developer", 0},
                                            {"tool", 0}, {"non_user", 0},  {NULL, 0}};

static const struct sr_field source_fields[] = {
    {"type", SR_FIELD_ENUM, CONVERSATION(source), .words = sources, .flags = SR_FIELD_REQUIRED,
     .help = "what is looked for; assistant_tool_cycle: results of tool calls; active_tool_loop: the last "
             "message "
             "calls a tool or answers a call, or follows an answer"},
    {"role", SR_FIELD_WORD, CONVERSATION(role), .words = roles, .def_note = "any",
     .help = "of type `message`: whose messages"},
};

static const struct sr_section source_section = {
    .name = "conversation source",
    .help = "What a conversation rule looks for.",
    SR_FIELDS(source_fields),
    .later = (const char *const[]){"flow_tool_state", NULL},
};

static const struct sr_field feature_fields[] = {
    {"type", SR_FIELD_ENUM, CONVERSATION(counts), .words = features, .flags = SR_FIELD_REQUIRED,
     .help = "exists, or count (how many)"},
    {"source", SR_FIELD_OBJECT, .of = &source_section, .flags = SR_FIELD_REQUIRED,
     .help = "what is looked for"},
};

static const struct sr_section feature_section = {
    .name = "conversation feature",
    .help = "What a conversation rule measures.",
    SR_FIELDS(feature_fields),
};

static const struct sr_field conversation_fields[] = {
    {"name", SR_FIELD_TEXT, CONVERSATION(name), .flags = NAMED, .help = "the name that rules refer to"},
    {"description", SR_FIELD_TEXT, CONVERSATION(description), .help = "for people: shown by `explain`"},
    {"feature", SR_FIELD_OBJECT, .of = &feature_section, .flags = SR_FIELD_REQUIRED,
     .help = "what is measured"},
    {"predicate", SR_FIELD_OBJECT, CONVERSATION(predicate), .of = &sr_section_predicate,
     .help = "of type `count`: when the number matches", .def_note = "always"},
};

const struct sr_section sr_section_conversation = {
    .name = "conversation rule",
    .help = "The shape of a conversation: its messages, tools and images.",
    .size = sizeof(struct sr_config_conversation),
    SR_FIELDS(conversation_fields),
};

static const struct sr_field metadata_predicate_fields[] = {
    {"equals", SR_FIELD_TEXT, METADATA(equals), .help = "the value, exactly"},
    {"in", SR_FIELD_TEXTS, METADATA(in), .help = "one of these values, exactly"},
    {"exists", SR_FIELD_BOOL, METADATA(exists), .help = "whether the request has the key"},
};

static void finish_metadata_predicate(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_metadata *rule = target;
    if (!sr_yaml_get(node, "equals"))
        rule->equals = NULL;
    if (node->count != 1)
        sr_bind_error(b, node, "a predicate of metadata has one of `equals`, `in` and `exists`");
}

static const struct sr_section metadata_predicate_section = {
    .name = "metadata predicate",
    .help = "When a value of the request's metadata matches: one of the three.",
    SR_FIELDS(metadata_predicate_fields),
    .finish = finish_metadata_predicate,
};

static const struct sr_field metadata_fields[] = {
    {"name", SR_FIELD_TEXT, METADATA(name), .flags = NAMED, .help = "the name that rules refer to"},
    {"description", SR_FIELD_TEXT, METADATA(description), .help = "for people: shown by `explain`"},
    {"key", SR_FIELD_TEXT, METADATA(key), .flags = NAMED, .help = "a key of the request's `metadata`"},
    {"predicate", SR_FIELD_OBJECT, .of = &metadata_predicate_section, .flags = SR_FIELD_REQUIRED,
     .help = "when its value matches"},
};

const struct sr_section sr_section_metadata = {
    .name = "metadata rule",
    .help = "A value of the request's `metadata`. The client writes it: it proves nothing about who asks.",
    .size = sizeof(struct sr_config_metadata),
    SR_FIELDS(metadata_fields),
};

static const struct sr_field event_fields[] = {
    {"name", SR_FIELD_TEXT, EVENT(name), .flags = NAMED, .help = "the name that rules refer to"},
    {"description", SR_FIELD_TEXT, EVENT(description), .help = "for people: shown by `explain`"},
    {"event_types", SR_FIELD_TEXTS, EVENT(event_types), .help = "names of events, as whole words"},
    {"severities", SR_FIELD_TEXTS, EVENT(severities),
     .help = "critical, high, medium or low, as whole words"},
    {"action_codes", SR_FIELD_TEXTS, EVENT(action_codes), .help = "codes of actions, as whole words"},
    {"temporal", SR_FIELD_BOOL, EVENT(temporal), .def = "false",
     .help = "whether words such as urgent, asap or deadline count"},
};

static bool is_severity(struct sr_bytes word)
{
    static const char *const known[] = {"critical", "high", "medium", "low"};
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
        if (sr_bytes_eq_nocase(word, sr_bytes_str(known[k])))
            return true;
    return false;
}

/* Those of vLLM Semantic Router stay; another is left out, so that it is no criterion that is never met. */
static void keep_severities(struct sr_binder *b, const struct sr_yaml_node *node,
                            struct sr_config_event *event)
{
    const struct sr_yaml_node *list = sr_yaml_get(node, "severities");
    size_t kept = 0;
    for (size_t i = 0; i < event->severities.count; i++) {
        const char *word = event->severities.items[i];
        if (is_severity(sr_bytes_str(word)))
            event->severities.items[kept++] = word;
        else
            sr_bind_warning(
                b, list && i < list->count ? list->items[i] : node,
                "a severity is one of `critical`, `high`, `medium`, `low`: `%.40s` is never found", word);
    }
    event->severities.count = kept;
}

static void finish_event(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_event *event = target;
    if (!event->temporal && !event->event_types.count && !event->severities.count &&
        !event->action_codes.count)
        sr_bind_error(b, node,
                      "an event rule needs `event_types`, `severities`, `action_codes` or `temporal`");
    keep_severities(b, node, event);
}

const struct sr_section sr_section_event = {
    .name = "event rule",
    .help = "Words of alerts, audit logs and incidents in the user's text; one kind that is found is enough.",
    .size = sizeof(struct sr_config_event),
    SR_FIELDS(event_fields),
    .finish = finish_event,
};

static const struct sr_enum_word kinds[] = {{"User", 0}, {"Group", 1}, {"user", 0}, {"group", 1}, {NULL, 0}};

static const struct sr_field subject_fields[] = {
    {"kind", SR_FIELD_ENUM, offsetof(struct sr_config_subject, is_group), .words = kinds,
     .flags = SR_FIELD_REQUIRED, .help = "what `name` is"},
    {"name", SR_FIELD_TEXT, offsetof(struct sr_config_subject, name), .flags = NAMED,
     .help = "the user, or the group, as the trusted header has it"},
};

static const struct sr_section subject_section = {
    .name = "subject",
    .help = "A user or a group.",
    .size = sizeof(struct sr_config_subject),
    SR_FIELDS(subject_fields),
};

static const struct sr_field binding_fields[] = {
    {"name", SR_FIELD_TEXT, BINDING(name), .flags = NAMED, .help = "the name of the binding"},
    {"description", SR_FIELD_TEXT, BINDING(description), .help = "for people: shown by `explain`"},
    {"role", SR_FIELD_TEXT, BINDING(role), .flags = NAMED,
     .help = "the name that rules of type `authz` refer to; several bindings may give it"},
    {"subjects", SR_FIELD_LIST, BINDING(subjects), BINDING(n_subjects), .of = &subject_section,
     .flags = NAMED, .help = "who has the role"},
};

const struct sr_section sr_section_binding = {
    .name = "authz rule",
    .help = "Who has a role, by the identity that a trusted proxy's headers state "
            "(`global.services.authz.identity`).",
    .size = sizeof(struct sr_config_binding),
    SR_FIELDS(binding_fields),
};

#define GLOBAL(member) offsetof(struct sr_config_global, member)
#define SR_INERT_WORDS "the signal `modality` reads words"

static const struct sr_field modality_detector_fields[] = {
    {"keywords", SR_FIELD_TEXTS, GLOBAL(image_words), .def_note = "words of several languages",
     .help = "words of texts that ask for an image"},
    {"both_keywords", SR_FIELD_TEXTS, GLOBAL(both_words), .def_note = "words of several languages",
     .help = "words that, beside those, ask for a text as well"},
};

const struct sr_section sr_section_modality_detector = {
    .name = "modality detector",
    .help = "The words behind the `modality` signal.",
    SR_FIELDS(modality_detector_fields),
    .inert = (const struct sr_inert_key[]){{"enabled", SR_INERT_ENABLED, false},
                                           {"method", SR_INERT_WORDS, true},
                                           {"classifier", SR_INERT_WORDS, true},
                                           {"confidence_threshold", SR_INERT_WORDS, true},
                                           {"lower_threshold_ratio", SR_INERT_WORDS, true},
                                           {NULL, NULL, false}},
};
