/* The list grows to its maximum; problems beyond it are counted. */
#include "config/problems.h"

#include "base/cut.h"
#include "base/grow.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sr_problems_dispose(struct sr_problems *problems)
{
    sr_mem_free(problems->items);
    *problems = (struct sr_problems){0};
}

static struct sr_problem *problems_push(struct sr_problems *problems)
{
    if (problems->count == SR_PROBLEMS_MAX) {
        problems->dropped++;
        return NULL;
    }
    if (sr_grow(&problems->items, &problems->capacity, problems->count + 1, sizeof *problems->items,
                SR_PROBLEMS_MAX)) {
        problems->out_of_memory = true;
        problems->dropped++;
        return NULL;
    }
    return &problems->items[problems->count++];
}

/* Recipes share rules of the file: what is wrong with one is said once. */
static bool is_said(const struct sr_problems *problems, const struct sr_problem *problem)
{
    for (size_t i = 0; problem->line && i < problems->count; i++) {
        const struct sr_problem *other = &problems->items[i];
        if (other->line == problem->line && other->column == problem->column &&
            other->severity == problem->severity && strcmp(other->message, problem->message) == 0)
            return true;
    }
    return false;
}

void sr_problems_add(struct sr_problems *problems, enum sr_severity severity, uint32_t line, uint32_t column,
                     const char *fmt, ...)
{
    struct sr_problem made = {.severity = severity, .line = line, .column = column};
    char message[SR_ERR_MESSAGE_MAX];
    va_list args;
    va_start(args, fmt);
    sr_cut_message(message, sizeof message, vsnprintf(message, sizeof message, fmt, args));
    va_end(args);
    sr_utf8_clean(sr_bytes_str(message), made.message); /* a cut may have left half a character */
    for (char *p = made.message; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7F)
            *p = ' ';
    if (is_said(problems, &made))
        return;
    if (severity == SR_PROBLEM_ERROR)
        problems->errors++;
    struct sr_problem *problem = problems_push(problems);
    if (problem)
        *problem = made;
}

static bool problem_before(const struct sr_problem *a, const struct sr_problem *b)
{
    return a->line != b->line ? a->line < b->line : a->column < b->column;
}

void sr_problems_sort(struct sr_problems *problems)
{
    for (size_t i = 1; i < problems->count; i++) {
        struct sr_problem moving = problems->items[i];
        size_t j = i;
        for (; j > 0 && problem_before(&moving, &problems->items[j - 1]); j--)
            problems->items[j] = problems->items[j - 1];
        problems->items[j] = moving;
    }
}

int sr_problem_format(struct sr_buf *out, const char *path, const struct sr_problem *problem)
{
    const char *severity = problem->severity == SR_PROBLEM_ERROR ? "error" : "warning";
    if (problem->line == 0)
        return sr_buf_printf(out, "%s: %s: %s", path, severity, problem->message);
    return sr_buf_printf(out, "%s:%u:%u: %s: %s", path, problem->line, problem->column, severity,
                         problem->message);
}
