/*
 * semroute models: the models that are built in, and the folders and files of others.
 */
#include "cli/cmd.h"

#include "cli/manifest.h"
#include "model/linear.h"

#include <sys/stat.h>

#define BUILT_IN "domain-linear"

static bool json;
static const struct sr_option options[] = {
    {"json", SR_OPTION_FLAG, &json, NULL, "list, info: one JSON document"},
};
static const struct sr_usage usage = {
    .name = "models",
    .synopsis = "list | info [FILE] | verify [DIR]",
    .summary = "Looks at models.",
    .text = "list          the built-in models\n"
            "info [FILE]   what a linear model is: labels, size, hash; without FILE the built-in one\n"
            "verify [DIR]  checks each file of DIR/manifest.json by size and SHA-256; without DIR the "
            "built-in one\n",
    SR_OPTIONS(options),
};

static int open_model(const char *path, struct sr_linear **model)
{
    struct sr_err err = {0};
    bool built_in = !path || strcmp(path, BUILT_IN) == 0;
    int rc = built_in ? sr_linear_open_domain(model, &err) : sr_linear_open_file(model, path, NULL, &err);
    if (rc == SR_OK)
        return SR_EXIT_DONE;
    bool bad = rc == SR_EPARSE || rc == SR_EMISMATCH || rc == SR_EUNSUPPORTED;
    return sr_cmd_fail(&usage, bad ? SR_EXIT_NO : SR_EXIT_BROKE, "%s: %s", built_in ? BUILT_IN : path,
                       err.message);
}

static void print_info(const struct sr_linear *model, const char *name)
{
    const char *const *labels = sr_linear_labels(model);
    printf(json ? "{\"name\":\"%s\",\"task\":\"%s\",\"tier\":\"linear\",\"format\":\"%s\",\"rows\":%zu,"
                  "\"sha256\":\"%s\","
                  "\"labels\":["
                : "name    %s\ntask    %s\ntier    linear\nformat  %s\nrows    %zu\nsha256  %s\nlabels  ",
           name, sr_linear_task(model), SR_LINEAR_FORMAT, sr_linear_rows(model), sr_linear_sha256(model));
    for (size_t i = 0; i < sr_linear_n_labels(model); i++)
        printf(json ? "%s\"%s\"" : "%s%s", !i ? "" : json ? "," : ", ", labels[i]);
    printf(json ? "]}\n" : "\n");
}

static int info(const char *path)
{
    struct sr_linear *model = NULL;
    int code = open_model(path, &model);
    if (code == SR_EXIT_DONE)
        print_info(model, path ? path : BUILT_IN);
    sr_linear_unref(model);
    return code;
}

static int list(void)
{
    struct sr_linear *model = NULL;
    int code = open_model(NULL, &model);
    if (code == SR_EXIT_DONE && json) {
        printf("[{\"name\":\"%s\",\"task\":\"%s\",\"tier\":\"linear\",\"where\":\"built "
               "in\",\"sha256\":\"%s\"}]\n",
               BUILT_IN, sr_linear_task(model), sr_linear_sha256(model));
    } else if (code == SR_EXIT_DONE) {
        printf("%-16s %-10s %-8s %-9s %s\n", "name", "task", "tier", "where", "sha256");
        printf("%-16s %-10s %-8s %-9s %.16s\n", BUILT_IN, sr_linear_task(model), "linear", "built in",
               sr_linear_sha256(model));
    }
    sr_linear_unref(model);
    return code;
}

static int verify(const char *dir)
{
    struct sr_manifest manifest;
    struct sr_err err = {0};
    struct sr_linear *model = NULL;
    int code = SR_EXIT_DONE;
    if (!dir) { /* opening it checks the hash of its data */
        code = open_model(NULL, &model);
        if (code == SR_EXIT_DONE)
            printf("%s: good\n", BUILT_IN);
        sr_linear_unref(model);
        return code;
    }
    int rc = sr_manifest_read(&manifest, dir, &err);
    if (rc != SR_OK)
        code = sr_cmd_fail(&usage, rc == SR_EPARSE ? SR_EXIT_NO : SR_EXIT_BROKE, "%s", err.message);
    for (size_t i = 0; rc == SR_OK && i < manifest.n_files; i++) {
        const struct sr_manifest_file *file = &manifest.files[i];
        if (sr_manifest_verify(dir, file, &err) != SR_OK)
            code = sr_cmd_fail(&usage, SR_EXIT_NO, "%s", err.message);
        else
            printf("%s/%.*s: good\n", dir, (int)file->path.n, file->path.p);
    }
    sr_manifest_dispose(&manifest);
    return code;
}

int sr_cmd_models(int argc, char **argv)
{
    struct sr_operands operands;
    int code = SR_EXIT_DONE;
    if (!sr_cmd_begin(&usage, argc, argv, 2, &operands, &code))
        return code;
    const char *what = operands.count > 0 ? operands.items[0] : "";
    const char *path = operands.count > 1 ? operands.items[1] : NULL;
    if (strcmp(what, "list") == 0 && !path)
        return list();
    if (strcmp(what, "info") == 0)
        return info(path);
    if (strcmp(what, "verify") == 0)
        return verify(path);
    return sr_cmd_misuse(&usage, "say one of: list, info, verify");
}
