/* The conventions' words. What a backend's provider is called is known of the configuration. */
#include "router/report/gen_ai.h"

#include <string.h>

const char *sr_gen_ai_operation(const char *dialect)
{
    static const char *const names[][2] = {
        {"chat", "chat"},
        {"messages", "chat"},
        {"responses", "chat"},
        {"completions", "text_completion"},
        {"embeddings", "embeddings"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(dialect, names[i][0]) == 0)
            return names[i][1];
    return dialect;
}

const char *sr_gen_ai_provider(const struct sr_config *config, int model, const char *target)
{
    const struct sr_config_model *m = model >= 0 ? &config->models[model] : NULL;
    for (size_t i = 0; m && target && i < m->n_backends; i++)
        if (strcmp(m->backends[i].name, target) == 0)
            return m->backends[i].provider;
    return m && m->n_backends ? m->backends[0].provider : "openai";
}

const char *sr_gen_ai_provider_of(const struct sr_record *r, const struct sr_config *config)
{
    const struct sr_record_try *last = r->n_tries ? &r->tries[r->n_tries - 1] : NULL;
    if (last)
        return sr_gen_ai_provider(config, last->model_index, last->target);
    if (r->has_verdict && r->model >= 0)
        return sr_gen_ai_provider(config, r->model, NULL);
    return strcmp(r->dialect, "messages") == 0 ? "anthropic" : "openai";
}

const char *sr_gen_ai_request_model(const struct sr_record *r, const struct sr_config *config)
{
    if (r->automatic)
        return "auto";
    return r->requested_model >= 0 ? config->models[r->requested_model].name : "";
}
