/* Tables have the cost in tenths of the range between the cheapest and the dearest model. */
#include "cli/select/picture.h"

#include "base/json_write.h"

#define TENTHS 10

/* ---- the table ---- */

/* The knob's setting whose cost is nearest to one. */
static double weight_near(const struct sr_selection_curve *c, double cost)
{
    double best = c->router[0].cost_weight, least = 2;
    for (size_t i = 0; i < SR_CURVE_WEIGHTS; i++) {
        double away = c->router[i].cost > cost ? c->router[i].cost - cost : cost - c->router[i].cost;
        if (away < least) {
            least = away;
            best = c->router[i].cost_weight;
        }
    }
    return best;
}

static double cost_at(const struct sr_selection_curve *c, int tenth)
{
    return c->low + (c->high - c->low) * tenth / TENTHS;
}

int sr_curve_view_text(const struct sr_curve_view *view, struct sr_buf *out)
{
    const struct sr_selection_curve *c = view->curve;
    int rc = sr_buf_printf(out,
                           "%zu texts that all of %zu models answered, %s\n\n"
                           "cost of the dearest   cost_weight   router    coin      gain\n",
                           c->texts, c->models, view->how);
    for (int t = 0; t <= TENTHS && rc == SR_OK; t++) {
        double cost = cost_at(c, t), router = sr_curve_router(c, cost), coin = sr_curve_coin(c, cost);
        rc = sr_buf_printf(out, "%17.1f %%   %11.4f   %6.2f %%  %6.2f %%  %+.2f\n", 100 * cost,
                           weight_near(c, cost), 100 * router, 100 * coin, 100 * (router - coin));
    }
    if (rc == SR_OK)
        rc = sr_buf_printf(out, "\neach model alone      cost        quality\n");
    for (size_t k = 0; k < c->models && rc == SR_OK; k++)
        rc = sr_buf_printf(out, "%-20s  %5.1f %%   %6.2f %%\n", view->models[k], 100 * c->singles[k].cost,
                           100 * c->singles[k].quality);
    if (rc == SR_OK)
        rc = sr_buf_printf(
            out, "\nAIQ (mean quality over the costs)   router %.4f   coin %.4f   best possible %.4f\n",
            c->aiq_router, c->aiq_coin, c->aiq_oracle);
    if (rc == SR_OK && c->two)
        rc = sr_buf_printf(
            out, "APGR (share of the gap from %s to %s)   %.4f (95 %%: %.4f to %.4f; a coin has 0.5)\n",
            view->models[c->weak], view->models[c->strong], c->apgr, c->apgr_low, c->apgr_high);
    return rc;
}

/* ---- JSON ---- */

static void put_place(struct sr_json_writer *w, const struct sr_curve_place *place, const char *model)
{
    sr_json_object(w, NULL);
    if (model)
        sr_json_text(w, "model", model);
    else
        sr_json_real(w, "cost_weight", "%.6g", place->cost_weight);
    sr_json_real(w, "cost", "%.6g", place->cost);
    sr_json_real(w, "quality", "%.6g", place->quality);
    sr_json_object_end(w);
}

int sr_curve_view_json(const struct sr_curve_view *view, struct sr_buf *out)
{
    const struct sr_selection_curve *c = view->curve;
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_text(&w, "task", "selection");
    sr_json_text(&w, "how", view->how);
    sr_json_uint(&w, "texts", c->texts);
    sr_json_array(&w, "models");
    for (size_t k = 0; k < c->models; k++)
        put_place(&w, &c->singles[k], view->models[k]);
    sr_json_array_end(&w);
    sr_json_array(&w, "by_cost");
    for (int t = 0; t <= TENTHS; t++) {
        double cost = cost_at(c, t);
        sr_json_object(&w, NULL);
        sr_json_real(&w, "cost", "%.6g", cost);
        sr_json_real(&w, "router", "%.6g", sr_curve_router(c, cost));
        sr_json_real(&w, "coin", "%.6g", sr_curve_coin(c, cost));
        sr_json_object_end(&w);
    }
    sr_json_array_end(&w);
    sr_json_array(&w, "settings");
    for (size_t i = 0; i < SR_CURVE_WEIGHTS; i++)
        put_place(&w, &c->router[i], NULL);
    sr_json_array_end(&w);
    sr_json_object(&w, "aiq");
    sr_json_real(&w, "router", "%.6g", c->aiq_router);
    sr_json_real(&w, "coin", "%.6g", c->aiq_coin);
    sr_json_real(&w, "best_possible", "%.6g", c->aiq_oracle);
    sr_json_object_end(&w);
    if (c->two) {
        sr_json_object(&w, "apgr");
        sr_json_text(&w, "weak", view->models[c->weak]);
        sr_json_text(&w, "strong", view->models[c->strong]);
        sr_json_real(&w, "value", "%.6g", c->apgr);
        sr_json_real(&w, "low", "%.6g", c->apgr_low);
        sr_json_real(&w, "high", "%.6g", c->apgr_high);
        sr_json_object_end(&w);
    }
    sr_json_object_end(&w);
    return w.rc ? w.rc : sr_buf_append(out, "\n", 1);
}

/* ---- the picture ---- */

#define LEFT   60
#define TOP    20
#define WIDTH  560
#define HEIGHT 300

struct frame {
    double low, high; /* qualities at the bottom and the top */
};

static struct frame frame_of(const struct sr_selection_curve *c)
{
    struct frame f = {1, 0};
    for (size_t k = 0; k < c->models; k++)
        f.low = c->singles[k].quality < f.low ? c->singles[k].quality : f.low;
    for (size_t i = 0; i < SR_CURVE_WEIGHTS; i++)
        f.high = c->oracle[i].quality > f.high ? c->oracle[i].quality : f.high;
    double room = (f.high - f.low) * 0.05 + 0.005;
    return (struct frame){f.low - room, f.high + room};
}

static double x_of(double cost)
{
    return LEFT + WIDTH * cost;
}

static double y_of(const struct frame *f, double quality)
{
    return TOP + HEIGHT * (1 - (quality - f->low) / (f->high - f->low));
}

static int put_axes(const struct frame *f, struct sr_buf *out)
{
    int rc = sr_buf_printf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
        "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
        LEFT + WIDTH + 40, TOP + HEIGHT + 110);
    for (int k = 0; k <= 4 && rc == SR_OK; k++) {
        double quality = f->low + (f->high - f->low) * k / 4, y = y_of(f, quality);
        rc = sr_buf_printf(out,
                           "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>\n"
                           "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.1f %%</text>\n"
                           "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d %%</text>\n",
                           LEFT, y, LEFT + WIDTH, y, LEFT - 6, y + 4, 100 * quality, x_of(k / 4.0),
                           TOP + HEIGHT + 18, 25 * k);
    }
    return rc == SR_OK ? sr_buf_printf(out,
                                       "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">cost, as a share of "
                                       "the dearest model's</text>\n",
                                       LEFT + WIDTH / 2, TOP + HEIGHT + 36)
                       : rc;
}

struct line {
    const char *name, *colour, *dashes;
};

static int put_line(const struct sr_curve_view *view, const struct frame *f, const struct line *line,
                    int kind, struct sr_buf *out)
{
    const struct sr_selection_curve *c = view->curve;
    int rc = sr_buf_printf(
        out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-dasharray=\"%s\" points=\"",
        line->colour, line->dashes);
    for (int t = 0; t <= 100 && rc == SR_OK && kind < 2; t++) {
        double cost = c->low + (c->high - c->low) * t / 100;
        double quality = kind ? sr_curve_coin(c, cost) : sr_curve_router(c, cost);
        rc = sr_buf_printf(out, "%.1f,%.1f ", x_of(cost), y_of(f, quality));
    }
    for (size_t i = 0; i < SR_CURVE_WEIGHTS && rc == SR_OK && kind == 2; i++)
        rc = sr_buf_printf(out, "%.1f,%.1f ", x_of(c->oracle[i].cost), y_of(f, c->oracle[i].quality));
    return rc == SR_OK ? sr_buf_printf(out, "\"/>\n") : rc;
}

static int put_singles(const struct sr_curve_view *view, const struct frame *f, struct sr_buf *out)
{
    const struct sr_selection_curve *c = view->curve;
    int rc = SR_OK;
    for (size_t k = 0; k < c->models && rc == SR_OK; k++) {
        double x = x_of(c->singles[k].cost), y = y_of(f, c->singles[k].quality);
        rc = sr_buf_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"#444\"><title>", x, y);
        for (const char *p = view->models[k]; *p && rc == SR_OK; p++)
            rc = *p == '<' || *p == '&' || *p == '>' || (unsigned char)*p < ' ' ? sr_buf_append(out, "_", 1)
                                                                                : sr_buf_append(out, p, 1);
        if (rc == SR_OK)
            rc = sr_buf_printf(out, "</title></circle>\n");
    }
    return rc;
}

int sr_curve_view_svg(const struct sr_curve_view *view, struct sr_buf *out)
{
    static const struct line lines[] = {{"router", "#1f5fa8", "none"},
                                        {"coin between models", "#888", "4 3"},
                                        {"best possible", "#3a8f3a", "2 2"}};
    struct frame f = frame_of(view->curve);
    int rc = put_axes(&f, out);
    for (int kind = 0; kind < 3 && rc == SR_OK; kind++) {
        int x = LEFT + 190 * kind, y = TOP + HEIGHT + 66;
        rc = put_line(view, &f, &lines[kind], kind, out);
        if (rc == SR_OK)
            rc = sr_buf_printf(out,
                               "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"%s\" "
                               "stroke-width=\"2\" stroke-dasharray=\"%s\"/>\n<text x=\"%d\" "
                               "y=\"%d\">%s</text>\n",
                               x, y - 4, x + 30, y - 4, lines[kind].colour, lines[kind].dashes, x + 38, y,
                               lines[kind].name);
    }
    if (rc == SR_OK)
        rc = put_singles(view, &f, out);
    return rc == SR_OK ? sr_buf_printf(out,
                                       "<text x=\"%d\" y=\"%d\">%zu texts; dots: each model alone</text>\n"
                                       "</svg>\n",
                                       LEFT, TOP + HEIGHT + 92, view->curve->texts)
                       : rc;
}
