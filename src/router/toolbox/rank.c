/* Scores all tools, then sorts: no index, thousands of tools are compared in less time than one token takes.
 */
#include "router/toolbox/rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* BM25's constants, and the weight of its score beside a cosine; chosen by folds over training tools. */
#define BM25_K1        1.2f
#define BM25_B         0.75f
#define LEXICAL_WEIGHT 0.01f

#define POOL_LEAST 20u
#define WORDS_MAX  64u /* distinct words of a question that are compared */

/* Four sums side by side: the order of additions is fixed here, so the compiler may use vectors. */
static float dot(const float *a, const float *b, size_t n)
{
    typedef float lanes __attribute__((vector_size(16)));
    lanes sums[2] = {{0}, {0}}, x, y;
    float sum = 0;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        for (size_t k = 0; k < 2; k++) {
            memcpy(&x, a + i + 4 * k, sizeof x);
            memcpy(&y, b + i + 4 * k, sizeof y);
            sums[k] += x * y;
        }
    }
    for (; i < n; i++)
        sum += a[i] * b[i];
    sums[0] += sums[1];
    return sum + sums[0][0] + sums[0][1] + sums[0][2] + sums[0][3];
}

bool sr_tool_is_allowed(struct sr_bytes name, const struct sr_strings *allow, const struct sr_strings *block)
{
    bool allowed = allow->count == 0;
    for (size_t i = 0; i < allow->count && !allowed; i++)
        allowed = sr_bytes_eq(name, sr_bytes_str(allow->items[i]));
    for (size_t i = 0; i < block->count && allowed; i++)
        allowed = !sr_bytes_eq(name, sr_bytes_str(block->items[i]));
    return allowed;
}

/* ---- BM25 of the question's words over the set ---- */

struct asked {
    uint32_t hashes[WORDS_MAX]; /* distinct */
    size_t n;
    uint64_t
        bits; /* one for the low six bits of each hash: most words of tools are no word of the question */
};

static struct asked asked_of(const struct sr_tool_words *words)
{
    struct asked asked = {.n = 0};
    for (size_t i = 0; i < words->n && asked.n < WORDS_MAX; i++) {
        const struct sr_tool_words before = {asked.hashes, asked.n};
        if (sr_tool_words_have(&before, words->hashes[i]))
            continue;
        asked.hashes[asked.n++] = words->hashes[i];
        asked.bits |= UINT64_C(1) << (words->hashes[i] & 63);
    }
    return asked;
}

/* counts[i][k]: how often tool i has word k. */
static void count_words(const struct sr_tool_set *set, const struct asked *asked, uint8_t *counts)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct sr_tool_words *words = &set->tools[i].words;
        for (size_t j = 0; j < words->n; j++) {
            if (!(asked->bits >> (words->hashes[j] & 63) & 1))
                continue;
            for (size_t k = 0; k < asked->n; k++)
                if (asked->hashes[k] == words->hashes[j] && counts[i * asked->n + k] < UINT8_MAX)
                    counts[i * asked->n + k]++;
        }
    }
}

static int add_words(const struct sr_tool_set *set, const struct sr_tool_words *words, struct sr_arena *arena,
                     struct sr_tool_rank *ranks)
{
    struct asked asked = asked_of(words);
    uint8_t *counts = sr_arena_calloc(arena, set->n + 1, asked.n + 1);
    float total = 0;
    if (!counts)
        return SR_ENOMEM;
    count_words(set, &asked, counts);
    for (size_t i = 0; i < set->n; i++)
        total += (float)set->tools[i].words.n;
    for (size_t k = 0; total > 0 && k < asked.n; k++) {
        size_t having = 0;
        for (size_t i = 0; i < set->n; i++)
            having += counts[i * asked.n + k] != 0;
        float rarity = logf(1 + ((float)(set->n - having) + 0.5f) / ((float)having + 0.5f));
        for (size_t i = 0; having && i < set->n; i++) {
            float f = counts[i * asked.n + k], length = (float)set->tools[i].words.n * (float)set->n / total;
            if (f > 0)
                ranks[i].score += LEXICAL_WEIGHT * rarity * f * (BM25_K1 + 1) /
                                  (f + BM25_K1 * (1 - BM25_B + BM25_B * length));
        }
    }
    return SR_OK;
}

/* ---- the configured weights ---- */

static double share(size_t part, size_t all)
{
    return all ? (double)part / (double)all : 0;
}

/* The weighed score; negative: the tool is left out. */
static double weigh(const struct sr_tool *tool, float similarity, const struct sr_tool_question *question,
                    const struct sr_config_tools *settings)
{
    const struct sr_tool_words *words = &question->words;
    double sum = settings->advanced.embed + settings->advanced.lexical + settings->advanced.tag +
                 settings->advanced.name + settings->advanced.category;
    size_t asked, names, tags;
    size_t shared = sr_tool_words_shared(words, &tool->words, &asked);
    size_t by_name = sr_tool_words_shared(&tool->name_words, words, &names);
    size_t by_tag = sr_tool_words_shared(&tool->tag_words, words, &tags);
    bool known = question->category.n && tool->category.n &&
                 question->category_confidence >= settings->advanced.category_confidence;
    bool same = known && sr_bytes_eq_nocase(question->category, tool->category);
    if (shared < (size_t)settings->advanced.min_words || (settings->advanced.by_category && known && !same) ||
        !sr_tool_is_allowed(tool->name, &settings->advanced.allow, &settings->advanced.block))
        return -1;
    double score = settings->advanced.embed * (similarity > 0 ? (double)similarity : 0) +
                   settings->advanced.lexical * share(shared, asked) +
                   settings->advanced.tag * share(by_tag, tags) +
                   settings->advanced.name * share(by_name, names) + settings->advanced.category * same;
    score = sum > 0 ? score / sum : 0;
    return score < settings->advanced.min_score ? -1 : score;
}

static int by_score(const void *a, const void *b)
{
    const struct sr_tool_rank *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

static size_t weigh_best(const struct sr_tool_set *set, const struct sr_tool_question *question,
                         const struct sr_config_tools *settings, struct sr_tool_rank *ranks)
{
    size_t pool = settings->advanced.pool ? (size_t)settings->advanced.pool : 5 * (size_t)settings->top_k;
    size_t n = 0;
    if (!settings->advanced.pool && pool < POOL_LEAST)
        pool = POOL_LEAST;
    for (size_t i = 0; i < set->n && i < pool; i++) {
        double score = weigh(&set->tools[ranks[i].at], ranks[i].similarity, question, settings);
        if (score < 0)
            continue;
        ranks[n] = ranks[i];
        ranks[n++].score = (float)score;
    }
    qsort(ranks, n, sizeof *ranks, by_score);
    return n;
}

int sr_tools_rank(const struct sr_tool_set *set, const struct sr_tool_question *question,
                  const struct sr_config_tools *settings, struct sr_arena *arena, struct sr_tool_rank **out,
                  size_t *n_ranks)
{
    struct sr_tool_rank *ranks = sr_arena_alloc(arena, (set->n + 1) * sizeof *ranks);
    float *mapped = sr_arena_alloc(arena, set->dimensions * sizeof *mapped);
    if (!ranks || !mapped)
        return SR_ENOMEM;
    if (question->map)
        sr_tool_map_apply(question->map, question->vector, mapped);
    else
        memcpy(mapped, question->vector, set->dimensions * sizeof *mapped);
    for (size_t i = 0; i < set->n; i++) {
        const float *vector = set->vectors + i * set->dimensions;
        ranks[i] = (struct sr_tool_rank){.at = (uint32_t)i,
                                         .similarity = dot(question->vector, vector, set->dimensions),
                                         .score = dot(mapped, vector, set->dimensions)};
    }
    if (add_words(set, &question->words, arena, ranks))
        return SR_ENOMEM;
    qsort(ranks, set->n, sizeof *ranks, by_score);
    *out = ranks;
    *n_ranks = settings->advanced.enabled ? weigh_best(set, question, settings, ranks) : set->n;
    return SR_OK;
}
