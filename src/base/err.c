/* Result codes as text, and filling the error record. Owns no state. */
#include "base/err.h"

#include "base/cut.h"

#include <stdarg.h>
#include <stdio.h>

const char *sr_strerror(int code)
{
    switch (code) {
    case SR_OK:
        return "ok";
#define SR_ERR_CASE(name, value, text)                                                                       \
    case SR_##name:                                                                                          \
        return text;
        SR_ERR_LIST(SR_ERR_CASE)
#undef SR_ERR_CASE
    default:
        return "unknown error";
    }
}

static int err_fill(struct sr_err *err, int code, size_t offset, const char *fmt, va_list args)
    __attribute__((format(printf, 4, 0)));

static int err_fill(struct sr_err *err, int code, size_t offset, const char *fmt, va_list args)
{
    if (err) {
        err->code = code;
        err->offset = offset;
        int n = vsnprintf(err->message, sizeof err->message, fmt, args);
        sr_cut_message(err->message, sizeof err->message, n);
    }
    return code;
}

int sr_err_set(struct sr_err *err, int code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    err_fill(err, code, 0, fmt, args);
    va_end(args);
    return code;
}

int sr_err_set_at(struct sr_err *err, int code, size_t offset, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    err_fill(err, code, offset, fmt, args);
    va_end(args);
    return code;
}
