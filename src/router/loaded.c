/* Reads the configuration, compiles the router, and opens an encoder that is named. */
#include "router/loaded.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/progress.h"
#include "config/load.h"
#include "infer/locate.h"
#include "infer/model_store.h"
#include "probe/probe.h"
#include "signal/neural/neural.h"

#include <stdio.h>
#include <string.h>

static void say(char *error, size_t size, const char *text)
{
    if (error && size)
        snprintf(error, size, "%s", text);
}

/* The first error of `problems`, and how many more there are. */
static void say_problems(const char *path, const struct sr_problems *problems, int rc, char *error,
                         size_t size)
{
    for (size_t i = 0; i < problems->count; i++) {
        if (problems->items[i].severity != SR_PROBLEM_ERROR)
            continue;
        struct sr_buf line;
        sr_buf_init(&line, 4096);
        if (sr_problem_format(&line, path, &problems->items[i]) == SR_OK) {
            if (problems->errors > 1 && sr_buf_printf(&line, " (and %zu more)", problems->errors - 1))
                sr_buf_clear(&line);
            say(error, size, line.len ? line.data : problems->items[i].message);
        } else {
            say(error, size, problems->items[i].message);
        }
        sr_buf_dispose(&line);
        return;
    }
    say(error, size, sr_strerror(rc));
}

static int load_config(const struct sr_loading *in, const struct sr_config **out, char *error, size_t size)
{
    struct sr_problems problems = {0};
    struct sr_load_options options = {
        .lenient = in->options->lenient, .files = true, .probe = sr_probe_models};
    const char *path = in->path ? in->path : "(built-in)";
    int rc = in->path ? sr_config_load_file(out, path, options, &problems)
                      : sr_config_load_text(out, sr_config_builtin_text(), path, options, &problems);
    if (rc) {
        say_problems(path, &problems, rc, error, size);
    } else {
        for (size_t i = 0; i < problems.count; i++)
            sr_log(SR_LOG_WARN, "config_warning", "%s:%u:%u: %s", path, problems.items[i].line,
                   problems.items[i].column, problems.items[i].message);
    }
    sr_problems_dispose(&problems);
    return rc;
}

static bool names_encoder(const struct sr_config *config)
{
    const char *named = config->global.inference.encoder;
    return named && *named;
}

int sr_loaded_encoder(struct sr_loaded *loaded, const struct sr_config *config, struct sr_model_store *models,
                      struct sr_err *err)
{
    int rc = sr_signal_encoder(config, models, &loaded->encoder, err);
    if (rc == SR_ENOENT && !names_encoder(config))
        return SR_OK;
    return rc ? rc : sr_signal_infer(config, models, &loaded->infer, err);
}

/* An encoder that the configuration names is opened now, so that its mistakes are found; the default one
 * when it is asked for. */
static int prepare_encoder(const struct sr_loading *in, const struct sr_config *config, struct sr_loaded *out,
                           struct sr_err *err)
{
    char folder[SR_LOCATE_MAX];
    struct sr_err missing = {0};
    if (names_encoder(config))
        return sr_loaded_encoder(out, config, in->models, err);
    if (sr_locate_model(folder, NULL, &missing) == SR_ENOENT)
        sr_log(SR_LOG_INFO, "neural_tier_off", "%s; the linear tier answers", missing.message);
    return SR_OK;
}

/* Clients may ask for its vectors; it is opened with the first. */
static int offer_encoder(const struct sr_config *config, struct sr_router *router)
{
    char folder[SR_LOCATE_MAX];
    const char *name = names_encoder(config) ? config->global.inference.encoder : NULL;
    return sr_locate_model(folder, name, NULL) ? SR_OK : sr_router_set_embeds(router, folder);
}

void sr_unload(struct sr_loaded *loaded)
{
    sr_router_unref(loaded->router);
    sr_encoder_unref(loaded->encoder);
    *loaded = (struct sr_loaded){0};
}

static int load(const struct sr_loading *in, struct sr_loaded *out, char *error, size_t size)
{
    const struct sr_config *config;
    int rc = load_config(in, &config, error, size);
    if (rc)
        return rc;
    struct sr_err err = {0};
    if (in->first)
        sr_memo_resize(sr_model_store_memo(in->models), config->global.guards.memo_bytes);
    rc = sr_router_new(&out->router, config, in->models, in->pool, &err);
    if (!rc)
        sr_router_set_learned(out->router, in->arms, in->holds);
    if (!rc && in->options->encoder)
        rc = prepare_encoder(in, config, out, &err);
    if (!rc && in->options->encoder)
        rc = offer_encoder(config, out->router);
    if (rc && err.line && error && size)
        snprintf(error, size, "%s:%u:%u: error: %s", in->path ? in->path : "(built-in)", err.line, err.column,
                 err.message);
    else if (rc)
        say(error, size, err.message[0] ? err.message : sr_strerror(rc));
    if (rc)
        sr_unload(out);
    return rc;
}

int sr_load(const struct sr_loading *in, struct sr_loaded *out, char *error, size_t size)
{
    struct sr_progress step;
    const char *slash = in->path ? strrchr(in->path, '/') : NULL;
    *out = (struct sr_loaded){0};
    sr_progress_begin(&step, "configuration %.60s", slash ? slash + 1 : in->path ? in->path : "(built-in)");
    int rc = load(in, out, error, size);
    sr_progress_end(&step);
    return rc;
}
