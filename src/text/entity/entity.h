/*
 * Private data in texts: its types, lists of entities, and exact recognisers for data with a known structure
 * (checksums, ranges, registries, fixed forms).
 *
 * Offsets are bytes of the text that was given. Names of people, places and organisations have no structure:
 * they come from a model and are added to the same list. This layer is independent of rules, thresholds and
 * policies.
 */
#ifndef SR_TEXT_ENTITY_ENTITY_H
#define SR_TEXT_ENTITY_ENTITY_H

#include "base/bytes.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum sr_entity_type {
    SR_ENTITY_AGE,
    SR_ENTITY_CREDIT_CARD,
    SR_ENTITY_DATE_TIME,
    SR_ENTITY_DOMAIN_NAME,
    SR_ENTITY_EMAIL_ADDRESS,
    SR_ENTITY_GPE,
    SR_ENTITY_IBAN_CODE,
    SR_ENTITY_IP_ADDRESS,
    SR_ENTITY_NRP,
    SR_ENTITY_ORGANIZATION,
    SR_ENTITY_PERSON,
    SR_ENTITY_PHONE_NUMBER,
    SR_ENTITY_STREET_ADDRESS,
    SR_ENTITY_TITLE,
    SR_ENTITY_US_DRIVER_LICENSE,
    SR_ENTITY_US_SSN,
    SR_ENTITY_ZIP_CODE,
    SR_ENTITY_TYPES,
};

/* "AGE", "CREDIT_CARD", ...: as configurations and answers write them. */
extern const char *const sr_entity_names[SR_ENTITY_TYPES];

/* The type of a name, case aside; -1 for none. */
int sr_entity_find_type(struct sr_bytes name);
/* The same for a label of a model, which may be one of the field's: PER, ORG, LOC, DATE, ... */
int sr_entity_of_label(struct sr_bytes label);

struct sr_entity {
    size_t start, end; /* bytes, start < end */
    float confidence;  /* 0..1 */
    uint32_t type;     /* enum sr_entity_type */
    bool disguised;    /* [start, end) says it in another form, and perhaps more than this */
};

/* A growing list with a maximum. */
struct sr_entities {
    struct sr_entity *items;
    size_t n, cap, max;
};

/* Allocates nothing. */
void sr_entities_init(struct sr_entities *list, size_t max);
void sr_entities_dispose(struct sr_entities *list);

/* SR_ELIMIT at the maximum, SR_ENOMEM. */
int sr_entities_add(struct sr_entities *list, enum sr_entity_type type, size_t start, size_t end,
                    float confidence) SR_WARN_UNUSED;

/* Sorts by offset; of overlapping entities it keeps the one with the highest confidence, of equal ones the
 * longest. Disguised ones, which overlap each other only where their spans are the same, go before others and
 * stay, one of each type. */
void sr_entities_resolve(struct sr_entities *list);

/* True when this can be a value of the type by its form. For findings of a model: a plain word cannot be a
 * phone number. */
bool sr_entity_plausible(enum sr_entity_type type, struct sr_bytes value);

/* True when [start, end) of a text stands beside a sign of arithmetic or a price: such a number is no age.
 * What an `=` assigns is none ("age=34"). */
bool sr_entity_is_operand(struct sr_bytes text, size_t start, size_t end);

/* Appends the findings of the exact recognisers in `text` and resolves the list. Any bytes are a text; time
 * is linear in its size. SR_ELIMIT: the list is full and holds the first ones. SR_ECANCELED: of
 * sr_job_pause. Any thread. */
int sr_entities_recognise(struct sr_entities *list, struct sr_bytes text) SR_WARN_UNUSED;

/* True when a number may begin with the last bytes of a text, or go on with the first ones. */
bool sr_entities_end_in_number(struct sr_bytes text);
bool sr_entities_begin_with_number(struct sr_bytes text);

#endif
