/* Fills the refusals that several stages share. */
#include "router/refusal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void sr_refuse(struct sr_refusal *out, int status, const char *code, const char *param, const char *fmt, ...)
{
    va_list args;
    *out = (struct sr_refusal){.status = status, .code = code, .param = param};
    va_start(args, fmt);
    vsnprintf(out->message, sizeof out->message, fmt, args);
    va_end(args);
}

void sr_refuse_memory(struct sr_refusal *out)
{
    sr_refuse(out, 503, "out_of_memory", NULL, "the request needs more memory than one request may use");
}

void sr_refuse_busy(struct sr_refusal *out)
{
    sr_refuse(out, 503, SR_CODE_OVERLOADED, NULL, "the router has no time for this request now");
    out->reason = "overloaded";
}

void sr_refuse_room(struct sr_refusal *out)
{
    sr_refuse(out, 503, SR_CODE_OVERLOADED, NULL, "the requests in progress leave no room for this one now");
    out->reason = "overloaded";
}

void sr_refuse_size(struct sr_refusal *out, uint64_t limit)
{
    sr_refuse(out, 413, SR_CODE_TOO_LARGE, NULL, "the request body is larger than %" PRIu64 " bytes", limit);
}
