/* Options in, figures out; what the figures mean is said in docs/http.md. */
#include "serve/admin/classify.h"

#include "base/clock.h"
#include "text/disguise/deobfuscate.h"
#include "json/doc.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#define SCRATCH_MAX ((size_t)256 << 20)
#define SURE        0.7 /* confidence from which an intent counts as sure */

/* One call: its answer, the first failure, scratch memory. */
struct call {
    const struct sr_router *engine;
    struct sr_buf *out;
    struct sr_arena arena;
    int rc;
    const char *missing; /* the classifier that is not there */
};

static void put(struct call *call, const char *fmt, ...) SR_PRINTF(2, 3);

static void put(struct call *call, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (!call->rc)
        call->rc = n < (int)sizeof text ? sr_buf_append(call->out, text, (size_t)n) : SR_ELIMIT;
}

static void put_string(struct call *call, struct sr_bytes text)
{
    put(call, "\"");
    if (!call->rc)
        call->rc = sr_buf_append_json(call->out, text);
    put(call, "\"");
}

static long long ms_since(uint64_t start)
{
    return (long long)((sr_clock_ns() - start) / SR_NS_PER_MS);
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

/* What a classifier says of a text; NULL when there is no answer. */
static const struct sr_signal_result *ask(struct call *call, enum sr_signal_type type, struct sr_bytes text)
{
    const struct sr_signal_result *result;
    if (!call->engine->readers || sr_readers_missing(call->engine->readers, type)) {
        call->missing = sr_signal_registry[type]->name;
        return NULL;
    }
    int rc = sr_readers_read(call->engine->readers, type, text, SR_LIT("api"), &call->arena, &result);
    if (rc)
        call->rc = rc;
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
        intent->category = call->engine->config->global.domain_fallback;
    return true;
}

static void put_probabilities(struct call *call, const struct intent *intent)
{
    put(call, ",\"probabilities\":{");
    for (size_t i = 0; i < intent->result->n_labels; i++) {
        put(call, i ? "," : "");
        put_string(call, sr_bytes_str(intent->result->labels[i]));
        put(call, ":%.6f", (double)intent->result->probabilities[i]);
    }
    put(call, "}");
}

static void put_intent(struct call *call, struct sr_bytes text, const sr_doc_value *options)
{
    struct intent intent;
    uint64_t start = sr_clock_ns();
    if (!read_intent(call, text, options, &intent))
        return;
    put(call, "{\"classification\":{\"category\":");
    put_string(call, sr_bytes_str(intent.category));
    put(call, ",\"confidence\":%.6f,\"processing_time_ms\":%lld}", intent.confidence, ms_since(start));
    if (sr_doc_is_true(sr_doc_get(options, "return_probabilities")))
        put_probabilities(call, &intent);
    put(call, ",\"recommended_model\":");
    put_string(call, sr_bytes_str(recommended(call->engine->config, intent.category)));
    put(call, ",\"routing_decision\":\"%s\"}",
        intent.confidence >= SURE ? "high_confidence_specialized" : "low_confidence_general");
}

/* ---- private data ---- */

/* The types that are asked for; all without a list. False: one of them is none. */
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
    if (!mask && !call->rc)
        call->rc = SR_ENOMEM;
    return mask ? mask : "";
}

static void put_entity(struct call *call, const struct sr_signal_finding *entity, struct sr_bytes text,
                       const sr_doc_value *options, const char *mask)
{
    const sr_doc_value *positions = sr_doc_get(options, "return_positions");
    put(call, "{\"type\":\"%s\",\"value\":", sr_entity_names[entity->type]);
    if (sr_doc_is_true(sr_doc_get(options, "reveal_entity_text")))
        put_string(call, sr_bytes_of(text.p + entity->start, entity->end - entity->start));
    else
        put(call, "\"[DETECTED]\"");
    put(call, ",\"confidence\":%.6f", (double)entity->confidence);
    if (!positions || sr_doc_is_true(positions))
        put(call, ",\"start_position\":%zu,\"end_position\":%zu", entity->start, entity->end);
    if (mask)
        put(call, ",\"masked_value\":\"%s\"", mask);
    put(call, "}");
}

struct found {
    const struct sr_signal_finding *items;
    size_t n;
};

/* What is sure enough and asked for. False when there is no answer. */
static bool read_pii(struct call *call, struct sr_bytes text, const sr_doc_value *options,
                     struct found *found)
{
    uint32_t types;
    if (!wanted_types(options, &types)) {
        call->rc = SR_EINVAL;
        return false;
    }
    double threshold = number_or(options, "confidence_threshold", call->engine->config->global.pii_threshold);
    const struct sr_signal_result *all = ask(call, SR_SIGNAL_PII, text);
    if (!all)
        return false;
    struct sr_signal_finding *kept = sr_arena_calloc(&call->arena, all->n_finds + 1, sizeof *kept);
    if (!kept) {
        call->rc = SR_ENOMEM;
        return false;
    }
    *found = (struct found){.items = kept};
    for (size_t i = 0; i < all->n_finds; i++)
        if ((types >> all->finds[i].type & 1) && (double)all->finds[i].confidence >= threshold)
            kept[found->n++] = all->finds[i];
    return true;
}

static void put_pii(struct call *call, struct sr_bytes text, const sr_doc_value *options)
{
    struct found found;
    struct masks masks = {{0}};
    uint64_t start = sr_clock_ns();
    bool masked = sr_doc_is_true(sr_doc_get(options, "mask_entities"));
    if (!read_pii(call, text, options, &found))
        return;
    const char **tokens = sr_arena_calloc(&call->arena, found.n + 1, sizeof *tokens);
    if (!tokens) {
        call->rc = SR_ENOMEM;
        return;
    }
    put(call, "{\"has_pii\":%s,\"entities\":[", found.n ? "true" : "false");
    for (size_t i = 0; i < found.n; i++) {
        tokens[i] = masked ? mask_of(call, &masks, found.items[i].type) : NULL;
        put(call, i ? "," : "");
        put_entity(call, &found.items[i], text, options, tokens[i]);
    }
    put(call, "]");
    if (masked) {
        size_t at = 0;
        put(call, ",\"masked_text\":\"");
        for (size_t i = 0; i < found.n && !call->rc; i++) {
            call->rc = sr_buf_append_json(call->out, sr_bytes_of(text.p + at, found.items[i].start - at));
            put(call, "%s", tokens[i]);
            at = found.items[i].end;
        }
        if (!call->rc)
            call->rc = sr_buf_append_json(call->out, sr_bytes_of(text.p + at, text.n - at));
        put(call, "\"");
    }
    put(call, ",\"security_recommendation\":\"%s\",\"processing_time_ms\":%lld}", found.n ? "block" : "allow",
        ms_since(start));
}

/* ---- security ---- */

static double security_threshold(struct call *call, const sr_doc_value *options)
{
    struct sr_bytes word = sr_doc_string(sr_doc_get(options, "sensitivity"));
    double threshold = call->engine->config->global.jailbreak_threshold;
    if (word.p && sr_bytes_eq_nocase(word, SR_LIT("high")))
        return threshold * 0.7;
    return word.p && sr_bytes_eq_nocase(word, SR_LIT("low")) ? threshold + (1 - threshold) * 0.7 : threshold;
}

/* *find: the likeliest place of an attack; risk 0 where there is nothing to read. */
static const struct sr_signal_result *read_security(struct call *call, struct sr_bytes text,
                                                    struct sr_signal_finding *find)
{
    const struct sr_signal_result *result = ask(call, SR_SIGNAL_JAILBREAK, text);
    *find = result && result->n_finds ? result->finds[0] : (struct sr_signal_finding){0};
    return result;
}

static void put_patterns(struct call *call, uint32_t disguise)
{
    const char *comma = "";
    for (uint32_t bit = 1; bit <= SR_DISGUISE_ROT13; bit *= 2) {
        if (!(disguise & bit))
            continue;
        put(call, "%s\"%s\"", comma, sr_disguise_name((enum sr_disguise)bit));
        comma = ",";
    }
}

static void put_security(struct call *call, struct sr_bytes text, const sr_doc_value *options)
{
    struct sr_signal_finding find;
    uint64_t start = sr_clock_ns();
    const struct sr_signal_result *result = read_security(call, text, &find);
    if (!result)
        return;
    double risk = (double)find.confidence, threshold = security_threshold(call, options);
    bool attack = risk >= threshold;
    put(call, "{\"is_jailbreak\":%s,\"risk_score\":%.6f,\"detection_types\":[", attack ? "true" : "false",
        risk);
    if (attack)
        put_string(call, sr_bytes_str(result->labels[find.type]));
    put(call, "],\"confidence\":%.6f,\"recommendation\":\"%s\"", attack ? risk : 1 - risk,
        attack ? "block" : "allow");
    if (sr_doc_is_true(sr_doc_get(options, "include_reasoning")))
        put(call,
            ",\"reasoning\":\"The likeliest place, bytes %zu to %zu, is an attack with a probability of "
            "%.3f; "
            "from %.3f up it counts.\"",
            find.start, find.end, risk, threshold);
    put(call, ",\"patterns_detected\":[");
    put_patterns(call, attack ? find.disguise : 0);
    put(call, "],\"processing_time_ms\":%lld}", ms_since(start));
}

static void put_combined(struct call *call, struct sr_bytes text, const sr_doc_value *root)
{
    uint64_t start = sr_clock_ns();
    put(call, "{\"intent\":");
    put_intent(call, text, sr_doc_get(root, "intent_options"));
    put(call, ",\"pii\":");
    put_pii(call, text, sr_doc_get(root, "pii_options"));
    put(call, ",\"security\":");
    put_security(call, text, sr_doc_get(root, "security_options"));
    put(call, ",\"processing_time_ms\":%lld}", ms_since(start));
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
    struct sr_signal_finding find;
    if (task == TASK_PII && read_pii(call, text, options, &found)) {
        verdict = (struct verdict){found.n ? "pii" : "no_pii", found.n ? 0 : 1};
        for (size_t i = 0; i < found.n; i++)
            if ((double)found.items[i].confidence > verdict.confidence)
                verdict.confidence = (double)found.items[i].confidence;
    } else if (task == TASK_SECURITY && read_security(call, text, &find)) {
        bool attack = (double)find.confidence >= security_threshold(call, options);
        verdict = (struct verdict){attack ? "jailbreak" : "benign",
                                   attack ? (double)find.confidence : 1 - (double)find.confidence};
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
    if (call->rc || call->missing)
        return;
    put(call, "{\"category\":");
    put_string(call, sr_bytes_str(verdict->category));
    put(call, ",\"confidence\":%.6f", verdict->confidence);
    if ((task == TASK_INTENT || task == TASK_ALL) &&
        sr_doc_is_true(sr_doc_get(options, "return_probabilities")))
        put_probabilities(call, &intent);
    if (task == TASK_ALL) {
        put(call, ",\"pii\":");
        put_pii(call, text, options);
        put(call, ",\"security\":");
        put_security(call, text, options);
    }
    put(call, ",\"processing_time_ms\":%lld}", ms_since(start));
}

static void put_statistics(struct call *call, const struct verdict *verdicts, size_t n)
{
    double sum = 0;
    size_t low = 0;
    bool first = true;
    put(call, ",\"statistics\":{\"category_distribution\":{");
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
        put(call, first ? "" : ",");
        first = false;
        put_string(call, sr_bytes_str(verdicts[i].category));
        put(call, ":%zu", count);
    }
    put(call, "},\"avg_confidence\":%.6f,\"low_confidence_count\":%zu}}", n ? sum / (double)n : 0, low);
}

static void put_batch(struct call *call, const sr_doc_value *root, enum task task)
{
    struct verdict verdicts[SR_API_CLASSIFY_BATCH_MAX];
    const sr_doc_value *texts = sr_doc_get(root, "texts"), *options = sr_doc_get(root, "options");
    size_t n = sr_doc_size(texts), done = 0;
    uint64_t start = sr_clock_ns();
    put(call, "{\"results\":[");
    for (; done < n && !call->rc && !call->missing; done++) {
        put(call, done ? "," : "");
        verdicts[done] = (struct verdict){"", 0};
        put_result(call, task, sr_doc_string(sr_doc_at(texts, done)), options, &verdicts[done]);
    }
    put(call, "],\"total_count\":%zu,\"processing_time_ms\":%lld", n, ms_since(start));
    if (!call->rc && !call->missing)
        put_statistics(call, verdicts, done);
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
    int rc = sr_buf_printf(out, "{\"error\":{\"code\":\"%s\",\"message\":\"", code);
    if (!rc)
        rc = sr_buf_append_json(out, sr_bytes_str(message));
    if (!rc)
        rc = sr_buf_printf(out, "\",\"timestamp\":\"%s\"}}", text);
    return rc ? 503 : status;
}

/* What is wrong with a body, NULL when nothing is. */
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
        put_intent(call, text, options);
        break;
    case SR_API_CLASSIFY_PII:
        put_pii(call, text, options);
        break;
    case SR_API_CLASSIFY_SECURITY:
        put_security(call, text, options);
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
        return put_error(call->out, 503, "UNIFIED_CLASSIFIER_UNAVAILABLE", "the classifier is not available");
    if (call->rc == SR_EINVAL)
        return put_error(call->out, 400, "INVALID_INPUT", "entity_types names a type that there is not");
    if (call->rc == SR_ELIMIT)
        return put_error(call->out, 413, "REQUEST_BODY_TOO_LARGE", "the text holds more than one answer can");
    return call->rc ? put_error(call->out, 500, "CLASSIFICATION_ERROR", "the text could not be classified")
                    : 200;
}

int sr_api_classify(const struct sr_router *engine, enum sr_api_classify_kind kind, struct sr_bytes body,
                    struct sr_buf *out)
{
    struct call call = {.engine = engine, .out = out};
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
