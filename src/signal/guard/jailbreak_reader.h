/*
 * Classifies a text of any length for attacks: a classifier reads overlapping windows.
 *
 * The unchanged text is read, and its disguised parts also undisguised; windows that are completely
 * disguised are read only undisguised. With the bundled model each passage of a long text (risk.h) is read
 * alone as well. A text is read in blocks, in time that grows with its length and with the scratch memory of
 * one block. Results are kept in the memo. A reader is immutable and shared; it holds a model and no
 * thresholds.
 */
#ifndef SR_SIGNAL_GUARD_JAILBREAK_READER_H
#define SR_SIGNAL_GUARD_JAILBREAK_READER_H

#include "base/arena.h"
#include "config/config.h"
#include "infer/model_store.h"
#include "model/memo.h"
#include "signal/guard/risk.h"

#define SR_JAILBREAK_WINDOW  ((size_t)1536) /* bytes: about 350 tokens of English */
#define SR_JAILBREAK_OVERLAP ((size_t)512)

struct sr_jailbreak_reader;

#define SR_JAILBREAK_BLOCK ((size_t)64 << 10) /* bytes whose disguises are undone at once */

/* What a text's windows say, in the arena. Of a disguised part there is one window, its worst: the part's
 * bytes as they were given. */
struct sr_jailbreak_reading {
    struct sr_risk_window *windows;
    size_t n;
    struct sr_risk_window *passages; /* of a long text, about four a KiB at most; also its disguised parts */
    size_t n_passages;
    bool remembered; /* the result was memoised */
    bool cut;        /* the text has more disguises than are undone */
};

/* `labels`: those that mean an attack (jailbreak_labels.h, whose errors it has). `path` "" is the embedded
 * model. Else the errors of sr_model_store_linear. */
int sr_jailbreak_reader_new(struct sr_jailbreak_reader **out, const char *path,
                            const struct sr_strings *labels, struct sr_model_store *models,
                            struct sr_err *err) SR_WARN_UNUSED;
void sr_jailbreak_reader_free(struct sr_jailbreak_reader *reader); /* NULL is allowed */

/* The model's labels, as long as the reader lives. */
const char *const *sr_jailbreak_labels(const struct sr_jailbreak_reader *reader, size_t *n);
const char *sr_jailbreak_tier(const struct sr_jailbreak_reader *reader); /* "linear" */

/* Reads the texts of one request, one after the other on one thread, with the memory that all of them need:
 * a request may have tens of thousands of short ones. The reader outlives it. */
struct sr_jailbreak_session;

/* Tenants do not share memoised results. SR_ENOMEM. */
int sr_jailbreak_session_new(struct sr_jailbreak_session **out, const struct sr_jailbreak_reader *reader,
                             struct sr_bytes tenant) SR_WARN_UNUSED;
void sr_jailbreak_session_free(struct sr_jailbreak_session *session); /* NULL is allowed */

/* Reads valid UTF-8. SR_ELIMIT over 4 GiB, SR_ENOMEM; SR_ECANCELED: of sr_job_pause. */
int sr_jailbreak_read(struct sr_jailbreak_session *session, struct sr_bytes text, struct sr_arena *arena,
                      struct sr_jailbreak_reading *out) SR_WARN_UNUSED;

/* The keys of a tenant's memoised results. SR_ENOENT: there is no memo; SR_ENOMEM. */
int sr_jailbreak_scope(const struct sr_jailbreak_reader *reader, struct sr_bytes tenant,
                       struct sr_memo_scope *out) SR_WARN_UNUSED;

/* True when the text's result is memoised. Any thread; costs its digest. */
bool sr_jailbreak_is_known(const struct sr_jailbreak_reader *reader, const struct sr_memo_scope *scope,
                           struct sr_bytes text);

#endif
