/*
 * knn: the candidate with most votes among the nearest known requests, from a file of the user's own.
 */
#include "select/model/vectors.h"
#include "select/select.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define K_DEFAULT 5

static int open(void **state, const struct sr_select_setup *setup, struct sr_err *err)
{
    struct sr_vectors *vectors = sr_mem_calloc(1, sizeof *vectors);
    if (!vectors)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    int rc = sr_vectors_load(vectors, setup->config->knn.path, err);
    if (rc)
        sr_mem_free(vectors);
    else
        *state = vectors;
    return rc;
}

static void close(void *state)
{
    struct sr_vectors *vectors = state;
    sr_vectors_dispose(vectors);
    sr_mem_free(vectors);
}

static int rank(const void *state, const struct sr_config_algorithm *algorithm,
                const struct sr_select_ask *ask, const struct sr_select_candidate *candidates, size_t n,
                struct sr_ranking *out)
{
    const struct sr_vectors *vectors = state;
    size_t nearest[SR_VECTORS_K_MAX];
    double counts[SR_SELECT_CANDIDATES_MAX] = {0}, all = 0;
    int k = algorithm->knn.k ? algorithm->knn.k : vectors->k ? vectors->k : K_DEFAULT;
    if (!ask->vector || ask->dimensions != vectors->dimensions) {
        out->fallback = ask->vector ? "other_dimensions" : "no_vector";
        return SR_ENOENT;
    }
    size_t found = sr_vectors_nearest(vectors, ask->vector, (size_t)k, nearest);
    for (size_t f = 0; f < found; f++) {
        for (size_t i = 0; i < n; i++) {
            if (strcmp(vectors->labels[nearest[f]], candidates[i].model) != 0)
                continue;
            out->items[i].score += vectors->votes[nearest[f]];
            counts[i]++;
            all++;
        }
    }
    out->why = "the most votes of the nearest known requests";
    out->fallback = all > 0 ? NULL : "no_votes";
    for (size_t i = 0; i < n; i++)
        sr_select_note(&out->items[i], "neighbours", counts[i]);
    return all > 0 ? SR_OK : SR_ENOENT;
}

const struct sr_select_ops sr_select_knn = {.name = "knn", .open = open, .close = close, .rank = rank};
