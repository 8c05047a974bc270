/* Reads options and writes numbers; docs/http.md describes the numbers. */
#include "serve/admin/classify.h"

#include "base/clock.h"
#include "base/json_write.h"
#include "text/disguise/deobfuscate.h"
#include "json/doc.h"

#include <stdio.h>
#include <time.h>

#define SCRATCH_MAX ((size_t)256 << 20)
#define SURE        0.7 /* confidence from which an intent counts as sure */

/* One call: its answer with the first failure, scratch memory. */
struct call {
    const struct sr_router *router;
    struct sr_json_writer json;
    struct sr_arena arena;
    const char *missing; /* the missing classifier */
};

static void fail(struct call *call, int rc)
{
    if (!call->json.rc)
        call->json.rc = rc;
}

static void put_time(struct call *call, uint64_t start)
{
    sr_json_uint(&call->json, "processing_time_ms", (sr_clock_ns() - start) / SR_NS_PER_MS);
}

static double number_or(const sr_doc_value *options, const char *name, double otherwise)
{
    double value;
    return sr_doc_number(sr_doc_get(options, name), &value) && value > 0 && value <= 1 ? value : otherwise;
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

/* A classifier's answer about a text; NULL when there is none. */
static const struct sr_signal_result *ask(struct call *call, enum sr_signal_type type, struct sr_bytes text)
{
    const struct sr_signal_result *result;
    const struct sr_readers *readers = sr_router_readers(call->router);
    if (!readers || sr_readers_missing(readers, type)) {
        call->missing = sr_signal_registry[type]->name;
        return NULL;
    }
    int rc = sr_readers_read(readers, type, text, SR_LIT("api"), &call->arena, &result);
    if (rc)
        fail(call, rc);
    return rc ? NULL : result;
}

struct intent {
    const struct sr_signal_result *result;
    const char *category;
    double confidence;
};

static bool read_intent(struct call *call, struct sr_bytes text, const sr_doc_value *options,
                        struct intent *intent)
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

static void put_probabilities(struct call *call, const struct intent *intent)
{
    struct sr_json_writer *w = &call->json;
    sr_json_object(w, "probabilities");
    for (size_t i = 0; i < intent->result->n_labels; i++) {
        sr_json_name(w, sr_bytes_str(intent->result->labels[i]));
        sr_json_real(w, NULL, "%.6f", (double)intent->result->probabilities[i]);
    }
    sr_json_object_end(w);
}

static void put_intent(struct call *call, const char *key, struct sr_bytes text, const sr_doc_value *options)
{
    struct intent intent;
    struct sr_json_writer *w = &call->json;
    uint64_t start = sr_clock_ns();
    if (!read_intent(call, text, options, &intent))
        return;
    sr_json_object(w, key);
    sr_json_object(w, "classification");
    sr_json_text(w, "category", intent.category);
    sr_json_real(w, "confidence", "%.6f", intent.confidence);
    put_time(call, start);
    sr_json_object_end(w);
    if (sr_doc_is_true(sr_doc_get(options, "return_probabilities")))
        put_probabilities(call, &intent);
    sr_json_text(w, "recommended_model", recommended(call->router->config, intent.category));
    sr_json_text(w, "routing_decision",
                 intent.confidence >= SURE ? "high_confidence_specialized" : "low_confidence_general");
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

static const char *mask_of(struct call *call, struct masks *masks, uint32_t type)
{
    const char *mask =
        sr_arena_printf(&call->arena, "[%s_%u]", sr_entity_names[type], (unsigned)++masks->numbers[type]);
    if (!mask)
        fail(call, SR_ENOMEM);
    return mask ? mask : "";
}

static void put_entity(struct call *call, const struct sr_signal_finding *entity, struct sr_bytes text,
                       const sr_doc_value *options, const char *mask)
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

struct found {
    const struct sr_signal_finding *items;
    size_t n;
};

/* Reads findings above the threshold of the types asked for. False when there is no result. */
static bool read_pii(struct call *call, struct sr_bytes text, const sr_doc_value *options,
                     struct found *found)
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
    *found = (struct found){.items = kept};
    for (size_t i = 0; i < all->n_findings; i++)
        if ((types >> all->findings[i].type & 1) && (double)all->findings[i].confidence >= threshold)
            kept[found->n++] = all->findings[i];
    return true;
}

static void put_masked_text(struct call *call, struct sr_bytes text, const struct found *found,
                            const char *const *tokens)
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

static void put_pii(struct call *call, const char *key, struct sr_bytes text, const sr_doc_value *options)
{
    struct found found;
    struct masks masks = {{0}};
    struct sr_json_writer *w = &call->json;
    uint64_t start = sr_clock_ns();
    bool masked = sr_doc_is_true(sr_doc_get(options, "mask_entities"));
    if (!read_pii(call, text, options, &found))
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
    put_time(call, start);
    sr_json_object_end(w);
}

/* ---- security ---- */

static double security_threshold(struct call *call, const sr_doc_value *options)
{
    struct sr_bytes word = sr_doc_string(sr_doc_get(options, "sensitivity"));
    double threshold = call->router->config->global.jailbreak_threshold;
    if (word.p && sr_bytes_eq_nocase(word, SR_LIT("high")))
        return threshold * 0.7;
    return word.p && sr_bytes_eq_nocase(word, SR_LIT("low")) ? threshold + (1 - threshold) * 0.7 : threshold;
}

/* *finding: the span with the highest risk; risk 0 when there is no text. */
static const struct sr_signal_result *read_security(struct call *call, struct sr_bytes text,
                                                    struct sr_signal_finding *finding)
{
    const struct sr_signal_result *result = ask(call, SR_SIGNAL_JAILBREAK, text);
    *finding = result && result->n_findings ? result->findings[0] : (struct sr_signal_finding){0};
    return result;
}

static void put_patterns(struct call *call, uint32_t disguise)
{
    sr_json_array(&call->json, "patterns_detected");
    for (uint32_t bit = 1; bit <= SR_DISGUISE_LAST; bit *= 2)
        if (disguise & bit)
            sr_json_text(&call->json, NULL, sr_disguise_name((enum sr_disguise)bit));
    sr_json_array_end(&call->json);
}

static void put_reasoning(struct call *call, const struct sr_signal_finding *finding, double threshold)
{
    char text[160];
    snprintf(
        text, sizeof text,
        "The likeliest place, bytes %zu to %zu, is an attack with a probability of %.3f; from %.3f up it "
        "counts.",
        finding->start, finding->end, (double)finding->confidence, threshold);
    sr_json_text(&call->json, "reasoning", text);
}

static void put_security(struct call *call, const char *key, struct sr_bytes text,
                         const sr_doc_value *options)
{
    struct sr_signal_finding finding;
    struct sr_json_writer *w = &call->json;
    uint64_t start = sr_clock_ns();
    const struct sr_signal_result *result = read_security(call, text, &finding);
    if (!result)
        return;
    double risk = (double)finding.confidence, threshold = security_threshold(call, options);
    bool attack = risk >= threshold;
    sr_json_object(w, key);
    sr_json_bool(w, "is_jailbreak", attack);
    sr_json_real(w, "risk_score", "%.6f", risk);
    sr_json_array(w, "detection_types");
    if (attack)
        sr_json_text(w, NULL, result->labels[finding.type]);
    sr_json_array_end(w);
    sr_json_real(w, "confidence", "%.6f", attack ? risk : 1 - risk);
    sr_json_text(w, "recommendation", attack ? "block" : "allow");
    if (sr_doc_is_true(sr_doc_get(options, "include_reasoning")))
        put_reasoning(call, &finding, threshold);
    put_patterns(call, attack ? finding.disguise : 0);
    put_time(call, start);
    sr_json_object_end(w);
}

static void put_combined(struct call *call, struct sr_bytes text, const sr_doc_value *root)
{
    uint64_t start = sr_clock_ns();
    sr_json_object(&call->json, NULL);
    put_intent(call, "intent", text, sr_doc_get(root, "intent_options"));
    put_pii(call, "pii", text, sr_doc_get(root, "pii_options"));
    put_security(call, "security", text, sr_doc_get(root, "security_options"));
    put_time(call, start);
    sr_json_object_end(&call->json);
}

/* ---- batches ---- */

enum task { TASK_INTENT, TASK_PII, TASK_SECURITY, TASK_ALL, TASK_NONE };

static enum task task_of(const sr_doc_value *root)
{
    static const char *const names[] = {"intent", "pii", "security", "all"};
    const sr_doc_value *value = sr_doc_get(root, "task_type");
    struct sr_bytes name = sr_doc_string(value);
    if (!value || (name.p && name.n == 0))
        return TASK_INTENT;
    for (int i = 0; name.p && i < TASK_NONE; i++)
        if (sr_bytes_eq(name, sr_bytes_str(names[i])))
            return (enum task)i;
    return TASK_NONE;
}

struct verdict {
    const char *category;
    double confidence;
};

static struct verdict neural(struct call *call, enum task task, struct sr_bytes text,
                             const sr_doc_value *options, struct intent *intent)
{
    struct verdict verdict = {"", 0};
    struct found found = {NULL, 0};
    struct sr_signal_finding finding;
    if (task == TASK_PII && read_pii(call, text, options, &found)) {
        verdict = (struct verdict){found.n ? "pii" : "no_pii", found.n ? 0 : 1};
        for (size_t i = 0; i < found.n; i++)
            if ((double)found.items[i].confidence > verdict.confidence)
                verdict.confidence = (double)found.items[i].confidence;
    } else if (task == TASK_SECURITY && read_security(call, text, &finding)) {
        bool attack = (double)finding.confidence >= security_threshold(call, options);
        verdict = (struct verdict){attack ? "jailbreak" : "benign",
                                   attack ? (double)finding.confidence : 1 - (double)finding.confidence};
    } else if ((task == TASK_INTENT || task == TASK_ALL) && read_intent(call, text, options, intent)) {
        verdict = (struct verdict){intent->category, intent->confidence};
    }
    return verdict;
}

static void put_result(struct call *call, enum task task, struct sr_bytes text, const sr_doc_value *options,
                       struct verdict *verdict)
{
    struct intent intent;
    uint64_t start = sr_clock_ns();
    *verdict = neural(call, task, text, options, &intent);
    if (call->json.rc || call->missing)
        return;
    sr_json_object(&call->json, NULL);
    sr_json_text(&call->json, "category", verdict->category);
    sr_json_real(&call->json, "confidence", "%.6f", verdict->confidence);
    if ((task == TASK_INTENT || task == TASK_ALL) &&
        sr_doc_is_true(sr_doc_get(options, "return_probabilities")))
        put_probabilities(call, &intent);
    if (task == TASK_ALL) {
        put_pii(call, "pii", text, options);
        put_security(call, "security", text, options);
    }
    put_time(call, start);
    sr_json_object_end(&call->json);
}

static void put_statistics(struct call *call, const struct verdict *verdicts, size_t n)
{
    double sum = 0;
    size_t low = 0;
    sr_json_object(&call->json, "statistics");
    sr_json_object(&call->json, "category_distribution");
    for (size_t i = 0; i < n; i++) {
        size_t count = 0, earlier = 0;
        for (size_t k = 0; k < n; k++) {
            bool same = strcmp(verdicts[i].category, verdicts[k].category) == 0;
            count += same;
            earlier += same && k < i;
        }
        sum += verdicts[i].confidence;
        low += verdicts[i].confidence < SURE;
        if (earlier)
            continue;
        sr_json_name(&call->json, sr_bytes_str(verdicts[i].category));
        sr_json_uint(&call->json, NULL, count);
    }
    sr_json_object_end(&call->json);
    sr_json_real(&call->json, "avg_confidence", "%.6f", n ? sum / (double)n : 0);
    sr_json_uint(&call->json, "low_confidence_count", low);
    sr_json_object_end(&call->json);
}

static void put_batch(struct call *call, const sr_doc_value *root, enum task task)
{
    struct verdict verdicts[SR_API_CLASSIFY_BATCH_MAX];
    const sr_doc_value *texts = sr_doc_get(root, "texts"), *options = sr_doc_get(root, "options");
    size_t n = sr_doc_size(texts), done = 0;
    uint64_t start = sr_clock_ns();
    sr_json_object(&call->json, NULL);
    sr_json_array(&call->json, "results");
    for (; done < n && !call->json.rc && !call->missing; done++) {
        verdicts[done] = (struct verdict){"", 0};
        put_result(call, task, sr_doc_string(sr_doc_at(texts, done)), options, &verdicts[done]);
    }
    sr_json_array_end(&call->json);
    sr_json_uint(&call->json, "total_count", n);
    put_time(call, start);
    if (!call->json.rc && !call->missing)
        put_statistics(call, verdicts, done);
    sr_json_object_end(&call->json);
}

/* ---- errors and the call ---- */

static int put_error(struct sr_buf *out, int status, const char *code, const char *message)
{
    time_t now = (time_t)(sr_clock_wall_ns() / SR_NS_PER_S);
    struct tm tm;
    char text[40];
    gmtime_r(&now, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    sr_buf_clear(out);
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_object(&w, "error");
    sr_json_text(&w, "code", code);
    sr_json_text(&w, "message", message);
    sr_json_text(&w, "timestamp", text);
    sr_json_object_end(&w);
    sr_json_object_end(&w);
    return w.rc ? 503 : status;
}

/* The error of a body; NULL when it is valid. */
static const char *complaint(const sr_doc_value *root, enum sr_api_classify_kind kind)
{
    if (kind != SR_API_CLASSIFY_BATCH) {
        struct sr_bytes text = sr_doc_string(sr_doc_get(root, "text"));
        return text.p && text.n ? NULL : "text must be a string that is not empty";
    }
    const sr_doc_value *texts = sr_doc_get(root, "texts");
    size_t n = sr_doc_kind(texts) == SR_JSON_ARRAY ? sr_doc_size(texts) : 0;
    if (n == 0)
        return "texts must be a list that is not empty";
    if (n > SR_API_CLASSIFY_BATCH_MAX)
        return "texts may have at most 100 entries";
    for (size_t i = 0; i < n; i++)
        if (!sr_doc_string(sr_doc_at(texts, i)).p)
            return "texts must be a list of strings";
    return NULL;
}

static void run(struct call *call, enum sr_api_classify_kind kind, const sr_doc_value *root)
{
    struct sr_bytes text = sr_doc_string(sr_doc_get(root, "text"));
    const sr_doc_value *options = sr_doc_get(root, "options");
    switch (kind) {
    case SR_API_CLASSIFY_INTENT:
        put_intent(call, NULL, text, options);
        break;
    case SR_API_CLASSIFY_PII:
        put_pii(call, NULL, text, options);
        break;
    case SR_API_CLASSIFY_SECURITY:
        put_security(call, NULL, text, options);
        break;
    case SR_API_CLASSIFY_COMBINED:
        put_combined(call, text, root);
        break;
    case SR_API_CLASSIFY_BATCH:
        put_batch(call, root, task_of(root));
        break;
    }
}

static int finish(const struct call *call)
{
    if (call->missing)
        return put_error(call->json.out, 503, "UNIFIED_CLASSIFIER_UNAVAILABLE",
                         "the classifier is not available");
    if (call->json.rc == SR_EINVAL)
        return put_error(call->json.out, 400, "INVALID_INPUT", "entity_types names an unknown type");
    if (call->json.rc == SR_ELIMIT)
        return put_error(call->json.out, 413, "REQUEST_BODY_TOO_LARGE",
                         "the text has more findings than one answer can hold");
    return call->json.rc
               ? put_error(call->json.out, 500, "CLASSIFICATION_ERROR", "the text could not be classified")
               : 200;
}

int sr_api_classify(const struct sr_router *router, enum sr_api_classify_kind kind, struct sr_bytes body,
                    struct sr_buf *out)
{
    struct call call = {.router = router, .json = sr_json_writer_of(out)};
    struct sr_doc *doc = NULL;
    struct sr_err err = {0};
    if (sr_doc_parse(&doc, body, body.n, &err))
        return put_error(out, 400, "INVALID_INPUT", err.message);
    const sr_doc_value *root = sr_doc_root(doc);
    const char *wrong = complaint(root, kind);
    int status;
    sr_arena_init(&call.arena, SCRATCH_MAX);
    if (wrong) {
        status = put_error(out, 400, "INVALID_INPUT", wrong);
    } else if (kind == SR_API_CLASSIFY_BATCH && task_of(root) == TASK_NONE) {
        status = put_error(out, 400, "INVALID_TASK_TYPE", "task_type must be intent, pii, security or all");
    } else {
        run(&call, kind, root);
        status = finish(&call);
    }
    sr_arena_dispose(&call.arena);
    sr_doc_free(doc);
    return status;
}
