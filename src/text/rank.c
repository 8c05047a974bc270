#include "text/rank.h"

#include "base/mem.h"

#include <math.h>

#define PI       3.14159265358979323846
#define LOOSE    0.1               /* of the mean sum of similarities */
#define KEEP_MAX ((size_t)8 << 20) /* scratch that is kept for the next text */

/* What is known of a term: one cache line holds two. */
struct term {
    double centroid; /* sum of its frequencies in the sentences */
    double idf;
    uint32_t df;     /* sentences that have it */
    uint32_t column; /* in A, counted from 1; 0: none yet */
};

/* An entry of A. */
struct cell {
    double value;
    uint32_t column;
};

/* The scratch of one ranking, in the order of the block it lies in (n sentences, t terms, e entries):
 *
 *   terms[t] | cells[e] | sum[t] | idf[n+2] | out[n] | rank[n] | next[n] | row_end[n]
 *
 * A term that only one sentence has connects nothing, so the matrix holds the others only. */
struct space {
    struct term *terms;
    struct cell *cells;
    double *sum; /* per column: A' x */
    double *idf; /* by document frequency; NAN: not computed yet */
    double *out; /* sum of a sentence's similarities */
    double *rank;
    double *next;
    uint32_t *row_end;
    size_t columns;
};

struct job {
    const struct sr_terms *terms;
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

static int lay_out(struct sr_rank *rank, struct space *at, size_t n, size_t t, size_t e)
{
    size_t doubles = t + (n + 2) + 3 * n;
    size_t size =
        t * sizeof *at->terms + e * sizeof *at->cells + doubles * sizeof(double) + n * sizeof *at->row_end;
    if (rank->size < size || rank->size > KEEP_MAX) {
        sr_mem_free(rank->space);
        rank->size = 0;
        rank->space = sr_mem_alloc(size);
        if (!rank->space)
            return SR_ENOMEM;
        rank->size = size;
    }
    at->terms = rank->space;
    at->cells = (struct cell *)(at->terms + t);
    at->sum = (double *)(at->cells + e);
    at->idf = at->sum + t;
    at->out = at->idf + n + 2;
    at->rank = at->out + n;
    at->next = at->rank + n;
    at->row_end = (uint32_t *)(at->next + n);
    at->columns = 0;
    memset(at->terms, 0, t * sizeof *at->terms);
    for (size_t i = 0; i < n + 2; i++)
        at->idf[i] = NAN;
    return SR_OK;
}

static void count_documents(struct job *job)
{
    struct term *terms = job->at.terms;
    for (size_t i = 0; i < job->n; i++) {
        const struct sr_terms_row *row = row_of(job, i);
        const struct sr_terms_entry *entry = job->terms->entries + row->start;
        double one = row->total ? 1.0 / row->total : 0;
        for (size_t k = 0; k < row->n; k++) {
            struct term *term = &terms[entry[k].term];
            term->df++;
            term->centroid += entry[k].count * one;
        }
    }
}

/* Gives each term its ln((N + 1) / (df + 1)), the published formula, and returns the centroid's length. Few
 * document frequencies occur, so their logarithms are kept. */
static double weigh_terms(struct job *job)
{
    struct space *at = &job->at;
    double squares = 0;
    for (size_t t = 0; t < job->terms->n_terms; t++) {
        struct term *term = &at->terms[t];
        double *idf = &at->idf[term->df];
        if (isnan(*idf))
            *idf = log((double)(job->n + 1) / (double)(term->df + 1));
        term->idf = *idf;
        squares += term->centroid * term->centroid;
    }
    return sqrt(squares);
}

/* One pass over each row: information density, closeness to the centroid, and the row of A. */
static void read_rows(struct job *job, double centroid_length)
{
    struct space *at = &job->at;
    size_t cells = 0, columns = 0;
    for (size_t i = 0; i < job->n; i++) {
        const struct sr_terms_row *row = row_of(job, i);
        const struct sr_terms_entry *entry = job->terms->entries + row->start;
        double density = 0, dot = 0, squares = 0;
        size_t first = cells;
        for (size_t k = 0; k < row->n; k++) {
            struct term *term = &at->terms[entry[k].term];
            double count = entry[k].count;
            density += count * term->idf;
            dot += count * term->centroid;
            squares += count * count;
            if (term->df < 2)
                continue;
            if (term->column == 0)
                term->column = (uint32_t)++columns;
            at->cells[cells++] = (struct cell){count, term->column - 1};
        }
        double length = sqrt(squares), scale = row->n ? 1 / length : 0;
        for (size_t k = first; k < cells; k++)
            at->cells[k].value *= scale;
        at->row_end[i] = (uint32_t)cells;
        job->scores[i].tfidf = row->total ? density / row->total : 0;
        job->scores[i].novelty = row->n == 0           ? 0
                                 : centroid_length > 0 ? fmax(0, 1 - dot / (length * centroid_length))
                                                       : 1;
    }
    at->columns = columns;
}

/* sum = A' x */
static void to_columns(struct space *at, size_t n, const double *x)
{
    memset(at->sum, 0, at->columns * sizeof *at->sum);
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        for (double share = x[i]; k < at->row_end[i]; k++)
            at->sum[at->cells[k].column] += at->cells[k].value * share;
}

/* Row i of A sum, without the sentence's similarity to itself. `k` is the row's first entry. */
static double to_row(const struct space *at, size_t i, size_t *k, double share)
{
    double y = 0;
    for (; *k < at->row_end[i]; ++*k)
        y += at->cells[*k].value * (at->sum[at->cells[*k].column] - at->cells[*k].value * share);
    return y;
}

/* out = row sums of the graph: A A' 1 - diagonal. A sentence is alone when no other has any of its terms,
 * which is known exactly: its row of A is empty. */
static void sum_similarities(struct space *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        at->next[i] = 1;
    to_columns(at, n, at->next);
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        at->out[i] = to_row(at, i, &k, 1);
}

/* Where the iteration starts. Without damping, the walk on a connected graph without directions stays at a
 * sentence in proportion to the sum of its similarities; with it, not far from there. Sentences that hang
 * loosely may form islands, whose share is their number: they start at it. */
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

/* One step sentence by sentence, each seeing the news of those before it (Gauss-Seidel): about half as many
 * steps, to the same fixed point. next[i] and `sum` hold rank / out and A' next throughout. */
static double step_in_turn(struct space *at, size_t n)
{
    double change = 0;
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        size_t first = k;
        double now = (1 - SR_RANK_DAMPING) / (double)n + SR_RANK_DAMPING * to_row(at, i, &k, at->next[i]);
        double moved = now - at->rank[i], share = at->out[i] > 0 ? moved / at->out[i] : 0;
        for (size_t cell = first; cell < k; cell++)
            at->sum[at->cells[cell].column] += at->cells[cell].value * share;
        at->rank[i] = now;
        at->next[i] += share;
        change = fabs(moved) > change ? fabs(moved) : change;
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
        highest = fmax(highest, rank[i]);
        density = fmax(density, scores[i].tfidf);
        novelty = fmax(novelty, scores[i].novelty);
    }
    for (size_t i = 0; i < n; i++) {
        scores[i].textrank = highest > 0 ? rank[i] / highest : 0;
        scores[i].tfidf = density > 0 ? scores[i].tfidf / density : 0;
        scores[i].novelty = novelty > 0 ? scores[i].novelty / novelty : scores[i].novelty;
    }
}

int sr_rank_run(struct sr_rank *rank, const struct sr_terms *terms, const uint32_t *chosen, size_t n,
                struct sr_rank_options options, struct sr_scores *scores)
{
    struct job job = {.terms = terms, .chosen = chosen, .n = n, .scores = scores};
    int rc = lay_out(rank, &job.at, n, terms->n_terms, terms->n_entries);
    if (rc)
        return rc;
    count_documents(&job);
    read_rows(&job, weigh_terms(&job));
    rank->iterations = textrank(&job, options.as_published);
    normalise(scores, n, job.at.rank);
    double depth = options.depth < 0 ? 0 : options.depth > 1 ? 1 : options.depth;
    for (size_t i = 0; i < n; i++) {
        scores[i].position = n > 1 ? 1 - depth * sin(PI * (double)i / (double)(n - 1)) : 1;
        scores[i].novelty = options.novelty ? scores[i].novelty : 0;
    }
    return SR_OK;
}
