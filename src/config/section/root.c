/* The whole file: its top-level keys. */
#include "config/section/section.h"

static const struct sr_enum_word versions[] = {{"v0.3", 0}, {NULL, 0}};

static const struct sr_field fields[] = {
    {"version", SR_FIELD_ENUM, .words = versions, .flags = SR_FIELD_REQUIRED | SR_FIELD_DECLARED,
     .otherwise = "a file in today's shape says `version: v0.3`; one from before versions is flat, and "
                  "`semroute migrate FILE` converts it",
     .help = "the shape of this file"},
    {"listeners", SR_FIELD_LIST, offsetof(struct sr_config, listeners),
     offsetof(struct sr_config, n_listeners), .of = &sr_section_listener, .help = "where the gateway listens",
     .def_note = "127.0.0.1:8801"},
    {"providers", SR_FIELD_OBJECT, .of = &sr_section_providers, .help = "the models and their upstreams"},
    {"routing", SR_FIELD_OBJECT, .of = &sr_section_routing, .help = "signals and decisions"},
    {"recipes", SR_FIELD_LIST, offsetof(struct sr_config, recipes), offsetof(struct sr_config, n_recipes),
     .of = &sr_section_recipe, .help = "routing blocks beside `routing`, for clients that ask for them"},
    {"entrypoints", SR_FIELD_LIST, offsetof(struct sr_config, entrypoints),
     offsetof(struct sr_config, n_entrypoints), .of = &sr_section_entrypoint,
     .help = "the names by which clients ask for recipes"},
    {"global", SR_FIELD_OBJECT, offsetof(struct sr_config, global), .of = &sr_section_global,
     .help = "settings of the program"},
};

static void prepare_root(void *target)
{
    ((struct sr_config *)target)->default_model = -1;
}

const struct sr_section sr_section_root = {
    .name = "configuration",
    .help = "Configuration of semroute: the v0.3 shape of vLLM Semantic Router, for the features that "
            "semroute has.",
    .size = sizeof(struct sr_config),
    SR_FIELDS(fields),
    .prepare = prepare_root,
};
