/* One table. */
#include "router/cache/reasons.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *code, *sentence;
} reasons[] = {
    {"disabled", "`global.stores.response_cache.enabled` is false"},
    {"no_policy",
     "the decision has no plugin `response_cache`, and no `global.semroute.cache.default` counts here"},
    {"no_identity", "the request has not the identity that the policy's `scope` asks for"},
    {"request_too_large", "the request is over `global.semroute.cache.max_request_bytes`"},
    {"no_model_asked", "the router answers this request itself"},
    {"no_cache", "the client's cache control says so"},
    {"no_store", "the client's or the answer's cache control says so"},
    {"max_age", "the client takes nothing that was kept"},
    {"ttl", "the time to live is 0"},
    {"pii_detected", "private data was found in the request"},
    {"guarded", "a guard acts on the request or its answer"},
    {"degraded", "a signal failed or was late"},
    {"failover", "another model took the request over"},
    {"upstream_non_2xx", "the answer's status is not 2xx"},
    {"incomplete", "it is not a whole answer: an error, no finish reason, or an end that is missing"},
    {"unreadable", "the answer is neither JSON nor a stream of events"},
    {"too_large", "the answer is over `global.semroute.cache.max_entry_bytes`, or larger than the cache"},
    {"out_of_memory", "the router is out of memory"},
    {"exact_mode", "the policy's `mode` is exact"},
    {"no_encoder", "there is no embedding model"},
    {"no_question", "there is no last text of a user"},
    {"question_too_long", "the question is over 8 KiB"},
};

const char *sr_cache_reason(const char *code)
{
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (strcmp(reasons[i].code, code) == 0)
            return reasons[i].sentence;
    return code;
}
