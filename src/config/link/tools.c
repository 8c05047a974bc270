/* Gives each plugin the settings of the tool database that it does not have itself. */
#include "config/link/tools.h"

void sr_link_tools(struct sr_config *config)
{
    const struct sr_config_tools *all = &config->global.tools;
    for (size_t i = 0; i < config->n_decisions; i++) {
        struct sr_config_plugins *plugins = &config->decisions[i].plugins;
        struct sr_config_tools *choice = &plugins->tool_selection.choice;
        if (!plugins->tool_selection.set)
            continue;
        if (!choice->file || !choice->file[0])
            choice->file = all->file;
        if (choice->top_k == 0)
            choice->top_k = all->top_k;
        if (choice->threshold == SR_TOOLS_INHERITED)
            choice->threshold = all->threshold;
        if (!plugins->tool_selection.own_empty)
            choice->empty = all->empty;
        if (!plugins->tool_selection.own_advanced)
            choice->advanced = all->advanced;
        choice->enabled = true;
    }
}
