/* The plugin `tool_selection` of a decision: tools by the meaning of the question. */
#include "config/section/plugins.h"

#define PLUGIN(member) offsetof(struct sr_config_plugins, tool_selection.member)

static const struct sr_enum_word modes[] = {
    {"add", SR_TOOL_SELECTION_ADD}, {"filter", SR_TOOL_SELECTION_FILTER}, {NULL, 0}};

static const struct sr_field fields[] = {
    {"enabled", SR_FIELD_BOOL, PLUGIN(set), .def = "true", .help = "switches the plugin off"},
    {"mode", SR_FIELD_ENUM, PLUGIN(mode), .words = modes, .def = "add",
     .help = "add (tools of the database join the request's) or filter (of the request's tools those stay "
             "that fit)"},
    {"tools_db_path", SR_FIELD_TEXT, PLUGIN(choice.file),
     .def_note = "`global.integrations.tools.tools_db_path`", .help = "the database, for mode `add`"},
    {"top_k", SR_FIELD_INT, PLUGIN(choice.top_k), .min = 1, .max = 1000,
     .def_note = "`global.integrations.tools.top_k`", .help = "the most tools that are added"},
    {"similarity_threshold", SR_FIELD_NUMBER, PLUGIN(choice.threshold), .min = -1, .max = 1,
     .def_note = "`global.integrations.tools.similarity_threshold`",
     .help = "the least cosine of the question and the description of an added tool"},
    {"fallback_to_empty", SR_FIELD_BOOL, PLUGIN(choice.empty),
     .def_note = "`global.integrations.tools.fallback_to_empty`",
     .help = "where no tool is left, the request has no `tools`; false: it has an empty list"},
    {"advanced_filtering", SR_FIELD_OBJECT, PLUGIN(choice), .of = &sr_section_tools_advanced,
     .help = "ranking beside the meaning; without it `global.integrations.tools`' counts"},
    {"strategy", SR_FIELD_ENUM, PLUGIN(strategy), .words = sr_tool_strategies, .def = "default",
     .help =
         "hybrid_history: tools that were called before count, by `dynamic_retrieval` of the plugin `tools`"},
    {"relevance_threshold", SR_FIELD_NUMBER, PLUGIN(relevance), .min = -1, .max = 1, .def = "0.2",
     .help = "mode `filter`: the least cosine of the question and a tool that stays"},
    {"preserve_count", SR_FIELD_INT, PLUGIN(preserve), .def = "0", .max = 10000,
     .help = "mode `filter`: the best so many tools stay, however little they fit"},
};

static void prepare(void *target)
{
    struct sr_config_plugins *plugins = target;
    plugins->tool_selection.choice.threshold = SR_TOOLS_INHERITED;
}

static void finish(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_plugins *plugins = target;
    (void)b;
    if (sr_yaml_get(node, "tools_db_path"))
        plugins->tool_selection.choice.file_at = sr_bind_position(sr_yaml_get(node, "tools_db_path"));
    plugins->tool_selection.own_empty = sr_yaml_get(node, "fallback_to_empty") != NULL;
    plugins->tool_selection.own_advanced = sr_yaml_get(node, "advanced_filtering") != NULL;
}

static const struct sr_section section = {
    .name = "tool_selection plugin",
    .help = "Adds tools that fit the question, or removes those that do not.",
    SR_FIELDS(fields),
    .prepare = prepare,
    .finish = finish,
};

const struct sr_variant sr_plugin_tool_selection = {
    "tool_selection", "adds the tools that fit the question, or removes others", &section, PLUGIN(set)};
