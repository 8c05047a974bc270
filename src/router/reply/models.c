/* GET /v1/models and /v1/models/{id}: the automatic names, and the models of the configuration with their
 * cards. */
#include "router/reply/reply.h"

static int append_strings(struct sr_buf *buf, const char *key, const struct sr_strings *list)
{
    if (list->count == 0)
        return SR_OK;
    int rc = sr_buf_printf(buf, ",\"%s\":[", key);
    for (size_t i = 0; !rc && i < list->count; i++) {
        rc = sr_buf_append_bytes(buf, i ? SR_LIT(",\"") : SR_LIT("\""));
        if (!rc)
            rc = sr_buf_append_json(buf, sr_bytes_str(list->items[i]));
        if (!rc)
            rc = sr_buf_append(buf, "\"", 1);
    }
    return rc ? rc : sr_buf_append(buf, "]", 1);
}

/* As they are configured: a name, or an object where there is a description. */
static int append_loras(struct sr_buf *buf, const struct sr_name_values *loras)
{
    if (loras->count == 0)
        return SR_OK;
    int rc = sr_buf_append_bytes(buf, SR_LIT(",\"loras\":["));
    for (size_t i = 0; !rc && i < loras->count; i++) {
        const struct sr_name_value *lora = &loras->items[i];
        rc = sr_buf_printf(buf, "%s%s\"", i ? "," : "", lora->value[0] ? "{\"name\":" : "");
        if (!rc)
            rc = sr_buf_append_json(buf, sr_bytes_str(lora->name));
        if (!rc && lora->value[0])
            rc = sr_buf_append_bytes(buf, SR_LIT("\",\"description\":\""));
        if (!rc && lora->value[0])
            rc = sr_buf_append_json(buf, sr_bytes_str(lora->value));
        if (!rc)
            rc = sr_buf_append_bytes(buf, lora->value[0] ? SR_LIT("\"}") : SR_LIT("\""));
    }
    return rc ? rc : sr_buf_append(buf, "]", 1);
}

static int append_text(struct sr_buf *buf, const char *key, const char *text)
{
    if (!text[0])
        return SR_OK;
    int rc = sr_buf_printf(buf, ",\"%s\":\"", key);
    if (!rc)
        rc = sr_buf_append_json(buf, sr_bytes_str(text));
    return rc ? rc : sr_buf_append(buf, "\"", 1);
}

static int append_head(struct sr_buf *buf, const struct sr_router *router, const char *id, const char *owner)
{
    int rc = sr_buf_append_bytes(buf, SR_LIT("{\"id\":\""));
    if (!rc)
        rc = sr_buf_append_json(buf, sr_bytes_str(id));
    if (!rc)
        rc = sr_buf_printf(buf, "\",\"object\":\"model\",\"created\":%llu,\"owned_by\":\"%s\"",
                           (unsigned long long)router->created, owner);
    return rc;
}

static int append_auto(struct sr_buf *buf, const struct sr_router *router, const char *name, bool first)
{
    int rc = append_head(buf, router, name, "semroute");
    if (!rc)
        rc = sr_buf_printf(
            buf,
            ",\"description\":\"Chooses the model that suits the request\","
            "\"routing\":{\"resolution\":\"virtual\",\"selectable\":true,\"default_route\":%s}}",
            first ? "true" : "false");
    return rc;
}

static int append_model(struct sr_buf *buf, const struct sr_router *router,
                        const struct sr_config_model *model)
{
    int rc = append_head(buf, router, model->name, "upstream-endpoint");
    if (!rc)
        rc = append_text(buf, "description", model->description);
    if (!rc)
        rc = append_text(buf, "param_size", model->param_size);
    if (!rc)
        rc = append_text(buf, "modality", model->modality);
    if (!rc && model->context_window)
        rc = sr_buf_printf(buf, ",\"context_window_size\":%llu,\"max_model_len\":%llu",
                           (unsigned long long)model->context_window,
                           (unsigned long long)model->context_window);
    if (!rc && model->quality_score > 0)
        rc = sr_buf_printf(buf, ",\"quality_score\":%g", model->quality_score);
    if (!rc)
        rc = append_strings(buf, "capabilities", &model->capabilities);
    if (!rc)
        rc = append_strings(buf, "tags", &model->tags);
    if (!rc)
        rc = append_loras(buf, &model->loras);
    if (!rc)
        rc = sr_buf_append_bytes(buf,
                                 SR_LIT(",\"routing\":{\"resolution\":\"passthrough\",\"selectable\":true,"
                                        "\"default_route\":false}}"));
    return rc;
}

int sr_reply_models(const struct sr_router *router, struct sr_buf *out)
{
    const struct sr_config *config = router->config;
    const struct sr_strings *names = &config->global.auto_model_names;
    size_t n = config->global.include_config_models_in_list ? config->n_models : 0;
    int rc = sr_buf_append_bytes(out, SR_LIT("{\"object\":\"list\",\"data\":["));
    for (size_t i = 0; !rc && i < names->count + n; i++) {
        if (i)
            rc = sr_buf_append(out, ",", 1);
        if (!rc)
            rc = i < names->count ? append_auto(out, router, names->items[i], i == 0)
                                  : append_model(out, router, &config->models[i - names->count]);
    }
    return rc ? rc : sr_buf_append(out, "]}", 2);
}

static int hex(char c)
{
    return c >= '0' && c <= '9'                                   ? c - '0'
           : sr_ascii_lower(c) >= 'a' && sr_ascii_lower(c) <= 'f' ? sr_ascii_lower(c) - 'a' + 10
                                                                  : -1;
}

/* Percent-decodes into the arena; a broken escape stays as it is. */
static struct sr_bytes percent_decode(struct sr_bytes s, struct sr_arena *arena)
{
    char *out = sr_arena_alloc(arena, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; out && i < s.n; i++) {
        bool escape = s.p[i] == '%' && i + 2 < s.n && hex(s.p[i + 1]) >= 0 && hex(s.p[i + 2]) >= 0;
        out[n++] = escape ? (char)(hex(s.p[i + 1]) * 16 + hex(s.p[i + 2])) : s.p[i];
        i += escape ? 2 : 0;
    }
    return (struct sr_bytes){out, n};
}

int sr_reply_model(const struct sr_router *router, struct sr_bytes escaped_id, struct sr_arena *arena,
                   struct sr_refusal *refusal, struct sr_buf *out)
{
    const struct sr_config *config = router->config;
    struct sr_bytes id = percent_decode(escaped_id, arena);
    int model = id.p ? sr_config_find_model(config, id) : -1;
    bool automatic = id.p && sr_config_is_auto(config, id);
    if (model < 0 && !automatic) {
        sr_refuse(refusal, 404, "model_not_found", "model", "model \"%.*s\" is not available",
                  (int)(id.n < 128 ? id.n : 128), id.p ? id.p : "");
        return SR_ENOENT;
    }
    if (model >= 0)
        return append_model(out, router, &config->models[model]);
    return append_auto(out, router, sr_arena_dup(arena, id).p, false);
}
