/* What the files of deobfuscate share. Private to the layer. */
#ifndef SR_TEXT_DISGUISE_PRIVATE_H
#define SR_TEXT_DISGUISE_PRIVATE_H

#include "text/disguise/deobfuscate.h"

/* A place where the rewritten text differs from the text. */
struct sr_rewrite_mark {
    size_t in_start, in_end;   /* bytes of the text */
    size_t out_start, out_end; /* of the rewritten text */
    size_t sure, likely;       /* bytes of the text in words that read so, and in those that may not */
    uint32_t disguise;
};

struct sr_rewritten {
    char *text; /* room for the text's size */
    size_t n;
    struct sr_rewrite_mark *marks;
    size_t n_marks, max_marks;
};

/* Rewrites into `out`, whose buffers are given; stops marking when there is no room for marks. */
void sr_rewrite(struct sr_bytes text, struct sr_rewritten *out);

/* Letters that look like Latin ones: the letter, or 0. `*sure`: it is used for nothing else but style. */
char sr_lookalike(int32_t cp, bool *sure);

/* The end of an encoded run that begins at `at`; 0 when none does. `*out` (room for as many bytes) receives
 * what it says, which reads as text. */
size_t sr_decode_base64(struct sr_bytes text, size_t at, char *out, size_t *n);
size_t sr_decode_hex(struct sr_bytes text, size_t at, char *out, size_t *n);

/* A run of words that reads as English in ROT13. */
struct sr_rot13_run {
    size_t start, end;
    bool mixed; /* words of another language, or in clear, may stand among them */
};

/* The first one at or behind `from`. */
bool sr_find_rot13(struct sr_bytes text, size_t from, struct sr_rot13_run *run);
char sr_rot13(char c);

#endif
