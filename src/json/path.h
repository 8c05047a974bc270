/*
 * The compiled table of paths that the scanner walks; private to the json layer.
 *
 * A deterministic automaton: one node per set of paths that are still possible. Where a name and `*` both
 * fit, the node of the name continues both; of two paths that end in one node the one with fewer stars gives
 * the id. Immutable after sr_paths_new.
 */
#ifndef SR_JSON_PATH_H
#define SR_JSON_PATH_H

#include "base/ref.h"
#include "json/scan.h"

#define SR_PATH_STEPS_MAX 8
#define SR_PATH_KEY_BLOCK 126 /* bytes of a key that can be matched; a multiple of 7, see sr_key_append */

enum { SR_PATH_DEAD = 0, SR_PATH_ROOT = 1 };

struct sr_path_node {
    uint16_t id;
    uint8_t tag;
    bool named;       /* a path ends here: its spans carry `id` and `tag` */
    uint16_t star;    /* node of a member that has no entry in the keys */
    uint16_t element; /* node of an array's element */
    uint16_t first_key, n_keys;
};

struct sr_path_key {
    struct sr_bytes text;
    uint16_t node;
};

struct sr_paths {
    struct sr_ref ref;
    bool complete;       /* see sr_paths_new_complete */
    uint64_t multiplier; /* secret, so that no peer can prepare keys that collide */
    struct sr_path_node *nodes;
    struct sr_path_key *keys;
    size_t n_nodes, cap_nodes, n_keys, cap_keys;
    char *text; /* the memory of the keys' text */
};

/* A member's key while its decoded bytes arrive. */
struct sr_key {
    uint64_t hash;  /* of the complete blocks so far */
    uint32_t n;     /* bytes in `block` */
    bool overflown; /* longer than a block: equals no name */
    char block[SR_PATH_KEY_BLOCK];
};

static inline bool sr_path_has_members(const struct sr_path_node *node)
{
    return node->n_keys || node->star != SR_PATH_DEAD;
}

/* The node of member `key` below `node`; SR_PATH_DEAD when no path continues there. `*alike`: the table is
 * complete, and the key is only alike to that node's. */
uint16_t sr_paths_member(const struct sr_paths *paths, uint16_t node, const struct sr_key *key, bool *alike);

/* Starts a key of the object number `object`. */
void sr_key_init(struct sr_key *key, uint32_t object);
void sr_key_append(struct sr_key *key, const struct sr_paths *paths, const void *p, size_t n);

/* A 61-bit polynomial of object and key under the table's secret, never 0: two different pairs agree with a
 * probability below 2^-50 whatever the sender chooses. */
uint64_t sr_key_hash(const struct sr_key *key, const struct sr_paths *paths);

#endif
