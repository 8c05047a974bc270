/*
 * Ranks tools for a question: by meaning, by words, and where the configuration says so by tags, names and
 * categories.
 *
 * Pure functions over vectors and words that are there already; what is ranked may be a database's tools or
 * those of one request.
 */
#ifndef SR_ROUTER_TOOLBOX_RANK_H
#define SR_ROUTER_TOOLBOX_RANK_H

#include "config/config.h"
#include "router/toolbox/map.h"
#include "router/toolbox/words.h"

struct sr_tool {
    struct sr_bytes json; /* as requests get it; empty: a request's own tool */
    struct sr_bytes name, category;
    struct sr_tool_words words, name_words, tag_words;
};

/* Tools that are ranked together. */
struct sr_tool_set {
    const struct sr_tool *tools; /* [n] */
    size_t n;
    const float *vectors; /* [n][dimensions], each of length 1 */
    size_t dimensions;
};

/* What they are ranked for. */
struct sr_tool_question {
    const float *vector;           /* [dimensions], of length 1 */
    const struct sr_tool_map *map; /* of the encoder; NULL: none */
    struct sr_tool_words words;
    struct sr_bytes category; /* the domain of the question; empty: not known */
    double category_confidence;
};

struct sr_tool_rank {
    uint32_t at;      /* of the tool in its set */
    float similarity; /* cosine of question and tool */
    float score;      /* what they are ordered by */
};

/* All tools of the set, the best first, in the arena: ranks[n]. With `settings->advanced` the order is that
 * of its weighed score among the most similar ones, and what it leaves out is missing: `n_ranks` is less.
 * SR_ENOMEM. */
int sr_tools_rank(const struct sr_tool_set *set, const struct sr_tool_question *question,
                  const struct sr_config_tools *settings, struct sr_arena *arena, struct sr_tool_rank **ranks,
                  size_t *n_ranks) SR_WARN_UNUSED;

/* Is this name allowed by these lists? An empty `allow` allows all. */
bool sr_tool_is_allowed(struct sr_bytes name, const struct sr_strings *allow, const struct sr_strings *block);

#endif
