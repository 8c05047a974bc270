/* A batch: one verdict a text, then how the verdicts are distributed. */
#include "serve/admin/classify_batch.h"

#include "base/clock.h"
#include "serve/admin/classify.h"

enum sr_api_batch_task sr_api_batch_task(const sr_doc_value *root)
{
    static const char *const names[] = {"intent", "pii", "security", "all"};
    const sr_doc_value *value = sr_doc_get(root, "task_type");
    struct sr_bytes name = sr_doc_string(value);
    if (!value || (name.p && name.n == 0))
        return SR_API_BATCH_INTENT;
    for (int i = 0; name.p && i < SR_API_BATCH_NONE; i++)
        if (sr_bytes_eq(name, sr_bytes_str(names[i])))
            return (enum sr_api_batch_task)i;
    return SR_API_BATCH_NONE;
}

struct verdict {
    const char *category;
    double confidence;
};

static struct verdict read_verdict(struct sr_api_classify_call *call, enum sr_api_batch_task task,
                                   struct sr_bytes text, const sr_doc_value *options,
                                   struct sr_api_intent *intent)
{
    struct verdict verdict = {"", 0};
    struct sr_api_found found;
    struct sr_api_security security;
    if (task == SR_API_BATCH_PII && sr_api_read_pii(call, text, options, &found)) {
        verdict = (struct verdict){found.n ? "pii" : "no_pii", found.n ? 0 : 1};
        for (size_t i = 0; i < found.n; i++)
            if ((double)found.items[i].confidence > verdict.confidence)
                verdict.confidence = (double)found.items[i].confidence;
    } else if (task == SR_API_BATCH_SECURITY && sr_api_read_security(call, text, options, &security)) {
        double risk = (double)security.riskiest.confidence;
        verdict =
            (struct verdict){security.attack ? "jailbreak" : "benign", security.attack ? risk : 1 - risk};
    } else if ((task == SR_API_BATCH_INTENT || task == SR_API_BATCH_ALL) &&
               sr_api_read_intent(call, text, options, intent)) {
        verdict = (struct verdict){intent->category, intent->confidence};
    }
    return verdict;
}

static void put_result(struct sr_api_classify_call *call, enum sr_api_batch_task task, struct sr_bytes text,
                       const sr_doc_value *options, struct verdict *verdict)
{
    struct sr_api_intent intent;
    uint64_t start = sr_clock_ns();
    *verdict = read_verdict(call, task, text, options, &intent);
    if (call->json.rc || call->missing)
        return;
    sr_json_object(&call->json, NULL);
    sr_json_text(&call->json, "category", verdict->category);
    sr_json_real(&call->json, "confidence", "%.6f", verdict->confidence);
    if ((task == SR_API_BATCH_INTENT || task == SR_API_BATCH_ALL) &&
        sr_doc_is_true(sr_doc_get(options, "return_probabilities")))
        sr_api_put_probabilities(call, &intent);
    if (task == SR_API_BATCH_ALL) {
        sr_api_put_pii(call, "pii", text, options);
        sr_api_put_security(call, "security", text, options);
    }
    sr_api_put_time(call, start);
    sr_json_object_end(&call->json);
}

static void put_statistics(struct sr_api_classify_call *call, const struct verdict *verdicts, size_t n)
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
        low += verdicts[i].confidence < SR_API_SURE;
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

void sr_api_put_batch(struct sr_api_classify_call *call, const sr_doc_value *root)
{
    enum sr_api_batch_task task = sr_api_batch_task(root);
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
    sr_api_put_time(call, start);
    if (!call->json.rc && !call->missing)
        put_statistics(call, verdicts, done);
    sr_json_object_end(&call->json);
}
