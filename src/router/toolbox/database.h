/*
 * A tool database: the JSON file that `tools_db_path` names, with the vectors of its tools.
 *
 * Read once with its router. Tools' bytes are kept as they stand in the file, so requests get them byte for
 * byte. Immutable; any thread.
 */
#ifndef SR_ROUTER_TOOLBOX_DATABASE_H
#define SR_ROUTER_TOOLBOX_DATABASE_H

#include "router/toolbox/rank.h"
#include "signal/topic/embedding_reader.h"

#define SR_TOOL_DATABASE_BYTES ((size_t)64 << 20)
#define SR_TOOL_DATABASE_TOOLS 100000u

struct sr_tool_database {
    struct sr_tool_set set;
    const char *path;
    struct sr_arena arena;
    float *vectors;
};

/* Reads the file and the vectors of its tools: kept ones from `kept` ("" = none are kept), the rest from the
 * encoder, which blocks; what is new is kept. Without a reader it is only checked. SR_ENOENT: there is no
 * such file. SR_EPARSE with the line, SR_ELIMIT, SR_EIO, SR_ENOMEM, and the encoder's. */
int sr_tool_database_open(struct sr_tool_database **out, const char *path, const char *kept,
                          struct sr_embedding_reader *reader, struct sr_err *err) SR_WARN_UNUSED;
void sr_tool_database_free(struct sr_tool_database *database); /* NULL is allowed */

/* The tools of `text`, a database as JSON, without vectors; in the arena, and they borrow from `text`. */
int sr_tool_database_read(struct sr_bytes text, struct sr_arena *arena, struct sr_tool_set *out,
                          struct sr_err *err) SR_WARN_UNUSED;

/* What of a tool is read by the encoder: its name and its description. In the arena; `p` NULL: no memory. */
struct sr_bytes sr_tool_text(struct sr_bytes name, struct sr_bytes description, struct sr_arena *arena);

#endif
