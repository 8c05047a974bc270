/* `global`: the router, the classifier, and under `semroute` the keys that only this program has. */
#include "base/log.h"
#include "config/section/section.h"

#define GLOBAL(member) offsetof(struct sr_config_global, member)

static const struct sr_field skip_fields[] = {
    {"enabled", SR_FIELD_BOOL, GLOBAL(skip_processing), .def = "false",
     .help =
         "let requests with `x-vsr-skip-processing: true` bypass signals and decisions; with guards, only "
         "those of `global.semroute.guards.skip_tenants`"},
};
static const struct sr_section skip_section = {.name = "skip_processing",
                                               .help = "A header by which a client bypasses the router.",
                                               SR_FIELDS(skip_fields)};

static const struct sr_field streamed_fields[] = {
    {"enabled", SR_FIELD_BOOL, GLOBAL(extproc.streamed_body), .def = "true",
     .help = "whether such bodies are read; `false`: their requests pass unrouted, and are counted"},
    {"max_bytes", SR_FIELD_SIZE, GLOBAL(extproc.stream_max_bytes), .def = "0", .max = 0x1p31,
     .help =
         "the largest body that Envoy may send in chunks, over it 413; 0 = the gateway's `max_body_bytes`"},
    {"timeout_sec", SR_FIELD_INT64, GLOBAL(extproc.stream_timeout_sec), .def = "60", .min = 0, .max = 86400,
     .help = "until a body that Envoy sends in chunks is complete, else 408; 0 = no limit"},
};
static const struct sr_section streamed_section = {
    .name = "streamed_body",
    .help = "Bodies that Envoy sends in chunks.",
    SR_FIELDS(streamed_fields),
};

static const struct sr_enum_word sources[] = {{"file", 0}, {"kubernetes", 0}, {NULL, 0}};

static const struct sr_field router_fields[] = {
    {"auto_model_name", SR_FIELD_TEXT, GLOBAL(auto_model_name), .def = "MoM", .flags = SR_FIELD_NOT_EMPTY,
     .help = "a model name that asks the router to choose, besides `auto` and `vllm-sr/auto`"},
    {"auto_model_names", SR_FIELD_TEXTS, GLOBAL(auto_model_names), .help = "more such names"},
    {"include_config_models_in_list", SR_FIELD_BOOL, GLOBAL(include_config_models_in_list), .def = "false",
     .help = "whether /v1/models also shows the configured models"},
    {"strategy", SR_FIELD_ENUM, .words = sr_strategy_words, .flags = SR_FIELD_DECLARED,
     .help = "the strategy where `routing.strategy` is not given"},
    {"skip_processing", SR_FIELD_OBJECT, .of = &skip_section, .help = "a header that bypasses the router"},
    {"clear_route_cache", SR_FIELD_BOOL, GLOBAL(extproc.clear_route_cache), .def = "true",
     .help = "whether Envoy chooses its route again once `x-selected-model` is set"},
    {"streamed_body", SR_FIELD_OBJECT, .of = &streamed_section, .help = "bodies that Envoy sends in chunks"},
    {"config_source", SR_FIELD_ENUM, .words = sources, .def = "file", .flags = SR_FIELD_DECLARED,
     .help = "the configuration is this file, whatever the word"},
    {"model_selection", SR_FIELD_OBJECT, .of = &sr_section_model_selection,
     .help = "how one of several candidates is chosen where a decision has no `algorithm`"},
    {"learning", SR_FIELD_OBJECT, GLOBAL(learning), .of = &sr_section_learning,
     .help = "what earlier requests change in the choice of a model"},
};

static void finish_router(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_yaml_node *source = sr_yaml_get(node, "config_source");
    (void)target;
    if (source && source->kind == SR_YAML_SCALAR && sr_bytes_eq(source->text, SR_LIT("kubernetes")))
        sr_bind_warning(b, source,
                        "`config_source`: signals and decisions are read from this file, and no "
                        "resources of Kubernetes");
}
static const struct sr_section router_section = {
    .name = "global.router",
    .help = "Settings for every request.",
    SR_FIELDS(router_fields),
    .finish = finish_router,
};

static const struct sr_field metrics_fields[] = {
    {"enabled", SR_FIELD_BOOL, GLOBAL(metrics), .def = "true", .help = "whether /metrics answers"},
};
static const struct sr_section metrics_section = {
    .name = "metrics",
    .help = "Prometheus metrics.",
    SR_FIELDS(metrics_fields),
    .inert = (const struct sr_inert_key[]){
        {"windowed_metrics", "metrics are counters and histograms; a query chooses its window", false},
        {NULL, NULL, false}}};
static const struct sr_field observability_fields[] = {
    {"metrics", SR_FIELD_OBJECT, .of = &metrics_section, .help = "Prometheus metrics"},
    {"tracing", SR_FIELD_OBJECT, GLOBAL(tracing), .of = &sr_section_tracing,
     .help = "spans of each request, sent to an OpenTelemetry collector"},
};
static const struct sr_section observability_section = {
    .name = "observability",
    .help = "Observability.",
    SR_FIELDS(observability_fields),
};
static const struct sr_field services_fields[] = {
    {"observability", SR_FIELD_OBJECT, .of = &observability_section, .help = "metrics and traces"},
    {"authz", SR_FIELD_OBJECT, .of = &sr_section_authz, .help = "who is asking"},
    {"management_api", SR_FIELD_OBJECT, .of = &sr_section_management,
     .help = "who may use the admin listeners"},
    {"ratelimit", SR_FIELD_OBJECT, GLOBAL(limits), .of = &sr_section_ratelimit,
     .help = "how much clients may ask for"},
    {"router_replay", SR_FIELD_OBJECT, GLOBAL(replay), .of = &sr_section_router_replay,
     .help = "records of requests that have ended"},
};
static const struct sr_section services_section = {
    .name = "global.services",
    .help = "What the program offers besides routing.",
    SR_FIELDS(services_fields),
    .inert =
        (const struct sr_inert_key[]){
            {"response_api", "/v1/responses is forwarded, and the upstream keeps its responses", true},
            {"api", "batches of the classification API have limits of their own (docs/http.md)", false},
            {"startup_status", "/ready says it", false},
            {NULL, NULL, false}},
};

static const struct sr_field domain_fields[] = {
    {"threshold", SR_FIELD_NUMBER, GLOBAL(domain_threshold), .def = "0.6", .min = 0, .max = 1,
     .help = "the confidence from which a label counts"},
    {"fallback_category", SR_FIELD_TEXT, GLOBAL(domain_fallback), .def = "other",
     .help = "the domain of texts below that confidence"},
    {"model_id", SR_FIELD_TEXT, GLOBAL(domain_model), .def_note = "the built-in model",
     .help =
         "a linear text model (a .safetensors file), or the folder of an encoder with a classification head"},
};
static const struct sr_section domain_section = {
    .name = "domain classifier",
    .help = "The model behind the `domain` signal.",
    SR_FIELDS(domain_fields),
    .inert = (const struct sr_inert_key[]){SR_INERT_CLASSIFIER,
                                           {"enabled", SR_INERT_ENABLED, false},
                                           {"category_mapping_path", SR_INERT_LABELS, false},
                                           {NULL, NULL, false}},
};
static const struct sr_field preference_fields[] = {
    {"use_contrastive", SR_FIELD_BOOL, GLOBAL(preference_examples), .def = "false",
     .help = "true: examples decide, also where `external` has a model of the role `preference`"},
};
static const struct sr_section preference_section = {
    .name = "preference classifier",
    .help = "What answers the `preference` signal.",
    SR_FIELDS(preference_fields),
    .inert = (const struct sr_inert_key[]){{"embedding_model",
                                            "texts are embedded by the router's one encoder", true},
                                           {"prototype_scoring", SR_INERT_PROTOTYPES, false},
                                           {"enabled", SR_INERT_ENABLED, false},
                                           {NULL, NULL, false}},
};
static const struct sr_field classifier_fields[] = {
    {"domain", SR_FIELD_OBJECT, .of = &domain_section, .help = "the model behind the `domain` signal"},
    {"pii", SR_FIELD_OBJECT, .of = &sr_section_pii_classifier, .help = "what finds private data"},
    {"preference", SR_FIELD_OBJECT, .of = &preference_section,
     .help = "what answers the `preference` signal"},
};
static const struct sr_section classifier_section = {
    .name = "classifier",
    .help = "The classifiers.",
    SR_FIELDS(classifier_fields),
    .later = (const char *const[]){"mcp", NULL},
};
static const struct sr_field modules_fields[] = {
    {"classifier", SR_FIELD_OBJECT, .of = &classifier_section, .help = "the classifiers"},
    {"prompt_guard", SR_FIELD_OBJECT, .of = &sr_section_prompt_guard,
     .help = "the model behind the `jailbreak` signal"},
    {"prompt_compression", SR_FIELD_OBJECT, GLOBAL(compression), .of = &sr_section_compression,
     .help = "compression of long texts for signals"},
    {"hallucination_mitigation", SR_FIELD_OBJECT, .of = &sr_section_hallucination,
     .help = "the threshold of the `fact_check` signal"},
    {"feedback_detector", SR_FIELD_OBJECT, .of = &sr_section_feedback_detector,
     .help = "the threshold of the `user_feedback` signal"},
    {"modality_detector", SR_FIELD_OBJECT, .of = &sr_section_modality_detector,
     .help = "the words behind the `modality` signal"},
};
static const struct sr_section modules_section = {
    .name = "modules",
    .help = "What the models are used for.",
    SR_FIELDS(modules_fields),
    .inert = (const struct sr_inert_key[]){{"complexity", "the signal `complexity` compares examples", true},
                                           {NULL, NULL, false}},
};
static const struct sr_field catalog_fields[] = {
    {"modules", SR_FIELD_OBJECT, .of = &modules_section, .help = "what the models are used for"},
    {"embeddings", SR_FIELD_OBJECT, .of = &sr_section_embedding_models,
     .help = "models that turn texts into vectors"},
    {"kbs", SR_FIELD_LIST, GLOBAL(kbs), GLOBAL(n_kbs), .of = &sr_section_kb,
     .help = "knowledge bases, beside the built-in `mmlu_kb`"},
    {"external", SR_FIELD_LIST, GLOBAL(externals), GLOBAL(n_externals), .of = &sr_section_external,
     .help = "models that are asked over HTTP"},
};
static const struct sr_section catalog_section = {
    .name = "global.model_catalog",
    .help = "The models that semroute itself runs.",
    SR_FIELDS(catalog_fields),
    .inert = (const struct sr_inert_key[]){{"system", SR_INERT_FOLDER, true}, {NULL, NULL, false}},
};

static const struct sr_field admin_fields[] = {
    {"token", SR_FIELD_TEXT, GLOBAL(access.admin_token), .flags = SR_FIELD_NOT_EMPTY,
     .def_note = "none: only programs on the same machine are admitted",
     .help =
         "what requests send in `authorization: Bearer TOKEN`, except those for /health and /ready; write "
         "`${NAME}`"},
    {"open", SR_FIELD_BOOL, GLOBAL(access.admin_open), .def = "false",
     .help = "without a token: whether listeners on addresses that other machines reach answer more than "
             "/health and /ready"},
    {"hosts", SR_FIELD_TEXTS, GLOBAL(access.admin_hosts), .def_note = "`localhost` and IP addresses",
     .help = "without a token: names by which the listeners may be called, as in `Host` without the port"},
};

static void finish_admin(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_config_global *global = target;
    struct sr_bytes token = sr_bytes_str(global->access.admin_token);
    for (size_t i = 0; i < token.n; i++) {
        if (token.p[i] <= ' ' || token.p[i] > '~') {
            sr_bind_error(b, sr_bind_at(node, "token"), "`token` must have visible ASCII characters only");
            return;
        }
    }
}

static const struct sr_section admin_section = {
    .name = "admin",
    .help = "Who may use the admin listeners (API and metrics).",
    SR_FIELDS(admin_fields),
    .finish = finish_admin,
};

static const struct sr_enum_word levels[] = {{"debug", 0}, {"info", 1}, {"warn", 2}, {"error", 3}, {NULL, 0}};

static const struct sr_enum_word formats[] = {
    {"auto", SR_LOG_AUTO}, {"json", SR_LOG_ALWAYS_JSON}, {"text", SR_LOG_ALWAYS_TEXT}, {NULL, 0}};

static const struct sr_field selection_fields[] = {
    {"state_file", SR_FIELD_TEXT, GLOBAL(selection_state), .def_note = "none: a restart forgets",
     .help = "a file that keeps what the algorithm `bandit` has learned; it is written a few seconds after a "
             "change"},
};
static const struct sr_section selection_section = {
    .name = "selection",
    .help = "Algorithms that choose among the candidates of a decision.",
    SR_FIELDS(selection_fields),
};

static const struct sr_field semroute_fields[] = {
    {"override_confidence", SR_FIELD_NUMBER, GLOBAL(override_confidence), .def = "0", .min = 0, .max = 1,
     .help = "a classifier with at least this confidence wins over keywords of the same priority; 0 = never"},
    {"signal_deadline_ms", SR_FIELD_MS, GLOBAL(signal_deadline_ms), .def = "1000", .min = 1, .max = 600e3,
     .help = "the deadline of all signals of one request together, for a request without text"},
    {"signal_deadline_ms_per_kib", SR_FIELD_NUMBER, GLOBAL(signal_deadline_ms_per_kib), .def = "1", .min = 0,
     .max = 1000, .help = "what each KiB of text adds to that deadline"},
    {"signal_deadline_max_ms", SR_FIELD_MS, GLOBAL(signal_deadline_max_ms), .def = "25000", .min = 1,
     .max = 600e3,
     .help = "the deadline of the longest texts; `signal_deadline_ms` where that is more. Envoy's "
             "`max_message_timeout` must be half a second longer"},
    {"request_headers", SR_FIELD_BOOL, GLOBAL(request_headers), .def = "true",
     .help = "whether the upstream request gets the X-VSR-* headers"},
    {"debug_headers", SR_FIELD_BOOL, GLOBAL(debug_headers), .def = "false",
     .help = "whether every answer gets the headers of `x-vsr-debug`"},
    {"access_log", SR_FIELD_TEXT, GLOBAL(access_log), .def = "off", .flags = SR_FIELD_NOT_EMPTY,
     .help = "`stdout`, `off`, or a file"},
    {"access_log_signals", SR_FIELD_BOOL, GLOBAL(access_log_signals), .def = "false",
     .help = "whether each line of the access log has the score of every rule of every signal that ran"},
    {"log_level", SR_FIELD_WORD, GLOBAL(log_level), .words = levels, .def = "info",
     .help = "the least level that is logged"},
    {"log_format", SR_FIELD_ENUM, GLOBAL(log_format), .words = formats, .def = "auto",
     .help = "the log on standard error: auto (lines for people on a terminal, else JSON), json or text"},
    {"access_log_format", SR_FIELD_ENUM, GLOBAL(access_log_format), .words = formats, .def = "auto",
     .help = "the access log: auto (lines for people where `stdout` is a terminal, else JSON), json or text"},
    {"loops", SR_FIELD_INT, GLOBAL(loops), .def = "0", .max = 256,
     .help = "event loop threads; 0 = one for each core"},
    {"workers", SR_FIELD_INT, GLOBAL(workers), .def = "0", .max = 256,
     .help = "threads for long texts; 0 = one for each core"},
    {"endpoints", SR_FIELD_TEXTS, GLOBAL(access.endpoints), .flags = SR_FIELD_NOT_EMPTY,
     .def_note = "`[default]`: the endpoints of inference, see docs/http.md",
     .help = "the paths that requests are forwarded to, all others are 404; `default` in the list stands for "
             "the endpoints of inference"},
    {"allow_anonymous", SR_FIELD_BOOL, GLOBAL(access.allow_anonymous), .def = "false",
     .help = "whether clients without a trusted identity (`guards.tenant_header`) may use models whose "
             "backend has a key; else 401"},
    {"identity", SR_FIELD_OBJECT, GLOBAL(identity), .of = &sr_section_identity, .help = "who is asking"},
    {"limits", SR_FIELD_OBJECT, GLOBAL(limits), .of = &sr_section_limits,
     .help = "how much clients may ask for"},
    {"ready_needs_worker", SR_FIELD_BOOL, GLOBAL(ready_needs_worker), .def = "false",
     .help = "whether `/ready` and the health of ext_proc say no while health checks find every worker of "
             "every model down; else it is named only, and requests try the workers all the same"},
    {"admin", SR_FIELD_OBJECT, .of = &admin_section, .help = "who may use the admin listeners"},
    {"gateway", SR_FIELD_OBJECT, GLOBAL(gateway), .of = &sr_section_gateway, .help = "limits of the gateway"},
    {"extproc", SR_FIELD_OBJECT, GLOBAL(extproc), .of = &sr_section_extproc,
     .help = "the Envoy external processor"},
    {"inference", SR_FIELD_OBJECT, GLOBAL(inference), .of = &sr_section_inference,
     .help = "how encoders are run"},
    {"guards", SR_FIELD_OBJECT, GLOBAL(guards), .of = &sr_section_guards, .help = "settings of all guards"},
    {"cache", SR_FIELD_OBJECT, GLOBAL(cache), .of = &sr_section_cache,
     .help = "the response cache, beyond `stores.response_cache`"},
    {"replay", SR_FIELD_OBJECT, GLOBAL(replay), .of = &sr_section_replay,
     .help = "records of requests, beyond `services.router_replay`"},
    {"responses", SR_FIELD_OBJECT, GLOBAL(responses), .of = &sr_section_responses,
     .help =
         "where conversations of Responses are kept: `previous_response_id`, GET and DELETE of a response"},
    {"models", SR_FIELD_MAP, GLOBAL(policies), GLOBAL(n_policies), .of = &sr_section_policy,
     .help = "what models of `providers.models` may see"},
    {"tool_vectors", SR_FIELD_TEXT, GLOBAL(tool_vectors), .flags = SR_FIELD_NOT_EMPTY,
     .def_note = "the name of the tool database with `.vectors` added",
     .help = "the file that keeps what the encoder has read of a tool database, so that the next start need "
             "not read it again; `off`: none"},
    {"pools", SR_FIELD_LIST, GLOBAL(pools), GLOBAL(n_pools), .of = &sr_section_pool,
     .help = "how the workers of a model are chosen, beyond its `reliability`"},
    {"workloads", SR_FIELD_OBJECT, GLOBAL(workloads), .of = &sr_section_workloads,
     .help = "how it is known what a request is for, where a model has several pools"},
    {"tracing", SR_FIELD_OBJECT, GLOBAL(tracing), .of = &sr_section_trace_export,
     .help = "traces, beyond `services.observability.tracing`"},
    {"metrics_export", SR_FIELD_OBJECT, GLOBAL(metrics_export), .of = &sr_section_metrics_export,
     .help = "metrics sent to an OpenTelemetry collector"},
    {"selection", SR_FIELD_OBJECT, .of = &selection_section,
     .help = "algorithms that choose among the candidates of a decision"},
    {"canaries", SR_FIELD_LIST, GLOBAL(canaries), GLOBAL(n_canaries), .of = &sr_section_canary,
     .help = "shares of requests that are routed in a new way"},
};
static const struct sr_section semroute_section = {
    .name = "global.semroute",
    .help = "Settings that only semroute has.",
    .own = true,
    SR_FIELDS(semroute_fields),
};

static const struct sr_field global_fields[] = {
    {"router", SR_FIELD_OBJECT, .of = &router_section, .help = "settings for every request"},
    {"services", SR_FIELD_OBJECT, .of = &services_section, .help = "what the program offers besides routing"},
    {"model_catalog", SR_FIELD_OBJECT, .of = &catalog_section,
     .help = "the models that semroute itself runs"},
    {"integrations", SR_FIELD_OBJECT, .of = &sr_section_integrations,
     .help = "what requests are joined with"},
    {"stores", SR_FIELD_OBJECT, GLOBAL(cache), .of = &sr_section_stores, .help = "what outlives a request"},
    {"semroute", SR_FIELD_OBJECT, .of = &semroute_section, .help = "settings that only semroute has"},
};

const struct sr_section sr_section_global = {
    .name = "global",
    .help = "Settings of the program.",
    SR_FIELDS(global_fields),
};
