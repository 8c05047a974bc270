/* Configurations built by hand, for tests of the layers that read them. */
#ifndef TESTS_UNIT_BY_HAND_H
#define TESTS_UNIT_BY_HAND_H

#include "config/config.h"

#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define STRINGS(...)                                                                                         \
    {                                                                                                        \
        (const char *[]){__VA_ARGS__}, COUNT(((const char *[]){__VA_ARGS__}))                                \
    }
#define NO_PREDICATE                                                                                         \
    {                                                                                                        \
        NAN, NAN, NAN, NAN                                                                                   \
    }
#define LEAF(t, n)                                                                                           \
    {                                                                                                        \
        .op = SR_RULE_LEAF, .type = (t), .name = (n), .predicate = NO_PREDICATE                              \
    }
#define TREE(o, ...)                                                                                         \
    {                                                                                                        \
        .op = (o), .children = (struct sr_config_rule[]){__VA_ARGS__},                                       \
        .n_children = COUNT(((struct sr_config_rule[]){__VA_ARGS__}))                                        \
    }

#endif
