/*
 * A chart as an SVG picture: lines over a number, or bars for names; both on logarithmic scales.
 *
 * Readable on light and on dark pages (prefers-color-scheme), and without colours: lines have dashes, bars an
 * order. Pure.
 */
#ifndef SR_BENCH_CHART_H
#define SR_BENCH_CHART_H

#include "base/buf.h"

#define SR_CHART_SERIES 4
#define SR_CHART_POINTS 64

struct sr_chart {
    const char *title, *subtitle; /* what, and on which machine */
    const char *x_label;          /* of lines; NULL: bars */
    const char *y_label;
    struct sr_chart_series {
        char name[64];
    } series[SR_CHART_SERIES];
    size_t n_series;
    struct sr_chart_point {
        char name[64];                  /* of bars */
        double x;                       /* of lines */
        double values[SR_CHART_SERIES]; /* 0: none */
    } points[SR_CHART_POINTS];
    size_t n_points;
};

/* Appends the picture. SR_EINVAL: no value is above 0. SR_ELIMIT, SR_ENOMEM. */
int sr_chart_svg(const struct sr_chart *chart, struct sr_buf *out) SR_WARN_UNUSED;

#endif
