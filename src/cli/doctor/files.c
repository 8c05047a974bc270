/* Whether the files that a router writes can be written by who runs this. Opens none of them. */
#include "cli/doctor/checks.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The folder in which a file is; false: its name is too long. */
static bool folder_of(const char *path, char out[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    if (n >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(out, slash ? path : ".", slash ? n : 1);
    out[slash ? n : 1] = '\0';
    if (slash && n == 0)
        memcpy(out, "/", sizeof "/");
    return true;
}

static void look_at(struct sr_diagnosis *d, const char *what, const char *path)
{
    char folder[PATH_MAX];
    bool there = path[0] && access(path, F_OK) == 0;
    if (!path[0] || strcmp(path, "stdout") == 0 || strcmp(path, "off") == 0)
        return;
    if (!folder_of(path, folder) || access(there ? path : folder, there ? R_OK | W_OK : W_OK | X_OK) != 0)
        sr_diagnosis_add(d, SR_CONDITION_BAD, "file",
                         "make the folder, and give it to the user that runs the router",
                         "%s %s cannot be written: %s", what, path, strerror(errno));
    else
        sr_diagnosis_add(d, SR_CONDITION_GOOD, "file", NULL, "%s %s can be written", what, path);
}

void sr_doctor_files(struct sr_diagnosis *diagnosis, const struct sr_config *config)
{
    const struct sr_config_global *global = &config->global;
    look_at(diagnosis, "access log", global->access_log);
    look_at(diagnosis, "audit log", global->guards.audit_log);
    if (global->replay.entries && global->replay.store == SR_REPLAY_SQLITE)
        look_at(diagnosis, "replay", global->replay.path);
    if (global->cache.enabled)
        look_at(diagnosis, "cache", global->cache.path);
    if (global->responses.enabled)
        look_at(diagnosis, "responses", global->responses.path);
    look_at(diagnosis, "budgets", global->limits.path);
}
