/* One check for each key that names a model, a folder of models or a tool database. */
#include "probe/probe.h"

#include "infer/encoder/encoder.h"
#include "infer/locate.h"

#include <string.h>
#include <unistd.h>

static bool is_named(const char *value, struct sr_config_position at)
{
    return value && *value && at.line;
}

/* The name or folder of an encoder. */
static void probe_encoder(struct sr_problems *problems, struct sr_config_position at, const char *key,
                          const char *name)
{
    struct sr_err err = {0};
    char folder[SR_LOCATE_MAX];
    if (is_named(name, at) && sr_locate_model(folder, name, &err))
        sr_problems_add(problems, SR_PROBLEM_ERROR, at.line, at.column, "`%s`: %s", key, err.message);
}

/* A folder of model folders must have one that some signal can use. */
static void probe_folder(struct sr_problems *problems, struct sr_config_position at, const char *key,
                         const char *folder)
{
    static const char *const tasks[] = {"domain", "jailbreak", "pii"};
    struct sr_encoder_candidate best;
    struct sr_err err = {0};
    size_t all = 0, n;
    if (!is_named(folder, at))
        return;
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++, all += n)
        if (sr_encoder_candidates(folder, tasks[i], &best, 1, &n, &err)) {
            sr_problems_add(problems, SR_PROBLEM_ERROR, at.line, at.column, "`%s`: %s", key, err.message);
            return;
        }
    if (all == 0)
        sr_problems_add(problems, SR_PROBLEM_ERROR, at.line, at.column,
                        "`%s`: %.300s has no model for domain, jailbreak or pii", key, folder);
}

static void probe_tools(struct sr_problems *problems, const struct sr_config_tools *tools)
{
    if (tools->file && tools->file[0] && access(tools->file, F_OK) != 0)
        sr_problems_add(problems, SR_PROBLEM_WARNING, tools->file_at.line, tools->file_at.column,
                        "`tools_db_path`: `%.200s` is not there: no tools are added from it", tools->file);
}

/* Tools of the plugins, each file once for each place that names it. */
static void probe_databases(const struct sr_config *config, struct sr_problems *problems)
{
    const struct sr_config_tools *all = &config->global.tools;
    bool asked = false;
    for (size_t i = 0; i < config->n_decisions; i++) {
        const struct sr_config_plugins *plugins = &config->decisions[i].plugins;
        const struct sr_config_tools *own = &plugins->tool_selection.choice;
        bool has_own = own->file && (!all->file || strcmp(own->file, all->file) != 0);
        if (has_own && plugins->tool_selection.set && plugins->tool_selection.mode == SR_TOOL_SELECTION_ADD)
            probe_tools(problems, own);
        else if (plugins->tool_selection.set)
            asked |= plugins->tool_selection.mode == SR_TOOL_SELECTION_ADD;
        else
            asked |= plugins->tools.set && plugins->tools.semantic && plugins->tools.mode != SR_TOOLS_NONE &&
                     all->enabled;
    }
    if (asked)
        probe_tools(problems, all);
}

void sr_probe_models(const struct sr_config *config, struct sr_problems *problems)
{
    const struct sr_config_inference *inference = &config->global.inference;
    probe_encoder(problems, inference->encoder_at, "mmbert_model_path", inference->encoder);
    probe_encoder(problems, inference->neural_at, "neural", inference->neural);
    probe_folder(problems, inference->models_folder_at, "models_folder", inference->models_folder);
    probe_databases(config, problems);
    for (size_t i = 0; i < config->n_recipes; i++)
        probe_databases(&config->recipes[i].config, problems);
}
