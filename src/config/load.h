/*
 * From a YAML file to a configuration snapshot: strict, and every mistake is reported, not only the first.
 *
 * An unknown key, a wrong type, a value out of range, a name that nothing defines: each is a problem with
 * line and column and, where one is close, a hint ("did you mean `threshold`?"). Keys that vLLM Semantic
 * Router has and this program has not are named as such. `lenient` turns unknown and unsupported keys into
 * warnings.
 * ${NAME} and ${NAME:-default} inside a value are replaced from the environment after the YAML was parsed, so
 * that places stay true and a value cannot become structure; an unset one is a problem. `$${` stands for a
 * plain `${`.
 */
#ifndef SR_CONFIG_LOAD_H
#define SR_CONFIG_LOAD_H

#include "base/buf.h"
#include "config/config.h"

enum sr_severity { SR_PROBLEM_ERROR, SR_PROBLEM_WARNING };

struct sr_problem {
    enum sr_severity severity;
    uint32_t line, column; /* from 1; 0 when the problem has no place */
    char message[SR_ERR_MESSAGE_MAX];
};

/* At most SR_PROBLEMS_MAX are kept; `dropped` counts the rest. Zero-initialise; dispose when done. */
#define SR_PROBLEMS_MAX 200
struct sr_problems {
    struct sr_problem *items;
    size_t count, errors, dropped;
    size_t capacity;
    bool out_of_memory; /* a problem was lost because there was no memory for it */
};

void sr_problems_dispose(struct sr_problems *problems);

/* Appends one; the message is cut at SR_ERR_MESSAGE_MAX - 1 bytes, and is one line of valid UTF-8. `errors`
 * counts also what is dropped. */
void sr_problems_add(struct sr_problems *problems, enum sr_severity severity, uint32_t line, uint32_t column,
                     const char *fmt, ...) SR_PRINTF(5, 6);

/* In the order of the file; the loaders have done it. */
void sr_problems_sort(struct sr_problems *problems);

/* Appends "PATH:LINE:COL: error: MESSAGE" without a newline. SR_ENOMEM, SR_ELIMIT. */
int sr_problem_format(struct sr_buf *out, const char *path, const struct sr_problem *problem) SR_WARN_UNUSED;

struct sr_load_options {
    bool lenient;
    bool files; /* the files that it names must be readable: for who is about to use it on this machine */
};

/* Loads `text`; `path` is for messages. SR_OK and a snapshot with one reference, or SR_EPARSE / SR_EINVAL
 * with at least one error in `problems`; warnings may be there in both cases. */
int sr_config_load_text(const struct sr_config **out, struct sr_bytes text, const char *path,
                        struct sr_load_options options, struct sr_problems *problems) SR_WARN_UNUSED;

/* The same from a file of at most 16 MiB. SR_ENOENT, SR_EIO, SR_ELIMIT are problems too. */
int sr_config_load_file(const struct sr_config **out, const char *path, struct sr_load_options options,
                        struct sr_problems *problems) SR_WARN_UNUSED;

/* Appends a file's bytes to `out`, at most 16 MiB. SR_ENOENT, SR_EIO, SR_ELIMIT are problems too; SR_ENOMEM.
 */
int sr_config_read_file(struct sr_buf *out, const char *path, struct sr_problems *problems) SR_WARN_UNUSED;

/* The JSON Schema (draft 2020-12) of the whole file, from the declarations that the loader itself uses. */
int sr_config_json_schema(struct sr_buf *out) SR_WARN_UNUSED;

/* The default configuration that is built into the program, as YAML text (static). */
struct sr_bytes sr_config_builtin_text(void);

#endif
