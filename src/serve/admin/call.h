/*
 * One request of the API listener, while it is answered; and how answers are sent.
 *
 * Private to serve/admin: api.c owns calls, explain.c and calls.c answer them. Loop's thread only.
 */
#ifndef SR_SERVE_ADMIN_CALL_H
#define SR_SERVE_ADMIN_CALL_H

#include "base/buf.h"
#include "net/loop/loop.h"
#include "net/server/server.h"
#include "serve/admin/api.h"

struct sr_drafts;
struct sr_api_call;
struct sr_api_path;

struct sr_api {
    struct sr_api_options options;
    struct sr_http_server *server;
    struct sr_api_call *waiting; /* whose exchange waits for another thread */
    struct sr_drafts *drafts;
    int followers;
};

struct sr_api_call {
    struct sr_api *api;
    struct sr_http_request *request;
    struct sr_buf body;
    sr_exchange *exchange;
    struct sr_api_work *work;     /* in progress on a worker thread; NULL */
    struct sr_api_embed *embed;   /* in progress on worker threads and the engine; NULL */
    struct sr_draft_call *draft;  /* in progress on the thread of drafts; NULL */
    struct sr_warm_job *warm;     /* in progress on the warming thread; NULL */
    struct sr_api_follow *follow; /* a stream that is open; NULL */
    struct sr_timer timer;        /* of the exchange's deadline */
    struct sr_api_call *next, **pprev;
    bool answered;
    const struct sr_api_path *path;
};

void sr_api_reply(struct sr_http_request *request, int status, struct sr_bytes type, struct sr_bytes body);

/* An error object in OpenAI's shape. */
void sr_api_reply_error(struct sr_http_request *request, int status, const char *message);

#endif
