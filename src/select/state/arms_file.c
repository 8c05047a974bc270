/* The arms as JSON: names, means and weights; nothing of any request. */
#include "select/state/private.h"

#include "base/arena.h"
#include "base/json_write.h"
#include "select/model/number.h"

#include <string.h>

#define FORMAT     "semroute-arms-1"
#define NUMBERS    4
#define WEIGHT_MAX 1e9

static void put_entry(struct sr_json_writer *w, const struct sr_arm_entry *entry)
{
    const struct sr_arm *arm = &entry->arm;
    sr_json_line(w, 2);
    sr_json_object(w, NULL);
    sr_json_text(w, "decision", entry->names[0]);
    sr_json_text(w, "model", entry->names[1]);
    if (entry->names[2][0])
        sr_json_text(w, "lora", entry->names[2]);
    sr_json_array(w, "quality");
    sr_json_real(w, NULL, "%.9g", arm->quality);
    sr_json_real(w, NULL, "%.9g", arm->quality_weight);
    sr_json_array_end(w);
    sr_json_array(w, "ttft_ms");
    sr_json_real(w, NULL, "%.9g", arm->ttft_ms);
    sr_json_real(w, NULL, "%.9g", arm->ttft_weight);
    sr_json_array_end(w);
    sr_json_object_end(w);
}

int sr_arms_write(struct sr_select_arms *arms, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_text(&w, "format", FORMAT);
    sr_json_array(&w, "arms");
    pthread_mutex_lock(&arms->lock);
    for (size_t i = 0; i < SR_ARMS_SLOTS; i++)
        if (arms->entries[i].key)
            put_entry(&w, &arms->entries[i]);
    pthread_mutex_unlock(&arms->lock);
    sr_json_array_end(&w);
    sr_json_object_end(&w);
    return w.rc;
}

struct read_arm {
    struct sr_bytes names[3];
    struct sr_arm arm;
};

/* A mean and its weight. */
static bool read_pair(sr_json_view list, double most, double *mean, double *weight)
{
    sr_json_view value;
    size_t at = 0, n = 0;
    double numbers[2] = {0};
    for (; sr_json_view_is_array(list) && sr_json_view_next(list, &at, NULL, &value); n++)
        if (n == 2 || !sr_number_read(value, &numbers[n]) || numbers[n] < 0)
            return false;
    *mean = numbers[0];
    *weight = numbers[1];
    return n == 2 && *mean <= most && *weight <= WEIGHT_MAX;
}

static int read_one(sr_json_view from, struct sr_arena *arena, struct read_arm *to, struct sr_err *err)
{
    static const char *const keys[] = {"decision", "model", "lora"};
    for (size_t k = 0; k < 3; k++) {
        sr_json_view name = sr_json_view_get(from, keys[k]);
        to->names[k] = SR_LIT("");
        if (k == 2 && !name.p)
            continue;
        if (!sr_json_view_is_string(name) || name.n > 6 * SR_ARMS_NAME_MAX)
            return sr_err_set(err, SR_EPARSE, "an arm has no `%s`, or a long one", keys[k]);
        if (!sr_json_view_dup(name, arena, &to->names[k]))
            return sr_err_set(err, SR_ENOMEM, "out of memory");
    }
    if (!read_pair(sr_json_view_get(from, "quality"), 1, &to->arm.quality, &to->arm.quality_weight) ||
        !read_pair(sr_json_view_get(from, "ttft_ms"), 1e12, &to->arm.ttft_ms, &to->arm.ttft_weight))
        return sr_err_set(err, SR_EPARSE, "an arm's `quality` or `ttft_ms` is no pair of numbers in range");
    return SR_OK;
}

/* All of them, before any is taken. */
static int read_all(sr_json_view root, struct sr_arena *arena, struct read_arm *all, size_t *n,
                    struct sr_err *err)
{
    sr_json_view list = sr_json_view_get(root, "arms"), item;
    size_t at = 0;
    int rc = SR_OK;
    *n = 0;
    if (!sr_json_view_eq(sr_json_view_get(root, "format"), FORMAT) || !sr_json_view_is_array(list))
        return sr_err_set(err, SR_EPARSE, "no state of a bandit (`format` is not " FORMAT ")");
    while (rc == SR_OK && sr_json_view_next(list, &at, NULL, &item)) {
        if (*n == SR_ARMS_MAX)
            return sr_err_set(err, SR_ELIMIT, "more than %d arms", SR_ARMS_MAX);
        rc = read_one(item, arena, &all[(*n)++], err);
    }
    return rc;
}

int sr_arms_read(struct sr_select_arms *arms, struct sr_bytes text, struct sr_err *err)
{
    struct sr_arena arena;
    sr_json_view root;
    size_t n = 0;
    sr_arena_init(&arena, 4 * SR_ARMS_FILE_MAX);
    int rc = text.n > SR_ARMS_FILE_MAX ? sr_err_set(err, SR_ELIMIT, "the file is too large")
                                       : sr_json_view_open(&root, text, err);
    struct read_arm *all = rc ? NULL : sr_arena_calloc(&arena, SR_ARMS_MAX, sizeof *all);
    if (!rc && !all)
        rc = sr_err_set(err, SR_ENOMEM, "out of memory");
    if (!rc)
        rc = read_all(root, &arena, all, &n, err);
    pthread_mutex_lock(&arms->lock);
    for (size_t i = 0; rc == SR_OK && i < n; i++) {
        struct sr_arm_name name = {all[i].names[0].p, all[i].names[1].p, all[i].names[2].p};
        struct sr_arm_entry *entry = sr_arms_entry(arms, &name);
        if (entry)
            entry->arm = all[i].arm;
    }
    pthread_mutex_unlock(&arms->lock);
    sr_arena_dispose(&arena);
    return rc;
}
