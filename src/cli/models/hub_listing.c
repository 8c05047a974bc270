/* Reads the hub's JSON and refuses what cannot be a file of a repository. */
#include "cli/models/hub_listing.h"

#include "base/hash.h"
#include "base/hex.h"
#include "json/doc.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define LISTING_MAX ((size_t)16 << 20)

bool sr_hub_is_repository(const char *name)
{
    size_t slashes = 0, n = strlen(name);
    for (size_t i = 0; i < n; i++) {
        slashes += name[i] == '/';
        if (!isalnum((unsigned char)name[i]) && !strchr("._-/", name[i]))
            return false;
    }
    return n > 0 && n <= 200 && slashes <= 1 && name[0] != '/' && name[n - 1] != '/' && name[0] != '.' &&
           !strstr(name, "..") && !strstr(name, "/.");
}

static bool stays_inside(struct sr_bytes path)
{
    if (!path.n || path.n > SR_HUB_PATH_MAX || path.p[0] == '/' || sr_bytes_contains(path, SR_LIT("..")) ||
        sr_bytes_contains(path, SR_LIT("//")) || path.p[path.n - 1] == '/')
        return false;
    for (size_t i = 0; i < path.n; i++)
        if ((unsigned char)path.p[i] < ' ' || path.p[i] == 0x7F || path.p[i] == '\\')
            return false;
    return true;
}

static bool is_digits(struct sr_bytes s, size_t least, size_t most)
{
    for (size_t i = 0; i < s.n; i++)
        if (sr_hex_digit(s.p[i]) < 0)
            return false;
    return s.n >= least && s.n <= most;
}

static int keep(struct sr_arena *arena, struct sr_bytes s, struct sr_bytes *out)
{
    *out = sr_arena_dup(arena, s);
    return out->p ? SR_OK : SR_ENOMEM;
}

static int read_file(struct sr_hub_file *file, const sr_doc_value *value, struct sr_arena *arena,
                     struct sr_err *err)
{
    struct sr_bytes path = sr_doc_string(sr_doc_get(value, "rfilename"));
    const sr_doc_value *lfs = sr_doc_get(value, "lfs");
    struct sr_bytes sha256 = sr_doc_string(sr_doc_get(lfs, "sha256"));
    int64_t bytes = -1;
    if (!stays_inside(path))
        return sr_err_set(err, SR_EPARSE, "the hub's list has a file whose path leaves the repository");
    if (!sr_doc_int(sr_doc_get(lfs, "size"), &bytes))
        (void)sr_doc_int(sr_doc_get(value, "size"), &bytes);
    if (bytes < 0)
        return sr_err_set(err, SR_EPARSE, "the hub does not say how long %.*s is", (int)path.n, path.p);
    if (sha256.n && !is_digits(sha256, SR_SHA256_HEX - 1, SR_SHA256_HEX - 1))
        return sr_err_set(err, SR_EPARSE, "the hub's SHA-256 of %.*s is none", (int)path.n, path.p);
    file->bytes = (uint64_t)bytes;
    int rc = keep(arena, path, &file->path);
    return rc || !sha256.n ? rc : keep(arena, sha256, &file->sha256);
}

static int read_listing(struct sr_hub_listing *listing, const sr_doc_value *root, struct sr_arena *arena,
                        struct sr_err *err)
{
    struct sr_bytes commit = sr_doc_string(sr_doc_get(root, "sha"));
    const sr_doc_value *files = sr_doc_get(root, "siblings");
    size_t n = sr_doc_size(files);
    if (!is_digits(commit, 7, SR_HUB_COMMIT_MAX))
        return sr_err_set(err, SR_EPARSE, "the hub's answer names no commit (`sha`)");
    if (sr_doc_kind(files) != SR_JSON_ARRAY || n == 0)
        return sr_err_set(err, SR_EPARSE, "the hub's answer lists no files (`siblings`)");
    if (n > SR_HUB_FILES_MAX)
        return sr_err_set(err, SR_ELIMIT, "the repository has more than %d files", SR_HUB_FILES_MAX);
    snprintf(listing->commit, sizeof listing->commit, "%.*s", (int)commit.n, commit.p);
    listing->files = sr_arena_calloc(arena, n, sizeof *listing->files);
    if (!listing->files)
        return SR_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        int rc = read_file(&listing->files[i], sr_doc_at(files, i), arena, err);
        if (rc)
            return rc;
    }
    listing->n_files = n;
    return SR_OK;
}

int sr_hub_parse(struct sr_hub_listing *listing, struct sr_bytes json, struct sr_arena *arena,
                 struct sr_err *err)
{
    struct sr_doc *doc = NULL;
    struct sr_err what = {0};
    *listing = (struct sr_hub_listing){0};
    int rc = sr_doc_parse(&doc, json, LISTING_MAX, &what);
    if (rc)
        return sr_err_set(err, rc, "the hub's answer is no JSON: %.150s", what.message);
    rc = read_listing(listing, sr_doc_root(doc), arena, err);
    sr_doc_free(doc);
    if (rc == SR_ENOMEM)
        sr_err_set(err, rc, "out of memory");
    return rc;
}
