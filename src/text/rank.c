#include "text/rank.h"

#include "base/mem.h"

#include <math.h>

#define PI       3.14159265358979323846
#define KEEP_MAX ((size_t)8 << 20) /* scratch that is kept for the next text */

/* The scratch of one ranking, in the order of the block it lies in (n sentences, t terms, e entries):
 *
 *   df[t] centroid[t] sum[t] column[t] | idf[n+1] | value[e] column_of[e] | row_end[n] out[n] rank[n] next[n]
 *
 * A term that only one sentence has connects nothing, so the matrix holds the others only. */
struct space {
    double *centroid; /* sum of the term frequencies */
    double *sum;      /* per column: A' x */
    double *idf;      /* by document frequency; NAN: not computed yet */
    double *value;    /* of the matrix A */
    double *out;      /* sum of a sentence's similarities */
    double *rank;
    double *next;
    uint32_t *df;
    uint32_t *column; /* of a term in A, counted from 1; 0: none yet */
    uint32_t *column_of;
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
    size_t doubles = 2 * t + (n + 2) + e + 3 * n, ints = 2 * t + e + n;
    size_t size = doubles * sizeof(double) + ints * sizeof(uint32_t);
    if (rank->size < size || rank->size > KEEP_MAX) {
        sr_mem_free(rank->space);
        rank->size = 0;
        rank->space = sr_mem_alloc(size);
        if (!rank->space)
            return SR_ENOMEM;
        rank->size = size;
    }
    double *d = rank->space;
    at->centroid = d;
    at->sum = d + t;
    at->idf = at->sum + t;
    at->value = at->idf + n + 2;
    at->out = at->value + e;
    at->rank = at->out + n;
    at->next = at->rank + n;
    at->df = (uint32_t *)(at->next + n);
    at->column = at->df + t;
    at->column_of = at->column + t;
    at->row_end = at->column_of + e;
    at->columns = 0;
    memset(at->centroid, 0, t * sizeof *at->centroid);
    memset(at->df, 0, t * sizeof *at->df);
    memset(at->column, 0, t * sizeof *at->column);
    return SR_OK;
}

static void count_documents(struct job *job)
{
    struct space *at = &job->at;
    for (size_t i = 0; i < job->n; i++) {
        const struct sr_terms_row *row = row_of(job, i);
        const struct sr_terms_entry *entry = job->terms->entries + row->start;
        double one = row->total ? 1.0 / row->total : 0;
        for (size_t k = 0; k < row->n; k++) {
            at->df[entry[k].term]++;
            at->centroid[entry[k].term] += entry[k].count * one;
        }
    }
}

/* ln((N + 1) / (df + 1)), equation of the published implementation; few values occur, so they are kept. */
static double idf_of(struct space *at, size_t n, uint32_t df)
{
    if (isnan(at->idf[df]))
        at->idf[df] = log((double)(n + 1) / (double)(df + 1));
    return at->idf[df];
}

/* One pass over each row: information density, closeness to the centroid, and the row of A. */
static void read_rows(struct job *job, double centroid_length)
{
    struct space *at = &job->at;
    size_t entries = 0;
    for (size_t i = 0; i <= job->n + 1; i++)
        at->idf[i] = NAN;
    for (size_t i = 0; i < job->n; i++) {
        const struct sr_terms_row *row = row_of(job, i);
        const struct sr_terms_entry *entry = job->terms->entries + row->start;
        double density = 0, dot = 0, squares = 0;
        for (size_t k = 0; k < row->n; k++) {
            double count = entry[k].count;
            density += count * idf_of(at, job->n, at->df[entry[k].term]);
            dot += count * at->centroid[entry[k].term];
            squares += count * count;
        }
        double length = sqrt(squares), scale = row->n ? 1 / length : 0;
        for (size_t k = 0; k < row->n; k++) {
            uint32_t term = entry[k].term;
            if (at->df[term] < 2)
                continue;
            if (at->column[term] == 0)
                at->column[term] = (uint32_t)++at->columns;
            at->column_of[entries] = at->column[term] - 1;
            at->value[entries++] = entry[k].count * scale;
        }
        at->row_end[i] = (uint32_t)entries;
        job->scores[i].tfidf = row->total ? density / row->total : 0;
        job->scores[i].novelty = row->n == 0           ? 0
                                 : centroid_length > 0 ? 1 - dot / (length * centroid_length)
                                                       : 1;
    }
}

/* sum = A' x */
static void to_columns(struct space *at, size_t n, const double *x)
{
    memset(at->sum, 0, at->columns * sizeof *at->sum);
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        for (double share = x[i]; k < at->row_end[i]; k++)
            at->sum[at->column_of[k]] += at->value[k] * share;
}

/* Row i of A sum, without the sentence's similarity to itself. `k` is the row's first entry. */
static double to_row(const struct space *at, size_t i, size_t *k, double share)
{
    double y = 0;
    for (; *k < at->row_end[i]; ++*k)
        y += at->value[*k] * (at->sum[at->column_of[*k]] - at->value[*k] * share);
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

static int textrank(struct job *job)
{
    struct space *at = &job->at;
    size_t n = job->n;
    int iteration = 0;
    double change = 1;
    sum_similarities(at, n);
    for (size_t i = 0; i < n; i++)
        at->rank[i] = 1.0 / (double)n;
    while (n > 1 && iteration < SR_RANK_ITERATIONS && change >= SR_RANK_TOLERANCE) {
        for (size_t i = 0; i < n; i++)
            at->next[i] = at->out[i] > 0 ? at->rank[i] / at->out[i] : 0;
        to_columns(at, n, at->next);
        change = 0;
        size_t k = 0;
        for (size_t i = 0; i < n; i++) {
            double y = to_row(at, i, &k, at->next[i]);
            double now = (1 - SR_RANK_DAMPING) / (double)n + SR_RANK_DAMPING * y;
            change = fmax(change, fabs(now - at->rank[i]));
            at->rank[i] = now;
        }
        iteration++;
    }
    return iteration;
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
                double depth, bool novelty, struct sr_scores *scores)
{
    struct job job = {.terms = terms, .chosen = chosen, .n = n, .scores = scores};
    int rc = lay_out(rank, &job.at, n, terms->n_terms, terms->n_entries);
    if (rc)
        return rc;
    count_documents(&job);
    double squares = 0;
    for (size_t t = 0; t < terms->n_terms; t++)
        squares += job.at.centroid[t] * job.at.centroid[t];
    read_rows(&job, sqrt(squares));
    rank->iterations = textrank(&job);
    normalise(scores, n, job.at.rank);
    depth = depth < 0 ? 0 : depth > 1 ? 1 : depth;
    for (size_t i = 0; i < n; i++) {
        scores[i].position = n > 1 ? 1 - depth * sin(PI * (double)i / (double)(n - 1)) : 1;
        scores[i].novelty = novelty ? scores[i].novelty : 0;
    }
    return SR_OK;
}
