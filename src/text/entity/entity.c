/* The list of entities: its order, and which of two that overlap stays. Recognises nothing. */
#include "text/entity/entity.h"

#include "base/grow.h"
#include "base/mem.h"

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

int sr_entity_of_label(struct sr_bytes label)
{
    static const struct {
        const char *label;
        enum sr_entity_type type;
    } others[] = {
        {"PER", SR_ENTITY_PERSON},          {"ORG", SR_ENTITY_ORGANIZATION}, {"LOC", SR_ENTITY_GPE},
        {"LOCATION", SR_ENTITY_GPE},        {"DATE", SR_ENTITY_DATE_TIME},   {"TIME", SR_ENTITY_DATE_TIME},
        {"EMAIL", SR_ENTITY_EMAIL_ADDRESS}, {"NORP", SR_ENTITY_NRP}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (sr_bytes_eq_nocase(label, sr_bytes_str(others[i].label)))
            return (int)others[i].type;
    return sr_entity_find_type(label);
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
    list->items[list->n++] = (struct sr_entity){start, end, confidence, (uint32_t)type, false};
    return SR_OK;
}

static int by_position(const void *a, const void *b)
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
    if (a->disguised != b->disguised)
        return a->disguised;
    if (a->confidence != b->confidence)
        return a->confidence > b->confidence;
    return a->end - a->start > b->end - b->start;
}

/* True when both say what one disguised span says. Equal types become one. */
static bool joins(struct sr_entities *list, size_t kept, const struct sr_entity *entity, bool *known)
{
    const struct sr_entity *last = kept ? &list->items[kept - 1] : NULL;
    *known = false;
    if (!last || !last->disguised || !entity->disguised || last->start != entity->start ||
        last->end != entity->end)
        return false;
    for (size_t i = kept; i > 0 && list->items[i - 1].start == entity->start; i--) {
        struct sr_entity *same = &list->items[i - 1];
        if (same->type != entity->type)
            continue;
        same->confidence = entity->confidence > same->confidence ? entity->confidence : same->confidence;
        *known = true;
    }
    return true;
}

void sr_entities_resolve(struct sr_entities *list)
{
    size_t kept = 0;
    if (list->n)
        qsort(list->items, list->n, sizeof *list->items, by_position);
    for (size_t i = 0; i < list->n; i++) {
        struct sr_entity entity = list->items[i];
        /* What is kept does not overlap, so only the last ones can meet this one. */
        size_t beaten = kept;
        bool wins = true, known;
        if (joins(list, kept, &entity, &known)) {
            list->items[kept] = entity;
            kept += !known;
            continue;
        }
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
