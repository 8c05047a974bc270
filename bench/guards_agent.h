/*
 * An agent's conversation for the bench of guards: every request has 64 KB of tools, the same ones, which are
 * judged when they are new and found in the memo afterwards.
 */
#ifndef SR_BENCH_GUARDS_AGENT_H
#define SR_BENCH_GUARDS_AGENT_H

#include "bench/guards_signals.h"
#include "bench/guards_text.h"

#define SR_GUARDS_AGENT_TURNS 12u

struct sr_guards_agent {
    size_t tool_bytes, tools;
    double first, turn;              /* ms: the first request, and a later one with 500 new tokens (median) */
    double first_tools, tools_again; /* ms of the tools alone: new, and known (median) */
};

/* Measures a conversation of `turns` requests, from the body's spans to the last answer. Errors as
 * sr_guards_read. */
int sr_guards_agent_measure(struct sr_guards *guards, struct sr_guards_text *texts, size_t turns,
                            struct sr_guards_agent *out, struct sr_err *err) SR_WARN_UNUSED;

#endif
