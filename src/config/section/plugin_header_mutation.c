/* The plugin `header_mutation` of a decision. */
#include "config/section/plugins.h"

#include "config/bind/value.h"

#define PLUGIN(member) offsetof(struct sr_config_plugins, member)

static const struct sr_field header_fields[] = {
    {"name", SR_FIELD_TEXT, offsetof(struct sr_name_value, name),
     .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY, .help = "the header"},
    {"value", SR_FIELD_TEXT, offsetof(struct sr_name_value, value), .flags = SR_FIELD_REQUIRED,
     .help = "its value"},
};

static void check_header_name(struct sr_binder *b, const struct sr_yaml_node *node, const char *name)
{
    struct sr_bytes text = sr_bytes_str(name);
    if (text.n && !sr_value_is_header_name(text))
        sr_bind_error(b, node, "`%.60s` is not a header name", name);
    else if (sr_value_is_framing_header(text))
        sr_bind_error(b, node, "header `%.60s` belongs to the connection and cannot be changed", name);
}

static void finish_header(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_name_value *header = target;
    check_header_name(b, sr_bind_at(node, "name"), header->name);
    if (!sr_value_is_header_value(sr_bytes_str(header->value)))
        sr_bind_error(b, sr_bind_at(node, "value"), "a header value must not contain control characters");
}

static const struct sr_section header_section = {
    .name = "header",
    .help = "A header of the upstream request.",
    .size = sizeof(struct sr_name_value),
    SR_FIELDS(header_fields),
    .finish = finish_header,
};

static const struct sr_field header_mutation_fields[] = {
    {"add", SR_FIELD_LIST, PLUGIN(header_mutation.add.items), PLUGIN(header_mutation.add.count),
     .of = &header_section, .help = "headers to add"},
    {"update", SR_FIELD_LIST, PLUGIN(header_mutation.update.items), PLUGIN(header_mutation.update.count),
     .of = &header_section, .help = "headers to set, whatever they were"},
    {"delete", SR_FIELD_TEXTS, PLUGIN(header_mutation.remove), .help = "names of headers to remove"},
};

static void finish_header_mutation(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_plugins *plugins = target;
    const struct sr_yaml_node *names = sr_yaml_get(node, "delete");
    for (size_t i = 0; i < plugins->header_mutation.remove.count; i++)
        check_header_name(b, names, plugins->header_mutation.remove.items[i]);
    plugins->header_mutation.set = node->count > 0; /* an empty one does nothing */
}

static const struct sr_section header_mutation_section = {
    .name = "header_mutation plugin",
    .help = "Changes headers of the upstream request.",
    SR_FIELDS(header_mutation_fields),
    .finish = finish_header_mutation,
};

const struct sr_variant sr_plugin_header_mutation = {"header_mutation",
                                                     "changes headers of the upstream request",
                                                     &header_mutation_section, PLUGIN(header_mutation.set)};
