/* Lines of text, so that a key can be made with any tool; hashed, so that any length is a key of the cipher.
 */
#include "store/sqlite/keys.h"

#include "base/hash.h"
#include "base/read_file.h"

#define LINE_MIN 32u
#define LINE_MAX 4096u
#define READ_MS  5000

/* Hashes the next line of `text`; false: there is none. */
static bool next_line(struct sr_bytes *text, uint8_t key[32], int *rc)
{
    const char *end = text->n ? memchr(text->p, '\n', text->n) : NULL;
    struct sr_bytes line = sr_bytes_trim(sr_bytes_of(text->p, end ? (size_t)(end - text->p) : text->n));
    size_t used = end ? (size_t)(end - text->p) + 1 : text->n;
    *text = sr_bytes_of(text->p + used, text->n - used);
    if (!line.n)
        return false;
    *rc = line.n < LINE_MIN || line.n > LINE_MAX ? SR_EINVAL : sr_sha256(line, key);
    return true;
}

static int parse(struct sr_sqlite_keys *out, struct sr_bytes text, struct sr_err *err)
{
    int rc = SR_OK;
    out->has_key = next_line(&text, out->key, &rc);
    if (!rc)
        out->has_before = next_line(&text, out->before, &rc);
    if (rc == SR_EINVAL)
        return sr_err_set(err, rc, "a line has fewer than %u or more than %u bytes", LINE_MIN, LINE_MAX);
    if (!rc && (!out->has_key || sr_bytes_trim(text).n))
        return sr_err_set(err, SR_EINVAL,
                          "one line with the key is needed, and at most one with the key before");
    return rc;
}

int sr_sqlite_keys_read(struct sr_sqlite_keys *out, const char *path, struct sr_err *err)
{
    struct sr_buf buf;
    *out = (struct sr_sqlite_keys){0};
    if (!path)
        return SR_OK;
    sr_buf_init(&buf, 2 * LINE_MAX + 16);
    int rc = sr_read_file(&buf, path, READ_MS, err);
    if (!rc)
        rc = parse(out, sr_buf_view(&buf), err);
    if (rc && err) {
        struct sr_err cause = *err;
        sr_err_set(err, rc, "key file %s: %s", path, cause.message[0] ? cause.message : sr_strerror(rc));
    }
    if (buf.data)
        explicit_bzero(buf.data, buf.len);
    sr_buf_dispose(&buf);
    return rc;
}
