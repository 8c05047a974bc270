/*
 * What classifiers say about one text, for the calls of classify.h: as values, and as members of an answer.
 *
 * `options` are those of the call's body; NULL: none. A `read` is false when there is no result, and then the
 * call says why. A `put` writes nothing then. Any thread.
 */
#ifndef SR_SERVE_ADMIN_CLASSIFY_TEXT_H
#define SR_SERVE_ADMIN_CLASSIFY_TEXT_H

#include "base/json_write.h"
#include "router/router.h"
#include "json/doc.h"

#define SR_API_SURE 0.7 /* confidence from which an intent counts as sure */

/* One call: its answer with the first failure, scratch memory. */
struct sr_api_classify_call {
    const struct sr_router *router;
    struct sr_json_writer json;
    struct sr_arena arena;
    const char *missing; /* the missing classifier */
};

struct sr_api_intent {
    const struct sr_signal_result *result;
    const char *category; /* of the best label, or the fallback below the threshold */
    double confidence;
};
bool sr_api_read_intent(struct sr_api_classify_call *call, struct sr_bytes text, const sr_doc_value *options,
                        struct sr_api_intent *intent);
void sr_api_put_intent(struct sr_api_classify_call *call, const char *key, struct sr_bytes text,
                       const sr_doc_value *options);
void sr_api_put_probabilities(struct sr_api_classify_call *call, const struct sr_api_intent *intent);

/* Findings above the threshold, of the types asked for. */
struct sr_api_found {
    const struct sr_signal_finding *items;
    size_t n;
};
bool sr_api_read_pii(struct sr_api_classify_call *call, struct sr_bytes text, const sr_doc_value *options,
                     struct sr_api_found *found);
void sr_api_put_pii(struct sr_api_classify_call *call, const char *key, struct sr_bytes text,
                    const sr_doc_value *options);

struct sr_api_security {
    const struct sr_signal_result *result;
    struct sr_signal_finding riskiest; /* confidence 0 when there is no text */
    double threshold;
    bool attack;
};
bool sr_api_read_security(struct sr_api_classify_call *call, struct sr_bytes text,
                          const sr_doc_value *options, struct sr_api_security *security);
void sr_api_put_security(struct sr_api_classify_call *call, const char *key, struct sr_bytes text,
                         const sr_doc_value *options);

/* How long it took since `start`, of sr_clock_ns. */
void sr_api_put_time(struct sr_api_classify_call *call, uint64_t start);

#endif
