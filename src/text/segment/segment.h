/*
 * Cuts a text into sentences while it arrives.
 *
 * It has two sets of rules. The default one (segment.c) recognises lines, headings, lists, tables, code and
 * logs, abbreviations, numbers and addresses, and the marks of many scripts; a unit is never longer than
 * SR_SEGMENT_MAX bytes, so every text is cut. The published one (published.c) ends a sentence at every mark
 * and nowhere else. In both, the result does not depend on how the text is split into pieces, invalid bytes
 * are single characters, and units are in order, do not overlap, are not blank and have no white space at
 * their ends.
 */
#ifndef SR_TEXT_SEGMENT_SEGMENT_H
#define SR_TEXT_SEGMENT_SEGMENT_H

#include "text/disguise/glyph.h"

#define SR_SEGMENT_MAX 1024 /* bytes of a unit */

/* The class of the line in progress. */
enum sr_segment_line {
    SR_SEGMENT_BLANK,
    SR_SEGMENT_PROSE,
    SR_SEGMENT_HEADING,
    SR_SEGMENT_LIST,
    SR_SEGMENT_FENCE, /* ``` or ~~~ */
    SR_SEGMENT_CODE,  /* inside fences, or classified as code, log, table or data */
};

struct sr_segmenter {
    size_t at;    /* everything before it is decided */
    size_t start; /* of the open unit; `at` when there is none */
    bool open;
    /* Default rules: */
    enum sr_segment_line line;
    bool in_line;      /* `at` is inside a line that is classified */
    bool line_ended;   /* a sentence ended at the end of the previous line */
    char fence;        /* the character of the open fence, 0 outside */
    size_t line_start; /* of the line in progress */
    size_t last_line;  /* bytes of the previous line */
    size_t letters;    /* letters and digits of the open unit, counted up to 3 */
    /* Published rules: */
    bool swallow;   /* after a mark: further marks belong to the sentence */
    int32_t before; /* the character before `at`, 0 at the start of a sentence */
    uint32_t before_glyph;
};

struct sr_segment {
    size_t start, end;
};

/* Finds the next unit of `text`, all bytes that have arrived so far (the same ones as before, and more).
 * `last`: nothing follows. Returns false when the next unit cannot be determined yet or there is none. The
 * segmenter starts as {0}. */
bool sr_segment_next(struct sr_segmenter *s, struct sr_bytes text, bool last, struct sr_segment *unit);
bool sr_segment_next_published(struct sr_segmenter *s, struct sr_bytes text, bool last,
                               struct sr_segment *unit);

/* True when the '.' at text.p[dot] ends an abbreviation ("Dr.", "e.g.", "J."), which starts at or after
 * `from`. */
bool sr_segment_is_abbreviation(struct sr_bytes text, size_t from, size_t dot);

/* Classifies the line text.p[start..end) without the text after it. */
enum sr_segment_line sr_segment_look(struct sr_bytes text, size_t start, size_t end);

#endif
