/*
 * Result codes and the error record of the whole program.
 *
 * Every fallible function returns int: SR_OK (0) or a negative SR_E* code from the one list below. SR_AGAIN
 * ("call me again later") and SR_MORE ("give me more input") are flow control, not failures. Parsers and
 * loaders also fill a `struct sr_err`, so that an operator can find and fix the cause.
 */
#ifndef SR_BASE_ERR_H
#define SR_BASE_ERR_H

#include <stddef.h>
#include <stdint.h>

#define SR_ERR_LIST(X)                                                                                       \
    X(AGAIN, 1, "try again later")                                                                           \
    X(MORE, 2, "more input needed")                                                                          \
    X(EINVAL, 3, "invalid argument")                                                                         \
    X(ENOMEM, 4, "out of memory")                                                                            \
    X(ELIMIT, 5, "a limit was reached")                                                                      \
    X(EPARSE, 6, "malformed input")                                                                          \
    X(EIO, 7, "input or output failed")                                                                      \
    X(ENOENT, 8, "not found")                                                                                \
    X(ETIMEOUT, 9, "timed out")                                                                              \
    X(ECANCELED, 10, "canceled")                                                                             \
    X(ECLOSED, 11, "closed by peer")                                                                         \
    X(EPROTO, 12, "protocol violated")                                                                       \
    X(ECONFLICT, 13, "conflicting edits")                                                                    \
    X(EUNSUPPORTED, 14, "not supported")                                                                     \
    X(EBUSY, 15, "busy")                                                                                     \
    X(EMISMATCH, 16, "does not match what was expected")

enum sr_code {
    SR_OK = 0,
#define SR_ERR_ENUM(name, value, text) SR_##name = -(value),
    SR_ERR_LIST(SR_ERR_ENUM)
#undef SR_ERR_ENUM
};

#define SR_WARN_UNUSED       __attribute__((warn_unused_result))
#define SR_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

#define SR_ERR_MESSAGE_MAX 512

/* What went wrong and where. `offset` is a byte offset into the input; `line` and `column` count from 1
 * and are 0 where the input has no lines. Zero-initialise before use. */
struct sr_err {
    int code;
    size_t offset;
    uint32_t line;
    uint32_t column;
    char message[SR_ERR_MESSAGE_MAX];
};

/* The constant text of a code; never NULL. */
const char *sr_strerror(int code);

/* Fills `err` (NULL is allowed: then nothing is recorded) and returns `code`, so that callers can write
 * `return sr_err_set(err, SR_EPARSE, "...")`. The message is cut at SR_ERR_MESSAGE_MAX - 1 bytes. */
int sr_err_set(struct sr_err *err, int code, const char *fmt, ...) SR_PRINTF(3, 4);

/* The same with a byte offset. */
int sr_err_set_at(struct sr_err *err, int code, size_t offset, const char *fmt, ...) SR_PRINTF(4, 5);

#endif
