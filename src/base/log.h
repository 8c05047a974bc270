/*
 * The process log: one JSON object a line, for operators.
 *
 * Never give it text that a user sent. Lines are written whole, so threads do not mix; the sink can be
 * replaced (tests, the library's users). Default: standard error, level info.
 */
#ifndef SR_BASE_LOG_H
#define SR_BASE_LOG_H

#include "base/bytes.h"
#include "base/err.h"

enum sr_log_level { SR_LOG_DEBUG, SR_LOG_INFO, SR_LOG_WARN, SR_LOG_ERROR };

/* Receives one complete line without the newline; called on any thread, one call at a time. */
typedef void sr_log_sink(void *ctx, enum sr_log_level level, struct sr_bytes line);

void sr_log_set_sink(sr_log_sink *sink, void *ctx);
void sr_log_set_level(enum sr_log_level level);

/* `event` is a short stable word ("config_reloaded"); the message is for people. */
void sr_log(enum sr_log_level level, const char *event, const char *fmt, ...) SR_PRINTF(3, 4);

#endif
