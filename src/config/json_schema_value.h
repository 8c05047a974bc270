/* What a key's value may be, as JSON Schema; the part of json_schema.c that knows the types of fields. */
#ifndef SR_CONFIG_JSON_SCHEMA_VALUE_H
#define SR_CONFIG_JSON_SCHEMA_VALUE_H

#include "base/json_write.h"
#include "config/bind/schema.h"

/* A section's name as a key of $defs: "gateway tls" is "gateway-tls". Returns `out`. */
const char *sr_json_schema_definition(const struct sr_section *section, char out[64]);

/* The members that describe the value of `field`, to the object that is open. `own`: the loader is strict
 * with the field's section. */
void sr_json_schema_value(struct sr_json_writer *w, const struct sr_field *field, bool own);

/* What any mapping may hold besides its keys: merged mappings, and where `described` a description. */
void sr_json_schema_notes(struct sr_json_writer *w, bool described);

/* The definitions that values refer to, to the object $defs that is open. */
void sr_json_schema_common(struct sr_json_writer *w);

#endif
