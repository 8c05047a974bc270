/*
 * What a router needs to choose tools: the encoder, its map and the databases that plugins name.
 *
 * Made with its router, immutable; any thread.
 */
#ifndef SR_ROUTER_TOOLBOX_TOOLBOX_H
#define SR_ROUTER_TOOLBOX_TOOLBOX_H

#include "router/toolbox/database.h"

struct sr_toolbox {
    struct sr_embedding_reader *reader;  /* NULL: no encoder; no tool is chosen by meaning */
    struct sr_tool_map *map;             /* NULL: the encoder has none */
    struct sr_tool_database **databases; /* [n] */
    size_t n;
};

/* Opens what the configuration needs; *out is NULL when that is nothing. A database that is not there is
 * logged and missing. Without `models` files are only checked. Errors of sr_tool_database_open. */
int sr_toolbox_new(struct sr_toolbox **out, const struct sr_config *config, struct sr_model_store *models,
                   struct sr_err *err) SR_WARN_UNUSED;
void sr_toolbox_free(struct sr_toolbox *box); /* NULL is allowed */

/* The database of this path; NULL: there is none. */
const struct sr_tool_database *sr_toolbox_find(const struct sr_toolbox *box, const char *path);

/* The file that keeps the vectors of the database `path`: out[size]; "" where none are kept. */
void sr_toolbox_kept(const struct sr_config *config, const char *path, char *out, size_t size);

/* Does the plugin add tools of a database to requests that have none: `tools` with `semantic_selection`? */
bool sr_tools_fill(const struct sr_config *config, const struct sr_config_plugins *plugins);

#endif
