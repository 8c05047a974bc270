/*
 * What can be counted of a text in one pass, beside its meaning: length, digits, signs, questions.
 */
#ifndef SR_SELECT_MODEL_FEATURES_H
#define SR_SELECT_MODEL_FEATURES_H

#include "base/bytes.h"

#define SR_FEATURES 14
/* Bytes that are read of a longer text, from its beginning. */
#define SR_FEATURES_TEXT_MAX ((size_t)64 << 10)

extern const char *const sr_feature_names[SR_FEATURES];

void sr_features_of(struct sr_bytes text, float out[SR_FEATURES]);

#endif
