/*
 * Signals: the facts that are computed about a request, each at most once.
 *
 * A signal type ("keyword", "domain", ...) has a set of configured rules and evaluates all of them in one
 * go. Types are implementations of struct sr_signal_ops, listed in one registry (signal/registry.h). An
 * evaluation is started, completes at once or later as a task (base/task.h), and never blocks an event
 * loop. Its input is reference-counted, so that work on another thread outlives the request.
 */
#ifndef SR_SIGNAL_SIGNAL_H
#define SR_SIGNAL_SIGNAL_H

#include "base/arena.h"
#include "base/task.h"
#include "base/thread.h"
#include "config/config.h"
#include "infer/model_store.h"
#include "signal/facts.h"
#include "signal/registry.h"

/* Index in the registry = bit in a mask. */
enum sr_signal_type {
#define SR_SIGNAL_ENUM(TYPE, name) SR_SIGNAL_##TYPE,
    SR_SIGNAL_LIST(SR_SIGNAL_ENUM)
#undef SR_SIGNAL_ENUM
        SR_SIGNAL_TYPES,
};

/* The short text of an input: finished once, by the first signal that reads it, on that signal's thread. */
struct sr_signal_brief;
struct sr_signals;
struct sr_signal_vector; /* signal/topic/vector.h */

enum sr_signal_role { SR_ROLE_USER, SR_ROLE_ASSISTANT, SR_ROLE_SYSTEM, SR_ROLE_TOOL, SR_ROLE_OTHER };

/* Where a unit stands in a request. */
enum sr_signal_source {
    SR_SOURCE_MESSAGE,     /* a string of a message: content, a part of it, reasoning, arguments of a call */
    SR_SOURCE_TOOL_RESULT, /* a string of a message that answers a call */
    SR_SOURCE_TOOL,        /* the definition of a tool */
    SR_SOURCE_DOCUMENT,
    SR_SOURCE_FIELD, /* any other member */
    SR_SIGNAL_SOURCES,
};

/* "message", "tool_result", ... */
extern const char *const sr_signal_source_names[SR_SIGNAL_SOURCES];

/* One string of a request, decoded, which is judged on its own. Or a seam: neighbouring strings of one group
 * joined by spaces, of long ones only the ends, for what stands across their borders. Where no white
 * space is beside a border, a second seam has the same parts without spaces. Where a number may go over from
 * one message to the next, a seam of the later one has both ends. */
struct sr_signal_unit {
    enum sr_signal_source source;
    enum sr_signal_role role;
    uint32_t group; /* the message it belongs to, counted from 0; numbers of other sources follow */
    uint32_t first_part, n_parts; /* of a seam; n_parts 0: it is no seam */
    bool current;                 /* no history: what is asked now, and what is sent with every request */
    bool only_seam;               /* a word of a schema or other data: it is read in its group's seam only */
    bool operators; /* of the operator, in the system role: no attack, but perhaps private data */
    struct sr_bytes text;
};

/* A part of a seam's text: bytes [start, end) of it are those from `from` on of another unit. */
struct sr_signal_part {
    uint32_t unit;
    size_t start, end, from;
};

/* Every unit of a request: those of one group are neighbours, its strings in order and then its seams.
 * Messages come first. */
struct sr_signal_units {
    uint64_t bytes;         /* bytes of all texts but seams */
    uint64_t unread;        /* bytes of the request that a model can read and that are in no text */
    struct sr_bytes tenant; /* tenant of the request; results are memoised per tenant; may be empty */
    const struct sr_signal_part *parts;
    size_t n_parts, n;
    struct sr_signal_unit items[];
};

/* The same as it is made, in memory of the maker. */
struct sr_signal_unit_list {
    const struct sr_signal_unit *items;
    size_t n;
    const struct sr_signal_part *parts;
    size_t n_parts;
    uint64_t unread; /* as of struct sr_signal_units */
};

struct sr_consults; /* signal/consult/consult.h */

/* The input of signals: one block with its bytes, immutable except the short text. */
struct sr_signal_input {
    struct sr_ref ref;
    struct sr_signal_brief *brief;   /* NULL: every signal reads `text` */
    struct sr_bytes text;            /* what the user asks now: the last user turn, decoded UTF-8 */
    uint64_t total_bytes;            /* text bytes of the whole request, for the token count */
    struct sr_signal_units *units;   /* NULL: no guard is configured */
    struct sr_signal_facts *facts;   /* NULL: no signal reads them */
    struct sr_signal_vector *vector; /* the text's, shared by those that read it; NULL: each reads its own */
    uint64_t total_tokens;           /* estimate over all text (bytes / 4, at least 1 when there is text) */
};

/* Copies `text` into a new input; NULL when out of memory. */
struct sr_signal_input *sr_signal_input_new(struct sr_bytes text, uint64_t total_bytes);

/* Texts of at most this many bytes are not compressed; SIZE_MAX when no signal reads short texts. */
size_t sr_signals_read_whole(const struct sr_signals *signals);

/* The short text of an input that is still arriving, so that less work remains at its end. Begin and feed
 * it any number of times, on one thread at a time; sr_signal_input_shorten takes it. NULL when no signal
 * reads short texts, or when out of memory. */
struct sr_signal_brief *sr_signal_brief_new(struct sr_signals *signals);
void sr_signal_brief_free(struct sr_signal_brief *brief); /* NULL is allowed */

/* Begin the text again, or add a piece to it. After a failure the text is read later. */
void sr_signal_brief_begin(struct sr_signal_brief *brief);
void sr_signal_brief_feed(struct sr_signal_brief *brief, struct sr_bytes piece);

/* From now on signals that may read a long text compressed do so, if the configuration asks for it and the
 * text is long enough. Call it before the input is shared. Takes `prefetched` (NULL is allowed); if it is
 * not the beginning of this text, the whole text is read later. SR_ENOMEM. */
int sr_signal_input_shorten(struct sr_signal_input *input, struct sr_signals *signals,
                            struct sr_signal_brief *prefetched) SR_WARN_UNUSED;

/* The result of compression, once a signal has read the short text; false when none did or nothing was
 * removed. */
struct sr_signal_brief_stats {
    size_t original_tokens, compressed_tokens;
    size_t prefetched;   /* bytes read before the text was complete */
    uint64_t ns, end_ns; /* total time, and the part of it after the text was complete */
};
bool sr_signal_input_stats(const struct sr_signal_input *input, struct sr_signal_brief_stats *stats);

/* Copies the units and the tenant into the input, valid UTF-8 of the same lengths. Call it before the
 * input is shared. SR_ENOMEM. */
int sr_signal_input_add_units(struct sr_signal_input *input, const struct sr_signal_unit_list *units,
                              struct sr_bytes tenant) SR_WARN_UNUSED;

/* Lets the signals of an input compute the vector of its text once. Call it before the input is shared.
 * SR_ENOMEM. */
int sr_signal_input_share_vector(struct sr_signal_input *input) SR_WARN_UNUSED;

/* Bytes that a type may read of an input: decides whether it runs on the calling thread. */
size_t sr_signal_input_bytes(const struct sr_signal_input *input, enum sr_signal_type type);

struct sr_signal_input *sr_signal_input_ref(struct sr_signal_input *input);
void sr_signal_input_unref(struct sr_signal_input *input);

/* What one configured rule found. */
struct sr_signal_hit {
    bool matched;
    float confidence; /* 0..1; 1 if the signal has no degrees */
    double value;     /* the measured quantity (tokens, count, density); NAN where there is none */
};

/* A finding of a guard: what it is, and its span. */
struct sr_signal_finding {
    uint32_t unit;     /* index in the input's units */
    uint32_t type;     /* pii: enum sr_entity_type; jailbreak: index in the result's labels */
    size_t start, end; /* bytes of that unit's text */
    float confidence;
    uint32_t disguise; /* jailbreak: enum sr_disguise that was undone in it; 0: none */
    uint32_t group;    /* the unit's */
    enum sr_signal_source source;
};

/* The limit that keeps a request from ever being read as a whole, however idle the process is. */
enum sr_signal_over {
    SR_SIGNAL_OVER_NONE,
    SR_SIGNAL_OVER_QUEUE,    /* its windows do not fit into the engine's empty queue */
    SR_SIGNAL_OVER_DEADLINE, /* reading its bytes alone takes longer than the longest deadline */
};

/* What one signal type found. `hits` has one entry per configured rule, in the order of the configuration. */
struct sr_signal_result {
    int status; /* SR_OK, or why there is no result: SR_ETIMEOUT, SR_ECANCELED, SR_EBUSY, SR_ELIMIT, ... */
    struct sr_signal_hit *hits;
    size_t n_hits;
    uint64_t ns;      /* time it took */
    const char *tier; /* which model or method answered ("linear"); "" for none */
    /* Classifiers only: */
    const char *const *labels;
    const float *probabilities; /* [n_labels], sums to 1; NULL for other signals */
    size_t n_labels;
    int top;       /* index of the best label, -1 = none */
    float entropy; /* of the probabilities, normalised to 0..1 */
    /* embedding only: the vector of the text, of length 1; NULL: there is none. */
    const float *vector;
    size_t dimensions;
    /* Guards only: */
    const struct sr_signal_finding
        *findings; /* jailbreak: the window with the highest risk; pii: every entity, by unit and offset */
    size_t n_findings;
    uint64_t scanned_bytes; /* bytes, of `all_bytes`, read by a tier that reads everything */
    uint64_t all_bytes;
    uint64_t unread_bytes;       /* of `all_bytes`, those that nothing could read: rules' on_error decides */
    uint64_t neural_bytes;       /* of these, the bytes the neural classifier read too; 0 if not asked */
    uint64_t multilingual_bytes; /* read by the neural classifier of other scripts, in place of the first,
                                    beside it, or a second time */
    bool neural_late;    /* any type: the deadline passed before the neural classifier had read all; others
                            answered for the rest */
    uint32_t remembered; /* units whose result was memoised */
    /* Any type, texts for a second reader: read to the end; late or refused, so the first answer stands. */
    uint32_t read_twice, not_read_twice;
    /* Guards only: rules' on_error decides; what was found counts all the same. */
    enum sr_signal_over over;
};

/* What a rule of another type found. */
struct sr_found {
    bool known; /* the type has a result, and this rule is among it */
    bool matched;
    float confidence; /* 1 where a rule that matches has none */
    double value;     /* NAN where there is none */
};

/* The results of other types, for one that is finished with them. */
struct sr_signal_others {
    const struct sr_signals *signals;
    const struct sr_signal_result *results[SR_SIGNAL_TYPES]; /* NULL where a type has none */
    /* The rule `name` of the type called `type`. */
    struct sr_found (*found)(const struct sr_signal_others *others, const char *type, const char *name);
};

/* A type's compiled rules; immutable, part of the router's snapshot. */
struct sr_signal_set;

/* The texts of one unit that a type will ask a neural classifier to classify. */
struct sr_signal_prefetched {
    struct sr_neural *neural; /* borrowed from the set */
    struct sr_bytes texts[2];
    size_t n;   /* 0: none, or not known yet */
    bool latin; /* only texts in Latin script: another neural classifier reads the rest */
};

/* One evaluation by a type whose result may be late. Set, input and texts live as long as the task. */
struct sr_signal_task {
    struct sr_task base;
    const struct sr_signal_input *input; /* the input that the type reads */
    struct sr_arena *arena;              /* the task's own; one thread at a time */
    struct sr_signal_result *result;     /* complete before the task is */
    struct sr_signal_result partial;     /* kept by sr_signal_offer_partial */
    uint64_t since_ns;
    /* Who asks, until when (sr_clock_ns; 0: no deadline); with `whole` the status is SR_EBUSY when the
     * inference engine has no time for a text, and `over` is set when it can never take it, instead of a
     * result without it. */
    uint64_t client, deadline_ns;
    struct sr_span_ref origin; /* the request that asks */
    bool whole;
    struct sr_consults *consults; /* answers questions to models; NULL: none are asked */
    /* The type's: */
    void *state, *about;
    void (*cleanup)(struct sr_signal_task *task); /* or NULL; when the task is freed, on that thread */
};

/* Call it in a type's `start`, before slow work, at most once: *result is complete except for the neural
 * classifier's part, and is used if the deadline passes first. */
void sr_signal_offer_partial(struct sr_signal_task *task);

/* Completes a task whose `start` returned SR_AGAIN, once; a `status` other than SR_OK becomes the result's.
 * Drops the reference that `start` was given. */
void sr_signal_complete(struct sr_signal_task *task, int status);

/* The part of a request that a type reads. */
enum sr_signal_reads {
    SR_SIGNAL_READS_TEXT,  /* what the user asks now, compressed where the configuration wants that */
    SR_SIGNAL_READS_WHOLE, /* the same, never compressed */
    SR_SIGNAL_READS_UNITS, /* every unit: a guard, whose coverage is counted */
};

/* The interface of a signal type; other code knows nothing else of a type. */
struct sr_signal_ops {
    const char *name;           /* the leaf type in rules, label of metrics, member of explanations */
    const char *header;         /* debug header with the names of the rules that matched */
    unsigned char header_order; /* among these headers, from 0 on; no two types share one */
    enum sr_signal_reads reads;
    bool facts;               /* it reads the request's facts, too */
    bool turns;               /* among them the user's earlier turns */
    bool workload;            /* among them what the request is for */
    bool meaning;             /* it reads the text's vector */
    bool classifies;          /* its labels exclude each other: decisions compare its confidence */
    bool categorizes;         /* its rules are categories of requests; one type at most */
    uint32_t cost_ns_per_kib; /* relative cost of 1 KiB on the reference machine, for "cheapest first" */
    /* Mandatory. Builds the rules from a configuration. `*set` stays NULL when none are configured. Start-up
     * and reload only; the slots below are called with sets that are not NULL. */
    int (*compile)(struct sr_signal_set **set, const struct sr_config *config, struct sr_model_store *models,
                   struct sr_err *err);
    void (*free)(struct sr_signal_set *set);                                /* mandatory */
    size_t (*n_rules)(const struct sr_signal_set *set);                     /* mandatory */
    const char *(*rule_name)(const struct sr_signal_set *set, size_t rule); /* mandatory */
    /* Optional: the rule's description in the configuration; NULL or "": none. */
    const char *(*rule_description)(const struct sr_signal_set *set, size_t rule);
    /* Evaluates all rules; pure, any thread, `result` and what it points to in `arena`. An error return is
     * stored as the result's status. NULL where there is `start`. */
    int (*run)(const struct sr_signal_set *set, const struct sr_signal_input *input, struct sr_arena *arena,
               struct sr_signal_result *result);
    /* Instead of `run`, for types whose result may be late (from a batch on other threads). Begins to
     * evaluate all rules; any thread, does not block. SR_OK: task->result is written, as by `run`.
     * SR_AGAIN: sr_signal_complete will be called, on any thread; `start` has called
     * sr_task_begin(&task->base), which says how the work is cancelled and expires. Another error is
     * stored as the status. */
    int (*start)(const struct sr_signal_set *set, struct sr_signal_task *task);
    /* Optional: the types whose results `settle` reads, bits; `find` is sr_signal_find_type. They are
     * evaluated before, whatever the plan. */
    uint32_t (*needs)(const struct sr_signal_set *set, int (*find)(struct sr_bytes name));
    /* Optional: finishes the result of `run` or `start` with those of other types. On the owner's thread,
     * once, short; `result` may be changed. An error return becomes the result's status. */
    int (*settle)(const struct sr_signal_set *set, const struct sr_signal_others *others,
                  struct sr_signal_result *result);
    /* With `start`, optional. Before long texts are read for a task that wants the whole: SR_EBUSY when
     * others leave the neural classifier no time for what was not read before. An estimate from lengths
     * and memoised texts; any thread, reads no text but for its digest. */
    int (*admit)(const struct sr_signal_set *set, const struct sr_signal_task *task);
    /* With `start`, optional: true when a result of this set may be late. NULL: always true. */
    bool (*may_be_late)(const struct sr_signal_set *set);
    /* Optional: true when an evaluation asks a service outside of the process. It is begun only once its
     * result is needed, whatever the others find. */
    bool (*elsewhere)(const struct sr_signal_set *set);
    /* Optional: true when `start` would open a model for this input, so that a worker thread runs it. Any
     * thread, short. */
    bool (*is_slow)(const struct sr_signal_set *set, const struct sr_signal_input *input);
    /* Optional: opens in the background what later requests may need. Once the configuration is in force. */
    void (*ahead)(const struct sr_signal_set *set);
    /* Optional, for types that use a neural classifier. Gives the texts of a unit that `start` will
     * classify, for a request that still arrives; `arena` is scratch and holds texts. With `arena` NULL
     * the unit has only begun: n is 1 when any text of it would be classified. Any thread, short. An
     * error: nothing is prefetched. */
    int (*prefetch)(const struct sr_signal_set *set, const struct sr_signal_unit *unit,
                    struct sr_arena *arena, struct sr_signal_prefetched *out);
    /* Optional, both or none: for texts that are read alone (signal/readers.h). `alone` gives a
     * configuration without rules one rule of this type, which is called "any"; `named_model` is the
     * user's own model that the configuration names for the type: NULL or "" for none. */
    void (*alone)(struct sr_config *config);
    const char *(*named_model)(const struct sr_config *config);
};

/* The registry: one array, indexed by enum sr_signal_type. */
extern const struct sr_signal_ops *const sr_signal_registry[SR_SIGNAL_TYPES];

/* -1 when no type has this name. */
int sr_signal_find_type(struct sr_bytes name);

/* The type whose rules are the categories of requests; -1 when none has any. */
int sr_signal_category_type(void);

/* The type whose debug header has this position among them. */
enum sr_signal_type sr_signal_header_at(int place);

/* All sets of a configuration. Reference-counted: runs hold one. Models are taken from `models` (NULL: opened
 * for this configuration alone). */
struct sr_signals;
int sr_signals_new(struct sr_signals **out, const struct sr_config *config, struct sr_model_store *models,
                   struct sr_err *err) SR_WARN_UNUSED;
struct sr_signals *sr_signals_ref(struct sr_signals *signals);
void sr_signals_unref(struct sr_signals *signals);
/* Opens in the background what later requests may need, so that the first of them does not wait. */
void sr_signals_open_ahead(const struct sr_signals *signals);
/* True when a result may be late even for a short text. Then a run needs a mailbox to stay asynchronous. */
bool sr_signals_may_be_late(const struct sr_signals *signals);
/* The types for which that is true: bits. */
uint32_t sr_signals_late(const struct sr_signals *signals);
/* The types that ask a service outside of the process: bits. */
uint32_t sr_signals_elsewhere(const struct sr_signals *signals);
/* The types that must be evaluated before `type`, and those before them: bits. */
uint32_t sr_signals_needs(const struct sr_signals *signals, enum sr_signal_type type);
/* What the configured signals read beside the text. */
struct sr_signal_wants {
    bool facts, turns, workload, vector;
};
struct sr_signal_wants sr_signals_wants(const struct sr_signals *signals);
size_t sr_signals_rules(const struct sr_signals *signals, enum sr_signal_type type);
const char *sr_signals_rule_name(const struct sr_signals *signals, enum sr_signal_type type, size_t rule);
/* "" for none. */
const char *sr_signals_rule_description(const struct sr_signals *signals, enum sr_signal_type type,
                                        size_t rule);
/* Index of a rule by name, -1 when there is none. */
int sr_signals_find_rule(const struct sr_signals *signals, enum sr_signal_type type, struct sr_bytes name);

/* True when a pii rule counts this finding: a type that it does not allow, with sufficient confidence. */
bool sr_signal_pii_counts(const struct sr_config_pii *rule, const struct sr_signal_finding *finding);

/* The evaluations of one request; in the owner's arena, used only on the owner's thread. */
struct sr_signal_run;
typedef void sr_signal_done(void *ctx, enum sr_signal_type type);

struct sr_signal_env {
    struct sr_workers *workers;   /* NULL: long texts are evaluated on the calling thread, too */
    struct sr_mailbox *mailbox;   /* the owner's; where late results arrive. NULL: starting a type blocks */
    size_t inline_bytes;          /* texts up to this size are evaluated on the calling thread */
    uint64_t client;              /* who asks: clients share threads alike; 0: not known */
    struct sr_span_ref origin;    /* the request that asks */
    uint64_t deadline_ns;         /* of sr_clock_ns; 0: none */
    uint64_t allowed_ns;          /* until then, from the start of the request's signals; 0: no deadline */
    struct sr_consults *consults; /* of the process; NULL: no model is asked */
    bool whole; /* guards that there is no time for fail with SR_EBUSY, or are over a limit */
};

/* Prepares runs over `input` (takes its own references). Results live in `arena`. */
int sr_signal_run_new(struct sr_signal_run **out, struct sr_signals *signals, struct sr_signal_input *input,
                      struct sr_signal_env env, struct sr_arena *arena) SR_WARN_UNUSED;

/* Starts one type. SR_OK: its result is ready. SR_AGAIN: `done` will be called on the owner's thread,
 * through the mailbox, unless the run is cancelled or expires first. A type that ran already returns SR_OK
 * at once. */
int sr_signal_run_start(struct sr_signal_run *run, enum sr_signal_type type, sr_signal_done *done,
                        void *ctx) SR_WARN_UNUSED;

/* The deadline has passed: every pending type has a result afterwards, its partial result or SR_ETIMEOUT.
 * Waits for a result that is being written. `done` is not called any more. */
void sr_signal_run_expire(struct sr_signal_run *run);

/* Every pending type has the result SR_ECANCELED afterwards; work on other threads is told to stop. `done` is
 * not called any more. */
void sr_signal_run_cancel(struct sr_signal_run *run);

/* NULL until the type has completed. */
const struct sr_signal_result *sr_signal_run_result(const struct sr_signal_run *run,
                                                    enum sr_signal_type type);

/* Cancels what is pending and drops the references; the memory is the arena's. */
void sr_signal_run_dispose(struct sr_signal_run *run);

#endif
