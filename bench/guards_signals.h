/*
 * The three signals of a guard's bench (domain, jailbreak, pii) as the router runs them: on its workers,
 * answers through a mailbox, models of one store. No network.
 */
#ifndef SR_BENCH_GUARDS_SIGNALS_H
#define SR_BENCH_GUARDS_SIGNALS_H

#include "signal/signal.h"

struct sr_guards;

struct sr_guards_options {
    const char *precision; /* "fp32", "bf16", "int8"; NULL: the configuration's default */
    bool linear;           /* without the neural classifier */
    bool domain_only;
    bool compress; /* domain reads long texts compressed to 512 tokens */
};

enum { SR_GUARDS_DOMAIN, SR_GUARDS_JAILBREAK, SR_GUARDS_PII, SR_GUARDS_SIGNALS };

/* Milliseconds: `all` from the start of the first to the end of the last, and each by itself while the others
 * ran at the same time. */
struct sr_guards_time {
    double all, each[SR_GUARDS_SIGNALS];
    char tier[SR_GUARDS_SIGNALS][24]; /* who answered; "" of those that were not asked */
};

/* Every text is put to the neural classifier whole, whatever the linear tier says; or to the linear tier
 * alone. Says in err what is missing. SR_ENOENT: there is no neural classifier (options.linear does without).
 */
int sr_guards_new(struct sr_guards **out, const struct sr_guards_options *options,
                  struct sr_err *err) SR_WARN_UNUSED;
void sr_guards_free(struct sr_guards *guards); /* NULL is allowed */

/* Reads a conversation; its last turn is what is asked now. The first error of a signal; SR_EMISMATCH, and in
 * err what it was, when another tier answered than was to, or the neural classifier did not read everything.
 */
int sr_guards_read(struct sr_guards *guards, const struct sr_bytes *turns, size_t n,
                   struct sr_guards_time *out, struct sr_err *err) SR_WARN_UNUSED;

/* The same for the units of a request; `asked` is what the user asks now. */
int sr_guards_read_units(struct sr_guards *guards, const struct sr_signal_unit_list *units,
                         struct sr_bytes asked, struct sr_guards_time *out,
                         struct sr_err *err) SR_WARN_UNUSED;

/* Writes the configuration's rules and `global` section, for a server with the same signals: everything below
 * `routing:`'s `signals:`, then `extra` for the decisions. */
int sr_guards_config(struct sr_buf *out, const struct sr_guards_options *options,
                     const char *decisions) SR_WARN_UNUSED;

#endif
