/* Shows a ranking of the record. */
#include "router/report/explain_ranking.h"

#include <math.h>

static const struct sr_config_decision *decision_of(const struct sr_explain *e)
{
    return e->record->ranking ? sr_record_decision(e->record, e->router->config) : NULL;
}

static const char *model_of(const struct sr_explain *e, const struct sr_config_decision *decision, size_t i)
{
    return e->router->config->models[decision->refs[i].model].name;
}

static void put_candidate(struct sr_json_writer *w, const struct sr_explain *e,
                          const struct sr_config_decision *decision, size_t i)
{
    const struct sr_ranking *ranking = e->record->ranking;
    const struct sr_select_score *score = &ranking->items[i];
    sr_json_object(w, NULL);
    sr_json_text(w, "model", model_of(e, decision, i));
    sr_json_bool(w, "chosen", decision->refs[i].model == e->record->model);
    if (ranking->scores)
        sr_json_real(w, "score", "%.6g", ranking->scores[i]);
    if (score->excluded)
        sr_json_text(w, "excluded", score->excluded);
    sr_json_object(w, "factors");
    for (size_t k = 0; k < score->n_factors; k++)
        sr_json_real(w, score->factors[k].name, "%.6g", score->factors[k].value);
    sr_json_object_end(w);
    sr_json_object_end(w);
}

void sr_explain_ranking_json(const struct sr_explain *e, struct sr_json_writer *w)
{
    const struct sr_config_decision *decision = decision_of(e);
    const struct sr_ranking *ranking = e->record->ranking;
    if (!decision)
        return;
    sr_json_object(w, "selection");
    sr_json_text(w, "algorithm", ranking->algorithm);
    if (ranking->fallback)
        sr_json_text(w, "fallback", ranking->fallback);
    else
        sr_json_text(w, "why", ranking->why);
    sr_json_array(w, "candidates");
    for (size_t i = 0; i < ranking->n && i < decision->n_refs; i++)
        put_candidate(w, e, decision, i);
    sr_json_array_end(w);
    sr_json_object_end(w);
}

static int candidate_text(const struct sr_explain *e, const struct sr_config_decision *decision, size_t i,
                          const char *indent, struct sr_buf *out)
{
    const struct sr_ranking *ranking = e->record->ranking;
    const struct sr_select_score *score = &ranking->items[i];
    const char *mark = decision->refs[i].model == e->record->model ? "→" : " ";
    int rc = sr_buf_printf(out, "%s%s %-24s", indent, mark, model_of(e, decision, i));
    if (rc == SR_OK && ranking->scores && isfinite(ranking->scores[i]))
        rc = sr_buf_printf(out, " %.4f ", ranking->scores[i]);
    for (size_t k = 0; k < score->n_factors && rc == SR_OK; k++)
        rc = sr_buf_printf(out, " %s %.4g", score->factors[k].name, score->factors[k].value);
    if (rc == SR_OK && score->excluded)
        rc = sr_buf_printf(out, " (left out: %s)", score->excluded);
    return rc == SR_OK ? sr_buf_append(out, "\n", 1) : rc;
}

int sr_explain_ranking_text(const struct sr_explain *e, const char *indent, struct sr_buf *out)
{
    const struct sr_config_decision *decision = decision_of(e);
    const struct sr_ranking *ranking = e->record->ranking;
    if (!decision)
        return SR_OK;
    int rc = ranking->fallback ? sr_buf_printf(out, "%s has no say (%s): by the category's scores\n",
                                               ranking->algorithm, ranking->fallback)
                               : sr_buf_printf(out, "%s: %s\n", ranking->algorithm, ranking->why);
    for (size_t i = 0; i < ranking->n && i < decision->n_refs && rc == SR_OK; i++)
        rc = candidate_text(e, decision, i, indent, out);
    return rc;
}
