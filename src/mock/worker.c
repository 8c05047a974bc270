/* A worker's port and connections, opened, closed and opened again; request bodies that are kept. */
#include "mock/private.h"

#include "base/mem.h"

#define CONNECTIONS_MAX 20000
#define KEEP_BUFFER     65536 /* a remembered buffer up to this size is used again */

struct sr_mock_kept *sr_mock_kept_new(struct sr_mock_worker *worker)
{
    struct sr_mock_kept *kept = worker->spare;
    worker->spare = NULL;
    if (!kept && !(kept = sr_mem_calloc(1, sizeof *kept)))
        return NULL;
    kept->refs = 1;
    kept->bytes.max = SR_MOCK_KEEP_MAX;
    sr_buf_clear(&kept->bytes);
    return kept;
}

void sr_mock_kept_unref(struct sr_mock_worker *worker, struct sr_mock_kept *kept)
{
    if (!kept || --kept->refs > 0)
        return;
    if (worker && !worker->spare && kept->bytes.cap <= KEEP_BUFFER) {
        worker->spare = kept;
        return;
    }
    sr_buf_dispose(&kept->bytes);
    sr_mem_free(kept);
}

static int listen_on(struct sr_mock_worker *worker, uint16_t port, struct sr_err *err)
{
    struct sr_http_server_settings settings = sr_http_server_settings_defaults();
    int fd = -1;
    settings.max_connections = CONNECTIONS_MAX;
    settings.limits.head_bytes = SR_MOCK_HEAD_MAX;
    int rc = sr_listen_open(worker->mock->settings.host, port, 1, &fd, &worker->port, err);
    if (rc != SR_OK)
        return rc;
    rc = sr_http_server_new(&worker->server, worker->mock->loop, fd, NULL, &settings, worker->mock->handler,
                            worker);
    return rc == SR_OK ? rc
                       : sr_err_set(err, rc, "cannot serve on port %u: %s", worker->port, sr_strerror(rc));
}

static int open_drive(struct sr_mock_worker *worker)
{
    const struct sr_mock_settings *of = &worker->mock->settings;
    struct sr_mock_drive_settings settings = {
        .engine = of->limits,
        .speed = of->speed,
        .events_form = of->events_form,
        .publishers = worker->mock->publishers,
        .publisher = worker->index,
        .news = sr_mock_generate_news,
        .ctx = worker,
    };
    return sr_mock_drive_new(&worker->drive, worker->mock->loop, &settings);
}

static void close_server(void *ctx)
{
    struct sr_mock_worker *worker = ctx;
    sr_http_server_free(worker->server);
    worker->server = NULL;
    if (worker->drive && sr_mock_drive_restart(worker->drive) != SR_OK)
        sr_mock_drive_evict(worker->drive);
}

static void on_recover(void *ctx)
{
    struct sr_mock_worker *worker = ctx;
    if (sr_mock_worker_recover(worker) != SR_OK)
        sr_timer_start(&worker->recover, 100);
}

int sr_mock_worker_open(struct sr_mock_worker *worker, uint16_t port, struct sr_err *err)
{
    sr_buf_init(&worker->last_head, 2 * SR_MOCK_HEAD_MAX);
    sr_buf_init(&worker->text, SR_MOCK_HEAD_MAX);
    sr_buf_init(&worker->arguments, SR_MOCK_HEAD_MAX);
    worker->kill.run = close_server;
    worker->kill.ctx = worker;
    sr_timer_init(&worker->recover, worker->mock->loop, on_recover, worker);
    int rc = worker->mock->settings.engine ? open_drive(worker) : SR_OK;
    if (rc != SR_OK)
        return sr_err_set(err, rc, "no engine: %s", sr_strerror(rc));
    return listen_on(worker, port, err);
}

void sr_mock_worker_close(struct sr_mock_worker *worker)
{
    sr_timer_stop(&worker->recover);
    sr_deferred_cancel(&worker->kill);
    sr_http_server_free(worker->server);
    sr_mock_drive_free(worker->drive);
    sr_mock_kept_unref(NULL, worker->last);
    sr_mock_kept_unref(NULL, worker->spare);
    sr_buf_dispose(&worker->last_head);
    sr_buf_dispose(&worker->text);
    sr_buf_dispose(&worker->arguments);
}

static void behave_as_usual(struct sr_mock_worker *worker)
{
    worker->usual = (struct sr_mock_behaviour){0};
    sr_buf_clear(&worker->text);
    sr_buf_clear(&worker->arguments);
}

int sr_mock_worker_behave(struct sr_mock_worker *worker, const struct sr_http_head *head)
{
    behave_as_usual(worker);
    sr_mock_behaviour_read(&worker->usual, head);
    int rc = sr_buf_append_bytes(&worker->text, sr_http_head_value(head, SR_LIT("x-mock-text")));
    return rc ? rc
              : sr_buf_append_bytes(&worker->arguments, sr_http_head_value(head, SR_LIT("x-mock-arguments")));
}

void sr_mock_worker_kill(struct sr_mock_worker *worker)
{
    if (worker->server)
        sr_loop_defer(worker->mock->loop, &worker->kill);
}

int sr_mock_worker_recover(struct sr_mock_worker *worker)
{
    struct sr_err err = {0};
    sr_timer_stop(&worker->recover);
    sr_deferred_cancel(&worker->kill);
    behave_as_usual(worker);
    if (worker->drive) {
        sr_mock_drive_slow(worker->drive, 1);
        sr_mock_drive_hang(worker->drive, false);
        sr_mock_drive_lose_events(worker->drive, 0);
    }
    return worker->server ? SR_OK : listen_on(worker, worker->port, &err);
}
