/* The places in their order; the executable's own place comes from the system, not from argv. */
#include "infer/locate.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const beside[] = {"models", "../models", "../../models", "../share/semroute/models"};

static bool is_model(const char *folder)
{
    static const char *const files[] = {"config.json", "adapter_config.json"};
    char path[SR_LOCATE_MAX + sizeof "/adapter_config.json"];
    bool there = false;
    for (size_t i = 0; i < 2 && !there; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        there = access(path, R_OK) == 0;
    }
    return there;
}

/* Folder of the executable, without a slash at its end. */
static bool own_folder(char out[SR_LOCATE_MAX])
{
    ssize_t n = readlink("/proc/self/exe", out, SR_LOCATE_MAX - 1);
    if (n <= 0)
        return false;
    out[n] = 0;
    char *slash = strrchr(out, '/');
    if (!slash)
        return false;
    *slash = 0;
    return true;
}

static bool try_folder(char out[SR_LOCATE_MAX], const char *root, const char *between, const char *name)
{
    int n = snprintf(out, SR_LOCATE_MAX, "%s%s%s/%s", root, *between ? "/" : "", between, name);
    return n > 0 && n < SR_LOCATE_MAX && is_model(out);
}

int sr_locate_model(char out[SR_LOCATE_MAX], const char *name, struct sr_err *err)
{
    char own[SR_LOCATE_MAX];
    const char *models = getenv("SEMROUTE_MODELS");
    if (!name || !*name)
        name = SR_LOCATE_DEFAULT;
    if (strcmp(name, "multilingual") == 0)
        name = SR_LOCATE_MULTILINGUAL;
    if (strlen(name) >= SR_LOCATE_MAX / 2)
        return sr_err_set(err, SR_ELIMIT, "a model's name of %zu bytes", strlen(name));
    if (strchr(name, '/')) {
        snprintf(out, SR_LOCATE_MAX, "%s", name);
        return is_model(out) ? SR_OK : sr_err_set(err, SR_ENOENT, "%s: it has no config.json", name);
    }
    if (models && *models && try_folder(out, models, "", name))
        return SR_OK;
    if (own_folder(own)) {
        for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++)
            if (try_folder(out, own, beside[i], name))
                return SR_OK;
    }
    if (try_folder(out, "models", "", name))
        return SR_OK;
    return sr_err_set(err, SR_ENOENT,
                      "model `%s`: not in $SEMROUTE_MODELS, in models/ beside the executable or above it, in "
                      "share/semroute/models, or in ./models",
                      name);
}
