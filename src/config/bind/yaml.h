/*
 * YAML text as a tree of nodes with their positions. Seam of libyaml.
 *
 * Accepts one document of the JSON-like part of YAML 1.2: mappings with plain keys, lists, scalars, anchors
 * and aliases, and merge keys (`<<`), which leave their pairs in the tree. Refused with a clear message:
 * complex keys, custom tags, a second document, aliases inside their own anchor. Bounded: depth, keys of one
 * mapping, and the size of the tree after aliases are expanded. What the values mean is not decided here.
 */
#ifndef SR_CONFIG_BIND_YAML_H
#define SR_CONFIG_BIND_YAML_H

#include "base/arena.h"
#include "config/problems.h"

#define SR_YAML_MAX_TEXT  ((size_t)16 << 20)
#define SR_YAML_MAX_DEPTH 64
#define SR_YAML_MAX_KEYS  1024    /* of one mapping */
#define SR_YAML_MAX_SIZE  400000u /* nodes, plus one for each 64 bytes of text; aliases count as copies */

enum sr_yaml_kind { SR_YAML_SCALAR, SR_YAML_LIST, SR_YAML_MAP };

/* How a scalar reads under the YAML 1.2 core schema. Quoted scalars are strings. */
enum sr_yaml_type {
    SR_YAML_NULL,
    SR_YAML_BOOL,
    SR_YAML_INT,
    SR_YAML_FLOAT,
    SR_YAML_STRING,
    SR_YAML_IS_LIST,
    SR_YAML_IS_MAP,
};

struct sr_yaml_node {
    enum sr_yaml_kind kind;
    bool plain;    /* scalar without quotes */
    bool expanded; /* its variables were looked for */
    bool variable; /* it had one */
    bool broken;   /* a problem was reported for this value already */
    uint32_t line, column;
    uint32_t size;               /* of the subtree, in the units of SR_YAML_MAX_SIZE */
    struct sr_bytes text;        /* scalar; NUL-terminated */
    struct sr_yaml_node **items; /* list: [count]; mapping: values [count] */
    struct sr_yaml_node **keys;  /* mapping: scalars [count] */
    size_t count;
};

/* Parses `text` into `arena`. `*root` is NULL for an empty document. Duplicate keys are problems, but no
 * failure. SR_EPARSE with at least one error in `problems`; SR_ENOMEM. Aliased nodes are shared: the result
 * is no tree in memory, but has no cycle. */
int sr_yaml_parse(struct sr_yaml_node **root, struct sr_arena *arena, struct sr_bytes text,
                  struct sr_problems *problems) SR_WARN_UNUSED;

/* The value of a key; NULL when `map` is NULL, no mapping, or has no such key, and when nothing is there. */
const struct sr_yaml_node *sr_yaml_get(const struct sr_yaml_node *map, const char *key);

/* Is it null, in writing? A key with such a value is as good as absent. What a variable left empty is not
 * meant. */
bool sr_yaml_is_nothing(const struct sr_yaml_node *node);

/* A hash of keys and values, without their positions: equal trees have equal hashes in every process. 0 of
 * NULL. */
uint64_t sr_yaml_hash(const struct sr_yaml_node *node);

enum sr_yaml_type sr_yaml_type(const struct sr_yaml_node *node);

/* "a list", "a mapping", "a number", "text", ... for messages. */
const char *sr_yaml_type_name(const struct sr_yaml_node *node);

/* The value, when the type is BOOL, INT or FLOAT (INT also reads as double). False when it is none or out of
 * range. Where true or false is asked for, the unquoted words yes, no, on and off of YAML 1.1 are such. */
bool sr_yaml_to_bool(const struct sr_yaml_node *node, bool *out);
bool sr_yaml_to_int(const struct sr_yaml_node *node, int64_t *out);
bool sr_yaml_to_double(const struct sr_yaml_node *node, double *out);

#endif
