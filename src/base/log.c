/*
 * Builds a log line on the stack, escapes it as JSON, hands it to the sink under one lock. Under the same
 * lock it counts the lines of each event that repeats.
 */
#include "base/log.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json_write.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LOG_LINE_MAX 4096
#define EVENTS_MAX   64 /* names in the program: fewer; those that find no place are not limited */

struct repeated {
    const char *event;
    uint64_t since_ns; /* start of the interval */
    unsigned written;
    uint64_t left_out;
};

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static sr_log_sink *log_sink;
static void *log_ctx;
static struct repeated log_events[EVENTS_MAX];
static const char *const names[] = {"debug", "info", "warn", "error"};
static atomic_int log_level = SR_LOG_INFO, log_form = SR_LOG_JSON;
static atomic_uint_fast64_t log_left_out;

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

enum sr_log_level sr_log_level(void)
{
    return (enum sr_log_level)atomic_load_explicit(&log_level, memory_order_relaxed);
}

const char *sr_log_level_name(enum sr_log_level level)
{
    return names[level];
}

int sr_log_level_of(struct sr_bytes name)
{
    for (int i = SR_LOG_DEBUG; i <= SR_LOG_ERROR; i++)
        if (sr_bytes_eq(name, sr_bytes_str(names[i])))
            return i;
    return -1;
}

enum sr_log_form sr_log_form_of(enum sr_log_wanted wanted, int fd)
{
    const char *term = getenv("TERM"), *plain = getenv("NO_COLOR");
    bool terminal = fd >= 0 && isatty(fd) == 1;
    if (wanted == SR_LOG_ALWAYS_JSON || (wanted == SR_LOG_AUTO && !terminal))
        return SR_LOG_JSON;
    bool coloured = terminal && term && strcmp(term, "dumb") != 0 && !(plain && plain[0]);
    return coloured ? SR_LOG_COLOURED : SR_LOG_TEXT;
}

void sr_log_set_form(enum sr_log_form form)
{
    atomic_store(&log_form, (int)form);
}

uint64_t sr_log_left_out(void)
{
    return atomic_load_explicit(&log_left_out, memory_order_relaxed);
}

/* "12:34:56.789 warn  event  message". A control character becomes '?': no text moves the cursor. */
static int build_text(struct sr_buf *out, enum sr_log_level level, const char *event, const char *stamp,
                      const char *text, bool coloured)
{
    static const char *const colours[] = {"\033[2m", "\033[32m", "\033[33m", "\033[1;31m"};
    int rc = sr_buf_printf(out, "%.12s %s%-5s%s %s  ", stamp + sizeof "2000-01-01",
                           coloured ? colours[level] : "", names[level], coloured ? "\033[0m" : "", event);
    for (const char *p = text; *p && !rc; p++)
        rc = sr_buf_append(out, (unsigned char)*p < ' ' || *p == 0x7f ? "?" : p, 1);
    return rc;
}

static int build(struct sr_buf *out, enum sr_log_level level, const char *event, const char *text)
{
    enum sr_log_form form = (enum sr_log_form)atomic_load_explicit(&log_form, memory_order_relaxed);
    uint64_t now = sr_clock_wall_ns();
    time_t seconds = (time_t)(now / SR_NS_PER_S);
    struct tm tm;
    char stamp[48];
    gmtime_r(&seconds, &tm);
    size_t n = strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(stamp + n, sizeof stamp - n, ".%03uZ", (unsigned)(now / SR_NS_PER_MS % 1000));
    if (form != SR_LOG_JSON)
        return build_text(out, level, event, stamp, text, form == SR_LOG_COLOURED);

    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_text(&w, "time", stamp);
    sr_json_text(&w, "level", names[level]);
    sr_json_text(&w, "event", event);
    sr_json_text(&w, "msg", text);
    sr_json_object_end(&w);
    return w.rc;
}

/* Under the lock. */
static void put(enum sr_log_level level, const char *event, const char *text)
{
    struct sr_buf line;
    sr_buf_init(&line, LOG_LINE_MAX);
    if (build(&line, level, event, text) == SR_OK && log_sink)
        log_sink(log_ctx, level, sr_buf_view(&line));
    else if (line.len)
        write_stderr(sr_buf_view(&line));
    sr_buf_dispose(&line);
}

/* Under the lock: says what an interval left out, and begins the next one. */
static void interval_end(struct repeated *it, uint64_t now)
{
    char text[160];
    if (it->left_out) {
        snprintf(text, sizeof text, "%s: %llu more within %llu s", it->event,
                 (unsigned long long)it->left_out, (unsigned long long)((now - it->since_ns) / SR_NS_PER_S));
        put(SR_LOG_WARN, "repeated", text);
    }
    it->since_ns = now;
    it->written = 0;
    it->left_out = 0;
}

/* Under the lock; NULL: the table is full. */
static struct repeated *find(const char *event)
{
    for (size_t i = 0; i < EVENTS_MAX; i++) {
        if (!log_events[i].event)
            log_events[i].event = event;
        if (log_events[i].event == event || strcmp(log_events[i].event, event) == 0)
            return &log_events[i];
    }
    return NULL;
}

/* Under the lock. */
static bool left_out(const char *event)
{
    struct repeated *it = find(event);
    uint64_t now = sr_clock_ns();
    if (!it)
        return false;
    if (now - it->since_ns >= SR_LOG_INTERVAL_S * SR_NS_PER_S)
        interval_end(it, now);
    if (it->written < SR_LOG_BURST) {
        it->written++;
        return false;
    }
    it->left_out++;
    atomic_fetch_add_explicit(&log_left_out, 1, memory_order_relaxed);
    return true;
}

void sr_log(enum sr_log_level level, const char *event, const char *fmt, ...)
{
    if ((int)level < atomic_load_explicit(&log_level, memory_order_relaxed))
        return;
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    pthread_mutex_lock(&log_lock);
    if (level < SR_LOG_WARN || !left_out(event))
        put(level, event, text);
    pthread_mutex_unlock(&log_lock);
}

void sr_log_summarise(bool all)
{
    uint64_t now = sr_clock_ns();
    pthread_mutex_lock(&log_lock);
    for (size_t i = 0; i < EVENTS_MAX && log_events[i].event; i++)
        if (log_events[i].left_out &&
            (all || now - log_events[i].since_ns >= SR_LOG_INTERVAL_S * SR_NS_PER_S))
            interval_end(&log_events[i], now);
    pthread_mutex_unlock(&log_lock);
}
