/*
 * semroute models pull NAME: a model folder from a hub, whole and checked, or not at all.
 *
 * Takes what semroute can read of a repository at one commit. Files come into FOLDER.partial-COMMIT, where a
 * later call goes on, and get their folder's name when all are there with the size and SHA-256 that the hub
 * says. A manifest with the hashes is written beside them, for `semroute models verify`.
 */
#ifndef SR_CLI_MODELS_PULL_H
#define SR_CLI_MODELS_PULL_H

#include "cli/args.h"

#include <stdbool.h>

/* NULL: not given. */
struct sr_models_pull {
    const char *name;     /* "OWNER/NAME" or "NAME" */
    const char *hub;      /* URL; else the variable HF_ENDPOINT */
    const char *folder;   /* else NAME in $SEMROUTE_MODELS, or in models/ */
    const char *revision; /* else "main" */
    bool json;
};

/* Prints what was taken. SR_EXIT_NO: the hub has no such model, or nothing in it that semroute reads, or the
 * folder holds something else. The token of the hub is the variable HF_TOKEN. */
int sr_models_pull(const struct sr_usage *usage, const struct sr_models_pull *pull) SR_WARN_UNUSED;

#endif
