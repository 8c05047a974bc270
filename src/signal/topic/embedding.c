/*
 * Embedding: matches when the text is similar in meaning to texts that a rule lists.
 *
 * The candidates of all rules are read once when the configuration is loaded; a request's text is read
 * once, however many rules there are. Similarity is the cosine. Without an encoder the rules fail with an
 * error status. Where a decision chooses its model by meaning, the type runs without rules too, for the
 * vector.
 */
#include "base/log.h"
#include "base/mem.h"
#include "signal/topic/embedding_reader.h"
#include "signal/types.h"

#include <stddef.h>

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
        int rc =
            sr_embedding_reader_texts(set->reader, texts->items, texts->count, set->candidates + at * d, err);
        if (rc)
            return rc;
        at += texts->count;
    }
    return SR_OK;
}

static int embedding_compile(struct sr_signal_set **out, const struct sr_config *config,
                             struct sr_model_store *models, struct sr_err *err)
{
    const char *named = config->global.inference.encoder;
    struct sr_err why = {0};
    bool chooses = sr_config_chooses_by_meaning(config);
    if (config->n_embeddings == 0 && !chooses)
        return SR_OK;
    struct sr_signal_set *set = sr_mem_calloc(1, sizeof *set);
    if (!set)
        return SR_ENOMEM;
    set->rules = config->embeddings;
    set->n = config->n_embeddings;
    int rc = sr_embedding_reader_new(&set->reader, config, models, &why);
    if (rc == SR_ENOENT && (!named || !*named)) {
        sr_log(
            SR_LOG_WARN, "encoder_missing",
            "%s; rules of type `embedding` match nothing, other signals use the linear tier, and models are "
            "not chosen by meaning",
            why.message);
        rc = SR_OK;
    } else if (rc == SR_OK) {
        rc = read_candidates(set, &why);
    }
    if (rc) {
        sr_err_set(err, rc, "routing.signals.embeddings: %s", why.message);
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

static float dot(const float *a, const float *b, size_t n)
{
    float sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* The similarity of `vector` to a rule's candidates, by the rule's aggregation. */
static float nearness(const struct sr_config_embedding *rule, const float *candidates, const float *vector,
                      size_t d)
{
    float best = -1, sum = 0;
    for (size_t i = 0; i < rule->candidates.count; i++) {
        float similarity = dot(candidates + i * d, vector, d);
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

static void write_result(const struct sr_signal_set *set, const struct sr_embedding_read *read,
                         const struct sr_signal_task *task, struct sr_signal_result *result)
{
    size_t d = sr_embedding_reader_dimensions(set->reader), at = 0;
    struct sr_embedding_answer answer = sr_embedding_read_answer(read);
    for (size_t i = 0; i < set->n; i++) {
        const struct sr_config_embedding *rule = &set->rules[i];
        float similarity = nearness(rule, set->candidates + at * d, answer.vector, d);
        bool matched = similarity >= (float)rule->threshold;
        float confidence = similarity < 0 ? 0 : similarity > 1 ? 1 : similarity;
        result->hits[i] = (struct sr_signal_hit){matched, matched ? confidence : 0, (double)similarity};
        at += rule->candidates.count;
    }
    keep_vector(answer.vector, d, task->arena, result);
    result->tier = "neural";
    result->all_bytes = task->input->text.n;
    result->scanned_bytes = answer.read_bytes;
    result->remembered = answer.remembered;
}

/* A task's own part, in the task's arena. */
struct asking {
    const struct sr_signal_set *set;
    struct sr_embedding_read *read;
};

static struct asking *asking_of(struct sr_task *base)
{
    return ((struct sr_signal_task *)((char *)base - offsetof(struct sr_signal_task, base)))->state;
}

static void read_done(void *ctx, int status)
{
    struct sr_signal_task *task = ctx;
    struct asking *asking = task->state;
    if (status == SR_OK)
        write_result(asking->set, asking->read, task, task->result);
    sr_signal_complete(task, status);
}

static void embedding_stop(struct sr_task *base)
{
    sr_embedding_read_cancel(asking_of(base)->read);
}

static void embedding_cleanup(struct sr_signal_task *task)
{
    struct asking *asking = task->state;
    sr_embedding_read_free(asking->read);
}

static const struct sr_task_work embedding_work = {.stop = embedding_stop};

static int embedding_start(const struct sr_signal_set *set, struct sr_signal_task *task)
{
    if (!set->reader)
        return SR_ENOENT;
    struct asking *asking = sr_arena_calloc(task->arena, 1, sizeof *asking);
    task->result->hits = sr_signal_hits(task->arena, set->n);
    if (!asking || !task->result->hits)
        return SR_ENOMEM;
    task->result->n_hits = set->n;
    if (task->input->text.n == 0)
        return SR_OK;
    asking->set = set;
    task->state = asking;
    task->cleanup = embedding_cleanup;
    sr_task_ref(&task->base); /* the answer may arrive before the start returns */
    int rc =
        sr_embedding_read_start(&asking->read, set->reader, task->input->text, task->client, read_done, task);
    if (rc == SR_OK)
        write_result(set, asking->read, task, task->result);
    else if (rc == SR_AGAIN)
        sr_task_begin(&task->base, &embedding_work);
    sr_task_unref(&task->base);
    return rc;
}

const struct sr_signal_ops sr_signal_embedding = {
    .name = "embedding",
    .header = "x-vsr-matched-embeddings",
    .header_order = 7,
    .cost_ns_per_kib = 5000000,
    .compile = embedding_compile,
    .free = embedding_free,
    .n_rules = embedding_rules,
    .rule_name = embedding_name,
    .start = embedding_start,
};
