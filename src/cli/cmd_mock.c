/*
 * semroute mock: runs the mock upstream until SIGINT or SIGTERM.
 */
#include "cli/cmd.h"

#include "base/thread.h"
#include "mock/mock.h"

#include <pthread.h>
#include <signal.h>

static const char *host = "127.0.0.1";
static long port = 9001, workers = 1;
static const struct sr_option options[] = {
    {"port", SR_OPTION_NUMBER, &port, "N", "first port, default 9001; 0 takes free ones"},
    {"workers", SR_OPTION_NUMBER, &workers, "K", "listen on N .. N+K-1, default 1"},
    {"host", SR_OPTION_TEXT, &host, "ADDR", "address to listen on, default 127.0.0.1"},
};
const struct sr_usage sr_mock_usage = {
    .name = "mock",
    .synopsis = "[--port N] [--workers K]",
    .summary = "Runs OpenAI-compatible upstreams for demos and tests.",
    .text =
        "POST /v1/chat/completions, /v1/completions (plain and SSE), /v1/embeddings; GET /v1/models, "
        "/health.\n"
        "GET /mock/last gives the exact bytes of the last request body, /mock/last-head its request line "
        "and\n"
        "headers, /mock/stats counts. Request headers make a worker misbehave:\n"
        "  x-mock-status: CODE         answers with this status\n"
        "  x-mock-delay-ms: N          waits before the response head\n"
        "  x-mock-chunks: N            content chunks of a stream\n"
        "  x-mock-chunk-delay-ms: N    waits before each frame of a stream but the first\n"
        "  x-mock-body-bytes: N        N more bytes of text in the answer\n"
        "  x-mock-close: head | N      closes instead of answering, or after N bytes of the answer's body\n"
        "  x-mock-slow-read: N         waits N ms after each slice of the request body\n",
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
    for (long i = 0; i < workers; i++)
        printf("worker %ld on http://%s:%u/v1\n", i, host, sr_mock_port(mock, (size_t)i));
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

int sr_cmd_mock(int argc, char **argv)
{
    struct sr_operands operands;
    int code = SR_EXIT_DONE;
    if (!sr_cmd_begin(&sr_mock_usage, argc, argv, 0, &operands, &code))
        return code;
    if (port > UINT16_MAX)
        return sr_cmd_misuse(&sr_mock_usage, "--port is at most %d", UINT16_MAX);

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
    rc = sr_mock_new(&mock, loop, host, (uint16_t)port, (size_t)workers, &err);
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
