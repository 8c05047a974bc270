/* Builds a log line on the stack, escapes it as JSON, hands it to the sink under one lock. */
#include "base/log.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json_write.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define LOG_LINE_MAX 4096

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static sr_log_sink *log_sink;
static void *log_ctx;
static atomic_int log_level = SR_LOG_INFO;

static void write_stderr(struct sr_bytes line)
{
    char out[LOG_LINE_MAX + 1];
    size_t n = line.n < LOG_LINE_MAX ? line.n : LOG_LINE_MAX;
    memcpy(out, line.p, n);
    out[n++] = '\n';
    for (size_t done = 0; done < n;) {
        ssize_t w = write(STDERR_FILENO, out + done, n - done);
        if (w <= 0)
            return;
        done += (size_t)w;
    }
}

void sr_log_set_sink(sr_log_sink *sink, void *ctx)
{
    pthread_mutex_lock(&log_lock);
    log_sink = sink;
    log_ctx = ctx;
    pthread_mutex_unlock(&log_lock);
}

void sr_log_set_level(enum sr_log_level level)
{
    atomic_store(&log_level, (int)level);
}

void sr_log(enum sr_log_level level, const char *event, const char *fmt, ...)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};
    if ((int)level < atomic_load_explicit(&log_level, memory_order_relaxed))
        return;
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);

    uint64_t now = sr_clock_wall_ns();
    time_t seconds = (time_t)(now / SR_NS_PER_S);
    struct tm tm;
    char stamp[48];
    gmtime_r(&seconds, &tm);
    size_t n = strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(stamp + n, sizeof stamp - n, ".%03uZ", (unsigned)(now / SR_NS_PER_MS % 1000));

    struct sr_buf line;
    sr_buf_init(&line, LOG_LINE_MAX);
    struct sr_json_writer w = sr_json_writer_of(&line);
    sr_json_object(&w, NULL);
    sr_json_text(&w, "time", stamp);
    sr_json_text(&w, "level", names[level]);
    sr_json_text(&w, "event", event);
    sr_json_text(&w, "msg", text);
    sr_json_object_end(&w);
    if (w.rc == SR_OK) {
        pthread_mutex_lock(&log_lock);
        if (log_sink)
            log_sink(log_ctx, level, sr_buf_view(&line));
        else
            write_stderr(sr_buf_view(&line));
        pthread_mutex_unlock(&log_lock);
    }
    sr_buf_dispose(&line);
}
