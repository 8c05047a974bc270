/*
 * semroute doctor: is this machine ready for this configuration? Loads it, opens its models, looks at the
 * machine and at what must be reached, and says what to do about what is wrong. Changes nothing.
 */
#include "cli/cmd.h"

#include "base/log.h"
#include "cli/doctor/checks.h"
#include "infer/locate.h"
#include "probe/probe.h"
#include "router/router.h"
#include "router/toolbox/toolbox.h"

#include <limits.h>
#include <unistd.h>

#define JSON_MAX   ((size_t)4 << 20)
#define TOOLS_MANY 1000 /* tools that a start reads in some seconds */

static const char *config_file;
static bool json, lenient;
static long timeout_ms = 3000;
static const struct sr_option options[] = {
    {"config,c", SR_OPTION_TEXT, &config_file, "FILE",
     "the configuration; else ./semroute.yaml, else the built-in one"},
    {"lenient", SR_OPTION_FLAG, &lenient, NULL, "unknown and unsupported keys are warnings"},
    {"timeout-ms", SR_OPTION_NUMBER, &timeout_ms, "N", "how long upstreams and stores have to answer (3000)"},
    {"json", SR_OPTION_FLAG, &json, NULL, "one JSON document"},
};
const struct sr_usage sr_doctor_usage = {
    .name = "doctor",
    .synopsis = "[-c FILE] [--lenient] [--timeout-ms N] [--json]",
    .summary =
        "Looks whether this machine is ready for a configuration; exit code 1 when something is wrong.",
    .text =
        "It looks at CPU, memory, open files, clock and core dumps, at the configuration and its models, at\n"
        "certificates, files and ports; it asks every backend for its models and connects to every store "
        "and\n"
        "collector. Run it where and as whom the router runs. Nothing is changed, and keys are sent to their "
        "backends alone.\n",
    SR_OPTIONS(options),
};

/* What the next start has to read of tool databases. */
static void look_at_tools(struct sr_diagnosis *d, const struct sr_router *router)
{
    char kept[PATH_MAX];
    for (size_t i = 0; router->tools && i < router->tools->n; i++) {
        const struct sr_tool_database *database = router->tools->databases[i];
        sr_toolbox_kept(router->config, database->path, kept, sizeof kept);
        bool there = kept[0] && access(kept, R_OK) == 0;
        sr_diagnosis_add(
            d, there || database->set.n < TOOLS_MANY ? SR_CONDITION_GOOD : SR_CONDITION_WARNING, "tools",
            "a start reads them with the encoder, some hundred in a second, while /ready says how "
            "far it is; keep the file of global.semroute.tool_vectors where starts find it",
            "%s: %zu tools, %s%s", database->path, database->set.n,
            there ? "vectors in " : "vectors not kept yet", there ? kept : "");
    }
}

static void look_at_models(struct sr_diagnosis *d, const struct sr_config *config)
{
    static const char *const known[] = {"all-MiniLM-L6-v2", "multilingual-e5-small"};
    struct sr_router *engine = NULL;
    struct sr_err err = {0};
    char path[SR_LOCATE_MAX];
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (sr_locate_model(path, known[i], &err) == SR_OK)
            sr_diagnosis_add(d, SR_CONDITION_GOOD, "model", NULL, "%s is in %s", known[i], path);
        else
            sr_diagnosis_add(d, SR_CONDITION_WARNING, "model",
                             "install semroute-models, or run `make setup` in the sources", "%s is not found",
                             known[i]);
    }
    if (sr_router_new(&engine, sr_config_ref(config), NULL, NULL, &err) == SR_OK) {
        sr_diagnosis_add(d, SR_CONDITION_GOOD, "model", NULL,
                         "all models and patterns of the configuration open");
        look_at_tools(d, engine);
        for (size_t i = 0; i < config->n_recipes; i++)
            look_at_tools(d, sr_router_profile(engine, (int)i));
        sr_router_unref(engine);
    } else {
        sr_diagnosis_add(d, SR_CONDITION_BAD, "model",
                         "install what is named, or remove the signal that wants it from the file", "%s",
                         err.message);
    }
}

/* A warning says itself what could be done. */
static const char *advice_for(bool bad, unsigned line)
{
    if (!bad)
        return NULL;
    return line
               ? "correct the file (`semroute check` reads it alone); models, ports and upstreams are looked "
                 "at once it loads"
               : "name the file with -c, and let the user that runs the router read it";
}

static const struct sr_config *load(struct sr_diagnosis *d, const char *path)
{
    struct sr_load_options how = {.lenient = lenient, .files = true, .probe = sr_probe_models};
    struct sr_problems problems = {0};
    const struct sr_config *config = NULL;
    int rc = path ? sr_config_load_file(&config, path, how, &problems)
                  : sr_config_load_text(&config, sr_config_builtin_text(), "(built-in)", how, &problems);
    for (size_t i = 0; i < problems.count; i++) {
        const struct sr_problem *problem = &problems.items[i];
        bool bad = problem->severity == SR_PROBLEM_ERROR;
        char where[32] = "";
        if (problem->line)
            snprintf(where, sizeof where, "%u:%u:", problem->line, problem->column);
        sr_diagnosis_add(d, bad ? SR_CONDITION_BAD : SR_CONDITION_WARNING, "config",
                         advice_for(bad, problem->line), "%s:%s %s", path ? path : "(built-in)", where,
                         problem->message);
    }
    if (rc == SR_OK)
        sr_diagnosis_add(d, SR_CONDITION_GOOD, "config", NULL, "%s: %zu model%s, %zu decision%s, revision %s",
                         path ? path : "(built-in)", config->n_models, config->n_models == 1 ? "" : "s",
                         config->n_decisions, config->n_decisions == 1 ? "" : "s", config->revision);
    sr_problems_dispose(&problems);
    return rc == SR_OK ? config : NULL;
}

static int print(const struct sr_diagnosis *diagnosis)
{
    struct sr_buf out;
    bool done = true;
    sr_buf_init(&out, JSON_MAX);
    if (!json)
        sr_diagnosis_print(diagnosis);
    else
        done = sr_diagnosis_json(diagnosis, &out) == SR_OK &&
               sr_buf_append_bytes(&out, SR_LIT("\n")) == SR_OK && sr_cmd_put(sr_buf_view(&out));
    sr_buf_dispose(&out);
    if (!done)
        return sr_cmd_fail(&sr_doctor_usage, SR_EXIT_FAILED, "cannot write the result");
    return diagnosis->of[SR_CONDITION_BAD] ? SR_EXIT_NO : SR_EXIT_DONE;
}

int sr_cmd_doctor(int argc, char **argv)
{
    struct sr_operands operands;
    int code = SR_EXIT_DONE;
    if (!sr_cmd_begin(&sr_doctor_usage, argc, argv, 0, &operands, &code))
        return code;
    if (timeout_ms < 1 || timeout_ms > 600000)
        return sr_cmd_misuse(&sr_doctor_usage, "--timeout-ms is from 1 to 600000");
    struct sr_diagnosis diagnosis = {0};
    sr_log_set_level(SR_LOG_ERROR);
    const struct sr_config *config = load(&diagnosis, sr_cmd_config(config_file));
    sr_doctor_machine(&diagnosis, config);
    if (config) {
        look_at_models(&diagnosis, config);
        sr_doctor_files(&diagnosis, config);
        sr_doctor_certificates(&diagnosis, config);
        sr_doctor_ports(&diagnosis, config);
        sr_doctor_reach(&diagnosis, config, (uint32_t)timeout_ms);
    }
    code = print(&diagnosis);
    sr_diagnosis_dispose(&diagnosis);
    sr_config_unref(config);
    return code;
}
