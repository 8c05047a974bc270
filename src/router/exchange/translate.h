/* Requests for models whose upstream speaks another API than the client. */
#ifndef SR_ROUTER_EXCHANGE_TRANSLATE_H
#define SR_ROUTER_EXCHANGE_TRANSLATE_H

#include "router/exchange/phase.h"

/* The API (enum sr_translate_api) into which the request is translated for a model, or for one of its targets
 * where they differ; -1: it is sent as it is.
 */
int sr_exchange_translates(const struct sr_exchange *x, int model);

/* Is reasoning of other APIs cut out of the request for the model, or for one of its targets? */
bool sr_exchange_cleans(const struct sr_exchange *x, int model);

/* For a model whose targets speak different APIs: what is sent is what this target of the record's model
 * gets. NULL: it is not known who gets the request. After an error the body in the client's API is sent.
 * SR_EUNSUPPORTED, SR_EPARSE: that API cannot say what the request says; SR_EMISMATCH: the answer could not
 * be translated; SR_ENOENT: it is not known which API it is; SR_ELIMIT, SR_ENOMEM. */
int sr_exchange_translate_for(sr_exchange *x, const struct sr_target *target,
                              struct sr_err *err) SR_WARN_UNUSED;

/* Refuses the request with such an error. */
void sr_exchange_refuse_translation(sr_exchange *x, int rc, const struct sr_err *err);

#endif
