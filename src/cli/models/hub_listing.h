/*
 * What a model hub says of a repository: its commit, and the path, length and SHA-256 of each file.
 *
 * Pure: bytes in, a list out. Nothing in it leads out of the folder that it is put into.
 */
#ifndef SR_CLI_MODELS_HUB_LISTING_H
#define SR_CLI_MODELS_HUB_LISTING_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define SR_HUB_FILES_MAX  4096 /* of a repository */
#define SR_HUB_COMMIT_MAX 64   /* characters of a commit */
#define SR_HUB_PATH_MAX   512  /* bytes of a file's path in the repository */

struct sr_hub_file {
    struct sr_bytes path;   /* inside the repository: no `..`, not from the root */
    struct sr_bytes sha256; /* 64 digits; empty where the hub does not say it (small files) */
    uint64_t bytes;
};

struct sr_hub_listing {
    char commit[SR_HUB_COMMIT_MAX + 1]; /* what the revision stands for now */
    struct sr_hub_file *files;
    size_t n_files;
};

/* Is it a repository's name: NAME or OWNER/NAME of letters, digits, `.`, `_` and `-`? */
bool sr_hub_is_repository(const char *name);

/* Reads the hub's answer; everything of it is in `arena`. SR_EPARSE (no commit, no files, a path that leaves
 * the repository, a file without a size), SR_ELIMIT, SR_ENOMEM with a message. */
int sr_hub_parse(struct sr_hub_listing *listing, struct sr_bytes json, struct sr_arena *arena,
                 struct sr_err *err) SR_WARN_UNUSED;

#endif
