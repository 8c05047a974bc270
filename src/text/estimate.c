#include "text/estimate.h"

struct sr_estimate sr_estimate_of(struct sr_bytes text)
{
    const uint32_t *table = sr_glyph_table();
    struct sr_estimate sum = {0};
    struct sr_estimate_field field = {0};
    for (size_t i = 0; i < text.n;) {
        int32_t cp;
        uint32_t glyph;
        i += sr_glyph_at(table, text, i, &cp, &glyph);
        if (!(glyph & SR_GLYPH_SPACE)) {
            sr_estimate_point(&field, cp, glyph);
            continue;
        }
        sr_estimate_add_field(&sum, field);
        field = (struct sr_estimate_field){0};
    }
    sr_estimate_add_field(&sum, field);
    return sum;
}

size_t sr_estimate_prefix(struct sr_bytes text, size_t tenths)
{
    const uint32_t *table = sr_glyph_table();
    struct sr_estimate sum = {0};
    struct sr_estimate_field field = {0};
    size_t whole = 0, fitting = 0, i = 0;
    while (i < text.n) {
        int32_t cp;
        uint32_t glyph;
        size_t next = i + sr_glyph_at(table, text, i, &cp, &glyph);
        if (glyph & SR_GLYPH_SPACE) {
            sr_estimate_add_field(&sum, field);
            field = (struct sr_estimate_field){0};
            i = next;
            continue;
        }
        sr_estimate_point(&field, cp, glyph);
        struct sr_estimate with = sum;
        sr_estimate_add_field(&with, field);
        if (sr_estimate_tenths(with) > tenths)
            break;
        i = fitting = next;
        bool field_ends = true;
        if (next < text.n) {
            int32_t after;
            uint32_t follows;
            sr_glyph_at(table, text, next, &after, &follows);
            field_ends = (follows & SR_GLYPH_SPACE) || ((glyph | follows) & SR_GLYPH_CJK);
        }
        if (field_ends)
            whole = next;
    }
    /* A field is cut only when it is the first one: otherwise nothing could be kept. */
    return whole ? whole : fitting;
}
