/* Formatting into a bounded buffer. */
#include "cli/classify/report.h"

#include "cli/measure.h"

#include <stdarg.h>
#include <stdio.h>

#define TEXT_MAX  ((size_t)64 << 20)
#define PIECE_MAX 1024 /* bytes of one call of sr_report_put */

void sr_report_init(struct sr_report *report)
{
    sr_buf_init(&report->text, TEXT_MAX);
    report->json = sr_json_writer_of(&report->text);
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
    if (report->json.rc == SR_OK)
        report->json.rc =
            n < 0 || (size_t)n >= sizeof piece ? SR_ELIMIT : sr_buf_append(&report->text, piece, (size_t)n);
}

void sr_report_interval(struct sr_report *report, const char *key, size_t hits, size_t of)
{
    struct sr_interval in = sr_interval_of(hits, of);
    sr_json_array(&report->json, key);
    sr_json_real(&report->json, NULL, "%.4f", in.low);
    sr_json_real(&report->json, NULL, "%.4f", in.high);
    sr_json_array_end(&report->json);
}

void sr_report_rate(struct sr_report *report, const char *name, size_t hits, size_t of)
{
    char key[64];
    if (!of)
        return;
    sr_json_real(&report->json, name, "%.6f", (double)hits / (double)of);
    snprintf(key, sizeof key, "%s_interval", name);
    sr_report_interval(report, key, hits, of);
    snprintf(key, sizeof key, "%s_of", name);
    sr_json_uint(&report->json, key, of);
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
