/* The pass over a text that calls at each position the recognisers whose values can begin there. */
#include "text/entity/recognisers.h"

static size_t first_of(size_t a, size_t b)
{
    return a ? a : b;
}

/* Runs the recognisers at a position where a word may begin; returns the end of the entity, or 0. */
static size_t look(struct sr_entity_scan *scan, size_t at, unsigned char c)
{
    size_t end = 0;
    if (sr_entity_is_digit(c)) {
        end = first_of(sr_entity_address(scan, at), sr_entity_date(scan, at));
        end = first_of(end, sr_entity_number(scan, at));
        return first_of(end, sr_entity_domain(scan, at));
    }
    if (c == '+' || c == '(')
        return sr_entity_number(scan, at);
    if (c == ':')
        return sr_entity_address(scan, at);
    if (sr_entity_is_alpha(c)) {
        end = first_of(sr_entity_address(scan, at), sr_entity_code(scan, at));
        end = first_of(end, sr_entity_date(scan, at));
        end = first_of(end, sr_entity_title(scan, at));
        return first_of(end, sr_entity_domain(scan, at));
    }
    return c >= 0x80 ? sr_entity_domain(scan, at) : 0;
}

int sr_entities_recognise(struct sr_entities *list, struct sr_bytes text)
{
    struct sr_entity_scan scan = {.text = text, .list = list};
    unsigned char before = 0;
    for (size_t at = 0; at < text.n && !scan.rc;) {
        unsigned char c = (unsigned char)text.p[at];
        size_t end = 0;
        if (c == '@')
            end = sr_entity_email(&scan, at);
        else if (!sr_entity_is_word(before))
            end = look(&scan, at, c);
        at = end > at ? end : at + 1;
        before = (unsigned char)text.p[at - 1];
    }
    sr_entities_resolve(list);
    return scan.rc;
}
