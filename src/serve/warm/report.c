/* Problems grow one by one up to their limit; what finds no memory is only counted. */
#include "serve/warm/report.h"

#include "base/json_write.h"
#include "base/mem.h"

#include <stdio.h>

void sr_warm_report_dispose(struct sr_warm_report *report)
{
    sr_mem_free(report->problems);
    *report = (struct sr_warm_report){0};
}

void sr_warm_report_note(struct sr_warm_report *report, uint64_t line, const char *code, const char *message)
{
    if (report->n_problems == SR_WARM_PROBLEMS_MAX)
        return;
    if (!report->problems)
        report->problems = sr_mem_calloc(SR_WARM_PROBLEMS_MAX, sizeof *report->problems);
    if (!report->problems)
        return;
    struct sr_warm_problem *problem = &report->problems[report->n_problems++];
    problem->line = line;
    snprintf(problem->code, sizeof problem->code, "%s", code);
    snprintf(problem->message, sizeof problem->message, "%s", message);
}

int sr_warm_report_write(const struct sr_warm_report *report, uint64_t total, uint64_t evicted,
                         struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_uint(&w, "lines", report->lines);
    sr_json_uint(&w, "taken", report->taken);
    sr_json_uint(&w, "skipped", report->skipped);
    sr_json_uint(&w, "invalid", report->invalid);
    sr_json_uint(&w, "entries", report->entries);
    sr_json_uint(&w, "exact_only", report->exact_only);
    sr_json_uint(&w, "total_entries", total);
    sr_json_uint(&w, "evicted", evicted);
    sr_json_array(&w, "problems");
    for (size_t i = 0; i < report->n_problems; i++) {
        sr_json_object(&w, NULL);
        sr_json_uint(&w, "line", report->problems[i].line);
        sr_json_text(&w, "code", report->problems[i].code);
        sr_json_text(&w, "message", report->problems[i].message);
        sr_json_object_end(&w);
    }
    sr_json_array_end(&w);
    sr_json_object_end(&w);
    return w.rc;
}
