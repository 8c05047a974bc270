/*
 * Characters that are not shown, or not as they are stored: tag characters, bytes in variation selectors, and
 * text between right-to-left overrides. Emoji that use the same characters stay as they are.
 */
#include "base/utf8.h"
#include "text/disguise/private.h"

#define SELECTORS_MIN 4 /* bytes in variation selectors in a row; emoji have one */
#define OVERRIDE_MAX  ((size_t)1 << 16)

#define FLAG     0x1F3F4 /* a flag's tags follow it */
#define OVERRIDE 0x202E
#define POP      0x202C

bool sr_is_invisible(int32_t cp)
{
    static const struct {
        int32_t first, last;
    } ranges[] = {
        {0xAD, 0xAD},       {0x34F, 0x34F},   {0x61C, 0x61C},   {0x640, 0x640},     {0x115F, 0x1160},
        {0x17B4, 0x17B5},   {0x180B, 0x180F}, {0x200B, 0x200F}, {0x202A, 0x202E},   {0x2060, 0x206F},
        {0x2800, 0x2800},   {0x3164, 0x3164}, {0xFDD0, 0xFDEF}, {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},
        {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFC}, {0xFFFE, 0xFFFF}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
        {0xE0000, 0xE0FFF},
    };
    if (cp < 0xAD)
        return false;
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0] && cp >= ranges[i].first; i++)
        if (cp <= ranges[i].last)
            return true;
    return false;
}

static size_t point_at(struct sr_bytes text, size_t at, int32_t *cp)
{
    *cp = 0;
    return at < text.n ? sr_utf8_decode(text, at, cp) : 0;
}

static bool is_tag(int32_t cp)
{
    return cp >= 0xE0020 && cp <= 0xE007E;
}

/* The byte that a variation selector carries, -1 for another character. */
static int byte_of(int32_t cp)
{
    if (cp >= 0xFE00 && cp <= 0xFE0F)
        return cp - 0xFE00;
    return cp >= 0xE0100 && cp <= 0xE01EF ? cp - 0xE0100 + 16 : -1;
}

/* The end of the tags at `at`, which are put as their letters. */
static size_t put_tags(struct sr_bytes text, size_t at, struct sr_patches *out)
{
    int32_t cp;
    size_t n;
    while ((n = point_at(text, at, &cp)) && (is_tag(cp) || cp == 0xE0001 || cp == 0xE007F)) {
        char letter = (char)(cp - 0xE0000);
        sr_patches_put(out, &letter, is_tag(cp));
        at += n;
    }
    return at;
}

/* The end of the selectors at `at`; their bytes are put if they are printable text, and `*taken` is set. */
static size_t put_selectors(struct sr_bytes text, size_t at, struct sr_patches *out, bool *taken)
{
    int32_t cp;
    size_t n, bytes = 0, put = out->n_bytes;
    bool printable = true;
    while ((n = point_at(text, at, &cp)) && byte_of(cp) >= 0) {
        char byte = (char)byte_of(cp);
        printable &= (unsigned char)byte >= ' ' || byte == '\n' || byte == '\t' || byte == '\r';
        sr_patches_put(out, &byte, 1);
        bytes++;
        at += n;
    }
    *taken = out->rc == SR_OK && bytes >= SELECTORS_MIN && printable &&
             sr_utf8_valid(sr_bytes_of(out->bytes + put, out->n_bytes - put));
    return at;
}

/* The end of the override at `at`: its text is put from its end to its beginning. */
static size_t put_override(struct sr_bytes text, size_t at, struct sr_patches *out)
{
    int32_t cp;
    size_t n, first = at + 3, end = first, next;
    while ((n = point_at(text, end, &cp)) && cp != POP && cp != '\n' && cp != OVERRIDE &&
           end - first < OVERRIDE_MAX)
        end += n;
    next = cp == POP ? end + n : end;
    while (end > first) {
        n = sr_utf8_decode_before(sr_bytes_of(text.p + first, end - first), end - first, &cp);
        end -= n;
        sr_patches_put(out, text.p + end, n);
    }
    return next;
}

void sr_patch_hidden(struct sr_bytes text, struct sr_patches *out)
{
    int32_t cp, before = 0;
    for (size_t at = sr_utf8_ascii_prefix(text); at < text.n && out->rc == SR_OK;) {
        size_t n = sr_utf8_decode(text, at, &cp), end = at;
        bool taken = false, tags = is_tag(cp) || cp == 0xE0001;
        if (tags) {
            end = put_tags(text, at, out);
            taken = before != FLAG || end - at > 4 * 8; /* longer than a flag's */
        } else if (byte_of(cp) >= 0) {
            end = put_selectors(text, at, out, &taken);
        } else if (cp == OVERRIDE) {
            end = put_override(text, at, out);
            taken = end > at + 3;
        }
        if (taken)
            sr_patches_add(out, at, end, cp == OVERRIDE ? SR_DISGUISE_BIDI : SR_DISGUISE_INVISIBLE,
                           cp != OVERRIDE);
        else
            sr_patches_cut(out, out->n);
        before = cp;
        at = end > at ? end : at + n;
    }
}
