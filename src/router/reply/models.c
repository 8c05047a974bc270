/* GET /v1/models and /v1/models/{id}: the automatic names, those of entrypoints, and the models of the
 * configuration with their cards. One list has the members of OpenAI's and of Anthropic's API, so that
 * clients of both read it. */
#include "router/reply/models.h"

#include "base/hex.h"
#include "base/json_write.h"

#include <time.h>

static void put_strings(struct sr_json_writer *w, const char *key, const struct sr_strings *list)
{
    if (list->count == 0)
        return;
    sr_json_array(w, key);
    for (size_t i = 0; i < list->count; i++)
        sr_json_text(w, NULL, list->items[i]);
    sr_json_array_end(w);
}

/* Writes the LoRA adapters as configured: a name, or an object if there is a description. */
static void put_loras(struct sr_json_writer *w, const struct sr_name_values *loras)
{
    if (loras->count == 0)
        return;
    sr_json_array(w, "loras");
    for (size_t i = 0; i < loras->count; i++) {
        const struct sr_name_value *lora = &loras->items[i];
        if (!lora->value[0]) {
            sr_json_text(w, NULL, lora->name);
            continue;
        }
        sr_json_object(w, NULL);
        sr_json_text(w, "name", lora->name);
        sr_json_text(w, "description", lora->value);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
}

static void put_text(struct sr_json_writer *w, const char *key, const char *text)
{
    if (text[0])
        sr_json_text(w, key, text);
}

static void put_time(struct sr_json_writer *w, const char *key, uint64_t seconds)
{
    char text[32] = "";
    time_t at = (time_t)seconds;
    struct tm tm;
    if (gmtime_r(&at, &tm))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    sr_json_text(w, key, text);
}

static void put_head(struct sr_json_writer *w, const struct sr_router *router, const char *id,
                     const char *owner)
{
    sr_json_object(w, NULL);
    sr_json_text(w, "id", id);
    sr_json_text(w, "object", "model");
    sr_json_uint(w, "created", (uint64_t)router->created);
    sr_json_text(w, "owned_by", owner);
    sr_json_text(w, "type", "model");
    sr_json_text(w, "display_name", id);
    put_time(w, "created_at", router->created);
}

/* `recipe` NULL: the client names its model. */
static void put_routing(struct sr_json_writer *w, const char *resolution, bool default_route,
                        const char *recipe)
{
    sr_json_object(w, "routing");
    sr_json_text(w, "resolution", resolution);
    sr_json_bool(w, "selectable", true);
    sr_json_bool(w, "default_route", default_route);
    if (recipe)
        sr_json_text(w, "recipe", recipe);
    sr_json_object_end(w);
    sr_json_object_end(w);
}

/* A name that asks the router to choose, an automatic one or an entrypoint's. */
static int put_auto(struct sr_json_writer *w, const struct sr_router *router, const char *name, bool first)
{
    const struct sr_config *config = router->config;
    int recipe = sr_config_recipe_of(config, sr_bytes_str(name));
    const char *own = recipe >= 0 ? config->recipes[recipe].description : "";
    put_head(w, router, name, "semroute");
    sr_json_text(w, "description", own[0] ? own : "Chooses the model that suits the request");
    put_routing(w, "virtual", first, sr_config_recipe_name(config, recipe));
    return w->rc;
}

/* `last` is the name that was written last. */
static int put_entrypoints(struct sr_json_writer *w, const struct sr_router *router, const char **last)
{
    const struct sr_config *config = router->config;
    int rc = SR_OK;
    for (size_t i = 0; i < config->n_entrypoints; i++)
        for (size_t k = 0; !rc && k < config->entrypoints[i].model_names.count; k++) {
            *last = config->entrypoints[i].model_names.items[k];
            rc = put_auto(w, router, *last, false);
        }
    return rc;
}

static int put_model(struct sr_json_writer *w, const struct sr_router *router,
                     const struct sr_config_model *model)
{
    put_head(w, router, model->name, "upstream-endpoint");
    put_text(w, "description", model->description);
    put_text(w, "param_size", model->param_size);
    put_text(w, "modality", model->modality);
    if (model->context_window) {
        sr_json_uint(w, "context_window_size", model->context_window);
        sr_json_uint(w, "max_model_len", model->context_window);
    }
    if (model->quality_score > 0)
        sr_json_real(w, "quality_score", "%g", model->quality_score);
    put_strings(w, "capabilities", &model->capabilities);
    put_strings(w, "tags", &model->tags);
    put_loras(w, &model->loras);
    put_routing(w, "passthrough", false, NULL);
    return w->rc;
}

/* The encoder that embeds texts; NULL: there is none, or not for this client. */
static const char *embedder(const struct sr_router *router, const struct sr_identity *identity)
{
    bool hidden = !router->embeds || sr_identity_is_limited(identity) ||
                  sr_config_find_model(router->config, sr_bytes_str(router->embeds)) >= 0;
    return hidden ? NULL : router->embeds;
}

static int put_embedder(struct sr_json_writer *w, const struct sr_router *router)
{
    put_head(w, router, router->embeds, "semroute");
    sr_json_text(w, "description", "Embeddings of texts, computed by the router");
    sr_json_array(w, "capabilities");
    sr_json_text(w, NULL, "embeddings");
    sr_json_array_end(w);
    put_routing(w, "local", false, NULL);
    return w->rc;
}

int sr_reply_models(const struct sr_router *router, const struct sr_identity *identity, struct sr_buf *out)
{
    const struct sr_config *config = router->config;
    const struct sr_strings *names = &config->global.auto_model_names;
    const char *first = NULL, *last = NULL;
    size_t n = config->global.include_config_models_in_list || sr_identity_is_limited(identity)
                   ? config->n_models
                   : 0;
    struct sr_json_writer w = sr_json_writer_of(out);
    int rc = SR_OK;
    sr_json_object(&w, NULL);
    sr_json_text(&w, "object", "list");
    sr_json_array(&w, "data");
    for (size_t i = 0; !rc && i < names->count; i++) {
        last = names->items[i];
        first = first ? first : last;
        rc = put_auto(&w, router, last, i == 0);
    }
    if (!rc)
        rc = put_entrypoints(&w, router, &last);
    for (size_t i = 0; !rc && i < n; i++) {
        if (!sr_identity_may_use(identity, config, (int)i))
            continue;
        last = config->models[i].name;
        first = first ? first : last;
        rc = put_model(&w, router, &config->models[i]);
    }
    if (!rc && config->global.include_config_models_in_list && embedder(router, identity)) {
        last = router->embeds;
        rc = put_embedder(&w, router);
    }
    sr_json_array_end(&w);
    sr_json_bool(&w, "has_more", false);
    sr_json_text(&w, "first_id", first);
    sr_json_text(&w, "last_id", last);
    sr_json_object_end(&w);
    return w.rc;
}

/* Percent-decodes into the arena; a broken escape stays as it is. */
static struct sr_bytes percent_decode(struct sr_bytes s, struct sr_arena *arena)
{
    char *out = sr_arena_alloc(arena, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; out && i < s.n; i++) {
        bool escape =
            s.p[i] == '%' && i + 2 < s.n && sr_hex_digit(s.p[i + 1]) >= 0 && sr_hex_digit(s.p[i + 2]) >= 0;
        out[n++] = escape ? (char)(sr_hex_digit(s.p[i + 1]) * 16 + sr_hex_digit(s.p[i + 2])) : s.p[i];
        i += escape ? 2 : 0;
    }
    return (struct sr_bytes){out, n};
}

int sr_reply_model(const struct sr_router *router, const struct sr_identity *identity,
                   struct sr_bytes escaped_id, struct sr_arena *arena, struct sr_refusal *refusal,
                   struct sr_buf *out)
{
    const struct sr_config *config = router->config;
    struct sr_bytes id = percent_decode(escaped_id, arena);
    int model = id.p ? sr_config_find_model(config, id) : -1;
    bool automatic = id.p && sr_config_is_auto(config, id);
    if (model >= 0 && !sr_identity_may_use(identity, config, model))
        model = -1;
    const char *embeds = embedder(router, identity);
    bool local = id.p && embeds && sr_bytes_eq(id, sr_bytes_str(embeds));
    if (model < 0 && !automatic && !local) {
        sr_refuse(refusal, 404, "model_not_found", "model", "model \"%.*s\" is not available",
                  (int)(id.n < 128 ? id.n : 128), id.p ? id.p : "");
        return SR_ENOENT;
    }
    struct sr_json_writer w = sr_json_writer_of(out);
    if (model >= 0)
        return put_model(&w, router, &config->models[model]);
    if (local)
        return put_embedder(&w, router);
    const struct sr_strings *names = &config->global.auto_model_names;
    bool first = names->count && sr_bytes_eq(id, sr_bytes_str(names->items[0]));
    return put_auto(&w, router, sr_arena_dup(arena, id).p, first);
}
