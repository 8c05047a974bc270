/* Combines the log odds of windows. */
#include "signal/guard/risk.h"

#include <math.h>

#define EDGE 1e-7 /* minimum distance of probabilities from 0 and 1, where log odds are infinite */

void sr_risk_add(struct sr_risk *risk, float p)
{
    double q = fmin(fmax((double)p, EDGE), 1 - EDGE);
    risk->sum += pow(q / (1 - q), 1 / risk->spread);
    risk->n++;
}

float sr_risk_gathered(const struct sr_risk *risk)
{
    if (risk->n == 0)
        return 0;
    double odds = pow(risk->sum / risk->n, risk->spread);
    return (float)(odds / (1 + odds));
}
