/* Walks the decisions once and opens each database once. */
#include "router/toolbox/toolbox.h"

#include "base/log.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define PATH_SIZE 4096

bool sr_tools_fill(const struct sr_config *config, const struct sr_config_plugins *plugins)
{
    return plugins->tools.set && plugins->tools.semantic && plugins->tools.mode != SR_TOOLS_NONE &&
           !plugins->tool_selection.set && config->global.tools.enabled;
}

/* Whose file the decision's plugins add from; NULL: none. */
static const struct sr_config_tools *source_of(const struct sr_config *config,
                                               const struct sr_config_plugins *plugins)
{
    if (plugins->tool_selection.set && plugins->tool_selection.mode == SR_TOOL_SELECTION_ADD)
        return &plugins->tool_selection.choice;
    return sr_tools_fill(config, plugins) ? &config->global.tools : NULL;
}

static bool is_needed(const struct sr_config *config)
{
    for (size_t i = 0; i < config->n_decisions; i++)
        if (config->decisions[i].plugins.tool_selection.set ||
            sr_tools_fill(config, &config->decisions[i].plugins))
            return true;
    return false;
}

const struct sr_tool_database *sr_toolbox_find(const struct sr_toolbox *box, const char *path)
{
    for (size_t i = 0; path && i < box->n; i++)
        if (strcmp(box->databases[i]->path, path) == 0)
            return box->databases[i];
    return NULL;
}

void sr_toolbox_kept(const struct sr_config *config, const char *path, char *out, size_t size)
{
    const char *named = config->global.tool_vectors;
    if (!named || !named[0])
        snprintf(out, size, "%s.vectors", path);
    else
        snprintf(out, size, "%s", strcmp(named, "off") == 0 ? "" : named);
}

static int open_one(struct sr_toolbox *box, const struct sr_config *config,
                    const struct sr_config_tools *source, struct sr_err *err)
{
    const char *path = source->file;
    char kept[PATH_SIZE];
    struct sr_err why = {0};
    sr_toolbox_kept(config, path, kept, sizeof kept);
    int rc = sr_tool_database_open(&box->databases[box->n], path, kept, box->reader, &why);
    if (rc == SR_ENOENT) {
        sr_log(SR_LOG_WARN, "tool_database_missing", "%s; no tools are added from it", why.message);
        return SR_OK;
    }
    box->n += rc == SR_OK;
    if (rc && err) {
        err->line = source->file_at.line;
        err->column = source->file_at.column;
    }
    return rc ? sr_err_set(err, rc, "%s", why.message) : SR_OK;
}

static int open_reader(struct sr_toolbox *box, const struct sr_config *config, struct sr_model_store *models,
                       struct sr_err *err)
{
    struct sr_err why = {0};
    int rc = sr_embedding_reader_new(&box->reader, config, NULL, models, &why);
    if (rc == SR_ENOENT) {
        sr_log(SR_LOG_WARN, "encoder_missing", "%s; tools are not chosen by meaning", why.message);
        return SR_OK;
    }
    if (!rc && sr_embedding_reader_is_default(box->reader))
        box->map = sr_tool_map_new(sr_embedding_reader_dimensions(box->reader));
    return rc ? sr_err_set(err, rc, "tools: %s", why.message) : SR_OK;
}

static int open_all(struct sr_toolbox *box, const struct sr_config *config, struct sr_model_store *models,
                    struct sr_err *err)
{
    box->databases = sr_mem_calloc(config->n_decisions + 1, sizeof *box->databases);
    int rc = box->databases ? SR_OK : SR_ENOMEM;
    if (!rc && models)
        rc = open_reader(box, config, models, err);
    for (size_t i = 0; !rc && i < config->n_decisions; i++) {
        const struct sr_config_tools *source = source_of(config, &config->decisions[i].plugins);
        if (source && source->file && source->file[0] && !sr_toolbox_find(box, source->file))
            rc = open_one(box, config, source, err);
    }
    return rc;
}

int sr_toolbox_new(struct sr_toolbox **out, const struct sr_config *config, struct sr_model_store *models,
                   struct sr_err *err)
{
    *out = NULL;
    if (!is_needed(config))
        return SR_OK;
    struct sr_toolbox *box = sr_mem_calloc(1, sizeof *box);
    int rc = box ? open_all(box, config, models, err) : SR_ENOMEM;
    if (rc) {
        sr_toolbox_free(box);
        return rc;
    }
    *out = box;
    return SR_OK;
}

void sr_toolbox_free(struct sr_toolbox *box)
{
    if (!box)
        return;
    for (size_t i = 0; i < box->n; i++)
        sr_tool_database_free(box->databases[i]);
    sr_mem_free(box->databases);
    sr_tool_map_free(box->map);
    sr_embedding_reader_unref(box->reader);
    sr_mem_free(box);
}
