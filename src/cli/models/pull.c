/* Which files, where to, and each of them: what is there already, the rest, its hash. */
#include "cli/models/pull.h"

#include "base/json_write.h"
#include "cli/cmd.h"
#include "cli/models/hub.h"
#include "cli/models/manifest.h"
#include "cli/term.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define ARENA_MAX    ((size_t)32 << 20)
#define MANIFEST_MAX ((size_t)1 << 20)
#define SPARE_BYTES  ((uint64_t)64 << 20) /* of the disk, that stay free */

struct pulling {
    const struct sr_models_pull *pull;
    struct sr_hub hub;
    struct sr_hub_listing listing;
    const struct sr_hub_file *wanted[SR_MANIFEST_FILES_MAX];
    char hashes[SR_MANIFEST_FILES_MAX][SR_SHA256_HEX];
    size_t n;
    uint64_t total, done; /* bytes of all wanted files; of those that are there whole */
    char folder[PATH_MAX - 64], partial[PATH_MAX];
    struct sr_arena arena;
};

/* ---- which files ---- */

static bool ends_with(struct sr_bytes s, const char *end)
{
    size_t n = strlen(end);
    return s.n >= n && memcmp(s.p + s.n - n, end, n) == 0;
}

/* Configuration, tokenizer, weights, the card and the licence; not the same weights for other programs.
 * Folders other than those of sentence-transformers' modules (1_Pooling, 2_Dense) hold those. */
static bool is_wanted(struct sr_bytes path)
{
    const char *slash = memchr(path.p, '/', path.n);
    bool module = path.n > 2 && path.p[0] >= '0' && path.p[0] <= '9' && path.p[1] == '_';
    if (slash && !module)
        return false;
    return (ends_with(path, ".json") && !sr_bytes_eq(path, SR_LIT("manifest.json"))) ||
           ends_with(path, ".safetensors") || sr_bytes_eq(path, SR_LIT("README.md")) ||
           sr_bytes_starts_with(path, SR_LIT("LICENSE"));
}

/* Is it one of these files? */
static bool is_one_of(struct sr_bytes path, const char *const *names)
{
    while (*names && !sr_bytes_eq(path, sr_bytes_str(*names)))
        names++;
    return *names;
}

static int choose(struct pulling *p, struct sr_err *err)
{
    static const char *const configs[] = {"config.json", "adapter_config.json", NULL};
    static const char *const weights_of[] = {"model.safetensors", "model.safetensors.index.json",
                                             "adapter_model.safetensors", NULL};
    bool config = false, weights = false;
    for (size_t i = 0; i < p->listing.n_files; i++) {
        const struct sr_hub_file *file = &p->listing.files[i];
        if (!is_wanted(file->path))
            continue;
        if (p->n == SR_MANIFEST_FILES_MAX)
            return sr_err_set(err, SR_ELIMIT, "%s has more than %d files that semroute reads", p->pull->name,
                              SR_MANIFEST_FILES_MAX);
        config |= is_one_of(file->path, configs);
        weights |= is_one_of(file->path, weights_of);
        p->wanted[p->n++] = file;
        p->total += file->bytes;
    }
    if (!config)
        return sr_err_set(err, SR_EUNSUPPORTED, "%s has no config.json and no adapter_config.json",
                          p->pull->name);
    if (!weights)
        return sr_err_set(err, SR_EUNSUPPORTED,
                          "%s has no weights in safetensors, the only format that semroute reads",
                          p->pull->name);
    return SR_OK;
}

/* ---- where to ---- */

static int name_folders(struct pulling *p, struct sr_err *err)
{
    const char *slash = strrchr(p->pull->name, '/'), *models = getenv("SEMROUTE_MODELS");
    const char *last = slash ? slash + 1 : p->pull->name;
    int n = p->pull->folder ? snprintf(p->folder, sizeof p->folder, "%s", p->pull->folder)
                            : snprintf(p->folder, sizeof p->folder, "%s/%s",
                                       models && models[0] ? models : "models", last);
    if (n < 0 || (size_t)n >= sizeof p->folder)
        return sr_err_set(err, SR_ELIMIT, "the folder's path is too long");
    while (n > 1 && p->folder[n - 1] == '/')
        p->folder[--n] = '\0';
    return SR_OK;
}

static int name_path(const char *folder, const struct sr_hub_file *file, char out[PATH_MAX],
                     struct sr_err *err)
{
    int n = snprintf(out, PATH_MAX, "%s/%.*s", folder, (int)file->path.n, file->path.p);
    return n < PATH_MAX ? SR_OK : sr_err_set(err, SR_ELIMIT, "the folder's path is too long");
}

/* Makes the folders above the last part of `path`, and with `last` that too. */
static int make_folders(char *path, bool last, struct sr_err *err)
{
    for (char *at = path + 1;; at++) {
        if (*at && *at != '/')
            continue;
        bool end = !*at;
        if (end && !last)
            return SR_OK;
        *at = '\0';
        int failed = mkdir(path, 0755) && errno != EEXIST ? errno : 0;
        *at = end ? '\0' : '/';
        if (failed)
            return sr_err_set(err, SR_EIO, "%.200s: %s", path, strerror(failed));
        if (end)
            return SR_OK;
    }
}

/* Bytes of a wanted file that an earlier call has left. */
static uint64_t bytes_there(const struct pulling *p, const struct sr_hub_file *file)
{
    char path[PATH_MAX];
    struct stat st;
    if (name_path(p->partial, file, path, NULL) || lstat(path, &st) || (uint64_t)st.st_size > file->bytes)
        return 0;
    return (uint64_t)st.st_size;
}

/* Is there room for what is still to come? */
static int check_room(struct pulling *p, struct sr_err *err)
{
    struct statvfs disk;
    uint64_t wanted = p->total;
    if (statvfs(p->partial, &disk))
        return SR_OK;
    for (size_t i = 0; i < p->n; i++)
        wanted -= bytes_there(p, p->wanted[i]);
    uint64_t room = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (room < wanted + SPARE_BYTES)
        return sr_err_set(err, SR_EIO, "%.150s: %llu MB are free, %llu of the model are still to come",
                          p->partial, (unsigned long long)(room >> 20), (unsigned long long)(wanted >> 20));
    return SR_OK;
}

/* Is the folder there already, from this commit and as its manifest says? *there: it is. */
static int look_there(struct pulling *p, bool *there, struct sr_err *err)
{
    struct sr_manifest manifest;
    struct sr_err what = {0};
    struct stat st;
    *there = false;
    if (stat(p->folder, &st))
        return SR_OK;
    int rc = sr_manifest_read(&manifest, p->folder, &what);
    bool same = rc == SR_OK && sr_bytes_eq(manifest.revision, sr_bytes_str(p->listing.commit));
    for (size_t i = 0; same && i < manifest.n_files; i++)
        same = sr_manifest_verify(p->folder, &manifest.files[i], &what) == SR_OK;
    sr_manifest_dispose(&manifest);
    *there = same;
    return same
               ? SR_OK
               : sr_err_set(err, SR_EBUSY,
                            "%.200s is there, and holds something else; remove it, or name another with --to",
                            p->folder);
}

/* ---- a file ---- */

static void show(void *ctx, uint64_t have)
{
    const struct pulling *p = ctx;
    sr_term_progress(p->pull->name, (size_t)((p->done + have) >> 20), (size_t)(p->total >> 20) + 1);
}

/* Does it hold all bytes with the hash that the hub says? `hex` gets the hash. */
static int check_file(const char *path, const struct sr_hub_file *file, char hex[SR_SHA256_HEX],
                      struct sr_err *err)
{
    uint64_t bytes = 0;
    int rc = sr_manifest_hash(path, hex, &bytes, err);
    if (!rc && file->sha256.n && !sr_bytes_eq_nocase(sr_bytes_str(hex), file->sha256)) {
        rc = sr_err_set(err, SR_EMISMATCH, "%.*s: its SHA-256 is %s, and the hub says %.*s; it was removed",
                        (int)file->path.n, file->path.p, hex, (int)file->sha256.n, file->sha256.p);
        unlink(path);
    }
    return rc;
}

static int take_file(struct pulling *p, size_t i, struct sr_err *err)
{
    const struct sr_hub_file *file = p->wanted[i];
    char path[PATH_MAX];
    struct stat st;
    int rc = name_path(p->partial, file, path, err);
    if (!rc)
        rc = make_folders(path, false, err);
    if (rc)
        return rc;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0 || fstat(fd, &st))
        rc = sr_err_set(err, SR_EIO, "%.200s: %s", path, strerror(errno));
    uint64_t have = rc || (uint64_t)st.st_size > file->bytes ? 0 : (uint64_t)st.st_size;
    struct sr_hub_fetch fetch = {.repository = p->pull->name,
                                 .commit = p->listing.commit,
                                 .file = file,
                                 .fd = fd,
                                 .have = have,
                                 .progress = show,
                                 .ctx = p};
    if (!rc && (have < file->bytes || !file->bytes))
        rc = sr_hub_fetch(&p->hub, &fetch, err);
    if (!rc && fsync(fd))
        rc = sr_err_set(err, SR_EIO, "%.200s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    if (!rc)
        rc = check_file(path, file, p->hashes[i], err);
    p->done += file->bytes;
    return rc;
}

/* ---- the manifest and the end ---- */

static void put_manifest(const struct pulling *p, struct sr_json_writer *w, const char *folder)
{
    sr_json_object(w, NULL);
    sr_json_text(w, "name", p->pull->name);
    if (folder)
        sr_json_text(w, "folder", folder);
    sr_json_text(w, "revision", p->listing.commit);
    sr_json_array(w, "files");
    for (size_t i = 0; i < p->n; i++) {
        sr_json_object(w, NULL);
        sr_json_bytes(w, "path", p->wanted[i]->path);
        sr_json_uint(w, "bytes", p->wanted[i]->bytes);
        sr_json_text(w, "sha256", p->hashes[i]);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
    sr_json_object_end(w);
}

static int write_manifest(const struct pulling *p, struct sr_err *err)
{
    char path[PATH_MAX];
    struct sr_buf out;
    sr_buf_init(&out, MANIFEST_MAX);
    struct sr_json_writer w = sr_json_writer_of(&out);
    put_manifest(p, &w, NULL);
    bool fits = snprintf(path, sizeof path, "%s/manifest.json", p->partial) < (int)sizeof path;
    FILE *file = fits && !w.rc ? fopen(path, "w") : NULL;
    bool good = file && fwrite(out.data, 1, out.len, file) == out.len && fputc('\n', file) != EOF;
    if (file && fclose(file))
        good = false;
    sr_buf_dispose(&out);
    return good ? SR_OK : sr_err_set(err, SR_EIO, "%.200s/manifest.json cannot be written", p->partial);
}

static int finish(struct pulling *p, struct sr_err *err)
{
    int rc = write_manifest(p, err);
    if (!rc && rename(p->partial, p->folder))
        rc = sr_err_set(err, SR_EIO, "%.150s -> %.100s: %s", p->partial, p->folder, strerror(errno));
    return rc;
}

static void print_result(const struct pulling *p, bool there)
{
    struct sr_buf out;
    if (!p->pull->json) {
        printf("%s: %s at %s, %zu files, %.1f MB%s\n", p->folder, p->pull->name, p->listing.commit, p->n,
               (double)p->total / 1e6, there ? ", was there already" : "");
        return;
    }
    sr_buf_init(&out, MANIFEST_MAX);
    struct sr_json_writer w = sr_json_writer_of(&out);
    put_manifest(p, &w, p->folder);
    if (!w.rc)
        printf("%.*s\n", (int)out.len, out.data);
    sr_buf_dispose(&out);
}

/* Files that are there already: their hashes are those of the manifest that was just compared. */
static int hash_there(struct pulling *p, struct sr_err *err)
{
    char path[PATH_MAX];
    uint64_t bytes;
    int rc = SR_OK;
    for (size_t i = 0; !rc && i < p->n; i++) {
        rc = name_path(p->folder, p->wanted[i], path, err);
        if (!rc)
            rc = sr_manifest_hash(path, p->hashes[i], &bytes, err);
    }
    return rc;
}

static int take_all(struct pulling *p, struct sr_err *err)
{
    snprintf(p->partial, sizeof p->partial, "%s.partial-%.12s", p->folder, p->listing.commit);
    int rc = make_folders(p->partial, true, err);
    if (!rc)
        rc = check_room(p, err);
    for (size_t i = 0; !rc && i < p->n; i++)
        rc = take_file(p, i, err);
    sr_term_progress(p->pull->name, 1, 1);
    return rc ? rc : finish(p, err);
}

static int run(struct pulling *p, bool *there, struct sr_err *err)
{
    const char *revision = p->pull->revision ? p->pull->revision : "main";
    int rc = sr_hub_list(&p->hub, p->pull->name, revision, &p->listing, &p->arena, err);
    if (!rc)
        rc = choose(p, err);
    if (!rc)
        rc = name_folders(p, err);
    if (!rc)
        rc = look_there(p, there, err);
    if (rc)
        return rc;
    return *there ? hash_there(p, err) : take_all(p, err);
}

int sr_models_pull(const struct sr_usage *usage, const struct sr_models_pull *pull)
{
    const char *hub = pull->hub ? pull->hub : getenv("HF_ENDPOINT"), *token = getenv("HF_TOKEN");
    struct sr_err err = {0};
    bool there = false;
    if (!pull->name)
        return sr_cmd_misuse(usage, "pull takes the name of a model, such as OWNER/NAME");
    if (!sr_hub_is_repository(pull->name))
        return sr_cmd_misuse(usage, "`%.100s` is no name of a model: NAME or OWNER/NAME", pull->name);
    if (!hub || !hub[0])
        return sr_cmd_misuse(usage, "no model hub is known: --hub URL, or the variable HF_ENDPOINT");
    struct pulling *p = calloc(1, sizeof *p);
    if (!p)
        return sr_cmd_fail(usage, SR_EXIT_FAILED, "out of memory");
    p->pull = pull;
    p->hub = (struct sr_hub){hub, token && token[0] ? token : NULL};
    sr_arena_init(&p->arena, ARENA_MAX);
    int rc = run(p, &there, &err);
    bool no = rc == SR_ENOENT || rc == SR_EUNSUPPORTED || rc == SR_EBUSY;
    int code = rc ? sr_cmd_fail(usage, no ? SR_EXIT_NO : SR_EXIT_FAILED, "%s",
                                err.message[0] ? err.message : sr_strerror(rc))
                  : SR_EXIT_DONE;
    if (!rc)
        print_result(p, there);
    sr_arena_dispose(&p->arena);
    free(p);
    return code;
}
