/* The shape of the configuration file for editors and other checkers. */
#ifndef SR_CONFIG_JSON_SCHEMA_H
#define SR_CONFIG_JSON_SCHEMA_H

#include "base/buf.h"

/* The JSON Schema (draft 2020-12) of the whole file, from the declarations that the loader itself uses. */
int sr_config_json_schema(struct sr_buf *out) SR_WARN_UNUSED;

#endif
