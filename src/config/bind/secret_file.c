/* Files of secrets in scalar values. Reads them once for each place that names them. */
#include "config/bind/secret_file.h"

#include "base/read_file.h"

#define VALUE_MAX ((size_t)64 << 10)
#define READ_MS   10000

struct reader {
    struct sr_binder *b;
    struct sr_arena *tree;
    struct sr_strings *watched;
    bool files;
    struct sr_buf buf;
};

bool sr_secret_watch(struct sr_binder *b, const char *path, struct sr_strings *watched)
{
    for (size_t i = 0; i < watched->count; i++)
        if (strcmp(watched->items[i], path) == 0)
            return true;
    if (!watched->items)
        watched->items = sr_bind_calloc(b, SR_SECRET_FILES_MAX, sizeof *watched->items);
    if (!watched->items || watched->count == SR_SECRET_FILES_MAX)
        return false;
    watched->items[watched->count++] = sr_bind_dup(b, sr_bytes_str(path));
    return true;
}

static void complain(struct reader *r, struct sr_yaml_node *node, const char *path, const char *what)
{
    sr_bind_error(r->b, node, "`${file:%.200s}`: %s", path, what);
    node->broken = true;
}

/* Appends a secret; a `${` of its own is no reference. */
static int append(struct reader *r, struct sr_bytes secret)
{
    int rc = SR_OK;
    for (size_t i = 0; i < secret.n && !rc; i++) {
        if (secret.p[i] == '$' && i + 1 < secret.n && secret.p[i + 1] == '{')
            rc = sr_buf_append(&r->buf, "$", 1);
        if (!rc)
            rc = sr_buf_append(&r->buf, secret.p + i, 1);
    }
    return rc;
}

static bool is_one_line(struct sr_bytes text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] < ' ' || text.p[i] == 0x7f)
            return false;
    return true;
}

static int read_secret(struct reader *r, struct sr_yaml_node *node, const char *path)
{
    struct sr_buf text;
    struct sr_err err = {0};
    if (!r->files)
        return SR_OK;
    if (!sr_secret_watch(r->b, path, r->watched)) {
        complain(r, node, path, "too many such files");
        return r->b->rc;
    }
    sr_buf_init(&text, VALUE_MAX);
    int rc = sr_read_file(&text, path, READ_MS, &err);
    if (rc) {
        sr_bind_unset(r->b, node, "`${file:%.200s}`: %s", path, err.message);
        node->broken = true;
        sr_buf_dispose(&text);
        return rc == SR_ENOMEM ? rc : SR_OK;
    }
    struct sr_bytes secret = sr_buf_view(&text);
    while (secret.n && (secret.p[secret.n - 1] == '\n' || secret.p[secret.n - 1] == '\r'))
        secret.n--;
    if (!is_one_line(secret))
        complain(r, node, path, "its content is not one line of text");
    else
        rc = append(r, secret);
    if (text.len)
        explicit_bzero(text.data, text.len);
    sr_buf_dispose(&text);
    return rc;
}

static int replace(struct reader *r, struct sr_yaml_node *node)
{
    static const struct sr_bytes open = {"${file:", sizeof "${file:" - 1};
    struct sr_bytes s = node->text;
    char path[1024];
    int rc = SR_OK;
    if (!sr_bytes_contains(s, open))
        return SR_OK;
    sr_buf_clear(&r->buf);
    for (size_t i = 0; i < s.n && !rc && !node->broken;) {
        struct sr_bytes rest = {s.p + i, s.n - i};
        bool escaped = sr_bytes_starts_with(rest, SR_LIT("$${"));
        const char *end = sr_bytes_starts_with(rest, open) ? memchr(rest.p, '}', rest.n) : NULL;
        size_t n = end ? (size_t)(end - rest.p) - open.n : escaped ? 3 : 1;
        if (!end) {
            rc = sr_buf_append(&r->buf, rest.p, n);
            i += n;
        } else if (n == 0 || n >= sizeof path) {
            complain(r, node, "", "expected the path of a file");
        } else {
            memcpy(path, rest.p + open.n, n);
            path[n] = '\0';
            rc = read_secret(r, node, path);
            i += open.n + n + 1;
        }
    }
    if (rc)
        return rc;
    node->text = sr_arena_dup(r->tree, sr_buf_view(&r->buf));
    node->plain = false;
    return node->text.p ? SR_OK : SR_ENOMEM;
}

/* A node that aliases share is replaced once: then it names no file any more. Copies count in
 * SR_YAML_MAX_SIZE, so the walk is bounded. */
static int walk(struct reader *r, struct sr_yaml_node *node)
{
    int rc = SR_OK;
    if (node->kind == SR_YAML_SCALAR)
        return node->broken ? SR_OK : replace(r, node);
    for (size_t i = 0; i < node->count && rc == SR_OK; i++)
        rc = walk(r, node->items[i]);
    return rc;
}

int sr_secret_files(struct sr_binder *b, struct sr_yaml_node *root, struct sr_arena *tree, bool files,
                    struct sr_strings *watched)
{
    struct reader r = {.b = b, .tree = tree, .watched = watched, .files = files};
    sr_buf_init(&r.buf, 2 * VALUE_MAX);
    int rc = root ? walk(&r, root) : SR_OK;
    if (r.buf.len)
        explicit_bzero(r.buf.data, r.buf.len);
    sr_buf_dispose(&r.buf);
    return rc;
}
