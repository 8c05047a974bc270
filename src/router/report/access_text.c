/* Columns: time, outcome, status, door, decision and model, times, tokens, cost, error. */
#include "router/report/access_text.h"

#include "base/clock.h"

#include <time.h>

#define DIM   "\033[2m"
#define RESET "\033[0m"

static const char *colour_of(const char *outcome)
{
    static const struct {
        const char *outcome, *colour;
    } colours[] = {{"routed", "\033[32m"},   {"default", "\033[32m"},  {"passed", "\033[32m"},
                   {"cached", "\033[36m"},   {"fast", "\033[36m"},     {"local", DIM},
                   {"degraded", "\033[33m"}, {"canceled", "\033[33m"}, {"shed", "\033[33m"},
                   {"refused", "\033[33m"},  {"blocked", "\033[31m"},  {"failed", "\033[1;31m"}};
    for (size_t i = 0; i < sizeof colours / sizeof colours[0]; i++)
        if (strcmp(colours[i].outcome, outcome) == 0)
            return colours[i].colour;
    return "";
}

/* Appends a text; a control character becomes '?', so that no name moves the cursor. */
static int put(struct sr_buf *out, const char *before, struct sr_bytes text)
{
    int rc = text.n ? sr_buf_printf(out, "%s", before) : SR_OK;
    for (size_t i = 0; i < text.n && !rc; i++) {
        unsigned char c = (unsigned char)text.p[i];
        bool c1 = c == 0xc2 && i + 1 < text.n && (unsigned char)text.p[i + 1] < 0xa0;
        rc = sr_buf_append(out, c < ' ' || c == 0x7f || c1 ? "?" : text.p + i, 1);
        i += c1;
    }
    return rc;
}

/* "12:34:56.789  routed   200 gateway" */
static int put_head(struct sr_buf *out, const char *outcome, int status, enum sr_door door, bool coloured)
{
    uint64_t now = sr_clock_wall_ns();
    time_t second = (time_t)(now / SR_NS_PER_S);
    struct tm tm;
    char text[16];
    gmtime_r(&second, &tm);
    strftime(text, sizeof text, "%H:%M:%S", &tm);
    return sr_buf_printf(out, "%s.%03u  %s%-8s%s %3d %s", text, (unsigned)(now % SR_NS_PER_S / SR_NS_PER_MS),
                         coloured ? colour_of(outcome) : "", outcome, coloured ? RESET : "", status,
                         sr_door_name(door));
}

static int put_ms(struct sr_buf *out, const char *format, uint64_t from, uint64_t to)
{
    return from && to >= from ? sr_buf_printf(out, format, (double)(to - from) / (double)SR_NS_PER_MS)
                              : SR_OK;
}

static int put_usage(struct sr_buf *out, const struct sr_record *r, const struct sr_config *config)
{
    double cost = sr_record_cost(r, config);
    if (!r->usage.seen)
        return SR_OK;
    int rc = sr_buf_printf(out, "  %llu+%llu tokens", (unsigned long long)r->usage.prompt,
                           (unsigned long long)r->usage.completion);
    return !rc && cost > 0 ? sr_buf_printf(out, "  %.6g %s", cost, config->models[r->model].pricing.currency)
                           : rc;
}

int sr_access_text_line(const struct sr_record *r, const struct sr_config *config, bool coloured,
                        struct sr_buf *out)
{
    const struct sr_times *t = &r->times;
    bool replied = r->has_verdict && r->action == SR_ACTION_REPLY;
    int rc = put_head(out, sr_record_outcome(r), replied ? r->status : r->answer_status, r->door, coloured);
    if (!rc)
        rc = put(out, "  ", sr_bytes_str(r->decision_name));
    if (!rc)
        rc = put(out, r->decision_name[0] ? " -> " : "  -> ", sr_bytes_str(r->model_name));
    if (!rc)
        rc = put_ms(out, "  %.1f ms", t->started, t->ended);
    if (!rc && r->answer_status)
        rc = put_ms(out, " (first %.1f)", t->started, t->first_token ? t->first_token : t->answer_head);
    if (!rc)
        rc = put_usage(out, r, config);
    if (!rc && coloured)
        rc = sr_buf_printf(out, DIM);
    if (!rc)
        rc = put(out, "  ", sr_bytes_str(r->error_code));
    if (!rc)
        rc = put(out, "  ", r->id);
    return !rc && coloured ? sr_buf_printf(out, RESET) : rc;
}

int sr_access_text_refused(enum sr_door door, struct sr_bytes peer, int status, const char *reason,
                           bool coloured, struct sr_buf *out)
{
    int rc = put_head(out, status == 503 ? "shed" : "refused", status, door, coloured);
    if (!rc)
        rc = put(out, "  ", sr_bytes_str(reason));
    return rc ? rc : put(out, "  ", peer);
}
