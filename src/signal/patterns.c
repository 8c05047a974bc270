/* Compiles each expression and forgets it. */
#include "signal/patterns.h"

#include "signal/keyword/regex.h"

static bool compiles(const char *pattern, bool case_sensitive, struct sr_err *why)
{
    struct sr_regex *regex = NULL;
    int rc = sr_regex_new(&regex, sr_bytes_str(pattern), case_sensitive, why);
    sr_regex_free(regex);
    return rc == SR_OK;
}

static void try_keyword(const struct sr_config_keyword *rule, struct sr_problems *problems)
{
    for (size_t k = 0; rule->method == SR_KEYWORD_REGEX && k < rule->keywords.count; k++) {
        struct sr_config_position at = rule->places ? rule->places[k] : (struct sr_config_position){0};
        struct sr_err why = {0};
        if (!compiles(rule->keywords.items[k], rule->case_sensitive, &why))
            sr_problems_add(problems, SR_PROBLEM_ERROR, at.line, at.column,
                            "keyword rule `%s`, keyword %zu: %s", rule->name, k + 1, why.message);
    }
}

static void try_structure(const struct sr_config_structure *rule, struct sr_problems *problems)
{
    struct sr_err why = {0};
    if (rule->source == SR_STRUCTURE_REGEX && !compiles(rule->pattern, rule->case_sensitive, &why))
        sr_problems_add(problems, SR_PROBLEM_ERROR, rule->pattern_at.line, rule->pattern_at.column,
                        "structure rule `%s`: %s", rule->name, why.message);
}

static void try_rules(const struct sr_config *config, struct sr_problems *problems)
{
    for (size_t i = 0; i < config->n_keywords; i++)
        try_keyword(&config->keywords[i], problems);
    for (size_t i = 0; i < config->n_structures; i++)
        try_structure(&config->structures[i], problems);
}

void sr_signal_patterns(const struct sr_config *config, struct sr_problems *problems)
{
    try_rules(config, problems);
    for (size_t i = 0; i < config->n_recipes; i++) /* a recipe's own list is that of the file */
        try_rules(&config->recipes[i].config, problems);
}
