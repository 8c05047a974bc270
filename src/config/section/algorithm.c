/* `routing.decisions[].algorithm`: which algorithm, and the block of each. */
#include "config/section/section.h"

#define ALGORITHM(member) offsetof(struct sr_config_algorithm, member)

static const struct sr_field weight_fields[] = {
    {"quality", SR_FIELD_NUMBER, ALGORITHM(multi_factor.weights.quality), .def = "0.25", .min = 0, .max = 1e6,
     .help = "of `quality_score` in the model's card; higher is better"},
    {"latency", SR_FIELD_NUMBER, ALGORITHM(multi_factor.weights.latency), .def = "0.25", .min = 0, .max = 1e6,
     .help = "of the measured time a token, where none is known of the time to the first token"},
    {"cost", SR_FIELD_NUMBER, ALGORITHM(multi_factor.weights.cost), .def = "0.25", .min = 0, .max = 1e6,
     .help = "of the model's `pricing` for this request's tokens"},
    {"load", SR_FIELD_NUMBER, ALGORITHM(multi_factor.weights.load), .def = "0.25", .min = 0, .max = 1e6,
     .help = "of the requests that the model has in progress"},
};
static const struct sr_section weights_section = {
    .name = "weights",
    .help = "How much each factor counts, relative to the others. A factor that is not known of a candidate "
            "does not count for it.",
    SR_FIELDS(weight_fields),
};

static const struct sr_field slo_fields[] = {
    {"max_tpot_ms", SR_FIELD_NUMBER, ALGORITHM(multi_factor.slo.max_tpot_ms), .def = "0", .min = 0,
     .max = 1e9, .help = "time for each token after the first, at `latency_percentile`; 0 = no limit"},
    {"max_ttft_ms", SR_FIELD_NUMBER, ALGORITHM(multi_factor.slo.max_ttft_ms), .def = "0", .min = 0,
     .max = 1e9, .help = "time to the first token, at `latency_percentile`; 0 = no limit"},
    {"max_cost_per_1m", SR_FIELD_NUMBER, ALGORITHM(multi_factor.slo.max_cost_per_1m), .def = "0", .min = 0,
     .max = 1e9, .help = "price of a million prompt tokens; 0 = no limit"},
    {"max_inflight", SR_FIELD_NUMBER, ALGORITHM(multi_factor.slo.max_inflight), .def = "0", .min = 0,
     .max = 1e9, .help = "requests that the model has in progress; 0 = no limit"},
};
static const struct sr_section slo_section = {
    .name = "slo",
    .help = "Limits: a candidate beyond one of them is left out. What is not known is within.",
    SR_FIELDS(slo_fields),
};

static const struct sr_enum_word no_candidates[] = {{"cheapest", SR_NO_CANDIDATES_CHEAPEST},
                                                    {"first", SR_NO_CANDIDATES_FIRST},
                                                    {"fail", SR_NO_CANDIDATES_FAIL},
                                                    {NULL, 0}};
static const struct sr_field multi_factor_fields[] = {
    {"weights", SR_FIELD_OBJECT, .of = &weights_section, .help = "how much each factor counts"},
    {"slo", SR_FIELD_OBJECT, .of = &slo_section, .help = "limits beyond which a candidate is left out"},
    {"latency_percentile", SR_FIELD_INT, ALGORITHM(multi_factor.latency_percentile), .def = "95", .min = 1,
     .max = 100, .help = "of the latest times of each model"},
    {"on_no_candidates", SR_FIELD_ENUM, ALGORITHM(multi_factor.on_no_candidates), .words = no_candidates,
     .def = "cheapest", .help = "when all are left out: the cheapest, the first, or `fail` (503)"},
};
static const struct sr_section multi_factor_section = {
    .name = "multi_factor",
    .help = "Quality, latency, cost and load of each candidate, brought to 0..1 among the candidates.",
    SR_FIELDS(multi_factor_fields),
    .later = (const char *const[]){"objective", "quality_index", "quality_on_missing", "quality_min_coverage",
                                   "quality_min_score", "latency_metric", NULL},
};

static const struct sr_field latency_aware_fields[] = {
    {"description", SR_FIELD_TEXT, ALGORITHM(latency_aware.description), .help = "for people"},
    {"tpot_percentile", SR_FIELD_INT, ALGORITHM(latency_aware.tpot_percentile), .def = "0", .max = 100,
     .help = "of the latest times for each token after the first; 0 = they do not count"},
    {"ttft_percentile", SR_FIELD_INT, ALGORITHM(latency_aware.ttft_percentile), .def = "0", .max = 100,
     .help = "of the latest times to the first token; 0 = they do not count"},
};
static const struct sr_section latency_aware_section = {
    .name = "latency_aware",
    .help = "The fastest candidate, by the mean of its times relative to the best ones. Without a time of a "
            "candidate it is passed over; without any the first is taken.",
    SR_FIELDS(latency_aware_fields),
};

static const struct sr_field knn_fields[] = {
    {"pretrained_path", SR_FIELD_TEXT, ALGORITHM(knn.path), .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY,
     .help = "a JSON file with `embeddings`, `labels` (models) and, where known, `qualities`, `latencies`, "
             "`k`"},
    {"k", SR_FIELD_INT, ALGORITHM(knn.k), .def = "0", .max = 1024,
     .help = "neighbours that vote; 0 = the file's `k`, else 5"},
};
static const struct sr_section knn_section = {
    .name = "knn",
    .help = "The model with which requests of a similar meaning did best, from a file of the user's own.",
    SR_FIELDS(knn_fields),
};

static const struct sr_field learned_fields[] = {
    {"model", SR_FIELD_TEXT, ALGORITHM(learned.path), .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY,
     .help = "a file that `semroute train selection` wrote"},
    {"cost_weight", SR_FIELD_NUMBER, ALGORITHM(learned.cost_weight), .def = "0.1", .min = 0, .max = 100,
     .help = "how much likelier a right answer must be for the price of the dearest model: 0 = quality "
             "alone"},
    {"budget", SR_FIELD_NUMBER, ALGORITHM(learned.budget), .def = "0", .max = 1,
     .help = "instead of `cost_weight`: the mean cost that is wanted, as a share of the dearest model's; 0 = "
             "`cost_weight` holds"},
};
static const struct sr_section learned_section = {
    .name = "learned",
    .help = "The candidate with the best predicted quality for its cost, as fitted to the user's own "
            "outcomes.",
    SR_FIELDS(learned_fields),
};

static const struct sr_field bandit_fields[] = {
    {"enabled", SR_FIELD_BOOL, ALGORITHM(bandit.enabled), .def = "true",
     .help = "`false`: the candidates are chosen as by `static`, and nothing is learned"},
    {"exploration", SR_FIELD_NUMBER, ALGORITHM(bandit.exploration), .def = "0.05", .min = 0, .max = 0.5,
     .help = "the share of requests that go to any candidate by chance"},
    {"cost_weight", SR_FIELD_NUMBER, ALGORITHM(bandit.cost_weight), .def = "0.1", .min = 0, .max = 100,
     .help = "what the cost takes off the quality (0..1), for the dearest candidate"},
    {"latency_weight", SR_FIELD_NUMBER, ALGORITHM(bandit.latency_weight), .def = "0.1", .min = 0, .max = 100,
     .help = "what the time to the first token takes off the quality, at `latency_scale_ms`"},
    {"latency_scale_ms", SR_FIELD_NUMBER, ALGORITHM(bandit.latency_scale_ms), .def = "10000", .min = 0,
     .max = 1e9, .flags = SR_FIELD_EXCLUSIVE, .help = "a time to the first token that is wholly slow"},
    {"memory", SR_FIELD_INT, ALGORITHM(bandit.memory), .def = "500", .min = 1, .max = 1000000,
     .help = "after so many outcomes of a candidate an older one counts half"},
};
static const struct sr_section bandit_section = {
    .name = "bandit",
    .help = "The candidate that did best so far, by the outcomes that POST /api/v1/feedback reports, by "
            "latency and by cost.",
    SR_FIELDS(bandit_fields),
};

/* With 1 the algorithm compares the meaning of requests. */
static const struct sr_enum_word types[] = {{"static", 0}, {"multi_factor", 0}, {"latency_aware", 0},
                                            {"knn", 1},    {"learned", 1},      {"bandit", 0},
                                            {NULL, 0}};

bool sr_algorithm_reads_meaning(const struct sr_config_algorithm *algorithm, size_t n_candidates)
{
    for (const struct sr_enum_word *type = types; type->word && algorithm->type && n_candidates > 1; type++)
        if (strcmp(type->word, algorithm->type) == 0)
            return type->value != 0;
    return false;
}

bool sr_config_chooses_by_meaning(const struct sr_config *config)
{
    for (size_t i = 0; i < config->n_decisions; i++)
        if (sr_algorithm_reads_meaning(&config->decisions[i].algorithm, config->decisions[i].n_refs))
            return true;
    return false;
}

static const char *const types_later[] = {"router_dc",  "automix", "hybrid", "kmeans",        "svm",
                                          "mlp",        "prompt",  "elo",    "rl_driven",     "gmtrouter",
                                          "ratings",    "remom",   "fusion", "session_aware", "workflows",
                                          "confidence", NULL};

#define UNREAD(block)                                                                                        \
    {                                                                                                        \
        block, "it is not the block of an algorithm that can be chosen", false                               \
    }

/* The algorithms whose block must be there, because it names their file. */
static const char *const with_files[] = {"knn", "learned"};

#define BLOCKS(base)                                                                                         \
    {"multi_factor", SR_FIELD_OBJECT, (base), .of = &multi_factor_section,                                   \
     .help = "with the type `multi_factor`: quality, latency, cost and load, with limits"},                  \
        {"latency_aware", SR_FIELD_OBJECT, (base), .of = &latency_aware_section,                             \
         .help = "with the type `latency_aware`: the fastest by percentiles"},                               \
        {"knn", SR_FIELD_OBJECT, (base), .of = &knn_section,                                                 \
         .help = "with the type `knn`: by the nearest known requests"},                                      \
        {"learned", SR_FIELD_OBJECT, (base), .of = &learned_section,                                         \
         .help = "with the type `learned`: by a predictor that was fitted to outcomes"},                     \
    {                                                                                                        \
        "bandit", SR_FIELD_OBJECT, (base),                                                                   \
            .of = &bandit_section, .help = "with the type `bandit`: by what the candidates' outcomes are"    \
    }

static const struct sr_field fields[] = {
    {"type", SR_FIELD_WORD, ALGORITHM(type), .words = types, .later = types_later, .def = "static",
     .help = "static: the candidate with the best score in the domain, else the first"},
    BLOCKS(0),
};

/* The block of the type must be there where it has a file to name; a lenient load goes on without. */
static void finish(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_algorithm *algorithm = target;
    for (size_t i = 0; i < sizeof with_files / sizeof with_files[0]; i++) {
        if (strcmp(algorithm->type, with_files[i]) != 0 || sr_yaml_get(node, with_files[i]))
            continue;
        sr_bind_unsupported(b, sr_bind_at(node, "type"),
                            "the type `%s` needs the block `%s`, which names its file", with_files[i],
                            with_files[i]);
        algorithm->type = "static";
    }
}

const struct sr_section sr_section_algorithm = {
    .name = "algorithm",
    .help = "How one of several candidates is chosen.",
    SR_FIELDS(fields),
    .inert = (const struct sr_inert_key[]){{"on_error", "one request is one call of one model", false},
                                           UNREAD("router_dc"),
                                           UNREAD("automix"),
                                           UNREAD("hybrid"),
                                           UNREAD("elo"),
                                           UNREAD("rl_driven"),
                                           UNREAD("gmtrouter"),
                                           UNREAD("session_aware"),
                                           UNREAD("kmeans"),
                                           UNREAD("svm"),
                                           UNREAD("mlp"),
                                           UNREAD("prompt"),
                                           UNREAD("confidence"),
                                           UNREAD("ratings"),
                                           UNREAD("remom"),
                                           UNREAD("fusion"),
                                           UNREAD("workflows"),
                                           {NULL, NULL, false}},
    .later = (const char *const[]){"momentum", NULL},
    .finish = finish,
};

#define SELECTION(member) offsetof(struct sr_config_global, model_selection.member)

static const struct sr_field selection_fields[] = {
    {"enabled", SR_FIELD_BOOL, SELECTION(enabled), .def = "true",
     .help = "`false`: decisions without an `algorithm` choose as by `static`"},
    {"method", SR_FIELD_WORD, SELECTION(algorithm.type), .words = types, .later = types_later,
     .def = "static", .help = "as `type` of a decision's `algorithm`"},
    BLOCKS(SELECTION(algorithm)),
};

/* A method without the block that names its file is what vLLM Semantic Router has by default: it has no say
 * there, and the first candidate is taken. */
static void finish_selection(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_algorithm *algorithm = &((struct sr_config_global *)target)->model_selection.algorithm;
    for (size_t i = 0; i < sizeof with_files / sizeof with_files[0]; i++) {
        if (strcmp(algorithm->type, with_files[i]) != 0 || sr_yaml_get(node, with_files[i]))
            continue;
        sr_bind_warning(b, sr_bind_at(node, "method"),
                        "`method: %s` has no block `%s`, which names its file: candidates are chosen as by "
                        "`static`",
                        with_files[i], with_files[i]);
        algorithm->type = "static";
    }
}

const struct sr_section sr_section_model_selection = {
    .name = "model selection",
    .help = "How one of several candidates is chosen where the decision does not say it.",
    SR_FIELDS(selection_fields),
    .inert = (const struct sr_inert_key[]){UNREAD("router_dc"),
                                           UNREAD("automix"),
                                           UNREAD("hybrid"),
                                           UNREAD("elo"),
                                           UNREAD("session_aware"),
                                           UNREAD("kmeans"),
                                           UNREAD("svm"),
                                           UNREAD("mlp"),
                                           {"ml", "`knn` names the file of its examples", true},
                                           {"models_path", "`knn` names the file of its examples", true},
                                           {NULL, NULL, false}},
    .later = (const char *const[]){"model_switch_gate", "lookup_tables", "momentum", NULL},
    .switched = (const char *const[]){"model_switch_gate", "lookup_tables", "momentum", NULL},
    .finish = finish_selection,
};
