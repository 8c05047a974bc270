/* Measures the peak rate of multiplications of one core. */
#include "kernel/private.h"

#include <time.h>

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double sr_kernel_peak(enum sr_precision precision)
{
    const struct sr_form *form = sr_ops_current()->forms[precision];
    double best = 0;
    for (double begin = seconds(); seconds() - begin < 0.05;) {
        double start = seconds(), operations = form->spin(20000), took = seconds() - start;
        if (took > 0 && operations / took > best)
            best = operations / took;
    }
    return best;
}
