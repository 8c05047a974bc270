/* The plugin `response_cache` of a decision, under its four names, and the same keys for all other requests.
 */
#include "config/section/plugins.h"
#include "config/section/section.h"

#include <string.h>

#define USE(member)    offsetof(struct sr_config_cache_use, member)
#define PLUGIN(member) offsetof(struct sr_config_plugins, member)

static const struct sr_enum_word modes[] = {{"semantic", SR_CACHE_SEMANTIC},
                                            {"exact", SR_CACHE_EXACT},
                                            {"exact_then_semantic", SR_CACHE_SEMANTIC},
                                            {NULL, 0}};
static const struct sr_enum_word scopes[] = {{"user", SR_SCOPE_USER},
                                             {"team", SR_SCOPE_TEAM},
                                             {"tenant", SR_SCOPE_TENANT},
                                             {"global", SR_SCOPE_GLOBAL},
                                             {NULL, 0}};
static const struct sr_enum_word controls[] = {
    {"no-cache", SR_CONTROL_NO_CACHE}, {"no-store", SR_CONTROL_NO_STORE}, {"bypass", SR_CONTROL_BYPASS},
    {"max-age", SR_CONTROL_MAX_AGE},   {"ttl", SR_CONTROL_TTL},           {NULL, 0}};

static const struct sr_field semantic_fields[] = {
    {"similarity_threshold", SR_FIELD_NUMBER, USE(threshold), .min = 0, .max = 1, .flags = SR_FIELD_EXCLUSIVE,
     .def_note = "0.85",
     .help = "the least cosine between two questions that may share an answer; `semroute cache calibrate` "
             "proposes one"},
};
static const struct sr_section semantic_section = {
    .name = "response_cache semantic", .help = "Hits by meaning.", SR_FIELDS(semantic_fields)};

static const struct sr_field controls_fields[] = {
    {"enabled", SR_FIELD_BOOL, USE(controls), .def = "false",
     .help = "whether clients may control the cache by a header"},
    {"header", SR_FIELD_TEXT, USE(header), .flags = SR_FIELD_NOT_EMPTY, .def = "x-vsr-cache-control",
     .help = "the name of that header"},
    {"allowed", SR_FIELD_TEXTS, USE(allowed_words), .def_note = "[no-cache, no-store, bypass]",
     .help = "what counts in it: `no-cache`, `no-store`, `bypass`, `max-age`, `ttl` (seconds)"},
    {"max_ttl_seconds", SR_FIELD_INT64, USE(max_ttl_s), .def = "0", .min = 0, .max = 1e9,
     .help = "the longest `ttl` that a client gets; 0 = any"},
};
static const struct sr_section controls_section = {
    .name = "response_cache request_controls",
    .help = "What clients may say about the cache.",
    SR_FIELDS(controls_fields),
};

static const struct sr_field revision_fields[] = {
    {"cache_epoch", SR_FIELD_TEXT, USE(cache_epoch), .help = "any text; another one is an empty cache"},
    {"model_revision", SR_FIELD_TEXT, USE(model_revision), .help = "the same, for a new version of a model"},
    {"prompt_revision", SR_FIELD_TEXT, USE(prompt_revision), .help = "the same, for a new prompt"},
    {"policy_revision", SR_FIELD_TEXT, USE(policy_revision), .help = "the same, for a new policy"},
};
static const struct sr_section revision_section = {
    .name = "response_cache revision",
    .help = "Parts of every key: what was stored under other values is not found any more.",
    SR_FIELDS(revision_fields),
};

static const struct sr_field fields[] = {
    {"enabled", SR_FIELD_BOOL, USE(set), .def_note = "true", .help = "switches it off"},
    {"mode", SR_FIELD_ENUM, USE(mode), .words = modes, .def = "semantic",
     .help = "semantic (an exact hit comes first, too; also written exact_then_semantic) or exact"},
    {"scope", SR_FIELD_ENUM, USE(scope), .words = scopes, .def = "user",
     .help =
         "who shares answers: user, team, tenant or global. A request that a trusted header does not give "
         "that identity is not cached"},
    {"semantic", SR_FIELD_OBJECT, .of = &semantic_section, .help = "hits by meaning"},
    {"similarity_threshold", SR_FIELD_NUMBER, USE(threshold), .min = 0, .max = 1, .flags = SR_FIELD_EXCLUSIVE,
     .def_note = "`semantic.similarity_threshold`",
     .help = "the same, in its "
             "older place"},
    {"ttl_seconds", SR_FIELD_INT64, USE(ttl_s), .def = "-1", .min = -1, .max = 1e9,
     .help = "how long an answer is kept; -1 = as the store says, 0 = nothing is stored"},
    {"request_controls", SR_FIELD_OBJECT, .of = &controls_section,
     .help = "what clients may say about the cache"},
    {"revision", SR_FIELD_OBJECT, .of = &revision_section, .help = "parts of every key"},
};

static void prepare(void *target)
{
    struct sr_config_cache_use *use = target;
    use->threshold = 0.85;
    use->ttl_s = -1;
    use->allowed = SR_CONTROL_DEFAULT;
}

static uint32_t control_of(struct sr_bytes word)
{
    for (size_t i = 0; controls[i].word; i++)
        if (sr_bytes_eq(word, sr_bytes_str(controls[i].word)) ||
            (word.n && word.p[word.n - 1] == '=' &&
             sr_bytes_eq(sr_bytes_of(word.p, word.n - 1), sr_bytes_str(controls[i].word))))
            return (uint32_t)controls[i].value;
    return 0;
}

static void read_allowed(struct sr_binder *b, const struct sr_yaml_node *list,
                         struct sr_config_cache_use *use)
{
    use->allowed = 0;
    for (size_t i = 0; i < use->allowed_words.count; i++) {
        const char *word = use->allowed_words.items[i];
        uint32_t control = control_of(sr_bytes_str(word));
        if (!control)
            sr_bind_error(b, list->kind == SR_YAML_LIST && i < list->count ? list->items[i] : list,
                          "`allowed`: `%.40s` is none of no-cache, no-store, bypass, max-age and ttl", word);
        use->allowed |= control;
    }
}

static void finish(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_cache_use *use = target;
    const struct sr_yaml_node *allowed = sr_yaml_get(sr_yaml_get(node, "request_controls"), "allowed");
    if (!sr_yaml_get(node, "enabled"))
        use->set = true;
    if (allowed)
        read_allowed(b, allowed, use);
}

const struct sr_section sr_section_cache_use = {
    .name = "response_cache",
    .help = "Answers requests from earlier answers to the same question.",
    SR_FIELDS(fields),
    .inert = (const struct sr_inert_key[]){{"personalized",
                                            "answers are kept apart by user and prompt, and nothing is known "
                                            "of a user that would be added",
                                            false},
                                           {"control_header", "it is the header of `allow_request_controls`",
                                            false},
                                           {NULL, NULL, false}},
    .later = (const char *const[]){"allow_request_controls", NULL},
    .prepare = prepare,
    .finish = finish,
};

static const char *const aliases[] = {"response-cache", "semantic_cache", "semantic-cache", NULL};

const struct sr_variant sr_plugin_response_cache = {
    "response_cache",       "answers from earlier answers to the same question",
    &sr_section_cache_use,  PLUGIN(response_cache.set),
    PLUGIN(response_cache), aliases};
