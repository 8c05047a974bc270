/* `routing.signals`: the rules of each signal. The signal layer evaluates them. */
#include "config/section/section.h"

#define KEYWORD(member)   offsetof(struct sr_config_keyword, member)
#define DOMAIN(member)    offsetof(struct sr_config_domain, member)
#define CONTEXT(member)   offsetof(struct sr_config_context, member)
#define STRUCTURE(member) offsetof(struct sr_config_structure, member)

static const struct sr_enum_word operators[] = {
    {"OR", SR_KEYWORD_OR}, {"AND", SR_KEYWORD_AND}, {"NOR", SR_KEYWORD_NOR}, {NULL, 0}};
static const struct sr_enum_word methods[] = {{"regex", SR_KEYWORD_REGEX},  {"bm25", SR_KEYWORD_BM25},
                                              {"ngram", SR_KEYWORD_NGRAM},  {"fuzzy", SR_KEYWORD_FUZZY},
                                              {"hybrid", SR_KEYWORD_WORDS}, {NULL, 0}};

static const struct sr_field keyword_fields[] = {
    {"name", SR_FIELD_TEXT, KEYWORD(name),
     .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY | SR_FIELD_DROPPABLE,
     .help = "the name that rules refer to"},
    {"keywords", SR_FIELD_TEXTS, KEYWORD(keywords),
     .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY | SR_FIELD_EMPTY_ENTRIES,
     .help = "words or phrases; with `method: regex` regular expressions; an empty one is in every text"},
    {"operator", SR_FIELD_ENUM, KEYWORD(op), .words = operators, .def = "OR",
     .help = "OR: any of them; AND: all of them; NOR: none of them"},
    {"method", SR_FIELD_ENUM, KEYWORD(method), .words = methods,
     .def_note = "whole words, as they are written",
     .help = "how keywords are matched; fuzzy: whole words with `fuzzy_match`; hybrid: as "
             "without a method"},
    {"case_sensitive", SR_FIELD_BOOL, KEYWORD(case_sensitive), .def = "false",
     .help = "whether upper and lower case differ"},
    {"fuzzy_match", SR_FIELD_BOOL, KEYWORD(fuzzy_match), .def = "false",
     .help = "also match words with typing errors"},
    {"fuzzy_threshold", SR_FIELD_INT, KEYWORD(fuzzy_threshold), .def = "2", .min = 0, .max = 100,
     .help =
         "up to 16: the edit distance up to which a keyword still matches; above: the least similarity in "
         "percent (80: one letter in five may differ)"},
    {"bm25_threshold", SR_FIELD_NUMBER, KEYWORD(bm25_threshold), .def = "0.1", .min = 0, .max = 1000,
     .help = "the score from which bm25 matches"},
    {"ngram_threshold", SR_FIELD_NUMBER, KEYWORD(ngram_threshold), .def = "0.4", .min = 0, .max = 1,
     .help = "the similarity from which ngram matches"},
    {"ngram_arity", SR_FIELD_INT, KEYWORD(ngram_arity), .def = "3", .min = 1, .max = 8,
     .help = "characters of an n-gram"},
};

static void finish_keyword(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_keyword *rule = target;
    const struct sr_yaml_node *list = sr_yaml_get(node, "keywords");
    if (rule->method == SR_KEYWORD_FUZZY) {
        rule->method = SR_KEYWORD_WORDS;
        rule->fuzzy_match = true;
    }
    rule->places =
        rule->keywords.count ? sr_bind_calloc(b, rule->keywords.count, sizeof *rule->places) : NULL;
    for (size_t i = 0; rule->places && i < rule->keywords.count; i++)
        rule->places[i] = sr_bind_position(i < list->count ? list->items[i] : list);
}

static const struct sr_section keyword_section = {
    .name = "keyword rule",
    .help = "Words, phrases or patterns in the user's text.",
    .size = sizeof(struct sr_config_keyword),
    SR_FIELDS(keyword_fields),
    .inert = (const struct sr_inert_key[]){{"description", SR_INERT_NOTE, false}, {NULL, NULL, false}},
    .finish = finish_keyword,
};

static const struct sr_field score_fields[] = {
    {"model", SR_FIELD_TEXT, offsetof(struct sr_config_model_score, model),
     .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY, .help = "one of `providers.models`"},
    {"score", SR_FIELD_NUMBER, offsetof(struct sr_config_model_score, score), .min = 0, .max = 1e6,
     .flags = SR_FIELD_REQUIRED | SR_FIELD_EXCLUSIVE, .help = "how good the model is in this domain"},
    {"use_reasoning", SR_FIELD_BOOL, offsetof(struct sr_config_model_score, use_reasoning), .def = "false",
     .help = "whether it uses reasoning for such requests, where the modelRef does not say"},
};

static const struct sr_section score_section = {
    .name = "model score",
    .help = "How good a model is in a domain.",
    .size = sizeof(struct sr_config_model_score),
    SR_FIELDS(score_fields),
};

#define SR_INERT_PLUGIN "prompts and the cache are plugins of decisions"

static const struct sr_field domain_fields[] = {
    {"name", SR_FIELD_TEXT, DOMAIN(name), .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY,
     .help = "the name that rules refer to"},
    {"description", SR_FIELD_TEXT, DOMAIN(description), .help = "for people: shown by `explain`"},
    {"mmlu_categories", SR_FIELD_TEXTS, DOMAIN(mmlu_categories), .def_note = "its `name`",
     .help = "the classifier's labels that it stands for"},
    {"model_scores", SR_FIELD_LIST, DOMAIN(scores), DOMAIN(n_scores), .of = &score_section,
     .help = "how good each model is; decides between a decision's candidates"},
};

static const struct sr_section domain_section = {
    .name = "domain rule",
    .help = "A field of knowledge that the classifier recognises in the user's text.",
    .size = sizeof(struct sr_config_domain),
    SR_FIELDS(domain_fields),
    .inert = (const struct sr_inert_key[]){{"system_prompt", SR_INERT_PLUGIN, true},
                                           {"system_prompt_enabled", SR_INERT_PLUGIN, true},
                                           {"system_prompt_mode", SR_INERT_PLUGIN, true},
                                           {"semantic_cache_enabled", SR_INERT_PLUGIN, true},
                                           {"semantic_cache_similarity_threshold", SR_INERT_PLUGIN, true},
                                           {NULL, NULL, false}},
};

static const struct sr_field context_fields[] = {
    {"name", SR_FIELD_TEXT, CONTEXT(name), .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY,
     .help = "the name that rules refer to"},
    {"min_tokens", SR_FIELD_TOKENS, CONTEXT(min_tokens), .def = "0", .help = "the lower limit, in tokens"},
    {"max_tokens", SR_FIELD_TOKENS, CONTEXT(max_tokens), .def_note = "no limit",
     .help = "the upper limit, in tokens"},
};

static void prepare_context(void *target)
{
    ((struct sr_config_context *)target)->max_tokens = UINT64_MAX;
}

static void finish_context(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_config_context *context = target;
    if (context->min_tokens > context->max_tokens)
        sr_bind_error(b, sr_bind_at(node, "max_tokens"),
                      "`max_tokens` is below `min_tokens`: the rule never matches");
}

static const struct sr_section context_section = {
    .name = "context rule",
    .help = "The length of the whole request.",
    .size = sizeof(struct sr_config_context),
    SR_FIELDS(context_fields),
    .inert = (const struct sr_inert_key[]){{"description", SR_INERT_NOTE, false}, {NULL, NULL, false}},
    .prepare = prepare_context,
    .finish = finish_context,
};

static const struct sr_field language_fields[] = {
    {"name", SR_FIELD_TEXT, offsetof(struct sr_config_language, name),
     .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY,
     .help = "the language's code, such as `en`, `de`, `zh`"},
    {"threshold", SR_FIELD_NUMBER, offsetof(struct sr_config_language, threshold), .def = "0.3", .min = 0,
     .max = 1, .help = "the share of the text from which it matches"},
};

static void finish_language(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const char *name = ((const struct sr_config_language *)target)->name;
    size_t letters = strspn(name, "abcdefghijklmnopqrstuvwxyz");
    if (letters < 2 || letters > 3 || (name[letters] && name[letters] != '-'))
        sr_bind_error(b, sr_bind_at(node, "name"),
                      "`name`: expected a language code such as `en` or `zh`, found `%.40s`", name);
}

static const struct sr_section language_section = {
    .name = "language rule",
    .help = "The language of the user's text.",
    .size = sizeof(struct sr_config_language),
    SR_FIELDS(language_fields),
    .inert = (const struct sr_inert_key[]){{"description", SR_INERT_NOTE, false}, {NULL, NULL, false}},
    .finish = finish_language,
};

static const struct sr_enum_word features[] = {{"exists", SR_STRUCTURE_EXISTS},
                                               {"count", SR_STRUCTURE_COUNT},
                                               {"density", SR_STRUCTURE_DENSITY},
                                               {"sequence", SR_STRUCTURE_SEQUENCE},
                                               {NULL, 0}};
static const struct sr_enum_word sources[] = {{"regex", SR_STRUCTURE_REGEX},
                                              {"keyword_set", SR_STRUCTURE_KEYWORD_SET},
                                              {"sequence", SR_STRUCTURE_SEQUENCES},
                                              {NULL, 0}};

static const struct sr_field source_fields[] = {
    {"type", SR_FIELD_ENUM, STRUCTURE(source), .words = sources, .flags = SR_FIELD_REQUIRED,
     .help = "what is looked for: a `pattern`, `keywords` or `sequences`"},
    {"pattern", SR_FIELD_TEXT, STRUCTURE(pattern), .help = "regular expression"},
    {"keywords", SR_FIELD_TEXTS, STRUCTURE(keywords), .help = "words"},
    {"sequences", SR_FIELD_TEXT_LISTS, STRUCTURE(sequences), STRUCTURE(n_sequences),
     .help = "lists of words that follow one another"},
    {"case_sensitive", SR_FIELD_BOOL, STRUCTURE(case_sensitive), .def = "false",
     .help = "whether upper and lower case differ"},
};

static void finish_source(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_structure *s = target;
    s->pattern_at = sr_bind_position(sr_bind_at(node, "pattern"));
    if (s->source == SR_STRUCTURE_REGEX && !s->pattern[0])
        sr_bind_error(b, node, "a source of type `regex` needs a `pattern`");
    else if (s->source == SR_STRUCTURE_KEYWORD_SET && s->keywords.count == 0)
        sr_bind_error(b, node, "a source of type `keyword_set` needs `keywords`");
    else if (s->source == SR_STRUCTURE_SEQUENCES && s->n_sequences == 0)
        sr_bind_error(b, node, "a source of type `sequence` needs `sequences`");
}

static const struct sr_section source_section = {
    .name = "structure source",
    .help = "What a structure rule looks for.",
    SR_FIELDS(source_fields),
    .exact = true,
    .finish = finish_source,
};

static const struct sr_field feature_fields[] = {
    {"type", SR_FIELD_ENUM, STRUCTURE(feature), .words = features, .flags = SR_FIELD_REQUIRED,
     .help = "exists, count (how many), density (relative to the text) or sequence (words in order)"},
    {"source", SR_FIELD_OBJECT, .of = &source_section, .flags = SR_FIELD_REQUIRED,
     .help = "what is looked for"},
};

static const struct sr_section feature_section = {
    .name = "structure feature",
    .help = "What a structure rule measures.",
    SR_FIELDS(feature_fields),
};

static const struct sr_field structure_fields[] = {
    {"name", SR_FIELD_TEXT, STRUCTURE(name), .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY,
     .help = "the name that rules refer to"},
    {"description", SR_FIELD_TEXT, STRUCTURE(description), .help = "for people: shown by `explain`"},
    {"feature", SR_FIELD_OBJECT, .of = &feature_section, .flags = SR_FIELD_REQUIRED,
     .help = "what is measured"},
    {"predicate", SR_FIELD_OBJECT, STRUCTURE(predicate), .of = &sr_section_predicate,
     .help = "when the measured value matches", .def_note = "above 0"},
};

static const struct sr_section structure_section = {
    .name = "structure rule",
    .help = "The form of the user's text: lists, code blocks, questions, steps.",
    .size = sizeof(struct sr_config_structure),
    SR_FIELDS(structure_fields),
};

/* The types of rules, one line each: the type as conditions name it, the key of its list, the list in struct
 * sr_config, and the section of a rule, whose name is "TYPE rule". rule_types.c has the words. */
#define RULE_TYPES(X)                                                                                        \
    X("keyword", "keywords", keywords, keyword_section)                                                      \
    X("domain", "domains", domains, domain_section)                                                          \
    X("context", "context", contexts, context_section)                                                       \
    X("structure", "structure", structures, structure_section)                                               \
    X("language", "language", languages, language_section)                                                   \
    X("jailbreak", "jailbreak", jailbreaks, sr_section_jailbreak)                                            \
    X("pii", "pii", piis, sr_section_pii)                                                                    \
    X("embedding", "embeddings", embeddings, sr_section_embedding)                                           \
    X("conversation", "conversation", conversations, sr_section_conversation)                                \
    X("metadata", "metadata", metadatas, sr_section_metadata)                                                \
    X("event", "events", events, sr_section_event)                                                           \
    X("authz", "role_bindings", bindings, sr_section_binding)                                                \
    X("modality", "modality", modalities, sr_section_modality)                                               \
    X("fact_check", "fact_check", fact_checks, sr_section_fact_check)                                        \
    X("user_feedback", "user_feedbacks", feedbacks, sr_section_feedback)                                     \
    X("reask", "reasks", reasks, sr_section_reask)                                                           \
    X("preference", "preferences", preferences, sr_section_preference)                                       \
    X("complexity", "complexity", complexities, sr_section_complexity)                                       \
    X("kb", "kb", kb_rules, sr_section_kb_rule)

#define RULES_FIELD(word, list_key, list, section)                                                           \
    {.key = list_key,                                                                                        \
     .type = SR_FIELD_LIST,                                                                                  \
     .offset = offsetof(struct sr_config, list),                                                             \
     .count_offset = offsetof(struct sr_config, n_##list),                                                   \
     .of = &(section),                                                                                       \
     .help = "rules of type `" word "`"},
static const struct sr_field signals_fields[] = {RULE_TYPES(RULES_FIELD)};

const struct sr_section sr_section_signals = {
    .name = "signals",
    .help = "Signals of a request; only those that a decision needs are computed.",
    SR_FIELDS(signals_fields),
    .later = (const char *const[]){"classifiers", NULL},
};

void sr_config_clear_rules(struct sr_config *config)
{
    const size_t none = 0;
    for (size_t i = 0; i < sr_section_signals.n_fields; i++)
        memcpy((char *)config + sr_section_signals.fields[i].count_offset, &none, sizeof none);
}
