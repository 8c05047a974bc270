/*
 * The risk of a text from the risks of its windows.
 *
 * The worst window alone would make long texts suspicious: of a hundred harmless windows one looks bad. The
 * gathered log odds are SR_RISK_SPREAD * ln(mean(exp(log odds / SR_RISK_SPREAD))): windows that agree answer
 * as each of them does, and one that stands out among n has to be surer by at most SR_RISK_SPREAD * ln(n).
 * training/jailbreak_data.py gathers in the same way.
 */
#ifndef SR_SIGNAL_RISK_H
#define SR_SIGNAL_RISK_H

#include <stdint.h>

#define SR_RISK_SPREAD 0.9

/* Zero is a good start. */
struct sr_risk {
    double sum; /* of exp(log odds / SR_RISK_SPREAD) */
    uint32_t n;
};

/* `p`: the probability of an attack in one more window. */
void sr_risk_add(struct sr_risk *risk, float p);

/* Of all windows together; 0 of none. */
float sr_risk_gathered(const struct sr_risk *risk);

#endif
