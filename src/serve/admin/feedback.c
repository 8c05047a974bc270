/* Reads an outcome and passes it to the arms. */
#include "serve/admin/feedback.h"

#include "serve/admin/outcomes.h"
#include "serve/local.h"
#include "json/doc.h"

#include <string.h>

#define BODY_MAX ((size_t)16 << 10)

static int refuse(struct sr_buf *out, int status, const char *message)
{
    (void)sr_local_error(out, status, NULL, NULL, message);
    return status;
}

static bool read_score(const sr_doc_value *value, double *score)
{
    int kind = sr_doc_kind(value);
    if (kind == SR_JSON_TRUE || kind == SR_JSON_FALSE) {
        *score = kind == SR_JSON_TRUE;
        return true;
    }
    return sr_doc_number(value, score) && *score >= 0 && *score <= 1;
}

static bool is(struct sr_bytes name, const char *text)
{
    return sr_bytes_eq(name, sr_bytes_str(text ? text : ""));
}

/* The candidate of a decision that learns; false: there is none of these names. */
static bool find_arm(const struct sr_router *router, const sr_doc_value *root, struct sr_arm_name *name,
                     int *memory)
{
    struct sr_bytes decision = sr_doc_string(sr_doc_get(root, "decision"));
    struct sr_bytes model = sr_doc_string(sr_doc_get(root, "model"));
    struct sr_bytes lora = sr_doc_string(sr_doc_get(root, "lora"));
    const struct sr_config *config = router->config;
    for (size_t i = 0; i < config->n_decisions; i++) {
        const struct sr_config_decision *d = &config->decisions[i];
        const struct sr_selector *selector = &router->selectors[i];
        if (!is(decision, d->name) || !selector->ops || !selector->ops->learns)
            continue;
        for (size_t k = 0; k < d->n_refs; k++) {
            const char *candidate = config->models[d->refs[k].model].name;
            if (!is(model, candidate) || !is(lora, d->refs[k].lora_name))
                continue;
            *name = (struct sr_arm_name){d->name, candidate, d->refs[k].lora_name};
            *memory = d->algorithm.bandit.memory;
            return true;
        }
    }
    return false;
}

/* In any recipe. */
static bool find_anywhere(const struct sr_router *router, const sr_doc_value *root, struct sr_arm_name *name,
                          int *memory)
{
    bool found = false;
    for (int i = -1; i < (int)router->config->n_recipes && !found; i++)
        found = find_arm(sr_router_profile(router, i), root, name, memory);
    return found;
}

static int note(sr_runtime *runtime, const sr_doc_value *root, double score)
{
    struct sr_bytes id = sr_doc_string(sr_doc_get(root, "request_id"));
    struct sr_arm_name name;
    int memory;
    if (id.p && id.n) {
        int taught = sr_arms_feedback(sr_runtime_arms(runtime), id, score);
        int linked = sr_api_outcome_score(runtime, id, score);
        return taught == SR_OK ? taught : linked;
    }
    struct sr_router *router = sr_runtime_router(runtime);
    bool found = find_anywhere(router, root, &name, &memory);
    if (found)
        sr_arms_outcome(sr_runtime_arms(runtime), &name, score, memory);
    sr_router_unref(router);
    return found ? SR_OK : SR_ENOENT;
}

int sr_api_feedback(sr_runtime *runtime, struct sr_bytes body, struct sr_buf *out)
{
    struct sr_doc *doc = NULL;
    struct sr_err err = {0};
    double score = 0;
    int rc = sr_doc_parse(&doc, body, BODY_MAX, &err);
    const sr_doc_value *root = rc ? NULL : sr_doc_root(doc);
    bool valid = root && read_score(sr_doc_get(root, "score"), &score) &&
                 (sr_doc_get(root, "request_id") || sr_doc_get(root, "decision"));
    rc = valid ? note(runtime, root, score) : SR_EINVAL;
    struct sr_bytes result = rc == SR_OK ? SR_LIT("taken") : valid ? SR_LIT("unknown") : SR_LIT("invalid");
    sr_metrics_add(sr_runtime_metrics_table(runtime), SR_METRIC_FEEDBACK, 1, &result);
    sr_doc_free(doc);
    if (!valid)
        return refuse(out, 400,
                      err.message[0] ? err.message
                                     : "The body must be {\"request_id\": \"...\", \"score\": 0..1}, or "
                                       "{\"decision\": \"...\", \"model\": \"...\", \"score\": 0..1}.");
    if (rc)
        return refuse(
            out, 404,
            "No algorithm learns from that: the request is not known, is too old or had its outcome, "
            "or the candidate's decision does not learn; and it has no record.");
    return sr_buf_printf(out, "{\"taken\":true}") ? 503 : 200;
}
