/*
 * The dialects: which request paths there are, and where in a body of each the router finds what it reads.
 *
 * A dialect is a table of JSON paths for the scanner; whatever reads a request asks for SR_AT_* numbers and
 * knows no paths.
 */
#ifndef SR_ROUTER_DIALECT_H
#define SR_ROUTER_DIALECT_H

#include "json/scan.h"

enum sr_dialect {
    SR_DIALECT_CHAT,
    SR_DIALECT_COMPLETIONS,
    SR_DIALECT_EMBEDDINGS,
    SR_DIALECT_OTHER, /* any other POST below /v1: only `model` is read, and texts where guards want them */
    SR_DIALECTS,
};

/* Numbers of the paths; 0 is SR_PATH_TOP. */
enum sr_at {
    SR_AT_MODEL = 1,
    SR_AT_STREAM,
    SR_AT_STREAM_OPTIONS,
    SR_AT_INCLUDE_USAGE,
    SR_AT_MESSAGES,
    SR_AT_MESSAGE,
    SR_AT_ROLE,
    SR_AT_CONTENT,
    SR_AT_PART,
    SR_AT_PART_TEXT,
    SR_AT_MESSAGE_TEXT, /* what else in a message is text: refusals, thoughts, arguments of calls */
    SR_AT_TOOL_CALL,
    SR_AT_TOOLS,
    SR_AT_TOOL,
    SR_AT_TOOL_NAME,
    SR_AT_TOOL_DESCRIPTION,
    SR_AT_TOOL_CHOICE,
    SR_AT_PROMPT,
    SR_AT_PROMPT_ITEM,
    SR_AT_METADATA,
    SR_AT_METADATA_ITEM,
    SR_AT_USER,
    SR_AT_REASONING_EFFORT,
    SR_AT_KWARGS,
    SR_AT_KWARGS_ITEM,
    SR_AT_MAX_TOKENS,
    SR_AT_MAX_COMPLETION_TOKENS,
    SR_AT_N,
};

struct sr_dialect_info {
    const char *name;
    const char *path; /* "" for SR_DIALECT_OTHER */
    const struct sr_path_spec *specs;
    size_t n_specs;
    bool routes_auto; /* an automatic model name is routed by meaning */
};

extern const struct sr_dialect_info sr_dialects[SR_DIALECTS];

enum sr_endpoint {
    SR_ENDPOINT_ROUTE,        /* read the body in `dialect` */
    SR_ENDPOINT_MODELS,       /* GET /v1/models */
    SR_ENDPOINT_MODEL,        /* GET /v1/models/{id}; `rest` is the id as it was sent */
    SR_ENDPOINT_NOT_FOUND,    /* 404 */
    SR_ENDPOINT_WRONG_METHOD, /* 405; `rest` is the method that is allowed */
};

/* What a method and a path (without the query) ask for. `rest` borrows from `path` or is static. */
enum sr_endpoint sr_endpoint_find(struct sr_bytes method, struct sr_bytes path, enum sr_dialect *dialect,
                                  struct sr_bytes *rest);

#endif
