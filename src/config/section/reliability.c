/*
 * `reliability` of models and decisions: which failures of a worker make a request try another one; and of
 * models: when a worker that fails is not chosen for a while.
 */
#include "config/bind/idle.h"
#include "config/section/section.h"

#include <string.h>

#define RELIABILITY(member) offsetof(struct sr_config_reliability, member)
#define RETRY(member)       offsetof(struct sr_config_retry, member)

static const struct sr_enum_word policies[] = {
    {"round_robin", SR_BALANCE_ROUND_ROBIN}, {"least_request", SR_BALANCE_LEAST_REQUEST}, {NULL, 0}};

/* Words of Envoy's retry policy, and ours for what it does not name. */
static const struct sr_enum_word failures[] = {
    {"connect-failure", SR_RETRY_CONNECT},
    {"refused-stream", SR_RETRY_CONNECT},
    {"reset-before-request", SR_RETRY_CONNECT},
    {"reset", SR_RETRY_RESET | SR_RETRY_TIMEOUT},
    {"timeout", SR_RETRY_TIMEOUT},
    {"429", SR_RETRY_429},
    {"gateway-error", SR_RETRY_GATEWAY},
    {"5xx", SR_RETRY_CONNECT | SR_RETRY_RESET | SR_RETRY_TIMEOUT | SR_RETRY_GATEWAY | SR_RETRY_5XX},
    {NULL, 0},
};

/* Envoy's words for what does not happen here, or is never tried again. */
static const char *const nothing_here[] = {"retriable-4xx",
                                           "retriable-status-codes",
                                           "retriable-headers",
                                           "envoy-ratelimited",
                                           "cancelled",
                                           "deadline-exceeded",
                                           "internal",
                                           "resource-exhausted",
                                           "unavailable",
                                           "http3-post-connect-failure",
                                           NULL};

static const struct sr_field fields[] = {
    {"lb_policy", SR_FIELD_ENUM, RELIABILITY(balance), .words = policies, .def = "round_robin",
     .help =
         "how a worker is chosen: in turn by `weight`, or the one with the fewest requests for its weight"},
    {"retry_count", SR_FIELD_INT, RELIABILITY(retry.retries), .def = "-1", .min = -1, .max = 10,
     .def_note = "`global.semroute.gateway.upstream.retries`",
     .help = "tries of a request after the first, before any byte of an answer went to the client"},
    {"retry_on", SR_FIELD_REF, .def_note = "5xx,429",
     .help = "failures that are tried again, with commas: `connect-failure`, `reset`, `timeout`, `429`, "
             "`gateway-error` (502 to 504), `5xx` (connections too), as docs/operations.md says"},
    {"consecutive_5xx", SR_FIELD_UINT32, RELIABILITY(consecutive_failures), .def = "5", .max = 1000,
     .help = "failures in a row (statuses from 500, lost answers) after which a worker is ejected; 0: never"},
    {"base_ejection_time", SR_FIELD_DURATION, RELIABILITY(base_ejection_ms), .def = "30s",
     .help = "how long a worker is ejected, times the number of its ejections in a row, at most ten times"},
    {"max_ejection_percent", SR_FIELD_UINT32, RELIABILITY(max_ejection_percent), .def = "50", .max = 100,
     .help = "share of the model's workers that may be ejected at once; one always may"},
    {"health_check_path", SR_FIELD_TEXT, RELIABILITY(health_check_path), .def_note = "no active checks",
     .help = "GET on this path says whether a worker is up: a status from 200 to 399; `/health` of vLLM"},
    {"health_check_interval", SR_FIELD_DURATION, RELIABILITY(health_check_interval_ms), .def = "10s",
     .help = "time between two checks of a worker"},
    {"health_check_timeout", SR_FIELD_DURATION, RELIABILITY(health_check_timeout_ms), .def = "2s",
     .help =
         "time for each check; two that fail in a row take the worker down, one that succeeds brings it up"},
};

static void prepare_retry(void *target)
{
    *(struct sr_config_retry *)target = (struct sr_config_retry){.retries = -1, .retry_on = SR_RETRY_DEFAULT};
}

static void prepare(void *target)
{
    struct sr_config_reliability *reliability = target;
    prepare_retry(&reliability->retry);
    reliability->health_check_path = "";
}

static uint32_t failure_of(struct sr_bytes word)
{
    for (size_t i = 0; failures[i].word; i++)
        if (sr_bytes_eq_nocase(word, sr_bytes_str(failures[i].word)))
            return (uint32_t)failures[i].value;
    return 0;
}

static void finish_retry(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_retry *retry = target;
    const struct sr_yaml_node *words = sr_yaml_get(node, "retry_on");
    if (!words || words->kind != SR_YAML_SCALAR || words->broken)
        return;
    retry->says_on = true;
    retry->retry_on = 0;
    for (size_t at = 0; at < words->text.n;) {
        const char *comma = memchr(words->text.p + at, ',', words->text.n - at);
        size_t end = comma ? (size_t)(comma - words->text.p) : words->text.n;
        struct sr_bytes word = sr_bytes_trim(sr_bytes_of(words->text.p + at, end - at));
        uint32_t found = failure_of(word);
        if (!found && sr_key_is_among(nothing_here, word))
            sr_bind_warning(b, words, "`retry_on`: `%.*s` changes nothing: see `5xx` and `429`", (int)word.n,
                            word.p);
        else if (!found && word.n)
            sr_bind_unsupported(b, words, "`retry_on`: `%.*s` is no failure that is known here; see `5xx`",
                                (int)(word.n < 60 ? word.n : 60), word.p);
        retry->retry_on |= found;
        at = end + 1;
    }
}

static void finish(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_reliability *reliability = target;
    const char *path = reliability->health_check_path;
    finish_retry(b, node, &reliability->retry);
    if (path[0] && (path[0] != '/' || strpbrk(path, " \t\r\n#")))
        sr_bind_error(b, sr_bind_at(node, "health_check_path"),
                      "`health_check_path` must begin with `/` and be "
                      "a path, with a query or without");
    if (reliability->health_check_interval_ms < 100)
        sr_bind_error(b, sr_bind_at(node, "health_check_interval"),
                      "`health_check_interval` must be at least 100ms");
    if (reliability->health_check_timeout_ms == 0)
        sr_bind_error(b, sr_bind_at(node, "health_check_timeout"), "`health_check_timeout` must be above 0");
}

const struct sr_section sr_section_reliability = {
    .name = "reliability",
    .help = "What happens when a worker of the model fails.",
    SR_FIELDS(fields),
    .prepare = prepare,
    .finish = finish,
};

static const struct sr_field decision_fields[] = {
    {"retry_count", SR_FIELD_INT, RETRY(retries), .def = "-1", .min = -1, .max = 10,
     .def_note = "`reliability` of the model",
     .help = "tries of a request of this decision after the first, at each of its models"},
    {"retry_on", SR_FIELD_REF, .def_note = "`reliability` of the model",
     .help = "failures after which a request of this decision is tried again or goes to its next model, in "
             "the words of the model's; empty: none"},
};

const struct sr_section sr_section_reliability_of_decision = {
    .name = "reliability of a decision",
    .help = "What happens when a worker fails a request of this decision; it goes before the model's.",
    SR_FIELDS(decision_fields),
    .own = true,
    .prepare = prepare_retry,
    .finish = finish_retry,
};
