/* The pass over a text that calls at each position the recognisers whose values can begin there, and at each
 * row of digits those of numbers that are written in other ways. */
#include "text/entity/plain.h"
#include "text/entity/recognisers.h"

#include "base/thread.h"
#include "base/unicode.h"
#include "base/utf8.h"

#define STEP ((size_t)4 << 10) /* bytes between two pauses */

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

/* True when a word or a number may begin at `at`. Scripts without spaces put them side by side with their
 * words. */
static bool begins(struct sr_bytes text, size_t at)
{
    int32_t cp;
    unsigned char before = at ? (unsigned char)text.p[at - 1] : 0, c = (unsigned char)text.p[at];
    if (before < 0x80 || c >= 0x80)
        return !sr_entity_is_word(before);
    (void)sr_utf8_decode_before(text, at, &cp);
    if (sr_entity_is_alpha(c))
        return sr_unicode_class(cp) != SR_UNICODE_WORD;
    return sr_row_digit(cp) < 0;
}

/* Offers the text from `at` to `end` to the recognisers. */
static void look_within(struct sr_entity_scan *scan, size_t at, size_t end)
{
    while (at < end && !scan->rc) {
        size_t found = begins(scan->text, at) ? look(scan, at, (unsigned char)scan->text.p[at]) : 0;
        at = found > at ? found : at + 1;
    }
}

/* Adds what a row says in its plain form. */
static void read_plain(struct sr_entity_scan *scan, const struct sr_row *row)
{
    struct sr_plain plain;
    struct sr_entities own;
    if (scan->rc || !sr_plain_copy(scan->text, row, &plain))
        return;
    sr_entities_init(&own, SR_PLAIN_MAX);
    struct sr_entity_scan inner = {.text = sr_bytes_of(plain.text, plain.n), .list = &own};
    look_within(&inner, plain.row, plain.n);
    scan->rc = inner.rc == SR_ELIMIT ? SR_OK : inner.rc;
    for (size_t i = 0; i < own.n; i++) {
        const struct sr_entity *entity = &own.items[i];
        if (entity->confidence >= plain.least)
            sr_entity_found(scan, (enum sr_entity_type)entity->type, plain.from[entity->start],
                            plain.to[entity->end - 1], entity->confidence);
    }
    sr_entities_dispose(&own);
}

/* Where the last row that was read ends, and the cards in it. */
struct rows {
    size_t end;
    bool cut;
    size_t next, last; /* of the list: cards [next, last) begin at or after the position */
};

/* Reads the row that begins at `at`, if one does. */
static void read_row(struct sr_entity_scan *scan, size_t at, struct rows *rows)
{
    struct sr_row row;
    if (at < rows->end || !sr_row_read(scan->text, at, &row))
        return;
    row.joined = rows->cut && rows->end == at;
    rows->cut = row.cut;
    rows->end = row.groups[row.n - 1].end;
    rows->next = scan->list->n;
    sr_entity_cards(scan, &row);
    rows->last = scan->list->n;
    read_plain(scan, &row);
}

/* The end of the card at `at`, 0 when none begins there. */
static size_t card_end(const struct sr_entity_scan *scan, size_t at, struct rows *rows)
{
    while (rows->next < rows->last && scan->list->items[rows->next].start < at)
        rows->next++;
    if (rows->next == rows->last || scan->list->items[rows->next].start != at)
        return 0;
    return scan->list->items[rows->next].end;
}

int sr_entities_recognise(struct sr_entities *list, struct sr_bytes text)
{
    struct sr_entity_scan scan = {.text = text, .list = list};
    struct rows rows = {.end = 0};
    size_t paused = 0;
    for (size_t at = 0; at < text.n && !scan.rc;) {
        if (at - paused >= STEP) {
            scan.rc = sr_job_pause(at - paused);
            paused = at;
        }
        unsigned char c = (unsigned char)text.p[at];
        size_t end = 0;
        if (sr_entity_is_digit(c) || c >= 0xC2)
            read_row(&scan, at, &rows);
        if (c == '@')
            end = sr_entity_email(&scan, at);
        else if ((end = card_end(&scan, at, &rows)) == 0 && begins(text, at))
            end = look(&scan, at, c);
        at = end > at ? end : at + 1;
    }
    sr_entities_resolve(list);
    return scan.rc;
}
