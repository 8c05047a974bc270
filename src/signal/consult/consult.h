/*
 * Questions to models of the configuration, over HTTP: what a signal asks, and who answers.
 *
 * A signal knows no sockets: it makes the body of a request and reads the body of the answer. The server
 * (serve/consult) sends it; it is optional, so without it nothing is asked. Any thread.
 */
#ifndef SR_SIGNAL_CONSULT_CONSULT_H
#define SR_SIGNAL_CONSULT_CONSULT_H

#include "base/buf.h"
#include "base/task.h"
#include "config/config.h"

#define SR_CONSULT_BODY_MAX   ((size_t)1 << 20)
#define SR_CONSULT_ANSWER_MAX ((size_t)64 << 10) /* bytes of an answer; a longer one is an error */

/* One question, in memory of the asker. The server completes the task: SR_OK with the whole body of an answer
 * of the status 200, else why there is none. */
struct sr_consult {
    struct sr_task task;
    const struct sr_config_external *model; /* lives as long as the task */
    struct sr_buf body, answer;
};

/* Who answers; one for the process. */
struct sr_consults;

/* SR_ENOMEM. */
int sr_consults_new(struct sr_consults **out) SR_WARN_UNUSED;
/* No question may be in progress. NULL is allowed. */
void sr_consults_free(struct sr_consults *consults);

/* Sets the server of questions, NULL: there is none. `ask` takes a question with its reference, on any
 * thread, and completes it. Otherwise it returns why it does not: SR_EBUSY, SR_ENOMEM. After the return no
 * call of the one before is in progress. */
void sr_consults_serve(struct sr_consults *consults, int (*ask)(void *ctx, struct sr_consult *consult),
                       void *ctx);

/* Asks: gives the question, with a reference of its task, to the server. SR_OK: its task will be completed.
 * SR_EUNSUPPORTED: there is no server (`consults` may be NULL); its other errors. */
int sr_consults_ask(struct sr_consults *consults, struct sr_consult *consult) SR_WARN_UNUSED;

#endif
