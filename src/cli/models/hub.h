/*
 * A model hub, by the interface that Hugging Face's hub has and mirrors of it: what a repository holds, and
 * its files.
 *
 * Listing: GET /api/models/REPO/revision/REVISION?blobs=true; a file: GET /REPO/resolve/COMMIT/PATH. The
 * address and the token come from the caller; no hub is built in.
 */
#ifndef SR_CLI_MODELS_HUB_H
#define SR_CLI_MODELS_HUB_H

#include "cli/models/hub_listing.h"

struct sr_hub {
    const char *url;   /* "https://hub.example", with a path or without */
    const char *token; /* NULL: none */
};

/* Asks for the listing of a revision: a branch, a tag or a commit. SR_ENOENT: the hub does not know it, or
 * does not show it to this token; errors of sr_get and sr_hub_parse. */
int sr_hub_list(const struct sr_hub *hub, const char *repository, const char *revision,
                struct sr_hub_listing *listing, struct sr_arena *arena, struct sr_err *err) SR_WARN_UNUSED;

/* Appends the file to `fd`, which holds `have` bytes of it already; a server that gives all of it again
 * empties `fd` first. `progress` may be NULL. SR_EMISMATCH: it is longer than the listing says, or ended
 * before. */
struct sr_hub_fetch {
    const char *repository;
    const char *commit;
    const struct sr_hub_file *file;
    int fd;
    uint64_t have;
    void (*progress)(void *ctx, uint64_t have);
    void *ctx;
};
int sr_hub_fetch(const struct sr_hub *hub, const struct sr_hub_fetch *fetch,
                 struct sr_err *err) SR_WARN_UNUSED;

#endif
