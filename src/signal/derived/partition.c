/* The winner is the member with the highest confidence, of equal ones the first in the list of members. */
#include "signal/derived/partition.h"

#include <math.h>

/* The rule that a member names; -1: it is of another type. */
static int rule_of(const struct sr_signals *signals, enum sr_signal_type type, const char *member,
                   const struct sr_signal_result *result)
{
    int rule = sr_signals_find_rule(signals, type, sr_bytes_str(member));
    return rule >= 0 && (size_t)rule < result->n_hits ? rule : -1;
}

/* The share of the winner among the members that match (softmax of their confidences). */
static float share(const struct sr_signals *signals, enum sr_signal_type type,
                   const struct sr_config_partition *partition, const struct sr_signal_result *result,
                   float best)
{
    double sum = 0;
    for (size_t i = 0; i < partition->members.count; i++) {
        int rule = rule_of(signals, type, partition->members.items[i], result);
        if (rule >= 0 && result->hits[rule].matched)
            sum += exp(((double)result->hits[rule].confidence - (double)best) / partition->temperature);
    }
    return sum > 0 ? (float)(1 / sum) : best;
}

static void apply(const struct sr_signals *signals, enum sr_signal_type type,
                  const struct sr_config_partition *partition, struct sr_signal_result *result)
{
    int winner = -1, members = 0, matches = 0;
    for (size_t i = 0; i < partition->members.count; i++) {
        int rule = rule_of(signals, type, partition->members.items[i], result);
        members += rule >= 0;
        if (rule < 0 || !result->hits[rule].matched)
            continue;
        matches++;
        if (winner < 0 || result->hits[rule].confidence > result->hits[winner].confidence)
            winner = rule;
    }
    if (members < 2)
        return;
    if (winner < 0) {
        winner = rule_of(signals, type, partition->fallback, result);
        if (winner >= 0)
            result->hits[winner].matched = true;
        return;
    }
    if (matches < 2)
        return;
    float best = result->hits[winner].confidence;
    if (partition->softmax)
        best = share(signals, type, partition, result, best);
    for (size_t i = 0; i < partition->members.count; i++) {
        int rule = rule_of(signals, type, partition->members.items[i], result);
        if (rule >= 0 && rule != winner) {
            result->hits[rule].matched = false;
            result->hits[rule].confidence = 0;
        }
    }
    result->hits[winner].confidence = best;
}

void sr_partitions_apply(const struct sr_signals *signals, enum sr_signal_type type,
                         struct sr_signal_result *result)
{
    if (type != SR_SIGNAL_DOMAIN && type != SR_SIGNAL_EMBEDDING)
        return;
    for (size_t i = 0; i < signals->config->n_partitions; i++)
        apply(signals, type, &signals->config->partitions[i], result);
}
