/* The listener's clock and its errors around a work of router/embed. */
#include "serve/admin/embed.h"

#include "base/clock.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "serve/local.h"
#include "serve/post.h"

#include <time.h>

#define ERROR_MAX 4096

struct sr_api_embed {
    struct sr_api_embed_options options;
    struct sr_timer timer;
    struct sr_mailbox *mailbox;
    struct sr_embeddings *work;
};

static void post(void *ctx, void (*run)(void *arg), void *arg)
{
    sr_serve_post(ctx, run, arg);
}

static void embed_free(struct sr_api_embed *embed)
{
    sr_timer_stop(&embed->timer);
    sr_embeddings_free(embed->work);
    sr_mailbox_close(embed->mailbox);
    sr_mem_free(embed);
}

/* ---- errors ---- */

static const char *code_of(int status)
{
    return status == 413   ? "REQUEST_BODY_TOO_LARGE"
           : status == 503 ? "EMBEDDING_UNAVAILABLE"
           : status == 504 ? "EMBEDDING_TIMEOUT"
           : status >= 500 ? "EMBEDDING_ERROR"
                           : "INVALID_INPUT";
}

void sr_api_embed_error(bool openai, int status, const char *message, struct sr_buf *out)
{
    size_t start = out->len;
    char when[32] = "";
    time_t now = (time_t)(sr_clock_wall_ns() / SR_NS_PER_S);
    struct tm utc;
    if (openai) {
        sr_local_error(out, status, NULL, status == 404 ? "model_not_found" : NULL, message);
        return;
    }
    if (gmtime_r(&now, &utc))
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_object(&w, "error");
    sr_json_text(&w, "code", code_of(status));
    sr_json_text(&w, "message", message);
    sr_json_text(&w, "timestamp", when);
    sr_json_object_end(&w);
    sr_json_object_end(&w);
    if (w.rc)
        out->len = start;
}

static void answer_error(struct sr_api_embed *embed, bool openai, int status, const char *message)
{
    struct sr_buf answer;
    sr_buf_init(&answer, ERROR_MAX);
    sr_api_embed_error(openai, status, message, &answer);
    embed->options.done(embed->options.ctx, status, sr_buf_view(&answer));
    sr_buf_dispose(&answer);
}

/* ---- the loop ---- */

static void on_done(void *ctx)
{
    struct sr_api_embed *embed = ctx;
    struct sr_embeddings_result result = sr_embeddings_result(embed->work);
    if (result.status == 200)
        embed->options.done(embed->options.ctx, 200, result.answer);
    else
        answer_error(embed, result.openai, result.status, result.message);
    embed_free(embed);
}

static void on_timeout(void *ctx)
{
    struct sr_api_embed *embed = ctx;
    answer_error(embed, embed->options.kind == SR_EMBEDDINGS_OPENAI, 504, "the texts took too long");
    embed_free(embed);
}

void sr_api_embed_cancel(struct sr_api_embed *embed)
{
    if (embed)
        embed_free(embed);
}

int sr_api_embed_start(struct sr_api_embed **out, struct sr_buf *body,
                       const struct sr_api_embed_options *options)
{
    struct sr_api_embed *embed = sr_mem_calloc(1, sizeof *embed);
    *out = NULL;
    if (!embed || sr_mailbox_new(&embed->mailbox, post, options->loop)) {
        sr_mem_free(embed);
        return SR_ENOMEM;
    }
    embed->options = *options;
    struct sr_embeddings_options own = {.kind = options->kind,
                                        .runtime = options->runtime,
                                        .mailbox = embed->mailbox,
                                        .done = on_done,
                                        .ctx = embed};
    int rc = sr_embeddings_start(&embed->work, body, &own);
    if (rc) {
        sr_mailbox_close(embed->mailbox);
        sr_mem_free(embed);
        return rc;
    }
    sr_timer_init(&embed->timer, options->loop, on_timeout, embed);
    sr_timer_start(&embed->timer, SR_EMBEDDINGS_TIMEOUT_MS);
    *out = embed;
    return SR_OK;
}
