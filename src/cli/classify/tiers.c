/* The choice of a model by task and tier. */
#include "cli/classify/tiers.h"

#include "cli/cmd.h"
#include "infer/classifier/cascade.h"
#include "infer/locate.h"
#include "model/linear/linear.h"
#include "signal/neural/neural.h"

#include <string.h>
#include <sys/stat.h>

#define CERTAIN          0.9F /* the default of global.semroute.inference.ask_below */
#define ALWAYS           2.0F /* no answer is as sure */
#define DEFAULT_NEURAL   "neural"
#define NEURAL_PRECISION "int8" /* the default of global.semroute.inference.neural_precision */

static bool is_folder(const char *path)
{
    struct stat st;
    return path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int open_linear(const struct sr_tiers *tiers, struct sr_linear **out, struct sr_err *err)
{
    const char *file = tiers->encoder.model;
    if (!file)
        return sr_linear_open_domain(out, err);
    struct sr_err why = {0};
    int rc = sr_linear_open_file(out, file, NULL, &why);
    bool named = strncmp(why.message, file, strlen(file)) == 0;
    return rc == SR_OK ? rc
                       : sr_err_set(err, rc, "%s%s%s", named ? "" : file, named ? "" : ": ", why.message);
}

/* The neural classifier's heads on the default encoder, or the folder that was given with its own. */
static bool open_heads(const struct sr_usage *usage, const struct sr_tiers *tiers, bool own,
                       struct sr_tiers_model *model, char *heads, int *code)
{
    struct sr_cli_encoder_args args = tiers->encoder;
    struct sr_neural_options options = own ? sr_neural_own_defaults() : sr_neural_defaults();
    struct sr_err err = {0};
    int rc = SR_OK;
    if (!own) {
        args.model = NULL;
        args.precision = args.precision ? args.precision : NEURAL_PRECISION;
        rc = sr_locate_model(heads, tiers->neural ? tiers->neural : DEFAULT_NEURAL, &err);
    }
    if (rc == SR_OK && !sr_cli_encoder_open(usage, &args, own ? NULL : heads, own ? tiers->task : NULL,
                                            &model->encoder, code))
        return false;
    model->precision = sr_precision_name(sr_cli_encoder_precision(args.precision));
    if (rc == SR_OK)
        rc = sr_neural_new(&model->neural, model->encoder.encoder, model->encoder.infer, &options, &err);
    if (rc != SR_OK)
        *code = sr_cmd_fail(usage, SR_EXIT_FAILED, "%s", err.message[0] ? err.message : sr_strerror(rc));
    return rc == SR_OK;
}

/* The neural classifier of other scripts, opened by the first text that needs it. */
static int open_other(const struct sr_tiers *tiers, struct sr_tiers_model *model, struct sr_err *err)
{
    struct sr_config config = {0};
    const char *precision = tiers->encoder.precision ? tiers->encoder.precision : NEURAL_PRECISION;
    config.global.inference.neural_precision = (int)sr_cli_encoder_precision(precision);
    config.global.inference.threads = (int)tiers->encoder.threads;
    int rc = sr_model_store_new(&model->models, NULL);
    if (rc == SR_OK)
        rc = sr_multilingual_new(&model->other, &config, model->models, err);
    if (rc == SR_OK)
        rc = sr_multilingual_fusion(model->other, tiers->task, &model->other_fusion, err);
    if (rc == SR_OK && strcmp(model->tier, "neural") != 0) {
        model->second = (struct sr_fusion_second){.certain = SR_FUSION_CERTAIN, .tokens = SR_FUSION_TOKENS};
        rc = sr_multilingual_second(model->other, tiers->task, &model->second, err);
        model->reads_twice = rc == SR_OK;
    }
    return rc == SR_ENOENT ? SR_OK : rc;
}

static bool open_neural(const struct sr_usage *usage, const struct sr_tiers *tiers,
                        struct sr_tiers_model *model, int *code)
{
    bool own = tiers->encoder.model != NULL, mixed = strcmp(model->tier, "neural") != 0;
    bool always = strcmp(model->tier, "both") == 0;
    char heads[SR_LOCATE_MAX];
    struct sr_linear *linear = NULL;
    struct sr_cascade_options options = {.task = tiers->task, .certain = always ? ALWAYS : CERTAIN};
    struct sr_err err = {0};
    int rc = SR_OK;
    if (!open_heads(usage, tiers, own, model, heads, code))
        return false;
    options.neural = model->neural;
    if (mixed) {
        rc = sr_linear_open_domain(&linear, &err);
        options.linear = rc == SR_OK ? sr_linear_classifier(linear) : NULL;
        if (rc == SR_OK)
            rc = sr_fusion_read(&options.fusion, own ? tiers->encoder.model : heads, tiers->task, &err);
        rc = rc == SR_ENOENT ? SR_OK : rc;
    }
    if (rc == SR_OK)
        rc = sr_cascade_new(&model->classifier, &options, &err);
    if (rc == SR_OK && !own && !tiers->neural)
        rc = open_other(tiers, model, &err);
    sr_linear_unref(linear);
    if (rc != SR_OK)
        *code = sr_cmd_fail(usage, rc == SR_EMISMATCH ? SR_EXIT_NO : SR_EXIT_FAILED, "%s",
                            err.message[0] ? err.message : sr_strerror(rc));
    return rc == SR_OK;
}

static bool open_tier(const struct sr_usage *usage, const struct sr_tiers *tiers,
                      struct sr_tiers_model *model, int *code)
{
    struct sr_linear *linear = NULL;
    struct sr_err err = {0};
    if (strcmp(model->tier, "linear") != 0)
        return open_neural(usage, tiers, model, code);
    int rc = open_linear(tiers, &linear, &err);
    if (rc == SR_OK)
        model->classifier = sr_linear_classifier(linear); /* with the reference */
    else
        *code = sr_cmd_fail(usage, SR_EXIT_FAILED, "%s", err.message);
    return rc == SR_OK;
}

bool sr_tiers_open(const struct sr_usage *usage, const struct sr_tiers *given, struct sr_tiers_model *model,
                   int *code)
{
    struct sr_tiers chosen = *given, *tiers = &chosen;
    char path[SR_LOCATE_MAX];
    *model = (struct sr_tiers_model){0};
    if (!tiers->task) {
        *code = sr_cmd_misuse(usage, "the task is missing: --task domain");
        return false;
    }
    if (!sr_cli_encoder_choose(usage, &chosen.encoder, tiers->task, path, code))
        return false;
    bool folder = is_folder(tiers->encoder.model);
    if (strcmp(tiers->task, "domain") != 0 && !folder) {
        *code = sr_cmd_misuse(usage, "task `%.40s` is not supported: it is %s", tiers->task, tiers->tasks);
        return false;
    }
    bool has_neural = !tiers->encoder.model && (tiers->neural || sr_signal_has_neural());
    model->tier = tiers->tier ? tiers->tier : folder ? "neural" : has_neural ? "cascade" : "linear";
    bool linear = strcmp(model->tier, "linear") == 0;
    if (tiers->encoder.model && linear == folder) {
        *code = sr_cmd_misuse(usage,
                              linear ? "--model %s is a folder: it needs --tier neural"
                                     : "--tier %s needs a folder as --model",
                              linear ? tiers->encoder.model : model->tier);
        return false;
    }
    if (open_tier(usage, tiers, model, code))
        return true;
    sr_tiers_close(model);
    return false;
}

void sr_tiers_close(struct sr_tiers_model *model)
{
    sr_multilingual_free(model->other);
    sr_model_store_free(model->models);
    sr_classifier_unref(model->classifier);
    sr_neural_unref(model->neural);
    sr_cli_encoder_close(&model->encoder);
    *model = (struct sr_tiers_model){0};
}

/* SR_AGAIN: the text is not for the neural classifier of other languages. */
static int ask_other(const struct sr_tiers_model *model, struct sr_classifier_query *query)
{
    struct sr_neural_result *result = NULL;
    struct sr_neural *neural =
        sr_multilingual_reads_language(model->other, query->text) ? sr_multilingual_open(model->other) : NULL;
    const struct sr_head_info *head = neural ? sr_neural_head(neural, model->classifier->task) : NULL;
    int rc = head ? sr_cascade_linear(model->classifier, query) : SR_AGAIN;
    if ((rc && rc != SR_AGAIN) || !head)
        return rc;
    rc = sr_neural_read_wait(neural, query->text, 0, SR_INFER_INTERACTIVE, &result);
    if (rc == SR_OK)
        rc = sr_cascade_mix_other(model->classifier, query, result, head, &model->other_fusion);
    sr_neural_result_unref(result);
    return rc;
}

/* Is it an uncertain answer of both tiers to a short text? */
static bool is_for_second(const struct sr_tiers_model *model, const struct sr_classifier_query *query)
{
    const struct sr_classifier *classifier = model->classifier;
    float top = query->probabilities[sr_classifier_top(query->probabilities, classifier->n_labels)];
    size_t tokens;
    return model->reads_twice && top < model->second.certain && strcmp(query->tier, "linear") != 0 &&
           sr_tokenizer_count(sr_encoder_tokenizer(model->encoder.encoder), query->text, 0, &tokens) ==
               SR_OK &&
           tokens <= model->second.tokens;
}

/* As the signal does it (signal/topic/domain.c). */
static int ask_second(const struct sr_tiers_model *model, struct sr_classifier_query *query)
{
    struct sr_neural_result *result = NULL;
    struct sr_neural *neural = sr_multilingual_open(model->other);
    const struct sr_head_info *head = neural ? sr_neural_head(neural, model->classifier->task) : NULL;
    if (!head || sr_neural_read_wait(neural, query->text, 0, SR_INFER_INTERACTIVE, &result))
        return SR_OK; /* the first answer stands */
    int rc = sr_cascade_mix_second(model->classifier, query, result, head, &model->second.mix);
    sr_neural_result_unref(result);
    return rc;
}

int sr_tiers_ask(const struct sr_tiers_model *model, struct sr_bytes text, float *probabilities,
                 const char **tier)
{
    struct sr_classifier_query query = {.text = text, .probabilities = probabilities};
    int rc = ask_other(model, &query);
    bool first = rc == SR_AGAIN;
    if (first)
        rc = sr_classifier_answer(model->classifier, &query);
    if (rc == SR_OK && first && is_for_second(model, &query))
        rc = ask_second(model, &query);
    *tier = query.tier;
    return rc;
}
