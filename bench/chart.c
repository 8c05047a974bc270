/* Decades are the ticks of both axes. */
#include "bench/chart.h"

#include <math.h>
#include <stdio.h>

#define LEFT       76
#define NAMES      190 /* LEFT of bars */
#define TOP        60
#define WIDTH      600
#define HEIGHT     300 /* of lines */
#define BAR        12
#define GAP        10
#define FAR_RIGHT  30
#define LEGEND_ROW 18

static const char STYLE[] =
    "<style>text{fill:#1f2328}.dim{fill:#59636e}.back{fill:#fff}.grid{stroke:#d1d9e0}.s0{stroke:#1f5fa8;"
    "--c:#1f5fa8}.s1{stroke:#b35900;--c:#b35900}.s2{stroke:#2f7d32;--c:#2f7d32}.s3{stroke:#7b3fa0;--c:#"
    "7b3fa0}"
    ".bar,.dot{fill:var(--c);stroke:none}.line{fill:none;stroke-width:2}@media (prefers-color-scheme:dark)"
    "{text{fill:#e6edf3}.dim{fill:#9198a1}.back{fill:#0d1117}.grid{stroke:#3d444d}.s0{stroke:#6cb6ff;--c:#"
    "6cb6ff}"
    ".s1{stroke:#f0a050;--c:#f0a050}.s2{stroke:#7ccf7c;--c:#7ccf7c}.s3{stroke:#d2a8ff;--c:#d2a8ff}}</"
    "style>\n";
static const char *const dashes[SR_CHART_SERIES] = {"none", "7 4", "2 3", "9 3 2 3"};

struct scale {
    int from, to; /* decades */
};

struct frame {
    struct scale x, y; /* of bars only y is used, from left to right */
    int left, height;
    bool bars;
};

static void widen(struct scale *scale, bool *any, double value)
{
    if (!(value > 0) || !isfinite(value))
        return;
    int low = (int)floor(log10(value)), high = (int)ceil(log10(value));
    if (!*any || low < scale->from)
        scale->from = low;
    if (!*any || high > scale->to)
        scale->to = high;
    *any = true;
    if (scale->to == scale->from)
        scale->to++;
}

/* 0..1 along the scale. */
static double along(const struct scale *scale, double value)
{
    return (log10(value) - scale->from) / (scale->to - scale->from);
}

static double x_of(const struct frame *f, double share)
{
    return f->left + WIDTH * share;
}

static double y_of(const struct frame *f, double share)
{
    return TOP + f->height * (1 - share);
}

static int put_text(struct sr_buf *out, double x, double y, const char *attributes, const char *text)
{
    int rc = sr_buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, attributes);
    for (const char *p = text; *p && !rc; p++)
        rc = *p == '<'                 ? sr_buf_printf(out, "&lt;")
             : *p == '>'               ? sr_buf_printf(out, "&gt;")
             : *p == '&'               ? sr_buf_printf(out, "&amp;")
             : (unsigned char)*p < ' ' ? sr_buf_append(out, " ", 1)
                                       : sr_buf_append(out, p, 1);
    return rc ? rc : sr_buf_printf(out, "</text>\n");
}

/* 10^decade, short: 0.01, 1, 100, 10k, 1M. */
static void tick(char text[24], int decade)
{
    static const char *const suffixes[] = {"", "k", "M", "G", "T"};
    int thousands = decade > 3 ? decade / 3 : 0;
    if (thousands > 4)
        thousands = 4;
    snprintf(text, 24, "%g%s", pow(10, decade - 3 * thousands), suffixes[thousands]);
}

static int put_grid(const struct frame *f, const struct scale *scale, bool across, struct sr_buf *out)
{
    char text[24];
    int rc = SR_OK;
    for (int decade = scale->from; decade <= scale->to && !rc; decade++) {
        double share = (double)(decade - scale->from) / (scale->to - scale->from);
        double x = x_of(f, across ? share : 0), y = y_of(f, across ? 0 : share);
        tick(text, decade);
        rc = sr_buf_printf(out, "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x,
                           y, across ? x : x_of(f, 1), across ? y_of(f, 1) : y);
        if (!rc)
            rc = across ? put_text(out, x, y + 18, " text-anchor=\"middle\"", text)
                        : put_text(out, x - 6, y + 4, " text-anchor=\"end\"", text);
    }
    return rc;
}

static int put_axes(const struct sr_chart *chart, const struct frame *f, struct sr_buf *out)
{
    char turned[80];
    double middle = TOP + f->height / 2.0, below = TOP + f->height + 38;
    int rc = put_grid(f, &f->y, f->bars, out);
    if (!rc && f->bars)
        return put_text(out, x_of(f, 0.5), below, " text-anchor=\"middle\"", chart->y_label);
    if (!rc)
        rc = put_grid(f, &f->x, true, out);
    if (!rc)
        rc = put_text(out, x_of(f, 0.5), below, " text-anchor=\"middle\"", chart->x_label);
    snprintf(turned, sizeof turned, " text-anchor=\"middle\" transform=\"rotate(-90 18 %.1f)\"", middle);
    return rc ? rc : put_text(out, 18, middle, turned, chart->y_label);
}

static int put_lines(const struct sr_chart *chart, const struct frame *f, size_t s, struct sr_buf *out)
{
    int rc =
        sr_buf_printf(out, "<polyline class=\"line s%zu\" stroke-dasharray=\"%s\" points=\"", s, dashes[s]);
    for (int dots = 0; dots < 2 && !rc; dots++) {
        for (size_t i = 0; i < chart->n_points && !rc; i++) {
            const struct sr_chart_point *p = &chart->points[i];
            if (!(p->values[s] > 0) || !(p->x > 0))
                continue;
            double x = x_of(f, along(&f->x, p->x)), y = y_of(f, along(&f->y, p->values[s]));
            rc = dots ? sr_buf_printf(out, "<circle class=\"dot s%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n",
                                      s, x, y)
                      : sr_buf_printf(out, "%.1f,%.1f ", x, y);
        }
        if (!rc && !dots)
            rc = sr_buf_printf(out, "\"/>\n");
    }
    return rc;
}

static int group_height(const struct sr_chart *chart)
{
    return (int)chart->n_series * BAR + GAP;
}

static int put_bars(const struct sr_chart *chart, const struct frame *f, size_t s, struct sr_buf *out)
{
    int rc = SR_OK;
    for (size_t i = 0; i < chart->n_points && !rc; i++) {
        const struct sr_chart_point *p = &chart->points[i];
        double top = TOP + (double)i * group_height(chart) + GAP / 2.0;
        if (s == 0)
            rc = put_text(out, f->left - 8, top + (double)chart->n_series * BAR / 2 + 4,
                          " text-anchor=\"end\"", p->name);
        if (!rc && p->values[s] > 0)
            rc = sr_buf_printf(out,
                               "<rect class=\"bar s%zu\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\">"
                               "<title>%.4g</title></rect>\n",
                               s, f->left, top + (double)s * BAR, WIDTH * along(&f->y, p->values[s]), BAR - 2,
                               p->values[s]);
    }
    return rc;
}

static int put_legend(const struct sr_chart *chart, const struct frame *f, size_t s, struct sr_buf *out)
{
    double x = f->left, y = TOP + f->height + 64 + LEGEND_ROW * (double)s;
    int rc = f->bars ? sr_buf_printf(out,
                                     "<rect class=\"bar s%zu\" x=\"%.1f\" y=\"%.1f\" width=\"30\" "
                                     "height=\"%d\"/>\n",
                                     s, x, y - BAR + 2, BAR - 2)
                     : sr_buf_printf(out,
                                     "<line class=\"line s%zu\" stroke-dasharray=\"%s\" x1=\"%.1f\" "
                                     "y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                                     s, dashes[s], x, y - 4, x + 30, y - 4);
    return rc ? rc : put_text(out, x + 38, y, "", chart->series[s].name);
}

static int put_head(const struct sr_chart *chart, const struct frame *f, struct sr_buf *out)
{
    int width = f->left + WIDTH + FAR_RIGHT;
    int height = TOP + f->height + 64 + LEGEND_ROW * (int)chart->n_series;
    int rc =
        sr_buf_printf(out,
                      "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"%d\" height=\"%d\" "
                      "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n%s"
                      "<rect class=\"back\" width=\"100%%\" height=\"100%%\"/>\n",
                      width, height, width, height, STYLE);
    if (!rc)
        rc = put_text(out, 16, 24, " font-size=\"15\" font-weight=\"bold\"", chart->title);
    return rc ? rc : put_text(out, 16, 43, " class=\"dim\"", chart->subtitle);
}

int sr_chart_svg(const struct sr_chart *chart, struct sr_buf *out)
{
    struct frame f = {.bars = !chart->x_label, .left = chart->x_label ? LEFT : NAMES};
    bool any_x = false, any_y = false;
    f.height = f.bars ? (int)chart->n_points * group_height(chart) : HEIGHT;
    for (size_t i = 0; i < chart->n_points; i++) {
        widen(&f.x, &any_x, chart->points[i].x);
        for (size_t s = 0; s < chart->n_series; s++)
            widen(&f.y, &any_y, chart->points[i].values[s]);
    }
    if (!any_y || (!f.bars && !any_x))
        return SR_EINVAL;
    if (f.bars)
        f.y.from--; /* the least bar is seen */
    int rc = put_head(chart, &f, out);
    if (!rc)
        rc = put_axes(chart, &f, out);
    for (size_t s = 0; s < chart->n_series && !rc; s++) {
        rc = f.bars ? put_bars(chart, &f, s, out) : put_lines(chart, &f, s, out);
        if (!rc)
            rc = put_legend(chart, &f, s, out);
    }
    return rc ? rc : sr_buf_printf(out, "</svg>\n");
}
