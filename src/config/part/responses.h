/*
 * Where conversations of Responses are kept (`previous_response_id`, GET and DELETE of a response), as
 * configured: global.semroute.responses.
 *
 * Plain data of a snapshot, as config.h.
 */
#ifndef SR_CONFIG_PART_RESPONSES_H
#define SR_CONFIG_PART_RESPONSES_H

#include "config/part/store_server.h"
#include "config/part/strings.h"

#include <stddef.h>
#include <stdint.h>

enum sr_responses_store { SR_RESPONSES_MEMORY, SR_RESPONSES_REDIS };

struct sr_config_responses {
    bool enabled;
    enum sr_responses_store store;
    const char *path, *key_file;   /* of the SQLite file that outlives a restart; "" = none */
    size_t max_entries, max_bytes; /* of all records */
    size_t max_entry_bytes;        /* of one: an answer, and all items before it */
    int max_turns;                 /* of one conversation */
    int64_t ttl_s;                 /* 0: until others need the room */
    uint64_t timeout_ms;           /* of a store */
    struct sr_config_store_server redis;
    const char *prefix;                /* of keys in Redis */
    struct sr_strings upstream_models; /* whose upstreams keep their conversations */
};

#endif
