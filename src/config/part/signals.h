/*
 * The rules of each signal: `routing.signals` and `routing.projections`, and the models outside that they
 * ask.
 *
 * Plain data of a snapshot, as config.h.
 */
#ifndef SR_CONFIG_PART_SIGNALS_H
#define SR_CONFIG_PART_SIGNALS_H

#include "config/part/rules.h"
#include "config/part/strings.h"
#include "text/entity/entity.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* routing.signals.keywords[] */
enum sr_keyword_operator { SR_KEYWORD_OR, SR_KEYWORD_AND, SR_KEYWORD_NOR };
enum sr_keyword_method {
    SR_KEYWORD_WORDS, /* no method given: keywords are quoted, whole words */
    SR_KEYWORD_REGEX, /* keywords are raw regular expressions */
    SR_KEYWORD_BM25,
    SR_KEYWORD_NGRAM,
    SR_KEYWORD_FUZZY, /* as a file says it: after the load these are words with fuzzy_match */
};

#define SR_FUZZY_EDITS_MAX 16

struct sr_config_keyword {
    const char *name;
    enum sr_keyword_operator op;
    enum sr_keyword_method method;
    struct sr_strings keywords;
    struct sr_config_position *places; /* of the keywords in the file; NULL = not known */
    bool case_sensitive;
    bool fuzzy_match;
    int fuzzy_threshold; /* up to SR_FUZZY_EDITS_MAX: edit distance, 2; above: least similarity in percent */
    double bm25_threshold;  /* 0.1 */
    double ngram_threshold; /* 0.4 */
    int ngram_arity;        /* 3 */
};

struct sr_config_model_score {
    const char *model;
    double score;
    bool use_reasoning;
};

/* routing.signals.domains[] */
struct sr_config_domain {
    const char *name;
    const char *description;
    struct sr_strings mmlu_categories; /* labels of the classifier; empty = its own name */
    struct sr_config_model_score *scores;
    size_t n_scores;
};

/* routing.signals.context[] */
struct sr_config_context {
    const char *name;
    uint64_t min_tokens;
    uint64_t max_tokens; /* UINT64_MAX when absent */
};

/* routing.signals.language[] */
struct sr_config_language {
    const char *name; /* ISO 639-1 code, the rule's name as well */
    double threshold; /* 0.3 */
};

/* routing.signals.embeddings[] */
enum sr_aggregation { SR_AGGREGATION_MAX, SR_AGGREGATION_MEAN, SR_AGGREGATION_ANY };

struct sr_config_embedding {
    const char *name;
    struct sr_strings candidates;
    double threshold; /* 0.75 */
    enum sr_aggregation aggregation;
};

/* global.model_catalog.external[]: a model that is asked over HTTP. */
struct sr_config_external {
    const char *role; /* SR_ROLE_OF_PREFERENCES; others are not asked */
    const char *host, *path;
    int port;
    int tls;                 /* 0: plain HTTP */
    const char *model, *key; /* key: "" = none */
    uint64_t timeout_ms;
};

#define SR_ROLE_OF_PREFERENCES "preference"

/* routing.signals.jailbreak[] */
enum sr_jailbreak_method { SR_JAILBREAK_CLASSIFIER, SR_JAILBREAK_CONTRASTIVE };

struct sr_config_jailbreak {
    const char *name;
    double threshold;     /* probability of an attack from which it matches; contrastive: the margin */
    bool include_history; /* true: everything; false: not what stands before the last user message */
    enum sr_jailbreak_method method;
    struct sr_strings attacks, benign; /* contrastive: example texts */
};

/* routing.signals.pii[]; masks have a bit for each enum sr_entity_type */
struct sr_config_pii {
    const char *name;
    double threshold;
    struct sr_strings types_allowed;
    struct sr_name_values type_thresholds;
    double thresholds[SR_ENTITY_TYPES]; /* `threshold` unless type_thresholds overrides it */
    uint32_t allowed;
    bool include_history;
};

/* routing.signals.structure[] */
enum sr_structure_feature {
    SR_STRUCTURE_EXISTS,
    SR_STRUCTURE_COUNT,
    SR_STRUCTURE_DENSITY,
    SR_STRUCTURE_SEQUENCE
};
enum sr_structure_source { SR_STRUCTURE_REGEX, SR_STRUCTURE_KEYWORD_SET, SR_STRUCTURE_SEQUENCES };

struct sr_config_structure {
    const char *name;
    const char *description;
    enum sr_structure_feature feature;
    enum sr_structure_source source;
    const char *pattern;
    struct sr_config_position pattern_at;
    struct sr_strings keywords;
    struct sr_strings *sequences; /* each a list of words that must follow one another */
    size_t n_sequences;
    bool case_sensitive;
    struct sr_config_predicate predicate;
};

/* routing.signals.conversation[] */
enum sr_conversation_source {
    SR_CONVERSATION_MESSAGE,
    SR_CONVERSATION_TOOL_DEFINITION,
    SR_CONVERSATION_TOOL_CHOICE_REQUIRED,
    SR_CONVERSATION_TOOL_CHOICE_NONE,
    SR_CONVERSATION_TOOL_CALL,
    SR_CONVERSATION_TOOL_CYCLE,
    SR_CONVERSATION_TOOL_LOOP,
    SR_CONVERSATION_IMAGE,
};

struct sr_config_conversation {
    const char *name;
    const char *description;
    int counts; /* the measured value is the number; else 1 or 0 */
    enum sr_conversation_source source;
    const char *role; /* of messages; "" = any */
    struct sr_config_predicate predicate;
};

/* routing.signals.metadata[]: one of the three */
struct sr_config_metadata {
    const char *name;
    const char *description;
    const char *key;
    const char *equals;   /* NULL = not given */
    struct sr_strings in; /* none = not given */
    bool exists;          /* what is wanted where neither is given */
};

/* routing.signals.events[] */
struct sr_config_event {
    const char *name;
    const char *description;
    struct sr_strings event_types, severities, action_codes;
    bool temporal;
};

/* routing.signals.role_bindings[] */
struct sr_config_subject {
    int is_group;
    const char *name;
};

struct sr_config_binding {
    const char *role; /* what rules name */
    const char *name;
    const char *description;
    struct sr_config_subject *subjects;
    size_t n_subjects;
};

/* routing.signals.fact_check[], user_feedbacks[], modality[]: a rule is a label of the classifier */
struct sr_config_label {
    const char *name;
    const char *description;
    int label; /* index in the signal's list of labels */
};

/* routing.signals.reasks[] */
struct sr_config_reask {
    const char *name;
    const char *description;
    double threshold;
    int lookback_turns;
};

/* routing.signals.preferences[] */
struct sr_config_preference {
    const char *name;
    const char *description;
    struct sr_strings examples; /* none: the description */
    double threshold;           /* 0 = none */
};

/* global.model_catalog.kbs[] */
struct sr_config_kb_metric {
    const char *name;
    const char *positive_group, *negative_group;
};

struct sr_config_kb {
    const char *name;
    const char *path;     /* a folder; relative to the configuration's */
    const char *manifest; /* "labels.json" */
    bool absent;          /* the manifest is not on this machine: rules and scores do without */
    double threshold;
    struct sr_name_values label_thresholds; /* numbers as texts */
    struct sr_named_strings *groups;        /* labels under a common name */
    size_t n_groups;
    struct sr_config_kb_metric *metrics;
    size_t n_metrics;
};

/* routing.signals.kb[] */
struct sr_config_kb_rule {
    const char *name;
    const char *kb;
    int is_group; /* what `value` names */
    const char *value;
    int is_best; /* it must be the best of all; else it must reach its threshold */
};

/* routing.signals.complexity[]: rules name NAME:hard, NAME:medium and NAME:easy */
struct sr_config_complexity {
    const char *name;
    const char *description;
    double threshold;              /* of the margin: above it hard, below its negative easy */
    double hard_above, easy_below; /* in its place; NAN = not given */
    struct sr_strings hard, easy;
    struct sr_config_rule composer; /* must match, too */
    bool has_composer;
};

/* routing.projections */
struct sr_config_partition {
    const char *name;
    int softmax; /* the winner's confidence is its share */
    double temperature;
    struct sr_strings members;
    const char *fallback; /* matches where no member does; "" = none */
};

enum sr_projection_value { SR_PROJECTION_BINARY, SR_PROJECTION_CONFIDENCE, SR_PROJECTION_RAW };

struct sr_config_score_input {
    const char *type; /* a signal type, or "kb_metric" */
    const char *name;
    const char *kb, *metric; /* of type kb_metric */
    double weight;
    enum sr_projection_value value;
    double match, miss; /* binary: the value when the rule matches, and when it does not */
};

struct sr_config_score {
    const char *name;
    struct sr_config_score_input *inputs;
    size_t n_inputs;
};

struct sr_config_band {
    const char *name; /* what rules of type `projection` name */
    struct sr_config_predicate bounds;
};

struct sr_config_mapping {
    const char *name;
    const char *source; /* a score */
    int all;            /* every band that fits matches; else the first */
    double slope;       /* of the confidence */
    struct sr_config_band *bands;
    size_t n_bands;
};

#endif
