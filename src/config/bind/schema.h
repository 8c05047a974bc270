/*
 * The shape of the configuration file, declared once.
 *
 * A section is the list of keys that one kind of mapping may have; each key has its type, range, default,
 * meaning and where in which struct its value goes. The loader (bind.c), the hints (hint.c) and the JSON
 * Schema (config/json_schema.c) all read these declarations. config/section/ holds them, one file per part of
 * the configuration. What concerns several sections at once (a name that must exist elsewhere) is in
 * config/link/.
 */
#ifndef SR_CONFIG_BIND_SCHEMA_H
#define SR_CONFIG_BIND_SCHEMA_H

#include "config/bind/yaml.h"

#include <stddef.h>

#define SR_SCHEMA_MAX_ITEMS 4096 /* of a list or mapping of sections */

enum sr_field_type {
    SR_FIELD_TEXT,     /* const char *; numbers are taken as they are written */
    SR_FIELD_REF,      /* text that config/link/ looks up; stored nowhere */
    SR_FIELD_ENUM,     /* an enum (int), by `words` */
    SR_FIELD_WORD,     /* const char *, one of `words` */
    SR_FIELD_BOOL,     /* bool */
    SR_FIELD_INT,      /* int */
    SR_FIELD_INT64,    /* int64_t */
    SR_FIELD_UINT32,   /* uint32_t */
    SR_FIELD_NUMBER,   /* double */
    SR_FIELD_DURATION, /* uint64_t milliseconds: `500ms`, `30s`, `1m30s` */
    SR_FIELD_MS,       /* uint64_t milliseconds, written as a whole number */
    SR_FIELD_SIZE,     /* size_t bytes: 4096, `64KiB`, `32MiB` */
    SR_FIELD_TOKENS,   /* uint64_t: 4096, `4K`, `1.5M` */
    SR_FIELD_TEXTS,    /* struct sr_strings: a list of texts */
    SR_FIELD_NAMES, /* struct sr_name_values: a list of names, or of mappings of `name` and `description` */
    SR_FIELD_TEXT_LISTS, /* struct sr_strings * and a count: a list of lists of texts */
    SR_FIELD_TEXT_MAP,   /* struct sr_named_strings * and a count: a mapping of lists of texts */
    SR_FIELD_PAIRS,      /* struct sr_name_values: a mapping of texts */
    SR_FIELD_OBJECT,  /* a mapping of section `of`, whose struct is embedded at `offset` (0: the same struct)
                       */
    SR_FIELD_LIST,    /* array pointer and size_t count; each item a mapping of section `of` */
    SR_FIELD_MAP,     /* the same from a mapping; the key goes to the item's first member, a const char * */
    SR_FIELD_PLUGINS, /* a list of {type, configuration}; `variants` says which section a type has */
};

struct sr_enum_word {
    const char *word;
    int value;
};

struct sr_section;

/* One type of plugin. `section` is bound at `offset` in the struct that holds all plugins. */
struct sr_variant {
    const char *type;
    const char *help;
    const struct sr_section *section;
    size_t set_offset; /* bool: the plugin is there */
    size_t offset;
    const char *const *aliases; /* other names of the type; ends with NULL. NULL: none */
};

enum {
    SR_FIELD_REQUIRED = 1,
    SR_FIELD_NOT_EMPTY = 2, /* texts and lists */
    SR_FIELD_EXCLUSIVE = 4, /* `min` itself is out of range */
    SR_FIELD_DECLARED =
        8, /* with no value of its own: config/link/ or the section's finish function reads it */
    SR_FIELD_DROPPABLE =
        32, /* an unknown word, or its absence, is only a warning when lenient: what depends on it is safe */
    SR_FIELD_EMPTY_ENTRIES = 64, /* texts may be empty */
    SR_FIELD_INERT = 16, /* one value: it is checked and goes nowhere; config/bind/meaning.c says why */
};

struct sr_field {
    const char *key;
    enum sr_field_type type;
    size_t offset;       /* of the value in the section's struct */
    size_t count_offset; /* lists and maps */
    const char *help;
    const char *def;                  /* default, as a scalar; NULL = zero, empty or absent */
    const char *def_note;             /* for the reference, when the default is no constant */
    double min, max;                  /* numbers; both 0 = only the type's range */
    const struct sr_enum_word *words; /* ends with {NULL} */
    const char *const
        *later; /* words that vLLM Semantic Router has and this program has not; ends with NULL */
    const struct sr_section *of;
    const struct sr_variant *const *variants; /* ends with NULL */
    const char *older;                        /* the key's name in older files; NULL: it had no other */
    const char *otherwise; /* what to do about a word that is none of `words`; NULL: the nearest is named */
    unsigned flags;
};

struct sr_binder;

/* A key of vLLM Semantic Router that is taken with any value and changes nothing. */
struct sr_inert_key {
    const char *key;
    const char *because;
    bool warns; /* a user may count on it: the loader says that it changes nothing, where it is not off */
};

struct sr_section {
    const char *name; /* for messages and the JSON Schema: "decision" */
    const char *help;
    size_t size; /* of the struct, for lists and maps */
    const struct sr_field *fields;
    size_t n_fields;
    const char *const
        *later; /* keys that vLLM Semantic Router has and this program has not; ends with NULL. One that asks
                   for nothing (empty, `false`, a mapping with `enabled: false`) is taken */
    bool
        exact; /* any unknown key may change what the rest means, not only one that is close to a known one */
    bool own;  /* of this program alone: a lenient load is strict with it, and with what is below it */
    const char *const *switched; /* those of `later` that are off without `enabled: true`; ends with NULL */
    const struct sr_inert_key *inert; /* ends with {NULL} */
    /* Before the keys are read, also when the mapping is absent; optional. */
    void (*prepare)(void *target);
    /* After the keys were read, when the mapping is there: checks within the section. Optional. */
    void (*finish)(struct sr_binder *b, const struct sr_yaml_node *node, void *target);
};

#define SR_FIELDS(array) .fields = (array), .n_fields = sizeof(array) / sizeof *(array)

#endif
