/* Open models in a short list, found by path and by what the file system says of the file. */
#include "model/store.h"

#include "base/mem.h"

#include <sys/stat.h>

struct stored {
    char *path;
    struct stat stat; /* all zero for the embedded model */
    struct sr_linear *model;
    bool taken;
};

struct sr_models {
    struct sr_memo *memo;
    struct stored items[SR_MODELS_MAX];
    size_t n;
};

int sr_models_new(struct sr_models **out)
{
    *out = sr_mem_calloc(1, sizeof **out);
    if (!*out)
        return SR_ENOMEM;
    int rc = sr_memo_new(&(*out)->memo, 0);
    if (rc) {
        sr_mem_free(*out);
        *out = NULL;
    }
    return rc;
}

static void drop(struct stored *item)
{
    sr_linear_unref(item->model);
    sr_mem_free(item->path);
}

void sr_models_free(struct sr_models *models)
{
    if (!models)
        return;
    for (size_t i = 0; i < models->n; i++)
        drop(&models->items[i]);
    sr_memo_unref(models->memo);
    sr_mem_free(models);
}

struct sr_memo *sr_models_memo(struct sr_models *models)
{
    return models ? models->memo : NULL;
}

void sr_models_begin(struct sr_models *models)
{
    for (size_t i = 0; i < models->n; i++)
        models->items[i].taken = false;
}

static int open_linear(const char *path, struct sr_linear **out, struct sr_err *err)
{
    if (!*path)
        return sr_linear_open_domain(out, err);
    return strcmp(path, SR_MODELS_JAILBREAK) == 0 ? sr_linear_open_jailbreak(out, err)
                                                  : sr_linear_open_file(out, path, NULL, err);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static struct stored *find(struct sr_models *models, const char *path, const struct stat *st)
{
    for (size_t i = 0; i < models->n; i++)
        if (strcmp(models->items[i].path, path) == 0 && same_file(&models->items[i].stat, st))
            return &models->items[i];
    return NULL;
}

int sr_models_linear(struct sr_models *models, const char *path, struct sr_linear **out, struct sr_err *err)
{
    struct stat st = {0};
    if (!models)
        return open_linear(path, out, err);
    if (*path && stat(path, &st))
        memset(&st, 0, sizeof st); /* opening it says why */
    struct stored *item = find(models, path, &st);
    if (!item) {
        if (models->n == SR_MODELS_MAX)
            return sr_err_set(err, SR_ELIMIT, "more than %d models are open", SR_MODELS_MAX);
        struct stored fresh = {.path = sr_mem_dup(path, strlen(path)), .stat = st};
        int rc =
            fresh.path ? open_linear(path, &fresh.model, err) : sr_err_set(err, SR_ENOMEM, "out of memory");
        if (rc) {
            sr_mem_free(fresh.path);
            return rc;
        }
        item = &models->items[models->n++];
        *item = fresh;
    }
    item->taken = true;
    *out = sr_linear_ref(item->model);
    return SR_OK;
}

void sr_models_sweep(struct sr_models *models)
{
    size_t kept = 0;
    for (size_t i = 0; i < models->n; i++) {
        if (models->items[i].taken)
            models->items[kept++] = models->items[i];
        else
            drop(&models->items[i]);
    }
    models->n = kept;
}
