/*
 * Do the models and files that a configuration names stand where it says? Looks at folders and small files;
 * whether a model opens is seen when it is opened.
 */
#ifndef SR_PROBE_PROBE_H
#define SR_PROBE_PROBE_H

#include "config/load.h"

/* An error in `problems`, at the key that names it, for each encoder that is not found, and for a folder of
 * models without one that some signal can use; a warning for each tool database that is not there, since no
 * tools are added from it. Only what the file itself names. Reads the disk: not on a
 * loop. The `probe` of sr_load_options, for who is about to use the configuration on this machine. */
void sr_probe_models(const struct sr_config *config, struct sr_problems *problems);

#endif
