/* The plugin `tools` of a decision: which of a request's tools its model gets. */
#include "config/section/plugins.h"

#define PLUGIN(member) offsetof(struct sr_config_plugins, tools.member)

static const struct sr_enum_word modes[] = {{"passthrough", SR_TOOLS_PASSTHROUGH},
                                            {"filtered", SR_TOOLS_FILTERED},
                                            {"none", SR_TOOLS_NONE},
                                            {NULL, 0}};
const struct sr_enum_word sr_tool_strategies[] = {
    {"default", 0}, {"semantic_only", 0}, {"hybrid_history", 0}, {NULL, 0}};

#define SR_INERT_HISTORY "tools are ranked by their meaning; those that were called before do not count"

static const struct sr_field fields[] = {
    {"enabled", SR_FIELD_BOOL, PLUGIN(set), .def = "true", .help = "switches the plugin off"},
    {"mode", SR_FIELD_ENUM, PLUGIN(mode), .words = modes, .def = "passthrough",
     .help = "passthrough (all tools of the request), filtered (by `allow_tools` and `block_tools`) or none "
             "(the request loses its tools)"},
    {"semantic_selection", SR_FIELD_BOOL, PLUGIN(semantic), .def = "true",
     .help = "with `global.integrations.tools`: a request with `tool_choice: auto` and without tools gets "
             "those of the database that fit"},
    {"allow_tools", SR_FIELD_TEXTS, PLUGIN(allow), .def_note = "all",
     .help = "names of the only tools that stay, in mode `filtered`"},
    {"block_tools", SR_FIELD_TEXTS, PLUGIN(block), .help = "names of tools that go, in mode `filtered`"},
    {"strip_tool_history", SR_FIELD_BOOL, PLUGIN(strip_history), .def = "false",
     .help = "in mode `none`: earlier calls of tools and their results go, too"},
    {"strategy", SR_FIELD_WORD, .words = sr_tool_strategies, .def = "default", .flags = SR_FIELD_DECLARED,
     .help = "how tools are ranked"},
};

void sr_tool_strategy_check(struct sr_binder *b, const struct sr_yaml_node *node)
{
    const struct sr_yaml_node *strategy = sr_yaml_get(node, "strategy");
    if (strategy && strategy->kind == SR_YAML_SCALAR && sr_bytes_eq(strategy->text, SR_LIT("hybrid_history")))
        sr_bind_warning(b, strategy, "`strategy`: %s", SR_INERT_HISTORY);
}

static void finish(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_config_plugins *plugins = target;
    if (!plugins->tools.set)
        return;
    sr_tool_strategy_check(b, node);
    if (plugins->tools.mode != SR_TOOLS_FILTERED &&
        (plugins->tools.allow.count || plugins->tools.block.count))
        sr_bind_warning(b, node, "`allow_tools` and `block_tools` act with `mode: filtered` alone");
    if (plugins->tools.mode != SR_TOOLS_NONE && plugins->tools.strip_history)
        sr_bind_warning(b, sr_bind_at(node, "strip_tool_history"),
                        "`strip_tool_history` acts with `mode: none` alone");
}

static const struct sr_section section = {
    .name = "tools plugin",
    .help = "Which of a request's tools its model gets.",
    SR_FIELDS(fields),
    .inert =
        (const struct sr_inert_key[]){{"dynamic_retrieval", SR_INERT_HISTORY, true}, {NULL, NULL, false}},
    .finish = finish,
};

const struct sr_variant sr_plugin_tools = {"tools", "keeps, filters or removes a request's tools", &section,
                                           PLUGIN(set)};
