/* Selects the models of the jailbreak signal: the user's own or the bundled ones, the linear tier, the
 * neural one, or both. */
#include "base/log.h"
#include "signal/guard/jailbreak.h"
#include "signal/guard/jailbreak_labels.h"

#include <sys/stat.h>

void sr_jailbreak_models_dispose(struct sr_jailbreak_models *set)
{
    sr_jailbreak_reader_free(set->reader);
    sr_neural_unref(set->neural);
    sr_multilingual_free(set->other);
}

/* Finds the neural classifier's head for the task; in the user's own folder it may have any name. */
static int take_head(struct sr_jailbreak_models *set, const struct sr_config *config, struct sr_err *err)
{
    set->head = sr_neural_head(set->neural, SR_JAILBREAK_TASK);
    if (!set->head || set->head->n_labels > SR_CLASSIFIER_LABELS_MAX)
        return sr_err_set(err, SR_EMISMATCH, "the model has no head for `" SR_JAILBREAK_TASK "`");
    return sr_jailbreak_attacks(&set->attack, set->head->labels, set->head->n_labels,
                                &config->global.jailbreak_labels, err);
}

static int open_own(struct sr_jailbreak_models *set, const struct sr_config *config,
                    struct sr_model_store *models, const char *folder, struct sr_err *err)
{
    set->fusion = (struct sr_fusion){.neural = 1, .temperature = 1};
    int rc = sr_signal_own_neural(config, models, folder, SR_JAILBREAK_TASK, &set->neural, err);
    return rc ? rc : take_head(set, config, err);
}

/* The other one is a second reader where its files say how, of what both bundled tiers have judged. */
static int add_second(struct sr_jailbreak_models *set, struct sr_err *err)
{
    set->second = (struct sr_fusion_second){.band = SR_RISK_SECOND_BAND, .tokens = SR_RISK_SECOND_TOKENS};
    int rc = sr_multilingual_second(set->other, SR_JAILBREAK_TASK, &set->second, err);
    set->reads_twice = rc == SR_OK && set->reader;
    return rc == SR_ENOENT ? SR_OK : rc;
}

/* Adds the neural classifier of other scripts, whose head has the same labels. */
static int add_other(struct sr_jailbreak_models *set, const struct sr_config *config,
                     struct sr_model_store *models, struct sr_err *err)
{
    int rc = sr_multilingual_new(&set->other, config, models, err);
    if (rc == SR_OK)
        rc = sr_multilingual_fusion(set->other, SR_JAILBREAK_TASK, &set->other_fusion, err);
    if (rc == SR_OK)
        return add_second(set, err);
    if (rc != SR_ENOENT)
        return rc;
    sr_log(SR_LOG_WARN, "multilingual_missing", "%s; attacks in scripts other than Latin are hardly found",
           err->message);
    return SR_OK;
}

/* Adds the neural classifier to the linear tier. A bundled one that does not fit is not used; a configured
 * one must fit. */
static int add_neural(struct sr_jailbreak_models *set, const struct sr_config *config,
                      struct sr_model_store *models, struct sr_err *err)
{
    const char *named = config->global.inference.neural;
    int rc = sr_signal_neural(config, models, &set->neural, err);
    if (rc == SR_ENOENT)
        return SR_OK;
    if (rc == SR_OK)
        rc = sr_signal_fusion(config, SR_JAILBREAK_TASK, &set->fusion, err);
    if (rc == SR_OK && set->reader && set->fusion.neural <= 0) { /* its weight is 0: not used */
        sr_neural_unref(set->neural);
        set->neural = NULL;
        return SR_OK;
    }
    if (rc == SR_OK)
        rc = take_head(set, config, err);
    if (rc && (!named || !*named)) {
        sr_log(SR_LOG_WARN, "neural_left_out", "%s; the linear tier answers alone", err->message);
        sr_neural_unref(set->neural);
        set->neural = NULL;
        return SR_OK;
    }
    return rc ? rc : add_other(set, config, models, err);
}

int sr_jailbreak_models_open(struct sr_jailbreak_models *set, const struct sr_config *config,
                             struct sr_model_store *models, struct sr_err *err)
{
    char path[SR_LOCATE_MAX];
    struct stat st;
    struct sr_err why = {0};
    int rc = sr_signal_find_model(config, SR_JAILBREAK_TASK, config->global.jailbreak_model, path, err);
    if (rc)
        return rc;
    bool own = *path && stat(path, &st) == 0 && S_ISDIR(st.st_mode), alone = config->global.inference.alone;
    if (own)
        rc = open_own(set, config, models, path, &why);
    else if (!alone)
        rc = sr_jailbreak_reader_new(&set->reader, path, &config->global.jailbreak_labels, models, &why);
    if (rc == SR_OK && !own && !*path)
        rc = add_neural(set, config, models, &why);
    if (rc == SR_OK && !set->reader && !set->neural)
        rc = sr_err_set(&why, SR_EUNSUPPORTED, "there is no neural model for `" SR_JAILBREAK_TASK "`");
    set->bundled = set->reader && !*path;
    bool names = rc == SR_ENOENT || rc == SR_EIO || !*path || strstr(why.message, path);
    return rc ? sr_err_set(err, rc, "%s%s%s", names ? "" : path, names ? "" : ": ", why.message) : SR_OK;
}
