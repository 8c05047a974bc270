#include "text/compress/rank.h"

#include "base/mem.h"

#include <math.h>

#define PI       3.14159265358979323846
#define LOOSE    0.1               /* of the mean sum of similarities */
#define KEEP_MAX ((size_t)8 << 20) /* scratch that is kept for the next text */

/*
 * The scratch of one ranking, in the order of the block it lies in (n sentences, t terms, e entries):
 *
 *   counted[t], when only some rows are ranked | value[e] | sum[t] | idf[n+2] | out[n] | rank[n] | next[n] |
 *   diagonal[n] | column[e] | row_end[n]
 *
 * A, row after row, is value and column. A term that only one sentence has connects nothing, so A holds the
 * others only.
 */
struct space {
    struct sr_terms_term *terms; /* those of `terms`, or `counted` */
    double *value;
    double *sum; /* per column: A' x */
    double *idf; /* by document frequency; NAN: not computed yet */
    double *out; /* sum of a sentence's similarities */
    double *rank;
    double *next;
    double *diagonal; /* a sentence's similarity to itself */
    uint32_t *column;
    uint32_t *row_end;
    size_t columns;
};

struct job {
    const struct sr_terms *terms; /* this file fills its columns */
    const uint32_t *chosen;
    size_t n;
    struct sr_scores *scores;
    struct space at;
};

void sr_rank_dispose(struct sr_rank *rank)
{
    sr_mem_free(rank->space);
    *rank = (struct sr_rank){0};
}

static const struct sr_terms_row *row_of(const struct job *job, size_t i)
{
    return &job->terms->rows[job->chosen ? job->chosen[i] : i];
}

/* NULL for an empty row: there may be no entries at all. */
static const struct sr_terms_entry *entries_of(const struct job *job, const struct sr_terms_row *row)
{
    return row->n ? job->terms->entries + row->start : NULL;
}

static int lay_out(struct sr_rank *rank, struct job *job)
{
    struct space *at = &job->at;
    size_t n = job->n, t = job->terms->n_terms, e = job->terms->n_entries, counted = job->chosen ? t : 0;
    size_t size =
        counted * sizeof *at->terms + (e + t + (n + 2) + 4 * n) * sizeof(double) + (e + n) * sizeof(uint32_t);
    if (rank->size < size || rank->size > KEEP_MAX) {
        sr_mem_free(rank->space);
        rank->size = 0;
        rank->space = sr_mem_alloc(size);
        if (!rank->space)
            return SR_ENOMEM;
        rank->size = size;
    }
    at->terms = counted ? rank->space : job->terms->terms;
    at->value = (double *)((struct sr_terms_term *)rank->space + counted);
    at->sum = at->value + e;
    at->idf = at->sum + t;
    at->out = at->idf + n + 2;
    at->rank = at->out + n;
    at->next = at->rank + n;
    at->diagonal = at->next + n;
    at->column = (uint32_t *)(at->diagonal + n);
    at->row_end = at->column + e;
    at->columns = 0;
    for (size_t i = 0; i < n + 2; i++)
        at->idf[i] = NAN;
    return SR_OK;
}

/* Counts for the chosen rows what the input counted for all rows. */
static void count_chosen(struct job *job)
{
    struct sr_terms_term *terms = job->at.terms;
    memset(terms, 0, job->terms->n_terms * sizeof *terms);
    for (size_t i = 0; i < job->n; i++) {
        const struct sr_terms_row *row = row_of(job, i);
        const struct sr_terms_entry *entry = entries_of(job, row);
        double one = row->total ? 1.0 / row->total : 0;
        for (size_t k = 0; k < row->n; k++) {
            struct sr_terms_term *term = &terms[entry[k].term];
            term->df++;
            term->share += entry[k].count * one;
        }
    }
}

/* Computes ln((N + 1) / (df + 1)), the published formula, for each document frequency that occurs, assigns a
 * column to each term that two sentences have, and returns the centroid's length. */
static double weigh_terms(struct job *job)
{
    struct space *at = &job->at;
    double squares = 0;
    uint32_t columns = 0;
    for (size_t t = 0; t < job->terms->n_terms; t++) {
        struct sr_terms_term *term = &at->terms[t];
        double *idf = &at->idf[term->df];
        if (isnan(*idf))
            *idf = log((double)(job->n + 1) / (double)(term->df + 1));
        term->column = columns;
        columns += term->df > 1;
        squares += term->share * term->share;
    }
    at->columns = columns;
    return sqrt(squares);
}

/* One pass over each row: information density, closeness to the centroid, and the row of A. Sets `sum` to A'
 * 1. */
static void read_rows(struct job *job, double centroid_length)
{
    struct space *at = &job->at;
    size_t cells = 0;
    memset(at->sum, 0, at->columns * sizeof *at->sum);
    for (size_t i = 0; i < job->n; i++) {
        const struct sr_terms_row *row = row_of(job, i);
        const struct sr_terms_entry *entry = entries_of(job, row);
        double density = 0, dot = 0, own = 0, length = sqrt(row->squares);
        double scale = row->n ? 1 / length : 0;
        for (size_t k = 0; k < row->n; k++) {
            const struct sr_terms_term *term = &at->terms[entry[k].term];
            double count = entry[k].count, value = count * scale;
            density += count * at->idf[term->df];
            dot += count * term->share;
            if (term->df < 2)
                continue;
            at->value[cells] = value;
            at->column[cells++] = term->column;
            at->sum[term->column] += value;
            own += value * value;
        }
        at->row_end[i] = (uint32_t)cells;
        at->diagonal[i] = own;
        double novelty = centroid_length > 0 ? 1 - dot / (length * centroid_length) : 1;
        job->scores[i].tfidf = row->total ? density / row->total : 0;
        job->scores[i].novelty = row->n == 0 || novelty < 0 ? 0 : novelty;
    }
}

/* sum = A' x */
static void to_columns(struct space *at, size_t n, const double *x)
{
    memset(at->sum, 0, at->columns * sizeof *at->sum);
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        for (double share = x[i]; k < at->row_end[i]; k++)
            at->sum[at->column[k]] += at->value[k] * share;
}

/* Row i of A sum, without the sentence's similarity to itself, term by term so that nothing cancels. `k` is
 * the row's first entry. */
static double to_row(const struct space *at, size_t i, size_t *k, double share)
{
    double y = 0;
    for (; *k < at->row_end[i]; ++*k)
        y += at->value[*k] * (at->sum[at->column[*k]] - at->value[*k] * share);
    return y;
}

/* out = row sums of the graph: A A' 1 - diagonal; `sum` holds A' 1. A sentence is isolated when no other has
 * any of its terms: exactly then its row of A is empty. */
static void sum_similarities(struct space *at, size_t n)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        at->out[i] = to_row(at, i, &k, 1);
}

/* The start values of the iteration. Without damping, the stationary value of a sentence in a connected
 * undirected graph is proportional to the sum of its similarities; with damping it is close to that. Weakly
 * connected sentences may form components, whose share is proportional to their size: they start at that
 * share. */
static void start_near(struct space *at, size_t n)
{
    double all = 0, firm = 0;
    size_t loose = 0;
    for (size_t i = 0; i < n; i++)
        all += at->out[i];
    double enough = all / (double)n * LOOSE;
    for (size_t i = 0; i < n; i++) {
        loose += at->out[i] <= enough;
        firm += at->out[i] <= enough ? 0 : at->out[i];
    }
    double share = SR_RANK_DAMPING * (double)(n - loose) / (double)n;
    for (size_t i = 0; i < n; i++) {
        double fixed = at->out[i] > 0 && at->out[i] <= enough ? 1 : 1 - SR_RANK_DAMPING;
        at->rank[i] = fixed / (double)n + (at->out[i] > enough ? share * at->out[i] / firm : 0);
    }
}

/* One step for all sentences at once, as published. Returns the largest change. */
static double step_together(struct space *at, size_t n)
{
    double change = 0;
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        at->next[i] = at->out[i] > 0 ? at->rank[i] / at->out[i] : 0;
    to_columns(at, n, at->next);
    for (size_t i = 0; i < n; i++) {
        double now = (1 - SR_RANK_DAMPING) / (double)n + SR_RANK_DAMPING * to_row(at, i, &k, at->next[i]);
        double moved = fabs(now - at->rank[i]);
        change = moved > change ? moved : change;
        at->rank[i] = now;
    }
    return change;
}

/* One step sentence by sentence, each with the new values of those before it (Gauss-Seidel): about half as
 * many steps, to the same fixed point. next[i] and `sum` hold rank / out and A' next throughout. The
 * sentence's own share is subtracted at once: the rounding error is far below the tolerance. */
static double step_in_turn(struct space *at, size_t n)
{
    const double base = (1 - SR_RANK_DAMPING) / (double)n;
    double change = 0;
    double *sum = at->sum;
    size_t first = 0;
    for (size_t i = 0; i < n; i++) {
        size_t end = at->row_end[i], k = first;
        double even = 0, odd = 0;
        for (; k + 2 <= end; k += 2) {
            even += at->value[k] * sum[at->column[k]];
            odd += at->value[k + 1] * sum[at->column[k + 1]];
        }
        if (k < end)
            even += at->value[k] * sum[at->column[k]];
        if (at->out[i] > 0) {
            double now = base + SR_RANK_DAMPING * (even + odd - at->diagonal[i] * at->next[i]);
            double moved = now - at->rank[i], share = moved / at->out[i];
            for (k = first; k < end; k++)
                sum[at->column[k]] += at->value[k] * share;
            at->rank[i] = now;
            at->next[i] += share;
            moved = moved < 0 ? -moved : moved;
            change = moved > change ? moved : change;
        } else {
            at->rank[i] = base;
        }
        first = end;
    }
    return change;
}

static int textrank(struct job *job, bool as_published)
{
    struct space *at = &job->at;
    size_t n = job->n;
    int steps = 0;
    double change = 1;
    sum_similarities(at, n);
    if (as_published) {
        for (size_t i = 0; i < n; i++)
            at->rank[i] = 1.0 / (double)n;
    } else {
        start_near(at, n);
        for (size_t i = 0; i < n; i++)
            at->next[i] = at->out[i] > 0 ? at->rank[i] / at->out[i] : 0;
        to_columns(at, n, at->next);
    }
    for (; n > 1 && steps < SR_RANK_ITERATIONS && change >= SR_RANK_TOLERANCE; steps++)
        change = as_published ? step_together(at, n) : step_in_turn(at, n);
    return steps;
}

static void normalise(struct sr_scores *scores, size_t n, const double *rank)
{
    double highest = 0, density = 0, novelty = 0;
    for (size_t i = 0; i < n; i++) {
        highest = rank[i] > highest ? rank[i] : highest;
        density = scores[i].tfidf > density ? scores[i].tfidf : density;
        novelty = scores[i].novelty > novelty ? scores[i].novelty : novelty;
    }
    for (size_t i = 0; i < n; i++) {
        scores[i].textrank = highest > 0 ? rank[i] / highest : 0;
        scores[i].tfidf = density > 0 ? scores[i].tfidf / density : 0;
        scores[i].novelty = novelty > 0 ? scores[i].novelty / novelty : scores[i].novelty;
    }
}

/* The two halves of the U are symmetric. */
static void place(struct sr_scores *scores, size_t n, double depth)
{
    depth = depth < 0 ? 0 : depth > 1 ? 1 : depth;
    for (size_t i = 0; i < (n + 1) / 2; i++) {
        double position = n > 1 ? 1 - depth * sin(PI * (double)i / (double)(n - 1)) : 1;
        scores[i].position = scores[n - 1 - i].position = position;
    }
}

int sr_rank_run(struct sr_rank *rank, const struct sr_terms *terms, const uint32_t *chosen, size_t n,
                struct sr_rank_options options, struct sr_scores *scores)
{
    struct job job = {.terms = terms, .chosen = chosen, .n = n, .scores = scores};
    int rc = lay_out(rank, &job);
    if (rc)
        return rc;
    if (chosen)
        count_chosen(&job);
    read_rows(&job, weigh_terms(&job));
    rank->iterations = textrank(&job, options.as_published);
    normalise(scores, n, job.at.rank);
    place(scores, n, options.depth);
    for (size_t i = 0; i < n && !options.novelty; i++)
        scores[i].novelty = 0;
    return SR_OK;
}
