/*
 * semroute mock: runs the mock upstream until SIGINT or SIGTERM.
 */
#include "cli/cmd.h"

#include "base/thread.h"
#include "mock/mock.h"

#include <pthread.h>
#include <signal.h>

static const char *host = "127.0.0.1";
static const char *model = "mock", *kv_form = "vllm";
static long port = 9001, workers = 1, blocks = 8192, running = 256, waiting, speed = 1, interval = 1;
static long kv_events = -1, kv_replay;
static bool engine, same_ids;
static const struct sr_option options[] = {
    {"port", SR_OPTION_NUMBER, &port, "N", "first port, default 9001; 0 takes free ones"},
    {"workers", SR_OPTION_NUMBER, &workers, "K", "listen on N .. N+K-1, default 1"},
    {"host", SR_OPTION_TEXT, &host, "ADDR", "address to listen on, default 127.0.0.1"},
    {"model", SR_OPTION_TEXT, &model, "NAME", "the model of /v1/models and /metrics, default mock"},
    {"same-ids", SR_OPTION_FLAG, &same_ids, NULL, "equal requests get equal answers, their ids too"},
    {"engine", SR_OPTION_FLAG, &engine, NULL, "answer as fast as a simulated GPU with a prefix cache would"},
    {"blocks", SR_OPTION_NUMBER, &blocks, "N", "blocks of 16 tokens in a worker's cache, default 8192"},
    {"running", SR_OPTION_NUMBER, &running, "N", "requests in a batch, default 256"},
    {"waiting", SR_OPTION_NUMBER, &waiting, "N", "requests that may wait, default 0: no limit"},
    {"speed", SR_OPTION_NUMBER, &speed, "N", "the engine's clock runs N times as fast, default 1"},
    {"stream-interval", SR_OPTION_NUMBER, &interval, "N", "tokens in an event of a stream, default 1"},
    {"kv-events", SR_OPTION_NUMBER, &kv_events, "PORT", "publish KV events from this port on; 0: free ones"},
    {"kv-replay", SR_OPTION_NUMBER, &kv_replay, "PORT", "replay them from this port on, default free ones"},
    {"kv-form", SR_OPTION_CHOICE, &kv_form, "vllm|dynamo", "events as arrays (default) or as maps"},
};
const struct sr_usage sr_mock_usage = {
    .name = "mock",
    .synopsis = "[--port N] [--workers K] [--engine]",
    .summary = "Runs OpenAI-compatible upstreams for demos and tests.",
    .text =
        "POST /v1/chat/completions, /v1/completions, /v1/responses, /v1/messages (plain and SSE),\n"
        "/v1/messages/count_tokens, /v1/responses/input_tokens, /v1/embeddings; GET /v1/models, /health.\n"
        "GET /mock/last gives the exact bytes of the last request body, /mock/last-head its request line "
        "and\n"
        "headers, /mock/stats counts. Request headers make a worker misbehave:\n"
        "  x-mock-status: CODE         answers with this status\n"
        "  x-mock-delay-ms: N          waits before the response head\n"
        "  x-mock-chunks: N            content chunks of a stream\n"
        "  x-mock-chunk-delay-ms: N    waits before each frame of a stream but the first\n"
        "  x-mock-body-bytes: N        N more bytes of text in the answer\n"
        "  x-mock-close: head | N      closes instead of answering, or after N bytes of the answer's body\n"
        "  x-mock-slow-read: N         waits N ms after each slice of the request body\n"
        "  x-mock-tools: N             calls tools of the request N times, with x-mock-arguments: JSON\n"
        "  x-mock-text: TEXT           the text of the answer\n"
        "  x-mock-reasoning: 1         reasoning before the text\n"
        "  x-mock-cached: N            so many tokens of the prompt were cached\n"
        "  x-mock-fail-after: N        a stream ends with an error after N frames\n"
        "With --engine the time of an answer is that of a simulated GPU: 0.1 ms for each prompt token that "
        "is "
        "not\n"
        "cached, 10 ms for each step and 0.1 ms for each request in it. GET /metrics, POST /tokenize; PUT "
        "/mock/kill,\n"
        "hang, slow, fail, evict, lose-events, recover with ?worker=K&for_ms=N are failures on command.\n",
    SR_OPTIONS(options),
};

static void *run_loop(void *loop)
{
    sr_thread_name("sr-loop-0");
    sr_loop_run(loop);
    return NULL;
}

static void announce(const struct sr_mock *mock)
{
    for (long i = 0; i < workers; i++) {
        printf("worker %ld on http://%s:%u/v1", i, host, sr_mock_port(mock, (size_t)i));
        if (sr_mock_events_port(mock, (size_t)i))
            printf(" events tcp://%s:%u replay tcp://%s:%u", host, sr_mock_events_port(mock, (size_t)i), host,
                   sr_mock_replay_port(mock, (size_t)i));
        printf("\n");
    }
    fflush(stdout);
}

/* The loop has a thread of its own, so that this one can wait for a signal without a handler. */
static int run_until_told(struct sr_loop *loop, const sigset_t *signals)
{
    pthread_t thread;
    int number;
    if (pthread_create(&thread, NULL, run_loop, loop) != 0)
        return sr_cmd_fail(&sr_mock_usage, SR_EXIT_FAILED, "cannot start a thread");
    sigwait(signals, &number);
    sr_loop_stop(loop);
    pthread_join(thread, NULL);
    return SR_EXIT_DONE;
}

static struct sr_mock_settings settings_of_options(void)
{
    struct sr_mock_settings settings = sr_mock_settings_defaults();
    settings.host = host;
    settings.port = (uint16_t)port;
    settings.workers = (size_t)workers;
    settings.model = model;
    settings.same_ids = same_ids;
    settings.engine = engine;
    settings.limits.blocks = (size_t)blocks;
    settings.limits.max_running = (size_t)running;
    settings.limits.max_waiting = (size_t)waiting;
    settings.speed = speed > SR_MOCK_SPEED_MAX ? 0 : (unsigned)speed;
    settings.stream_interval = (size_t)interval;
    settings.events = kv_events >= 0;
    settings.events_form = kv_form[0] == 'd' ? SR_MOCK_EVENTS_MAPS : SR_MOCK_EVENTS_ARRAYS;
    settings.events_port = kv_events > 0 ? (uint16_t)kv_events : 0;
    settings.replay_port = (uint16_t)kv_replay;
    return settings;
}

/* False when an option has no effect or no such value is possible; says so. */
static bool check_options(int *code)
{
    if (port > UINT16_MAX || kv_events > UINT16_MAX || kv_replay > UINT16_MAX)
        *code = sr_cmd_misuse(&sr_mock_usage, "ports are at most %d", UINT16_MAX);
    else if (!engine && (kv_events >= 0 || kv_replay || speed != 1 || waiting))
        *code =
            sr_cmd_misuse(&sr_mock_usage, "--kv-events, --kv-replay, --speed and --waiting need --engine");
    else if (strpbrk(model, "\"\\\n"))
        *code = sr_cmd_misuse(&sr_mock_usage, "--model is a plain name");
    else
        return true;
    return false;
}

int sr_cmd_mock(int argc, char **argv)
{
    struct sr_operands operands;
    int code = SR_EXIT_DONE;
    if (!sr_cmd_begin(&sr_mock_usage, argc, argv, 0, &operands, &code))
        return code;
    if (!check_options(&code))
        return code;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);

    struct sr_loop *loop = NULL;
    struct sr_mock *mock = NULL;
    struct sr_err err = {0};
    int rc = sr_loop_new(&loop);
    if (rc != SR_OK)
        return sr_cmd_fail(&sr_mock_usage, SR_EXIT_FAILED, "no event loop: %s", sr_strerror(rc));
    struct sr_mock_settings settings = settings_of_options();
    rc = sr_mock_new(&mock, loop, &settings, &err);
    if (rc == SR_EINVAL)
        code = sr_cmd_misuse(&sr_mock_usage, "%s", err.message);
    else if (rc != SR_OK)
        code = sr_cmd_fail(&sr_mock_usage, SR_EXIT_FAILED, "%s; choose other ports with --port", err.message);
    if (rc == SR_OK) {
        announce(mock);
        code = run_until_told(loop, &signals);
    }
    sr_mock_free(mock);
    sr_loop_free(loop);
    return code;
}
