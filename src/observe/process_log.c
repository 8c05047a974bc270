/* Connects sr_log, whose sink is one for the process, with a line sink on standard error. */
#include "observe/process_log.h"

#include "base/log.h"
#include "observe/lines.h"

#include <pthread.h>
#include <unistd.h>

#define CLOSE_MS 2000

static pthread_mutex_t process_lock =
    PTHREAD_MUTEX_INITIALIZER; /* a flush keeps the sink from being closed */
static struct sr_lines *process_lines;
static struct sr_metrics *process_metrics;
static uint64_t process_left_out; /* counted so far */

static void queue_line(void *ctx, enum sr_log_level level, struct sr_bytes line)
{
    (void)level;
    sr_lines_write(ctx, line);
}

static void discard(void *ctx, enum sr_log_level level, struct sr_bytes line)
{
    (void)ctx, (void)level, (void)line;
}

int sr_process_log_open(struct sr_err *err)
{
    int rc = sr_lines_open(&process_lines, "process", "stderr", SR_LINES_QUEUE_BYTES, err);
    sr_log_set_form(sr_log_form_of(SR_LOG_AUTO, STDERR_FILENO)); /* until the configuration says otherwise */
    if (rc == SR_OK)
        sr_log_set_sink(queue_line, process_lines);
    return rc;
}

void sr_process_log_count_in(struct sr_metrics *metrics)
{
    process_metrics = metrics;
    sr_lines_count_in(process_lines, metrics);
}

void sr_process_log_tick(void)
{
    sr_log_summarise(false);
    uint64_t left_out = sr_log_left_out();
    if (left_out != process_left_out)
        sr_metrics_add(process_metrics, SR_METRIC_LOG_LINES, (double)(left_out - process_left_out),
                       (struct sr_bytes[]){SR_LIT("process"), SR_LIT("left_out")});
    process_left_out = left_out;
}

void sr_process_log_flush(unsigned wait_ms)
{
    pthread_mutex_lock(&process_lock);
    sr_lines_flush(process_lines, wait_ms);
    pthread_mutex_unlock(&process_lock);
}

void sr_process_log_close(void)
{
    struct sr_lines *lines = process_lines;
    if (!lines)
        return;
    sr_log_summarise(true);
    sr_log_set_sink(discard, NULL);
    pthread_mutex_lock(&process_lock);
    process_lines = NULL;
    pthread_mutex_unlock(&process_lock);
    if (sr_lines_close(lines, CLOSE_MS))
        sr_log_set_sink(NULL, NULL);
}
