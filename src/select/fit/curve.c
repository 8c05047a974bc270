/* Settings of the knob one by one; hulls by scanning places sorted by cost. */
#include "select/fit/curve.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

#define TEXTS_MIN 20
#define RESAMPLES 200
#define PLACES    (SR_CURVE_WEIGHTS + SR_PREDICTOR_MODELS)
#define LEAST_LOG (-4.0) /* of the cost weights that are tried: 10^-4 to 10^2, and 0 */
#define MOST_LOG  2.0

struct work {
    const struct sr_curve_inputs *in;
    struct sr_selection_curve *out;
    size_t *rows; /* [n]: texts that count */
    size_t n;
    double shares[SR_PREDICTOR_MODELS]; /* costs as shares of the dearest */
};

static double weight_at(size_t i)
{
    if (i == 0)
        return 0;
    double at = (double)(i - 1) / (SR_CURVE_WEIGHTS - 2);
    return pow(10, LEAST_LOG + (MOST_LOG - LEAST_LOG) * at);
}

/* The model that a knob chooses by these qualities; of equal ones the cheaper, then the earlier. */
static size_t choose(const struct work *w, const float *quality, double cost_weight)
{
    size_t best = 0;
    double most = -HUGE_VAL;
    for (size_t k = 0; k < w->in->m; k++) {
        double value = (double)quality[k] - cost_weight * w->shares[k];
        if (value > most || (value == most && w->shares[k] < w->shares[best])) {
            most = value;
            best = k;
        }
    }
    return best;
}

static struct sr_curve_place place_of(const struct work *w, const float *quality, double cost_weight)
{
    struct sr_curve_place place = {.cost_weight = cost_weight};
    for (size_t i = 0; i < w->n; i++) {
        size_t row = w->rows[i] * w->in->m;
        size_t model = choose(w, quality + row, cost_weight);
        place.cost += w->shares[model];
        place.quality += (double)w->in->scores[row + model];
    }
    place.cost /= (double)w->n;
    place.quality /= (double)w->n;
    return place;
}

static void place_singles(struct work *w)
{
    struct sr_selection_curve *out = w->out;
    out->low = HUGE_VAL;
    out->high = -HUGE_VAL;
    for (size_t k = 0; k < w->in->m; k++) {
        double sum = 0;
        for (size_t i = 0; i < w->n; i++)
            sum += (double)w->in->scores[w->rows[i] * w->in->m + k];
        out->singles[k] = (struct sr_curve_place){0, w->shares[k], sum / (double)w->n};
        out->low = w->shares[k] < out->low ? w->shares[k] : out->low;
        out->high = w->shares[k] > out->high ? w->shares[k] : out->high;
    }
}

/* ---- hulls ---- */

static int by_cost(const void *a, const void *b)
{
    const struct sr_curve_place *x = a, *y = b;
    return x->cost != y->cost ? (x->cost > y->cost) - (x->cost < y->cost)
                              : (x->quality < y->quality) - (x->quality > y->quality);
}

/* Keeps of `places` those on the upper convex hull up to the highest quality. Returns how many. */
static size_t hull_of(struct sr_curve_place *places, size_t n)
{
    size_t kept = 0;
    qsort(places, n, sizeof *places, by_cost);
    for (size_t i = 0; i < n; i++) {
        struct sr_curve_place p = places[i];
        if (kept && (p.cost <= places[kept - 1].cost || p.quality <= places[kept - 1].quality))
            continue;
        while (kept >= 2) {
            struct sr_curve_place a = places[kept - 2], b = places[kept - 1];
            if ((b.quality - a.quality) * (p.cost - a.cost) > (p.quality - a.quality) * (b.cost - a.cost))
                break;
            kept--;
        }
        places[kept++] = p;
    }
    return kept;
}

/* The hull's quality at a cost; beyond its ends that of the end. */
static double at_cost(const struct sr_curve_place *hull, size_t n, double cost)
{
    if (n == 0)
        return 0;
    if (cost <= hull[0].cost)
        return hull[0].quality;
    for (size_t i = 1; i < n; i++)
        if (cost <= hull[i].cost)
            return hull[i - 1].quality + (hull[i].quality - hull[i - 1].quality) * (cost - hull[i - 1].cost) /
                                             (hull[i].cost - hull[i - 1].cost);
    return hull[n - 1].quality;
}

/* The mean height of a hull between two costs: trapezes between its corners. */
static double area(const struct sr_curve_place *hull, size_t n, double low, double high)
{
    double sum = 0, from = low;
    if (!(high > low))
        return at_cost(hull, n, low);
    for (size_t i = 0; i <= n; i++) {
        double to = i < n ? hull[i].cost : high;
        to = to < low ? low : to > high ? high : to;
        sum += (to - from) * (at_cost(hull, n, from) + at_cost(hull, n, to)) / 2;
        from = to;
    }
    return sum / (high - low);
}

/* The hull of the single models, and of `more` settings. A knob reaches each model alone, too. */
static size_t collect(const struct sr_selection_curve *curve, const struct sr_curve_place *more,
                      struct sr_curve_place places[PLACES])
{
    size_t n = 0;
    for (size_t k = 0; k < curve->models; k++)
        places[n++] = curve->singles[k];
    for (size_t i = 0; more && i < SR_CURVE_WEIGHTS; i++)
        places[n++] = more[i];
    return hull_of(places, n);
}

double sr_curve_coin(const struct sr_selection_curve *curve, double cost)
{
    struct sr_curve_place places[PLACES];
    return at_cost(places, collect(curve, NULL, places), cost);
}

double sr_curve_router(const struct sr_selection_curve *curve, double cost)
{
    struct sr_curve_place places[PLACES];
    return at_cost(places, collect(curve, curve->router, places), cost);
}

static double aiq_of(const struct sr_selection_curve *curve, const struct sr_curve_place *more)
{
    struct sr_curve_place places[PLACES];
    return area(places, collect(curve, more, places), curve->low, curve->high);
}

/* ---- two models ---- */

struct lead {
    double gain; /* predicted lead of the strong model */
    double lead; /* its lead in outcomes */
};

static int by_gain(const void *a, const void *b)
{
    const struct lead *x = a, *y = b;
    return (x->gain < y->gain) - (x->gain > y->gain);
}

/* The mean recovered share of the gap over all shares of texts, those with the greatest lead first. */
static double recovered(const struct lead *leads, const uint32_t *counts, size_t n)
{
    double gap = 0, so_far = 0, sum = 0, all = 0;
    for (size_t i = 0; i < n; i++)
        gap += counts[i] * leads[i].lead;
    for (size_t i = 0; i < n; i++) {
        double step = counts[i] * leads[i].lead;
        sum += counts[i] * (so_far + step / 2);
        so_far += step;
        all += counts[i];
    }
    return gap > 0 && all > 0 ? sum / gap / all : 0;
}

static uint64_t next_draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 (Vigna) */
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void resample(const struct work *w, const struct lead *leads, uint32_t *counts)
{
    double values[RESAMPLES];
    uint64_t state = w->in->seed;
    for (size_t r = 0; r < RESAMPLES; r++) {
        for (size_t i = 0; i < w->n; i++)
            counts[i] = 0;
        for (size_t i = 0; i < w->n; i++)
            counts[next_draw(&state) % w->n]++;
        values[r] = recovered(leads, counts, w->n);
    }
    qsort(values, RESAMPLES, sizeof values[0], by_value);
    w->out->apgr_low = values[RESAMPLES * 25 / 1000];
    w->out->apgr_high = values[RESAMPLES * 975 / 1000];
}

static int compare_two(struct work *w)
{
    struct sr_selection_curve *out = w->out;
    struct lead *leads = sr_mem_calloc(w->n, sizeof *leads);
    uint32_t *counts = sr_mem_calloc(w->n, sizeof *counts);
    int rc = leads && counts ? SR_OK : SR_ENOMEM;
    out->strong = out->singles[1].quality > out->singles[0].quality;
    out->weak = 1 - out->strong;
    for (size_t i = 0; rc == SR_OK && i < w->n; i++) {
        size_t row = 2 * w->rows[i];
        const float *p = w->in->predicted + row, *s = w->in->scores + row;
        leads[i] =
            (struct lead){(double)(p[out->strong] - p[out->weak]), (double)(s[out->strong] - s[out->weak])};
        counts[i] = 1;
    }
    bool gap = out->singles[out->strong].quality > out->singles[out->weak].quality;
    if (rc == SR_OK && gap) {
        qsort(leads, w->n, sizeof *leads, by_gain);
        out->two = true;
        out->apgr = recovered(leads, counts, w->n);
        resample(w, leads, counts);
    }
    sr_mem_free(leads);
    sr_mem_free(counts);
    return rc;
}

/* ---- all ---- */

static void count_rows(struct work *w)
{
    for (size_t i = 0; i < w->in->n; i++) {
        bool whole = true;
        for (size_t k = 0; k < w->in->m; k++)
            whole &= !isnan(w->in->scores[i * w->in->m + k]);
        if (whole)
            w->rows[w->n++] = i;
    }
}

static int draw(struct work *w, struct sr_err *err)
{
    double dearest = 0;
    count_rows(w);
    if (w->in->m < 2 || w->in->m > SR_PREDICTOR_MODELS || w->n < TEXTS_MIN)
        return sr_err_set(err, SR_EINVAL,
                          "%zu models and %zu texts that all of them answered: a curve needs two models and "
                          "%d texts",
                          w->in->m, w->n, TEXTS_MIN);
    for (size_t k = 0; k < w->in->m; k++)
        dearest = w->in->costs[k] > dearest ? w->in->costs[k] : dearest;
    for (size_t k = 0; k < w->in->m; k++)
        w->shares[k] = dearest > 0 ? w->in->costs[k] / dearest : 1;
    w->out->texts = w->n;
    w->out->models = w->in->m;
    place_singles(w);
    for (size_t i = 0; i < SR_CURVE_WEIGHTS; i++) {
        w->out->router[i] = place_of(w, w->in->predicted, weight_at(i));
        w->out->oracle[i] = place_of(w, w->in->scores, weight_at(i));
    }
    w->out->aiq_router = aiq_of(w->out, w->out->router);
    w->out->aiq_oracle = aiq_of(w->out, w->out->oracle);
    w->out->aiq_coin = aiq_of(w->out, NULL);
    return w->in->m == 2 ? compare_two(w) : SR_OK;
}

int sr_selection_curve(struct sr_selection_curve *out, const struct sr_curve_inputs *in, struct sr_err *err)
{
    struct work w = {.in = in, .out = out, .rows = sr_mem_calloc(in->n + 1, sizeof *w.rows)};
    *out = (struct sr_selection_curve){0};
    int rc = w.rows ? draw(&w, err) : SR_ENOMEM;
    sr_mem_free(w.rows);
    return rc == SR_ENOMEM ? sr_err_set(err, rc, "out of memory") : rc;
}

void sr_curve_points(const struct sr_selection_curve *curve, struct sr_predictor *to)
{
    to->n_points = 0;
    for (size_t i = 0; i < SR_CURVE_WEIGHTS && to->n_points < SR_PREDICTOR_CURVE; i++) {
        const struct sr_curve_place *at = &curve->router[i];
        const struct sr_predictor_point *before = to->n_points ? &to->points[to->n_points - 1] : NULL;
        double step = (curve->router[0].cost - curve->low) / (SR_PREDICTOR_CURVE - 2);
        if (before && at->cost > before->cost - step && i + 1 < SR_CURVE_WEIGHTS)
            continue;
        to->points[to->n_points++] = (struct sr_predictor_point){at->cost_weight, at->cost, at->quality};
    }
}
