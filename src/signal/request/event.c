/*
 * Event: words of alerts, audit logs and incidents in the user's text.
 *
 * A rule has up to four criteria: names of events, severities, codes of actions, and words of urgency. It
 * matches when any criterion is found; the confidence is 0.5 and as much of the other half as criteria were
 * found (vLLM Semantic Router's event classifier). All words of all rules are searched in one pass, whole and
 * without case.
 */
#include "base/mem.h"
#include "signal/types.h"
#include "text/terms/match.h"

/* Not every "now" is urgent. */
static const char *const urgent[] = {"urgent",          "urgently",       "immediate",
                                     "immediately",     "asap",           "as soon as possible",
                                     "deadline",        "time-sensitive", "time sensitive",
                                     "time_sensitive",  "right now",      "act now",
                                     "do it now",       "need it now",    "now!",
                                     "critical window", "critical-window"};

enum { CRITERIA = 4 };

struct event_rule {
    size_t first[CRITERIA + 1]; /* literals [first[c], first[c + 1]) of criterion c */
};

struct sr_signal_set {
    const struct sr_config_event *rules;
    size_t n, n_literals;
    struct sr_matcher *matcher; /* NULL: there is no word */
    struct event_rule places[];
};

static struct sr_strings words_of(const struct sr_config_event *rule, int criterion)
{
    static const char *words[sizeof urgent / sizeof urgent[0]];
    memcpy(words, urgent, sizeof urgent);
    struct sr_strings none = {0}, temporal = {words, sizeof urgent / sizeof urgent[0]};
    const struct sr_strings lists[CRITERIA] = {rule->event_types, rule->severities, rule->action_codes,
                                               rule->temporal ? temporal : none};
    return lists[criterion];
}

static void event_free(struct sr_signal_set *set)
{
    sr_matcher_free(set->matcher);
    sr_mem_free(set);
}

static bool is_blank(const char *word)
{
    return word[strspn(word, " \t\r\n")] == 0;
}

/* Places the words of all rules, and writes them to `literals` where that is not NULL. */
static size_t place_words(struct sr_signal_set *set, struct sr_bytes *literals)
{
    size_t n = 0;
    for (size_t i = 0; i < set->n; i++)
        for (int c = 0; c < CRITERIA; c++) {
            struct sr_strings words = words_of(&set->rules[i], c);
            set->places[i].first[c] = n;
            for (size_t k = 0; k < words.count; k++)
                if (!is_blank(words.items[k])) {
                    if (literals)
                        literals[n] = sr_bytes_str(words.items[k]);
                    n++;
                }
            set->places[i].first[c + 1] = n;
        }
    return n;
}

static int event_compile(struct sr_signal_set **out, const struct sr_config *config,
                         struct sr_model_store *models, struct sr_err *err)
{
    struct sr_err why = {0};
    (void)models;
    if (config->n_events == 0)
        return SR_OK;
    struct sr_signal_set *set = sr_mem_calloc(1, sizeof *set + config->n_events * sizeof set->places[0]);
    if (!set)
        return SR_ENOMEM;
    set->rules = config->events;
    set->n = config->n_events;
    set->n_literals = place_words(set, NULL);
    struct sr_bytes *literals = sr_mem_calloc(set->n_literals + 1, sizeof *literals);
    int rc = literals ? SR_OK : SR_ENOMEM;
    if (rc == SR_OK && set->n_literals) {
        place_words(set, literals);
        rc = sr_matcher_new(&set->matcher, literals, set->n_literals, false, &why);
    }
    sr_mem_free(literals);
    if (rc) {
        sr_err_set(err, rc, "routing.signals.events: %s", why.message);
        event_free(set);
        return rc;
    }
    *out = set;
    return SR_OK;
}

static size_t event_rules(const struct sr_signal_set *set)
{
    return set->n;
}

static const char *event_name(const struct sr_signal_set *set, size_t rule)
{
    return set->rules[rule].name;
}

static const char *event_description(const struct sr_signal_set *set, size_t rule)
{
    return set->rules[rule].description;
}

static void decide(const struct event_rule *rule, const uint32_t *counts, struct sr_signal_hit *hit)
{
    unsigned criteria = 0, found = 0;
    for (int c = 0; c < CRITERIA; c++) {
        uint32_t n = 0;
        for (size_t k = rule->first[c]; k < rule->first[c + 1]; k++)
            n += counts[k];
        criteria += rule->first[c + 1] > rule->first[c];
        found += n > 0;
    }
    hit->value = found;
    hit->matched = found > 0;
    hit->confidence = found ? 0.5f + 0.5f * (float)found / (float)criteria : 0.0f;
}

static int event_run(const struct sr_signal_set *set, const struct sr_signal_input *input,
                     struct sr_arena *arena, struct sr_signal_result *result)
{
    uint32_t *counts = sr_arena_calloc(arena, set->n_literals + 1, sizeof *counts);
    result->hits = sr_signal_hits(arena, set->n);
    if (!result->hits || !counts)
        return SR_ENOMEM;
    result->n_hits = set->n;
    if (set->matcher)
        sr_matcher_count(set->matcher, input->text, counts);
    for (size_t i = 0; i < set->n; i++)
        decide(&set->places[i], counts, &result->hits[i]);
    return SR_OK;
}

const struct sr_signal_ops sr_signal_event = {
    .name = "event",
    .header = "x-vsr-matched-event",
    .header_order = 10,
    .reads = SR_SIGNAL_READS_WHOLE,
    .cost_ns_per_kib = 4000,
    .compile = event_compile,
    .free = event_free,
    .n_rules = event_rules,
    .rule_name = event_name,
    .rule_description = event_description,
    .run = event_run,
};
