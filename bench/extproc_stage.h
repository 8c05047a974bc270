/*
 * The processes for measuring the ext_proc door: a mock upstream, semroute, the no-op external
 * processor when it is built, and one Envoy with a listener for each way through.
 *
 * A second Envoy, of the same listeners, sends requests to a port of the measurement itself. Files are in a
 * folder under /tmp that is removed with the stage. The prompts' words choose the rule: `urgent` a keyword,
 * `meaning` the encoder, neither the domain.
 */
#ifndef SR_BENCH_EXTPROC_STAGE_H
#define SR_BENCH_EXTPROC_STAGE_H

#include "bench/process.h"

enum sr_bench_extproc_way {
    SR_BENCH_WAY_PLAIN, /* no filter */
    SR_BENCH_WAY_BUFFERED,
    SR_BENCH_WAY_DUPLEX,
    SR_BENCH_WAY_NOOP_BUFFERED,
    SR_BENCH_WAY_NOOP_DUPLEX,
    SR_BENCH_WAYS,
};

enum sr_bench_extproc_process {
    SR_BENCH_MOCK,
    SR_BENCH_SEMROUTE,
    SR_BENCH_SEMROUTE_ALONE, /* on one core, for the door without Envoy */
    SR_BENCH_NOOP,
    SR_BENCH_NOOP_ALONE,
    SR_BENCH_ENVOY,
    SR_BENCH_ENVOY_OWN, /* its upstream is the measurement itself */
    SR_BENCH_PROCESSES,
};

struct sr_bench_extproc_stage {
    struct sr_bench_process processes[SR_BENCH_PROCESSES]; /* `port` of the two kinds of processors: gRPC */
    int ports[SR_BENCH_WAYS];                              /* of Envoy; 0: there is no such way */
    int own_ports[SR_BENCH_WAYS];                          /* of the other one */
    int upstream_port;                                     /* where that one sends requests */
    int core;           /* what the processors without Envoy are bound to, -1: the machine has but one */
    bool has_embedding; /* the encoder was found: rules may use it */
    bool has_noop;
    char self[4096], noop[4096], directory[64];
    const char *envoy;
};

/* Says what failed on standard error. The stage is to be closed also then. */
int sr_bench_extproc_stage_open(struct sr_bench_extproc_stage *stage, int upstream_port) SR_WARN_UNUSED;
void sr_bench_extproc_stage_close(struct sr_bench_extproc_stage *stage);

#endif
