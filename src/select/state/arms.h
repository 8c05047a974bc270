/*
 * What the candidates of decisions have done: one arm for each candidate of each decision, for `bandit`.
 *
 * Lives as long as the process and outlives reloads; a file keeps it over restarts (keep.h). Outcomes come
 * from answers (latency, failures) and from the feedback endpoint (quality), which names a request or an arm.
 * Everything is bounded: SR_ARMS_MAX arms, the latest SR_ARMS_REQUESTS requests. Any thread; one short lock.
 */
#ifndef SR_SELECT_STATE_ARMS_H
#define SR_SELECT_STATE_ARMS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define SR_ARMS_MAX      16384
#define SR_ARMS_REQUESTS 65536
#define SR_ARMS_NAME_MAX 128 /* bytes of a name in the file; longer ones are cut */
#define SR_ARMS_FILE_MAX ((size_t)16 << 20)

struct sr_select_arms;

/* What is known of one arm. Weights fade with each new outcome. */
struct sr_arm {
    double quality, quality_weight; /* mean outcome, 0..1, and how many outcomes it stands for */
    double ttft_ms, ttft_weight;    /* the same of the time to the first token */
};

int sr_arms_new(struct sr_select_arms **out) SR_WARN_UNUSED;
void sr_arms_free(struct sr_select_arms *arms); /* NULL is allowed */

/* The number of an arm: of its decision, its model and its adapter ("" = none). */
uint64_t sr_arm_key(const char *decision, const char *model, const char *lora);

/* What is known of it; all zero: nothing. */
struct sr_arm sr_arms_get(struct sr_select_arms *arms, uint64_t key);

/* An outcome of 0 (bad) to 1 (good), or a time. `memory`: after so many an older one counts half. The names
 * are kept for the file and for people. Beyond SR_ARMS_MAX arms it is not noted. */
struct sr_arm_name {
    const char *decision, *model, *lora;
};
void sr_arms_outcome(struct sr_select_arms *arms, const struct sr_arm_name *name, double quality, int memory);
void sr_arms_time(struct sr_select_arms *arms, const struct sr_arm_name *name, double ttft_ms, int memory);

/* A request went to this arm: feedback may name it, once, by its id. */
void sr_arms_placed(struct sr_select_arms *arms, struct sr_bytes request_id, const struct sr_arm_name *name,
                    int memory);

/* The outcome of that request. SR_ENOENT: it is not known, too old, or had its outcome already. */
int sr_arms_feedback(struct sr_select_arms *arms, struct sr_bytes request_id, double quality) SR_WARN_UNUSED;

/* Counts changes, so that a keeper knows when to write. */
uint64_t sr_arms_changes(struct sr_select_arms *arms);

/* The state as JSON, and back: what is read replaces arms of the same names. SR_EPARSE with a message, and
 * nothing is taken; SR_ELIMIT; SR_ENOMEM. */
int sr_arms_write(struct sr_select_arms *arms, struct sr_buf *out) SR_WARN_UNUSED;
int sr_arms_read(struct sr_select_arms *arms, struct sr_bytes text, struct sr_err *err) SR_WARN_UNUSED;

#endif
