/* A growing array of lines, printed once all are there. */
#include "cli/doctor/diagnosis.h"

#include "base/grow.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "cli/term.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static const char *const states[] = {"ok", "warning", "error"};

void sr_diagnosis_dispose(struct sr_diagnosis *diagnosis)
{
    sr_mem_free(diagnosis->lines);
    *diagnosis = (struct sr_diagnosis){0};
}

void sr_diagnosis_add(struct sr_diagnosis *diagnosis, enum sr_condition condition, const char *area,
                      const char *advice, const char *fmt, ...)
{
    diagnosis->of[condition]++;
    if (diagnosis->n == SR_DIAGNOSIS_MAX || sr_grow(&diagnosis->lines, &diagnosis->max, diagnosis->n + 1,
                                                    sizeof *diagnosis->lines, SR_DIAGNOSIS_MAX) != SR_OK) {
        diagnosis->lost++;
        return;
    }
    struct sr_finding_line *line = &diagnosis->lines[diagnosis->n++];
    *line = (struct sr_finding_line){.condition = condition, .area = area, .advice = advice};
    va_list args;
    va_start(args, fmt);
    vsnprintf(line->text, sizeof line->text, fmt, args);
    va_end(args);
}

void sr_diagnosis_print(const struct sr_diagnosis *diagnosis)
{
    static const char *const colours[] = {"\033[32m", "\033[33m", "\033[31m"};
    bool colour = sr_term_colour(STDOUT_FILENO);
    for (size_t i = 0; i < diagnosis->n; i++) {
        const struct sr_finding_line *line = &diagnosis->lines[i];
        printf("%s%-7s%s  %-12s  %s\n", colour ? colours[line->condition] : "", states[line->condition],
               colour ? "\033[0m" : "", line->area, line->text);
        if (line->advice && line->condition != SR_CONDITION_GOOD)
            printf("%-7s  %-12s  -> %s\n", "", "", line->advice);
    }
    if (diagnosis->lost)
        printf("%zu more findings\n", diagnosis->lost);
    size_t warnings = diagnosis->of[SR_CONDITION_WARNING], errors = diagnosis->of[SR_CONDITION_BAD];
    printf("%zu good, %zu warning%s, %zu error%s\n", diagnosis->of[SR_CONDITION_GOOD], warnings,
           warnings == 1 ? "" : "s", errors, errors == 1 ? "" : "s");
}

int sr_diagnosis_json(const struct sr_diagnosis *diagnosis, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_bool(&w, "good", diagnosis->of[SR_CONDITION_BAD] == 0);
    sr_json_uint(&w, "warnings", diagnosis->of[SR_CONDITION_WARNING]);
    sr_json_uint(&w, "errors", diagnosis->of[SR_CONDITION_BAD]);
    sr_json_array(&w, "findings");
    for (size_t i = 0; i < diagnosis->n; i++) {
        const struct sr_finding_line *line = &diagnosis->lines[i];
        sr_json_object(&w, NULL);
        sr_json_text(&w, "state", states[line->condition]);
        sr_json_text(&w, "area", line->area);
        sr_json_text(&w, "text", line->text);
        sr_json_text(&w, "advice", line->condition == SR_CONDITION_GOOD ? NULL : line->advice);
        sr_json_object_end(&w);
    }
    sr_json_array_end(&w);
    sr_json_object_end(&w);
    return w.rc;
}
