/*
 * Counts hits by threshold, proposes one, and writes the table, the plot of characters and the JSON document.
 */
#include "cli/cache/curve.h"

#include "base/json_write.h"

#define ROWS       11 /* of the plot: 100 % to 0 % */
#define TABLE_FROM 20 /* first point of the table: 0.70 */

void sr_curve_measure(struct sr_curve *curve, const struct sr_pairs *pairs, double limit)
{
    *curve = (struct sr_curve){.proposed = -1, .limit = limit};
    for (size_t i = 0; i < pairs->n; i++) {
        const struct sr_pair *pair = &pairs->items[i];
        *(pair->same ? &curve->same : &curve->different) += 1;
        for (int p = 0; p < SR_CURVE_POINTS && sr_pair_is_near(pair, sr_curve_threshold(p)); p++) {
            size_t *counts = pair->same ? curve->points[p].hits : curve->points[p].false_hits;
            counts[0]++;
            counts[1] += pair->reason == SR_GATE_AGREES;
        }
    }
    for (int p = SR_CURVE_POINTS - 1; p >= 0 && curve->same && curve->different; p--) {
        if ((double)curve->points[p].false_hits[1] > limit * (double)curve->different)
            break;
        curve->proposed = p;
    }
}

static double share(size_t n, size_t of)
{
    return of ? (double)n / (double)of : 0;
}

/* ---- for people ---- */

static int print_table(const struct sr_curve *curve, struct sr_buf *out)
{
    int rc = sr_buf_printf(out, "             without the gate         with the gate\n"
                                "threshold    hits   false hits       hits   false hits\n");
    for (int p = 0; rc == SR_OK && p < SR_CURVE_POINTS; p++) {
        const struct sr_curve_point *at = &curve->points[p];
        if ((p < TABLE_FROM || p % 2) && p != curve->proposed)
            continue;
        rc = sr_buf_printf(
            out, "   %.2f   %6.1f %%   %7.2f %%   %6.1f %%   %7.2f %%%s\n", sr_curve_threshold(p),
            100 * share(at->hits[0], curve->same), 100 * share(at->false_hits[0], curve->different),
            100 * share(at->hits[1], curve->same), 100 * share(at->false_hits[1], curve->different),
            p == curve->proposed ? "   proposed" : "");
    }
    return rc;
}

static int row_of(double value)
{
    return ROWS - 1 - (int)(value * (ROWS - 1) + 0.5);
}

static int print_plot(const struct sr_curve *curve, struct sr_buf *out)
{
    char plot[ROWS][SR_CURVE_POINTS];
    memset(plot, ' ', sizeof plot);
    for (int p = 0; p < SR_CURVE_POINTS; p++) {
        const struct sr_curve_point *at = &curve->points[p];
        plot[row_of(share(at->false_hits[0], curve->different))][p] = 'o';
        plot[row_of(share(at->hits[1], curve->same))][p] = '*';
        plot[row_of(share(at->false_hits[1], curve->different))][p] = 'x';
    }
    int rc = sr_buf_printf(out, "\n");
    for (int row = 0; row < ROWS && rc == SR_OK; row++)
        rc = sr_buf_printf(out, "%4d %% |%.*s\n", 100 - 100 * row / (ROWS - 1), SR_CURVE_POINTS, plot[row]);
    if (rc == SR_OK)
        rc = sr_buf_printf(out,
                           "       +--------------------------------------------------\n"
                           "       0.50      0.60      0.70      0.80      0.90\n"
                           "       * hits with the gate   x false hits with it   o false hits without it\n");
    return rc;
}

static int print_origin(const struct sr_curve *curve, const struct sr_pairs *pairs, struct sr_buf *out)
{
    int rc = sr_buf_printf(out, "%zu pairs: %zu ask the same, %zu do not", pairs->n, curve->same,
                           curve->different);
    if (rc == SR_OK && pairs->guessed)
        rc = sr_buf_printf(out,
                           "; guessed from %zu questions and their %d nearest neighbours\nfrom cosine %.1f "
                           "on. Guessed to be the same: "
                           "half of the words in both, and the gate agrees. Labelled\npairs say more. %zu "
                           "questions repeat another "
                           "one word for word: exact hits%s",
                           pairs->n_texts, SR_NEIGHBOURS, (double)SR_NEIGHBOUR_MIN, pairs->repeated,
                           pairs->left_out ? "" : ".");
    if (rc == SR_OK && pairs->left_out)
        rc = sr_buf_printf(out, ". %zu later rows are left out.", pairs->left_out);
    return rc == SR_OK ? sr_buf_printf(out, "\n\n") : rc;
}

int sr_curve_print(const struct sr_curve *curve, const struct sr_pairs *pairs, struct sr_buf *out)
{
    int rc = print_origin(curve, pairs, out);
    if (rc == SR_OK)
        rc = print_table(curve, out);
    if (rc == SR_OK)
        rc = print_plot(curve, out);
    if (rc != SR_OK)
        return rc;
    if (curve->proposed < 0)
        return sr_buf_printf(out, "\nNo threshold keeps false hits within %.2f %%.\n", 100 * curve->limit);
    return sr_buf_printf(
        out, "\nProposed: %.2f, the lowest threshold with at most %.2f %% false hits with the gate.\n",
        sr_curve_threshold(curve->proposed), 100 * curve->limit);
}

/* ---- JSON ---- */

static void put_rates(struct sr_json_writer *w, const char *name, const struct sr_curve *curve,
                      const struct sr_curve_point *at, int gate)
{
    sr_json_object(w, name);
    sr_json_uint(w, "hits", at->hits[gate]);
    sr_json_real(w, "hit_rate", "%.5f", share(at->hits[gate], curve->same));
    sr_json_uint(w, "false_hits", at->false_hits[gate]);
    sr_json_real(w, "false_hit_rate", "%.5f", share(at->false_hits[gate], curve->different));
    sr_json_object_end(w);
}

int sr_curve_json(const struct sr_curve *curve, const struct sr_pairs *pairs, const char *model,
                  struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_text(&w, "model", model);
    sr_json_uint(&w, "pairs", pairs->n);
    sr_json_uint(&w, "same", curve->same);
    sr_json_uint(&w, "different", curve->different);
    sr_json_bool(&w, "guessed", pairs->guessed);
    sr_json_uint(&w, "texts", pairs->n_texts);
    sr_json_uint(&w, "repeated", pairs->repeated);
    sr_json_uint(&w, "left_out", pairs->left_out);
    sr_json_real(&w, "max_false_hits", "%.5f", curve->limit);
    if (curve->proposed < 0)
        sr_json_null(&w, "proposed");
    else
        sr_json_real(&w, "proposed", "%.2f", sr_curve_threshold(curve->proposed));
    sr_json_array(&w, "thresholds");
    for (int p = 0; p < SR_CURVE_POINTS; p++) {
        sr_json_object(&w, NULL);
        sr_json_real(&w, "threshold", "%.2f", sr_curve_threshold(p));
        put_rates(&w, "without_gate", curve, &curve->points[p], 0);
        put_rates(&w, "with_gate", curve, &curve->points[p], 1);
        sr_json_object_end(&w);
    }
    sr_json_array_end(&w);
    sr_json_object_end(&w);
    return w.rc ? w.rc : sr_buf_append(out, "\n", 1);
}
