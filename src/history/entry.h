/*
 * What is kept of one request after it has ended: immutable, reference-counted, one allocation; and its form
 * as bytes on disk.
 *
 * The router makes it from its record; replay and the live stream read it. Knows no configuration: names are
 * texts. Texts of users are in the two bodies alone, and those are there only where they were asked for.
 */
#ifndef SR_HISTORY_ENTRY_H
#define SR_HISTORY_ENTRY_H

#include "base/bytes.h"
#include "base/err.h"
#include "base/ref.h"

#include <stdint.h>

/* Texts, by the name of their member in JSON; "" = none. */
#define SR_HISTORY_TEXT_LIST(X)                                                                              \
    X(ID, id)                                                                                                \
    X(REQUEST_ID, request_id)                                                                                \
    X(RECIPE, recipe)                                                                                        \
    X(DECISION, decision)                                                                                    \
    X(CATEGORY, category)                                                                                    \
    X(ORIGINAL_MODEL, original_model)                                                                        \
    X(SELECTED_MODEL, selected_model)                                                                        \
    X(REASONING, reasoning_mode)                                                                             \
    X(METHOD, selection_method)                                                                              \
    X(LIFECYCLE, lifecycle_state)                                                                            \
    X(TERMINAL, terminal_reason)                                                                             \
    X(ATTACK, jailbreak_type)                                                                                \
    X(ANSWER_ATTACK, response_jailbreak_type)                                                                \
    X(CACHE_KIND, cache_hit_kind)                                                                            \
    X(CURRENCY, currency)                                                                                    \
    X(BASELINE_MODEL, baseline_model)                                                                        \
    X(TENANT, tenant)                                                                                        \
    X(SESSION, session_id)                                                                                   \
    X(DOOR, door)                                                                                            \
    X(DIALECT, dialect)                                                                                      \
    X(OUTCOME, outcome)                                                                                      \
    X(ERROR, error)                                                                                          \
    X(POOL, pool)                                                                                            \
    X(TARGET, target)                                                                                        \
    X(TARGET_REASON, target_reason)                                                                          \
    X(GUARD, guard)                                                                                          \
    X(GUARD_ACTION, guard_action)                                                                            \
    X(SELECTION_REASON, selection_reason)                                                                    \
    X(PROTECTION, protection_action)                                                                         \
    X(PROTECTION_REASON, protection_reason)                                                                  \
    X(PROTECTED_MODEL, protected_model)                                                                      \
    X(REQUEST_BODY, request_body)                                                                            \
    X(RESPONSE_BODY, response_body)

enum sr_history_text {
#define SR_HISTORY_ENUM(name, key) SR_HISTORY_##name,
    SR_HISTORY_TEXT_LIST(SR_HISTORY_ENUM)
#undef SR_HISTORY_ENUM
        SR_HISTORY_TEXTS
};

/* Numbers, by the name of their member and how it is written: `count`, `real` or `flag`; NAN = not known. */
#define SR_HISTORY_NUMBER_LIST(X)                                                                            \
    X(PRIORITY, decision_priority, count)                                                                    \
    X(TIER, decision_tier, count)                                                                            \
    X(CONFIDENCE, confidence_score, real)                                                                    \
    X(STATUS, response_status, count)                                                                        \
    X(DURATION_MS, duration_ms, count)                                                                       \
    X(FROM_CACHE, from_cache, flag)                                                                          \
    X(STREAMING, streaming, flag)                                                                            \
    X(REQUEST_CUT, request_body_truncated, flag)                                                             \
    X(RESPONSE_CUT, response_body_truncated, flag)                                                           \
    X(ATTACKED, jailbreak_detected, flag)                                                                    \
    X(RISK, jailbreak_confidence, real)                                                                      \
    X(ANSWER_ATTACKED, response_jailbreak_detected, flag)                                                    \
    X(ANSWER_RISK, response_jailbreak_confidence, real)                                                      \
    X(PRIVATE, pii_detected, flag)                                                                           \
    X(PRIVATE_BLOCKED, pii_blocked, flag)                                                                    \
    X(CACHE_SIMILARITY, cache_similarity, real)                                                              \
    X(CACHE_AGE_S, cache_entry_age_seconds, real)                                                            \
    X(CONTEXT_TOKENS, context_token_count, count)                                                            \
    X(PROMPT_TOKENS, prompt_tokens, count)                                                                   \
    X(CACHED_TOKENS, cached_prompt_tokens, count)                                                            \
    X(CACHE_WRITE_TOKENS, cache_write_tokens, count)                                                         \
    X(COMPLETION_TOKENS, completion_tokens, count)                                                           \
    X(TOTAL_TOKENS, total_tokens, count)                                                                     \
    X(COST, actual_cost, real)                                                                               \
    X(BASELINE_COST, baseline_cost, real)                                                                    \
    X(SAVED, cost_savings, real)                                                                             \
    X(REDACTED, redacted, count)                                                                             \
    X(FAILOVERS, failovers, count)                                                                           \
    X(BYTES_IN, bytes_in, count)                                                                             \
    X(BYTES_OUT, bytes_out, count)                                                                           \
    X(OVERHEAD_US, overhead_us, count)                                                                       \
    X(SCAN_US, scan_us, count)                                                                               \
    X(SIGNALS_US, signals_us, count)                                                                         \
    X(DECIDE_US, decide_us, count)                                                                           \
    X(EDIT_US, edit_us, count)                                                                               \
    X(VERDICT_MS, verdict_ms, real)                                                                          \
    X(TTFT_MS, ttft_ms, real)                                                                                \
    X(UPSTREAM_MS, upstream_ms, real)                                                                        \
    X(TOTAL_MS, total_ms, real)

enum sr_history_number {
#define SR_HISTORY_ENUM(name, key, how) SR_HISTORY_##name,
    SR_HISTORY_NUMBER_LIST(SR_HISTORY_ENUM)
#undef SR_HISTORY_ENUM
        SR_HISTORY_NUMBERS
};

/* A signal that was evaluated. */
struct sr_history_signal {
    struct sr_bytes type, tier, error; /* tier, error: "" = none */
    uint32_t start_us, took_us;        /* start: after the request's */
};

/* A rule of a signal: with its score. */
struct sr_history_rule {
    uint32_t signal; /* index in `signals` */
    bool matched;
    float confidence;
    double value; /* NAN: none */
    struct sr_bytes name;
};

/* A model that a decision could have chosen. */
struct sr_history_candidate {
    struct sr_bytes model, excluded; /* excluded: why it could not be chosen; "" = it could */
    double score;
    bool chosen;
};

/* What was reported of the answer, after its end. */
struct sr_history_outcome {
    int64_t time_us;                                             /* microseconds since 1970 */
    double score;                                                /* 0..1; NAN: none */
    struct sr_bytes source, target, target_ref, verdict, reason; /* "" = none */
};

/* Limits of an entry; what is beyond them is left out. */
#define SR_HISTORY_SIGNALS_MAX    32u
#define SR_HISTORY_RULES_MAX      64u
#define SR_HISTORY_CANDIDATES_MAX 16u
#define SR_HISTORY_OUTCOMES_MAX   8u
#define SR_HISTORY_TEXT_MAX       ((size_t)256)      /* bytes of a name */
#define SR_HISTORY_WHY_MAX        ((size_t)32 << 10) /* bytes; a longer one is left out */
#define SR_HISTORY_BODY_MAX       ((size_t)1 << 20)  /* bytes of a body */

/* What an entry is made of; everything is borrowed. */
struct sr_history_facts {
    int64_t time_us, ended_us; /* microseconds since 1970 */
    struct sr_bytes texts[SR_HISTORY_TEXTS];
    double numbers[SR_HISTORY_NUMBERS];
    uint32_t edits, private_types; /* bits: enum sr_edit_kind, enum sr_entity_type */
    const struct sr_history_signal *signals;
    const struct sr_history_rule *rules;
    const struct sr_history_candidate *candidates;
    const struct sr_history_outcome *outcomes;
    size_t n_signals, n_rules, n_candidates, n_outcomes;
    /* Not written to disk. */
    struct sr_bytes why; /* a JSON object that says how it came about; empty: none */
    uint32_t takers;     /* a bit for each follower who takes it */
};

struct sr_history_entry {
    struct sr_ref ref;
    struct sr_history_facts f; /* points into the entry */
    size_t bytes;              /* of the allocation */
};

/* Facts of which nothing is known. */
void sr_history_facts_init(struct sr_history_facts *facts);

/* Copies the facts, cut to the limits; a body that is cut says so (REQUEST_CUT, RESPONSE_CUT). SR_ENOMEM. */
int sr_history_entry_new(struct sr_history_entry **out, const struct sr_history_facts *facts) SR_WARN_UNUSED;
struct sr_history_entry *sr_history_entry_ref(struct sr_history_entry *entry);
void sr_history_entry_unref(struct sr_history_entry *entry); /* NULL is allowed */

/* The size of its bytes, and the bytes into out[size]. */
size_t sr_history_entry_size(const struct sr_history_entry *entry);
void sr_history_entry_write(const struct sr_history_entry *entry, uint8_t *out);

/* The entry of such bytes. SR_EPARSE: they are none, or of another version; SR_ENOMEM. *out is NULL then. */
int sr_history_entry_read(struct sr_history_entry **out, struct sr_bytes bytes) SR_WARN_UNUSED;

#endif
