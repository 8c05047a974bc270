/* Finding, opening and closing what neural.h describes. */
#include "cli/classify/encoder.h"

#include "cli/cmd.h"

#include <sys/stat.h>

enum sr_precision sr_cli_encoder_precision(const char *name)
{
    if (name && strcmp(name, "bf16") == 0)
        return SR_PRECISION_BF16;
    return name && strcmp(name, "int8") == 0 ? SR_PRECISION_INT8 : SR_PRECISION_FP32;
}

const char *sr_precision_name(enum sr_precision precision)
{
    static const char *const names[] = {"fp32", "bf16", "int8"};
    return names[precision];
}

const char *sr_cli_encoder_name(const struct sr_encoder *encoder)
{
    const char *folder = sr_encoder_info(encoder)->folder, *slash = strrchr(folder, '/');
    return slash && slash[1] ? slash + 1 : folder;
}

static bool is_models_folder(const char *path)
{
    char folder[SR_LOCATE_MAX], model[SR_LOCATE_MAX];
    struct stat st;
    int n = snprintf(folder, sizeof folder, "%s/", path); /* with a slash it is looked for here only */
    return n < (int)sizeof folder && stat(folder, &st) == 0 && sr_locate_model(model, folder, NULL) != SR_OK;
}

bool sr_cli_encoder_choose(const struct sr_usage *usage, struct sr_cli_encoder_args *args, const char *task,
                           char path[SR_LOCATE_MAX], int *code)
{
    struct sr_err err = {0};
    if (!args->model || !is_models_folder(args->model))
        return true;
    if (sr_encoder_discover(args->model, task, path, SR_LOCATE_MAX, &err) != SR_OK) {
        *code = sr_cmd_fail(usage, SR_EXIT_FAILED, "%s", err.message);
        return false;
    }
    args->model = path;
    return true;
}

bool sr_cli_encoder_open(const struct sr_usage *usage, const struct sr_cli_encoder_args *args,
                         const char *heads, const char *task, struct sr_cli_encoder *out, int *code)
{
    char folder[SR_LOCATE_MAX];
    struct sr_err err = {0};
    struct sr_encoder_options options = {.precision = sr_cli_encoder_precision(args->precision),
                                         .task = task,
                                         .heads = &heads,
                                         .n_heads = heads ? 1 : 0};
    struct sr_infer_options engine = sr_infer_defaults();
    *out = (struct sr_cli_encoder){0};
    engine.threads = (unsigned)args->threads;
    int rc = sr_locate_model(folder, args->model, &err);
    if (rc == SR_OK)
        rc = sr_encoder_open(&out->encoder, folder, &options, &err);
    if (rc == SR_OK)
        rc = sr_infer_new(&out->infer, &engine, &err);
    if (rc == SR_OK)
        return true;
    *code = sr_cmd_fail(usage, SR_EXIT_FAILED, "%s%s", err.message[0] ? err.message : sr_strerror(rc),
                        rc == SR_ENOENT && !args->model ? " (`make setup` downloads it)" : "");
    sr_cli_encoder_close(out);
    return false;
}

void sr_cli_encoder_close(struct sr_cli_encoder *encoder)
{
    sr_infer_free(encoder->infer);
    sr_encoder_unref(encoder->encoder);
    *encoder = (struct sr_cli_encoder){0};
}
