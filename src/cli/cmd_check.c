/*
 * semroute check: every mistake in configurations, as FILE:LINE:COLUMN: severity: message or as JSON. Needs
 * none of the secrets that a server needs.
 */
#include "cli/cmd.h"

#include "base/json_write.h"
#include "base/log.h"
#include "config/json_schema.h"
#include "config/load.h"
#include "probe/probe.h"
#include "router/router.h"
#include "signal/patterns.h"

#define SCHEMA_MAX ((size_t)8 << 20)
#define JSON_MAX   ((size_t)64 << 20)
#define FILES_MAX  4096

static bool lenient, schema, json;
static const struct sr_option options[] = {
    {"lenient", SR_OPTION_FLAG, &lenient, NULL, "unknown and unsupported keys are warnings"},
    {"json", SR_OPTION_FLAG, &json, NULL, "print one JSON document for all files"},
    {"schema", SR_OPTION_FLAG, &schema, NULL, "print the JSON Schema of a configuration instead"},
};
const struct sr_usage sr_check_usage = {
    .name = "check",
    .synopsis = "[--lenient] [--json] FILE...",
    .summary = "Reports every mistake in configurations; exit code 1 when there is an error.",
    .text = "Each line reads FILE:LINE:COLUMN: error: message, as editors expect it. A file that cannot be\n"
            "opened is exit code 3. A variable that is not set is a warning here and an error in `serve`.\n"
            "With --json the document is {\"files\": [{\"file\", \"good\", \"models\", \"decisions\",\n"
            "\"problems\": [{\"severity\", \"line\", \"column\", \"message\"}]}]}.\n",
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

/* What the file names on this machine, and patterns: all that is wrong with them, not the first alone. */
static void probe(const struct sr_config *config, struct sr_problems *problems)
{
    sr_probe_models(config, problems);
    sr_signal_patterns(config, problems);
}

/* What only shows when the configuration is used: model files. */
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
    bool guards = sr_config_is_guard_type(rule->type);
    if (rule->op == SR_RULE_LEAF && (all || guards))
        printf("%s: decision `%s`: %s `%s` has on_error: %s\n", path, decision, rule->type, rule->name,
               rule->on_error == SR_ON_ERROR_MATCH ? "match" : "no_match");
    for (size_t i = 0; i < rule->n_children; i++)
        print_leaves(path, decision, &rule->children[i], all);
}

/* What the rules of guards, and others about attacks and private data, do with what cannot be read. A
 * recipe's own: those that hold everywhere are told once. */
static void print_on_error(const char *path, const struct sr_config *config)
{
    for (size_t i = 0; i < config->n_decisions; i++) {
        const struct sr_config_decision *decision = &config->decisions[i];
        if (decision->has_rules && !decision->everywhere)
            print_leaves(path, decision->name, &decision->rules, decision->plugins.guard.set);
    }
}

static void print_text(const char *path, const struct sr_config *config, const struct sr_problems *problems)
{
    sr_cmd_problems(stdout, path, problems);
    if (!config)
        return;
    print_on_error(path, config);
    for (size_t i = 0; i < config->n_recipes; i++)
        print_on_error(path, &config->recipes[i].config);
    printf("%s: good: %zu models, %zu decisions", path, config->n_models, config->n_decisions);
    if (config->n_recipes)
        printf(", %zu recipes", config->n_recipes);
    printf("\n");
}

static void put_json(struct sr_json_writer *w, const char *path, const struct sr_config *config,
                     const struct sr_problems *problems)
{
    sr_json_object(w, NULL);
    sr_json_text(w, "file", path);
    sr_json_bool(w, "good", config != NULL);
    if (config) {
        sr_json_uint(w, "models", config->n_models);
        sr_json_uint(w, "decisions", config->n_decisions);
        sr_json_uint(w, "recipes", config->n_recipes);
    }
    sr_json_array(w, "problems");
    for (size_t i = 0; i < problems->count; i++) {
        const struct sr_problem *problem = &problems->items[i];
        sr_json_object(w, NULL);
        sr_json_text(w, "severity", problem->severity == SR_PROBLEM_ERROR ? "error" : "warning");
        sr_json_uint(w, "line", problem->line);
        sr_json_uint(w, "column", problem->column);
        sr_json_text(w, "message", problem->message);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
    sr_json_object_end(w);
}

/* Checks one file; returns its exit code. */
static int check(const char *path, struct sr_json_writer *w)
{
    const struct sr_config *config = NULL;
    struct sr_problems problems = {0};
    struct sr_load_options how = {.lenient = lenient, .draft = true, .files = true, .probe = probe};
    int rc = sr_config_load_file(&config, path, how, &problems);
    bool unread = rc == SR_ENOENT || rc == SR_ETIMEOUT; /* the file itself */
    if (rc == SR_OK)
        rc = compile(config, &problems);
    if (rc) {
        sr_config_unref(config);
        config = NULL;
    }
    if (json)
        put_json(w, path, config, &problems);
    else
        print_text(path, config, &problems);
    sr_config_unref(config);
    sr_problems_dispose(&problems);
    bool broke = unread || rc == SR_ENOMEM || rc == SR_EIO;
    return rc == SR_OK ? SR_EXIT_DONE : broke ? SR_EXIT_FAILED : SR_EXIT_NO;
}

int sr_cmd_check(int argc, char **argv)
{
    struct sr_operands operands;
    struct sr_buf text;
    int code = SR_EXIT_DONE;
    if (!sr_cmd_begin(&sr_check_usage, argc, argv, FILES_MAX, &operands, &code))
        return code;
    if (schema)
        return print_schema();
    if (operands.count == 0)
        return sr_cmd_misuse(&sr_check_usage, "a file is missing: semroute check semroute.yaml");

    sr_buf_init(&text, JSON_MAX);
    struct sr_json_writer w = sr_json_writer_of(&text);
    sr_json_object(&w, NULL);
    sr_json_array(&w, "files");
    for (size_t i = 0; i < operands.count; i++) {
        int one = check(operands.items[i], &w);
        code = one > code ? one : code;
    }
    sr_json_array_end(&w);
    sr_json_object_end(&w);
    if (json && (w.rc || sr_buf_append(&text, "\n", 1) || !sr_cmd_put(sr_buf_view(&text))))
        code = sr_cmd_fail(&sr_check_usage, SR_EXIT_FAILED, "cannot write the document");
    sr_buf_dispose(&text);
    return code;
}
