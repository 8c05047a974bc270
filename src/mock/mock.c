/* The mock's life: its workers, and what they share. */
#include "mock/mock.h"

#include "base/hash.h"
#include "base/mem.h"
#include "mock/private.h"

struct sr_mock_settings sr_mock_settings_defaults(void)
{
    return (struct sr_mock_settings){.host = "127.0.0.1",
                                     .workers = 1,
                                     .model = "mock",
                                     .limits = sr_mock_engine_settings_defaults(),
                                     .speed = 1,
                                     .stream_interval = 1};
}

static int check(const struct sr_mock_settings *settings, struct sr_err *err)
{
    size_t n = settings->workers;
    if (n < 1 || n > SR_MOCK_WORKERS_MAX || (settings->port && settings->port + n - 1 > UINT16_MAX))
        return sr_err_set(err, SR_EINVAL,
                          "%zu workers from port %u on: there are 1 to %d workers and ports up to %d", n,
                          settings->port, SR_MOCK_WORKERS_MAX, UINT16_MAX);
    if (settings->speed < 1 || settings->speed > SR_MOCK_SPEED_MAX || settings->stream_interval < 1)
        return sr_err_set(err, SR_EINVAL, "the speed is 1 to %d, the interval of a stream at least 1",
                          SR_MOCK_SPEED_MAX);
    if (settings->limits.blocks < 1 || settings->limits.blocks > SR_MOCK_BLOCKS_MAX ||
        settings->limits.max_running < 1)
        return sr_err_set(err, SR_EINVAL, "there are 1 to %zu blocks and at least 1 running sequence",
                          SR_MOCK_BLOCKS_MAX);
    return SR_OK;
}

static int open_all(struct sr_mock *mock, struct sr_err *err)
{
    const struct sr_mock_settings *settings = &mock->settings;
    int rc = sr_mock_paths(&mock->paths, err);
    if (rc == SR_OK)
        rc = sr_mock_prompts_new(&mock->prompts, err);
    if (rc == SR_OK && settings->engine && settings->events)
        rc = sr_zmq_publishers_new(&mock->publishers, settings->host, settings->events_port,
                                   settings->replay_port, settings->workers, err);
    for (size_t i = 0; i < settings->workers && rc == SR_OK; i++) {
        struct sr_mock_worker *worker = &mock->workers[mock->n_workers++];
        worker->mock = mock;
        worker->index = i;
        rc = sr_mock_worker_open(worker, settings->port ? (uint16_t)(settings->port + i) : 0, err);
    }
    return rc;
}

int sr_mock_new(struct sr_mock **out, struct sr_loop *loop, const struct sr_mock_settings *settings,
                struct sr_err *err)
{
    *out = NULL;
    int rc = check(settings, err);
    if (rc != SR_OK)
        return rc;
    struct sr_mock *mock = sr_mem_calloc(1, sizeof *mock + settings->workers * sizeof mock->workers[0]);
    if (!mock)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    mock->loop = loop;
    mock->settings = *settings;
    mock->handler = &sr_mock_handler;
    rc = sr_random(&mock->seed, sizeof mock->seed);
    if (rc != SR_OK) {
        sr_mem_free(mock);
        return sr_err_set(err, rc, "no random numbers: %s", sr_strerror(rc));
    }
    sr_buf_init(&mock->head, SR_MOCK_ANSWER_MAX);
    sr_buf_init(&mock->tail, SR_MOCK_ANSWER_MAX);
    rc = open_all(mock, err);
    if (rc != SR_OK)
        sr_mock_free(mock);
    else
        *out = mock;
    return rc;
}

void sr_mock_free(struct sr_mock *mock)
{
    if (!mock)
        return;
    for (size_t i = 0; i < mock->n_workers; i++)
        sr_mock_worker_close(&mock->workers[i]);
    sr_zmq_publishers_free(mock->publishers);
    sr_mock_prompts_free(mock->prompts);
    sr_paths_unref(mock->paths);
    sr_buf_dispose(&mock->head);
    sr_buf_dispose(&mock->tail);
    sr_mem_free(mock);
}

uint16_t sr_mock_port(const struct sr_mock *mock, size_t at)
{
    return mock->workers[at].port;
}

uint16_t sr_mock_events_port(const struct sr_mock *mock, size_t at)
{
    return mock->publishers ? sr_zmq_publisher_port(mock->publishers, at) : 0;
}

uint16_t sr_mock_replay_port(const struct sr_mock *mock, size_t at)
{
    return mock->publishers ? sr_zmq_publisher_replay_port(mock->publishers, at) : 0;
}
