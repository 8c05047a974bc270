/*
 * The process log: one JSON object a line, for operators, or a line for people.
 *
 * Never give it text that a user sent. Lines are written whole, so threads do not mix; the sink can be
 * replaced (tests, the library's users). Default: standard error, level info. Of a warning or an error that
 * repeats, SR_LOG_BURST lines are written in SR_LOG_INTERVAL_S seconds; a summary counts the others.
 */
#ifndef SR_BASE_LOG_H
#define SR_BASE_LOG_H

#include "base/bytes.h"
#include "base/err.h"

enum sr_log_level { SR_LOG_DEBUG, SR_LOG_INFO, SR_LOG_WARN, SR_LOG_ERROR };

#define SR_LOG_BURST      50
#define SR_LOG_INTERVAL_S 10

/* Receives one complete line without the newline; called on any thread, one call at a time. */
typedef void sr_log_sink(void *ctx, enum sr_log_level level, struct sr_bytes line);

/* NULL: standard error, written by the thread that logs. After the return the old sink is not called. */
void sr_log_set_sink(sr_log_sink *sink, void *ctx);

/* The least level that is logged; SR_LOG_INFO until it is set. */
void sr_log_set_level(enum sr_log_level level);
enum sr_log_level sr_log_level(void);

/* "debug", "info", "warn", "error"; and the level of a name, -1 when there is none. */
const char *sr_log_level_name(enum sr_log_level level);
int sr_log_level_of(struct sr_bytes name);

/* How lines look: JSON is the default; the others are for people, on a terminal in colours. */
enum sr_log_form { SR_LOG_JSON, SR_LOG_TEXT, SR_LOG_COLOURED };

enum sr_log_wanted { SR_LOG_AUTO, SR_LOG_ALWAYS_JSON, SR_LOG_ALWAYS_TEXT };

/* The form of lines that go to `fd` (-1: no terminal): with AUTO text on a terminal, else JSON; colours on a
 * terminal whose TERM is not "dumb", unless NO_COLOR is set. */
enum sr_log_form sr_log_form_of(enum sr_log_wanted wanted, int fd);

void sr_log_set_form(enum sr_log_form form);

/* `event` is a short stable word ("config_reloaded"), a constant; the message is for people. */
void sr_log(enum sr_log_level level, const char *event, const char *fmt, ...) SR_PRINTF(3, 4);

/* Writes a line `repeated` for every event whose interval has ended and of which lines were left out; `all`:
 * also where it has not ended. Any thread: call it now and then, and at the end. */
void sr_log_summarise(bool all);

/* Lines that were left out as repetitions since the start. */
uint64_t sr_log_left_out(void);

#endif
