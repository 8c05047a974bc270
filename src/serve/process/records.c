/* From keys of the configuration to the file. */
#include "serve/process/records.h"

#include "base/log.h"
#include "store/sqlite/history.h"

#include <string.h>

static const char *path_of(const struct sr_config *config)
{
    const struct sr_config_replay *replay = config ? &config->global.replay : NULL;
    return replay && replay->entries && replay->store == SR_REPLAY_SQLITE ? replay->path : "";
}

void sr_records_open(sr_runtime *runtime, struct sr_history_file **file, const struct sr_config *config,
                     const struct sr_config *before)
{
    const struct sr_config_replay *replay = &config->global.replay;
    struct sr_history_limits limits = {
        .max_entries = replay->entries, .max_bytes = replay->max_bytes, .ttl_ms = replay->ttl_s * 1000};
    struct sr_err err = {0};
    if (strcmp(path_of(config), path_of(before)) == 0) {
        if (*file)
            sr_history_file_set(*file, &limits);
        return;
    }
    sr_records_close(file);
    if (path_of(config)[0] && sr_history_file_open(file, path_of(config), sr_runtime_kept(runtime), &limits,
                                                   sr_runtime_metrics_table(runtime), &err))
        sr_log(SR_LOG_ERROR, "replay_file", "records are kept in memory only: %s", err.message);
}

void sr_records_close(struct sr_history_file **file)
{
    sr_history_file_close(*file);
    *file = NULL;
}
