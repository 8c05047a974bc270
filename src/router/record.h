/*
 * What happened to one request, from its head to the end of its answer: the only source of logs, metrics,
 * audit and explanations.
 *
 * Only the exchange writes it, each field once, when the fact is known; a later refusal replaces the
 * verdict's fields. Strings, results and slices are borrowed from the exchange's arena and buffers, from
 * the router or from constants, and live until the exchange has ended: a user that keeps a record longer
 * copies them. Only `body`, `sent` and `reply` hold the user's text, and only explanations read them.
 */
#ifndef SR_ROUTER_RECORD_H
#define SR_ROUTER_RECORD_H

#include "cache/cache.h"
#include "decide/decide.h"
#include "pool/policy.h"
#include "router/usage.h"
#include "select/select.h"
#include "semroute/semroute.h"
#include "trace/context.h"
#include "translate/translate.h"

/* Times in nanoseconds of the monotonic clock, 0 = did not happen; and durations in nanoseconds. */
struct sr_times {
    uint64_t started, body_complete;
    uint64_t decided; /* signals and rules have ended; edits begin */
    uint64_t verdict, answer_head, first_token, last_token, ended;
    uint64_t busy_ns; /* in this library or waiting for its worker threads, until the verdict */
    uint64_t scan_ns, signals_ns, decide_ns, edit_ns;
};

struct sr_unread;

/* What guards found in the request, and the actions they took. */
struct sr_record_guard {
    int decision; /* guard that matched, index of the configuration; -1 = none */
    int action;   /* enum sr_guard_action that was taken; -1 = none */
    float confidence;
    const char *why;    /* it applies to what could not be read: a code of router/refusal.h; "" = no */
    bool denied;        /* the policy of the model blocks the request */
    bool moved;         /* the policy moved the request to another model */
    uint32_t types;     /* private data that guards consider: mask over enum sr_entity_type */
    float risk;         /* risk of the attack; negative = none found */
    const char *attack; /* type of the attack: "jailbreak", "classification_error", ...; "" = none */
    size_t redacted;    /* spans of the body replaced with a placeholder */
    const struct sr_unread *unread; /* what no signal can read of the request; NULL: no signal reads units */
};

/* What the answer guard did. */
struct sr_record_answer_guard {
    const char *decision; /* decision with the plugin; NULL: none */
    enum sr_response_action action;
    bool complete; /* the whole answer arrived */
    bool found;    /* the answer looks like the result of an attack */
    bool replaced; /* the client got a reply instead of the answer */
    float risk;    /* highest risk */
    const char *attack;
    int status;      /* SR_OK, or why a part of the answer was not read */
    uint64_t read;   /* bytes of the answer's texts that were read */
    double coverage; /* their share of all text bytes, 0..1 */
};

/* Which tools the model gets. */
struct sr_record_tools {
    bool known;                  /* the decision's plugins say something of tools */
    size_t kept, removed, added; /* tools: of the request, and of a database */
    float best;                  /* similarity of the best that was chosen by meaning; 0 without one */
    const char *why_not;         /* nothing was chosen by meaning though the plugins ask for it; NULL */
    uint64_t ns;                 /* until they were chosen */
};

/* What the response cache did. */
struct sr_record_cache {
    bool used; /* the policy of its decision uses it, or it was answered before any decision */
    enum sr_cache_hit hit;
    bool early;             /* found before any signal ran */
    float similarity;       /* of a semantic hit; 1 of an exact one */
    uint32_t rejected;      /* the gate's reasons against candidates: bits */
    int64_t age_ms;         /* of a hit */
    uint64_t ns;            /* time of the lookup */
    bool stored;            /* the answer was kept */
    const char *not_stored; /* why it was not; NULL: it was, or there was no reason to */
};

/* How the response cache meets the request, for explanations; `known` after the decision, if a model is
 * asked. */
struct sr_record_recall {
    bool known;
    const struct sr_config_cache_use *policy; /* that would count; NULL: none */
    const char *unused;                       /* why the cache is not used at all; NULL: it is */
    const char *unasked, *unkept;             /* why it is not asked, why nothing is kept; NULL */
    const char *exact_only;                   /* why near questions do not count; NULL: they do */
    int64_t ttl_ms, max_age_ms;               /* of what is kept, 0: for ever; of what is found, 0: any */
    struct sr_cache_key partition;            /* zero: not made */
    bool looked;                              /* `hit`, `similarity`, `rejected` and `age_ms` are set */
    enum sr_cache_hit hit;
    float similarity;
    uint32_t rejected;
    int64_t age_ms;
};

/* The limit that refused the request. */
struct sr_record_limit {
    const char *rule;      /* NULL: none did; "": it could not be asked */
    bool away;             /* the store of the counters did not answer */
    double max, remaining; /* whole requests or tokens, or a cost */
    uint64_t reset_s;      /* since 1970 */
    bool no_retry;         /* a retry soon is of no use */
};

/* What was decided of the conversation's model. */
struct sr_record_protection {
    bool known;             /* protection is on, and the decision has several candidates: the rest is set */
    bool observes;          /* the action is only told */
    const char *scope;      /* "conversation", "session" */
    const char *action;     /* "none", "new", "hold_current", "allow_switch", "rescue_switch", "bypass" */
    const char *reason;     /* a constant */
    const char *model;      /* that the conversation has; "" = none */
    uint64_t key, decision; /* of the conversation, 0: it is not named; hash of the decision's name */
};

/* The pool that has the request, where its model has several. */
struct sr_record_pool {
    const char *name;     /* NULL: there was no choice */
    const char *workload; /* "agent", ... */
    const char *from;     /* how it is known: "header", "metadata", "shape" */
    const char *why; /* "fits", "other_workloads", "over_budget", "next": those before it were gone or full */
    uint64_t prompt_tokens, answer_tokens; /* estimates */
};

enum sr_canary_side { SR_SIDE_CONTROL, SR_SIDE_CANARY };

/* Where the request stands in a trace. */
struct sr_record_trace {
    bool known;                  /* tracing is on: the rest is set */
    struct sr_trace_context own; /* its own span */
    bool has_parent;
    uint8_t parent[SR_SPAN_ID_SIZE];
    struct sr_bytes state; /* tracestate that came with the parent; empty: none */
};

#define SR_RECORD_TRIES_MAX  16 /* tries and phases beyond these are not recorded */
#define SR_RECORD_PHASES_MAX 24

/* One request that was sent to an upstream. Times are 0 where it did not come so far. */
struct sr_record_try {
    uint8_t span[SR_SPAN_ID_SIZE];
    uint64_t started, answered, ended;
    int model_index;                   /* of the configuration */
    const char *model, *target, *host; /* `target` and `host` NULL: not known */
    int port;
    int status;          /* of the answer; 0: none came */
    const char *failure; /* why it was not the last one, or gave no answer; NULL: it did */
};

/* What a phase does whose time is recorded. */
enum sr_record_part {
    SR_PART_NONE, /* its time is not recorded */
    SR_PART_EARLY,
    SR_PART_SIGNALS,
    SR_PART_LIMIT,
    SR_PART_TOOLS,
    SR_PART_CACHE,
    SR_PART_EDIT,
    SR_PART_PICK,
    SR_PART_QUEUE, /* a wait for a worker with room */
    SR_PARTS,
};

struct sr_record_phase {
    enum sr_record_part part;
    uint64_t began, ended;
};

struct sr_record {
    /* the request */
    enum sr_door door;
    const char *dialect;   /* "chat", ... */
    struct sr_bytes id;    /* the client's request id, else a generated one */
    const char *replay_id; /* under which the request is kept after its end; NULL: it is not, or not known */
    struct sr_bytes peer, protocol, method, path;
    struct sr_bytes tenant;  /* from trusted sources; empty: unknown */
    struct sr_bytes session; /* the client's name for what belongs together; empty: none */
    bool skipped_guards;     /* a trusted tenant's header skipped what protects */
    bool debug;              /* the client asked for explanations in headers */
    uint64_t bytes_in;
    struct sr_times times;
    struct sr_record_trace trace;
    struct sr_record_phase phases[SR_RECORD_PHASES_MAX];
    size_t n_phases;

    /* what the request asks for */
    bool automatic;     /* the client asked for an automatic model */
    const char *recipe; /* that routes it; NULL: it names its model, or no model is known yet */
    bool tells_recipe;  /* the file has recipes or entrypoints: clients are told */
    const char *canary; /* of which it is a request; NULL: none */
    enum sr_canary_side canary_side;
    bool explains;        /* it is only explained: no client waits for an answer */
    int requested_model;  /* configured model that the client named, as an index; -1 */
    bool has_text;        /* its texts were joined for signals: text_* are set */
    uint64_t text_bytes;  /* size of the text that signals read */
    uint64_t text_tokens; /* estimate over all texts */

    /* signals and decision */
    bool evaluated;                                          /* signals and rules were evaluated */
    const struct sr_signal_result *results[SR_SIGNAL_TYPES]; /* NULL for types that were not evaluated */
    uint64_t signal_started[SR_SIGNAL_TYPES];                /* times; 0 = never */
    bool compressed;                                         /* `compression` is set */
    struct sr_signal_brief_stats compression;
    const struct sr_plan *plan; /* the plan of `decision`; NULL: none */
    struct sr_decision decision;
    const struct sr_ranking *ranking; /* of the decision's candidates; NULL: there was nothing to rank */
    struct sr_record_protection protection;
    struct sr_choice choice;
    struct sr_record_guard guard;
    const bool *without; /* decisions that did not count for this request, of the configuration; NULL: none */
    const struct sr_match *shadows; /* [n_shadows] decisions in shadow that match */
    size_t n_shadows;

    /* the verdict; the other members are set only if `has_verdict` */
    bool has_verdict;
    enum sr_action action;
    enum sr_outcome outcome;
    int model;                 /* chosen model, index of the configuration; -1 = none */
    const char *model_name;    /* "" = none */
    const char *decision_name; /* decision that won or blocked; "" = none */
    const char *category;      /* "" = none */
    double confidence;         /* of the decision */
    bool reasoning;
    const char *effort; /* "" = none */
    bool forwarded;     /* the first verdict was to forward */
    const char *target; /* the backend that the door uses; NULL = unknown */
    const char *policy; /* that picked it; NULL = unknown */
    struct sr_record_pool pool;
    struct sr_pool_why why_target;
    bool of_several; /* the policy had a choice */
    struct sr_record_tools tools;
    struct sr_record_cache cache;
    struct sr_record_recall recall;
    uint32_t failovers;          /* times that another model of the decision took the request over */
    uint32_t edits;              /* kinds of edits that changed the body: bits of enum sr_edit_kind */
    int family;                  /* reasoning family of the edit; -1 = none */
    bool injected_prompt;        /* a system prompt was inserted */
    bool edited;                 /* the body was changed: `sent` is not just one slice of `body` */
    struct sr_bytes body;        /* as received */
    const struct sr_bytes *sent; /* [n_sent]: the body as forwarded */
    size_t n_sent;
    int translated; /* enum sr_translate_api into which the request is translated; -1: it is not */
    const struct sr_translate_warnings *lost; /* what was not carried over; NULL: nothing of it was changed */

    /* a reply of the router */
    int status;
    struct sr_bytes reply;
    const char *response_path; /* x-vsr-response-path; NULL = none */
    struct sr_bytes allow;     /* the method that a 405 names */
    unsigned retry_after_s;    /* of a 503 and a 429; 0: a second */
    struct sr_record_limit limit;
    const char *error_code;   /* NULL = none */
    const char *error_reason; /* label of llm_request_errors_total; NULL = not counted */

    struct sr_record_try tries[SR_RECORD_TRIES_MAX];
    size_t n_tries;

    /* the answer of the upstream */
    int answer_status;  /* 0 = no answer began */
    bool streamed;      /* it was a stream that stages read */
    bool saw_done;      /* a stream reached its end */
    uint64_t bytes_out; /* bytes that the client got */
    uint64_t events;    /* of a stream, with data */
    struct sr_usage usage;
    struct sr_record_answer_guard answer_guard;
    enum sr_end end;
};

/* Initialises an empty record. */
void sr_record_init(struct sr_record *record);

/* The decision that won, or NULL. */
const struct sr_config_decision *sr_record_decision(const struct sr_record *record,
                                                    const struct sr_config *config);

/* The name of the request's outcome, for metric labels and the access log. */
const char *sr_record_outcome(const struct sr_record *record);

/* Is it the name of an outcome? */
bool sr_record_is_outcome(struct sr_bytes name);

/* "control", "canary" */
const char *sr_canary_side_name(enum sr_canary_side side);

/* "gateway", ... */
const char *sr_door_name(enum sr_door door);

/* The name of a signal's status. */
const char *sr_record_failure(int status);

/* "allow", "block", ...; "" for -1. */
const char *sr_guard_action_name(int action);

/* What a decision would do, if it were not in shadow: the action of its guard, "reply" or "route". */
const char *sr_record_would(const struct sr_config_decision *decision);

/* "EMAIL_ADDRESS,PERSON" of a mask, in the arena; NULL when it is out of memory. */
const char *sr_record_entities(uint32_t types, struct sr_arena *arena);

/* The source of the block: the guard's name, or the policy's. */
const char *sr_record_guard_name(const struct sr_record *record, const struct sr_config *config);
/* The same of the guard that blocked the request; NULL: none did. */
const char *sr_record_blocker(const struct sr_record *record, const struct sr_config *config);

/* "header", "block", "none" */
const char *sr_response_action_name(enum sr_response_action action);

/* Share of the text bytes that a signal has read, 0..1; negative when it did not run (NULL). */
double sr_record_coverage(const struct sr_signal_result *result);

/* What the tokens used cost at a model that has pricing. */
double sr_record_price(const struct sr_record *record, const struct sr_config_model *model);

/* Cost of the tokens used, in the currency of the model's pricing; 0 when unknown. */
double sr_record_cost(const struct sr_record *record, const struct sr_config *config);

#endif
