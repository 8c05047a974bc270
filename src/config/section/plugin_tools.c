/* The plugin `tools` of a decision: which of a request's tools its model gets. */
#include "config/section/plugins.h"

#define PLUGIN(member) offsetof(struct sr_config_plugins, tools.member)

static const struct sr_enum_word modes[] = {{"passthrough", SR_TOOLS_PASSTHROUGH},
                                            {"filtered", SR_TOOLS_FILTERED},
                                            {"none", SR_TOOLS_NONE},
                                            {NULL, 0}};
const struct sr_enum_word sr_tool_strategies[] = {{"default", SR_TOOLS_DEFAULT},
                                                  {"semantic_only", SR_TOOLS_SEMANTIC},
                                                  {"hybrid_history", SR_TOOLS_HYBRID},
                                                  {NULL, 0}};
static const struct sr_enum_word dynamic_strategies[] = {
    {"semantic_only", SR_TOOLS_SEMANTIC}, {"hybrid_history", SR_TOOLS_HYBRID}, {NULL, 0}};

static const struct sr_field weight_fields[] = {
    {"semantic", SR_FIELD_NUMBER, PLUGIN(history.semantic), .def = "1", .max = 100,
     .help = "of the rank by meaning"},
    {"history", SR_FIELD_NUMBER, PLUGIN(history.history), .def = "1", .max = 100,
     .help = "of how often the tool was called next after the tool that was called last"},
    {"decision_prior", SR_FIELD_NUMBER, PLUGIN(history.prior), .def = "0", .max = 100,
     .help = "of a tool of the question's domain (`category`), the more the surer the decision is"},
    {"repetition_penalty", SR_FIELD_NUMBER, PLUGIN(history.repetition), .def = "0", .max = 100,
     .help = "subtracted, times 0.35, for each call of the tool but the first"},
};
static const struct sr_section weights_section = {
    .name = "dynamic_retrieval weights",
    .help = "Weights of what a tool is ranked by; the sum of the first three counts as 1.",
    SR_FIELDS(weight_fields),
};

static const struct sr_field dynamic_fields[] = {
    {"enabled", SR_FIELD_BOOL, PLUGIN(dynamic), .def = "false", .help = "whether these keys act"},
    {"strategy", SR_FIELD_ENUM, PLUGIN(dynamic_strategy), .words = dynamic_strategies, .def = "semantic_only",
     .help = "hybrid_history: the tools that the conversation called before count beside the meaning"},
    {"history_window", SR_FIELD_INT, PLUGIN(history.window), .def = "8", .min = 1, .max = 64,
     .help = "the latest calls of the conversation that count"},
    {"weights", SR_FIELD_OBJECT, .of = &weights_section, .help = "of what a tool is ranked by"},
    {"min_history_confidence", SR_FIELD_NUMBER, PLUGIN(history.min_confidence), .def = "0", .max = 1,
     .help = "the least share of the window that is filled with calls; four or more of one tool alone count "
             "0.35 each"},
    {"fallback_on_low_confidence", SR_FIELD_BOOL, PLUGIN(history.falls_back), .def = "true",
     .help =
         "below it, and without any call, the meaning alone ranks; false: the weights count nevertheless"},
};
static const struct sr_section dynamic_section = {
    .name = "dynamic_retrieval",
    .help =
        "How tools are ranked where this plugin, or `tool_selection` of the decision, chooses by meaning.",
    SR_FIELDS(dynamic_fields),
};

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
    {"strategy", SR_FIELD_ENUM, PLUGIN(strategy), .words = sr_tool_strategies, .def = "default",
     .help = "hybrid_history: the same as in `dynamic_retrieval`, whose settings count"},
    {"dynamic_retrieval", SR_FIELD_OBJECT, .of = &dynamic_section, .help = "how tools are ranked"},
};

static void finish(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_plugins *plugins = target;
    if (!plugins->tools.set)
        return;
    plugins->tools.history.on =
        plugins->tools.strategy == SR_TOOLS_HYBRID ||
        (plugins->tools.dynamic && plugins->tools.dynamic_strategy == SR_TOOLS_HYBRID);
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
    .finish = finish,
};

const struct sr_variant sr_plugin_tools = {"tools", "keeps, filters or removes a request's tools", &section,
                                           PLUGIN(set)};
