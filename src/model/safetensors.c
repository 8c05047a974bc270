/*
 * Opening a safetensors file: reading, the checks of header against data section, and look-up by name.
 * safetensors_header.c parses the header.
 */
#include "model/safetensors.h"

#include "base/arena.h"
#include "base/mem.h"
#include "model/safetensors_header.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_AT 8u

struct sr_safetensors {
    struct sr_arena arena; /* names, metadata, the arrays of `header` */
    struct sr_st_header header;
    const unsigned char *p;
    size_t n, data_at;
    bool mapped;
};

/* The length of the header, checked against the file and the limit. */
static int header_length(const struct sr_safetensors *file, size_t *length, struct sr_err *err)
{
    uint64_t n = 0;
    if (file->n < HEADER_AT)
        return sr_err_set_at(err, SR_EPARSE, file->n,
                             "safetensors: %zu bytes are too few for a header length", file->n);
    for (size_t i = 0; i < HEADER_AT; i++)
        n |= (uint64_t)file->p[i] << (8 * i);
    if (n > file->n - HEADER_AT)
        return sr_err_set_at(err, SR_EPARSE, 0,
                             "safetensors: the header's length %llu is more than the %zu bytes after byte 8",
                             (unsigned long long)n, file->n - HEADER_AT);
    if (n > SR_SAFETENSORS_HEADER_MAX)
        return sr_err_set_at(err, SR_ELIMIT, 0, "safetensors: a header of %llu bytes, at most %zu are read",
                             (unsigned long long)n, SR_SAFETENSORS_HEADER_MAX);
    *length = (size_t)n;
    return SR_OK;
}

/* Bytes that dtype and shape require; false when that exceeds any file. */
static bool tensor_bytes(const struct sr_tensor *t, uint64_t *bytes)
{
    uint64_t n = sr_dtype_size(t->dtype);
    bool empty = false;
    for (uint32_t d = 0; d < t->rank; d++)
        empty |= t->shape[d] == 0;
    for (uint32_t d = 0; !empty && d < t->rank; d++) {
        if (t->shape[d] > INT64_MAX / n)
            return false;
        n *= t->shape[d];
    }
    *bytes = empty ? 0 : n;
    return true;
}

static int bind_tensor(const struct sr_safetensors *file, struct sr_st_entry *entry, struct sr_err *err)
{
    struct sr_tensor *t = &entry->tensor;
    uint64_t want, have = file->n - file->data_at;
    int name = t->name.n > 80 ? 80 : (int)t->name.n;
    if (entry->begin > entry->end || entry->end > have)
        return sr_err_set_at(err, SR_EPARSE, entry->at,
                             "safetensors: tensor `%.*s` spans %llu..%llu of a data section of %llu bytes",
                             name, t->name.p, (unsigned long long)entry->begin,
                             (unsigned long long)entry->end, (unsigned long long)have);
    if (!tensor_bytes(t, &want) || want != entry->end - entry->begin)
        return sr_err_set_at(
            err, SR_EPARSE, entry->at,
            "safetensors: tensor `%.*s` has %llu bytes, which do not fit its dtype and shape", name,
            t->name.p, (unsigned long long)(entry->end - entry->begin));
    t->data = file->p + file->data_at + entry->begin;
    t->bytes = (size_t)want;
    return SR_OK;
}

static int by_offset(const void *a, const void *b)
{
    const struct sr_st_entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

static int by_name(const void *a, const void *b)
{
    const struct sr_st_entry *x = a, *y = b;
    return sr_bytes_cmp(x->tensor.name, y->tensor.name);
}

/* Tensors tile the data section; names are unique; afterwards entries are sorted by name. */
static int check_layout(struct sr_safetensors *file, struct sr_err *err)
{
    struct sr_st_entry *entries = file->header.entries;
    size_t n = file->header.n_entries;
    uint64_t at = 0;
    if (n)
        qsort(entries, n, sizeof *entries, by_offset);
    for (size_t i = 0; i < n; at = entries[i++].end)
        if (entries[i].begin != at)
            return sr_err_set_at(err, SR_EPARSE, entries[i].at,
                                 "safetensors: a tensor begins at %llu of the data section, expected %llu",
                                 (unsigned long long)entries[i].begin, (unsigned long long)at);
    if (at != file->n - file->data_at)
        return sr_err_set_at(err, SR_EPARSE, file->data_at + (size_t)at,
                             "safetensors: %llu bytes at the end belong to no tensor",
                             (unsigned long long)(file->n - file->data_at - at));
    if (n)
        qsort(entries, n, sizeof *entries, by_name);
    for (size_t i = 1; i < n; i++)
        if (by_name(&entries[i - 1], &entries[i]) == 0)
            return sr_err_set_at(err, SR_EPARSE, entries[i].at, "safetensors: two tensors of the same name");
    return SR_OK;
}

static int read_file(struct sr_safetensors *file, struct sr_err *err)
{
    size_t length = 0;
    int rc = header_length(file, &length, err);
    if (rc)
        return rc;
    /* Entries are larger than their text at most by this factor; the array doubles. */
    sr_arena_init(&file->arena, length * 32 + ((size_t)64 << 10));
    file->data_at = HEADER_AT + length;
    rc = sr_st_header_parse(&file->header, sr_bytes_of(file->p + HEADER_AT, length), HEADER_AT, &file->arena,
                            err);
    for (size_t i = 0; !rc && i < file->header.n_entries; i++)
        rc = bind_tensor(file, &file->header.entries[i], err);
    return rc ? rc : check_layout(file, err);
}

static int open_bytes(struct sr_safetensors **out, const void *p, size_t n, bool mapped, struct sr_err *err)
{
    struct sr_safetensors *file = sr_mem_calloc(1, sizeof *file);
    *out = NULL;
    if (!file)
        return sr_err_set(err, SR_ENOMEM, "out of memory for a safetensors file");
    sr_arena_init(&file->arena, 0);
    file->p = p;
    file->n = n;
    int rc = read_file(file, err);
    if (rc) {
        sr_safetensors_close(file);
        return rc;
    }
    file->mapped = mapped; /* set last: before this the caller unmaps */
    *out = file;
    return SR_OK;
}

int sr_safetensors_open_memory(struct sr_safetensors **out, const void *p, size_t n, struct sr_err *err)
{
    return open_bytes(out, p, n, false, err);
}

/* Reads `n` bytes into memory of the process: a file that another program truncates or rewrites afterwards
 * changes nothing, where a mapping would raise SIGBUS. */
static int read_whole(int fd, unsigned char *p, size_t n, const char *path, struct sr_err *err)
{
    for (size_t at = 0; at < n;) {
        ssize_t got = read(fd, p + at, n - at);
        if (got < 0 && errno != EINTR)
            return sr_err_set(err, SR_EIO, "%s: %s", path, strerror(errno));
        if (got == 0)
            return sr_err_set(err, SR_EIO, "%s: shorter than it was when it was opened", path);
        at += got > 0 ? (size_t)got : 0;
    }
    return SR_OK;
}

int sr_safetensors_open_file(struct sr_safetensors **out, const char *path, struct sr_err *err)
{
    struct stat st;
    int rc;
    *out = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return sr_err_set(err, errno == ENOENT || errno == ENOTDIR ? SR_ENOENT : SR_EIO, "%s: %s", path,
                          strerror(errno));
    void *p = MAP_FAILED;
    size_t n = 0;
    if (fstat(fd, &st)) {
        rc = sr_err_set(err, SR_EIO, "%s: %s", path, strerror(errno));
    } else if (!S_ISREG(st.st_mode) || st.st_size <= 0) {
        rc = sr_err_set(err, SR_EPARSE, "%s: not a regular file, or empty", path);
    } else {
        n = (size_t)st.st_size;
        p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        rc = p == MAP_FAILED ? sr_err_set(err, SR_ENOMEM, "%s: %s", path, strerror(errno))
                             : read_whole(fd, p, n, path, err);
    }
    close(fd);
    if (rc == SR_OK)
        rc = open_bytes(out, p, n, true, err);
    if (rc != SR_OK && p != MAP_FAILED)
        munmap(p, n);
    else if (rc == SR_OK)
        (void)!mprotect(p, n, PROT_READ);
    return rc;
}

void sr_safetensors_close(struct sr_safetensors *file)
{
    if (!file)
        return;
    if (file->mapped)
        munmap((void *)(uintptr_t)file->p, file->n);
    sr_arena_dispose(&file->arena);
    sr_mem_free(file);
}

size_t sr_safetensors_count(const struct sr_safetensors *file)
{
    return file->header.n_entries;
}

const struct sr_tensor *sr_safetensors_at(const struct sr_safetensors *file, size_t index)
{
    return index < file->header.n_entries ? &file->header.entries[index].tensor : NULL;
}

const struct sr_tensor *sr_safetensors_find(const struct sr_safetensors *file, const char *name)
{
    struct sr_bytes want = sr_bytes_str(name);
    for (size_t low = 0, high = file->header.n_entries; low < high;) {
        size_t middle = low + (high - low) / 2;
        const struct sr_tensor *t = &file->header.entries[middle].tensor;
        int order = sr_bytes_cmp(want, t->name);
        if (order == 0)
            return t;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

struct sr_bytes sr_safetensors_metadata(const struct sr_safetensors *file, const char *key)
{
    for (size_t i = 0; i < file->header.n_metadata; i++)
        if (sr_bytes_eq(file->header.metadata[i].key, sr_bytes_str(key)))
            return file->header.metadata[i].value;
    return (struct sr_bytes){NULL, 0};
}

struct sr_bytes sr_safetensors_file(const struct sr_safetensors *file)
{
    return sr_bytes_of(file->p, file->n);
}

struct sr_bytes sr_safetensors_data(const struct sr_safetensors *file)
{
    return sr_bytes_of(file->p + file->data_at, file->n - file->data_at);
}
