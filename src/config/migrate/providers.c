/* vllm_endpoints, model_config and reasoning_families become `providers`, loras become `routing.modelCards`
 * entries. */
#include "config/migrate/parts.h"

#include "config/section/section.h"

#include <stdio.h>

static const char *const family_types[] = {"chat_template_kwargs", "reasoning_effort", NULL};

static bool is_effort(const struct sr_yaml_node *node)
{
    for (const struct sr_enum_word *word = sr_effort_words; word->word; word++)
        if (sr_bytes_eq(node->text, sr_bytes_str(word->word)))
            return true;
    return false;
}

static const struct sr_yaml_node *good_family(struct sr_migration *m, struct sr_bytes name)
{
    const struct sr_yaml_node *families = sr_migrate_map(m, m->old, "reasoning_families");
    const struct sr_yaml_node *family = families ? sr_yaml_get(families, name.p) : NULL;
    const struct sr_yaml_node *type = sr_yaml_get(family, "type"),
                              *parameter = sr_yaml_get(family, "parameter");
    bool good = type && type->kind == SR_YAML_SCALAR && sr_migrate_is_word(type, family_types) && parameter &&
                parameter->kind == SR_YAML_SCALAR && parameter->text.n;
    return good ? family : NULL;
}

static void put_defaults(struct sr_migration *m)
{
    const struct sr_yaml_node *effort = sr_migrate_scalar(m, m->old, "default_reasoning_effort");
    const struct sr_yaml_node *families = sr_migrate_map(m, m->old, "reasoning_families");
    sr_migrate_put(m, "  defaults:\n");
    sr_migrate_copy(m, m->old, "default_model", "    ", "default_model");
    if (effort && is_effort(effort))
        sr_migrate_copy(m, m->old, "default_reasoning_effort", "    ", "default_reasoning_effort");
    else if (effort)
        sr_migrate_note(m, effort, "unknown reasoning effort `%.40s`", effort->text.p);
    if (families)
        sr_migrate_put(m, "    reasoning_families:\n");
    for (size_t i = 0; families && i < families->count; i++) {
        const struct sr_yaml_node *family = good_family(m, families->keys[i]->text);
        if (!family) {
            sr_migrate_note(m, families->keys[i],
                            "reasoning family `%.60s` needs a known `type` and a `parameter`",
                            families->keys[i]->text.p);
            continue;
        }
        sr_migrate_put(m, "      ");
        sr_migrate_string(m, families->keys[i]->text);
        sr_migrate_put(m, ":\n");
        sr_migrate_copy(m, family, "type", "        ", "type");
        sr_migrate_copy(m, family, "parameter", "        ", "parameter");
    }
}

static void put_endpoint(struct sr_migration *m, const struct sr_yaml_node *endpoint,
                         const struct sr_yaml_node *model)
{
    const struct sr_yaml_node *address = sr_migrate_scalar(m, endpoint, "address");
    const struct sr_yaml_node *port = sr_migrate_scalar(m, endpoint, "port");
    const struct sr_yaml_node *weight = sr_migrate_scalar(m, endpoint, "weight");
    char place[512];
    double share = 0;
    bool v6 = address && memchr(address->text.p, ':', address->text.n);
    sr_migrate_put(m, "        - name: ");
    sr_migrate_value(m, sr_migrate_scalar(m, endpoint, "name"));
    sr_migrate_put(m, "\n          endpoint: ");
    int n = snprintf(place, sizeof place, "%s%s%s:%s", v6 ? "[" : "", address ? address->text.p : "127.0.0.1",
                     v6 ? "]" : "", port ? port->text.p : "8000");
    if (n < 0 || (size_t)n >= sizeof place)
        sr_migrate_note(m, endpoint, "the endpoint's address is too long and was cut");
    sr_migrate_string(m, sr_bytes_str(place));
    sr_migrate_put(m, "\n");
    if (weight && sr_yaml_to_double(weight, &share) && share > 0)
        sr_migrate_copy(m, endpoint, "weight", "          ", "weight");
    sr_migrate_copy(m, model, "access_key", "          ", "api_key");
}

static bool lists(const struct sr_yaml_node *list, struct sr_bytes name)
{
    for (size_t i = 0; list && list->kind == SR_YAML_LIST && i < list->count; i++)
        if (list->items[i]->kind == SR_YAML_SCALAR && sr_bytes_eq(list->items[i]->text, name))
            return true;
    return false;
}

/* The endpoints that a model prefers; else those that list it; else all. */
static void put_backends(struct sr_migration *m, const struct sr_yaml_node *name,
                         const struct sr_yaml_node *model)
{
    const struct sr_yaml_node *endpoints = sr_migrate_list(m, m->old, "vllm_endpoints");
    const struct sr_yaml_node *preferred = sr_migrate_list(m, model, "preferred_endpoints");
    size_t written = 0;
    sr_migrate_put(m, "      backend_refs:\n");
    for (int pass = 0; pass < 3 && written == 0; pass++) {
        if (pass == 2 && endpoints && endpoints->count > 1)
            sr_migrate_note(m, name, "no endpoint lists model `%.60s`: all of them serve it", name->text.p);
        for (size_t i = 0; endpoints && i < endpoints->count; i++) {
            const struct sr_yaml_node *endpoint = endpoints->items[i], *id = sr_yaml_get(endpoint, "name");
            bool chosen = pass == 2 || (pass == 1 && lists(sr_yaml_get(endpoint, "models"), name->text)) ||
                          (pass == 0 && id && id->kind == SR_YAML_SCALAR && lists(preferred, id->text));
            if (chosen && endpoint->kind == SR_YAML_MAP &&
                (!id || sr_migrate_named(endpoints, id->text) == endpoint)) {
                put_endpoint(m, endpoint, model);
                written++;
            }
        }
    }
    if (written)
        return;
    sr_migrate_note(m, name, "no endpoint for model `%.60s`: 127.0.0.1:8000 was written, change it",
                    name->text.p);
    sr_migrate_put(m, "        - {name: change-me, endpoint: \"127.0.0.1:8000\"}\n");
}

static void put_pricing(struct sr_migration *m, const struct sr_yaml_node *model)
{
    const struct sr_yaml_node *pricing = sr_migrate_map(m, model, "pricing");
    if (!pricing)
        return;
    sr_migrate_put(m, "      pricing:\n");
    sr_migrate_copy(m, pricing, "currency", "        ", "currency");
    sr_migrate_copy(m, pricing, "prompt_per_1m", "        ", "prompt_per_1m");
    sr_migrate_copy(m, pricing, "completion_per_1m", "        ", "completion_per_1m");
}

static void put_model(struct sr_migration *m, const struct sr_yaml_node *name)
{
    static const char *const known[] = {
        "reasoning_family", "preferred_endpoints", "pricing", "access_key", "loras", "pii_policy", NULL};
    const struct sr_yaml_node *configs = sr_migrate_map(m, m->old, "model_config");
    const struct sr_yaml_node *model = configs ? sr_yaml_get(configs, name->text.p) : NULL;
    const struct sr_yaml_node *family = sr_migrate_scalar(m, model, "reasoning_family");
    sr_migrate_put(m, "    - name: ");
    sr_migrate_string(m, name->text);
    sr_migrate_put(m, "\n");
    if (family && good_family(m, family->text))
        sr_migrate_copy(m, model, "reasoning_family", "      ", "reasoning_family");
    else if (family)
        sr_migrate_note(m, family, "reasoning family `%.60s` is not defined", family->text.p);
    put_pricing(m, model);
    put_backends(m, name, model);
    sr_migrate_rest(m, model, known, "model_config");
}

/* Each name once, in the order in which the old file mentions it. */
struct names {
    const struct sr_yaml_node *items[SR_YAML_MAX_KEYS];
    size_t count;
};

static void add_name(struct names *names, const struct sr_yaml_node *name)
{
    if (!name || name->kind != SR_YAML_SCALAR || name->text.n == 0 || names->count == SR_YAML_MAX_KEYS)
        return;
    for (size_t i = 0; i < names->count; i++)
        if (sr_bytes_eq(names->items[i]->text, name->text))
            return;
    names->items[names->count++] = name;
}

static void add_names(struct names *names, const struct sr_yaml_node *list, const char *inner)
{
    for (size_t i = 0; list && i < list->count; i++) {
        const struct sr_yaml_node *refs = sr_yaml_get(list->items[i], inner);
        for (size_t j = 0; refs && refs->kind == SR_YAML_LIST && j < refs->count; j++) {
            const struct sr_yaml_node *ref = refs->items[j];
            add_name(names, ref->kind == SR_YAML_MAP ? sr_yaml_get(ref, "model") : ref);
        }
    }
}

void sr_migrate_providers(struct sr_migration *m)
{
    static const char *const endpoint_keys[] = {"name", "address", "port", "weight", "models", NULL};
    struct names names = {.count = 0};
    const struct sr_yaml_node *configs = sr_migrate_map(m, m->old, "model_config");
    const struct sr_yaml_node *endpoints = sr_migrate_list(m, m->old, "vllm_endpoints");
    for (size_t i = 0; configs && i < configs->count; i++)
        add_name(&names, configs->keys[i]);
    add_name(&names, sr_migrate_scalar(m, m->old, "default_model"));
    add_names(&names, endpoints, "models");
    add_names(&names, sr_migrate_list(m, m->old, "categories"), "model_scores");
    add_names(&names, sr_migrate_list(m, m->old, "decisions"), "modelRefs");
    sr_migrate_put(m, "providers:\n");
    put_defaults(m);
    sr_migrate_put(m, names.count ? "  models:\n" : "  models: []\n");
    for (size_t i = 0; i < names.count; i++)
        put_model(m, names.items[i]);
    for (size_t i = 0; endpoints && i < endpoints->count; i++)
        sr_migrate_rest(m, endpoints->items[i], endpoint_keys, "vllm_endpoints");
}
