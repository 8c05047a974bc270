/*
 * semroute check: every mistake in a configuration as FILE:LINE:COLUMN: severity: message.
 */
#include "cli/cmd.h"

#include "base/log.h"
#include "config/json_schema.h"
#include "config/load.h"
#include "probe/probe.h"
#include "router/router.h"

#define SCHEMA_MAX ((size_t)8 << 20)

static bool lenient, schema;
static const struct sr_option options[] = {
    {"lenient", SR_OPTION_FLAG, &lenient, NULL, "unknown and unsupported keys are warnings"},
    {"schema", SR_OPTION_FLAG, &schema, NULL, "print the JSON Schema of a configuration instead"},
};
const struct sr_usage sr_check_usage = {
    .name = "check",
    .synopsis = "[--lenient] FILE",
    .summary = "Reports every mistake in a configuration; exit code 1 when there is an error.",
    .text = "Each line reads FILE:LINE:COLUMN: error: message, as editors expect it.\n",
    SR_OPTIONS(options),
};

static int print_schema(void)
{
    struct sr_buf text;
    sr_buf_init(&text, SCHEMA_MAX);
    bool done = sr_config_json_schema(&text) == SR_OK && sr_cmd_put(sr_buf_view(&text));
    sr_buf_dispose(&text);
    return done ? SR_EXIT_DONE : sr_cmd_fail(&sr_check_usage, SR_EXIT_FAILED, "cannot write the schema");
}

/* What only shows when the configuration is used: patterns, model files. */
static int compile(const struct sr_config *config, struct sr_problems *problems)
{
    struct sr_router *engine = NULL;
    struct sr_err err = {0};
    sr_log_set_level(SR_LOG_WARN); /* a model that opens is no news here */
    int rc = sr_router_new(&engine, sr_config_ref(config), NULL, NULL, &err);
    if (rc)
        sr_problems_add(problems, SR_PROBLEM_ERROR, err.line, err.column, "%s", err.message);
    else
        sr_router_unref(engine);
    return rc;
}

static void print_leaves(const char *path, const char *decision, const struct sr_config_rule *rule, bool all)
{
    bool guards = strcmp(rule->type, "jailbreak") == 0 || strcmp(rule->type, "pii") == 0;
    if (rule->op == SR_RULE_LEAF && (all || guards))
        printf("%s: decision `%s`: %s `%s` has on_error: %s\n", path, decision, rule->type, rule->name,
               rule->on_error == SR_ON_ERROR_MATCH ? "match" : "no_match");
    for (size_t i = 0; i < rule->n_children; i++)
        print_leaves(path, decision, &rule->children[i], all);
}

/* What the rules of guards, and others about attacks and private data, do with what cannot be read. */
static void print_on_error(const char *path, const struct sr_config *config)
{
    for (size_t i = 0; i < config->n_decisions; i++) {
        const struct sr_config_decision *decision = &config->decisions[i];
        if (decision->has_rules)
            print_leaves(path, decision->name, &decision->rules, decision->plugins.guard.set);
    }
}

int sr_cmd_check(int argc, char **argv)
{
    struct sr_operands operands;
    int code = SR_EXIT_DONE;
    if (!sr_cmd_begin(&sr_check_usage, argc, argv, 1, &operands, &code))
        return code;
    if (schema)
        return print_schema();
    if (operands.count == 0)
        return sr_cmd_misuse(&sr_check_usage, "a file is missing: semroute check semroute.yaml");

    const char *path = operands.items[0];
    const struct sr_config *config = NULL;
    struct sr_problems problems = {0};
    int rc = sr_config_load_file(
        &config, path, (struct sr_load_options){.lenient = lenient, .files = true, .probe = sr_probe_models},
        &problems);
    if (rc == SR_OK)
        rc = compile(config, &problems);
    sr_cmd_problems(stdout, path, &problems);
    if (rc == SR_OK)
        print_on_error(path, config);
    if (rc == SR_OK)
        printf("%s: good: %zu models, %zu decisions\n", path, config->n_models, config->n_decisions);
    else
        code = rc == SR_ENOMEM || rc == SR_EIO ? SR_EXIT_FAILED : SR_EXIT_NO;
    sr_config_unref(config);
    sr_problems_dispose(&problems);
    return code;
}
