/* The compiled rules of a configuration, of every type. */
#include "base/mem.h"
#include "signal/types.h"

/* The types that a type's own settle reads, without those that are not configured. */
static uint32_t own_needs(const struct sr_signals *signals, int type)
{
    const struct sr_signal_ops *ops = sr_signal_registry[type];
    uint32_t needs =
        signals->sets[type] && ops->needs ? ops->needs(signals->sets[type], sr_signal_find_type) : 0;
    for (int other = 0; other < SR_SIGNAL_TYPES; other++)
        if (!signals->sets[other])
            needs &= ~(UINT32_C(1) << other);
    return needs;
}

/* Closes the needs: a type waits for those that its own ones wait for. */
static void close_needs(struct sr_signals *signals)
{
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        signals->needs[type] = own_needs(signals, type);
    for (int round = 0; round < SR_SIGNAL_TYPES; round++)
        for (int type = 0; type < SR_SIGNAL_TYPES; type++)
            for (int other = 0; other < SR_SIGNAL_TYPES; other++)
                if (signals->needs[type] >> other & 1)
                    signals->needs[type] |= signals->needs[other] & ~(UINT32_C(1) << type);
}

int sr_signals_new(struct sr_signals **out, const struct sr_config *config, struct sr_model_store *models,
                   struct sr_err *err)
{
    struct sr_signals *signals = sr_mem_calloc(1, sizeof *signals);
    if (!signals)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    sr_ref_init(&signals->ref);
    signals->config = sr_config_ref(config);
    if (!models) {
        if (sr_model_store_new(&signals->own_models, NULL)) {
            sr_signals_unref(signals);
            return sr_err_set(err, SR_ENOMEM, "out of memory");
        }
        models = signals->own_models;
    }
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        int rc = sr_signal_registry[type]->compile(&signals->sets[type], config, models, err);
        if (rc) {
            sr_signals_unref(signals);
            return rc;
        }
    }
    close_needs(signals);
    int rc = sr_signal_shortener_new(signals, models, err);
    if (rc) {
        sr_signals_unref(signals);
        return rc;
    }
    *out = signals;
    return SR_OK;
}

struct sr_signals *sr_signals_ref(struct sr_signals *signals)
{
    sr_ref_get(&signals->ref);
    return signals;
}

void sr_signals_unref(struct sr_signals *signals)
{
    if (!signals || !sr_ref_put(&signals->ref))
        return;
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        if (signals->sets[type])
            sr_signal_registry[type]->free(signals->sets[type]);
    sr_signal_shortener_unref(signals->shortener);
    sr_config_unref(signals->config);
    sr_model_store_free(signals->own_models);
    sr_mem_free(signals);
}

void sr_signals_open_ahead(const struct sr_signals *signals)
{
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        if (signals->sets[type] && sr_signal_registry[type]->ahead)
            sr_signal_registry[type]->ahead(signals->sets[type]);
}

uint32_t sr_signals_needs(const struct sr_signals *signals, enum sr_signal_type type)
{
    return signals->needs[type];
}

struct sr_signal_wants sr_signals_wants(const struct sr_signals *signals)
{
    struct sr_signal_wants wants = {0};
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        const struct sr_signal_ops *ops = sr_signal_registry[type];
        if (!signals->sets[type])
            continue;
        wants.facts |= ops->facts || ops->turns;
        wants.turns |= ops->turns;
        wants.workload |= ops->workload;
        wants.vector |= ops->meaning;
    }
    return wants;
}

uint32_t sr_signals_late(const struct sr_signals *signals)
{
    uint32_t late = 0;
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        if (signals->sets[type] && sr_signal_type_is_late((enum sr_signal_type)type, signals->sets[type]))
            late |= UINT32_C(1) << type;
    return late;
}

uint32_t sr_signals_elsewhere(const struct sr_signals *signals)
{
    uint32_t types = 0;
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        const struct sr_signal_ops *ops = sr_signal_registry[type];
        if (signals->sets[type] && ops->elsewhere && ops->elsewhere(signals->sets[type]))
            types |= UINT32_C(1) << type;
    }
    return types;
}

bool sr_signals_may_be_late(const struct sr_signals *signals)
{
    return sr_signals_late(signals) != 0;
}

size_t sr_signals_rules(const struct sr_signals *signals, enum sr_signal_type type)
{
    const struct sr_signal_set *set = signals->sets[type];
    return set ? sr_signal_registry[type]->n_rules(set) : 0;
}

const char *sr_signals_rule_name(const struct sr_signals *signals, enum sr_signal_type type, size_t rule)
{
    return sr_signal_registry[type]->rule_name(signals->sets[type], rule);
}

const char *sr_signals_rule_description(const struct sr_signals *signals, enum sr_signal_type type,
                                        size_t rule)
{
    const struct sr_signal_ops *ops = sr_signal_registry[type];
    const char *text = ops->rule_description ? ops->rule_description(signals->sets[type], rule) : NULL;
    return text ? text : "";
}

int sr_signals_find_rule(const struct sr_signals *signals, enum sr_signal_type type, struct sr_bytes name)
{
    size_t n = sr_signals_rules(signals, type);
    for (size_t i = 0; i < n; i++)
        if (sr_bytes_eq(sr_bytes_str(sr_signals_rule_name(signals, type, i)), name))
            return (int)i;
    return -1;
}
