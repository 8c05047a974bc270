/*
 * Sends a workload to one port, session by session, and notes what the mock engines say of each answer.
 *
 * The time to the first token is the engine's own, on its clock, and the real time from the client's send to
 * the engine's arrival: what the router took. So it does not depend on how busy this machine is with engines.
 */
#ifndef SR_BENCH_POOL_RUN_H
#define SR_BENCH_POOL_RUN_H

#include "bench/pool_workload.h"

#include <stdbool.h>

struct sr_bench_answer {
    bool answered; /* whole, with status 200 */
    bool partial;  /* lost after its first bytes */
    int status;    /* 0: none */
    uint32_t worker, prompt_tokens, cached_tokens, answer_tokens;
    double ttft_ms, router_ms; /* router_ms: of ttft_ms, real time */
};

struct sr_bench_run {
    const struct sr_bench_workload *workload;
    int port, admin_port; /* of the router; of worker 0, for orders */
    unsigned speed;
    /* When a third of all requests has been sent, worker 1 is killed and worker 2 becomes four times slower.
     */
    bool faults;
    double seconds_max; /* real time; what is not answered then is lost */
    /* Results. */
    struct sr_bench_answer *answers; /* [workload->requests]; free with sr_mem_free */
    size_t n;
    size_t slowed;     /* ejections for slowness, of a simulation */
    size_t taken_back; /* requests that were taken back from a worker, of a simulation */
    double seconds;    /* on the engines' clock */
};

/* SR_ENOMEM, SR_EIO, SR_ETIMEOUT when seconds_max has passed (the results are there). */
int sr_bench_run_trace(struct sr_bench_run *run) SR_WARN_UNUSED;

#endif
