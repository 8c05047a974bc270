/*
 * The budget: the first and the last sentences, then the best of the rest while they fit, and for exact
 * counters a final count of the joined pieces.
 *
 * Costs are tenths of a token when estimated, tokens when counted or in `compat`. The estimate of a joined
 * text is the sum of its pieces', so the budget bounds that sum.
 */
#include "text/compress/private.h"

#include "base/grow.h"

#define FILL_ABOVE 8  /* an eighth of the budget */
#define CUT_MIN    8  /* tokens */
#define MISSES_MAX 24 /* exact: maximum number of sentences in a row that were counted and did not fit */
#define SIFT_AFTER 16 /* estimated: misses in a row after which too long sentences are removed */

struct budget {
    size_t whole, left;
    size_t shortest;  /* a shorter beginning of a sentence is not kept, unless it is all there is */
    size_t misses;    /* misses in a row */
    size_t best_miss; /* the best sentence that did not fit; SIZE_MAX: none */
    bool exact;
};

static struct sr_bytes text_of(const struct sr_compressor *c, const struct sr_compress_unit *unit)
{
    return sr_bytes_of(c->text.data + unit->start, unit->end - unit->start);
}

static size_t cost_of(struct sr_compressor *c, struct sr_compress_unit *unit)
{
    const struct sr_compress_counter *counter = c->settings.counter;
    if (counter && !unit->exact) {
        unit->tokens = counter->count(counter->ctx, text_of(c, unit));
        unit->exact = true;
    }
    return unit->tokens;
}

/* True when the estimate is so far above the remaining budget that counting is useless. */
static bool is_hopeless(const struct budget *b, const struct sr_compress_unit *unit)
{
    return b->exact && !unit->exact && b->left < b->whole && sr_estimate_tokens(unit->tokens) > b->left * 2;
}

static void keep(struct budget *b, struct sr_compress_unit *unit)
{
    unit->kept = true;
    b->left -= unit->tokens;
    b->misses = 0;
}

/* Keeps the beginning of a sentence. */
static bool keep_cut(struct sr_compressor *c, struct budget *b, struct sr_compress_unit *unit, size_t share)
{
    const struct sr_compress_counter *counter = c->settings.counter;
    struct sr_bytes text = text_of(c, unit);
    if (share < b->shortest && b->left < b->whole)
        return false;
    text.n = counter ? counter->prefix(counter->ctx, text, share) : sr_estimate_prefix(text, share);
    while (text.n && (text.p[text.n - 1] == ' ' || text.p[text.n - 1] == '\n'))
        text.n--;
    if (text.n == 0)
        return false;
    size_t cost = counter ? counter->count(counter->ctx, text) : sr_estimate_tenths(sr_estimate_of(text));
    if (cost > b->left)
        return false;
    unit->end = unit->start + text.n;
    unit->tokens = cost;
    keep(b, unit);
    return true;
}

/* `share`: the maximum for a sentence that has to be cut. */
static void take(struct sr_compressor *c, struct budget *b, size_t i, size_t share)
{
    struct sr_compress_unit *unit = &c->units[i];
    if (unit->kept)
        return;
    if (is_hopeless(b, unit)) {
        b->misses++;
        b->best_miss = b->best_miss == SIZE_MAX ? i : b->best_miss;
        return;
    }
    size_t cost = cost_of(c, unit);
    if (cost <= b->left)
        keep(b, unit);
    else if (c->settings.compat || cost <= b->whole || !keep_cut(c, b, unit, share))
        b->misses++;
    if (!unit->kept && b->best_miss == SIZE_MAX)
        b->best_miss = i;
}

/* Long sentences may leave much of the budget unused: then the best that did not fit is cut to fill it. */
static void fill(struct sr_compressor *c, struct budget *b)
{
    if (!c->settings.compat && b->best_miss != SIZE_MAX && b->left > b->whole / FILL_ABOVE)
        keep_cut(c, b, &c->units[b->best_miss], b->left);
}

static void take_ends(struct sr_compressor *c, struct budget *b)
{
    size_t n = c->n_units;
    size_t first = c->settings.first < n ? c->settings.first : n;
    size_t last = c->settings.last < n ? c->settings.last : n;
    for (size_t i = 0; i < first; i++)
        take(c, b, i, b->left / (first + last < n ? first - i + last : n - i));
    for (size_t i = n - last; i < n; i++)
        take(c, b, i, b->left / (n - i));
}

/* Orders sentences: the higher score first, of equal scores the earlier sentence. */
static bool is_better(struct sr_compress_candidate a, struct sr_compress_candidate b)
{
    return a.score > b.score || (a.score >= b.score && a.unit < b.unit);
}

static void sift_down(struct sr_compress_candidate *heap, size_t n, size_t at)
{
    struct sr_compress_candidate moved = heap[at];
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && is_better(heap[child + 1], heap[child]))
            child++;
        if (!is_better(heap[child], moved))
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

static void make_heap(struct sr_compress_candidate *heap, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift_down(heap, n, i);
}

/* Removes sentences longer than the remaining budget, except those that may be cut; returns how many
 * remain. */
static size_t sift_out(const struct sr_compressor *c, struct budget *b, struct sr_compress_candidate *heap,
                       size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        size_t tokens = c->units[heap[i].unit].tokens;
        if (tokens <= b->left || tokens > b->whole)
            heap[kept++] = heap[i];
    }
    make_heap(heap, kept);
    b->misses = 0;
    return kept;
}

/* A heap instead of a sort: for a long text only the few best sentences are examined. It ends when the
 * remaining budget is below the cheapest sentence's cost. */
static void take_best(struct sr_compressor *c, struct budget *b)
{
    struct sr_compress_candidate *heap = c->heap;
    size_t n = 0, cheapest = SIZE_MAX;
    for (size_t i = 0; i < c->n_units; i++) {
        if (c->units[i].kept)
            continue;
        heap[n++] = (struct sr_compress_candidate){c->units[i].score, (uint32_t)i};
        cheapest = c->units[i].tokens < cheapest ? c->units[i].tokens : cheapest;
    }
    if (b->exact) /* estimates are not a bound */
        cheapest = 1;
    make_heap(heap, n);
    while (n && b->left >= cheapest && !(b->exact && b->misses > MISSES_MAX)) {
        size_t best = heap[0].unit;
        heap[0] = heap[--n];
        if (n)
            sift_down(heap, n, 0);
        take(c, b, best, b->left);
        if (!b->exact && b->misses > SIFT_AFTER)
            n = sift_out(c, b, heap, n);
    }
}

static int gather(struct sr_compressor *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_units; i++)
        n += c->units[i].kept;
    int rc = sr_grow(&c->kept, &c->cap_kept, n ? n : 1, sizeof *c->kept, SR_GROW_NO_MAX);
    c->n_kept = 0;
    for (size_t i = 0; i < c->n_units && rc == SR_OK; i++)
        if (c->units[i].kept)
            c->kept[c->n_kept++] = c->units[i];
    return rc;
}

/* The kept sentence to remove first: the one with the lowest score, except sentences that are always kept. */
static void drop_worst(struct sr_compressor *c)
{
    size_t n = c->n_units, worst = n;
    bool worst_is_end = false;
    for (size_t i = 0; i < n; i++) {
        if (!c->units[i].kept)
            continue;
        bool is_end = i < c->settings.first || i + c->settings.last >= n;
        if (worst == n || (worst_is_end && !is_end) ||
            (worst_is_end == is_end && c->units[i].score <= c->units[worst].score)) {
            worst = i;
            worst_is_end = is_end;
        }
    }
    if (worst < n)
        c->units[worst].kept = false;
}

/* Exact: joined pieces may have more tokens than the sum of the pieces; then the worst one is removed. */
static int check_together(struct sr_compressor *c)
{
    const struct sr_compress_counter *counter = c->settings.counter;
    struct sr_buf joined;
    sr_buf_init(&joined, c->text.len + c->n_kept + 1);
    int rc = SR_OK;
    for (;;) {
        sr_buf_clear(&joined);
        rc = sr_compress_write(c, &joined);
        if (rc)
            break;
        c->joined_tokens = counter->count(counter->ctx, sr_buf_view(&joined));
        if (c->joined_tokens <= c->settings.budget || c->n_kept == 0)
            break;
        drop_worst(c);
        rc = gather(c);
        if (rc)
            break;
    }
    c->joined_exact = true;
    sr_buf_dispose(&joined);
    return rc;
}

/* Converts costs to tokens, and sums them. */
static void report_tokens(struct sr_compressor *c)
{
    size_t sum = 0;
    for (size_t i = 0; i < c->n_kept; i++)
        sum += c->kept[i].tokens;
    if (!c->settings.counter)
        c->joined_tokens = c->settings.compat ? sum : sr_estimate_tokens(sum);
    if (c->settings.compat)
        return;
    for (size_t i = 0; i < c->n_kept; i++)
        if (!c->kept[i].exact)
            c->kept[i].tokens = sr_estimate_tokens(c->kept[i].tokens);
    for (size_t i = 0; i < c->n_units; i++)
        if (!c->units[i].exact)
            c->units[i].tokens = sr_estimate_tokens(c->units[i].tokens);
}

int sr_compress_select(struct sr_compressor *c)
{
    bool exact = c->settings.counter != NULL;
    size_t budget = c->settings.budget;
    if (!exact && !c->settings.compat) /* the last token may be incomplete */
        budget = budget * SR_ESTIMATE_SCALE + SR_ESTIMATE_SCALE - 1;
    struct budget b = {.whole = budget,
                       .left = budget,
                       .shortest = CUT_MIN * budget / c->settings.budget,
                       .best_miss = SIZE_MAX,
                       .exact = exact};
    take_ends(c, &b);
    take_best(c, &b);
    fill(c, &b);
    int rc = gather(c);
    if (rc == SR_OK && exact)
        rc = check_together(c);
    if (rc == SR_OK)
        report_tokens(c);
    return rc;
}
