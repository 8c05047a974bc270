/*
 * Hit rates and false-hit rates by threshold, and how they are shown.
 */
#ifndef SR_CLI_CACHE_CURVE_H
#define SR_CLI_CACHE_CURVE_H

#include "base/buf.h"
#include "cli/cache/pairs.h"

#define SR_CURVE_FIRST  50 /* hundredths */
#define SR_CURVE_POINTS 50 /* 0.50 to 0.99 */

/* Of one threshold; [0] without the gate, [1] with it. */
struct sr_curve_point {
    size_t hits[2];       /* pairs that are the same and would be found */
    size_t false_hits[2]; /* pairs that differ and would be found */
};

struct sr_curve {
    size_t same, different;
    struct sr_curve_point points[SR_CURVE_POINTS];
    int proposed; /* point with the lowest threshold that keeps within the limit; -1: there is none */
    double limit; /* of the share of pairs that differ and are found, with the gate */
};

/* `limit` is a share. */
void sr_curve_measure(struct sr_curve *curve, const struct sr_pairs *pairs, double limit);

static inline double sr_curve_threshold(int point)
{
    return (SR_CURVE_FIRST + point) / 100.0;
}

/* The table and the plot, for a terminal. */
int sr_curve_print(const struct sr_curve *curve, const struct sr_pairs *pairs,
                   struct sr_buf *out) SR_WARN_UNUSED;
int sr_curve_json(const struct sr_curve *curve, const struct sr_pairs *pairs, const char *model,
                  struct sr_buf *out) SR_WARN_UNUSED;
int sr_curve_svg(const struct sr_curve *curve, struct sr_buf *out) SR_WARN_UNUSED;

#endif
