/*
 * The configuration as plain data: what a `version: v0.3` file says, checked and with defaults filled in.
 *
 * A snapshot is immutable and reference-counted; every pointer in it lives as long as the snapshot.
 * Loading is in config/load.h; the layers above interpret the values.
 * Strings are NUL-terminated and never NULL (empty when absent) unless said otherwise.
 */
#ifndef SR_CONFIG_CONFIG_H
#define SR_CONFIG_CONFIG_H

#include "base/bytes.h"
#include "base/err.h"
#include "base/ref.h"
#include "config/algorithm.h"
#include "config/identity.h"
#include "config/limits.h"
#include "text/entity/entity.h"

#include <stdbool.h>
#include <stdint.h>

struct sr_named_strings {
    const char *name;
    struct sr_strings texts;
};

/* From 1; 0 where the file does not say it. */
struct sr_config_position {
    uint32_t line, column;
};

/* listeners[] */
struct sr_config_listener {
    const char *name;
    const char *address;
    int port;            /* 0 = any free one */
    uint64_t timeout_ms; /* a whole exchange; 0 = none */
};

/* providers.defaults.reasoning_families.<name> */
enum sr_reasoning_type {
    SR_REASONING_CHAT_TEMPLATE_KWARGS,
    SR_REASONING_EFFORT,           /* "reasoning_effort" */
    SR_REASONING_TOP_LEVEL_EFFORT, /* "top_level_reasoning_effort" */
};

struct sr_config_family {
    const char *name;
    enum sr_reasoning_type type;
    const char *parameter;
};

/* providers.models[].backend_refs[] */
struct sr_config_backend {
    const char *name;
    const char *scheme; /* "http" or "https" */
    const char *host;
    int port;
    const char *base_path;   /* path prefix before /v1..., no trailing slash; from base_url */
    bool unversioned;        /* the client's path follows it without its /v1 */
    const char *query;       /* is added to each request's query; empty = nothing */
    const char *chat_path;   /* replaces the path of chat completions; empty = as the client asked */
    const char *auth_header; /* "Authorization" */
    const char *auth_prefix; /* "Bearer" */
    const char
        *api_key; /* resolved from api_key or api_key_env; empty = the client's own header is forwarded */
    struct sr_name_values extra_headers;
    double weight;           /* relative share, > 0 */
    const char *tls_ca_file; /* empty = the system's */
    bool tls_verify;
};

/* How a worker of a model is chosen. */
enum sr_balance { SR_BALANCE_ROUND_ROBIN, SR_BALANCE_LEAST_REQUEST };

/* Failures of a worker after which a request may be tried again. */
enum sr_retry_on {
    SR_RETRY_CONNECT = 1, /* nothing was sent */
    SR_RETRY_RESET = 2,   /* the connection ended before the head of an answer */
    SR_RETRY_TIMEOUT = 4, /* no head of an answer in time */
    SR_RETRY_429 = 8,
    SR_RETRY_GATEWAY = 16, /* 502, 503, 504 */
    SR_RETRY_5XX = 32,     /* every status from 500 but 501 */
    SR_RETRY_DEFAULT = 63,
};

/* providers.models[].reliability */
struct sr_config_reliability {
    int balance;       /* enum sr_balance */
    int retries;       /* -1: the gateway's */
    uint32_t retry_on; /* bits of enum sr_retry_on */
    uint32_t consecutive_failures;
    uint64_t base_ejection_ms;
    uint32_t max_ejection_percent;
    const char *health_check_path; /* "" = no active checks */
    uint64_t health_check_interval_ms, health_check_timeout_ms;
};

/* The API that a model's upstream speaks. */
enum sr_speaks {
    SR_SPEAKS_ANY, /* that of the request */
    SR_SPEAKS_CHAT,
    SR_SPEAKS_RESPONSES,
    SR_SPEAKS_MESSAGES,
};

/* providers.models[] */
struct sr_config_model {
    const char *name;
    const char *provider_model_id;      /* the name that the upstream uses; equals name unless set */
    struct sr_name_values external_ids; /* such names by the kind of a backend */
    int family;                         /* index in families, -1 = none */
    int api_format;                     /* enum sr_speaks */
    struct {
        const char *currency; /* "USD" */
        double prompt_per_1m, completion_per_1m, cached_input_per_1m, cache_write_per_1m;
        bool set;
    } pricing;
    struct sr_config_backend *backends;
    size_t n_backends;
    struct sr_config_reliability reliability;
    /* from routing.modelCards of the same name */
    const char *description;
    const char *param_size, *modality;
    uint64_t context_window;
    double quality_score;
    struct sr_strings capabilities, tags;
    struct sr_name_values loras; /* value: the description, "" = none */
};

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

/* routing.signals.jailbreak[] */
struct sr_config_jailbreak {
    const char *name;
    double threshold;     /* probability of an attack from which it matches */
    bool include_history; /* true: everything; false: not what stands before the last user message */
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

/* A comparison; absent bounds are NAN. */
struct sr_config_predicate {
    double gt, gte, lt, lte;
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

/* decisions[].rules: a tree, children in `children`. OR and NOT have children; an AND without any matches
 * with confidence 0. A leaf's `type` and `name` exist. */
enum sr_rule_op {
    SR_RULE_LEAF,
    SR_RULE_AND,
    SR_RULE_OR,
    SR_RULE_NOT,
    SR_RULE_UNKNOWN, /* a condition that a lenient load dropped: neither true nor false. on_error says what a
                        tree is worth that depends on it: SR_ON_ERROR_MATCH matches (it protects) */
};

enum sr_on_error { SR_ON_ERROR_NO_MATCH, SR_ON_ERROR_MATCH };

struct sr_config_rule {
    enum sr_rule_op op;
    const char *type;                     /* leaf: "keyword", "domain", "context", "structure", "language" */
    const char *name;                     /* leaf: the signal rule's name */
    enum sr_on_error on_error;            /* leaf: its result when the signal failed or could not read all */
    bool says_on_error;                   /* the file gives it; otherwise link/on_error.c chose it */
    struct sr_config_predicate predicate; /* leaf on a numeric value, where given */
    struct sr_config_rule *children;
    size_t n_children;
    uint32_t line, column;
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

struct sr_config_model_ref {
    int model; /* index in models */
    const char *lora_name;
    bool use_reasoning, says_reasoning; /* its value, and whether it is set */
    const char *reasoning_effort;       /* empty = default */
    const char *reasoning_description;
};

enum sr_prompt_mode { SR_PROMPT_INSERT, SR_PROMPT_REPLACE, SR_PROMPT_APPEND };

/* What a guard does with a request that its decision matches. */
enum sr_guard_action {
    SR_GUARD_ALLOW,  /* lets it pass, and no later guard is asked */
    SR_GUARD_FLAG,   /* forwards it and reports that in the answer's headers */
    SR_GUARD_ROUTE,  /* sends it to the decision's model */
    SR_GUARD_BLOCK,  /* answers it */
    SR_GUARD_REDACT, /* replaces private data with placeholders */
};

/* What happens to an answer that looks like the work of an attack. */
enum sr_response_action {
    SR_RESPONSE_HEADER, /* the answer continues, with a warning */
    SR_RESPONSE_BLOCK,  /* the client does not get it */
    SR_RESPONSE_NONE,   /* it is counted */
};

/* Who shares cached answers. */
enum sr_cache_scope { SR_SCOPE_USER, SR_SCOPE_TEAM, SR_SCOPE_TENANT, SR_SCOPE_GLOBAL };

enum sr_cache_mode {
    SR_CACHE_EXACT,
    SR_CACHE_SEMANTIC, /* and exact before it */
};

/* What a client may say in the header of request controls: bits. */
enum sr_cache_control {
    SR_CONTROL_NO_CACHE = 1, /* do not look */
    SR_CONTROL_NO_STORE = 2,
    SR_CONTROL_BYPASS = 4, /* both */
    SR_CONTROL_MAX_AGE = 8,
    SR_CONTROL_TTL = 16,
    SR_CONTROL_DEFAULT = 7,
};

/* The plugin response_cache, and global.semroute.cache.default. */
struct sr_config_cache_use {
    bool set;
    enum sr_cache_mode mode;
    enum sr_cache_scope scope;
    double threshold; /* least similarity of a semantic hit */
    int64_t ttl_s;    /* -1: the store's; 0: nothing is stored */
    bool controls;    /* `header` counts */
    const char *header;
    struct sr_strings allowed_words;
    uint32_t allowed;  /* the same as bits of enum sr_cache_control */
    int64_t max_ttl_s; /* of a client's `ttl`; 0: any */
    const char *cache_epoch, *model_revision, *prompt_revision, *policy_revision; /* parts of every key */
};

#define SR_TOOLS_INHERITED (-2.0) /* a threshold that no cosine has: it is global.integrations.tools' */

/* How tools are chosen by meaning: global.integrations.tools, and each plugin that does it. */
struct sr_config_tools {
    bool enabled;
    const char *file; /* the tool database; "" = none */
    int top_k;        /* tools that are added at most, above 0 */
    double threshold; /* least similarity of an added tool */
    bool empty;       /* nothing fits: the request has no tools; else an empty list */
    struct {
        bool enabled;
        int pool;         /* the best so many are weighed; 0 = five times top_k, at least 20 */
        int min_words;    /* of the question that a tool must share; 0 = none needed */
        double min_score; /* of the weighed sum; 0 = none needed */
        double embed, lexical, tag, name, category; /* weights */
        bool by_category;               /* tools of other categories than the question's are left out */
        double category_confidence;     /* from which the question's category counts */
        struct sr_strings allow, block; /* names; `allow` empty = all */
    } advanced;
};

enum sr_tools_mode { SR_TOOLS_PASSTHROUGH, SR_TOOLS_FILTERED, SR_TOOLS_NONE };
enum sr_tool_selection_mode { SR_TOOL_SELECTION_ADD, SR_TOOL_SELECTION_FILTER };

/* decisions[].plugins, one field each; `set` says whether the plugin is there. */
struct sr_config_plugins {
    struct {
        bool set;
        const char *message;
    } fast_response;
    struct {
        bool set;
        const char *text;
        enum sr_prompt_mode mode;
    } system_prompt;
    struct {
        bool set;
        struct sr_name_values add, update;
        struct sr_strings remove; /* key `delete` */
    } header_mutation;
    struct {
        bool set;
        struct sr_strings blocked_params;
        int64_t max_tokens_limit; /* 0 = none */
        int64_t max_n;            /* 0 = none */
        bool strip_unknown;
    } request_params;
    struct {
        bool set;
        enum sr_guard_action action;
        bool restore;        /* redact: the answer gets the values back */
        int status;          /* block: 403, or 200 for a completion that was filtered */
        const char *message; /* block: "" = a text that names the findings */
    } guard;
    struct {
        bool set;
        double threshold; /* 0: prompt_guard's */
        enum sr_response_action action;
        enum sr_on_error on_error; /* an answer that could not be classified */
    } response_jailbreak;
    struct sr_config_cache_use response_cache;
    struct {
        bool set;
        enum sr_tools_mode mode;
        bool semantic; /* a request without tools of its own gets those of the database that fit */
        struct sr_strings allow, block; /* names, in mode `filtered`; `allow` empty = all */
        bool strip_history;             /* mode `none`: earlier calls and their results go too */
    } tools;
    struct {
        bool set;
        enum sr_tool_selection_mode mode;
        struct sr_config_tools choice; /* what the plugin leaves out is global.integrations.tools' */
        bool own_empty, own_advanced;  /* the plugin gives choice.empty, choice.advanced */
        double relevance;              /* filter: least similarity of a tool that stays */
        int preserve;                  /* filter: the best so many stay */
    } tool_selection;
};

/* What a decision that matches does. */
enum sr_decision_mode {
    SR_MODE_ENFORCE,
    SR_MODE_SHADOW, /* nothing: that it matched is recorded */
};

struct sr_config_decision {
    const char *name;
    const char *description;
    enum sr_decision_mode mode;
    double share; /* of requests for which it counts, above 0; 1 = all */
    int64_t priority;
    int64_t tier;    /* 0 = none */
    bool of_tenants; /* it counts only for tenants that name it */
    bool has_rules;
    struct sr_config_rule rules; /* without rules: matches always, confidence 0 */
    struct sr_config_model_ref *refs;
    size_t n_refs;
    struct sr_config_algorithm algorithm;
    struct sr_config_plugins plugins;
};

enum sr_strategy { SR_STRATEGY_PRIORITY, SR_STRATEGY_CONFIDENCE };

/* global.semroute.gateway: the limits of the gateway door. Times in milliseconds, sizes in bytes. */
struct sr_config_gateway {
    size_t max_body_bytes;                    /* 32 MiB; over it 413 */
    uint32_t max_body_values;                 /* 262,144 values of interest; over it 413 */
    uint32_t max_body_strings;                /* 65,536; those after them are unread */
    size_t max_buffered_bytes;                /* 256 MiB, of all requests in progress; over it 503 */
    size_t max_header_bytes;                  /* 64 KiB; over it 431 */
    uint32_t max_connections;                 /* per process, 10,000; over it 503 */
    uint32_t max_connections_per_client;      /* 0: no limit; over it 503 */
    uint64_t header_timeout_ms;               /* 10,000: request head must be there; else 408 */
    uint64_t body_timeout_ms;                 /* 60,000: longest silence inside a body; else 408 */
    uint64_t request_timeout_ms;              /* 300,000: for a body in all; else 408 */
    uint64_t idle_timeout_ms;                 /* 75,000: keep-alive connection without a request */
    uint64_t drain_timeout_ms;                /* 30,000: after SIGTERM */
    const char *tls_cert_file, *tls_key_file; /* both or none */
    struct {
        uint64_t connect_timeout_ms;  /* 5,000 */
        uint64_t response_timeout_ms; /* 600,000: until the response head */
        uint64_t idle_timeout_ms;     /* 600,000: longest silence inside a response body */
        uint64_t keepalive_ms;        /* 60,000: an unused pooled connection */
        uint32_t max_idle;            /* pooled connections a backend and loop, 64 */
        int retries;                  /* 1: only when nothing was sent */
    } upstream;
};

/* global.semroute.extproc, and global.router's settings of Envoy's streams. */
struct sr_config_extproc {
    bool clear_route_cache;     /* true: Envoy chooses its route again after a verdict */
    bool streamed_body;         /* true: requests whose body comes in chunks are routed */
    size_t stream_max_bytes;    /* of a body that comes in chunks; 0: only the gateway's limit; over it 413 */
    int64_t stream_timeout_sec; /* 60: until a body that comes in chunks is complete; else 408; 0: none */
    const char *destination_header; /* gets the address of the model's backend; empty: none */
    uint64_t hold_ms;            /* 150: the reply to the headers waits that long where Envoy has a timer */
    size_t hold_bytes;           /* 768 KiB: or until that much of the body is there */
    size_t max_message_bytes;    /* 64 MiB */
    size_t max_passing_bytes;    /* of a body that passes through in chunks; over it 413; 0: none */
    uint32_t max_streams;        /* of the process, 20,000; over it 503, or 429 as an endpoint picker */
    uint32_t fallback_endpoints; /* 0: addresses besides the first that an endpoint picker names */
    bool streamed_replies;       /* false: this Envoy knows streamed_immediate_response */
    const char *tls_cert_file, *tls_key_file, *tls_client_ca_file;
};

/* global.model_catalog.modules.prompt_compression; weights, depth, first and last: 0 = the profile's */
struct sr_config_compression {
    bool enabled;
    const char *profile;            /* "default" */
    int max_tokens;                 /* 512; 0 = off */
    size_t min_length;              /* bytes */
    struct sr_strings skip_signals; /* types that read the original in addition to those that always do */
    double textrank, position, tfidf, novelty;
    double depth;
    int first, last;
    const char *tokenizer; /* a tokenizer.json that counts the tokens; empty: they are estimated */
    struct sr_config_position tokenizer_at; /* where the file names it */
};

/* global.semroute.models.<name> */
struct sr_config_policy {
    const char *model;
    bool allow_by_default; /* true: the model may see everything */
    struct sr_strings types_allowed;
    uint32_t allowed; /* mask over enum sr_entity_type; all where allow_by_default */
    int index;        /* in models */
};

/* What the picking policy of a pool reads (pool/settings.h), and how workers say what they have. */
struct sr_config_picking {
    const char *session_header; /* "" = none */
    double session_bound;
    uint32_t block_tokens;
    uint64_t blocks;
    double overlap_weight, temperature;
    double threshold;
    uint32_t recent;
    double load_guard;
    const char *metrics_path; /* "" = by the policy; `off` */
    uint64_t metrics_interval_ms;
};

/* How the workers of a pool tell what is in their KV caches. */
struct sr_config_kv_events {
    const char *endpoint, *replay; /* patterns of ZeroMQ endpoints; "" = none */
    const char *topic;             /* that topics begin with */
    uint64_t max_blocks;           /* that are known of one worker */
    const char *tokenize;          /* path; "" = no prompt is tokenized */
    uint64_t wait_ms;              /* for the tokens of a prompt */
};

/* What a request is for, by its form or as it says. */
enum sr_workload {
    SR_WORKLOAD_INTERACTIVE, /* what is none of the others */
    SR_WORKLOAD_LONG_CONTEXT,
    SR_WORKLOAD_AGENT, /* it has tools */
    SR_WORKLOAD_BATCH, /* no client waits for its answer */
    SR_WORKLOADS
};

/* Most pools of one model. */
#define SR_MODEL_POOLS_MAX 16

/* global.semroute.workloads: how the workload of a request is known. */
struct sr_config_workloads {
    const char *header;           /* that names it; "" = none */
    const char *metadata;         /* key of the body's `metadata` that names it; "" = none */
    uint64_t long_context_tokens; /* of the prompt */
};

/* global.semroute.pools[]: the workers of a model, and how one of them is chosen. */
struct sr_config_pool {
    const char *name;                       /* unique; the model's name unless set */
    const char *model_name;                 /* as given */
    const char *policy;                     /* of choosing; "" = the model's `lb_policy` */
    uint64_t max_prompt_tokens, max_tokens; /* of a request, with its answer in the second; 0: no limit */
    struct sr_strings workload_names;
    uint32_t workloads;         /* mask over enum sr_workload; 0: all */
    struct sr_strings backends; /* names of the model's backends that are its workers; none: all */
    struct sr_strings backups;  /* those of them that get requests only when no other can */
    struct sr_config_picking picking;
    struct sr_config_kv_events kv_events;
    int model;              /* index in models */
    uint32_t max_in_flight; /* requests at one worker; 0: no limit */
    struct {
        uint32_t max; /* requests that wait */
        uint64_t timeout_ms;
        const char *priority_header;      /* "" = none */
        struct sr_name_values priorities; /* of requests of these decisions; whole numbers */
    } queue;
    uint64_t slow_start_ms;
    struct {
        const char *file, *dns, *srv; /* at most one; "" = not given */
        const char *server;           /* of DNS, "" = the system's */
        uint64_t keep_ms;             /* how long the last good answer holds; 0: for ever */
    } endpoints;                      /* none: the model's backends */
};

/* What a model may read of a request and the router cannot. */
enum sr_unread_kind {
    SR_UNREAD_IMAGES, /* and videos */
    SR_UNREAD_AUDIO,
    SR_UNREAD_FILES,     /* their bytes, or ids of uploaded ones */
    SR_UNREAD_ENCRYPTED, /* reasoning, signatures */
    SR_UNREAD_TOKENS,    /* numbers of tokens, vectors */
    SR_UNREAD_LIMIT,     /* text past a limit */
    SR_UNREAD_KINDS
};

/* Whether content of a kind counts for guards. */
enum sr_unread_action { SR_UNREAD_ON_ERROR, SR_UNREAD_IGNORE };

/* global.services.management_api.auth.tokens[] */
struct sr_config_admin_token {
    const char *token; /* empty: its variable is not set, and it opens nothing */
    const char *role;
    bool reads; /* GET and HEAD */
    bool acts;  /* every request */
};

/* Who may call what: keys of global.semroute and of global.services.management_api. */
struct sr_config_access {
    struct sr_strings endpoints;   /* forwarded paths; none: those of inference (config/endpoints.h) */
    bool allow_anonymous;          /* clients without an identity may use a backend's key */
    const char *admin_token;       /* of the admin listeners; empty: none */
    bool admin_open;               /* they need no token on addresses that other machines reach */
    struct sr_strings admin_hosts; /* names in `Host` besides localhost and addresses */
    const char *auth_mode;         /* "none" or "bearer" */
    bool admin_bearer;             /* the admin listeners answer holders of a token alone */
    struct sr_config_admin_token *tokens;
    size_t n_tokens;
    struct sr_named_strings *roles; /* permissions by the name of a role */
    size_t n_roles;
};

/* global.semroute.guards.system_prompts: texts of the system role that are not judged as attacks */
struct sr_config_system_prompts {
    struct sr_strings sha256;          /* of the exact texts, 64 small hexadecimal digits */
    struct sr_strings trusted_tenants; /* whose texts these are */
};

/* global.semroute.guards */
struct sr_config_guards {
    bool explicit_models;           /* true: requests that name their model are guarded too */
    size_t memo_bytes;              /* 16 MiB: what is remembered of texts that were read; 0 = nothing */
    struct sr_strings skip_tenants; /* whose x-vsr-skip-processing also skips guards */
    const char *tenant_header;      /* keeps what is remembered apart by this header's value; "" = shared */
    const char *audit_log;          /* "stdout", "off" or a file */
    enum sr_unread_action unread[SR_UNREAD_KINDS]; /* SR_UNREAD_LIMIT: always on_error */
    struct sr_config_system_prompts system_prompts;
};

enum sr_cache_store { SR_STORE_MEMORY, SR_STORE_REDIS, SR_STORE_MILVUS };
enum sr_cache_order { SR_ORDER_FIFO, SR_ORDER_LRU, SR_ORDER_LFU };

/* global.stores.response_cache, global.semroute.cache */
struct sr_config_cache {
    bool enabled;
    enum sr_cache_store store;
    size_t max_entries;
    int64_t ttl_s; /* 0: for ever */
    enum sr_cache_order eviction;
    struct {
        struct sr_config_store_server server;
        const char *prefix;
    } redis;
    struct {
        struct sr_config_store_server server;
        const char *collection, *consistency;
        int m, ef_construction, ef;
    } milvus;
    const char *path, *key_file; /* of the file that keeps entries over a restart; "" = none */
    size_t max_bytes, max_entry_bytes, max_request_bytes;
    uint64_t lookup_timeout_ms; /* of a store */
    uint64_t wait_ms;           /* for an identical request in progress; 0: none waits */
    const char *team_header;
    struct sr_config_cache_use use; /* of requests whose decision has no plugin */
    const char *warm_file;          /* of known answers, filed at the start; "" = none */
};

/* How weights are held and multiplied. */
enum sr_config_precision { SR_CONFIG_FP32, SR_CONFIG_BF16, SR_CONFIG_INT8 };

/* global.model_catalog.embeddings and global.semroute.inference */
struct sr_config_inference {
    const char *encoder;    /* folder or name; empty: the default one, where it is found */
    int layers, dimensions; /* 0: all */
    int precision;          /* enum sr_config_precision */
    int neural_precision;   /* the same, of the neural classifier's trunk */
    int threads;            /* 0: by the machine */
    const char *cpus;       /* empty: all */
    size_t memory_max;      /* bytes */
    int queue_jobs, batch_tokens, batch_wait_us, max_windows;
    const char *neural; /* folder or name of heads on the encoder; empty: the bundled ones, where found */
    const char *models_folder; /* of model folders, in which those for tasks are found; empty: none */
    struct sr_config_position encoder_at, neural_at, models_folder_at; /* where the file names them */
    size_t neural_max; /* bytes of a text that the neural classifier reads; 0: any */
    bool alone;        /* the neural classifier without the other tiers; commands set it, no key does */
    double
        ask_below; /* a linear answer below this confidence goes to the neural classifier; 0: none, 1: all */
};

/* global.router and the rest of global that this program has. */
struct sr_config_global {
    struct sr_config_tools tools;
    const char *tool_vectors; /* file; "" = beside the database, "off" = none */
    const char *auto_model_name;
    struct sr_strings auto_model_names; /* "auto", "vllm-sr/auto", auto_model_name (MoM), auto_model_names */
    bool include_config_models_in_list;
    bool skip_processing;                /* honour x-vsr-skip-processing: true */
    double domain_threshold;             /* 0.6 */
    double fact_check_threshold;         /* of the label `needs_fact_check`: 0.5 */
    double feedback_threshold;           /* of the likeliest label: 0.5 */
    const char *domain_fallback;         /* "other" */
    const char *domain_model;            /* file; empty = the embedded one */
    enum sr_on_error jailbreak_on_error; /* of conditions that do not say it */
    double jailbreak_threshold;          /* of rules that have none: 0.7 */
    const char *jailbreak_model;         /* file; empty = the embedded one */
    struct sr_strings jailbreak_labels;  /* labels that mean an attack; none: all but benign ones */
    double pii_threshold;                /* of rules that have none: 0.7 */
    const char *pii_model;               /* folder; empty = the bundled neural classifier */
    double override_confidence;          /* fusion: a classifier at least this sure overrides; 0 = never */
    uint64_t signal_deadline_ms;         /* 1,000: of a request without text */
    double signal_deadline_ms_per_kib;   /* 1: more for each KiB of text */
    uint64_t signal_deadline_max_ms;     /* 25,000: but not more than this */
    bool request_headers;                /* X-VSR-* on the upstream request */
    bool debug_headers;                  /* the debug set without x-vsr-debug */
    const char *access_log;              /* "stdout", "off" or a file; "off" */
    const char *log_level;               /* debug, info, warn, error */
    bool metrics;
    int loops, workers; /* 0 = by the machine */
    struct sr_config_compression compression;
    struct sr_config_gateway gateway;
    struct sr_config_extproc extproc;
    struct sr_config_inference inference;
    struct sr_config_guards guards;
    struct sr_config_access access;
    struct sr_config_cache cache;
    const char *user_header, *groups_header; /* set by a trusted proxy; "" = none */
    struct sr_config_identity identity;
    struct sr_config_limits limits;
    struct sr_config_authz authz;
    struct sr_config_policy *policies;
    size_t n_policies;
    struct sr_config_pool *pools;
    size_t n_pools;
    struct sr_config_kb *kbs;
    size_t n_kbs;
    struct sr_strings image_words, both_words; /* of the modality signal; none: its own */
    struct sr_config_workloads workloads;
    const char *selection_state; /* the file of what algorithms have learned; "" = none */
};

struct sr_config {
    const char *path; /* the file; "(built-in)" for the default */
    struct sr_config_listener *listeners;
    size_t n_listeners;
    int default_model;        /* index in models, -1 = none */
    const char *default_lora; /* the default is this adapter of it; "" or NULL = none */
    const char *default_effort;
    struct sr_config_family *families;
    size_t n_families;
    struct sr_config_model *models;
    size_t n_models;
    struct sr_config_model *cards; /* routing.modelCards; carried over to `models`, use those */
    size_t n_cards;
    enum sr_strategy strategy;
    struct sr_config_keyword *keywords;
    size_t n_keywords;
    struct sr_config_domain *domains;
    size_t n_domains;
    struct sr_config_context *contexts;
    size_t n_contexts;
    struct sr_config_language *languages;
    size_t n_languages;
    struct sr_config_structure *structures;
    size_t n_structures;
    struct sr_config_jailbreak *jailbreaks;
    size_t n_jailbreaks;
    struct sr_config_pii *piis;
    size_t n_piis;
    struct sr_config_embedding *embeddings;
    size_t n_embeddings;
    struct sr_config_conversation *conversations;
    size_t n_conversations;
    struct sr_config_metadata *metadatas;
    size_t n_metadatas;
    struct sr_config_event *events;
    size_t n_events;
    struct sr_config_binding *bindings;
    size_t n_bindings;
    struct sr_config_label *fact_checks, *feedbacks, *modalities;
    size_t n_fact_checks, n_feedbacks, n_modalities;
    struct sr_config_reask *reasks;
    size_t n_reasks;
    struct sr_config_complexity *complexities;
    size_t n_complexities;
    struct sr_config_preference *preferences;
    size_t n_preferences;
    struct sr_config_kb_rule *kb_rules;
    size_t n_kb_rules;
    struct sr_config_partition *partitions;
    size_t n_partitions;
    struct sr_config_score *scores;
    size_t n_scores;
    struct sr_config_mapping *mappings;
    size_t n_mappings;
    struct sr_config_decision *decisions;
    size_t n_decisions;
    struct sr_config_global global;
    struct sr_strings watched; /* files with secrets or keys that it was read from, besides `path` */
    char revision[17]; /* 16 hex digits over the file's bytes: names the snapshot in logs and metrics */
    struct sr_ref
        *ref; /* the loader's count; NULL in one built by hand, which sr_config_ref/unref leave alone */
};

struct sr_config *sr_config_ref(const struct sr_config *config);
void sr_config_unref(const struct sr_config *config);

/* Leaves a configuration without rules of any signal. */
void sr_config_clear_rules(struct sr_config *config);

/* True when the backend's own headers have credentials: a key, or a header of that kind among
 * `extra_headers`. */
bool sr_config_backend_has_key(const struct sr_config_backend *backend);

/* Is this the name of a header that carries a client's or an operator's credentials? Without case; '_' counts
 * as '-'. */
bool sr_config_is_credential(struct sr_bytes header);

/* Index of a model by name, -1 when there is none. */
int sr_config_find_model(const struct sr_config *config, struct sr_bytes name);

/* Reads a priority of a queue: a whole number from -1000 to 1000. */
bool sr_config_priority(struct sr_bytes text, int *priority);

/* Is the backend one of the pool's workers, by its name? Where the pool lists none, all of its model are. */
bool sr_config_pool_has(const struct sr_config_pool *pool, const struct sr_config_backend *backend);

/* Does the pool keep this backend for when no other worker can take a request? */
bool sr_config_pool_is_backup(const struct sr_config_pool *pool, const struct sr_config_backend *backend);

/* The workload with this name, in any case; -1: there is none. */
int sr_config_find_workload(struct sr_bytes name);
const char *sr_config_workload_name(enum sr_workload workload);

/* True when the workers come from a file or DNS. */
bool sr_config_pool_discovers(const struct sr_config_pool *pool);

/* True when something may answer for the model: it has backends, or a pool discovers its workers. */
bool sr_config_is_served(const struct sr_config *config, int model);

/* True when a request that no signal reads goes round something that protects: a guard that is enforced, a
 * policy, a plugin that reads answers, or a decision about attacks or private data. */
bool sr_config_protects(const struct sr_config *config);

/* True when a decision chooses among its candidates by the meaning of the request. */
bool sr_config_chooses_by_meaning(const struct sr_config *config);

/* True when some requests may be answered from the cache; `by_meaning`: of those, some by meaning. */
bool sr_config_caches(const struct sr_config *config, bool by_meaning);

/* Milliseconds from the beginning of signals that read `bytes` of text until their deadline; 0 = none. */
uint64_t sr_config_signal_deadline_ms(const struct sr_config *config, uint64_t bytes);

/* Is this one of the names that ask the router to choose? */
bool sr_config_is_auto(const struct sr_config *config, struct sr_bytes name);

#endif
