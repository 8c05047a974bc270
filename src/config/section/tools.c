/* `global.integrations.tools`, and the keys that the plugin `tool_selection` shares with it. */
#include "config/section/section.h"

#define TOOLS(member) offsetof(struct sr_config_tools, member)

static const struct sr_field weight_fields[] = {
    {"embed", SR_FIELD_NUMBER, TOOLS(advanced.embed), .def = "1", .max = 100,
     .help = "of the similarity of the question and the tool"},
    {"lexical", SR_FIELD_NUMBER, TOOLS(advanced.lexical), .def = "0", .max = 100,
     .help = "of the share of the question's words that the tool has"},
    {"tag", SR_FIELD_NUMBER, TOOLS(advanced.tag), .def = "0", .max = 100,
     .help = "of the share of the tool's tags that the question has"},
    {"name", SR_FIELD_NUMBER, TOOLS(advanced.name), .def = "0", .max = 100,
     .help = "of the share of the words of the tool's name that the question has"},
    {"category", SR_FIELD_NUMBER, TOOLS(advanced.category), .def = "0", .max = 100,
     .help = "of a category that the question has, too"},
};
static const struct sr_section weights_section = {
    .name = "tools weights",
    .help = "Weights of what a tool is ranked by; their sum counts as 1.",
    SR_FIELDS(weight_fields),
};

static const struct sr_field advanced_fields[] = {
    {"enabled", SR_FIELD_BOOL, TOOLS(advanced.enabled), .def = "false", .help = "whether these keys act"},
    {"candidate_pool_size", SR_FIELD_INT, TOOLS(advanced.pool), .def = "0", .max = 10000,
     .help = "the tools that are weighed, by similarity; 0 = five times `top_k`, at least 20"},
    {"min_lexical_overlap", SR_FIELD_INT, TOOLS(advanced.min_words), .def = "0", .max = 100,
     .help = "words of the question that a tool must have"},
    {"min_combined_score", SR_FIELD_NUMBER, TOOLS(advanced.min_score), .def = "0", .max = 1,
     .help = "the least weighed score of a tool"},
    {"weights", SR_FIELD_OBJECT, .of = &weights_section, .help = "of what a tool is ranked by"},
    {"use_category_filter", SR_FIELD_BOOL, TOOLS(advanced.by_category), .def = "false",
     .help = "leaves out tools of another category than the question's domain; tools without one stay"},
    {"category_confidence_threshold", SR_FIELD_NUMBER, TOOLS(advanced.category_confidence), .def = "0",
     .max = 1, .help = "the confidence from which the question's domain counts"},
    {"allow_tools", SR_FIELD_TEXTS, TOOLS(advanced.allow), .def_note = "all",
     .help = "names of the only tools that may be added"},
    {"block_tools", SR_FIELD_TEXTS, TOOLS(advanced.block), .help = "names of tools that are never added"},
};
const struct sr_section sr_section_tools_advanced = {
    .name = "tools advanced_filtering",
    .help = "Ranking by words, tags, names and categories beside the meaning.",
    SR_FIELDS(advanced_fields),
    .inert =
        (const struct sr_inert_key[]){{"retrieval_strategy",
                                       "the weights are the strategy here; `dynamic_retrieval` of the plugin "
                                       "`tools` is the other",
                                       true},
                                      {NULL, NULL, false}},
    .later = (const char *const[]){"hybrid_history", NULL},
};

static const struct sr_field tools_fields[] = {
    {"enabled", SR_FIELD_BOOL, TOOLS(enabled), .def = "false",
     .help = "whether plugins may use the tool database"},
    {"top_k", SR_FIELD_INT, TOOLS(top_k), .def = "3", .min = 1, .max = 1000,
     .help = "the most tools of the database that a request gets"},
    {"similarity_threshold", SR_FIELD_NUMBER, TOOLS(threshold), .def = "0.2", .min = -1, .max = 1,
     .help = "the least cosine of the question and a tool's description"},
    {"tools_db_path", SR_FIELD_TEXT, TOOLS(file), .def = "config/tools_db.json",
     .help = "the database: a JSON list of `tool` (what requests get), `description`, `category`, `tags`"},
    {"fallback_to_empty", SR_FIELD_BOOL, TOOLS(empty), .def = "true",
     .help = "where no tool fits, the request has no `tools`; false: it has an empty list"},
    {"advanced_filtering", SR_FIELD_OBJECT, .of = &sr_section_tools_advanced,
     .help = "ranking beside the meaning"},
};
static void finish_tools(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    (void)b;
    ((struct sr_config_tools *)target)->file_at = sr_bind_position(sr_bind_at(node, "tools_db_path"));
}

const struct sr_section sr_section_tools = {
    .name = "tools",
    .help = "The database of tools that the plugins `tools` and `tool_selection` choose from.",
    SR_FIELDS(tools_fields),
    .finish = finish_tools,
    .inert = (const struct sr_inert_key[]){{"model_type", SR_INERT_VECTORS, false},
                                           {"target_dim", SR_INERT_VECTORS, false},
                                           {NULL, NULL, false}},
};
