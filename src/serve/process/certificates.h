/* Until when the certificates of a configuration are valid, as metrics. */
#ifndef SR_SERVE_PROCESS_CERTIFICATES_H
#define SR_SERVE_PROCESS_CERTIFICATES_H

#include "config/config.h"
#include "semroute/semroute.h"

/* Reads the files that the configuration names, then writes the runtime's metrics, which no scrape reads
 * meanwhile; not on a loop. What cannot be read has no series: loading it says why. */
void sr_certificates_measure(const struct sr_config *config, sr_runtime *runtime);

#endif
