/* The signal types of the list as an array. */
#include "signal/types.h"

const struct sr_signal_ops *const sr_signal_registry[SR_SIGNAL_TYPES] = {
#define SR_SIGNAL_OPS(TYPE, name) [SR_SIGNAL_##TYPE] = &name,
    SR_SIGNAL_LIST(SR_SIGNAL_OPS)
#undef SR_SIGNAL_OPS
};

int sr_signal_find_type(struct sr_bytes name)
{
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        if (sr_bytes_eq(sr_bytes_str(sr_signal_registry[type]->name), name))
            return type;
    return -1;
}

int sr_signal_category_type(void)
{
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        if (sr_signal_registry[type]->categorizes)
            return type;
    return -1;
}

enum sr_signal_type sr_signal_header_at(int place)
{
    int type = 0;
    while (type + 1 < SR_SIGNAL_TYPES && sr_signal_registry[type]->header_order != place)
        type++;
    return (enum sr_signal_type)type;
}

bool sr_signal_type_is_late(enum sr_signal_type type, const struct sr_signal_set *set)
{
    const struct sr_signal_ops *ops = sr_signal_registry[type];
    return ops->start && (!ops->may_be_late || ops->may_be_late(set));
}
