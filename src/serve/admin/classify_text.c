/* One text: asks a classifier about it, applies the options of the call, and writes what it found. */
#include "serve/admin/classify_text.h"

#include "base/clock.h"
#include "text/disguise/deobfuscate.h"

#include <stdio.h>

static void fail(struct sr_api_classify_call *call, int rc)
{
    if (!call->json.rc)
        call->json.rc = rc;
}

void sr_api_put_time(struct sr_api_classify_call *call, uint64_t start)
{
    sr_json_uint(&call->json, "processing_time_ms", (sr_clock_ns() - start) / SR_NS_PER_MS);
}

static double number_or(const sr_doc_value *options, const char *name, double otherwise)
{
    double value;
    return sr_doc_number(sr_doc_get(options, name), &value) && value > 0 && value <= 1 ? value : otherwise;
}

/* A classifier's answer about a text; NULL when there is none. */
static const struct sr_signal_result *ask(struct sr_api_classify_call *call, enum sr_signal_type type,
                                          struct sr_bytes text)
{
    const struct sr_signal_result *result;
    const struct sr_readers *readers = sr_router_readers(call->router);
    if (!readers || sr_readers_missing(readers, type)) {
        call->missing = sr_signal_registry[type]->name;
        return NULL;
    }
    int rc = sr_readers_read(readers, type, text, SR_LIT(""), SR_LIT("api"), &call->arena, &result);
    if (rc)
        fail(call, rc);
    return rc ? NULL : result;
}

/* ---- intent ---- */

/* The model that the configuration scores best in a category, else the default one; "" for none. */
static const char *recommended(const struct sr_config *config, const char *category)
{
    const struct sr_config_model_score *best = NULL;
    for (size_t i = 0; i < config->n_domains; i++) {
        const struct sr_config_domain *domain = &config->domains[i];
        bool covers = false;
        for (size_t k = 0; k < domain->mmlu_categories.count; k++)
            covers |=
                sr_bytes_eq_nocase(sr_bytes_str(domain->mmlu_categories.items[k]), sr_bytes_str(category));
        for (size_t k = 0; covers && k < domain->n_scores; k++)
            if (!best || domain->scores[k].score > best->score)
                best = &domain->scores[k];
    }
    if (best)
        return best->model;
    return config->default_model >= 0 ? config->models[config->default_model].name : "";
}

bool sr_api_read_intent(struct sr_api_classify_call *call, struct sr_bytes text, const sr_doc_value *options,
                        struct sr_api_intent *intent)
{
    intent->result = ask(call, SR_SIGNAL_DOMAIN, text);
    if (!intent->result)
        return false;
    intent->category = intent->result->labels[intent->result->top];
    intent->confidence = (double)intent->result->probabilities[intent->result->top];
    if (intent->confidence < number_or(options, "confidence_threshold", 0))
        intent->category = call->router->config->global.domain_fallback;
    return true;
}

void sr_api_put_probabilities(struct sr_api_classify_call *call, const struct sr_api_intent *intent)
{
    struct sr_json_writer *w = &call->json;
    sr_json_object(w, "probabilities");
    for (size_t i = 0; i < intent->result->n_labels; i++) {
        sr_json_name(w, sr_bytes_str(intent->result->labels[i]));
        sr_json_real(w, NULL, "%.6f", (double)intent->result->probabilities[i]);
    }
    sr_json_object_end(w);
}

void sr_api_put_intent(struct sr_api_classify_call *call, const char *key, struct sr_bytes text,
                       const sr_doc_value *options)
{
    struct sr_api_intent intent;
    struct sr_json_writer *w = &call->json;
    uint64_t start = sr_clock_ns();
    if (!sr_api_read_intent(call, text, options, &intent))
        return;
    sr_json_object(w, key);
    sr_json_object(w, "classification");
    sr_json_text(w, "category", intent.category);
    sr_json_real(w, "confidence", "%.6f", intent.confidence);
    sr_api_put_time(call, start);
    sr_json_object_end(w);
    if (sr_doc_is_true(sr_doc_get(options, "return_probabilities")))
        sr_api_put_probabilities(call, &intent);
    sr_json_text(w, "recommended_model", recommended(call->router->config, intent.category));
    sr_json_text(w, "routing_decision",
                 intent.confidence >= SR_API_SURE ? "high_confidence_specialized" : "low_confidence_general");
    sr_json_object_end(w);
}

/* ---- private data ---- */

/* Reads the types asked for; all without a list. False: one of them is unknown. */
static bool wanted_types(const sr_doc_value *options, uint32_t *types)
{
    const sr_doc_value *list = sr_doc_get(options, "entity_types");
    *types = sr_doc_size(list) ? 0 : ~UINT32_C(0);
    for (size_t i = 0; i < sr_doc_size(list); i++) {
        struct sr_bytes name = sr_doc_string(sr_doc_at(list, i));
        int type = name.p ? sr_entity_find_type(name) : -1;
        if (type < 0)
            return false;
        *types |= UINT32_C(1) << type;
    }
    return true;
}

struct masks {
    uint32_t numbers[SR_ENTITY_TYPES];
};

static const char *mask_of(struct sr_api_classify_call *call, struct masks *masks, uint32_t type)
{
    const char *mask =
        sr_arena_printf(&call->arena, "[%s_%u]", sr_entity_names[type], (unsigned)++masks->numbers[type]);
    if (!mask)
        fail(call, SR_ENOMEM);
    return mask ? mask : "";
}

static void put_entity(struct sr_api_classify_call *call, const struct sr_signal_finding *entity,
                       struct sr_bytes text, const sr_doc_value *options, const char *mask)
{
    const sr_doc_value *positions = sr_doc_get(options, "return_positions");
    struct sr_json_writer *w = &call->json;
    bool reveal = sr_doc_is_true(sr_doc_get(options, "reveal_entity_text"));
    sr_json_object(w, NULL);
    sr_json_text(w, "type", sr_entity_names[entity->type]);
    sr_json_bytes(w, "value",
                  reveal ? sr_bytes_of(text.p + entity->start, entity->end - entity->start)
                         : SR_LIT("[DETECTED]"));
    sr_json_real(w, "confidence", "%.6f", (double)entity->confidence);
    if (!positions || sr_doc_is_true(positions)) {
        sr_json_uint(w, "start_position", entity->start);
        sr_json_uint(w, "end_position", entity->end);
    }
    if (mask)
        sr_json_text(w, "masked_value", mask);
    sr_json_object_end(w);
}

bool sr_api_read_pii(struct sr_api_classify_call *call, struct sr_bytes text, const sr_doc_value *options,
                     struct sr_api_found *found)
{
    uint32_t types;
    if (!wanted_types(options, &types)) {
        fail(call, SR_EINVAL);
        return false;
    }
    double threshold = number_or(options, "confidence_threshold", call->router->config->global.pii_threshold);
    const struct sr_signal_result *all = ask(call, SR_SIGNAL_PII, text);
    if (!all)
        return false;
    struct sr_signal_finding *kept = sr_arena_calloc(&call->arena, all->n_findings + 1, sizeof *kept);
    if (!kept) {
        fail(call, SR_ENOMEM);
        return false;
    }
    *found = (struct sr_api_found){.items = kept};
    for (size_t i = 0; i < all->n_findings; i++)
        if ((types >> all->findings[i].type & 1) && (double)all->findings[i].confidence >= threshold)
            kept[found->n++] = all->findings[i];
    return true;
}

static void put_masked_text(struct sr_api_classify_call *call, struct sr_bytes text,
                            const struct sr_api_found *found, const char *const *tokens)
{
    size_t at = 0;
    sr_json_string(&call->json, "masked_text");
    for (size_t i = 0; i < found->n; i++) {
        sr_json_string_part(&call->json, sr_bytes_of(text.p + at, found->items[i].start - at));
        sr_json_string_part(&call->json, sr_bytes_str(tokens[i]));
        at = found->items[i].end;
    }
    sr_json_string_part(&call->json, sr_bytes_of(text.p + at, text.n - at));
    sr_json_string_end(&call->json);
}

void sr_api_put_pii(struct sr_api_classify_call *call, const char *key, struct sr_bytes text,
                    const sr_doc_value *options)
{
    struct sr_api_found found;
    struct masks masks = {{0}};
    struct sr_json_writer *w = &call->json;
    uint64_t start = sr_clock_ns();
    bool masked = sr_doc_is_true(sr_doc_get(options, "mask_entities"));
    if (!sr_api_read_pii(call, text, options, &found))
        return;
    const char **tokens = sr_arena_calloc(&call->arena, found.n + 1, sizeof *tokens);
    if (!tokens) {
        fail(call, SR_ENOMEM);
        return;
    }
    sr_json_object(w, key);
    sr_json_bool(w, "has_pii", found.n > 0);
    sr_json_array(w, "entities");
    for (size_t i = 0; i < found.n; i++) {
        tokens[i] = masked ? mask_of(call, &masks, found.items[i].type) : NULL;
        put_entity(call, &found.items[i], text, options, tokens[i]);
    }
    sr_json_array_end(w);
    if (masked)
        put_masked_text(call, text, &found, tokens);
    sr_json_text(w, "security_recommendation", found.n ? "block" : "allow");
    sr_api_put_time(call, start);
    sr_json_object_end(w);
}

/* ---- security ---- */

static double security_threshold(struct sr_api_classify_call *call, const sr_doc_value *options)
{
    struct sr_bytes word = sr_doc_string(sr_doc_get(options, "sensitivity"));
    double threshold = call->router->config->global.jailbreak_threshold;
    if (word.p && sr_bytes_eq_nocase(word, SR_LIT("high")))
        return threshold * 0.7;
    return word.p && sr_bytes_eq_nocase(word, SR_LIT("low")) ? threshold + (1 - threshold) * 0.7 : threshold;
}

bool sr_api_read_security(struct sr_api_classify_call *call, struct sr_bytes text,
                          const sr_doc_value *options, struct sr_api_security *security)
{
    const struct sr_signal_result *result = ask(call, SR_SIGNAL_JAILBREAK, text);
    if (!result)
        return false;
    *security = (struct sr_api_security){.result = result, .threshold = security_threshold(call, options)};
    if (result->n_findings)
        security->riskiest = result->findings[0];
    security->attack = (double)security->riskiest.confidence >= security->threshold;
    return true;
}

static void put_patterns(struct sr_api_classify_call *call, uint32_t disguise)
{
    sr_json_array(&call->json, "patterns_detected");
    for (uint32_t bit = 1; bit <= SR_DISGUISE_LAST; bit *= 2)
        if (disguise & bit)
            sr_json_text(&call->json, NULL, sr_disguise_name((enum sr_disguise)bit));
    sr_json_array_end(&call->json);
}

static void put_reasoning(struct sr_api_classify_call *call, const struct sr_api_security *security)
{
    const struct sr_signal_finding *place = &security->riskiest;
    char text[160];
    snprintf(
        text, sizeof text,
        "The likeliest place, bytes %zu to %zu, is an attack with a probability of %.3f; from %.3f up it "
        "counts.",
        place->start, place->end, (double)place->confidence, security->threshold);
    sr_json_text(&call->json, "reasoning", text);
}

void sr_api_put_security(struct sr_api_classify_call *call, const char *key, struct sr_bytes text,
                         const sr_doc_value *options)
{
    struct sr_api_security security;
    struct sr_json_writer *w = &call->json;
    uint64_t start = sr_clock_ns();
    if (!sr_api_read_security(call, text, options, &security))
        return;
    double risk = (double)security.riskiest.confidence;
    bool attack = security.attack;
    sr_json_object(w, key);
    sr_json_bool(w, "is_jailbreak", attack);
    sr_json_real(w, "risk_score", "%.6f", risk);
    sr_json_array(w, "detection_types");
    if (attack)
        sr_json_text(w, NULL, security.result->labels[security.riskiest.type]);
    sr_json_array_end(w);
    sr_json_real(w, "confidence", "%.6f", attack ? risk : 1 - risk);
    sr_json_text(w, "recommendation", attack ? "block" : "allow");
    if (sr_doc_is_true(sr_doc_get(options, "include_reasoning")))
        put_reasoning(call, &security);
    put_patterns(call, attack ? security.riskiest.disguise : 0);
    sr_api_put_time(call, start);
    sr_json_object_end(w);
}
