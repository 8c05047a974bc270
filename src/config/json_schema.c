/*
 * The JSON Schema (draft 2020-12) of the file, from the declarations that the loader binds by. It refuses no
 * file that the loader takes: a value may be a variable (${NAME}) wherever a number or a word is expected;
 * outside of sections of this program's own a key without a value is absent and a `description` may stand
 * anywhere; mappings are merged by `<<`, which some editors leave in place.
 */
#include "config/json_schema.h"

#include "config/bind/meaning.h"
#include "config/json_schema_value.h"
#include "config/section/section.h"

#include <stdio.h>

#define SCHEMA_SECTIONS 256

/* Besides its keys the file holds what is for people or for aliases. */
#define TOP_NOTES                                                                                            \
    "{\"^<<$\":{\"type\":[\"object\",\"array\"]},\"^description$\":{\"$ref\":\"#/$defs/"                     \
    "for-people\"},\"^x-\":true}"

/* Every section once: the root, then each where it is first needed. */
struct sections {
    struct {
        const struct sr_section *section;
        bool own; /* it stands in sections of this program's own only: the loader is strict with it */
    } items[SCHEMA_SECTIONS];
    size_t n;
    int rc; /* SR_ELIMIT: there are more */
};

static void collect(struct sections *all, const struct sr_section *section, bool own)
{
    size_t at = 0;
    own |= section->own;
    while (at < all->n && all->items[at].section != section)
        at++;
    if (at < all->n && (own || !all->items[at].own))
        return;
    if (at == SCHEMA_SECTIONS) {
        all->rc = SR_ELIMIT;
        return;
    }
    all->n += at == all->n;
    all->items[at].section = section;
    all->items[at].own = own;
    for (size_t i = 0; i < section->n_fields; i++) {
        const struct sr_field *field = &section->fields[i];
        if (field->of)
            collect(all, field->of, own);
        for (const struct sr_variant *const *v = field->variants; v && *v; v++)
            collect(all, (*v)->section, own);
    }
}

/* A mapping that `<<` brings may hold what is required. */
static void put_required(struct sr_json_writer *w, const struct sr_section *section)
{
    bool any = false;
    for (size_t i = 0; i < section->n_fields; i++) {
        if (!(section->fields[i].flags & SR_FIELD_REQUIRED))
            continue;
        if (!any) {
            sr_json_line(w, 6);
            sr_json_raw(w, "if", SR_LIT("{\"not\":{\"required\":[\"<<\"]}}"));
            sr_json_object(w, "then");
            sr_json_array(w, "required");
        }
        any = true;
        sr_json_text(w, NULL, section->fields[i].key);
    }
    if (!any)
        return;
    sr_json_array_end(w);
    sr_json_object_end(w);
}

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
        sr_json_text(w, "$ref", switched ? "#/$defs/off-unless-enabled" : "#/$defs/off");
        sr_json_object_end(w);
    }
}

/* A key by its name, or by the name that it has in older files. */
static void put_field(struct sr_json_writer *w, const struct sr_field *field, const char *key, bool own)
{
    sr_json_line(w, 8);
    sr_json_object(w, key);
    if (key == field->older) {
        sr_json_text(w, "x-older", field->key);
        sr_json_bool(w, "deprecated", true);
    }
    sr_json_schema_value(w, field, own);
    sr_json_object_end(w);
}

/* The members that a section's object has, in one that is open. */
static void put_section(struct sr_json_writer *w, const struct sr_section *section, bool own)
{
    bool described = !own;
    sr_json_text(w, "description", section->help);
    sr_json_raw(w, "type", section->size ? SR_LIT("\"object\"") : SR_LIT("[\"object\",\"null\"]"));
    sr_json_bool(w, "additionalProperties", false);
    sr_json_line(w, 6);
    sr_json_object(w, "properties");
    for (size_t i = 0; i < section->n_fields; i++) {
        const struct sr_field *field = &section->fields[i];
        described &= strcmp(field->key, "description") != 0;
        put_field(w, field, field->key, own);
        if (field->older)
            put_field(w, field, field->older, own);
    }
    put_idle(w, section);
    sr_json_object_end(w);
    sr_json_line(w, 6);
    if (section == &sr_section_root)
        sr_json_raw(w, "patternProperties", SR_LIT(TOP_NOTES));
    else
        sr_json_schema_notes(w, described);
    put_required(w, section);
}

int sr_config_json_schema(struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    struct sections all = {.n = 0};
    char name[64];
    collect(&all, &sr_section_root, false);
    sr_json_object(&w, NULL);
    sr_json_line(&w, 2);
    sr_json_text(&w, "$schema", "https://json-schema.org/draft/2020-12/schema");
    sr_json_line(&w, 2);
    sr_json_text(&w, "title", "semroute configuration");
    sr_json_line(&w, 2);
    put_section(&w, &sr_section_root, false);
    sr_json_line(&w, 2);
    sr_json_object(&w, "$defs");
    for (size_t i = 1; i < all.n; i++) {
        sr_json_line(&w, 4);
        sr_json_object(&w, sr_json_schema_definition(all.items[i].section, name));
        put_section(&w, all.items[i].section, all.items[i].own);
        sr_json_object_end(&w);
    }
    sr_json_schema_common(&w);
    sr_json_object_end(&w);
    sr_json_object_end(&w);
    if (!w.rc)
        w.rc = sr_buf_append(out, "\n", 1);
    return w.rc ? w.rc : all.rc;
}
