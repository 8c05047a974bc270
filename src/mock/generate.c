/* Requests that the engine answers, and POST /tokenize. */
#include "mock/private.h"

#include "base/clock.h"
#include "base/json_write.h"

#include <stdio.h>

#define SCRATCH_MAX ((size_t)256 << 20) /* of one prompt's texts */

/* The tokens of the body; answers by itself when there are none. */
static bool read_tokens(struct sr_mock_call *call, struct sr_mock_tokens *tokens,
                        struct sr_mock_prompt *prompt)
{
    struct sr_arena arena;
    struct sr_err err = {0};
    char message[160];
    size_t max = call->worker->mock->settings.limits.blocks * SR_MOCK_BLOCK;
    sr_mock_tokens_init(tokens, max);
    sr_arena_init(&arena, SCRATCH_MAX);
    int rc = sr_mock_prompt_read(call->worker->mock->prompts, sr_buf_view(&call->body->bytes), &arena, tokens,
                                 prompt, &err);
    sr_arena_dispose(&arena);
    if (rc == SR_OK)
        return true;
    snprintf(message, sizeof message, "This model's maximum context length is %zu tokens.", max);
    if (rc == SR_ENOMEM)
        sr_mock_give_up(call);
    else
        sr_mock_reply_error(call, 400, rc == SR_ELIMIT ? message : err.message);
    return false;
}

/* How many tokens the answer has: what a header asks for, max_tokens with ignore_eos, or the usual number. */
static size_t wanted_tokens(const struct sr_mock_call *call, const struct sr_mock_prompt *prompt)
{
    uint64_t wanted = call->asked.chunks ? call->asked.chunks : SR_MOCK_CHUNKS;
    if (prompt->max_tokens && (prompt->ignore_eos || prompt->max_tokens < wanted))
        wanted = prompt->max_tokens;
    return (size_t)wanted;
}

void sr_mock_generate(struct sr_mock_call *call)
{
    struct sr_mock_tokens tokens;
    struct sr_mock_prompt prompt;
    int rc = SR_EINVAL;
    if (read_tokens(call, &tokens, &prompt)) {
        size_t wanted = wanted_tokens(call, &prompt), interval = call->worker->mock->settings.stream_interval;
        call->sequence = (struct sr_mock_sequence){.ctx = call, .prompt = tokens.n, .wanted = wanted};
        call->n_chunks = 1 + (wanted - 1 + interval - 1) / interval;
        call->measured = (struct sr_mock_measured){.prompt_tokens = tokens.n,
                                                   .answer_tokens = wanted,
                                                   .length = prompt.max_tokens == wanted,
                                                   .arrived_ns = sr_clock_ns()};
        rc = sr_mock_drive_submit(call->worker->drive, &call->sequence, tokens.ids);
        if (rc == SR_OK)
            call->ask.measured = &call->measured;
        else if (rc == SR_AGAIN)
            sr_mock_reply_error(call, 503, "too many requests wait");
        else
            sr_mock_reply_error(call, rc == SR_ENOMEM ? 500 : 400,
                                rc == SR_ELIMIT ? "prompt and answer are longer than the cache"
                                                : "no memory");
    }
    sr_mock_tokens_dispose(&tokens);
}

static uint64_t micros(uint64_t from, uint64_t to)
{
    return to > from ? (to - from) / SR_NS_PER_US : 0;
}

void sr_mock_generate_news(void *ctx, struct sr_mock_sequence *sequence)
{
    struct sr_mock_call *call = sequence->ctx;
    (void)ctx;
    if (call->ended)
        return;
    call->measured.cached_tokens = sequence->cached;
    call->measured.queued_us = micros(sequence->arrived, sequence->admitted);
    call->measured.first_us = micros(sequence->arrived, sequence->first);
    call->measured.last_us = micros(sequence->arrived, sequence->last);
    if (call->answering)
        sr_mock_go_on(call);
    else if (call->ask.stream || sequence->finished)
        sr_mock_answer_begin(call, 200);
}

void sr_mock_tokenize(struct sr_mock_call *call)
{
    struct sr_mock_tokens tokens;
    struct sr_mock_prompt prompt;
    if (read_tokens(call, &tokens, &prompt)) {
        struct sr_json_writer w = sr_json_writer_of(sr_mock_scratch(call));
        sr_json_object(&w, NULL);
        sr_json_uint(&w, "count", tokens.n);
        sr_json_uint(&w, "max_model_len", tokens.max);
        sr_json_array(&w, "tokens");
        for (size_t i = 0; i < tokens.n; i++)
            sr_json_uint(&w, NULL, tokens.ids[i]);
        sr_json_array_end(&w);
        sr_json_null(&w, "token_strs");
        sr_json_object_end(&w);
        sr_mock_reply_scratch(call, 200, w.rc);
    }
    sr_mock_tokens_dispose(&tokens);
}
