/* Trees of conditions on rules of other types, which a rule's own result depends on. */
#ifndef SR_SIGNAL_DERIVED_COMPOSER_H
#define SR_SIGNAL_DERIVED_COMPOSER_H

#include "signal/types.h"

/* The types that a tree asks: bits. `find` is sr_signal_find_type. */
uint32_t sr_composer_types(const struct sr_config_rule *rule, int (*find)(struct sr_bytes name));

/* Whether a tree matches. What is not known matches as its on_error says, and sets *unsure. */
bool sr_composer_matches(const struct sr_config_rule *rule, const struct sr_signal_others *others,
                         bool *unsure);

#endif
