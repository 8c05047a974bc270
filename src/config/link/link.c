/* Models, families, cards and candidates. The node tree has the positions, the structs have the values. */
#include "config/link/link.h"

#include "config/bind/hint.h"
#include "config/link/access.h"
#include "config/link/cache.h"
#include "config/link/domains.h"
#include "config/link/dropped.h"
#include "config/link/formats.h"
#include "config/link/guards.h"
#include "config/link/names.h"
#include "config/link/on_error.h"
#include "config/link/pools.h"
#include "config/link/projections.h"
#include "config/link/replay.h"
#include "config/link/responses.h"
#include "config/link/rules.h"
#include "config/link/signals.h"
#include "config/link/tools.h"
#include "config/link/tracing.h"
#include "config/section/section.h"

#include <string.h>

/* Index of the model that a node names, -1 with a problem. A model that is to be `used` without a backend is
 * told: behind Envoy it needs none. */
static int find_model(struct sr_binder *b, const struct sr_config *config, const struct sr_yaml_node *node,
                      bool used)
{
    char hint[SR_LINK_HINT_SIZE];
    int model = sr_config_find_model(config, node->text);
    if (model < 0)
        sr_bind_error(b, node, "no model `%.60s` in providers.models%s", node->text.p,
                      sr_link_model_hint(config, node->text, hint, sizeof hint));
    else if (used && !sr_config_is_served(config, model))
        sr_bind_warning(b, node,
                        "model `%.60s` has no backend_refs: only an Envoy that routes by `x-selected-model` "
                        "can answer for it",
                        node->text.p);
    return model;
}

static void link_family(struct sr_binder *b, const struct sr_yaml_node *node, const struct sr_config *config,
                        struct sr_config_model *model)
{
    char hint[SR_LINK_HINT_SIZE];
    const struct sr_yaml_node *name = sr_link_name(node, "reasoning_family");
    struct sr_nearest nearest = {.word = name ? name->text : SR_LIT("")};
    if (!name)
        return;
    for (size_t i = 0; i < config->n_families; i++) {
        if (sr_bytes_eq(name->text, sr_bytes_str(config->families[i].name))) {
            model->family = (int)i;
            return;
        }
        sr_nearest_try(&nearest, config->families[i].name);
    }
    sr_bind_error(b, name, "no family `%.60s` in providers.defaults.reasoning_families%s", name->text.p,
                  sr_nearest_hint(&nearest, hint, sizeof hint));
}

static void link_models(struct sr_binder *b, const struct sr_yaml_node *list, struct sr_config *config)
{
    sr_link_unique(b, list, "name", "model");
    for (size_t i = 0; i < config->n_models; i++) {
        struct sr_config_model *model = &config->models[i];
        const struct sr_yaml_node *node = sr_link_item(list, i);
        link_family(b, node, config, model);
        sr_link_unique(b, sr_yaml_get(node, "backend_refs"), "name", "backend");
        const struct sr_yaml_node *name = sr_link_name(node, "name");
        if (name && sr_config_is_auto(config, name->text))
            sr_bind_warning(b, name, "`%.60s` asks the router to choose: a client cannot name this model",
                            name->text.p);
    }
    if (config->n_models == 0)
        sr_bind_warning(b, list, "providers.models is empty: there is no model to route to");
}

/* Two listeners cannot have one address and port; port 0 is another one each time. */
static void link_listeners(struct sr_binder *b, const struct sr_yaml_node *list,
                           const struct sr_config *config)
{
    sr_link_unique(b, list, "name", "listener");
    for (size_t i = 1; i < config->n_listeners; i++) {
        const struct sr_config_listener *listener = &config->listeners[i];
        for (size_t j = 0; listener->port && j < i; j++) {
            const struct sr_config_listener *earlier = &config->listeners[j];
            if (earlier->port != listener->port || strcmp(earlier->address, listener->address) != 0)
                continue;
            sr_bind_error(b, sr_bind_at(sr_link_item(list, i), "port"),
                          "listener %zu has the address and port of listener %zu: %.60s:%d", i + 1, j + 1,
                          listener->address, listener->port);
            break;
        }
    }
}

static void link_cards(struct sr_binder *b, const struct sr_yaml_node *list, struct sr_config *config)
{
    sr_link_unique(b, list, "name", "model card");
    for (size_t i = 0; i < config->n_cards; i++) {
        const struct sr_config_model *card = &config->cards[i];
        const struct sr_yaml_node *name = sr_link_name(sr_link_item(list, i), "name");
        int index = sr_config_find_model(config, sr_bytes_str(card->name));
        if (index < 0) {
            if (name)
                sr_bind_warning(b, name, "model card `%.60s` has no model of that name in providers.models",
                                card->name);
            continue;
        }
        struct sr_config_model *model = &config->models[index];
        model->description = card->description;
        model->param_size = card->param_size;
        model->modality = card->modality;
        model->context_window = card->context_window;
        model->quality_score = card->quality_score;
        model->capabilities = card->capabilities;
        model->tags = card->tags;
        model->loras = card->loras;
    }
}

static void check_lora(struct sr_binder *b, const struct sr_yaml_node *node,
                       const struct sr_config_model *model)
{
    char hint[SR_LINK_HINT_SIZE];
    const struct sr_yaml_node *name = sr_link_name(node, "lora_name");
    struct sr_nearest nearest = {.word = name ? name->text : SR_LIT("")};
    if (!name || model->loras.count == 0)
        return;
    for (size_t i = 0; i < model->loras.count; i++) {
        if (sr_bytes_eq(name->text, sr_bytes_str(model->loras.items[i].name)))
            return;
        sr_nearest_try(&nearest, model->loras.items[i].name);
    }
    sr_bind_error(b, name, "model card `%.60s` lists no lora `%.60s`%s", model->name, name->text.p,
                  sr_nearest_hint(&nearest, hint, sizeof hint));
}

static void link_refs(struct sr_binder *b, const struct sr_yaml_node *list, const struct sr_config *config,
                      struct sr_config_decision *decision)
{
    for (size_t i = 0; i < decision->n_refs; i++) {
        struct sr_config_model_ref *ref = &decision->refs[i];
        const struct sr_yaml_node *node = sr_link_item(list, i), *name = sr_link_name(node, "model");
        ref->model = name ? find_model(b, config, name, true) : -1;
        if (ref->model < 0)
            continue;
        check_lora(b, node, &config->models[ref->model]);
        if (ref->use_reasoning && config->models[ref->model].family < 0)
            sr_bind_warning(b, sr_bind_at(node, "use_reasoning"),
                            "model `%.60s` has no reasoning_family, so `use_reasoning` changes nothing",
                            name->text.p);
    }
}

static void link_decisions(struct sr_binder *b, const struct sr_yaml_node *list, struct sr_config *config)
{
    sr_link_unique(b, list, "name", "decision");
    for (size_t i = 0; i < config->n_decisions; i++) {
        struct sr_config_decision *decision = &config->decisions[i];
        const struct sr_yaml_node *node = sr_link_item(list, i);
        link_refs(b, sr_yaml_get(node, "modelRefs"), config, decision);
        bool answers = decision->plugins.fast_response.set || decision->plugins.guard.set;
        if (node && decision->n_refs == 0 && !answers && config->default_model < 0)
            sr_bind_error(b, node, "decision `%.60s` has no modelRefs, and there is no default_model",
                          decision->name);
    }
}

static void link_scores(struct sr_binder *b, const struct sr_yaml_node *domains,
                        const struct sr_config *config)
{
    for (size_t i = 0; i < config->n_domains; i++) {
        const struct sr_yaml_node *scores = sr_yaml_get(sr_link_item(domains, i), "model_scores");
        for (size_t j = 0; j < config->domains[i].n_scores; j++) {
            const struct sr_yaml_node *name = sr_link_name(sr_link_item(scores, j), "model");
            if (name)
                (void)find_model(b, config, name, false);
        }
    }
}

static void link_auto_names(struct sr_binder *b, struct sr_config *config)
{
    struct sr_strings own = config->global.auto_model_names;
    const char **names = sr_bind_calloc(b, own.count + 3, sizeof *names);
    if (!names)
        return;
    names[0] = "auto";
    names[1] = "vllm-sr/auto";
    names[2] = config->global.auto_model_name;
    for (size_t i = 0; i < own.count; i++)
        names[3 + i] = own.items[i];
    config->global.auto_model_names = (struct sr_strings){names, own.count + 3};
}

/* global.router.strategy holds where routing.strategy is not given. */
static void link_strategy(const struct sr_yaml_node *routing, const struct sr_yaml_node *global,
                          struct sr_config *config)
{
    const struct sr_yaml_node *strategy = sr_link_name(sr_yaml_get(global, "router"), "strategy");
    if (sr_yaml_get(routing, "strategy") || !strategy)
        return;
    for (const struct sr_enum_word *word = sr_strategy_words; word->word; word++)
        if (sr_bytes_eq(strategy->text, sr_bytes_str(word->word)))
            config->strategy = (enum sr_strategy)word->value;
}

static void link_signal_names(struct sr_binder *b, const struct sr_yaml_node *signals)
{
    for (size_t i = 0; i < sr_section_signals.n_fields; i++) {
        const struct sr_field *rules = &sr_section_signals.fields[i];
        sr_link_unique(b, sr_yaml_get(signals, rules->key), "name", rules->of->name);
    }
}

int sr_link_find_lora(const struct sr_config *config, struct sr_bytes name)
{
    for (size_t i = 0; i < config->n_models; i++)
        for (size_t k = 0; k < config->models[i].loras.count; k++)
            if (sr_bytes_eq(name, sr_bytes_str(config->models[i].loras.items[k].name)))
                return (int)i;
    return -1;
}

/* The default model: one of the models, an adapter of one, or with a warning none of them. */
static void link_default(struct sr_binder *b, const struct sr_yaml_node *defaults, struct sr_config *config)
{
    char hint[SR_LINK_HINT_SIZE];
    const struct sr_yaml_node *name = sr_link_name(defaults, "default_model");
    config->default_lora = "";
    if (!name && config->n_models)
        sr_bind_warning(b, defaults, "no default_model: a request that no decision matches is refused");
    if (!name)
        return;
    int adapted = sr_link_find_lora(config, name->text);
    if (sr_config_find_model(config, name->text) >= 0 ||
        (adapted < 0 && sr_link_model_hint(config, name->text, hint, sizeof hint)[0])) {
        config->default_model = find_model(b, config, name, true);
    } else if (adapted >= 0) {
        config->default_model = adapted;
        config->default_lora = sr_bind_dup(b, name->text);
    } else {
        sr_bind_warning(b, name,
                        "no model `%.60s` in providers.models: a request that no decision matches is refused",
                        name->text.p);
    }
}

/* The algorithm of decisions that name none. */
static void link_selection(const struct sr_yaml_node *decisions, struct sr_config *config)
{
    if (!config->global.model_selection.enabled)
        return;
    for (size_t i = 0; i < config->n_decisions; i++)
        if (!sr_yaml_get(sr_link_item(decisions, i), "algorithm"))
            config->decisions[i].algorithm = config->global.model_selection.algorithm;
}

void sr_link_profile(struct sr_binder *b, const struct sr_yaml_node *root, const struct sr_yaml_node *owner,
                     struct sr_config *config)
{
    const struct sr_yaml_node *routing = sr_yaml_get(owner, "routing");
    const struct sr_yaml_node *global = sr_yaml_get(root, "global");
    const struct sr_yaml_node *signals = sr_yaml_get(routing, "signals");
    const struct sr_yaml_node *decisions = sr_yaml_get(routing, "decisions");
    link_selection(decisions, config);
    link_decisions(b, decisions, config);
    link_scores(b, sr_yaml_get(signals, "domains"), config);
    link_strategy(routing, global, config);
    link_signal_names(b, signals);
    sr_link_domains(b, root, routing, config);
    sr_link_implied_domains(b, config);
    sr_link_guard_rules(b, routing, config);
    sr_link_cache_uses(b, decisions, config);
    sr_link_tools(b, decisions, config);
    sr_link_signals(b, routing, config);
    sr_link_rules(b, routing, config);
    sr_link_projections(b, routing, config);
    sr_link_on_error(b, routing, config);
    sr_link_dropped(b, owner, routing, config);
}

void sr_config_link(struct sr_binder *b, const struct sr_yaml_node *root, const struct sr_yaml_node *top,
                    struct sr_config *config)
{
    const struct sr_yaml_node *providers = sr_yaml_get(root, "providers");
    const struct sr_yaml_node *routing = sr_yaml_get(root, "routing");
    link_auto_names(b, config);
    if (b->rc)
        return;
    link_listeners(b, sr_yaml_get(root, "listeners"), config);
    link_models(b, sr_yaml_get(providers, "models"), config);
    sr_link_formats(b, root, config);
    link_cards(b, sr_yaml_get(routing, "modelCards"), config);
    link_default(b, sr_bind_at(providers, "defaults"), config);
    sr_link_guards(b, root, config);
    sr_link_access(b, root, config);
    sr_link_cache(b, root, config);
    sr_link_pools(b, root, config);
    sr_link_replay(b, root, config);
    sr_link_responses(b, root, config);
    sr_link_tracing(b, root, config);
    sr_link_kbs(b, root, config);
    sr_link_profile(b, root, top, config);
}
