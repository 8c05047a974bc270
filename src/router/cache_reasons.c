/* One table of sentences; what is not in the record is told from what is. */
#include "router/cache_reasons.h"

#include "base/hex.h"

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
    {"retention", "the decision emits that nothing of the conversation is kept"},
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

const char *sr_cache_unused(const struct sr_record *r, const struct sr_router *router)
{
    const struct sr_config_cache *cache = &router->config->global.cache;
    if (r->recall.known)
        return r->recall.unused;
    if (r->cache.used)
        return NULL;
    if (!cache->enabled)
        return "disabled";
    if (!router->caches)
        return "no_policy";
    if (r->has_verdict && r->action != SR_ACTION_FORWARD)
        return "no_model_asked";
    return r->bytes_in > cache->max_request_bytes ? "request_too_large" : "no_policy";
}

const char *sr_cache_state(const struct sr_record *r, const struct sr_router *router)
{
    bool hit = r->recall.hit != SR_CACHE_MISS || r->cache.hit != SR_CACHE_MISS;
    if (hit)
        return "hit";
    if (sr_cache_unused(r, router))
        return "off";
    return r->recall.unasked ? "bypass" : "miss";
}

void sr_cache_partition_text(const struct sr_record *r, size_t n, char *out)
{
    const struct sr_cache_key *key = &r->recall.partition;
    char digits[2 * SR_CACHE_KEY + 1] = "";
    if (sr_cache_key_is_set(key))
        sr_hex_write(key->bytes, SR_CACHE_KEY, digits);
    memcpy(out, digits, n);
    out[n] = '\0';
}
