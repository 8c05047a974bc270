/* Two parameters, so a step is the solution of two equations. */
#include "select/fit/platt.h"

#include <math.h>

#define STEPS 50
#define PRIOR 1e-3 /* keeps the slope finite where the classes are separable */

double sr_platt_probability(struct sr_platt platt, double linear)
{
    return 1 / (1 + exp(-(platt.slope * linear + platt.shift)));
}

struct sr_platt sr_platt_fit(const float *linear, const float *scores, const bool *use, size_t n)
{
    struct sr_platt p = {4, -2}; /* near the identity between 0 and 1 */
    for (int step = 0; step < STEPS; step++) {
        double ga = PRIOR * (p.slope - 4), gb = PRIOR * (p.shift + 2);
        double haa = PRIOR, hab = 0, hbb = PRIOR;
        for (size_t i = 0; i < n; i++) {
            if (use && !use[i])
                continue;
            double x = (double)linear[i], q = sr_platt_probability(p, x), d = q - (double)scores[i];
            double w = q * (1 - q);
            ga += d * x;
            gb += d;
            haa += w * x * x;
            hab += w * x;
            hbb += w;
        }
        double det = haa * hbb - hab * hab;
        if (!(det > 1e-12))
            break;
        double da = (ga * hbb - gb * hab) / det, db = (gb * haa - ga * hab) / det;
        double most = fabs(da) > fabs(db) ? fabs(da) : fabs(db), scale = most > 4 ? 4 / most : 1;
        p.slope -= scale * da;
        p.shift -= scale * db;
        if (most < 1e-9)
            break;
    }
    return p;
}
