/*
 * What `semroute doctor` looks at: the machine, certificates, and what the configuration must reach.
 *
 * Each adds findings; none fails, and none changes anything. They block: not on a loop.
 */
#ifndef SR_CLI_DOCTOR_CHECKS_H
#define SR_CLI_DOCTOR_CHECKS_H

#include "cli/doctor/diagnosis.h"
#include "config/config.h"

/* CPU and its instruction set, cores, memory against the configured limits, open files, clock, core dumps.
 * `config` NULL: there is none, so nothing is compared with its limits. */
void sr_doctor_machine(struct sr_diagnosis *diagnosis, const struct sr_config *config);

/* The certificates that listeners show, and those of the CAs that upstreams are checked with: readable, key
 * and certificate belong together, time left. */
void sr_doctor_certificates(struct sr_diagnosis *diagnosis, const struct sr_config *config);

/* Can the files that the router writes be written: logs, and what outlives a restart? */
void sr_doctor_files(struct sr_diagnosis *diagnosis, const struct sr_config *config);

/* Can each listener's port be opened? */
void sr_doctor_ports(struct sr_diagnosis *diagnosis, const struct sr_config *config);

/* Asks every backend for its models and connects to every store and collector, all at once, for `timeout_ms`
 * at most. */
void sr_doctor_reach(struct sr_diagnosis *diagnosis, const struct sr_config *config, uint32_t timeout_ms);

#endif
