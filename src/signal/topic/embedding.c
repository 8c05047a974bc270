/*
 * Embedding: matches when the text is similar in meaning to texts that a rule lists.
 *
 * The candidates of all rules are read once when the configuration is loaded; a request's text is read
 * once, however many rules there are. Similarity is the cosine. Without an encoder the rules fail with an
 * error status. Where a decision chooses its model by meaning, the type runs without rules too, for the
 * vector.
 */
#include "base/mem.h"
#include "signal/topic/meaning.h"

struct sr_signal_set {
    struct sr_embedding_reader *reader; /* NULL: there is no encoder */
    const struct sr_config_embedding *rules;
    size_t n;
    float *candidates; /* [candidates of all rules, in order][dimensions] */
};

static void embedding_free(struct sr_signal_set *set)
{
    sr_embedding_reader_unref(set->reader);
    sr_mem_free(set->candidates);
    sr_mem_free(set);
}

static int read_candidates(struct sr_signal_set *set, struct sr_err *err)
{
    size_t d = sr_embedding_reader_dimensions(set->reader), total = 0, at = 0;
    for (size_t i = 0; i < set->n; i++)
        total += set->rules[i].candidates.count;
    if (total == 0)
        return SR_OK;
    set->candidates = sr_mem_calloc(total, d * sizeof *set->candidates);
    if (!set->candidates)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    for (size_t i = 0; i < set->n; i++) {
        const struct sr_strings *texts = &set->rules[i].candidates;
        int rc = sr_embedding_reader_texts(set->reader, texts->items, texts->count, set->candidates + at * d,
                                           NULL, err);
        if (rc)
            return rc;
        at += texts->count;
    }
    return SR_OK;
}

static int embedding_compile(struct sr_signal_set **out, const struct sr_config *config,
                             struct sr_model_store *models, struct sr_err *err)
{
    struct sr_err why = {0};
    bool chooses = sr_config_chooses_by_meaning(config);
    if (config->n_embeddings == 0 && !chooses)
        return SR_OK;
    struct sr_signal_set *set = sr_mem_calloc(1, sizeof *set);
    if (!set)
        return SR_ENOMEM;
    set->rules = config->embeddings;
    set->n = config->n_embeddings;
    int rc = sr_meaning_open(&set->reader, "embedding", "embeddings", config, models, err);
    if (rc == SR_OK && set->reader) {
        rc = read_candidates(set, &why);
        if (rc)
            sr_err_set(err, rc, "routing.signals.embeddings: %s", why.message);
    }
    if (rc) {
        embedding_free(set);
        return rc;
    }
    *out = set;
    return SR_OK;
}

static size_t embedding_rules(const struct sr_signal_set *set)
{
    return set->n;
}

static const char *embedding_name(const struct sr_signal_set *set, size_t rule)
{
    return set->rules[rule].name;
}

/* The similarity of `vector` to a rule's candidates, by the rule's aggregation. */
static float nearness(const struct sr_config_embedding *rule, const float *candidates, const float *vector,
                      size_t d)
{
    float best = -1, sum = 0;
    for (size_t i = 0; i < rule->candidates.count; i++) {
        float similarity = sr_meaning_cosine(candidates + i * d, vector, d);
        sum += similarity;
        if (similarity > best)
            best = similarity;
        if (rule->aggregation == SR_AGGREGATION_ANY && similarity >= (float)rule->threshold)
            return similarity;
    }
    return rule->aggregation == SR_AGGREGATION_MEAN ? sum / (float)rule->candidates.count : best;
}

/* The vector stays for algorithms that choose a model by it. Without memory there is none. */
static void keep_vector(const float *vector, size_t d, struct sr_arena *arena,
                        struct sr_signal_result *result)
{
    float *kept = sr_arena_alloc(arena, d * sizeof *kept);
    if (!kept)
        return;
    memcpy(kept, vector, d * sizeof *kept);
    result->vector = kept;
    result->dimensions = d;
}

static int write_result(const struct sr_signal_set *set, struct sr_signal_task *task,
                        const struct sr_embedding_answer *answers, size_t n)
{
    size_t d = sr_embedding_reader_dimensions(set->reader), at = 0;
    (void)n;
    for (size_t i = 0; i < set->n; i++) {
        const struct sr_config_embedding *rule = &set->rules[i];
        float similarity = nearness(rule, set->candidates + at * d, answers[0].vector, d);
        bool matched = similarity >= (float)rule->threshold;
        task->result->hits[i] = (struct sr_signal_hit){
            matched, matched ? sr_meaning_confidence(similarity) : 0, (double)similarity};
        at += rule->candidates.count;
    }
    keep_vector(answers[0].vector, d, task->arena, task->result);
    return SR_OK;
}

static int embedding_start(const struct sr_signal_set *set, struct sr_signal_task *task)
{
    return sr_meaning_start(set, task, set->reader, set->n, NULL, 0, write_result);
}

const struct sr_signal_ops sr_signal_embedding = {
    .name = "embedding",
    .header = "x-vsr-matched-embeddings",
    .header_order = 7,
    .meaning = true,
    .cost_ns_per_kib = 5000000,
    .compile = embedding_compile,
    .free = embedding_free,
    .n_rules = embedding_rules,
    .rule_name = embedding_name,
    .start = embedding_start,
};
