/*
 * The plot of hit rates and false-hit rates as an SVG picture.
 */
#include "cli/cache/curve.h"

#define LEFT   60
#define TOP    20
#define WIDTH  560
#define HEIGHT 300

struct line {
    const char *name, *colour, *dashes;
    bool hits;
    int gate;
};

static int put_line(const struct sr_curve *curve, const struct line *line, struct sr_buf *out)
{
    size_t of = line->hits ? curve->same : curve->different;
    int rc = sr_buf_printf(
        out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-dasharray=\"%s\" points=\"",
        line->colour, line->dashes);
    for (int p = 0; p < SR_CURVE_POINTS && rc == SR_OK; p++) {
        const struct sr_curve_point *at = &curve->points[p];
        size_t n = line->hits ? at->hits[line->gate] : at->false_hits[line->gate];
        double x = LEFT + (double)WIDTH * p / (SR_CURVE_POINTS - 1);
        double y = TOP + HEIGHT * (1 - (of ? (double)n / (double)of : 0));
        rc = sr_buf_printf(out, "%.1f,%.1f ", x, y);
    }
    return rc == SR_OK ? sr_buf_printf(out, "\"/>\n") : rc;
}

static int put_axes(struct sr_buf *out)
{
    int rc = sr_buf_printf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
        "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
        LEFT + WIDTH + 40, TOP + HEIGHT + 120);
    for (int k = 0; k <= 4 && rc == SR_OK; k++) {
        int y = TOP + HEIGHT - HEIGHT * k / 4;
        rc = sr_buf_printf(out,
                           "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"#ddd\"/>\n"
                           "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%d %%</text>\n",
                           LEFT, y, LEFT + WIDTH, y, LEFT - 6, y + 4, 25 * k);
    }
    for (int p = 0; p < SR_CURVE_POINTS && rc == SR_OK; p += 10)
        rc = sr_buf_printf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.2f</text>\n",
                           LEFT + (double)WIDTH * p / (SR_CURVE_POINTS - 1), TOP + HEIGHT + 18,
                           sr_curve_threshold(p));
    return rc;
}

int sr_curve_svg(const struct sr_curve *curve, struct sr_buf *out)
{
    static const struct line lines[] = {
        {"hits without the gate", "#7aa6d8", "4 3", true, 0},
        {"hits with the gate", "#1f5fa8", "none", true, 1},
        {"false hits without the gate", "#e09a9a", "4 3", false, 0},
        {"false hits with the gate", "#b02020", "none", false, 1},
    };
    int rc = put_axes(out);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0] && rc == SR_OK; i++) {
        int y = TOP + HEIGHT + 45 + 18 * (int)i;
        rc = put_line(curve, &lines[i], out);
        if (rc == SR_OK)
            rc = sr_buf_printf(
                out,
                "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"%s\" stroke-width=\"2\" "
                "stroke-dasharray=\"%s\"/>\n<text x=\"%d\" y=\"%d\">%s</text>\n",
                LEFT, y - 4, LEFT + 30, y - 4, lines[i].colour, lines[i].dashes, LEFT + 38, y, lines[i].name);
    }
    if (rc == SR_OK && curve->proposed >= 0) {
        double x = LEFT + (double)WIDTH * curve->proposed / (SR_CURVE_POINTS - 1);
        rc = sr_buf_printf(
            out,
            "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#444\" stroke-dasharray=\"2 2\"/>\n"
            "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">proposed %.2f</text>\n",
            x, TOP, x, TOP + HEIGHT, x, TOP - 6, sr_curve_threshold(curve->proposed));
    }
    return rc == SR_OK ? sr_buf_printf(out, "</svg>\n") : rc;
}
