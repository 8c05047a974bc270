/* What the files of deobfuscate share. Private to the layer. */
#ifndef SR_TEXT_DISGUISE_PRIVATE_H
#define SR_TEXT_DISGUISE_PRIVATE_H

#include "text/disguise/deobfuscate.h"

/* A span where the rewritten text differs from the text. */
struct sr_rewrite_mark {
    size_t in_start, in_end;   /* bytes of the text */
    size_t out_start, out_end; /* of the rewritten text */
    size_t sure, likely; /* bytes of the text in words that certainly read so, and in words that may not */
    uint32_t disguise;
};

struct sr_rewritten {
    char *text; /* room for the text's size */
    size_t n;
    struct sr_rewrite_mark *marks;
    size_t n_marks, max_marks;
};

/* Rewrites into `out`, whose buffers the caller provides; stops marking when there is no room for marks. */
void sr_rewrite(struct sr_bytes text, struct sr_rewritten *out);

/* The Latin letter that a character looks like, or 0. `*sure`: the character has no other use than style. */
char sr_lookalike(int32_t cp, bool *sure);

/* The end of an encoded run that begins at `at`; 0 when none does. `*out` (room for as many bytes) receives
 * the decoded text. */
size_t sr_decode_base64(struct sr_bytes text, size_t at, char *out, size_t *n);
size_t sr_decode_hex(struct sr_bytes text, size_t at, char *out, size_t *n);

/* A run of words that reads as English in ROT13. */
struct sr_rot13_run {
    size_t start, end;
    bool mixed; /* may contain words of another language, or in clear */
};

/* The first one at or after `from`. */
bool sr_find_rot13(struct sr_bytes text, size_t from, struct sr_rot13_run *run);
char sr_rot13(char c);

#endif
