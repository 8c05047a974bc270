/* `routing.signals.embeddings`, and the sections of their models: which encoder it is and how it is
 * run. The code that opens the folder reports whether it holds a model. */
#include "base/cpu.h"
#include "config/section/section.h"

#define EMBEDDING(member) offsetof(struct sr_config_embedding, member)
#define INFERENCE(member) offsetof(struct sr_config_inference, member)
#define GLOBAL(member)    offsetof(struct sr_config_global, member)

static const struct sr_enum_word aggregations[] = {
    {"max", SR_AGGREGATION_MAX}, {"mean", SR_AGGREGATION_MEAN}, {"any", SR_AGGREGATION_ANY}, {NULL, 0}};
static const struct sr_enum_word precisions[] = {
    {"fp32", SR_CONFIG_FP32}, {"bf16", SR_CONFIG_BF16}, {"int8", SR_CONFIG_INT8}, {NULL, 0}};

static const struct sr_enum_word multilingual_uses[] = {{"auto", SR_CONFIG_MULTILINGUAL_AUTO},
                                                        {"off", SR_CONFIG_MULTILINGUAL_OFF},
                                                        {"always", SR_CONFIG_MULTILINGUAL_ALWAYS},
                                                        {NULL, 0}};

static const struct sr_enum_word modalities[] = {{"text", 0}, {NULL, 0}};
static const char *const modalities_later[] = {"image", "audio", NULL};

static const struct sr_field embedding_fields[] = {
    {"name", SR_FIELD_TEXT, EMBEDDING(name), .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY,
     .help = "the name that rules refer to"},
    {"candidates", SR_FIELD_TEXTS, EMBEDDING(candidates), .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY,
     .help = "texts with the meaning that the rule stands for"},
    {"threshold", SR_FIELD_NUMBER, EMBEDDING(threshold), .def = "0.75", .min = -1, .max = 1,
     .help = "the cosine similarity from which it matches"},
    {"aggregation_method", SR_FIELD_ENUM, EMBEDDING(aggregation), .words = aggregations, .def = "max",
     .help = "max: the nearest candidate counts; mean: the mean of all; any: the first that reaches the "
             "threshold"},
    {"query_modality", SR_FIELD_ENUM, .words = modalities, .later = modalities_later, .def = "text",
     .flags = SR_FIELD_DECLARED, .help = "only text is read"},
};

static void finish_embedding(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_config_embedding *rule = target;
    const struct sr_yaml_node *list = sr_yaml_get(node, "candidates");
    for (size_t i = 0; i < rule->candidates.count; i++)
        if (!rule->candidates.items[i][0])
            sr_bind_error(b, list && i < list->count ? list->items[i] : node, "a candidate is empty");
}

const struct sr_section sr_section_embedding = {
    .name = "embedding rule",
    .help = "Texts that are close to the user's text in meaning.",
    .size = sizeof(struct sr_config_embedding),
    SR_FIELDS(embedding_fields),
    .inert = (const struct sr_inert_key[]){{"description", SR_INERT_NOTE, false}, {NULL, NULL, false}},
    .finish = finish_embedding,
};

#define SR_INERT_THRESHOLD "an embedding rule counts by its own `threshold` and `aggregation_method`"
#define SR_INERT_ENCODER   "rules are embedded by the encoder of `mmbert_model_path`, else by the built-in one"

static const struct sr_field dimension_fields[] = {
    {"target_dimension", SR_FIELD_INT, GLOBAL(inference.dimensions), .def = "0", .max = 65535,
     .help = "the number of leading dimensions of a vector that are used (for models that are trained for "
             "it); 0 = all"},
    {"target_layer", SR_FIELD_INT, GLOBAL(inference.layers), .def = "0", .max = 65535,
     .help = "the layer to stop after (for models that are trained for it); 0 = the last"},
};
static const struct sr_section dimension_section = {
    .name = "embedding_config",
    .help = "Which part of the model's vectors is used.",
    SR_FIELDS(dimension_fields),
    .inert = (const struct sr_inert_key[]){{"backend", SR_INERT_RUNTIME, false},
                                           {"model_type", SR_INERT_FOLDER, false},
                                           {"preload_embeddings",
                                            "rules are embedded when the file is loaded, always", false},
                                           {"top_k", SR_INERT_THRESHOLD, false},
                                           {"min_score_threshold", SR_INERT_THRESHOLD, true},
                                           {"enable_soft_matching", SR_INERT_THRESHOLD, true},
                                           {"prototype_scoring", SR_INERT_THRESHOLD, true},
                                           {NULL, NULL, false}},
};

static const struct sr_field semantic_fields[] = {
    {"mmbert_model_path", SR_FIELD_TEXT, GLOBAL(inference.encoder),
     .def_note = "all-MiniLM-L6-v2, where it is found",
     .help = "folder of a Hugging Face encoder (BERT, RoBERTa, ModernBERT, mmBERT), or the name of one in "
             "the models folder"},
    {"embedding_config", SR_FIELD_OBJECT, .of = &dimension_section,
     .help = "which part of the model's vectors is used"},
};

static void finish_semantic(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    (void)b;
    struct sr_config_inference *inference = &((struct sr_config_global *)target)->inference;
    inference->encoder_at = sr_bind_position(sr_bind_at(node, "mmbert_model_path"));
}

static const struct sr_section semantic_section = {
    .name = "semantic embeddings",
    .help = "The model behind the `embedding` signal.",
    SR_FIELDS(semantic_fields),
    .inert = (const struct sr_inert_key[]){{"backend", SR_INERT_RUNTIME, false},
                                           {"endpoint", SR_INERT_ELSEWHERE, true},
                                           {"bert_model_path", SR_INERT_ENCODER, true},
                                           {"qwen3_model_path", SR_INERT_ENCODER, true},
                                           {"gemma_model_path", SR_INERT_ENCODER, true},
                                           {"multimodal_model_path", SR_INERT_ENCODER, true},
                                           {"use_cpu", SR_INERT_RUNTIME, false},
                                           {NULL, NULL, false}},
    .finish = finish_semantic,
};

static const struct sr_field embeddings_fields[] = {
    {"semantic", SR_FIELD_OBJECT, .of = &semantic_section, .help = "the model behind the `embedding` signal"},
};
const struct sr_section sr_section_embedding_models = {
    .name = "global.model_catalog.embeddings",
    .help = "Models that turn texts into vectors.",
    SR_FIELDS(embeddings_fields),
};

static const struct sr_field inference_fields[] = {
    {"precision", SR_FIELD_ENUM, INFERENCE(precision), .words = precisions, .def = "fp32",
     .help = "how the linear layers compute: fp32 as the model was published; bf16 and int8 are faster and "
             "slightly less exact (`semroute models verify` shows how much)"},
    {"neural_precision", SR_FIELD_ENUM, INFERENCE(neural_precision), .words = precisions, .def = "int8",
     .help = "the same for the neural classifier: int8 takes less than half of fp32's time, with the same "
             "accuracy on measured data, though single answers differ; a value other than `precision` needs "
             "a second trunk in memory"},
    {"multilingual", SR_FIELD_ENUM, INFERENCE(multilingual), .words = multilingual_uses, .def = "auto",
     .help = "what reads other languages than English (attacks, domain, private data), and uncertain English "
             "again: `auto`, heads on multilingual-e5-small, where it is there; `off`, the neural "
             "classifier; `always`, these heads, for every text"},
    {"threads", SR_FIELD_INT, INFERENCE(threads), .def = "0", .max = 64,
     .help = "threads that compute a batch; 0 = one for each core"},
    {"cpus", SR_FIELD_TEXT, INFERENCE(cpus), .def_note = "all that the process may use",
     .help = "the CPUs that these threads use, as in `0-3,8`"},
    {"memory_max", SR_FIELD_SIZE, INFERENCE(memory_max), .def = "1GiB", .min = 1 << 20, .max = 0x1p40,
     .help = "working memory of all batches; a text that needs more is refused"},
    {"queue_jobs", SR_FIELD_INT, INFERENCE(queue_jobs), .def = "4096", .min = 1, .max = 1 << 20,
     .help = "the maximum number of queued windows; more are refused"},
    {"batch_tokens", SR_FIELD_INT, INFERENCE(batch_tokens), .def = "1024", .min = 1, .max = 1 << 20,
     .help = "the maximum number of tokens of a batch; a longer sequence is computed alone"},
    {"batch_wait_us", SR_FIELD_INT, INFERENCE(batch_wait_us), .def = "500", .max = 1e6,
     .help = "microseconds that a batch waits for more jobs where other requests were seen; 0 = none"},
    {"max_windows", SR_FIELD_INT, INFERENCE(max_windows), .def = "16", .min = 1, .max = 1024,
     .help = "the maximum number of windows of a text that an `embedding` signal reads"},
    {"neural", SR_FIELD_TEXT, INFERENCE(neural), .def_note = "`neural`, where it is found and has a card",
     .help = "folder of heads on the encoder that classify texts, or the name of one in the models folder"},
    {"embedding_model", SR_FIELD_TEXT, INFERENCE(embedding_model), .def_note = "the encoder",
     .help =
         "the encoder whose vectors rules by meaning compare: a folder, or a name such as `multilingual`; it "
         "computes in int8, or in bf16 where `precision` is; thresholds are the model's own"},
    {"cache_embedding_model", SR_FIELD_TEXT, INFERENCE(cache_model), .def_note = "`embedding_model`",
     .help = "the same for the questions of the response cache"},
    {"models_folder", SR_FIELD_TEXT, INFERENCE(models_folder), .def_note = "none: the bundled models",
     .help =
         "folder of model folders: those for `domain`, `jailbreak` and `pii` are found by name or mapping "
         "file (`semroute models list DIR`); a `model_id` takes precedence"},
    {"ask_below", SR_FIELD_NUMBER, INFERENCE(ask_below), .def = "0.9", .max = 1,
     .help = "a linear answer below this confidence is completed by the neural classifier; 0 = never, 1 = "
             "always"},
    {"neural_max_bytes", SR_FIELD_SIZE, INFERENCE(neural_max), .def = "1MiB", .max = 1 << 30,
     .help = "text of a request that the neural classifier reads for a signal, what is most suspicious and "
             "newest "
             "first; the linear tier and the exact recognisers read the rest alone; 0 = all"},
};

static void finish_inference(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_inference *inference = target;
    struct sr_err err = {0};
    inference->neural_at = sr_bind_position(sr_bind_at(node, "neural"));
    inference->models_folder_at = sr_bind_position(sr_bind_at(node, "models_folder"));
    if (inference->cpus[0] && sr_cpu_list_check(inference->cpus, &err))
        sr_bind_error(b, sr_bind_at(node, "cpus"), "`cpus`: %s", err.message);
}

const struct sr_section sr_section_inference = {
    .name = "global.semroute.inference",
    .help = "How encoders are run.",
    SR_FIELDS(inference_fields),
    .finish = finish_inference,
};
