/*
 * The risk of a text from the risks of its windows.
 *
 * The highest risk alone would give long texts a high risk: of a hundred harmless windows one is
 * misclassified. The combined log odds are spread * ln(mean(exp(log odds / spread))): windows that agree
 * give the risk that each of them has, and a single outlier among n needs log odds higher by at most
 * spread * ln(n). The neural classifier tells windows of long harmless texts from attacks better than the
 * linear tier does, so that a smaller spread serves it (training/long_risk.py measures both).
 * training/jailbreak_data.py uses the same formula.
 */
#ifndef SR_SIGNAL_GUARD_RISK_H
#define SR_SIGNAL_GUARD_RISK_H

#include <stdint.h>

#define SR_RISK_SPREAD_LINEAR 0.9
#define SR_RISK_SPREAD_NEURAL 0.5

/* Initialise it with its spread and zeros. */
struct sr_risk {
    double spread; /* of log odds, above 0 */
    double sum;    /* of exp(log odds / spread) */
    uint32_t n;
};

/* `p`: the probability of an attack in one more window. */
void sr_risk_add(struct sr_risk *risk, float p);

/* The combined risk of all windows; 0 without any. */
float sr_risk_gathered(const struct sr_risk *risk);

#endif
