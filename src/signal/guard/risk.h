/*
 * The risk of a text from the risks of its windows.
 *
 * The worst window alone would make long texts suspicious: of a hundred harmless windows one looks bad. The
 * gathered log odds are spread * ln(mean(exp(log odds / spread))): windows that agree answer as each of them
 * does, and one that stands out among n has to be surer by at most spread * ln(n). The neural classifier
 * tells windows of long harmless texts from attacks better than the linear tier does, so that a smaller
 * spread serves it (training/long_risk.py measures both). training/jailbreak_data.py gathers in the same way.
 */
#ifndef SR_SIGNAL_GUARD_RISK_H
#define SR_SIGNAL_GUARD_RISK_H

#include <stdint.h>

#define SR_RISK_SPREAD_LINEAR 0.9
#define SR_RISK_SPREAD_NEURAL 0.5

/* Begins with nothing but its spread. */
struct sr_risk {
    double spread; /* of log odds, above 0 */
    double sum;    /* of exp(log odds / spread) */
    uint32_t n;
};

/* `p`: the probability of an attack in one more window. */
void sr_risk_add(struct sr_risk *risk, float p);

/* Of all windows together; 0 of none. */
float sr_risk_gathered(const struct sr_risk *risk);

#endif
