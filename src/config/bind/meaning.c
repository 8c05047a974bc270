/* One row for each reason. A unit test holds the rows against the declarations of the sections. */
#include "config/bind/meaning.h"

#include <stdio.h>

const struct sr_meaning sr_meanings[] = {
    {SR_MEANING_INERT, "routing.signals.embeddings[].query_modality", "only text is read"},
    {SR_MEANING_INERT, "routing.decisions[].emits[].kind", "what is kept is the only hint so far"},
    {SR_MEANING_INERT, "routing.projections.scores[].method", "a sum is the only method so far"},
    {SR_MEANING_INERT, "routing.projections.mappings[].calibration.method",
     "the distance to a bound is the only calibration so far"},
    {SR_MEANING_INERT, "global.model_catalog.kbs[].metrics[].type", "a margin is the only metric so far"},

    {SR_MEANING_INERT, "global.stores.response_cache.embedding_model",
     "questions are embedded by the router's one encoder"},
    {SR_MEANING_INERT, "global.stores.response_cache.similarity_threshold",
     "a plugin has its own threshold, and 0.85 without one; the store's is not inherited"},
    {SR_MEANING_INERT,
     "global.stores.response_cache.redis.connection.timeout "
     "global.stores.response_cache.milvus.connection.timeout",
     "a lookup ends after `lookup_timeout_ms`"},
    {SR_MEANING_INERT,
     "global.stores.response_cache.redis.search.topk global.stores.response_cache.milvus.search.topk",
     "the cache looks at eight near questions"},
    {SR_MEANING_INERT,
     "global.stores.response_cache.redis.index.name global.stores.response_cache.redis.index.index_type",
     "vectors are searched in each process, not in the Redis"},
    {SR_MEANING_INERT, "global.stores.response_cache.milvus.collection.index.type", "the index is HNSW"},
    {SR_MEANING_INERT, "global.stores.response_cache.milvus.collection.description",
     "it is a note for people"},

    {SR_MEANING_REFUSED, "mcp", "semroute asks no other service while it decides"},
    {SR_MEANING_REFUSED, "image audio image_candidates", "only text is read"},
    {SR_MEANING_REFUSED, "classifier classifiers", "there is no such signal"},
    {SR_MEANING_REFUSED, "hard_below easy_above", "a margin is higher for what is harder"},
    {SR_MEANING_REFUSED, "flow_tool_state", "one request is one call of one model"},
    {SR_MEANING_REFUSED, "envoy-ratelimit address domain",
     "limits are counted here, or in a Redis for several processes (`global.semroute.limits.store`)"},
    {SR_MEANING_REFUSED, "hybrid_history", "`dynamic_retrieval` of the plugin `tools` counts earlier calls"},
    {SR_MEANING_REFUSED, "label", "a rule names a signal's rule by `name`"},
    {SR_MEANING_REFUSED, "router_dc automix hybrid kmeans svm mlp prompt gmtrouter",
     "there is no such algorithm"},
    {SR_MEANING_REFUSED, "elo rl_driven", "the algorithm `bandit` learns from outcomes"},
    {SR_MEANING_REFUSED, "session_aware model_switch_gate momentum lookup_tables",
     "`global.router.learning.protection` keeps a conversation at its model"},
    {SR_MEANING_REFUSED,
     "objective quality_index quality_on_missing quality_min_coverage quality_min_score latency_metric",
     "factors are weighted, and one that is not known of a candidate does not count for it"},
    {SR_MEANING_REFUSED, "remom fusion workflows flow confidence ratings",
     "one request is one call of one model"},
    {SR_MEANING_REFUSED, "candidateIterations",
     "a decision is its rules, models and plugins, and one request is one call of one model"},
    {SR_MEANING_REFUSED, "vector_store", "there is no such store"},
    {SR_MEANING_REFUSED, "hallucination", "answers are read for attacks alone"},
    {SR_MEANING_REFUSED, "auth", "give `user` and `password` in `connection`"},
    {SR_MEANING_REFUSED, "allow_request_controls", "`request_controls` says it, with `enabled` and `header`"},
    {SR_MEANING_REFUSED, "backend_config_path", "what is in that file belongs under `redis` or `milvus`"},
    {SR_MEANING_REFUSED, "memory rag", "nothing is added to a request but a system prompt"},
    {SR_MEANING_REFUSED, "image_gen", "semroute makes nothing itself"},
    {SR_MEANING_REFUSED, "context_compression",
     "texts are compressed for signals alone (`prompt_compression`); models get them whole"},
    {SR_MEANING_REFUSED, "jailbreak pii", "these are signals; the plugin is `guard`"},
    {0},
};

static bool has_name(const char *names, struct sr_bytes name)
{
    for (const char *p = names; *p; p += *p == ' ') {
        size_t n = strcspn(p, " ");
        if (sr_bytes_eq(sr_bytes_of(p, n), name))
            return true;
        p += n;
    }
    return false;
}

struct sr_meaning_text sr_meaning_refused(const char *name)
{
    struct sr_meaning_text out = {""};
    for (const struct sr_meaning *m = sr_meanings; m->names; m++)
        if (m->state == SR_MEANING_REFUSED && has_name(m->names, sr_bytes_str(name)))
            snprintf(out.text, sizeof out.text, ": %s", m->because);
    return out;
}
