/*
 * The labels of a classifier: a mapping file as the published models have it, else id2label of config.json.
 *
 * A mapping file names each label's index in one or both directions. Indices must be 0 .. n-1, the two
 * directions must agree, no label may be empty, double, or the word that stands for a failed classification.
 */
#include "infer/encoder/private.h"

#include <stdio.h>

#define RESERVED "classification_error"

static const struct {
    const char *file, *task;
} mapping_files[] = {
    {"category_mapping.json", "domain"},
    {"pii_type_mapping.json", "pii"},
    {"jailbreak_type_mapping.json", "jailbreak"},
    {"feedback_mapping.json", "feedback"},
    {"label_mapping.json", NULL},
};

static sr_json_view first_object(sr_json_view root, const char *const *names)
{
    sr_json_view v = {0};
    for (; *names && !sr_json_view_is_object(v); names++)
        v = sr_json_view_get(root, *names);
    return v;
}

static int put(struct sr_enc_labels *labels, const struct sr_enc_json *json, struct sr_arena *arena,
               int64_t index, sr_json_view label, struct sr_err *err)
{
    struct sr_bytes text;
    if (index < 0 || (uint64_t)index >= labels->n)
        return sr_err_set(err, SR_EPARSE, "%s: label index %lld, but there are %zu labels", json->path,
                          (long long)index, labels->n);
    if (!sr_json_view_is_string(label))
        return sr_err_set(err, SR_EPARSE, "%s: label %lld is not a string", json->path, (long long)index);
    if (!sr_json_view_dup(label, arena, &text))
        return sr_enc_out_of_memory(err);
    if (!text.n || strlen(text.p) != text.n || strcmp(text.p, RESERVED) == 0)
        return sr_err_set(err, SR_EPARSE, "%s: label %lld is empty or a reserved word", json->path,
                          (long long)index);
    if (labels->labels[index])
        return sr_err_set(err, SR_EPARSE, "%s: label index %lld appears twice", json->path, (long long)index);
    labels->labels[index] = text.p;
    return SR_OK;
}

/* {"0": "biology"} or, with `forward`, {"biology": 0}. */
static int read_one(struct sr_enc_labels *labels, const struct sr_enc_json *json, sr_json_view object,
                    bool forward, struct sr_arena *arena, struct sr_err *err)
{
    sr_json_view key, value;
    size_t at = 0, n = 0;
    int64_t index;
    int rc = SR_OK;
    while (sr_json_view_next(object, &at, NULL, &value))
        n++;
    if (n == 0 || n > SR_ENCODER_LABELS_MAX)
        return sr_err_set(err, n ? SR_ELIMIT : SR_EPARSE, "%s: %zu labels, 1 to %u are supported", json->path,
                          n, SR_ENCODER_LABELS_MAX);
    labels->n = n;
    labels->labels = sr_arena_calloc(arena, n, sizeof *labels->labels);
    if (!labels->labels)
        return sr_enc_out_of_memory(err);
    for (at = 0; rc == SR_OK && sr_json_view_next(object, &at, &key, &value);) {
        sr_json_view number = forward ? value : sr_bytes_of(key.p + 1, key.n - 2);
        if (!sr_json_view_int(number, &index))
            return sr_err_set(err, SR_EPARSE, "%s: a label's index is not an integer", json->path);
        rc = put(labels, json, arena, index, forward ? key : value, err);
    }
    for (size_t i = 0; rc == SR_OK && i < n; i++)
        for (size_t k = i + 1; rc == SR_OK && k < n; k++)
            if (strcmp(labels->labels[i], labels->labels[k]) == 0)
                rc =
                    sr_err_set(err, SR_EPARSE, "%s: label `%s` appears twice", json->path, labels->labels[i]);
    return rc;
}

/* Both directions, where both are there. */
static int read_pair(struct sr_enc_labels *labels, const struct sr_enc_json *json, sr_json_view by_index,
                     sr_json_view by_name, struct sr_arena *arena, struct sr_err *err)
{
    struct sr_enc_labels other = {0};
    int rc = SR_OK;
    if (sr_json_view_is_object(by_index))
        rc = read_one(labels, json, by_index, false, arena, err);
    if (rc == SR_OK && sr_json_view_is_object(by_name))
        rc = read_one(&other, json, by_name, true, arena, err);
    if (rc)
        return rc;
    if (!labels->n) {
        labels->labels = other.labels;
        labels->n = other.n;
        return SR_OK;
    }
    bool same = !other.n || other.n == labels->n;
    for (size_t i = 0; same && i < other.n; i++)
        same = strcmp(labels->labels[i], other.labels[i]) == 0;
    if (!same)
        return sr_err_set(err, SR_EMISMATCH, "%s: labels by index and labels by name do not agree",
                          json->path);
    return SR_OK;
}

static int read_mapping(struct sr_enc_labels *labels, const struct sr_enc_json *json, struct sr_arena *arena,
                        struct sr_err *err)
{
    static const char *const back[] = {"idx_to_category", "idx_to_label", "id_to_label", "id2label", NULL};
    static const char *const forth[] = {"category_to_idx", "label_to_idx", "label_to_id", "label2id", NULL};
    sr_json_view by_index = first_object(json->root, back), by_name = first_object(json->root, forth);
    if (!by_index.p && !by_name.p)
        return sr_err_set(err, SR_EPARSE, "%s: has no labels (idx_to_label, label_to_idx, ...)", json->path);
    return read_pair(labels, json, by_index, by_name, arena, err);
}

int sr_enc_labels_read(struct sr_enc_labels *labels, const char *folder, const char *task,
                       struct sr_arena *arena, struct sr_err *err)
{
    struct sr_enc_json json;
    memset(labels, 0, sizeof *labels);
    for (size_t i = 0; i < sizeof mapping_files / sizeof *mapping_files; i++) {
        if (task && (!mapping_files[i].task || strcmp(task, mapping_files[i].task) != 0))
            continue;
        int rc = sr_enc_json_open(&json, folder, mapping_files[i].file, true, err);
        if (rc == SR_OK && json.bytes) {
            labels->task = mapping_files[i].task;
            rc = read_mapping(labels, &json, arena, err);
        }
        sr_enc_json_close(&json);
        if (rc || labels->n)
            return rc;
    }
    int rc = sr_enc_json_open(&json, folder, "config.json", true, err);
    sr_json_view by_index = sr_json_view_get(json.root, "id2label");
    if (rc == SR_OK && sr_json_view_is_object(by_index))
        rc = read_pair(labels, &json, by_index, (sr_json_view){0}, arena, err);
    sr_enc_json_close(&json);
    return rc;
}
