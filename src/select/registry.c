/* The algorithms, one line each. */
#include "select/select.h"

#include <string.h>

const struct sr_select_ops sr_select_static = {.name = "static"};

const struct sr_select_ops *const sr_select_registry[] = {
    &sr_select_static,
    &sr_select_multi_factor,
    &sr_select_latency_aware,
    &sr_select_knn,
    &sr_select_learned,
    &sr_select_bandit,
    NULL,
};

const struct sr_select_ops *sr_select_find(const char *name)
{
    for (size_t i = 0; sr_select_registry[i]; i++)
        if (strcmp(sr_select_registry[i]->name, name) == 0)
            return sr_select_registry[i];
    return NULL;
}
