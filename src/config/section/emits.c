/* `routing.decisions[].emits`: what a decision wants kept of the conversation. */
#include "config/section/section.h"

#define RETENTION(member) offsetof(struct sr_config_retention, member)

static const struct sr_field retention_fields[] = {
    {"drop", SR_FIELD_BOOL, RETENTION(drop), .help = "whether the answer stays out of the response cache"},
    {"ttl_turns", SR_FIELD_INT64, RETENTION(ttl_turns), .min = 0, .max = 1e6,
     .help = "above 0: how long the response cache keeps the answer, a minute for each turn"},
    {"keep_current_model", SR_FIELD_BOOL, RETENTION(keep_model),
     .help =
         "a hint to keep the model for the next turns: only told, in `x-vsr-retention-keep-current-model`"},
    {"prefer_prefix_retention", SR_FIELD_BOOL, RETENTION(prefer_prefix),
     .help = "a hint to keep the prompt's prefix: only told, in `x-vsr-retention-prefer-prefix`"},
};

static void finish_retention(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_retention *retention = target;
    retention->says_drop = sr_yaml_get(node, "drop") != NULL;
    retention->says_ttl = sr_yaml_get(node, "ttl_turns") != NULL;
    retention->says_model = sr_yaml_get(node, "keep_current_model") != NULL;
    retention->says_prefix = sr_yaml_get(node, "prefer_prefix_retention") != NULL;
    if (retention->drop && retention->ttl_turns > 0)
        sr_bind_error(b, node, "`drop` keeps nothing, so `ttl_turns` cannot say how long");
}

static const struct sr_section retention_section = {
    .name = "retention",
    .help = "What is kept of the conversation.",
    SR_FIELDS(retention_fields),
    .finish = finish_retention,
};

static const struct sr_enum_word kinds[] = {{"retention", 0}, {NULL, 0}};

static const struct sr_field fields[] = {
    {"kind", SR_FIELD_WORD, .words = kinds, .flags = SR_FIELD_REQUIRED | SR_FIELD_DECLARED,
     .help = "retention: what is kept of the conversation"},
    {"retention", SR_FIELD_OBJECT, offsetof(struct sr_config_emit, retention), .of = &retention_section,
     .help = "with the kind `retention`"},
};

const struct sr_section sr_section_emit = {
    .name = "emit",
    .help = "A hint of a decision to what comes after it.",
    .size = sizeof(struct sr_config_emit),
    SR_FIELDS(fields),
};
