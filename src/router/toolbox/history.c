/*
 * The formulas and their numbers are those of vLLM Semantic Router (pkg/tools/hybrid_history.go), so that the
 * weights of a file mean here what they mean there.
 */
#include "router/toolbox/history.h"

#include "base/hash.h"

#include <stdlib.h>

#define NEXT_OF_NOTHING 0.5  /* nothing was called */
#define NEXT_UNKNOWN    0.62 /* nothing was called after an earlier call of the newest tool */
#define NEXT_AGAIN      0.12 /* the same, of the newest tool itself */
#define PRIOR_LEAST     0.45 /* of a tool of the question's domain, where the decision is not sure at all */
#define ONE_TOOL_CALLS  4u   /* so many calls of one tool alone are a loop ... */
#define ONE_TOOL_SHARE  0.35 /* ... and say less */
#define REPETITION      0.35

/* What the calls of the window say, whichever the tool. */
struct window {
    const struct sr_bytes *names;       /* [n], the newest first */
    uint64_t hashes[SR_TOOL_CALLS_MAX]; /* [n], of the names: thousands of tools are looked for among them */
    bool follows[SR_TOOL_CALLS_MAX];    /* [n]: the call before it was one of the newest tool */
    size_t n, n_follows;
};

static void look(const struct sr_tool_calls *calls, int most, struct window *window)
{
    window->n = calls->n < (size_t)most ? calls->n : (size_t)most;
    window->n_follows = 0;
    window->names = calls->names;
    for (size_t i = 0; i < window->n; i++) {
        window->hashes[i] = sr_hash64(calls->names[i], 0);
        window->follows[i] = i + 1 < window->n && sr_bytes_eq(calls->names[i + 1], calls->names[0]);
        window->n_follows += window->follows[i];
    }
}

static double confidence(const struct window *window, int most)
{
    size_t same = 0;
    while (same < window->n && sr_bytes_eq(window->names[same], window->names[0]))
        same++;
    bool loops = same == window->n && same >= ONE_TOOL_CALLS;
    return (double)window->n / most * (loops ? ONE_TOOL_SHARE : 1);
}

static double prior(const struct sr_tool *tool, const struct sr_tool_question *question)
{
    double sure = question->category_confidence;
    if (!question->category.n || !sr_bytes_eq_nocase(question->category, tool->category))
        return 0;
    return PRIOR_LEAST + (1 - PRIOR_LEAST) * (sure > 0 ? (sure < 1 ? sure : 1) : 0);
}

/* The score of a tool by its calls: what `history` weighs, less what `repetition` takes, as parts of `sum`.
 */
static double by_calls(struct sr_bytes name, const struct window *window,
                       const struct sr_config_tool_history *settings, double sum)
{
    size_t called = 0, next = 0;
    uint64_t hash = sr_hash64(name, 0);
    double likely = NEXT_OF_NOTHING;
    for (size_t i = 0; i < window->n; i++) {
        bool same = window->hashes[i] == hash && sr_bytes_eq(window->names[i], name);
        called += same;
        next += same && window->follows[i];
    }
    if (window->n_follows)
        likely = (double)next / (double)window->n_follows;
    else if (window->n)
        likely = sr_bytes_eq(window->names[0], name) ? NEXT_AGAIN : NEXT_UNKNOWN;
    return settings->history * likely / sum -
           settings->repetition * REPETITION * (called > 1 ? (double)(called - 1) : 0);
}

static int by_score(const void *a, const void *b)
{
    const struct sr_tool_rank *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->similarity != y->similarity)
        return x->similarity > y->similarity ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

void sr_tools_rank_history(const struct sr_tool_set *set, const struct sr_tool_question *question,
                           const struct sr_tool_calls *calls, const struct sr_config_tool_history *settings,
                           struct sr_tool_rank *ranks, size_t n)
{
    struct window window;
    double sum = settings->semantic + settings->history + settings->prior;
    look(calls, settings->window, &window);
    if (settings->falls_back &&
        (!window.n || confidence(&window, settings->window) < settings->min_confidence))
        return;
    if (sum <= 0)
        sum = 1;
    for (size_t i = 0; i < n; i++) {
        const struct sr_tool *tool = &set->tools[ranks[i].at];
        double score =
            (settings->semantic * (double)ranks[i].score + settings->prior * prior(tool, question)) / sum;
        ranks[i].score = (float)(score + by_calls(tool->name, &window, settings, sum));
    }
    qsort(ranks, n, sizeof *ranks, by_score);
}
