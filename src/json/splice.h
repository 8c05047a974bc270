/*
 * Edits of a JSON body as splices into the original bytes: all other bytes stay identical.
 *
 * Every change of a body, by any stage, is an entry in one list; the list is sorted once and rendered
 * as slices of the original between inserted bytes. Rules for conflicts:
 *   - insertions at the same offset keep the order in which they were added;
 *   - a replacement that lies inside another one is dropped: the outer one wins;
 *   - the same range replaced twice: the later entry wins (edits are added in order of precedence); so it is
 *     with a replacement and a removal of the same span;
 *   - an insertion strictly inside a replaced range is dropped;
 *   - ranges that overlap partly are SR_ECONFLICT.
 * Commas stay valid: removing a member removes one comma with it, also when neighbours are removed.
 */
#ifndef SR_JSON_SPLICE_H
#define SR_JSON_SPLICE_H

#include "json/scan.h"

struct sr_edits;

/* All functions: SR_EINVAL for spans that are still open, out of range or of the wrong kind, SR_ELIMIT when
 * the list is full, SR_ENOMEM.
 *
 * A list of at most `max_edits` entries, in `arena`, for `body` with the spans of `scan` (both outlive it).
 */
int sr_edits_new(struct sr_edits **out, struct sr_bytes body, const struct sr_span *spans, size_t n_spans,
                 size_t root_open, size_t max_edits, struct sr_arena *arena) SR_WARN_UNUSED;

/* Replaces the value of a span by `json` (valid JSON text, kept alive by the caller). Of a duplicated member
 * every occurrence is replaced, so that all downstream parsers see the same value. */
int sr_edits_replace(struct sr_edits *edits, uint32_t span, struct sr_bytes json) SR_WARN_UNUSED;

/* Removes a recorded member, its key and one comma included, with all its duplicates; or a recorded
 * element. */
int sr_edits_remove(struct sr_edits *edits, uint32_t span) SR_WARN_UNUSED;

/* Removes this one occurrence: for a caller that checks every span by itself. */
int sr_edits_remove_one(struct sr_edits *edits, uint32_t span) SR_WARN_UNUSED;

/* Sets member `key` (raw, unescaped text) of a recorded object span to `json`: replaces it where the scan
 * recorded it, else appends it as the last member; setting it again changes the appended member. Where the
 * object is a duplicated member, every occurrence that is an object is changed. SR_SPAN_NONE as `object`
 * means the root object. `key` is copied, `json` is kept alive by the caller, here and below. */
int sr_edits_set_member(struct sr_edits *edits, uint32_t object, struct sr_bytes key,
                        struct sr_bytes json) SR_WARN_UNUSED;

/* Inserts `json` before the elements of a recorded array span, after earlier insertions there. */
int sr_edits_prepend(struct sr_edits *edits, uint32_t array, struct sr_bytes json) SR_WARN_UNUSED;

/* Without checks: bytes [start, end) become `text`. start == end inserts. */
int sr_edits_range(struct sr_edits *edits, size_t start, size_t end, struct sr_bytes text) SR_WARN_UNUSED;

size_t sr_edits_count(const struct sr_edits *edits);

/* Sorts, resolves and renders: `slices` (in the arena) in order are the new body; `total` their bytes.
 * With no edits there is one slice, the body itself. */
int sr_edits_render(struct sr_edits *edits, const struct sr_bytes **slices, size_t *n_slices, size_t *total,
                    struct sr_err *err) SR_WARN_UNUSED;

#endif
