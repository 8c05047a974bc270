/* Walks the configuration; the spelling of members is the peer's. */
#include "serve/admin/inventory.h"

#include "base/json_write.h"

static void put_decisions(struct sr_json_writer *w, const struct sr_config *config,
                          const struct sr_config *of)
{
    sr_json_array(w, "Decisions");
    for (size_t i = 0; i < of->n_decisions; i++) {
        const struct sr_config_decision *decision = &of->decisions[i];
        sr_json_object(w, NULL);
        sr_json_text(w, "Name", decision->name);
        sr_json_text(w, "Description", decision->description ? decision->description : "");
        sr_json_real(w, "Priority", "%.0f", (double)decision->priority);
        sr_json_array(w, "ModelRefs");
        for (size_t k = 0; k < decision->n_refs; k++)
            sr_json_text(w, NULL, config->models[decision->refs[k].model].name);
        sr_json_array_end(w);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
}

static void put_categories(struct sr_json_writer *w, const struct sr_config *of)
{
    sr_json_array(w, "Categories");
    for (size_t i = 0; i < of->n_domains; i++)
        sr_json_text(w, NULL, of->domains[i].name);
    sr_json_array_end(w);
}

int sr_api_inventory(sr_runtime *runtime, struct sr_buf *out)
{
    const struct sr_config *config = sr_runtime_config(runtime);
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_text(&w, "status", "config_loaded");
    sr_json_object(&w, "config");
    put_decisions(&w, config, config);
    put_categories(&w, config);
    sr_json_array(&w, "recipes");
    for (size_t i = 0; i < config->n_recipes; i++) {
        sr_json_object(&w, NULL);
        sr_json_text(&w, "name", config->recipes[i].name);
        put_decisions(&w, config, &config->recipes[i].config);
        sr_json_object_end(&w);
    }
    sr_json_array_end(&w);
    sr_json_object_end(&w);
    sr_json_object_end(&w);
    sr_config_unref(config);
    return w.rc;
}
