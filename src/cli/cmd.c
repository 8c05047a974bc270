/*
 * What commands share: the start with its help and errors, reading input whole, writing output.
 */
#include "cli/cmd.h"

#include "cli/term.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

int sr_cmd_fail(const struct sr_usage *usage, int code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fprintf(stderr, "semroute %s: ", usage->name);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    return code;
}

int sr_cmd_misuse(const struct sr_usage *usage, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fprintf(stderr, "semroute %s: ", usage->name);
    vfprintf(stderr, fmt, args);
    fprintf(stderr, "\n`semroute help %s` shows how it is used\n", usage->name);
    va_end(args);
    return SR_EXIT_USAGE;
}

bool sr_cmd_begin(const struct sr_usage *usage, int argc, char **argv, size_t max_operands,
                  struct sr_operands *operands, int *code)
{
    struct sr_err err = {0};
    int rc = sr_args_parse(usage, argc, argv, operands, &err);
    if (rc == SR_ECANCELED) {
        sr_args_help(usage, stdout);
        *code = SR_EXIT_DONE;
        return false;
    }
    if (rc != SR_OK)
        *code = sr_cmd_misuse(usage, "%s", err.message);
    else if (operands->count > max_operands)
        *code = sr_cmd_misuse(usage, "too many arguments, from `%.60s` on (put text with spaces in quotes)",
                              operands->items[max_operands]);
    else
        return true;
    return false;
}

static int read_all(int fd, const char *path, struct sr_buf *out, struct sr_err *err)
{
    for (;;) {
        size_t room = out->max - out->len < 65536 ? out->max - out->len : 65536;
        if (room == 0) {
            char more;
            if (read(fd, &more, 1) == 0)
                return SR_OK;
            return sr_err_set(err, SR_ELIMIT, "%s: more than %zu bytes", path, out->max);
        }
        int rc = sr_buf_reserve(out, room);
        if (rc != SR_OK)
            return sr_err_set(err, rc, "%s: %s", path, sr_strerror(rc));
        ssize_t n = read(fd, out->data + out->len, room);
        if (n == 0)
            return SR_OK;
        if (n < 0 && errno != EINTR)
            return sr_err_set(err, SR_EIO, "%s: %s", path, strerror(errno));
        out->len += n > 0 ? (size_t)n : 0;
    }
}

int sr_cmd_read(const char *path, struct sr_buf *out, struct sr_err *err)
{
    if (strcmp(path, "-") == 0)
        return read_all(STDIN_FILENO, "standard input", out, err);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return sr_err_set(err, errno == ENOENT ? SR_ENOENT : SR_EIO, "%s: %s", path, strerror(errno));
    int rc = read_all(fd, path, out, err);
    close(fd);
    return rc;
}

bool sr_cmd_put(struct sr_bytes text)
{
    return fwrite(text.p, 1, text.n, stdout) == text.n && fflush(stdout) == 0;
}

bool sr_cmd_save(const struct sr_usage *usage, const char *path, struct sr_bytes text, int *code)
{
    FILE *file = fopen(path, "we");
    bool written = file && fwrite(text.p, 1, text.n, file) == text.n;
    if (file && fclose(file) != 0)
        written = false;
    if (!written)
        *code = sr_cmd_fail(usage, SR_EXIT_FAILED, "%s: %s", path, strerror(errno));
    return written;
}

static void print_problem(FILE *out, const char *path, const struct sr_problem *problem, bool colour)
{
    bool error = problem->severity == SR_PROBLEM_ERROR;
    fprintf(out, "%s:", path);
    if (problem->line)
        fprintf(out, "%u:%u:", problem->line, problem->column);
    fprintf(out, " %s%s:%s %s\n",
            !colour ? ""
            : error ? "\033[1;31m"
                    : "\033[1;33m",
            error ? "error" : "warning", colour ? "\033[0m" : "", problem->message);
}

void sr_cmd_problems(FILE *out, const char *path, const struct sr_problems *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        print_problem(out, path, &problems->items[i], sr_term_colour(fileno(out)));
    if (problems->dropped)
        fprintf(out, "%s: and %zu more\n", path, problems->dropped);
}

const char *sr_cmd_config(const char *given)
{
    return given ? given : access("semroute.yaml", F_OK) == 0 ? "semroute.yaml" : NULL;
}

bool sr_cmd_has_config(const struct sr_usage *usage, const char *given)
{
    if (!given || access(given, F_OK) == 0)
        return true;
    sr_cmd_fail(usage, SR_EXIT_FAILED, "%s: %s", given, strerror(errno));
    return false;
}
