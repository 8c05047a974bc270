/* A number of a JSON text. For the files of this layer. */
#ifndef SR_SELECT_MODEL_NUMBER_H
#define SR_SELECT_MODEL_NUMBER_H

#include "base/json_read.h"

/* False when it is no number, or none that is finite. */
bool sr_number_read(sr_json_view v, double *out);

#endif
