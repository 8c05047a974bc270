/*
 * The JSON Schema (draft 2020-12) of the file, from the declarations that the loader binds by.
 * A value may be a variable (${NAME}) wherever a number or a word is expected; so the schema lets such text
 * pass.
 */
#include "config/json_schema.h"

#include "config/section/section.h"

#include <stdio.h>

#define SCHEMA_SECTIONS 96
#define VARIABLE        "\\\\$\\\\{"

struct writer {
    struct sr_buf *out;
    int rc; /* sticky */
    const struct sr_section *sections[SCHEMA_SECTIONS];
    size_t n_sections;
};

static void put(struct writer *w, const char *text)
{
    if (w->rc == SR_OK)
        w->rc = sr_buf_append_bytes(w->out, sr_bytes_str(text));
}

static void put_string(struct writer *w, const char *text)
{
    put(w, "\"");
    if (w->rc == SR_OK)
        w->rc = sr_buf_append_json(w->out, sr_bytes_str(text));
    put(w, "\"");
}

static void put_number(struct writer *w, const char *key, double value)
{
    if (w->rc == SR_OK)
        w->rc = sr_buf_printf(w->out, ", \"%s\": %.15g", key, value);
}

/* A section's name as a key of $defs: "gateway tls" is "gateway-tls". */
static void put_reference(struct writer *w, const struct sr_section *section, bool quoted_key)
{
    put(w, quoted_key ? "\"" : "\"$ref\": \"#/$defs/");
    for (const char *p = section->name; *p; p++) {
        char c[2] = {*p == ' ' ? '-' : *p, 0};
        put(w, c);
    }
    put(w, "\"");
}

static void collect(struct writer *w, const struct sr_section *section)
{
    for (size_t i = 0; i < w->n_sections; i++)
        if (w->sections[i] == section)
            return;
    if (w->n_sections == SCHEMA_SECTIONS) {
        w->rc = SR_ELIMIT;
        return;
    }
    w->sections[w->n_sections++] = section;
    for (size_t i = 0; i < section->n_fields; i++) {
        const struct sr_field *field = &section->fields[i];
        if (field->of)
            collect(w, field->of);
        for (const struct sr_variant *const *v = field->variants; v && *v; v++)
            collect(w, (*v)->section);
    }
}

static void put_range(struct writer *w, const struct sr_field *field)
{
    if (field->min == 0 && field->max == 0)
        return;
    put_number(w, field->flags & SR_FIELD_EXCLUSIVE ? "exclusiveMinimum" : "minimum", field->min);
    put_number(w, "maximum", field->max);
}

static void put_words(struct writer *w, const struct sr_enum_word *words)
{
    put(w, "\"anyOf\": [{\"enum\": [");
    for (const struct sr_enum_word *word = words; word->word; word++) {
        put(w, word == words ? "" : ", ");
        put_string(w, word->word);
    }
    put(w, "]}, {\"type\": \"string\", \"pattern\": \"" VARIABLE "\"}]");
}

static void put_plugins(struct writer *w, const struct sr_field *field)
{
    put(w, "\"type\": [\"array\", \"null\"], \"items\": {\"oneOf\": [");
    for (const struct sr_variant *const *at = field->variants; *at; at++) {
        const struct sr_variant *v = *at;
        put(w, at == field->variants ? "\n          " : ",\n          ");
        put(w, "{\"type\": \"object\", \"description\": ");
        put_string(w, v->help);
        put(w, ", \"properties\": {\"type\": {\"const\": ");
        put_string(w, v->type);
        put(w, "}, \"configuration\": {");
        put_reference(w, v->section, false);
        put(w, "}}, \"required\": [\"type\"], \"additionalProperties\": false}");
    }
    put(w, "]}");
}

static void put_type(struct writer *w, const struct sr_field *field)
{
    static const char texts[] = "\"items\": {\"type\": [\"string\", \"number\"]}";
    switch (field->type) {
    case SR_FIELD_TEXT:
    case SR_FIELD_REF:
        put(w, "\"type\": [\"string\", \"number\"]");
        put(w, field->flags & SR_FIELD_NOT_EMPTY ? ", \"minLength\": 1" : "");
        break;
    case SR_FIELD_ENUM:
    case SR_FIELD_WORD:
        put_words(w, field->words);
        break;
    case SR_FIELD_BOOL:
        put(w, "\"type\": [\"boolean\", \"string\"], \"pattern\": \"" VARIABLE "\"");
        break;
    case SR_FIELD_INT:
    case SR_FIELD_INT64:
    case SR_FIELD_UINT32:
    case SR_FIELD_MS:
        put(w, "\"type\": [\"integer\", \"string\"], \"pattern\": \"" VARIABLE "\"");
        put_range(w, field);
        break;
    case SR_FIELD_NUMBER:
        put(w, "\"type\": [\"number\", \"string\"], \"pattern\": \"" VARIABLE "\"");
        put_range(w, field);
        break;
    case SR_FIELD_DURATION:
        put(w, "\"type\": [\"string\", \"integer\"], \"minimum\": 0, \"maximum\": 0, "
               "\"pattern\": \"^(0|([0-9.]+(ms|s|m|h))+)$|" VARIABLE "\"");
        break;
    case SR_FIELD_SIZE:
        put(w,
            "\"type\": [\"integer\", \"string\"], \"pattern\": \"^[0-9.]+([KMG](iB|B)?|kB)?$|" VARIABLE "\"");
        put_range(w, field);
        break;
    case SR_FIELD_TOKENS:
        put(w, "\"type\": [\"number\", \"string\"], \"minimum\": 0, \"pattern\": \"^[0-9.]+[KkMm]?$|" VARIABLE
               "\"");
        break;
    case SR_FIELD_TEXTS:
        put(w, "\"type\": \"array\", ");
        put(w, texts);
        put(w, field->flags & SR_FIELD_NOT_EMPTY ? ", \"minItems\": 1" : "");
        break;
    case SR_FIELD_NAMES:
        put(w, "\"type\": \"array\", \"items\": {\"anyOf\": [{\"type\": [\"string\", \"number\"]}, "
               "{\"type\": \"object\", "
               "\"properties\": {\"name\": {\"type\": \"string\"}, \"description\": {\"type\": \"string\"}}, "
               "\"required\": "
               "[\"name\"], "
               "\"additionalProperties\": false}]}");
        break;
    case SR_FIELD_TEXT_LISTS:
        put(w, "\"type\": \"array\", \"items\": {\"type\": \"array\", ");
        put(w, texts);
        put(w, "}");
        break;
    case SR_FIELD_PAIRS:
        put(w, "\"type\": \"object\", \"additionalProperties\": {\"type\": [\"string\", \"number\"]}");
        break;
    case SR_FIELD_OBJECT:
        put(w, field->of->size ? "\"anyOf\": [{" : "");
        put_reference(w, field->of, false);
        put(w, field->of->size ? "}, {\"type\": \"null\"}]" : "");
        break;
    case SR_FIELD_LIST:
        put(w, "\"type\": [\"array\", \"null\"], \"items\": {");
        put_reference(w, field->of, false);
        put(w, "}");
        break;
    case SR_FIELD_MAP:
        put(w, "\"type\": [\"object\", \"null\"], \"additionalProperties\": {");
        put_reference(w, field->of, false);
        put(w, "}");
        break;
    case SR_FIELD_PLUGINS:
        put_plugins(w, field);
        break;
    }
}

static void put_default(struct writer *w, const struct sr_field *field)
{
    if (!field->def)
        return;
    bool text = field->type == SR_FIELD_TEXT || field->type == SR_FIELD_WORD || field->type == SR_FIELD_ENUM;
    bool bare = !text && (field->type == SR_FIELD_BOOL || !field->def[strspn(field->def, "-+.0123456789")]);
    put(w, ", \"default\": ");
    if (bare)
        put(w, field->def);
    else
        put_string(w, field->def);
}

static void put_description(struct writer *w, const struct sr_field *field)
{
    char text[240];
    snprintf(text, sizeof text, "%s%s%s%s", field->help, field->def_note ? " (default: " : "",
             field->def_note ? field->def_note : "", field->def_note ? ")" : "");
    put_string(w, text);
}

static void put_section(struct writer *w, const struct sr_section *section)
{
    bool first = true;
    put(w, "\"description\": ");
    put_string(w, section->help);
    put(w, section->size ? ", \"type\": \"object\"" : ", \"type\": [\"object\", \"null\"]");
    put(w, ", \"additionalProperties\": false,\n      \"properties\": {");
    for (size_t i = 0; i < section->n_fields; i++) {
        const struct sr_field *field = &section->fields[i];
        put(w, i ? ",\n        " : "\n        ");
        put_string(w, field->key);
        put(w, ": {\"description\": ");
        put_description(w, field);
        put(w, ", ");
        put_type(w, field);
        put_default(w, field);
        put(w, "}");
    }
    put(w, "}");
    for (size_t i = 0; i < section->n_fields; i++) {
        if (!(section->fields[i].flags & SR_FIELD_REQUIRED))
            continue;
        put(w, first ? ",\n      \"required\": [" : ", ");
        put_string(w, section->fields[i].key);
        first = false;
    }
    put(w, first ? "" : "]");
}

int sr_config_json_schema(struct sr_buf *out)
{
    struct writer w = {.out = out};
    collect(&w, &sr_section_root);
    put(&w, "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
            "  \"title\": \"semroute configuration\",\n  ");
    put_section(&w, &sr_section_root);
    put(&w, ",\n  \"$defs\": {");
    for (size_t i = 1; i < w.n_sections; i++) {
        put(&w, i > 1 ? ",\n    " : "\n    ");
        put_reference(&w, w.sections[i], true);
        put(&w, ": {");
        put_section(&w, w.sections[i]);
        put(&w, "}");
    }
    put(&w, "\n  }\n}\n");
    return w.rc;
}
