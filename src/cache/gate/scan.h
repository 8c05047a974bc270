/*
 * Numbers, dates and identifiers in ASCII at a place of a text. Private to cache/gate.
 */
#ifndef SR_CACHE_GATE_SCAN_H
#define SR_CACHE_GATE_SCAN_H

#include "base/bytes.h"

enum sr_gate_scan {
    SR_GATE_SCAN_WORD,   /* nothing of these: read a word */
    SR_GATE_SCAN_NUMBER, /* one number */
    SR_GATE_SCAN_DATE,   /* year, month and day */
    SR_GATE_SCAN_CODE,   /* an identifier */
};

struct sr_gate_scanned {
    size_t end;
    double number;   /* NUMBER */
    double other;    /* NUMBER: its value where the separator is read the other way; else the same */
    unsigned digits; /* NUMBER: digits behind the decimal separator, up to 15 */
    int y, m, d;     /* DATE */
};

/* What starts at text.p[at], an ASCII letter, digit or slash. */
enum sr_gate_scan sr_gate_scan(struct sr_bytes text, size_t at, struct sr_gate_scanned *out);

#endif
