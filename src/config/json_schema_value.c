/*
 * Values of keys as JSON Schema, after what the loader takes (bind.c, scalar.c). A value may be a variable
 * (${NAME}) for a number or a word. Where the loader is not strict, a key without a value is absent.
 */
#include "config/json_schema_value.h"

#include "config/section/section.h"

#include <stdio.h>

#define VARIABLE "\\$\\{"
#define NO       "false,\"no\",\"No\",\"NO\",\"off\",\"Off\",\"OFF\""
#define SWITCH   "^(yes|Yes|YES|on|On|ON|no|No|NO|off|Off|OFF)$|" VARIABLE

/* A value that asks for nothing, as the loader knows it (idle.c). */
#define OFF                                                                                                  \
    "{\"anyOf\":[{\"enum\":[null,\"\"," NO "]},{\"type\":\"array\",\"maxItems\":0},"                         \
    "{\"type\":\"object\",\"maxProperties\":0},"                                                             \
    "{\"type\":\"object\",\"properties\":{\"enabled\":{\"enum\":[" NO

void sr_json_schema_common(struct sr_json_writer *w)
{
    sr_json_line(w, 4);
    sr_json_raw(w, "off", SR_LIT(OFF "]}},\"required\":[\"enabled\"]}]}"));
    sr_json_line(w, 4);
    sr_json_raw(w, "off-unless-enabled", SR_LIT(OFF ",null]}}}]}"));
    sr_json_line(w, 4);
    sr_json_raw(w, "for-people", SR_LIT("{\"type\":[\"string\",\"number\",\"boolean\",\"null\"]}"));
}

void sr_json_schema_notes(struct sr_json_writer *w, bool described)
{
    sr_json_object(w, "patternProperties");
    sr_json_raw(w, "^<<$", SR_LIT("{\"type\":[\"object\",\"array\"]}"));
    if (described)
        sr_json_raw(w, "^description$", SR_LIT("{\"$ref\":\"#/$defs/for-people\"}"));
    sr_json_object_end(w);
}

const char *sr_json_schema_definition(const struct sr_section *section, char out[64])
{
    snprintf(out, 64, "%s", section->name);
    for (char *p = out; *p; p++)
        *p = *p == ' ' ? '-' : *p;
    return out;
}

static void put_reference(struct sr_json_writer *w, const struct sr_section *section)
{
    char name[64];
    sr_json_string(w, "$ref");
    sr_json_string_part(w, SR_LIT("#/$defs/"));
    sr_json_string_part(w, sr_bytes_str(sr_json_schema_definition(section, name)));
    sr_json_string_end(w);
}

/* An object that holds nothing but a reference. */
static void put_referring(struct sr_json_writer *w, const char *key, const struct sr_section *section)
{
    sr_json_object(w, key);
    put_reference(w, section);
    sr_json_object_end(w);
}

#define NULLABLE(absent) ((absent) ? "null" : NULL)

/* "type": one, or one of up to three; NULL: no more. */
static void put_any_type(struct sr_json_writer *w, const char *first, const char *second, const char *third)
{
    if (!second && !third) {
        sr_json_text(w, "type", first);
        return;
    }
    sr_json_array(w, "type");
    sr_json_text(w, NULL, first);
    if (second)
        sr_json_text(w, NULL, second);
    if (third)
        sr_json_text(w, NULL, third);
    sr_json_array_end(w);
}

static void put_types(struct sr_json_writer *w, const char *first, const char *second)
{
    put_any_type(w, first, second, NULL);
}

/* An object that holds nothing but types. */
static void put_typed(struct sr_json_writer *w, const char *key, const char *first, const char *second)
{
    sr_json_object(w, key);
    put_types(w, first, second);
    sr_json_object_end(w);
}

static void put_number(struct sr_json_writer *w, const char *key, double value)
{
    sr_json_real(w, key, "%.15g", value);
}

static void put_range(struct sr_json_writer *w, const struct sr_field *field)
{
    if (field->min == 0 && field->max == 0)
        return;
    put_number(w, field->flags & SR_FIELD_EXCLUSIVE ? "exclusiveMinimum" : "minimum", field->min);
    put_number(w, "maximum", field->max);
}

/* The empty word, too, is as good as absent, but where a condition's meaning hangs on it (scalar.c). */
static void put_words(struct sr_json_writer *w, const struct sr_field *field, bool absent)
{
    bool decides = (field->flags & (SR_FIELD_DROPPABLE | SR_FIELD_DECLARED)) == SR_FIELD_DROPPABLE;
    sr_json_array(w, "anyOf");
    sr_json_object(w, NULL);
    sr_json_array(w, "enum");
    for (const struct sr_enum_word *word = field->words; word->word; word++)
        sr_json_text(w, NULL, word->word);
    sr_json_array_end(w);
    sr_json_object_end(w);
    sr_json_object(w, NULL);
    put_types(w, "string", NULLABLE(absent));
    sr_json_text(w, "pattern", absent && !decides ? "^$|" VARIABLE : VARIABLE);
    sr_json_object_end(w);
    sr_json_array_end(w);
}

/* The mapping of a section; one that may be empty is null by its own definition. */
static void put_section(struct sr_json_writer *w, const struct sr_section *section, bool absent)
{
    if (!section->size || !absent) {
        put_reference(w, section);
        return;
    }
    sr_json_array(w, "anyOf");
    put_referring(w, NULL, section);
    put_typed(w, NULL, "null", NULL);
    sr_json_array_end(w);
}

static void put_plugin_type(struct sr_json_writer *w, const struct sr_variant *plugin)
{
    sr_json_object(w, "type");
    if (plugin->aliases) {
        sr_json_array(w, "enum");
        sr_json_text(w, NULL, plugin->type);
        for (const char *const *alias = plugin->aliases; *alias; alias++)
            sr_json_text(w, NULL, *alias);
        sr_json_array_end(w);
    } else {
        sr_json_text(w, "const", plugin->type);
    }
    sr_json_object_end(w);
}

static bool has_required(const struct sr_section *section)
{
    for (size_t i = 0; i < section->n_fields; i++)
        if (section->fields[i].flags & SR_FIELD_REQUIRED)
            return true;
    return false;
}

static void put_plugin(struct sr_json_writer *w, const struct sr_variant *plugin, bool own)
{
    sr_json_object(w, NULL);
    put_types(w, "object", NULL);
    sr_json_text(w, "description", plugin->help);
    sr_json_object(w, "properties");
    put_plugin_type(w, plugin);
    sr_json_object(w, "configuration");
    put_section(w, plugin->section, !has_required(plugin->section));
    sr_json_object_end(w);
    sr_json_object_end(w);
    sr_json_schema_notes(w, !own);
    sr_json_raw(w, "required", SR_LIT("[\"type\"]"));
    sr_json_bool(w, "additionalProperties", false);
    sr_json_object_end(w);
}

/* Types that are refused where they are not off. */
static void put_plugins_off(struct sr_json_writer *w, const struct sr_field *field)
{
    sr_json_object(w, NULL);
    put_types(w, "object", NULL);
    sr_json_object(w, "properties");
    sr_json_object(w, "type");
    sr_json_array(w, "enum");
    for (const char *const *later = field->later; *later; later++)
        sr_json_text(w, NULL, *later);
    sr_json_array_end(w);
    sr_json_object_end(w);
    sr_json_raw(w, "configuration", SR_LIT("{\"$ref\":\"#/$defs/off\",\"type\":\"object\"}"));
    sr_json_object_end(w);
    sr_json_raw(w, "required", SR_LIT("[\"type\",\"configuration\"]"));
    sr_json_object_end(w);
}

static void put_plugins(struct sr_json_writer *w, const struct sr_field *field, bool own)
{
    put_types(w, "array", "null");
    sr_json_object(w, "items");
    sr_json_array(w, "anyOf");
    for (const struct sr_variant *const *plugin = field->variants; *plugin; plugin++) {
        sr_json_line(w, 10);
        put_plugin(w, *plugin, own);
    }
    sr_json_line(w, 10);
    put_plugins_off(w, field);
    sr_json_line(w, 10);
    sr_json_raw(
        w, NULL, /* a type that a variable gives */
        SR_LIT(
            "{\"type\":\"object\",\"properties\":{\"type\":{\"type\":\"string\",\"pattern\":\"\\\\$\\\\{\"}},"
            "\"required\":[\"type\"]}"));
    sr_json_line(w, 10);
    sr_json_raw(w, NULL, SR_LIT("{\"type\":\"object\",\"required\":[\"<<\"]}"));
    sr_json_array_end(w);
    sr_json_object_end(w);
}

/* A name, or an object with a name and a description. */
static void put_names(struct sr_json_writer *w, bool absent)
{
    put_types(w, "array", NULLABLE(absent));
    sr_json_object(w, "items");
    sr_json_array(w, "anyOf");
    put_typed(w, NULL, "string", "number");
    sr_json_object(w, NULL);
    put_types(w, "object", NULL);
    sr_json_object(w, "properties");
    put_typed(w, "name", "string", "number");
    put_typed(w, "description", "string", "number");
    sr_json_object_end(w);
    sr_json_schema_notes(w, false);
    sr_json_raw(w, "anyOf", SR_LIT("[{\"required\":[\"name\"]},{\"required\":[\"<<\"]}]"));
    sr_json_bool(w, "additionalProperties", false);
    sr_json_object_end(w);
    sr_json_array_end(w);
    sr_json_object_end(w);
}

static void put_text_lists(struct sr_json_writer *w, bool absent)
{
    put_types(w, "array", NULLABLE(absent));
    sr_json_object(w, "items");
    put_types(w, "array", NULL);
    put_typed(w, "items", "string", "number");
    sr_json_object_end(w);
}

static void put_text_map(struct sr_json_writer *w, bool absent)
{
    put_types(w, "object", NULLABLE(absent));
    sr_json_schema_notes(w, false);
    sr_json_object(w, "additionalProperties");
    put_types(w, "array", NULL);
    put_typed(w, "items", "string", "number");
    sr_json_object_end(w);
}

/* `first` (NULL: none), or text of that pattern. */
static void put_scalar(struct sr_json_writer *w, const char *first, bool absent, const char *pattern)
{
    put_any_type(w, first, "string", NULLABLE(absent));
    sr_json_text(w, "pattern", pattern);
}

static void put_scalar_type(struct sr_json_writer *w, const struct sr_field *field, bool absent)
{
    switch ((int)field->type) {
    case SR_FIELD_BOOL:
        put_scalar(w, "boolean", absent, SWITCH);
        break;
    case SR_FIELD_NUMBER:
        put_scalar(w, "number", absent, VARIABLE);
        put_range(w, field);
        break;
    case SR_FIELD_DURATION:
        put_any_type(w, "string", "integer", NULLABLE(absent));
        put_number(w, "minimum", 0);
        put_number(w, "maximum", 0);
        sr_json_text(w, "pattern", "^(0|([0-9.]+(ms|s|m|h))+)$|" VARIABLE);
        break;
    case SR_FIELD_SIZE:
        put_scalar(w, "integer", absent, "^[0-9.]+([KMG](iB|B)?|kB)?$|" VARIABLE);
        put_range(w, field);
        break;
    case SR_FIELD_TOKENS:
        put_any_type(w, "number", "string", NULLABLE(absent));
        put_number(w, "minimum", 0);
        sr_json_text(w, "pattern", "^[0-9.]+[KkMm]?$|" VARIABLE);
        break;
    default: /* whole numbers */
        put_scalar(w, "integer", absent, VARIABLE);
        put_range(w, field);
        break;
    }
}

static void put_text(struct sr_json_writer *w, const struct sr_field *field, bool absent)
{
    put_any_type(w, "string", "number", NULLABLE(absent));
    if (field->flags & SR_FIELD_NOT_EMPTY)
        put_number(w, "minLength", 1);
}

static void put_texts(struct sr_json_writer *w, const struct sr_field *field, bool absent)
{
    put_types(w, "array", NULLABLE(absent));
    put_typed(w, "items", "string", "number");
    if (field->flags & SR_FIELD_NOT_EMPTY)
        put_number(w, "minItems", 1);
}

static void put_map(struct sr_json_writer *w, const struct sr_field *field)
{
    put_types(w, "object", "null");
    sr_json_schema_notes(w, false);
    put_referring(w, "additionalProperties", field->of);
}

static void put_pairs(struct sr_json_writer *w, bool absent)
{
    put_types(w, "object", NULLABLE(absent));
    sr_json_schema_notes(w, false);
    put_typed(w, "additionalProperties", "string", "number");
}

static void put_list(struct sr_json_writer *w, const struct sr_field *field)
{
    put_types(w, "array", "null");
    put_referring(w, "items", field->of);
}

static void put_default(struct sr_json_writer *w, const struct sr_field *field)
{
    if (!field->def)
        return;
    bool text = field->type == SR_FIELD_TEXT || field->type == SR_FIELD_WORD || field->type == SR_FIELD_ENUM;
    bool bare = !text && (field->type == SR_FIELD_BOOL || !field->def[strspn(field->def, "-+.0123456789")]);
    if (bare)
        sr_json_raw(w, "default", sr_bytes_str(field->def));
    else
        sr_json_text(w, "default", field->def);
}

static void put_description(struct sr_json_writer *w, const struct sr_field *field)
{
    char text[1024];
    snprintf(text, sizeof text, "%s%s%s%s", field->help, field->def_note ? " (default: " : "",
             field->def_note ? field->def_note : "", field->def_note ? ")" : "");
    sr_json_text(w, "description", text);
}

void sr_json_schema_value(struct sr_json_writer *w, const struct sr_field *field, bool own)
{
    bool absent = !own && !(field->flags & SR_FIELD_REQUIRED);
    put_description(w, field);
    switch ((int)field->type) {
    case SR_FIELD_TEXT:
    case SR_FIELD_REF:
        put_text(w, field, absent);
        break;
    case SR_FIELD_ENUM:
    case SR_FIELD_WORD:
        put_words(w, field, absent);
        break;
    case SR_FIELD_TEXTS:
        put_texts(w, field, absent);
        break;
    case SR_FIELD_NAMES:
        put_names(w, absent);
        break;
    case SR_FIELD_TEXT_LISTS:
        put_text_lists(w, absent);
        break;
    case SR_FIELD_TEXT_MAP:
        put_text_map(w, absent);
        break;
    case SR_FIELD_PAIRS:
        put_pairs(w, absent);
        break;
    case SR_FIELD_OBJECT:
        put_section(w, field->of, true);
        break;
    case SR_FIELD_LIST:
        put_list(w, field);
        break;
    case SR_FIELD_MAP:
        put_map(w, field);
        break;
    case SR_FIELD_PLUGINS:
        put_plugins(w, field, own);
        break;
    default:
        put_scalar_type(w, field, absent);
        break;
    }
    put_default(w, field);
}
