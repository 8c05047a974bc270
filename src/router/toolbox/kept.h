/*
 * A file of vectors by the texts that they are of: what an encoder has read once, it need not read again.
 *
 * The file is made anew as a whole and put in place by a rename. One that is damaged, or of another encoder,
 * is taken for an empty one. Any thread; blocks on I/O.
 */
#ifndef SR_ROUTER_TOOLBOX_KEPT_H
#define SR_ROUTER_TOOLBOX_KEPT_H

#include "base/arena.h"
#include "base/buf.h"

#define SR_KEPT_FILE_MAX ((size_t)512 << 20)

/* Whose vectors they are: another encoder, or another way to run it, has other ones. */
struct sr_kept_of {
    struct sr_bytes encoder; /* any bytes */
    size_t dimensions;
};

/* Copies the vectors of those of n texts that the file has into vectors[i], and sets has[i]. Returns how
 * many. */
size_t sr_kept_load(const char *path, const struct sr_kept_of *of, const char *const *texts, size_t n,
                    float *vectors, bool *has);

/* Writes the vectors of n texts. SR_EIO, SR_ELIMIT, SR_ENOMEM. */
int sr_kept_save(const char *path, const struct sr_kept_of *of, const char *const *texts, size_t n,
                 const float *vectors, struct sr_err *err) SR_WARN_UNUSED;

/* The same over bytes: fills `has` and `vectors` from a file's bytes. For sr_kept_load and tests. */
size_t sr_kept_read(struct sr_bytes file, const struct sr_kept_of *of, const char *const *texts, size_t n,
                    float *vectors, bool *has);

#endif
