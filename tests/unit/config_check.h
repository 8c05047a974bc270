/* Loads text in tests, and finds a problem at its exact position. */
#ifndef TESTS_UNIT_CONFIG_CHECK_H
#define TESTS_UNIT_CONFIG_CHECK_H

#include "config/load.h"

#include "tests/unit/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>

#define CONFIG_MODELS                                                                                        \
    "version: v0.3\n"                                                                                        \
    "providers:\n"                                                                                           \
    "  defaults: {default_model: one}\n"                                                                     \
    "  models: [{name: one, backend_refs: [{endpoint: 'a:1'}]}, {name: two}]\n"

static inline void config_print(const struct sr_problems *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        fprintf(stderr, "  %u:%u: %s\n", problems->items[i].line, problems->items[i].column,
                problems->items[i].message);
}

/* The snapshot of a text that must load without a warning. */
static inline const struct sr_config *config_good(const char *text)
{
    const struct sr_config *config;
    struct sr_problems problems = {0};
    int rc =
        sr_config_load_text(&config, sr_bytes_str(text), "test.yaml", (struct sr_load_options){0}, &problems);
    if (rc || problems.count)
        config_print(&problems);
    assert_int_equal(rc, SR_OK);
    assert_int_equal(problems.count, 0);
    sr_problems_dispose(&problems);
    return config;
}

/* Loads a text that must have a problem at this place, whose message contains `message`. */
static inline void config_problem(const char *text, bool lenient, enum sr_severity severity, uint32_t line,
                                  uint32_t column, const char *message)
{
    const struct sr_config *config;
    struct sr_problems problems = {0};
    bool found = false;
    int rc = sr_config_load_text(&config, sr_bytes_str(text), "test.yaml",
                                 (struct sr_load_options){.lenient = lenient}, &problems);
    for (size_t i = 0; i < problems.count; i++) {
        const struct sr_problem *p = &problems.items[i];
        found = found || (p->severity == severity && p->line == line && p->column == column &&
                          strstr(p->message, message));
    }
    if (!found) {
        fprintf(stderr, "not found at %u:%u: %s; found:\n", line, column, message);
        config_print(&problems);
    }
    assert_true(found);
    assert_true((rc == SR_OK) == (problems.errors == 0));
    assert_true((rc == SR_OK) == (config != NULL));
    sr_config_unref(config);
    sr_problems_dispose(&problems);
}

static inline void config_error(const char *text, uint32_t line, uint32_t column, const char *message)
{
    config_problem(text, false, SR_PROBLEM_ERROR, line, column, message);
}

/* A whole file below the root of the repository. */
static inline char *config_file(const char *path)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", SR_SOURCE_DIR, path);
    FILE *f = fopen(full, "rb");
    assert_non_null(f);
    char *text = calloc(1, (size_t)1 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, ((size_t)1 << 20) - 1, f) > 0);
    fclose(f);
    return text;
}

#endif
