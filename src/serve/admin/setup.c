/* The file is read again for each answer; it is the loaded one unless `current` says otherwise. */
#include "serve/admin/setup.h"

#include "base/json_write.h"
#include "config/load.h"
#include "config/show.h"
#include "history/json.h"
#include "serve/local.h"

static void put_text(struct sr_json_writer *w, const char *key, const char *value)
{
    if (value && value[0])
        sr_json_text(w, key, value);
}

static void put_strings(struct sr_json_writer *w, const char *key, const struct sr_strings *list)
{
    if (!list->count)
        return;
    sr_json_array(w, key);
    for (size_t i = 0; i < list->count; i++)
        sr_json_text(w, NULL, list->items[i]);
    sr_json_array_end(w);
}

/* ---- models ---- */

static void put_pricing(struct sr_json_writer *w, const struct sr_config_model *model)
{
    if (!model->pricing.set)
        return;
    sr_json_object(w, "pricing");
    sr_json_text(w, "currency", model->pricing.currency);
    sr_json_real(w, "prompt_per_1m", "%.9g", model->pricing.prompt_per_1m);
    sr_json_real(w, "completion_per_1m", "%.9g", model->pricing.completion_per_1m);
    sr_json_object_end(w);
}

/* Where it is, never what opens it. */
static void put_backends(struct sr_json_writer *w, const struct sr_config_model *model)
{
    sr_json_array(w, "backends");
    for (size_t i = 0; i < model->n_backends; i++) {
        const struct sr_config_backend *backend = &model->backends[i];
        sr_json_object(w, NULL);
        put_text(w, "name", backend->name);
        put_text(w, "scheme", backend->scheme);
        put_text(w, "host", backend->host);
        sr_json_int(w, "port", backend->port);
        sr_json_bool(w, "has_key", sr_config_backend_has_key(backend));
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
}

static void put_model(struct sr_json_writer *w, const struct sr_config_model *model)
{
    sr_json_object(w, NULL);
    sr_json_text(w, "name", model->name);
    put_text(w, "provider_model_id", model->provider_model_id);
    put_text(w, "description", model->description);
    put_text(w, "param_size", model->param_size);
    put_text(w, "modality", model->modality);
    if (model->context_window)
        sr_json_uint(w, "context_window", model->context_window);
    if (model->quality_score > 0)
        sr_json_real(w, "quality_score", "%.9g", model->quality_score);
    put_strings(w, "capabilities", &model->capabilities);
    put_strings(w, "tags", &model->tags);
    sr_json_array(w, "loras");
    for (size_t i = 0; i < model->loras.count; i++)
        sr_json_text(w, NULL, model->loras.items[i].name);
    sr_json_array_end(w);
    put_pricing(w, model);
    put_backends(w, model);
    sr_json_object_end(w);
}

/* ---- the file ---- */

static void put_reload(struct sr_json_writer *w, sr_runtime *runtime)
{
    struct sr_reload_state state;
    sr_runtime_reload_state(runtime, &state);
    sr_history_json_time(w, "loaded_at", state.loaded_us);
    if (!state.tried_us)
        return;
    sr_json_object(w, "reload");
    sr_history_json_time(w, "at", state.tried_us);
    sr_json_bool(w, "failed", state.failed);
    put_text(w, "message", state.message);
    sr_json_object_end(w);
}

/* The mistakes of the file as it is now, as far as they show without the files that it names. */
static void put_problems(struct sr_json_writer *w, struct sr_bytes text, const char *path)
{
    struct sr_problems problems = {0};
    const struct sr_config *config = NULL;
    struct sr_load_options how = {.draft = true, .lenient = true};
    if (sr_config_load_text(&config, text, path, how, &problems) == SR_OK)
        sr_config_unref(config);
    sr_json_array(w, "problems");
    for (size_t i = 0; i < problems.count; i++) {
        const struct sr_problem *problem = &problems.items[i];
        sr_json_object(w, NULL);
        sr_json_text(w, "severity", problem->severity == SR_PROBLEM_ERROR ? "error" : "warning");
        sr_json_uint(w, "line", problem->line);
        sr_json_uint(w, "column", problem->column);
        sr_json_text(w, "message", problem->message);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
    sr_problems_dispose(&problems);
}

static void put_shown(struct sr_json_writer *w, const char *key, struct sr_bytes text, const char *only)
{
    struct sr_buf shown;
    sr_buf_init(&shown, SR_CONFIG_TEXT_MAX * 2);
    if (sr_config_show(text, only, &shown) == SR_OK)
        sr_json_bytes(w, key, sr_buf_view(&shown));
    sr_buf_dispose(&shown);
}

static void put_file(struct sr_json_writer *w, sr_runtime *runtime, const char *path)
{
    struct sr_err err = {0};
    struct sr_buf text;
    sr_buf_init(&text, SR_CONFIG_TEXT_MAX);
    int rc = sr_runtime_config_text(runtime, &text, &err);
    sr_json_bool(w, "current", rc == SR_OK);
    if (rc != SR_OK)
        put_text(w, "file_error", err.message);
    if (rc == SR_OK || rc == SR_EBUSY) {
        put_shown(w, "yaml", sr_buf_view(&text), NULL);
        put_shown(w, "routing", sr_buf_view(&text), "routing");
        put_problems(w, sr_buf_view(&text), path);
    }
    sr_buf_dispose(&text);
}

int sr_api_configuration(sr_runtime *runtime, struct sr_buf *out)
{
    const struct sr_config *config = sr_runtime_config(runtime);
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_text(&w, "revision", config->revision);
    put_text(&w, "path", config->path);
    put_reload(&w, runtime);
    put_file(&w, runtime, config->path);
    sr_json_uint(&w, "decisions", config->n_decisions);
    sr_json_bool(&w, "replay", config->global.replay.entries != 0);
    sr_json_array(&w, "models");
    for (size_t i = 0; i < config->n_models; i++)
        put_model(&w, &config->models[i]);
    sr_json_array_end(&w);
    sr_json_object_end(&w);
    sr_config_unref(config);
    return w.rc ? 503 : 200;
}

int sr_api_metrics(sr_runtime *runtime, struct sr_buf *out)
{
    struct sr_local_state state = {.runtime = runtime, .service = "semroute", .metrics = true};
    struct sr_local_page page;
    bool made = sr_local_answer(&state, SR_LIT("GET"), SR_LIT("/metrics"), &page, out);
    return made ? page.status : 503;
}
