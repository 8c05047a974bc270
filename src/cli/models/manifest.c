/*
 * Reads and checks manifests.
 */
#include "cli/models/manifest.h"

#include "base/json_read.h"
#include "cli/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#define MANIFEST_MAX ((size_t)1 << 20)

static bool stays_inside(struct sr_bytes path)
{
    return path.n > 0 && path.p[0] != '/' && !sr_bytes_contains(path, SR_LIT("..")) &&
           !memchr(path.p, 0, path.n);
}

/* A member that is a string; empty where it is none. */
static int read_text(struct sr_manifest *m, sr_json_view object, const char *name, struct sr_bytes *out)
{
    sr_json_view value = sr_json_view_get(object, name);
    *out = SR_LIT("");
    return !sr_json_view_is_string(value) || sr_json_view_dup(value, &m->arena, out) ? SR_OK : SR_ENOMEM;
}

static int read_file(struct sr_manifest *m, sr_json_view entry, struct sr_err *err)
{
    if (m->n_files == SR_MANIFEST_FILES_MAX)
        return sr_err_set(err, SR_ELIMIT, "more than %d files", SR_MANIFEST_FILES_MAX);
    struct sr_manifest_file *file = &m->files[m->n_files];
    sr_json_view bytes = sr_json_view_get(entry, "bytes");
    if (bytes.p && !sr_bytes_to_u64(bytes, &file->bytes))
        return sr_err_set(err, SR_EPARSE, "`bytes` of file %zu is no size", m->n_files);
    int rc = read_text(m, entry, "path", &file->path);
    if (!rc)
        rc = read_text(m, entry, "sha256", &file->sha256);
    if (!rc && (!stays_inside(file->path) || file->sha256.n != SR_SHA256_HEX - 1))
        rc = sr_err_set(err, SR_EPARSE, "file %zu wants `path` inside the folder and `sha256`", m->n_files);
    m->n_files++;
    return rc;
}

static int parse(struct sr_manifest *m, struct sr_err *err)
{
    sr_json_view root, entry;
    size_t at = 0;
    int rc = sr_json_view_open(&root, sr_buf_view(&m->text), err);
    if (!rc)
        rc = read_text(m, root, "name", &m->name);
    if (!rc)
        rc = read_text(m, root, "task", &m->task);
    if (!rc)
        rc = read_text(m, root, "tier", &m->tier);
    if (!rc)
        rc = read_text(m, root, "revision", &m->revision);
    sr_json_view files = rc ? root : sr_json_view_get(root, "files");
    while (!rc && sr_json_view_is_array(files) && sr_json_view_next(files, &at, NULL, &entry))
        rc = read_file(m, entry, err);
    return rc || m->n_files ? rc : sr_err_set(err, SR_EPARSE, "no `files`");
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

int sr_manifest_hash(const char *path, char hex[SR_SHA256_HEX], uint64_t *bytes, struct sr_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return sr_err_set(err, errno == ENOENT ? SR_ENOENT : SR_EIO, "%.200s: %s", path, strerror(errno));
    int rc = sr_sha256_file(fd, hex, bytes);
    if (rc)
        sr_err_set(err, rc, "%.200s: %s", path, sr_strerror(rc));
    close(fd);
    return rc;
}

int sr_manifest_verify(const char *dir, const struct sr_manifest_file *file, struct sr_err *err)
{
    char path[PATH_MAX], hex[SR_SHA256_HEX];
    uint64_t bytes = 0;
    if (snprintf(path, sizeof path, "%s/%.*s", dir, (int)file->path.n, file->path.p) >= (int)sizeof path)
        return sr_err_set(err, SR_ELIMIT, "the path is too long");
    int rc = sr_manifest_hash(path, hex, &bytes, err);
    if (rc == SR_OK && bytes != file->bytes)
        rc = sr_err_set(err, SR_EMISMATCH, "%.150s: has %llu bytes, should have %llu", path,
                        (unsigned long long)bytes, file->bytes);
    if (rc == SR_OK && !sr_bytes_eq(sr_bytes_str(hex), file->sha256))
        rc = sr_err_set(err, SR_EMISMATCH, "%.100s: its SHA-256 is %s, should be %.*s", path, hex,
                        (int)file->sha256.n, file->sha256.p);
    return rc;
}
