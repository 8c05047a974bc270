/*
 * Which model answers a task on the command line: the options --task, --tier and --model that classify and
 * eval share, and asking it.
 *
 * linear: the model inside the executable, or a file. neural: the neural classifier's head on the default
 * encoder, or the head of a folder of the user's own. both: the two of them about every text, mixed. cascade:
 * as the signals do it, linear first and both where that is not sure.
 */
#ifndef SR_CLI_CLASSIFY_TIERS_H
#define SR_CLI_CLASSIFY_TIERS_H

#include "cli/classify/encoder.h"
#include "infer/classifier/neural.h"
#include "model/classifier.h"
#include "signal/neural/multilingual.h"

struct sr_tiers {
    const char *task, *tier;            /* as given; NULL = not given */
    const char *tasks;                  /* that the command has, for messages: "domain, jailbreak or pii" */
    const char *neural;                 /* folder or name of heads; NULL: "neural" */
    const char *attack;                 /* label of the model that means an attack; NULL: its words say */
    struct sr_cli_encoder_args encoder; /* its `model` is a file for the linear tier */
};

#define SR_TASKS "domain, jailbreak or pii"

/* `names`: those of the command's tasks, a literal. */
#define SR_TIERS_OPTIONS(tiers, names)                                                                       \
    {"task", SR_OPTION_TEXT, &(tiers).task, "TASK", "the task: " names},                                     \
        {"tier", SR_OPTION_CHOICE, &(tiers).tier, "linear|neural|both|cascade",                              \
         "which tier answers, default cascade, as in serve; neural where --model is a folder"},              \
        {"model", SR_OPTION_TEXT, &(tiers).encoder.model, "FILE|DIR",                                        \
         "a linear model's file, a neural model's folder or a folder of such folders instead of the "        \
         "built-in one"},                                                                                    \
        {"heads", SR_OPTION_TEXT, &(tiers).neural, "DIR",                                                    \
         "folder of heads for the default encoder instead of `neural`"},                                     \
        {"attack", SR_OPTION_TEXT, &(tiers).attack, "LABEL",                                                 \
         "the label of --model that means an attack, for jailbreak; needed where labels are LABEL_0, "       \
         "LABEL_1"},                                                                                         \
        SR_CLI_ENCODER_OPTIONS((tiers).encoder)

struct sr_tiers_model {
    struct sr_classifier *classifier; /* labels, task */
    struct sr_neural *neural;         /* NULL for the linear tier */
    struct sr_cli_encoder encoder;
    struct sr_multilingual *other; /* reads texts in other scripts; NULL: there is none */
    struct sr_model_store *models; /* of `other` */
    struct sr_fusion other_fusion;
    struct sr_fusion_second second; /* `other` also reads what is uncertain */
    bool reads_twice;               /* ... if this is set */
    const char *tier;               /* "linear", "neural", "both", "cascade" */
    const char *precision;          /* of the neural classifier; NULL for the linear tier */
};

/* Opens the model. False after a message was printed: *code is the exit code. */
bool sr_tiers_open(const struct sr_usage *usage, const struct sr_tiers *tiers, struct sr_tiers_model *model,
                   int *code) SR_WARN_UNUSED;
void sr_tiers_close(struct sr_tiers_model *model); /* a zeroed one is allowed */

/* Asks and waits: probabilities[n_labels], and which tier's answer it is. */
int sr_tiers_ask(const struct sr_tiers_model *model, struct sr_bytes text, float *probabilities,
                 const char **tier) SR_WARN_UNUSED;

#endif
