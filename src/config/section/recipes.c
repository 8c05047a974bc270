/* `recipes` and `entrypoints`: routing blocks beside the top-level one, and the names that ask for them.
 * Names are checked in config/link/recipes.c. */
#include "config/section/section.h"

#define RECIPE(member)     offsetof(struct sr_config_recipe, member)
#define ENTRYPOINT(member) offsetof(struct sr_config_entrypoint, member)
#define NAMED              SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY

static const struct sr_field recipe_fields[] = {
    {"name", SR_FIELD_TEXT, RECIPE(name), .flags = NAMED,
     .help = "the name that entrypoints refer to; `default` is the top-level `routing`, where it is empty"},
    {"description", SR_FIELD_TEXT, RECIPE(description), .help = "shown in /v1/models"},
    {"routing", SR_FIELD_OBJECT, RECIPE(config), .of = &sr_section_recipe_routing,
     .help = "a routing block without `modelCards`: which requests go where"},
};

const struct sr_section sr_section_recipe = {
    .name = "recipe",
    .help = "A routing block of its own, over the same models. What protects in the top-level block holds in "
            "every recipe.",
    .size = sizeof(struct sr_config_recipe),
    SR_FIELDS(recipe_fields),
};

static const struct sr_field entrypoint_fields[] = {
    {"model_names", SR_FIELD_TEXTS, ENTRYPOINT(model_names), .flags = NAMED,
     .help = "new names, which clients send as `model`"},
    {"recipe", SR_FIELD_TEXT, ENTRYPOINT(recipe_name), .flags = NAMED,
     .help = "the recipe that routes such requests; `default`: the top-level `routing`"},
};

const struct sr_section sr_section_entrypoint = {
    .name = "entrypoint",
    .help = "Names of models by which clients ask for a recipe.",
    .size = sizeof(struct sr_config_entrypoint),
    SR_FIELDS(entrypoint_fields),
};
