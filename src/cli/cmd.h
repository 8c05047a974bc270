/*
 * The commands of the program and what they share: exit codes, the start of every command, reading input.
 *
 * A command is `int sr_cmd_X(int argc, char **argv)`; argv[0] is its name. It prints results to standard
 * output and what went wrong to standard error, and returns one of the exit codes.
 */
#ifndef SR_CLI_CMD_H
#define SR_CLI_CMD_H

#include "base/buf.h"
#include "cli/args.h"
#include "config/load.h"

enum sr_exit {
    SR_EXIT_DONE = 0,
    SR_EXIT_NO = 1,     /* input rejected: a wrong configuration, a request that was refused */
    SR_EXIT_USAGE = 2,  /* the command line is wrong */
    SR_EXIT_FAILED = 3, /* the program could not do its work: no memory, no file, a port that is taken */
};

/* Parses the arguments. Returns true when the command shall go on; else *code is its exit code, and help or
 * what is wrong has been printed. Operands beyond `max_operands` are wrong usage. */
bool sr_cmd_begin(const struct sr_usage *usage, int argc, char **argv, size_t max_operands,
                  struct sr_operands *operands, int *code) SR_WARN_UNUSED;

/* "semroute check: message" on standard error; returns `code`. */
int sr_cmd_fail(const struct sr_usage *usage, int code, const char *fmt, ...) SR_PRINTF(3, 4);

/* Wrong usage: the message and how to get help. Returns SR_EXIT_USAGE. */
int sr_cmd_misuse(const struct sr_usage *usage, const char *fmt, ...) SR_PRINTF(2, 3);

/* Appends a file, or standard input for "-", to `out` up to its maximum. SR_ENOENT, SR_EIO, SR_ELIMIT,
 * SR_ENOMEM with a message that names the file. */
int sr_cmd_read(const char *path, struct sr_buf *out, struct sr_err *err) SR_WARN_UNUSED;

/* Writes `text` to standard output. False when that failed (a full disk, a closed pipe). */
bool sr_cmd_put(struct sr_bytes text);

/* Writes a file. False, with a message and its exit code in `code`, when it cannot be written. */
bool sr_cmd_save(const struct sr_usage *usage, const char *path, struct sr_bytes text, int *code);

/* Prints each problem as FILE:LINE:COLUMN: severity: message, as editors expect it. */
void sr_cmd_problems(FILE *out, const char *path, const struct sr_problems *problems);

/* The configuration to use: the one given, else ./semroute.yaml where it is, else NULL: the built-in one. */
const char *sr_cmd_config(const char *given);

/* False, with a message on standard error: it was given and is not there. */
bool sr_cmd_has_config(const struct sr_usage *usage, const char *given);

extern const struct sr_usage sr_serve_usage;
int sr_cmd_serve(int argc, char **argv);
extern const struct sr_usage sr_check_usage;
int sr_cmd_check(int argc, char **argv);
extern const struct sr_usage sr_doctor_usage;
int sr_cmd_doctor(int argc, char **argv);
extern const struct sr_usage sr_explain_usage;
int sr_cmd_explain(int argc, char **argv);
extern const struct sr_usage sr_classify_usage;
int sr_cmd_classify(int argc, char **argv);
extern const struct sr_usage sr_embed_usage;
int sr_cmd_embed(int argc, char **argv);
extern const struct sr_usage sr_compress_usage;
int sr_cmd_compress(int argc, char **argv);
extern const struct sr_usage sr_tokenize_usage;
int sr_cmd_tokenize(int argc, char **argv);
extern const struct sr_usage sr_eval_usage;
int sr_cmd_eval(int argc, char **argv);
extern const struct sr_usage sr_train_usage;
int sr_cmd_train(int argc, char **argv);
extern const struct sr_usage sr_bench_usage;
int sr_cmd_bench(int argc, char **argv);
extern const struct sr_usage sr_models_usage;
int sr_cmd_models(int argc, char **argv);
extern const struct sr_usage sr_cache_usage;
int sr_cmd_cache(int argc, char **argv);
extern const struct sr_usage sr_tail_usage;
int sr_cmd_tail(int argc, char **argv);
extern const struct sr_usage sr_log_usage;
int sr_cmd_log(int argc, char **argv);
extern const struct sr_usage sr_keys_usage;
int sr_cmd_keys(int argc, char **argv);
extern const struct sr_usage sr_migrate_usage;
int sr_cmd_migrate(int argc, char **argv);
extern const struct sr_usage sr_mock_usage;
int sr_cmd_mock(int argc, char **argv);
extern const struct sr_usage sr_version_usage;
int sr_cmd_version(int argc, char **argv);
extern const struct sr_usage sr_help_usage;
int sr_cmd_help(int argc, char **argv);

#endif
