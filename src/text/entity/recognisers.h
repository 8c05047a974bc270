/* The recognisers that recognise.c runs over a text: card.c, net.c, number.c and time.c hold them. Private to
 * text/entity. */
#ifndef SR_TEXT_ENTITY_RECOGNISERS_H
#define SR_TEXT_ENTITY_RECOGNISERS_H

#include "text/entity/row.h"

/* Each is called at the first byte of a possible entity, and returns the end of the entity, or 0. */
size_t sr_entity_email(struct sr_entity_scan *scan, size_t sign); /* at an @ */
size_t sr_entity_address(struct sr_entity_scan *scan, size_t at); /* IPv4, IPv6 */
size_t sr_entity_domain(struct sr_entity_scan *scan, size_t at);  /* at a letter or digit of a label */
size_t sr_entity_number(struct sr_entity_scan *scan, size_t at);  /* at a digit, + or ( */
size_t sr_entity_code(struct sr_entity_scan *scan, size_t at);    /* IBAN, driver licences: at a letter */
size_t sr_entity_date(struct sr_entity_scan *scan, size_t at);    /* at a digit or a letter */
size_t sr_entity_title(struct sr_entity_scan *scan, size_t at);   /* at an upper-case letter */

/* Adds the cards of a row, in its order. */
void sr_entity_cards(struct sr_entity_scan *scan, const struct sr_row *row);

#endif
