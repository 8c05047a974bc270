/* Binds mappings, lists and plugins; scalars are in scalar.c. Knows no section by name. */
#include "config/bind/bind.h"

#include "config/bind/hint.h"
#include "config/bind/idle.h"
#include "config/bind/meaning.h"
#include "config/bind/scalar.h"

#include <stdio.h>

static bool is_null(const struct sr_yaml_node *node)
{
    return !node || sr_yaml_type(node) == SR_YAML_NULL;
}

static bool expect_kind(struct sr_binder *b, const struct sr_field *field, const struct sr_yaml_node *node,
                        enum sr_yaml_kind kind)
{
    if (node->kind == kind)
        return true;
    sr_bind_error(b, node, "`%s`: expected %s, found %s", field->key,
                  kind == SR_YAML_LIST ? "a list" : "a mapping", sr_yaml_type_name(node));
    return false;
}

/* The array of a list or map with `count` zeroed items; NULL when there are none or out of memory. */
static char *make_array(struct sr_binder *b, const struct sr_field *field, const struct sr_yaml_node *node,
                        void *target)
{
    if (node->count > SR_SCHEMA_MAX_ITEMS) {
        sr_bind_error(b, node, "`%s`: more than %d entries", field->key, SR_SCHEMA_MAX_ITEMS);
        return NULL;
    }
    char *items = node->count ? sr_bind_calloc(b, node->count, field->of->size) : NULL;
    if (items) {
        memcpy((char *)target + field->offset, &items, sizeof items);
        memcpy((char *)target + field->count_offset, &node->count, sizeof node->count);
    }
    return items;
}

static void bind_list(struct sr_binder *b, const struct sr_field *field, const struct sr_yaml_node *node,
                      void *target)
{
    if (!expect_kind(b, field, node, SR_YAML_LIST))
        return;
    char *items = make_array(b, field, node, target);
    for (size_t i = 0; items && i < node->count; i++) {
        const struct sr_yaml_node *item = node->items[i];
        if (item->kind != SR_YAML_MAP)
            sr_bind_error(b, item, "`%s`: each entry is a mapping, found %s", field->key,
                          sr_yaml_type_name(item));
        sr_bind(b, field->of, item->kind == SR_YAML_MAP ? item : NULL, items + i * field->of->size);
    }
}

static void bind_map(struct sr_binder *b, const struct sr_field *field, const struct sr_yaml_node *node,
                     void *target)
{
    if (!expect_kind(b, field, node, SR_YAML_MAP))
        return;
    char *items = make_array(b, field, node, target);
    for (size_t i = 0; items && i < node->count; i++) {
        const struct sr_yaml_node *item = node->items[i];
        char *slot = items + i * field->of->size;
        const char *name = sr_bind_dup(b, node->keys[i]->text);
        memcpy(slot, &name, sizeof name);
        if (item->kind != SR_YAML_MAP)
            sr_bind_error(b, item, "`%.60s`: expected a mapping, found %s", name, sr_yaml_type_name(item));
        sr_bind(b, field->of, item->kind == SR_YAML_MAP ? item : NULL, slot);
    }
}

static bool is_called(const struct sr_variant *variant, struct sr_bytes type)
{
    bool found = sr_bytes_eq(type, sr_bytes_str(variant->type));
    for (const char *const *alias = variant->aliases; !found && alias && *alias; alias++)
        found = sr_bytes_eq(type, sr_bytes_str(*alias));
    return found;
}

static const struct sr_variant *find_variant(struct sr_binder *b, const struct sr_field *field,
                                             const struct sr_yaml_node *type)
{
    char hint[80];
    struct sr_nearest nearest = {.word = type->text};
    for (const struct sr_variant *const *at = field->variants; *at; at++) {
        const struct sr_variant *v = *at;
        if (is_called(v, type->text))
            return v;
        sr_nearest_try(&nearest, v->type);
    }
    for (const char *const *later = field->later; *later; later++)
        if (sr_bytes_eq(type->text, sr_bytes_str(*later))) {
            sr_bind_unsupported(b, type, "plugin `%s` is not supported by this version of semroute%s", *later,
                                sr_meaning_refused(*later).text);
            return NULL;
        }
    sr_bind_unsupported(b, type, "unknown plugin `%.60s`%s", type->text.p,
                        sr_nearest_hint(&nearest, hint, sizeof hint));
    sr_bind_drop(b, type); /* what it restricts is not known */
    return NULL;
}

/* `description` is for people wherever it stands. */
static bool is_description(const struct sr_binder *b, const struct sr_yaml_node *key,
                           const struct sr_yaml_node *value)
{
    return !b->own && value->kind == SR_YAML_SCALAR && sr_bytes_eq(key->text, SR_LIT("description"));
}

static void bind_plugin(struct sr_binder *b, const struct sr_field *field, const struct sr_yaml_node *item,
                        void *target)
{
    const struct sr_yaml_node *type = sr_yaml_get(item, "type");
    const struct sr_yaml_node *configuration = sr_yaml_get(item, "configuration");
    if (!type || type->kind != SR_YAML_SCALAR) {
        sr_bind_error(b, type ? type : item, "a plugin is a mapping of `type` and `configuration`");
        return;
    }
    for (size_t i = 0; i < item->count; i++) {
        if (item->items[i] == type || item->items[i] == configuration ||
            is_description(b, item->keys[i], item->items[i]))
            continue;
        sr_bind_unsupported(b, item->keys[i],
                            "unknown key `%.60s`: a plugin has `type` and `configuration`, and its settings "
                            "belong under `configuration`",
                            item->keys[i]->text.p);
        sr_bind_drop(b, item);
    }
    if (sr_key_is_among(field->later, type->text) && sr_yaml_get(configuration, "enabled") &&
        sr_key_is_off(configuration, false))
        return;
    const struct sr_variant *variant = find_variant(b, field, type);
    if (!variant) {
        sr_bind_drop(b, item);
        return;
    }
    bool *set = (bool *)((char *)target + variant->set_offset);
    if (*set) {
        sr_bind_error(b, type, "plugin `%s` is given twice", variant->type);
        return;
    }
    *set = true;
    struct sr_yaml_node empty = {.kind = SR_YAML_MAP, .line = item->line, .column = item->column};
    if (!is_null(configuration) && configuration->kind != SR_YAML_MAP)
        sr_bind_error(b, configuration, "`configuration`: expected a mapping, found %s",
                      sr_yaml_type_name(configuration));
    else
        sr_bind(b, variant->section, is_null(configuration) ? &empty : configuration,
                (char *)target + variant->offset);
}

static void bind_plugins(struct sr_binder *b, const struct sr_field *field, const struct sr_yaml_node *node,
                         void *target)
{
    if (!expect_kind(b, field, node, SR_YAML_LIST))
        return;
    for (size_t i = 0; i < node->count; i++)
        bind_plugin(b, field, node->items[i], (char *)target + field->offset);
}

static void bind_field(struct sr_binder *b, const struct sr_field *field, const struct sr_yaml_node *node,
                       void *target)
{
    switch (field->type) {
    case SR_FIELD_OBJECT:
        if (is_null(node) || !expect_kind(b, field, node, SR_YAML_MAP))
            node = NULL;
        sr_bind(b, field->of, node, (char *)target + field->offset);
        break;
    case SR_FIELD_LIST:
        if (!is_null(node))
            bind_list(b, field, node, target);
        break;
    case SR_FIELD_MAP:
        if (!is_null(node))
            bind_map(b, field, node, target);
        break;
    case SR_FIELD_PLUGINS:
        if (!is_null(node))
            bind_plugins(b, field, node, target);
        break;
    default:
        sr_bind_scalar(b, field, node, target);
    }
}

static const struct sr_field *find_field(const struct sr_section *section, struct sr_bytes key)
{
    for (size_t i = 0; i < section->n_fields; i++)
        if (sr_bytes_eq(key, sr_bytes_str(section->fields[i].key)) ||
            (section->fields[i].older && sr_bytes_eq(key, sr_bytes_str(section->fields[i].older))))
            return &section->fields[i];
    return NULL;
}

/* Before a section's name in a sentence: none where the name is a plural or a path. */
static const char *article(const char *name)
{
    size_t n = strlen(name);
    bool bare = strchr(name, '.') || (n > 1 && name[n - 1] == 's' && name[n - 2] != 's');
    return bare ? "" : strchr("aeio", name[0]) ? "an " : "a ";
}

static void unknown_key(struct sr_binder *b, const struct sr_section *section, const struct sr_yaml_node *map,
                        const struct sr_yaml_node *key)
{
    char hint[SR_ERR_MESSAGE_MAX], path[120];
    struct sr_nearest nearest = {.word = key->text};
    for (const char *const *later = section->later; later && *later; later++)
        if (sr_bytes_eq(key->text, sr_bytes_str(*later))) {
            sr_bind_unsupported(b, key, "`%s` is not supported by this version of semroute%s", *later,
                                sr_meaning_refused(*later).text);
            sr_bind_drop(b, map);
            return;
        }
    for (size_t i = 0; i < section->n_fields; i++)
        sr_nearest_try(&nearest, section->fields[i].key);
    sr_nearest_hint(&nearest, hint, sizeof hint);
    if (hint[0] || section->exact)
        sr_bind_drop(b, map);
    sr_bind_drop(b, key);
    if (hint[0])
        sr_bind_unsupported(b, key, "unknown key `%.60s`%s", key->text.p, hint);
    else if (!sr_hint_section(b->root, key->text.p, path, sizeof path))
        sr_bind_unsupported(b, key, "unknown key `%.60s` in %s%s%s", key->text.p, article(section->name),
                            section->name, sr_hint_keys(section, hint, sizeof hint));
    else
        sr_bind_unsupported(b, key, "unknown key `%.60s` in %s%s; this key belongs %s%s%s", key->text.p,
                            article(section->name), section->name, path[0] ? "under `" : "at the top level",
                            path, path[0] ? "`" : "");
}

static void check_required(struct sr_binder *b, const struct sr_section *section,
                           const struct sr_yaml_node *node)
{
    for (size_t i = 0; i < section->n_fields; i++) {
        const struct sr_field *field = &section->fields[i];
        if ((field->flags & SR_FIELD_REQUIRED) && !sr_yaml_get(node, field->key))
            (field->flags & SR_FIELD_DROPPABLE ? sr_bind_unsupported : sr_bind_error)(
                b, node, "`%s` is missing in this %s", field->key, section->name);
    }
}

/* What begins with `x-` at the top level is for aliases. */
static bool is_for_aliases(const struct sr_binder *b, const struct sr_section *section,
                           const struct sr_yaml_node *key)
{
    return section == b->root && sr_bytes_starts_with(key->text, SR_LIT("x-"));
}

void sr_bind(struct sr_binder *b, const struct sr_section *section, const struct sr_yaml_node *node,
             void *target)
{
    bool own = b->own;
    b->own |= section->own;
    if (section->prepare)
        section->prepare(target);
    for (size_t i = 0; i < section->n_fields; i++) {
        const struct sr_field *field = &section->fields[i];
        sr_bind_default(b, field, target);
        if (field->type == SR_FIELD_OBJECT && !sr_yaml_get(node, field->key))
            bind_field(b, field, NULL, target);
    }
    for (size_t i = 0; node && i < node->count; i++) {
        const struct sr_field *field = find_field(section, node->keys[i]->text);
        if (field && !sr_bytes_eq(node->keys[i]->text, sr_bytes_str(field->key)) &&
            sr_yaml_get(node, field->key))
            sr_bind_error(b, node->keys[i], "`%s` is the older name of `%s`: give one", field->older,
                          field->key);
        else if (field && sr_yaml_is_nothing(node->items[i]) && !b->own)
            continue;
        else if (field)
            bind_field(b, field, node->items[i], target);
        else if (!is_description(b, node->keys[i], node->items[i]) &&
                 !is_for_aliases(b, section, node->keys[i]) &&
                 !sr_key_is_inert(b, section, node->keys[i], node->items[i]))
            unknown_key(b, section, node, node->keys[i]);
    }
    if (node)
        check_required(b, section, node);
    if (node && section->finish)
        section->finish(b, node, target);
    b->own = own;
}
