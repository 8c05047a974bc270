/*
 * Any bytes as a file of the algorithms that choose a model: the first byte says which. What is accepted can
 * be asked, and written and read again to the same; anything else has a message.
 */
#include "select/fit/outcomes.h"
#include "select/model/predictor.h"
#include "select/model/vectors.h"
#include "select/state/arms.h"

#include <math.h>
#include <stdlib.h>

#define OUT_MAX ((size_t)64 << 20)

static void refused(int rc, const struct sr_err *err)
{
    if (rc == SR_OK || !err->message[0])
        abort();
}

static void neighbours(struct sr_bytes text)
{
    struct sr_vectors v;
    struct sr_err err = {0};
    size_t nearest[8];
    int rc = sr_vectors_parse(&v, text, &err);
    if (rc) {
        refused(rc, &err);
        return;
    }
    size_t n = sr_vectors_nearest(&v, v.rows, 8, nearest);
    if (n != (v.n < 8 ? v.n : 8))
        abort();
    for (size_t i = 0; i < n; i++)
        if (nearest[i] >= v.n || !v.labels[nearest[i]])
            abort();
    sr_vectors_dispose(&v);
}

static void write_again(const struct sr_predictor *p)
{
    struct sr_buf text, other;
    struct sr_predictor again;
    struct sr_err err = {0};
    sr_buf_init(&text, OUT_MAX);
    sr_buf_init(&other, OUT_MAX);
    if (sr_predictor_write(p, &text) || sr_predictor_parse(&again, sr_buf_view(&text), &err))
        abort();
    if (again.n != p->n || again.n_points != p->n_points)
        abort();
    sr_predictor_dispose(&again);
    sr_buf_dispose(&text);
    sr_buf_dispose(&other);
}

static void predictor(struct sr_bytes text)
{
    struct sr_predictor p;
    struct sr_err err = {0};
    int rc = sr_predictor_parse(&p, text, &err);
    if (rc) {
        refused(rc, &err);
        return;
    }
    float features[SR_FEATURES], *vector = calloc(p.dimensions, sizeof *vector);
    sr_predictor_features(&p, text, features);
    for (size_t i = 0; vector && i < p.n; i++) {
        double q = sr_predictor_probability(&p, &p.models[i], vector, features);
        if (q < 0 || q > 1)
            abort();
    }
    (void)sr_predictor_weight_of(&p, 0.5);
    write_again(&p);
    free(vector);
    sr_predictor_dispose(&p);
}

static void arms(struct sr_bytes text)
{
    static struct sr_select_arms *state; /* one for all: it is large */
    struct sr_err err = {0};
    if (!state && sr_arms_new(&state))
        abort();
    int rc = sr_arms_read(state, text, &err);
    if (rc)
        refused(rc, &err);
}

static void log_line(struct sr_bytes text)
{
    struct sr_outcomes o;
    struct sr_err err = {0};
    sr_outcomes_init(&o);
    int rc = sr_outcomes_add(&o, text, &err);
    if (rc)
        refused(rc, &err);
    for (size_t i = 0; i < o.n; i++)
        if (!(o.rows[i].score >= 0 && o.rows[i].score <= 1) || o.rows[i].text >= o.n_texts ||
            o.rows[i].model >= o.n_models || o.rows[i].cost < 0)
            abort();
    sr_outcomes_dispose(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static void (*const parsers[])(struct sr_bytes text) = {neighbours, predictor, arms, log_line};
    if (size == 0 || size > 1 << 16)
        return 0;
    char *copy = malloc(size); /* with a NUL, as a file in memory has */
    memcpy(copy, bytes + 1, size - 1);
    copy[size - 1] = '\0';
    parsers[bytes[0] % 4](sr_bytes_of(copy, size - 1));
    free(copy);
    return 0;
}
