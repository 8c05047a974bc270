/* Opened once, when signals are made; the texts live in the caller's arena. */
#include "signal/topic/kb_file.h"

#include "base/json_read.h"
#include "base/read_file.h"

#include <stdio.h>
#include <stdlib.h>

#define READ_MS 10000

extern const char sr_embed_mmlu_kb[], sr_embed_mmlu_kb_end[];

static const char *dup_text(sr_json_view text, struct sr_arena *arena)
{
    char *copy = sr_arena_alloc(arena, text.n + 1);
    if (copy)
        copy[sr_json_view_decode(text, copy)] = 0;
    return copy;
}

static size_t count(sr_json_view container)
{
    sr_json_view name, value;
    size_t n = 0;
    for (size_t at = 0; sr_json_view_next(container, &at, &name, &value);)
        n++;
    return n;
}

static int read_exemplars(struct sr_strings *out, sr_json_view list, struct sr_arena *arena,
                          struct sr_err *err)
{
    sr_json_view text;
    const char **items = sr_arena_calloc(arena, count(list) + 1, sizeof *items);
    if (!items)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    out->items = items;
    for (size_t at = 0; sr_json_view_next(list, &at, NULL, &text);) {
        const char *copy = sr_json_view_is_string(text) ? dup_text(text, arena) : NULL;
        if (!copy)
            return sr_err_set(err, SR_EINVAL, "an exemplar is no text");
        if (*copy)
            items[out->count++] = copy;
    }
    return SR_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct sr_named_strings *)a)->name, ((const struct sr_named_strings *)b)->name);
}

int sr_kb_parse(struct sr_kb_labels *out, struct sr_bytes json, struct sr_arena *arena, struct sr_err *err)
{
    sr_json_view root, name, label;
    size_t texts = 0;
    int rc = sr_json_view_open(&root, json, err);
    if (rc)
        return rc;
    sr_json_view labels = sr_json_view_get(root, "labels");
    size_t n = sr_json_view_is_object(labels) ? count(labels) : 0;
    if (n > SR_KB_LABELS)
        return sr_err_set(err, SR_ELIMIT, "more than %u labels", SR_KB_LABELS);
    struct sr_named_strings *items = sr_arena_calloc(arena, n + 1, sizeof *items);
    *out = (struct sr_kb_labels){items, 0};
    if (!items)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    for (size_t at = 0; n && sr_json_view_next(labels, &at, &name, &label);) {
        struct sr_named_strings *item = &items[out->n];
        *item = (struct sr_named_strings){.name = dup_text(name, arena)};
        rc = item->name ? read_exemplars(&item->texts, sr_json_view_get(label, "exemplars"), arena, err)
                        : sr_err_set(err, SR_ENOMEM, "out of memory");
        texts += item->texts.count;
        if (rc == SR_OK && texts > SR_KB_EXEMPLARS)
            rc = sr_err_set(err, SR_ELIMIT, "more than %u exemplars", SR_KB_EXEMPLARS);
        if (rc)
            return rc;
        out->n += item->texts.count > 0;
    }
    if (!texts)
        return sr_err_set(err, SR_EINVAL, "no label in `labels` has `exemplars`");
    qsort(items, out->n, sizeof *items, by_name);
    return SR_OK;
}

int sr_kb_read(struct sr_kb_labels *out, const struct sr_config_kb *kb, struct sr_arena *arena,
               struct sr_err *err)
{
    struct sr_err why = {0};
    struct sr_buf file;
    if (!kb->path[0])
        return sr_kb_parse(out,
                           sr_bytes_of(sr_embed_mmlu_kb, (size_t)(sr_embed_mmlu_kb_end - sr_embed_mmlu_kb)),
                           arena, err);
    const char *path = sr_arena_printf(arena, "%s/%s", kb->path, kb->manifest);
    if (!path)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    sr_buf_init(&file, SR_KB_FILE_MAX);
    int rc = sr_read_file(&file, path, READ_MS, &why);
    if (rc == SR_OK)
        rc = sr_kb_parse(out, sr_buf_view(&file), arena, &why);
    sr_buf_dispose(&file);
    return rc ? sr_err_set(err, rc, "%.200s: %s", path, why.message[0] ? why.message : sr_strerror(rc))
              : SR_OK;
}
