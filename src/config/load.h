/*
 * From a YAML file to a configuration snapshot: strict, and every mistake is reported, not only the first.
 *
 * An unknown key, a wrong type, a value out of range, a name that nothing defines: each is a problem with
 * line and column and, where one is close, a hint ("did you mean `threshold`?"). Keys that vLLM Semantic
 * Router has and this program has not are named as such. `lenient` turns unknown and unsupported keys into
 * warnings.
 * ${NAME} and ${NAME:-default} inside a value are replaced from the environment after the YAML was parsed, so
 * that positions stay right and a value cannot become structure; an unset one is a problem. `$${` means
 * a plain `${`. ${file:PATH} is replaced by a file's content (bind/secret_file.h).
 */
#ifndef SR_CONFIG_LOAD_H
#define SR_CONFIG_LOAD_H

#include "config/config.h"
#include "config/problems.h"

#define SR_CONFIG_TEXT_MAX ((size_t)16 << 20) /* bytes of a file */

struct sr_load_options {
    struct sr_bytes
        routing; /* takes the place of the text's own `routing` (config/draft.h); empty: none does */
    bool lenient;
    bool draft; /* variables that are not set and templates that are not filled in are warnings: for a file
                   that another process will use. What they stand for is empty */
    bool files; /* the files that it names must be readable: for a process that will use it on this machine */
    /* Called once on the linked configuration, before the problems are sorted; also when it has mistakes, so
     * that all are reported at once. For checks that are not the configuration's own (probe/probe.h).
     * Optional. */
    void (*probe)(const struct sr_config *config, struct sr_problems *problems);
};

/* Loads `text`; `path` is for messages. SR_OK and a snapshot with one reference, or SR_EPARSE / SR_EINVAL
 * with at least one error in `problems`; warnings may be there in both cases. */
int sr_config_load_text(const struct sr_config **out, struct sr_bytes text, const char *path,
                        struct sr_load_options options, struct sr_problems *problems) SR_WARN_UNUSED;

/* The same from a file of at most 16 MiB, which must have arrived within ten seconds (a FIFO, a mount that
 * does not answer). SR_ENOENT, SR_EIO, SR_ELIMIT, SR_ETIMEOUT are problems too. */
int sr_config_load_file(const struct sr_config **out, const char *path, struct sr_load_options options,
                        struct sr_problems *problems) SR_WARN_UNUSED;

/* The default configuration that is built into the program, as YAML text (static). */
struct sr_bytes sr_config_builtin_text(void);

#endif
