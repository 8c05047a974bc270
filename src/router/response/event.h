/*
 * One event of a streamed answer, or a whole JSON answer, as the stages see it: scanned at most once for
 * all of them. Stages mark their changes on it, and one writer writes the bytes.
 *
 * Lives while its stages run; marks and spans are in the arena of the event. Knows no stage.
 */
#ifndef SR_ROUTER_RESPONSE_EVENT_H
#define SR_ROUTER_RESPONSE_EVENT_H

#include "base/buf.h"
#include "dialect/dialect.h"
#include "json/sse_frames.h"

#define SR_ANSWER_SPANS_MAX 65536 /* of one event or answer; with more it passes unread */

/* Bytes [start, end) of the event's `raw` become `text`. */
struct sr_answer_mark {
    size_t start, end;
    struct sr_bytes text;
};

struct sr_answer_number; /* value of an `index` member */

struct sr_answer_event {
    /* as received */
    struct sr_bytes raw;  /* all of it, with the blank line that ends it */
    struct sr_bytes data; /* its data; of a whole answer all of it */
    size_t begin;         /* offset of the first byte of `raw` to write */
    size_t lead;          /* bytes of `raw` before this one end the event before */
    size_t data_at;       /* offset of `data` in `raw`, when `editable` */
    bool whole;           /* false: a piece of an event over the maximum, or an unfinished end: only `raw` */
    bool has_data;
    bool editable;             /* `data` is one run of bytes of `raw` */
    bool done;                 /* it ends the stream */
    bool mark;                 /* its data says only that; nothing in it is read */
    struct sr_event_kind kind; /* by its type; all false: it has none */
    bool is_body;              /* a whole answer, no event */

    /* its content; see sr_answer_event_scan */
    const struct sr_paths *paths;
    struct sr_arena *arena;
    bool scanned, is_json, is_object;
    const struct sr_span *spans;
    size_t n_spans;
    struct sr_answer_number *numbers; /* NULL: not looked for */
    size_t n_numbers;
    enum { SR_USAGE_UNKNOWN, SR_USAGE_NONE, SR_USAGE_THERE } usage;

    /* changes to it */
    bool dropped;
    struct sr_buf *before; /* events to write before it */
    struct sr_answer_mark *marks;
    size_t n_marks, cap_marks;
};

/* Makes an event from the bytes of one event of a stream. `paths` are those of the dialect's answers;
 * `before` is emptied. All are borrowed. */
void sr_answer_event_init(struct sr_answer_event *event, const struct sr_sse_frame *frame,
                          const struct sr_dialect_ops *dialect, const struct sr_paths *paths,
                          struct sr_arena *arena, struct sr_buf *before);

/* Makes an event from a whole answer, with the spans of its scan; `scan` NULL: it is no JSON. */
void sr_answer_event_init_body(struct sr_answer_event *event, struct sr_bytes body,
                               const struct sr_scan *scan, struct sr_arena *arena, struct sr_buf *before);

/* Fills the spans, at the first call; false when the data is no JSON, has more than SR_ANSWER_SPANS_MAX
 * spans, or out of memory. */
bool sr_answer_event_scan(struct sr_answer_event *event);

/* What the text at this span is: SR_ANSWER_TEXT, _REASONING, _REFUSAL, _ARGUMENTS or _INPUT; 0: no text. */
uint16_t sr_answer_event_text(const struct sr_answer_event *event, const struct sr_span *span);

/* True for a text that is complete: of a whole answer, or one that an event repeats. */
bool sr_answer_event_is_whole(const struct sr_answer_event *event, const struct sr_span *span);

/* True when there is a member `usage`; then the spans are filled too. An event that does not contain the
 * word is not scanned. */
bool sr_answer_event_has_usage(struct sr_answer_event *event);

/* The number of the choice, or of the tool call or command inside of its choice, that contains a span: its
 * `index`, or its position when it has none. Texts that are neither have the call 0; so have the commands of
 * a whole answer. */
uint64_t sr_answer_event_choice(struct sr_answer_event *event, const struct sr_span *span);
uint64_t sr_answer_event_call(struct sr_answer_event *event, const struct sr_span *span);

/* Marks bytes [start, end) of `data`, to become `text`, which must live as long as the event. Marks must
 * not overlap; the event must be editable. SR_ENOMEM. */
int sr_answer_event_replace(struct sr_answer_event *event, size_t start, size_t end,
                            struct sr_bytes text) SR_WARN_UNUSED;

/* Appends the event with its changes; on failure `out` is unchanged. SR_ENOMEM, SR_ELIMIT. */
int sr_answer_event_write(struct sr_answer_event *event, struct sr_buf *out) SR_WARN_UNUSED;

/* Appends `raw` from `begin` on with these marks, in any order. SR_ENOMEM, SR_ELIMIT. */
int sr_answer_marks_write(struct sr_bytes raw, size_t begin, struct sr_answer_mark *marks, size_t n,
                          struct sr_buf *out) SR_WARN_UNUSED;

#endif
