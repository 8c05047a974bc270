/* A reload may close what another thread writes to, so the pointers are read and swapped under a lock. */
#include "router/logs.h"

#include "base/mem.h"

#include <string.h>
#include <unistd.h>

#define CLOSE_MS 2000 /* a pipe without a reader delays the end that long */

void sr_logs_init(struct sr_logs *logs, const struct sr_runtime_options *options)
{
    *logs = (struct sr_logs){.options = options};
    pthread_mutex_init(&logs->lock, NULL);
}

static struct sr_lines *swap(struct sr_logs *logs, struct sr_logs_sink *sink, struct sr_lines *fresh)
{
    pthread_mutex_lock(&logs->lock);
    struct sr_lines *old = sink->lines;
    sink->lines = fresh;
    pthread_mutex_unlock(&logs->lock);
    return old;
}

/* What a sink gets; `target` NULL: it keeps its own. */
struct fresh {
    struct sr_lines *lines; /* NULL: off */
    char *target;
};

static int open_sink(struct fresh *out, const struct sr_logs *logs, enum sr_log_kind kind, const char *wanted,
                     struct sr_err *err)
{
    const struct sr_logs_sink *sink = &logs->sinks[kind];
    const char *target = logs->options->log_line ? "off" : wanted;
    if (sink->lines && strcmp(target, sink->target) == 0)
        return SR_OK;
    out->target = sr_mem_dup(target, strlen(target));
    if (!out->target)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    return sr_lines_open(&out->lines, kind == SR_LOG_ACCESS ? "access" : "audit", target,
                         SR_LINES_QUEUE_BYTES, err);
}

static void drop_sink(struct fresh *fresh)
{
    sr_lines_close(fresh->lines, CLOSE_MS);
    sr_mem_free(fresh->target);
}

static void set_sink(struct sr_logs *logs, struct sr_logs_sink *sink, struct fresh *fresh)
{
    if (!fresh->target) {
        sr_lines_reopen(sink->lines);
        return;
    }
    sr_lines_count_in(fresh->lines, logs->metrics);
    sr_lines_close(swap(logs, sink, fresh->lines), CLOSE_MS);
    sr_mem_free(sink->target);
    sink->target = fresh->target;
}

static bool finds_or_acts(const struct sr_config *config)
{
    bool acts = config->n_jailbreaks || config->n_piis;
    for (size_t i = 0; i < config->n_decisions; i++)
        acts |= config->decisions[i].plugins.guard.set || config->decisions[i].plugins.response_jailbreak.set;
    return acts;
}

/* The audit log's target; none when the configuration has nothing that can find or act. */
static const char *audit_target(const struct sr_config *config)
{
    bool acts = config->global.n_policies > 0 || finds_or_acts(config);
    for (size_t i = 0; i < config->n_recipes; i++)
        acts |= finds_or_acts(&config->recipes[i].config);
    return acts ? config->global.guards.audit_log : "off";
}

static void set_forms(struct sr_logs *logs, const struct sr_config_global *global)
{
    int fd = strcmp(global->access_log, "stdout") == 0   ? STDOUT_FILENO
             : strcmp(global->access_log, "stderr") == 0 ? STDERR_FILENO
                                                         : -1;
    enum sr_log_wanted wanted = (enum sr_log_wanted)global->access_log_format;
    atomic_store(&logs->form, (int)(logs->options->log_line ? SR_LOG_JSON : sr_log_form_of(wanted, fd)));
    int level = sr_log_level_of(sr_bytes_str(global->log_level));
    if (level < 0)
        return;
    sr_log_set_level((enum sr_log_level)level);
    sr_log_set_form(sr_log_form_of((enum sr_log_wanted)global->log_format, STDERR_FILENO));
}

int sr_logs_apply(struct sr_logs *logs, const struct sr_config *config, struct sr_err *err)
{
    const char *wanted[] = {
        [SR_LOG_ACCESS] = config->global.access_log, [SR_LOG_AUDIT] = audit_target(config)};
    struct fresh fresh[SR_LOG_KINDS] = {0};
    int rc = SR_OK;
    for (int i = 0; i < SR_LOG_KINDS && !rc; i++)
        rc = open_sink(&fresh[i], logs, (enum sr_log_kind)i, wanted[i], err);
    for (int i = 0; i < SR_LOG_KINDS; i++)
        if (rc)
            drop_sink(&fresh[i]);
        else
            set_sink(logs, &logs->sinks[i], &fresh[i]);
    if (!rc)
        set_forms(logs, &config->global);
    return rc;
}

enum sr_log_form sr_logs_form(struct sr_logs *logs)
{
    return (enum sr_log_form)atomic_load_explicit(&logs->form, memory_order_relaxed);
}

bool sr_logs_want(struct sr_logs *logs, enum sr_log_kind kind)
{
    if (logs->options->log_line)
        return true;
    pthread_mutex_lock(&logs->lock);
    bool open = logs->sinks[kind].lines != NULL;
    pthread_mutex_unlock(&logs->lock);
    return open;
}

void sr_logs_write(struct sr_logs *logs, enum sr_log_kind kind, struct sr_bytes line)
{
    if (logs->options->log_line) {
        logs->options->log_line(logs->options->log_ctx, line.p, line.n);
        return;
    }
    pthread_mutex_lock(&logs->lock);
    sr_lines_write(logs->sinks[kind].lines, line);
    pthread_mutex_unlock(&logs->lock);
}

void sr_logs_dispose(struct sr_logs *logs)
{
    for (int i = 0; i < SR_LOG_KINDS; i++) {
        sr_lines_close(logs->sinks[i].lines, CLOSE_MS);
        sr_mem_free(logs->sinks[i].target);
    }
    pthread_mutex_destroy(&logs->lock);
}
