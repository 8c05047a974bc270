/*
 * The JSON Schema (draft 2020-12) of the file, from the declarations that the loader binds by.
 * A value may be a variable (${NAME}) wherever a number or a word is expected; so the schema lets such text
 * pass.
 */
#include "config/json_schema.h"

#include "base/json_write.h"
#include "config/bind/meaning.h"
#include "config/section/section.h"

#include <stdio.h>

#define SCHEMA_SECTIONS 256
#define VARIABLE        "\\$\\{"

/* Every section once: the root, then each where it is first needed. */
struct sections {
    const struct sr_section *items[SCHEMA_SECTIONS];
    size_t n;
    int rc; /* SR_ELIMIT: there are more */
};

static void collect(struct sections *all, const struct sr_section *section)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i] == section)
            return;
    if (all->n == SCHEMA_SECTIONS) {
        all->rc = SR_ELIMIT;
        return;
    }
    all->items[all->n++] = section;
    for (size_t i = 0; i < section->n_fields; i++) {
        const struct sr_field *field = &section->fields[i];
        if (field->of)
            collect(all, field->of);
        for (const struct sr_variant *const *v = field->variants; v && *v; v++)
            collect(all, (*v)->section);
    }
}

/* A section's name as a key of $defs: "gateway tls" is "gateway-tls". */
static const char *definition(const struct sr_section *section, char out[64])
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
    sr_json_string_part(w, sr_bytes_str(definition(section, name)));
    sr_json_string_end(w);
}

/* An object that holds nothing but a reference. */
static void put_referring(struct sr_json_writer *w, const char *key, const struct sr_section *section)
{
    sr_json_object(w, key);
    put_reference(w, section);
    sr_json_object_end(w);
}

/* "type": one, or one of two. */
static void put_types(struct sr_json_writer *w, const char *first, const char *second)
{
    if (!second) {
        sr_json_text(w, "type", first);
        return;
    }
    sr_json_array(w, "type");
    sr_json_text(w, NULL, first);
    sr_json_text(w, NULL, second);
    sr_json_array_end(w);
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

static void put_words(struct sr_json_writer *w, const struct sr_enum_word *words)
{
    sr_json_array(w, "anyOf");
    sr_json_object(w, NULL);
    sr_json_array(w, "enum");
    for (const struct sr_enum_word *word = words; word->word; word++)
        sr_json_text(w, NULL, word->word);
    sr_json_array_end(w);
    sr_json_object_end(w);
    sr_json_object(w, NULL);
    put_types(w, "string", NULL);
    sr_json_text(w, "pattern", VARIABLE);
    sr_json_object_end(w);
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

static void put_plugin(struct sr_json_writer *w, const struct sr_variant *plugin)
{
    sr_json_object(w, NULL);
    put_types(w, "object", NULL);
    sr_json_text(w, "description", plugin->help);
    sr_json_object(w, "properties");
    put_plugin_type(w, plugin);
    put_referring(w, "configuration", plugin->section);
    sr_json_object_end(w);
    sr_json_array(w, "required");
    sr_json_text(w, NULL, "type");
    sr_json_array_end(w);
    sr_json_bool(w, "additionalProperties", false);
    sr_json_object_end(w);
}

static void put_plugins(struct sr_json_writer *w, const struct sr_field *field)
{
    put_types(w, "array", "null");
    sr_json_object(w, "items");
    sr_json_array(w, "oneOf");
    for (const struct sr_variant *const *plugin = field->variants; *plugin; plugin++) {
        sr_json_line(w, 10);
        put_plugin(w, *plugin);
    }
    sr_json_array_end(w);
    sr_json_object_end(w);
}

/* A name, or an object with a name and a description. */
static void put_names(struct sr_json_writer *w)
{
    put_types(w, "array", NULL);
    sr_json_object(w, "items");
    sr_json_array(w, "anyOf");
    put_typed(w, NULL, "string", "number");
    sr_json_object(w, NULL);
    put_types(w, "object", NULL);
    sr_json_object(w, "properties");
    put_typed(w, "name", "string", NULL);
    put_typed(w, "description", "string", NULL);
    sr_json_object_end(w);
    sr_json_array(w, "required");
    sr_json_text(w, NULL, "name");
    sr_json_array_end(w);
    sr_json_bool(w, "additionalProperties", false);
    sr_json_object_end(w);
    sr_json_array_end(w);
    sr_json_object_end(w);
}

static void put_text_lists(struct sr_json_writer *w)
{
    put_types(w, "array", NULL);
    sr_json_object(w, "items");
    put_types(w, "array", NULL);
    put_typed(w, "items", "string", "number");
    sr_json_object_end(w);
}

static void put_text_map(struct sr_json_writer *w)
{
    put_types(w, "object", NULL);
    sr_json_object(w, "additionalProperties");
    put_types(w, "array", NULL);
    put_typed(w, "items", "string", "number");
    sr_json_object_end(w);
}

/* A section that may be empty is an object as it is; another section may also be null. */
static void put_object(struct sr_json_writer *w, const struct sr_section *section)
{
    if (!section->size) {
        put_reference(w, section);
        return;
    }
    sr_json_array(w, "anyOf");
    put_referring(w, NULL, section);
    put_typed(w, NULL, "null", NULL);
    sr_json_array_end(w);
}

/* A number, or text of that pattern. */
static void put_scalar(struct sr_json_writer *w, const char *first, const char *second, const char *pattern)
{
    put_types(w, first, second);
    sr_json_text(w, "pattern", pattern);
}

static void put_scalar_type(struct sr_json_writer *w, const struct sr_field *field)
{
    switch ((int)field->type) {
    case SR_FIELD_BOOL:
        put_scalar(w, "boolean", "string", VARIABLE);
        break;
    case SR_FIELD_NUMBER:
        put_scalar(w, "number", "string", VARIABLE);
        put_range(w, field);
        break;
    case SR_FIELD_DURATION:
        put_types(w, "string", "integer");
        put_number(w, "minimum", 0);
        put_number(w, "maximum", 0);
        sr_json_text(w, "pattern", "^(0|([0-9.]+(ms|s|m|h))+)$|" VARIABLE);
        break;
    case SR_FIELD_SIZE:
        put_scalar(w, "integer", "string", "^[0-9.]+([KMG](iB|B)?|kB)?$|" VARIABLE);
        put_range(w, field);
        break;
    case SR_FIELD_TOKENS:
        put_types(w, "number", "string");
        put_number(w, "minimum", 0);
        sr_json_text(w, "pattern", "^[0-9.]+[KkMm]?$|" VARIABLE);
        break;
    default: /* whole numbers */
        put_scalar(w, "integer", "string", VARIABLE);
        put_range(w, field);
        break;
    }
}

static void put_type(struct sr_json_writer *w, const struct sr_field *field)
{
    bool not_empty = field->flags & SR_FIELD_NOT_EMPTY;
    switch ((int)field->type) {
    case SR_FIELD_TEXT:
    case SR_FIELD_REF:
        put_types(w, "string", "number");
        if (not_empty)
            put_number(w, "minLength", 1);
        break;
    case SR_FIELD_ENUM:
    case SR_FIELD_WORD:
        put_words(w, field->words);
        break;
    case SR_FIELD_TEXTS:
        put_types(w, "array", NULL);
        put_typed(w, "items", "string", "number");
        if (not_empty)
            put_number(w, "minItems", 1);
        break;
    case SR_FIELD_NAMES:
        put_names(w);
        break;
    case SR_FIELD_TEXT_LISTS:
        put_text_lists(w);
        break;
    case SR_FIELD_TEXT_MAP:
        put_text_map(w);
        break;
    case SR_FIELD_PAIRS:
        put_types(w, "object", NULL);
        put_typed(w, "additionalProperties", "string", "number");
        break;
    case SR_FIELD_OBJECT:
        put_object(w, field->of);
        break;
    case SR_FIELD_LIST:
        put_types(w, "array", "null");
        put_referring(w, "items", field->of);
        break;
    case SR_FIELD_MAP:
        put_types(w, "object", "null");
        put_referring(w, "additionalProperties", field->of);
        break;
    case SR_FIELD_PLUGINS:
        put_plugins(w, field);
        break;
    default:
        put_scalar_type(w, field);
        break;
    }
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
    char text[240];
    snprintf(text, sizeof text, "%s%s%s%s", field->help, field->def_note ? " (default: " : "",
             field->def_note ? field->def_note : "", field->def_note ? ")" : "");
    sr_json_text(w, "description", text);
}

static void put_required(struct sr_json_writer *w, const struct sr_section *section)
{
    bool any = false;
    for (size_t i = 0; i < section->n_fields; i++) {
        if (!(section->fields[i].flags & SR_FIELD_REQUIRED))
            continue;
        if (!any) {
            sr_json_line(w, 6);
            sr_json_array(w, "required");
        }
        any = true;
        sr_json_text(w, NULL, section->fields[i].key);
    }
    if (any)
        sr_json_array_end(w);
}

/* A value that asks for nothing, as the loader knows it (bind.c). */
#define OFF                                                                                                  \
    "[{\"enum\":[null,false,\"\",\"false\"]},{\"type\":\"array\",\"maxItems\":0},"                           \
    "{\"type\":\"object\",\"maxProperties\":0},{\"type\":\"object\",\"properties\":{\"enabled\":{\"enum\":"  \
    "[false,\"false\"]}}"
#define OFF_IF_SAID OFF ",\"required\":[\"enabled\"]}]"
#define OFF_UNSAID  OFF "}]"

/* Keys that do not act: `x-inert` where any value is taken, `x-refused` where only one that asks for nothing
 * is. */
static void put_idle(struct sr_json_writer *w, const struct sr_section *section)
{
    for (const struct sr_inert_key *inert = section->inert; inert && inert->key; inert++) {
        sr_json_line(w, 8);
        sr_json_object(w, inert->key);
        sr_json_text(w, "description", inert->because);
        sr_json_bool(w, "x-inert", true);
        sr_json_object_end(w);
    }
    for (const char *const *later = section->later; later && *later; later++) {
        bool switched = false;
        for (const char *const *key = section->switched; key && *key; key++)
            switched |= strcmp(*key, *later) == 0;
        const char *because = sr_meaning_refused(*later).text;
        sr_json_line(w, 8);
        sr_json_object(w, *later);
        sr_json_text(w, "description", *because ? because + 2 : "it is not supported");
        sr_json_bool(w, "x-refused", true);
        sr_json_raw(w, "anyOf", sr_bytes_str(switched ? OFF_UNSAID : OFF_IF_SAID));
        sr_json_object_end(w);
    }
}

/* The members that a section's object has, in one that is open. */
static void put_section(struct sr_json_writer *w, const struct sr_section *section)
{
    sr_json_text(w, "description", section->help);
    put_types(w, "object", section->size ? NULL : "null");
    sr_json_bool(w, "additionalProperties", false);
    sr_json_line(w, 6);
    sr_json_object(w, "properties");
    for (size_t i = 0; i < section->n_fields; i++) {
        const struct sr_field *field = &section->fields[i];
        sr_json_line(w, 8);
        sr_json_object(w, field->key);
        put_description(w, field);
        put_type(w, field);
        put_default(w, field);
        sr_json_object_end(w);
    }
    put_idle(w, section);
    sr_json_object_end(w);
    put_required(w, section);
}

int sr_config_json_schema(struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    struct sections all = {.n = 0};
    char name[64];
    collect(&all, &sr_section_root);
    sr_json_object(&w, NULL);
    sr_json_line(&w, 2);
    sr_json_text(&w, "$schema", "https://json-schema.org/draft/2020-12/schema");
    sr_json_line(&w, 2);
    sr_json_text(&w, "title", "semroute configuration");
    sr_json_line(&w, 2);
    put_section(&w, &sr_section_root);
    sr_json_line(&w, 2);
    sr_json_object(&w, "$defs");
    for (size_t i = 1; i < all.n; i++) {
        sr_json_line(&w, 4);
        sr_json_object(&w, definition(all.items[i], name));
        put_section(&w, all.items[i]);
        sr_json_object_end(&w);
    }
    sr_json_object_end(&w);
    sr_json_object_end(&w);
    if (!w.rc)
        w.rc = sr_buf_append(out, "\n", 1);
    return w.rc ? w.rc : all.rc;
}
