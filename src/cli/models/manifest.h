/*
 * The manifest of a model folder: manifest.json with the name, the task, for a pulled model its revision, and
 * the size and SHA-256 of each file.
 */
#ifndef SR_CLI_MODELS_MANIFEST_H
#define SR_CLI_MODELS_MANIFEST_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/hash.h"

#define SR_MANIFEST_FILES_MAX 64

struct sr_manifest_file {
    struct sr_bytes path; /* inside the folder */
    struct sr_bytes sha256;
    unsigned long long bytes;
};

struct sr_manifest {
    struct sr_bytes name, task, tier, revision;
    struct sr_manifest_file files[SR_MANIFEST_FILES_MAX];
    size_t n_files;
    /* private */
    struct sr_buf text;
    struct sr_arena arena;
};

/* Reads DIR/manifest.json; a file outside the folder is refused. Errors with a message; dispose in any case.
 */
int sr_manifest_read(struct sr_manifest *manifest, const char *dir, struct sr_err *err) SR_WARN_UNUSED;
void sr_manifest_dispose(struct sr_manifest *manifest);

/* SHA-256 and size of a file. SR_ENOENT, SR_EIO with a message that names it. */
int sr_manifest_hash(const char *path, char hex[SR_SHA256_HEX], uint64_t *bytes,
                     struct sr_err *err) SR_WARN_UNUSED;

/* Is the file there, with the size and hash that the manifest gives? SR_EMISMATCH and others with a message.
 */
int sr_manifest_verify(const char *dir, const struct sr_manifest_file *file,
                       struct sr_err *err) SR_WARN_UNUSED;

#endif
