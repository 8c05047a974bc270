/*
 * Reads and checks manifests.
 */
#include "cli/models/manifest.h"

#include "base/hash.h"
#include "cli/cmd.h"
#include "json/scan.h"

#include <limits.h>

#define MANIFEST_MAX ((size_t)1 << 20)
#define FILE_MAX     ((size_t)4 << 30)

enum { PATH_NAME = 1, PATH_TASK, PATH_TIER, PATH_FILE, PATH_BYTES, PATH_SHA };

static const struct sr_path_spec specs[] = {
    {"name", PATH_NAME},         {"task", PATH_TASK},           {"tier", PATH_TIER},
    {"files[].path", PATH_FILE}, {"files[].bytes", PATH_BYTES}, {"files[].sha256", PATH_SHA},
};

static bool stays_inside(struct sr_bytes path)
{
    return path.n > 0 && path.p[0] != '/' && !sr_bytes_contains(path, SR_LIT("..")) &&
           !memchr(path.p, 0, path.n);
}

static int take_span(struct sr_manifest *m, const struct sr_span *span, struct sr_err *err)
{
    struct sr_bytes body = sr_buf_view(&m->text), text = sr_span_text(span, body, &m->arena);
    if (span->id == PATH_NAME)
        m->name = text;
    else if (span->id == PATH_TASK)
        m->task = text;
    else if (span->id == PATH_TIER)
        m->tier = text;
    if (span->id < PATH_FILE)
        return SR_OK;
    if (span->index[0] >= SR_MANIFEST_FILES_MAX)
        return sr_err_set(err, SR_ELIMIT, "more than %d files", SR_MANIFEST_FILES_MAX);
    struct sr_manifest_file *file = &m->files[span->index[0]];
    m->n_files = span->index[0] + 1;
    if (span->id == PATH_FILE)
        file->path = text;
    else if (span->id == PATH_SHA)
        file->sha256 = text;
    else if (!sr_bytes_to_u64(sr_span_raw(span, body), &file->bytes))
        return sr_err_set(err, SR_EPARSE, "`bytes` of file %u is no size", span->index[0]);
    return SR_OK;
}

static int parse(struct sr_manifest *m, struct sr_err *err)
{
    struct sr_paths *paths = NULL;
    struct sr_scan *scan = NULL;
    size_t n = 0;
    int rc = sr_paths_new(&paths, specs, sizeof specs / sizeof specs[0], err);
    if (rc == SR_OK)
        rc = sr_scan_new(&scan, paths, sr_scan_limits_defaults(), &m->arena);
    if (rc == SR_OK)
        rc = sr_scan_feed(scan, m->text.data, m->text.len, err);
    if (rc == SR_OK || rc == SR_MORE)
        rc = sr_scan_finish(scan, err);
    const struct sr_span *spans = rc == SR_OK ? sr_scan_spans(scan, &n) : NULL;
    for (size_t i = 0; i < n && rc == SR_OK; i++)
        if (spans[i].id != SR_PATH_TOP)
            rc = take_span(m, &spans[i], err);
    for (size_t i = 0; i < m->n_files && rc == SR_OK; i++)
        if (!stays_inside(m->files[i].path) || m->files[i].sha256.n != SR_SHA256_HEX - 1)
            rc = sr_err_set(err, SR_EPARSE, "file %zu wants `path` inside the folder and `sha256`", i);
    if (rc == SR_OK && m->n_files == 0)
        rc = sr_err_set(err, SR_EPARSE, "no `files`");
    sr_paths_unref(paths);
    return rc;
}

int sr_manifest_read(struct sr_manifest *manifest, const char *dir, struct sr_err *err)
{
    char path[PATH_MAX];
    struct sr_err what = {0};
    *manifest = (struct sr_manifest){0};
    sr_buf_init(&manifest->text, MANIFEST_MAX);
    sr_arena_init(&manifest->arena, 4 * MANIFEST_MAX);
    if (snprintf(path, sizeof path, "%s/manifest.json", dir) >= (int)sizeof path)
        return sr_err_set(err, SR_ELIMIT, "the path is too long");
    int rc = sr_cmd_read(path, &manifest->text, err);
    if (rc == SR_OK && (rc = parse(manifest, &what)) != SR_OK)
        sr_err_set(err, rc, "%.100s: %.180s", path, what.message[0] ? what.message : sr_strerror(rc));
    return rc;
}

void sr_manifest_dispose(struct sr_manifest *manifest)
{
    sr_buf_dispose(&manifest->text);
    sr_arena_dispose(&manifest->arena);
}

int sr_manifest_verify(const char *dir, const struct sr_manifest_file *file, struct sr_err *err)
{
    char path[PATH_MAX], hex[SR_SHA256_HEX];
    struct sr_buf bytes;
    if (snprintf(path, sizeof path, "%s/%.*s", dir, (int)file->path.n, file->path.p) >= (int)sizeof path)
        return sr_err_set(err, SR_ELIMIT, "the path is too long");
    sr_buf_init(&bytes, FILE_MAX);
    int rc = sr_cmd_read(path, &bytes, err);
    if (rc == SR_OK && bytes.len != file->bytes)
        rc = sr_err_set(err, SR_EMISMATCH, "%.150s: has %zu bytes, should have %llu", path, bytes.len,
                        file->bytes);
    if (rc == SR_OK && (rc = sr_sha256_hex(sr_buf_view(&bytes), hex)) != SR_OK)
        sr_err_set(err, rc, "%.150s: %s", path, sr_strerror(rc));
    if (rc == SR_OK && !sr_bytes_eq(sr_bytes_str(hex), file->sha256))
        rc = sr_err_set(err, SR_EMISMATCH, "%.100s: its SHA-256 is %s, should be %.*s", path, hex,
                        (int)file->sha256.n, file->sha256.p);
    sr_buf_dispose(&bytes);
    return rc;
}
