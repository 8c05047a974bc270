/* Reads and writes the two headers. */
#include "trace/context.h"

#define MEMBERS_MAX 32

/* version "-" trace-id "-" parent-id "-" trace-flags */
#define TRACE_AT 3
#define SPAN_AT  36
#define FLAGS_AT 53
#define LENGTH   55

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* False: these are no `n` bytes in lower-case hex. */
static bool read_hex(const char *p, size_t n, uint8_t *out)
{
    for (size_t i = 0; i < n; i++) {
        int high = digit(p[2 * i]), low = digit(p[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

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
    if (n < LENGTH || !read_hex(p, 1, &version) || version == 0xff)
        return false;
    if (n > LENGTH && (version == 0 || p[LENGTH] != '-'))
        return false;
    return p[TRACE_AT - 1] == '-' && p[SPAN_AT - 1] == '-' && p[FLAGS_AT - 1] == '-' &&
           read_hex(p + TRACE_AT, SR_TRACE_ID_SIZE, out->trace) &&
           read_hex(p + SPAN_AT, SR_SPAN_ID_SIZE, out->span) && read_hex(p + FLAGS_AT, 1, &out->flags) &&
           !is_zero(out->trace, SR_TRACE_ID_SIZE) && !is_zero(out->span, SR_SPAN_ID_SIZE);
}

int sr_trace_parent_read(struct sr_trace_context *out, struct sr_bytes value)
{
    *out = (struct sr_trace_context){0};
    if (read(out, value.p, value.n))
        return SR_OK;
    *out = (struct sr_trace_context){0};
    return SR_EPARSE;
}

void sr_trace_hex(const uint8_t *p, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[p[i] >> 4];
        out[2 * i + 1] = digits[p[i] & 15];
    }
    out[2 * n] = '\0';
}

void sr_trace_parent_write(const struct sr_trace_context *context, char out[SR_TRACE_PARENT_SIZE])
{
    uint8_t flags = context->flags & SR_TRACE_SAMPLED;
    memcpy(out, "00-", 3);
    sr_trace_hex(context->trace, SR_TRACE_ID_SIZE, out + TRACE_AT);
    out[SPAN_AT - 1] = '-';
    sr_trace_hex(context->span, SR_SPAN_ID_SIZE, out + SPAN_AT);
    out[FLAGS_AT - 1] = '-';
    sr_trace_hex(&flags, 1, out + FLAGS_AT);
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
