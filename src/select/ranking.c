/* What a ranking holds: factors for explanations, and the score of a model. */
#include "select/select.h"

#include <math.h>

void sr_select_note(struct sr_select_score *score, const char *name, double value)
{
    if (score->n_factors < SR_SELECT_FACTORS)
        score->factors[score->n_factors++] = (struct sr_select_factor){name, value};
}

double sr_ranking_score(const struct sr_ranking *ranking, const struct sr_config_decision *decision,
                        int model)
{
    for (size_t i = 0; decision && ranking->scores && i < ranking->n; i++)
        if (decision->refs[i].model == model)
            return ranking->scores[i];
    return NAN;
}
