/* Gives each plugin the settings of the tool database that it does not have itself. */
#include "config/link/tools.h"

#include "config/link/names.h"

/* `strategy` of the plugin tool_selection: with the settings of the plugin tools, where that is there. */
static void link_history(struct sr_config_plugins *plugins)
{
    if (plugins->tool_selection.strategy != SR_TOOLS_HYBRID)
        return;
    if (!plugins->tools.set)
        plugins->tools.history = (struct sr_config_tool_history){
            .window = SR_TOOL_HISTORY_WINDOW, .semantic = 1, .history = 1, .falls_back = true};
    plugins->tools.history.on = true;
}

/* Earlier calls order tools that are chosen by meaning. */
static void check_history(struct sr_binder *b, const struct sr_yaml_node *decision,
                          const struct sr_config *config, const struct sr_config_plugins *plugins)
{
    bool fills =
        plugins->tools.semantic && plugins->tools.mode != SR_TOOLS_NONE && config->global.tools.enabled;
    if (plugins->tools.history.on && !plugins->tool_selection.set && !fills)
        sr_bind_warning(
            b, sr_bind_at(decision, "plugins"),
            "`hybrid_history` changes nothing: no tool is chosen by its meaning without the plugin "
            "`tool_selection`, or `global.integrations.tools.enabled` and `semantic_selection`");
}

void sr_link_tools(struct sr_binder *b, const struct sr_yaml_node *decisions, struct sr_config *config)
{
    const struct sr_config_tools *all = &config->global.tools;
    for (size_t i = 0; i < config->n_decisions; i++) {
        struct sr_config_plugins *plugins = &config->decisions[i].plugins;
        struct sr_config_tools *choice = &plugins->tool_selection.choice;
        check_history(b, sr_link_item(decisions, i), config, plugins);
        if (!plugins->tool_selection.set)
            continue;
        link_history(plugins);
        if (!choice->file || !choice->file[0]) {
            choice->file = all->file;
            choice->file_at = all->file_at;
        }
        if (!choice->file_at.line && sr_link_item(decisions, i))
            choice->file_at = sr_bind_position(sr_bind_at(sr_link_item(decisions, i), "plugins"));
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
