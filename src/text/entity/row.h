/*
 * Rows of digits as they are written: groups of digits of any script, with marks, spaces or characters that
 * are not shown between them. Decides nothing about what a row says. Private to text/entity.
 */
#ifndef SR_TEXT_ENTITY_ROW_H
#define SR_TEXT_ENTITY_ROW_H

#include "text/entity/scan.h"

#define SR_ROW_GROUPS 64
#define SR_ROW_DIGITS 160
#define SR_ROW_GAP    6 /* characters between two groups, at most */

/* What stands between two groups. Spaces beside a mark change nothing. */
enum sr_row_gap {
    SR_GAP_NONE,  /* characters that are not shown */
    SR_GAP_SPACE, /* spaces of any width, tabs */
    SR_GAP_DASH,  /* hyphens, dashes, minus signs */
    SR_GAP_DOT,
    SR_GAP_SLASH, /* also backslashes and bars */
    SR_GAP_UNDER,
    SR_GAP_LINE, /* line ends */
    SR_GAP_LIST, /* commas, colons, quotes, brackets, signs, and mixtures */
};

struct sr_row_group {
    size_t start, end;   /* bytes of the text */
    uint32_t first, n;   /* digits */
    enum sr_row_gap gap; /* behind it; NONE behind the last one */
    int32_t mark;        /* the first character of the gap that is no space */
    uint32_t width;      /* characters of the gap that are shown */
};

struct sr_row {
    size_t n; /* groups, at least one */
    size_t n_digits;
    bool cut;     /* it goes on: the limits end it */
    bool joined;  /* it goes on from a row that was cut; the caller's to say */
    bool foreign; /* has digits, marks or spaces beyond ASCII */
    struct sr_row_group groups[SR_ROW_GROUPS];
    char digits[SR_ROW_DIGITS]; /* '0' to '9' */
};

/* The value of a digit of any script, also raised, circled and Chinese ones; -1 for another character. */
int sr_row_digit(int32_t cp);

/* The ASCII character that a character between digits means: a space, a mark, or 0 for one that is not shown;
 * -1 for a character that ends a row. `*gap` is its kind. */
int sr_row_mark(int32_t cp, enum sr_row_gap *gap);

/* Reads the row whose first digit is at `at`. False when there is none. */
bool sr_row_read(struct sr_bytes text, size_t at, struct sr_row *row);

#endif
