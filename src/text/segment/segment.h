/*
 * Cuts a text into sentences while it arrives.
 *
 * Two ways. The ordinary one (segment.c) knows lines, headings, lists, tables, code and logs, abbreviations,
 * numbers and addresses, and the marks of many scripts; a unit is never longer than SR_SEGMENT_MAX bytes, so
 * no text is without a cut. The published one (published.c) ends a sentence at every mark and nowhere
 * else. In both, where the pieces of a text are cut when it arrives does not matter, invalid bytes are
 * characters of their own, and units are in order, apart, not blank and without white space at their ends.
 */
#ifndef SR_TEXT_SEGMENT_SEGMENT_H
#define SR_TEXT_SEGMENT_SEGMENT_H

#include "text/disguise/glyph.h"

#define SR_SEGMENT_MAX 1024 /* bytes of a unit */

/* What the line that is being read looks like. */
enum sr_segment_line {
    SR_SEGMENT_BLANK,
    SR_SEGMENT_PROSE,
    SR_SEGMENT_HEADING,
    SR_SEGMENT_LIST,
    SR_SEGMENT_FENCE, /* ``` or ~~~ */
    SR_SEGMENT_CODE,  /* inside fences, or code, logs, tables and data by their looks */
};

struct sr_segmenter {
    size_t at;    /* everything before is decided */
    size_t start; /* of the open unit; `at` when there is none */
    bool open;
    /* The ordinary way: */
    enum sr_segment_line line;
    bool in_line;      /* `at` is inside a line whose looks are known */
    bool line_ended;   /* a sentence ended where the previous line did */
    char fence;        /* the character of the open fence, 0 outside */
    size_t line_start; /* of the line that is being read */
    size_t last_line;  /* bytes of the previous line */
    size_t letters;    /* letters and digits of the open unit, counted up to 3 */
    /* The published way: */
    bool swallow;   /* after a mark: further marks belong to the sentence */
    int32_t before; /* the character before `at`, 0 at the start of a sentence */
    uint32_t before_glyph;
};

struct sr_segment {
    size_t start, end;
};

/* Finds the next unit of `text`, all bytes that have arrived so far (the same ones as before, and more).
 * `last`: nothing follows. Returns false when the next unit cannot be told yet or there is none. The
 * segmenter starts as {0}. */
bool sr_segment_next(struct sr_segmenter *s, struct sr_bytes text, bool last, struct sr_segment *unit);
bool sr_segment_next_published(struct sr_segmenter *s, struct sr_bytes text, bool last,
                               struct sr_segment *unit);

/* Does the '.' at text.p[dot] end a word that is short for another ("Dr.", "e.g.", "J.")? The word starts at
 * or after `from`. */
bool sr_segment_is_abbreviation(struct sr_bytes text, size_t from, size_t dot);

/* What does the line text.p[start..end) look like? What follows it does not count. */
enum sr_segment_line sr_segment_look(struct sr_bytes text, size_t start, size_t end);

#endif
