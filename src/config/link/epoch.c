/* Values first, then the content of each file, with its length. */
#include "config/link/epoch.h"

#include "base/hash.h"
#include "base/read_file.h"

#include <stdio.h>

#define FILE_MAX ((size_t)64 << 20)
#define READ_MS  10000

static uint64_t add_file(uint64_t epoch, const char *path)
{
    struct sr_buf text;
    sr_buf_init(&text, FILE_MAX);
    int rc = sr_read_file(&text, path, READ_MS, NULL);
    struct sr_bytes content = rc ? SR_LIT("") : sr_buf_view(&text);
    uint64_t hash = sr_hash64(content, epoch + content.n);
    sr_buf_dispose(&text);
    return hash;
}

static uint64_t add_bases(uint64_t epoch, const struct sr_config *config)
{
    char path[4096];
    for (size_t i = 0; i < config->global.n_kbs; i++) {
        const struct sr_config_kb *kb = &config->global.kbs[i];
        int n = kb->path[0] ? snprintf(path, sizeof path, "%s/%s", kb->path, kb->manifest) : 0;
        if (n > 0 && (size_t)n < sizeof path)
            epoch = add_file(epoch, path);
    }
    return epoch;
}

static uint64_t add_tools(uint64_t epoch, const struct sr_config_tools *tools)
{
    return tools->enabled && tools->file && tools->file[0] ? add_file(epoch, tools->file) : epoch;
}

/* The databases of a routing block's decisions. */
static uint64_t add_decisions(uint64_t epoch, const struct sr_config *config)
{
    for (size_t i = 0; i < config->n_decisions; i++)
        if (config->decisions[i].plugins.tool_selection.set)
            epoch = add_tools(epoch, &config->decisions[i].plugins.tool_selection.choice);
    return epoch;
}

void sr_link_epoch(struct sr_config *config, uint64_t values, bool files)
{
    uint64_t epoch = values;
    if (files) {
        epoch = add_tools(add_bases(epoch, config), &config->global.tools);
        epoch = add_decisions(epoch, config);
        for (size_t i = 0; i < config->n_recipes; i++)
            epoch = add_decisions(epoch, &config->recipes[i].config);
    }
    snprintf(config->epoch, sizeof config->epoch, "%016llx", (unsigned long long)epoch);
}
