/*
 * Finds private data in a text of any length with the exact recognisers, also where it is disguised: then the
 * finding is all that says it, for example a whole run of base64.
 *
 * Results are kept in the memo. A reader is immutable and shared; it holds no thresholds and no policies:
 * it returns all findings with their confidence, by position, without overlaps.
 */
#ifndef SR_SIGNAL_GUARD_PII_READER_H
#define SR_SIGNAL_GUARD_PII_READER_H

#include "base/arena.h"
#include "infer/model_store.h"
#include "text/entity/entity.h"

/* Entities that are kept of one text; a text with more is answered SR_ELIMIT. */
#define SR_PII_ENTITIES_MAX 32768

struct sr_pii_reader;

/* SR_ENOMEM. */
int sr_pii_reader_new(struct sr_pii_reader **out, struct sr_model_store *models,
                      struct sr_err *err) SR_WARN_UNUSED;
void sr_pii_reader_free(struct sr_pii_reader *reader); /* NULL is allowed */

struct sr_pii_findings {
    const struct sr_entity *items; /* in the arena, by offset */
    size_t n;
    bool remembered;
    bool cut; /* the text has more disguises than are undone */
};

/* Reads the texts of one request, one after the other on one thread, with the memory that all of them need.
 * The reader outlives it. */
struct sr_pii_session {
    const struct sr_pii_reader *reader;
    bool keeps; /* `scope` is set: results are memoised */
    struct sr_memo_scope scope;
    struct sr_arena scratch;
};

/* Tenants do not share memoised results. */
void sr_pii_session_init(struct sr_pii_session *session, const struct sr_pii_reader *reader,
                         struct sr_bytes tenant);
void sr_pii_session_dispose(struct sr_pii_session *session);

/* Reads valid UTF-8. The findings of one disguised span overlap, one of each type. SR_ELIMIT, SR_ENOMEM;
 * SR_ECANCELED: of sr_job_pause. */
int sr_pii_read(struct sr_pii_session *session, struct sr_bytes text, struct sr_arena *arena,
                struct sr_pii_findings *out) SR_WARN_UNUSED;

/* The keys of a tenant's memoised results. SR_ENOENT: there is no memo; SR_ENOMEM. */
int sr_pii_scope(const struct sr_pii_reader *reader, struct sr_bytes tenant,
                 struct sr_memo_scope *out) SR_WARN_UNUSED;

/* True when the text's result is memoised. Any thread; costs its digest. */
bool sr_pii_is_known(const struct sr_pii_reader *reader, const struct sr_memo_scope *scope,
                     struct sr_bytes text);

#endif
