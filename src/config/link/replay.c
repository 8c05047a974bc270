/* The most records that something asks for; a store that is not there is refused only where something is
 * kept. */
#include "config/link/replay.h"

static void ask(struct sr_config_replay *replay, const struct sr_config_replay_capture *capture)
{
    int64_t records = capture->max_records ? capture->max_records : replay->all.max_records;
    if (capture->enabled && (size_t)records > replay->entries)
        replay->entries = (size_t)records;
}

static void ask_decisions(struct sr_config_replay *replay, const struct sr_config *config)
{
    for (size_t i = 0; i < config->n_decisions; i++)
        ask(replay, &config->decisions[i].plugins.router_replay);
}

void sr_link_replay(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config)
{
    const struct sr_yaml_node *global = sr_yaml_get(root, "global");
    const struct sr_yaml_node *service = sr_yaml_get(sr_yaml_get(global, "services"), "router_replay");
    const struct sr_yaml_node *own = sr_yaml_get(sr_yaml_get(global, "semroute"), "replay");
    struct sr_config_replay *replay = &config->global.replay;
    ask(replay, &replay->all);
    ask_decisions(replay, config);
    for (size_t i = 0; i < config->n_recipes; i++)
        ask_decisions(replay, &config->recipes[i].config);
    if (!replay->entries)
        return;
    const struct sr_yaml_node *store = sr_yaml_get(service, "store_backend");
    if (replay->store == SR_REPLAY_ELSEWHERE)
        sr_bind_unsupported(
            b, store ? store : root,
            "`store_backend: %.20s` is not supported by this version of semroute: records are "
            "kept in memory, or in a file with `sqlite`",
            store ? store->text.p : "");
    if (replay->store == SR_REPLAY_SQLITE && !replay->path[0])
        sr_bind_error(b, store ? store : root, "`store_backend: sqlite` needs `global.semroute.replay.path`");
    if (replay->store != SR_REPLAY_SQLITE && replay->path[0])
        sr_bind_warning(b, sr_bind_at(own, "path"), "`path` changes nothing without `store_backend: sqlite`");
}
