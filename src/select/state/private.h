/* The table of arms, shared by arms.c and arms_file.c. Private to the room. */
#ifndef SR_SELECT_STATE_PRIVATE_H
#define SR_SELECT_STATE_PRIVATE_H

#include "select/state/arms.h"

#include <pthread.h>

#define SR_ARMS_SLOTS (2 * SR_ARMS_MAX)

struct sr_arm_entry {
    uint64_t key; /* 0: free */
    struct sr_arm arm;
    int memory;
    char *names[3]; /* decision, model, adapter */
};

/* The latest request of a place. */
struct sr_arm_request {
    uint64_t id; /* hash; 0: none */
    uint32_t slot;
};

struct sr_select_arms {
    pthread_mutex_t lock; /* protects everything */
    struct sr_arm_entry entries[SR_ARMS_SLOTS];
    size_t n;
    uint64_t changes;
    struct sr_arm_request requests[SR_ARMS_REQUESTS];
};

/* The entry of these names, made where there is none; NULL: too many, or no memory. The lock is held. */
struct sr_arm_entry *sr_arms_entry(struct sr_select_arms *arms, const struct sr_arm_name *name);

#endif
