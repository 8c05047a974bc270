/* `global.router.learning`, and what decisions say of it in `adaptations`. */
#ifndef SR_CONFIG_PART_LEARNING_H
#define SR_CONFIG_PART_LEARNING_H

#include <stdbool.h>
#include <stdint.h>

/* What of a client keeps its model. */
enum sr_protection_scope { SR_PROTECT_CONVERSATION, SR_PROTECT_SESSION };

enum sr_adaptation_mode {
    SR_ADAPTATION_APPLY,
    SR_ADAPTATION_OBSERVE, /* it is only recorded what would be done */
    SR_ADAPTATION_BYPASS,
};

struct sr_config_protection {
    bool enabled;
    enum sr_protection_scope scope;
    const char *session_header, *conversation_header; /* x-session-id, x-conversation-id */
    int64_t idle_timeout_s;                           /* 300; 0: never */
    int64_t min_turns;                                /* 1: turns of a model before another one may follow */
    double switch_margin;                             /* 0.05 */
    double stability_weight;                          /* 1 */
};

struct sr_config_learning {
    bool enabled; /* true */
    struct sr_config_protection protection;
};

/* Of one decision; values below 0 are those of `global.router.learning`. */
struct sr_config_adaptations {
    enum sr_adaptation_mode mode, protection_mode; /* the stricter one counts */
    double switch_margin, stability_weight;
};

#endif
