/*
 * semroute migrate: a flat configuration in the v0.1 format in, today's format out, and what has no
 * equivalent in it as warnings.
 */
#include "cli/cmd.h"

#include "config/migrate/migrate.h"

#define FILE_MAX ((size_t)16 << 20)

static const char *output;
static const struct sr_option options[] = {
    {"output,o", SR_OPTION_TEXT, &output, "FILE",
     "write to this file, which must not exist, instead of standard output"},
};
const struct sr_usage sr_migrate_usage = {
    .name = "migrate",
    .synopsis = "[-o NEW.yaml] OLD.yaml",
    .summary = "Converts a flat v0.1 configuration to the v0.3 format.",
    .text = "A setting without an equivalent stays in the result as a comment and is reported as a warning.\n"
            "Check the result with `semroute check`.\n",
    SR_OPTIONS(options),
};

static int write_result(struct sr_bytes text)
{
    if (!output)
        return sr_cmd_put(text) ? SR_EXIT_DONE
                                : sr_cmd_fail(&sr_migrate_usage, SR_EXIT_FAILED, "cannot write the result");
    FILE *file = fopen(output, "wxe");
    if (!file)
        return sr_cmd_fail(&sr_migrate_usage, SR_EXIT_FAILED, "%s: %m", output);
    bool written = fwrite(text.p, 1, text.n, file) == text.n;
    written = fclose(file) == 0 && written;
    return written ? SR_EXIT_DONE : sr_cmd_fail(&sr_migrate_usage, SR_EXIT_FAILED, "%s: %m", output);
}

int sr_cmd_migrate(int argc, char **argv)
{
    struct sr_operands operands;
    struct sr_err err = {0};
    struct sr_problems problems = {0};
    struct sr_buf old, new;
    int code = SR_EXIT_DONE;
    if (!sr_cmd_begin(&sr_migrate_usage, argc, argv, 1, &operands, &code))
        return code;
    if (operands.count == 0)
        return sr_cmd_misuse(&sr_migrate_usage,
                             "a file is missing: semroute migrate OLD.yaml > semroute.yaml");
    const char *path = operands.items[0];
    sr_buf_init(&old, FILE_MAX);
    sr_buf_init(&new, FILE_MAX);
    int rc = sr_cmd_read(path, &old, &err);
    if (rc != SR_OK) {
        code = sr_cmd_fail(&sr_migrate_usage, SR_EXIT_FAILED, "%s", err.message);
    } else {
        rc = sr_migrate_text(&new, sr_buf_view(&old), &problems);
        sr_cmd_problems(stderr, path, &problems);
        if (rc == SR_OK)
            code = write_result(sr_buf_view(&new));
        else
            code = rc == SR_EPARSE || rc == SR_EINVAL
                       ? SR_EXIT_NO
                       : sr_cmd_fail(&sr_migrate_usage, SR_EXIT_FAILED, "%s", sr_strerror(rc));
    }
    sr_problems_dispose(&problems);
    sr_buf_dispose(&old);
    sr_buf_dispose(&new);
    return code;
}
