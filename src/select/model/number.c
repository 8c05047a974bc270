/* Reads a number of a span, which has no NUL behind it. */
#include "select/model/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 63

bool sr_number_read(sr_json_view v, double *out)
{
    char text[DIGITS_MAX + 1];
    if (!v.p || v.n == 0 || v.n > DIGITS_MAX || (v.p[0] != '-' && (v.p[0] < '0' || v.p[0] > '9')))
        return false;
    memcpy(text, v.p, v.n);
    text[v.n] = '\0';
    *out = strtod(text, NULL);
    return isfinite(*out);
}
