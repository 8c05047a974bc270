/* Requests to the hub: URLs, answers, a file as it comes. */
#include "cli/models/hub.h"

#include "base/buf.h"
#include "cli/models/get.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LISTING_MAX ((size_t)16 << 20)

/* Appends a path with everything escaped that is not plain in a URL; slashes stay. */
static int put_path(struct sr_buf *url, struct sr_bytes path)
{
    int rc = SR_OK;
    for (size_t i = 0; !rc && i < path.n; i++) {
        unsigned char c = (unsigned char)path.p[i];
        rc = isalnum(c) || strchr("-._~/", c) ? sr_buf_append(url, &c, 1) : sr_buf_printf(url, "%%%02X", c);
    }
    return rc;
}

/* HUB/before/REPO/middle/REVISION/path. */
static int make_url(struct sr_buf *url, const struct sr_hub *hub, const char *before, const char *repository,
                    const char *middle, const char *revision, struct sr_bytes path)
{
    size_t n = strlen(hub->url);
    while (n && hub->url[n - 1] == '/')
        n--;
    int rc = sr_buf_printf(url, "%.*s/%s%s/%s/", (int)n, hub->url, before, repository, middle);
    if (!rc)
        rc = put_path(url, sr_bytes_str(revision));
    if (!rc && path.n)
        rc = sr_buf_append(url, "/", 1);
    return rc ? rc : put_path(url, path);
}

static int ignore_begin(void *ctx, uint64_t from)
{
    (void)ctx;
    (void)from;
    return SR_OK;
}

static int append(void *ctx, struct sr_bytes slice)
{
    return sr_buf_append_bytes(ctx, slice);
}

/* What an answer without a body for us means. */
static int refused(int status, const struct sr_hub *hub, const char *what, struct sr_err *err)
{
    if (status == 401 || status == 403)
        return sr_err_set(err, SR_ENOENT, "the hub answered %d: %.200s %s", status, what,
                          hub->token ? "is not there, or the token may not read it"
                                     : "is not there, or wants a token (HF_TOKEN)");
    if (status == 404)
        return sr_err_set(err, SR_ENOENT, "the hub has no %.200s", what);
    return sr_err_set(err, SR_EIO, "the hub answered %d for %.200s", status, what);
}

int sr_hub_list(const struct sr_hub *hub, const char *repository, const char *revision,
                struct sr_hub_listing *listing, struct sr_arena *arena, struct sr_err *err)
{
    struct sr_buf url, answer;
    char what[300];
    int status = 0;
    sr_buf_init(&url, SR_GET_URL_MAX);
    sr_buf_init(&answer, LISTING_MAX);
    int rc = make_url(&url, hub, "api/models/", repository, "revision", revision, SR_LIT(""));
    if (!rc)
        rc = sr_buf_printf(&url, "?blobs=true");
    if (rc) {
        sr_err_set(err, rc, "the hub's address or the revision is too long");
    } else {
        struct sr_get get = {
            .url = url.data, .bearer = hub->token, .begin = ignore_begin, .body = append, .ctx = &answer};
        rc = sr_get(&get, &status, err);
        if (rc == SR_ELIMIT)
            sr_err_set(err, rc, "the hub's answer is too long");
    }
    snprintf(what, sizeof what, "%s at %s", repository, revision);
    if (!rc && status != 200)
        rc = refused(status, hub, what, err);
    if (!rc)
        rc = sr_hub_parse(listing, sr_buf_view(&answer), arena, err);
    sr_buf_dispose(&url);
    sr_buf_dispose(&answer);
    return rc;
}

/* A file as it comes. */
struct arriving {
    const struct sr_hub_fetch *fetch;
    uint64_t have;
    struct sr_err *err;
};

static int begin_file(void *ctx, uint64_t from)
{
    struct arriving *a = ctx;
    a->have = from;
    if (ftruncate(a->fetch->fd, (off_t)from) || lseek(a->fetch->fd, (off_t)from, SEEK_SET) < 0)
        return sr_err_set(a->err, SR_EIO, "%s", strerror(errno));
    return SR_OK;
}

static int write_slice(void *ctx, struct sr_bytes slice)
{
    struct arriving *a = ctx;
    const struct sr_hub_file *file = a->fetch->file;
    if (slice.n > file->bytes - a->have)
        return sr_err_set(a->err, SR_EMISMATCH, "%.*s: longer than the %llu bytes that the hub's list says",
                          (int)file->path.n, file->path.p, (unsigned long long)file->bytes);
    while (slice.n) {
        ssize_t n = write(a->fetch->fd, slice.p, slice.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sr_err_set(a->err, SR_EIO, "%.*s: %s", (int)file->path.n, file->path.p, strerror(errno));
        slice = sr_bytes_of(slice.p + n, slice.n - (size_t)n);
        a->have += (uint64_t)n;
    }
    if (a->fetch->progress)
        a->fetch->progress(a->fetch->ctx, a->have);
    return SR_OK;
}

int sr_hub_fetch(const struct sr_hub *hub, const struct sr_hub_fetch *fetch, struct sr_err *err)
{
    const struct sr_hub_file *file = fetch->file;
    struct arriving a = {.fetch = fetch, .have = fetch->have, .err = err};
    struct sr_err what = {0};
    struct sr_buf url;
    char name[SR_HUB_PATH_MAX + 1];
    int status = 0;
    snprintf(name, sizeof name, "%.*s", (int)file->path.n, file->path.p);
    sr_buf_init(&url, SR_GET_URL_MAX);
    int rc = make_url(&url, hub, "", fetch->repository, "resolve", fetch->commit, file->path);
    if (rc) {
        sr_err_set(err, rc, "%s: its URL is too long", name);
    } else {
        struct sr_get get = {.url = url.data,
                             .bearer = hub->token,
                             .from = fetch->have,
                             .begin = begin_file,
                             .body = write_slice,
                             .ctx = &a};
        rc = sr_get(&get, &status, &what);
        if (rc && !err->message[0])
            sr_err_set(err, rc, "%.120s: %.180s", name, what.message);
    }
    sr_buf_dispose(&url);
    if (!rc && status != 200 && status != 206)
        rc = refused(status, hub, name, err);
    if (!rc && a.have != file->bytes)
        rc = sr_err_set(err, SR_EMISMATCH, "%.120s: ended after %llu of %llu bytes", name,
                        (unsigned long long)a.have, (unsigned long long)file->bytes);
    return rc;
}
