/* Formatting into a bounded buffer. */
#include "cli/classify/report.h"

#include "cli/measure.h"

#include <stdarg.h>
#include <stdio.h>

#define TEXT_MAX  ((size_t)64 << 20)
#define PIECE_MAX 1024 /* bytes of one call of sr_report_put */

void sr_report_init(struct sr_report *report)
{
    *report = (struct sr_report){.rc = SR_OK};
    sr_buf_init(&report->text, TEXT_MAX);
}

void sr_report_dispose(struct sr_report *report)
{
    sr_buf_dispose(&report->text);
}

void sr_report_put(struct sr_report *report, const char *fmt, ...)
{
    char piece[PIECE_MAX];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(piece, sizeof piece, fmt, args);
    va_end(args);
    if (report->rc == SR_OK)
        report->rc =
            n < 0 || (size_t)n >= sizeof piece ? SR_ELIMIT : sr_buf_append(&report->text, piece, (size_t)n);
}

void sr_report_string(struct sr_report *report, struct sr_bytes s)
{
    sr_report_put(report, "\"");
    if (report->rc == SR_OK)
        report->rc = sr_buf_append_json(&report->text, s);
    sr_report_put(report, "\"");
}

void sr_report_rate(struct sr_report *report, const char *name, size_t hits, size_t of)
{
    struct sr_interval in = sr_interval_of(hits, of);
    if (of)
        sr_report_put(report, ",\"%s\":%.6f,\"%s_interval\":[%.4f,%.4f],\"%s_of\":%zu", name,
                      (double)hits / (double)of, name, in.low, in.high, name, of);
}

void sr_report_percent(struct sr_report *report, size_t hits, size_t of)
{
    struct sr_interval in = sr_interval_of(hits, of);
    if (of)
        sr_report_put(report, "%6.2f %% (%4.1f-%5.1f)", 100 * (double)hits / (double)of, 100 * in.low,
                      100 * in.high);
    else
        sr_report_put(report, "%21s", "-");
}
