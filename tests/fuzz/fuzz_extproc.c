/*
 * Envoy's messages, hostile ones too: the input is a sequence of length-prefixed ProcessingRequests. Nothing
 * crashes, replies are such that a decoder takes them, nothing is said after an immediate response, and while
 * the exchange has not ended FULL_DUPLEX pieces never outgrow their limit.
 */
#include "base/log.h"
#include "router/runtime.h"
#include "serve/extproc/core.h"

#include <stdlib.h>

static sr_runtime *runtime;
static const struct sr_config *config;

struct seen {
    bool immediate, failed;
};

static void drop_log(void *ctx, enum sr_log_level level, struct sr_bytes line)
{
    (void)ctx;
    (void)level;
    (void)line;
}

static void on_send(void *ctx, const struct sr_extproc_reply *reply)
{
    struct seen *seen = ctx;
    struct sr_arena arena;
    if (seen->immediate || seen->failed)
        abort();
    if (reply->change == SR_EXTPROC_PIECE && (reply->n_body != 1 || reply->body->n > SR_EXTPROC_PIECE_MAX))
        abort();
    seen->immediate = reply->action == SR_EXTPROC_IMMEDIATE;
    sr_arena_init(&arena, (size_t)64 << 20);
    if (!sr_extproc_encode(reply, &arena).p)
        abort();
    sr_arena_dispose(&arena);
}

static void on_fail(void *ctx, const char *why)
{
    struct seen *seen = ctx;
    if (seen->failed || !why)
        abort();
    seen->failed = true;
}

static const struct sr_extproc_core_ops OPS = {.send = on_send, .fail = on_fail};

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    if (!runtime) {
        sr_log_set_sink(drop_log, NULL);
        runtime = sr_runtime_open(NULL, NULL, NULL, 0);
        if (!runtime)
            abort();
        config = sr_runtime_config(runtime);
    }
    struct seen seen = {false, false};
    struct sr_extproc_core_options options = {
        .runtime = runtime, .config = config, .peer = {"", 0}, .ops = &OPS, .ctx = &seen};
    struct sr_extproc_core *core = sr_extproc_core_new(&options);
    if (!core)
        abort();
    while (size >= 2 && !seen.failed) {
        size_t n = (size_t)data[0] << 8 | data[1];
        n = n < size - 2 ? n : size - 2;
        char *copy = malloc(n ? n : 1); /* exact, so that a read past its end is a report */
        memcpy(copy, data + 2, n);
        struct sr_arena arena;
        struct sr_extproc_message message;
        sr_arena_init(&arena, (size_t)1 << 20);
        if (sr_extproc_decode(&message, sr_bytes_of(copy, n), &arena) == SR_OK)
            sr_extproc_core_message(core, &message);
        sr_arena_dispose(&arena);
        free(copy);
        (void)sr_extproc_core_deadline_ns(core);
        sr_extproc_core_timeout(core);
        data += 2 + n;
        size -= 2 + n;
    }
    sr_extproc_core_free(core);
    return 0;
}
