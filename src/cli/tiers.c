/*
 * The choice of a model by task and tier.
 */
#include "cli/tiers.h"

#include "cli/cmd.h"

#include <string.h>

bool sr_tiers_open(const struct sr_usage *usage, const struct sr_tiers *tiers, struct sr_linear **model,
                   int *code)
{
    struct sr_err err = {0};
    *model = NULL;
    if (!tiers->task) {
        *code = sr_cmd_misuse(usage, "which task? --task domain");
    } else if (strcmp(tiers->task, "domain") != 0) {
        *code = sr_cmd_misuse(usage, "task `%.40s` is not in this version, which has: domain", tiers->task);
    } else if (tiers->tier && strcmp(tiers->tier, "linear") != 0) {
        *code = sr_cmd_misuse(usage, "the neural tier is not in this version; use --tier linear");
    } else {
        int rc = tiers->model ? sr_linear_open_file(model, tiers->model, NULL, &err)
                              : sr_linear_open_domain(model, &err);
        if (rc == SR_OK)
            return true;
        *code = sr_cmd_fail(usage, SR_EXIT_BROKE, "%s%s%s", tiers->model ? tiers->model : "",
                            tiers->model ? ": " : "", err.message);
    }
    return false;
}
