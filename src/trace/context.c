/* Reads and writes the two headers. */
#include "trace/context.h"

#include "base/hex.h"

#define MEMBERS_MAX 32

/* version "-" trace-id "-" parent-id "-" trace-flags */
#define TRACE_AT 3
#define SPAN_AT  36
#define FLAGS_AT 53
#define LENGTH   55

static bool is_zero(const uint8_t *p, size_t n)
{
    uint8_t all = 0;
    for (size_t i = 0; i < n; i++)
        all |= p[i];
    return all == 0;
}

static bool read(struct sr_trace_context *out, const char *p, size_t n)
{
    uint8_t version;
    if (n < LENGTH || !sr_hex_read(p, 1, &version) || version == 0xff)
        return false;
    if (n > LENGTH && (version == 0 || p[LENGTH] != '-'))
        return false;
    return p[TRACE_AT - 1] == '-' && p[SPAN_AT - 1] == '-' && p[FLAGS_AT - 1] == '-' &&
           sr_hex_read(p + TRACE_AT, SR_TRACE_ID_SIZE, out->trace) &&
           sr_hex_read(p + SPAN_AT, SR_SPAN_ID_SIZE, out->span) &&
           sr_hex_read(p + FLAGS_AT, 1, &out->flags) && !is_zero(out->trace, SR_TRACE_ID_SIZE) &&
           !is_zero(out->span, SR_SPAN_ID_SIZE);
}

int sr_trace_parent_read(struct sr_trace_context *out, struct sr_bytes value)
{
    *out = (struct sr_trace_context){0};
    if (read(out, value.p, value.n))
        return SR_OK;
    *out = (struct sr_trace_context){0};
    return SR_EPARSE;
}

void sr_trace_parent_write(const struct sr_trace_context *context, char out[SR_TRACE_PARENT_SIZE])
{
    uint8_t flags = context->flags & SR_TRACE_SAMPLED;
    memcpy(out, "00-", 3);
    sr_hex_write(context->trace, SR_TRACE_ID_SIZE, out + TRACE_AT);
    out[SPAN_AT - 1] = '-';
    sr_hex_write(context->span, SR_SPAN_ID_SIZE, out + SPAN_AT);
    out[FLAGS_AT - 1] = '-';
    sr_hex_write(&flags, 1, out + FLAGS_AT);
}

/* `key=value`, neither empty. */
static bool is_member(struct sr_bytes member)
{
    const char *equals = member.n ? memchr(member.p, '=', member.n) : NULL;
    return equals && equals > member.p && equals < member.p + member.n - 1;
}

bool sr_trace_state_is_usable(struct sr_bytes value)
{
    size_t members = 0;
    if (value.n == 0 || value.n > SR_TRACE_STATE_MAX)
        return false;
    for (size_t i = 0; i < value.n; i++)
        if ((value.p[i] < ' ' || value.p[i] > '~') && value.p[i] != '\t')
            return false;
    for (size_t at = 0; at <= value.n;) {
        const char *comma = at < value.n ? memchr(value.p + at, ',', value.n - at) : NULL;
        size_t end = comma ? (size_t)(comma - value.p) : value.n;
        struct sr_bytes member = sr_bytes_trim(sr_bytes_of(value.p + at, end - at));
        if (member.n && (!is_member(member) || ++members > MEMBERS_MAX))
            return false;
        at = end + 1;
    }
    return members > 0;
}
