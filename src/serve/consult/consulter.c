/* A question comes by a message from a signal's thread, and is one fetch with a timer. */
#include "serve/consult/consulter.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "net/client/client.h"
#include "signal/consult/consult.h"

#include <stdio.h>

#define KEY_MAX 4096

struct call {
    struct sr_message message; /* first: the message is the object */
    struct sr_consulter *consulter;
    struct sr_consult *consult; /* with its reference */
    struct call *next, **at;    /* in the list of those in progress */
    struct sr_fetch *fetch;
    struct sr_timer timer;
    struct sr_bytes body; /* the question's */
    int status;
};

struct sr_consulter {
    sr_runtime *runtime;
    struct sr_loop *loop; /* NULL: no configuration needed it yet */
    struct sr_client *client;
    sr_tls_context *tls;
    pthread_t thread;
    atomic_uint n; /* questions */
    struct call *calls;
};

static const char *result_of(int status)
{
    return status == SR_OK         ? "answered"
           : status == SR_ETIMEOUT ? "late"
           : status == SR_EBUSY    ? "refused"
                                   : "failed";
}

static void count(const struct sr_consulter *consulter, const struct sr_consult *consult, int status)
{
    struct sr_bytes labels[] = {sr_bytes_str(consult->model->role), sr_bytes_str(result_of(status))};
    sr_metrics_add(sr_runtime_metrics_table(consulter->runtime), SR_METRIC_MODEL_QUESTIONS, 1, labels);
}

/* The question is answered, or will not be. */
static void finish(struct call *call, int status)
{
    struct sr_consulter *consulter = call->consulter;
    if (call->at) {
        *call->at = call->next;
        if (call->next)
            call->next->at = call->at;
    }
    sr_timer_stop(&call->timer);
    count(consulter, call->consult, status);
    sr_task_complete(&call->consult->task, status);
    atomic_fetch_sub(&consulter->n, 1);
    sr_mem_free(call);
}

static void on_head(void *ctx, const struct sr_http_head *head)
{
    ((struct call *)ctx)->status = head->status;
}

static void on_body(void *ctx, struct sr_bytes slice)
{
    struct call *call = ctx;
    int rc = sr_buf_append_bytes(&call->consult->answer, slice);
    if (rc == SR_OK)
        return;
    sr_fetch_cancel(&call->fetch);
    finish(call, rc);
}

static void on_end(void *ctx)
{
    struct call *call = ctx;
    call->fetch = NULL;
    finish(call, call->status == 200 ? SR_OK : SR_EPROTO);
}

static void on_failed(void *ctx, const struct sr_client_error *error)
{
    struct call *call = ctx;
    call->fetch = NULL;
    finish(call, error->code);
}

static void on_timer(void *ctx)
{
    struct call *call = ctx;
    sr_fetch_cancel(&call->fetch);
    finish(call, SR_ETIMEOUT);
}

static const struct sr_fetch_events EVENTS = {
    .head = on_head, .body = on_body, .end = on_end, .failed = on_failed};

static int start(struct call *call)
{
    const struct sr_config_external *model = call->consult->model;
    uint32_t ms = (uint32_t)model->timeout_ms;
    char bearer[KEY_MAX];
    struct sr_header headers[] = {{SR_LIT("content-type"), SR_LIT("application/json")},
                                  {SR_LIT("accept-encoding"), SR_LIT("identity")},
                                  {SR_LIT("authorization"), {bearer, 0}}};
    int n = snprintf(bearer, sizeof bearer, "Bearer %s", model->key);
    if (n < 0 || (size_t)n >= sizeof bearer)
        return SR_ELIMIT;
    headers[2].value.n = (size_t)n;
    call->body = sr_buf_view(&call->consult->body);
    struct sr_client_request request = {.method = SR_LIT("POST"),
                                        .target = sr_bytes_str(model->path),
                                        .headers = headers,
                                        .header_count = model->key[0] ? 3 : 2,
                                        .content_length = (int64_t)call->body.n,
                                        .body = &call->body,
                                        .body_count = 1,
                                        .body_complete = true,
                                        .timeouts = {.connect_ms = ms, .head_ms = ms, .idle_ms = ms}};
    struct sr_origin origin = {
        .host = model->host, .port = (uint16_t)model->port, .tls = model->tls ? call->consulter->tls : NULL};
    return sr_client_start(&call->fetch, call->consulter->client, &origin, &request, &EVENTS, call);
}

/* `closed`: the loop ends. */
static void on_message(struct sr_message *message, bool closed)
{
    struct call *call = (struct call *)(void *)message;
    struct sr_consulter *consulter = call->consulter;
    if (closed) {
        finish(call, SR_ECLOSED);
        return;
    }
    call->next = consulter->calls;
    call->at = &consulter->calls;
    if (call->next)
        call->next->at = &call->next;
    consulter->calls = call;
    sr_timer_init(&call->timer, consulter->loop, on_timer, call);
    sr_timer_start(&call->timer, call->consult->model->timeout_ms);
    bool wanted = sr_task_state(&call->consult->task) == SR_TASK_PENDING;
    int rc = wanted ? start(call) : SR_ECANCELED;
    if (rc != SR_OK)
        finish(call, rc);
}

/* Any thread. */
static int ask(void *ctx, struct sr_consult *consult)
{
    struct sr_consulter *consulter = ctx;
    struct call *call = NULL;
    int rc = SR_EBUSY;
    if (atomic_fetch_add(&consulter->n, 1) < SR_CONSULTS_MAX) {
        call = sr_mem_calloc(1, sizeof *call);
        rc = call ? SR_OK : SR_ENOMEM;
    }
    if (call) {
        *call = (struct call){.message.run = on_message, .consulter = consulter, .consult = consult};
        rc = sr_loop_post(consulter->loop, &call->message);
    }
    if (rc == SR_OK)
        return rc;
    sr_mem_free(call);
    atomic_fetch_sub(&consulter->n, 1);
    count(consulter, consult, rc);
    return rc;
}

static void *thread_main(void *arg)
{
    struct sr_consulter *consulter = arg;
    sr_thread_name("sr-consult");
    sr_loop_run(consulter->loop);
    return NULL;
}

/* ---- life ---- */

static void close_all(struct sr_consulter *consulter)
{
    while (consulter->calls) {
        sr_fetch_cancel(&consulter->calls->fetch);
        finish(consulter->calls, SR_ECLOSED);
    }
    sr_client_free(consulter->client);
    sr_loop_free(consulter->loop);
    sr_tls_context_unref(consulter->tls);
    consulter->loop = NULL;
    consulter->client = NULL;
    consulter->tls = NULL;
}

static int begin(struct sr_consulter *consulter)
{
    struct sr_client_settings settings = sr_client_settings_defaults();
    struct sr_tls_settings tls = {.ca_file = NULL};
    struct sr_err err = {0};
    int rc = sr_loop_new(&consulter->loop);
    if (rc == SR_OK)
        rc = sr_client_new(&consulter->client, consulter->loop, &settings);
    if (rc == SR_OK)
        rc = sr_tls_context_new(&consulter->tls, &tls, &err);
    if (rc == SR_OK && pthread_create(&consulter->thread, NULL, thread_main, consulter) != 0)
        rc = SR_EIO;
    if (rc) {
        close_all(consulter);
        return rc;
    }
    sr_consults_serve(sr_runtime_consults(consulter->runtime), ask, consulter);
    return SR_OK;
}

/* Does any profile ask? */
static bool is_needed(const struct sr_config *config)
{
    bool rules = config->n_preferences > 0;
    for (size_t i = 0; i < config->n_recipes; i++)
        rules |= config->recipes[i].config.n_preferences > 0;
    return rules && sr_config_preference_model(config);
}

int sr_consulter_start(struct sr_consulter **out, sr_runtime *runtime, const struct sr_config *config)
{
    struct sr_consulter *consulter = sr_mem_calloc(1, sizeof *consulter);
    *out = NULL;
    if (!consulter)
        return SR_ENOMEM;
    consulter->runtime = runtime;
    int rc = is_needed(config) ? begin(consulter) : SR_OK;
    if (rc) {
        sr_mem_free(consulter);
        return rc;
    }
    *out = consulter;
    return SR_OK;
}

void sr_consulter_configure(struct sr_consulter *consulter, const struct sr_config *config)
{
    if (!consulter->loop && is_needed(config) && begin(consulter) != SR_OK)
        sr_log(SR_LOG_ERROR, "consult", "no thread left: no model is asked for preferences");
}

void sr_consulter_stop(struct sr_consulter *consulter)
{
    if (!consulter)
        return;
    sr_consults_serve(sr_runtime_consults(consulter->runtime), NULL, NULL);
    if (consulter->loop) {
        sr_loop_stop(consulter->loop);
        pthread_join(consulter->thread, NULL);
        close_all(consulter);
    }
    sr_mem_free(consulter);
}
