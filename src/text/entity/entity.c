/* The list, and the one pass that offers each place of a text to the recognisers that could begin there. */
#include "base/grow.h"
#include "base/mem.h"
#include "text/entity/private.h"

#include <stdlib.h>

const char *const sr_entity_names[SR_ENTITY_TYPES] = {
    [SR_ENTITY_AGE] = "AGE",
    [SR_ENTITY_CREDIT_CARD] = "CREDIT_CARD",
    [SR_ENTITY_DATE_TIME] = "DATE_TIME",
    [SR_ENTITY_DOMAIN_NAME] = "DOMAIN_NAME",
    [SR_ENTITY_EMAIL_ADDRESS] = "EMAIL_ADDRESS",
    [SR_ENTITY_GPE] = "GPE",
    [SR_ENTITY_IBAN_CODE] = "IBAN_CODE",
    [SR_ENTITY_IP_ADDRESS] = "IP_ADDRESS",
    [SR_ENTITY_NRP] = "NRP",
    [SR_ENTITY_ORGANIZATION] = "ORGANIZATION",
    [SR_ENTITY_PERSON] = "PERSON",
    [SR_ENTITY_PHONE_NUMBER] = "PHONE_NUMBER",
    [SR_ENTITY_STREET_ADDRESS] = "STREET_ADDRESS",
    [SR_ENTITY_TITLE] = "TITLE",
    [SR_ENTITY_US_DRIVER_LICENSE] = "US_DRIVER_LICENSE",
    [SR_ENTITY_US_SSN] = "US_SSN",
    [SR_ENTITY_ZIP_CODE] = "ZIP_CODE",
};

int sr_entity_find_type(struct sr_bytes name)
{
    for (int type = 0; type < SR_ENTITY_TYPES; type++)
        if (sr_bytes_eq_nocase(name, sr_bytes_str(sr_entity_names[type])))
            return type;
    return -1;
}

void sr_entities_init(struct sr_entities *list, size_t max)
{
    *list = (struct sr_entities){.max = max};
}

void sr_entities_dispose(struct sr_entities *list)
{
    sr_mem_free(list->items);
    *list = (struct sr_entities){.max = list->max};
}

int sr_entities_add(struct sr_entities *list, enum sr_entity_type type, size_t start, size_t end,
                    float confidence)
{
    int rc = sr_grow(&list->items, &list->cap, list->n + 1, sizeof *list->items, list->max);
    if (rc)
        return rc;
    list->items[list->n++] = (struct sr_entity){start, end, confidence, (uint32_t)type};
    return SR_OK;
}

static int by_place(const void *a, const void *b)
{
    const struct sr_entity *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    if (x->confidence != y->confidence)
        return x->confidence > y->confidence ? -1 : 1;
    return (int)x->type - (int)y->type;
}

static bool is_better(const struct sr_entity *a, const struct sr_entity *b)
{
    if (a->confidence != b->confidence)
        return a->confidence > b->confidence;
    return a->end - a->start > b->end - b->start;
}

void sr_entities_resolve(struct sr_entities *list)
{
    size_t kept = 0;
    if (list->n)
        qsort(list->items, list->n, sizeof *list->items, by_place);
    for (size_t i = 0; i < list->n; i++) {
        struct sr_entity entity = list->items[i];
        /* What is kept does not overlap, so only the last ones can meet this one. */
        size_t beaten = kept;
        bool wins = true;
        while (beaten > 0 && list->items[beaten - 1].end > entity.start) {
            wins &= is_better(&entity, &list->items[beaten - 1]);
            beaten--;
        }
        if (!wins)
            continue;
        kept = beaten;
        list->items[kept++] = entity;
    }
    list->n = kept;
}

/* Does a word of the list stand at `i`, whole and not beyond `end`? */
static bool is_word_at(const struct sr_entity_scan *scan, size_t i, size_t end, const char *words)
{
    char first = sr_ascii_lower(scan->text.p[i]);
    for (const char *word = words; *word;) {
        size_t n = strcspn(word, "|"), k = 1;
        if (*word == first && i + n <= end) {
            while (k < n && sr_ascii_lower(scan->text.p[i + k]) == word[k])
                k++;
            if (k == n && !sr_entity_is_word(sr_entity_at(scan, i + n)))
                return true;
        }
        word += n + (word[n] == '|');
    }
    return false;
}

bool sr_entity_word_before(const struct sr_entity_scan *scan, size_t at, size_t reach, const char *words)
{
    for (size_t i = at > reach ? at - reach : 0; i < at; i++) {
        bool begins = i == 0 || !sr_entity_is_word((unsigned char)scan->text.p[i - 1]);
        if (begins && is_word_at(scan, i, at, words))
            return true;
    }
    return false;
}

static size_t first_of(size_t a, size_t b)
{
    return a ? a : b;
}

/* What begins at a place where a word may begin; the end of what was found, or 0. */
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
