/* A refusal: what a stage returns when it refuses a request, and the source of the client's error. */
#ifndef SR_ROUTER_REFUSAL_H
#define SR_ROUTER_REFUSAL_H

#include "base/bytes.h"
#include "base/err.h"

/* Codes of requests that guards could not read. */
#define SR_CODE_CLASSIFICATION_ERROR "classification_error" /* 403: a signal failed */
#define SR_CODE_UNREAD_CONTENT       "unread_content"       /* 403: a part that no signal can read */
#define SR_CODE_OVERLOADED           "overloaded"           /* 503: no capacity before the deadline */
#define SR_CODE_TOO_LARGE            "request_too_large"    /* 413: over a limit, now and later */

/* 403: the client's key or tenant does not have the model. */
#define SR_CODE_MODEL "model_not_allowed"

#define SR_REFUSAL_MESSAGE_MAX 512 /* bytes with the NUL; longer messages are cut */

struct sr_refusal {
    int status;
    const char *type;       /* type of the error; NULL: derived from the status */
    const char *code;       /* a constant; NULL = null in the answer */
    const char *param;      /* the invalid member; the same */
    const char *reason;     /* label of llm_request_errors_total; NULL: not counted */
    const char *path;       /* x-vsr-response-path; NULL: "error" */
    unsigned retry_after_s; /* of a 429; 0: not said */
    bool blocked;           /* blocked by a guard: labelled so, not as an error */
    struct sr_bytes allow;  /* the method that a 405 names */
    /* Holds no text of the prompt; names that the client sent are quoted and cut. */
    char message[SR_REFUSAL_MESSAGE_MAX];
};

/* Fills a refusal; members that are no argument become empty. */
void sr_refuse(struct sr_refusal *out, int status, const char *code, const char *param, const char *fmt, ...)
    SR_PRINTF(5, 6);

/* The 503 of a request that needs more memory than one request may use. */
void sr_refuse_memory(struct sr_refusal *out);

/* The 503 of a body for which the bodies of others leave no room. */
void sr_refuse_room(struct sr_refusal *out);

/* The 503 of a request that others leave no time for. */
void sr_refuse_busy(struct sr_refusal *out);

/* The 413 of a body over `limit` bytes. */
void sr_refuse_size(struct sr_refusal *out, uint64_t limit);

#endif
