/* The query of the stream, and its events. */
#include "cli/admin/tail.h"

#include "cli/admin/ask.h"
#include "cli/admin/line.h"
#include "cli/cmd.h"
#include "json/sse_frames.h"

#include <inttypes.h>
#include <stdio.h>

#define API        "/api/v1/requests/events"
#define TARGET_MAX ((size_t)8 << 10)
#define EVENT_MAX  ((size_t)1 << 20)

struct tail {
    const struct sr_admin_tail *how;
    struct sr_sse_frames frames;
    long printed;
    bool failed; /* standard output takes nothing */
};

/* ---- the query ---- */

static int put_escaped(struct sr_buf *out, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    int rc = SR_OK;
    for (const char *p = text; *p && !rc; p++)
        rc = strchr(plain, *p) ? sr_buf_append(out, p, 1) : sr_buf_printf(out, "%%%02x", (unsigned char)*p);
    return rc;
}

static int put_text(struct sr_buf *out, const char *name, const char *value)
{
    int rc = value ? sr_buf_printf(out, "&%s=", name) : SR_OK;
    return !rc && value ? put_escaped(out, value) : rc;
}

static int put_number(struct sr_buf *out, const char *name, long value)
{
    return value ? sr_buf_printf(out, "&%s=%ld", name, value) : SR_OK;
}

static int make_path(const struct sr_admin_tail *how, struct sr_buf *out)
{
    int rc = sr_buf_printf(out, API "?");
    if (!rc)
        rc = put_text(out, "model", how->model);
    if (!rc)
        rc = put_text(out, "decision", how->decision);
    if (!rc)
        rc = put_text(out, "tenant", how->tenant);
    if (!rc)
        rc = put_text(out, "outcome", how->outcome);
    if (!rc)
        rc = put_number(out, "min_ms", how->min_ms);
    if (!rc)
        rc = put_number(out, "max_ms", how->max_ms);
    return rc ? rc : put_number(out, "per_second", how->per_second);
}

/* ---- events ---- */

static void print(struct tail *tail, struct sr_bytes text)
{
    tail->failed |= !sr_cmd_put(text) || fflush(stdout) != 0;
}

static void print_request(struct tail *tail, struct sr_bytes data, const sr_doc_value *request)
{
    struct sr_buf line;
    if (tail->how->json) {
        print(tail, data);
        print(tail, SR_LIT("\n"));
    } else {
        sr_buf_init(&line, SR_ADMIN_LINE_MAX);
        int rc = sr_admin_line(request, tail->how->colour, &line);
        print(tail, sr_buf_view(&line));
        if (rc)
            print(tail, SR_LIT("...\n"));
        sr_buf_dispose(&line);
    }
    tail->printed++;
}

static void take_event(struct tail *tail, struct sr_bytes data)
{
    struct sr_doc *doc = NULL;
    if (sr_doc_parse(&doc, data, EVENT_MAX, NULL) != SR_OK)
        return;
    const sr_doc_value *root = sr_doc_root(doc);
    if (sr_doc_get(root, "left_out"))
        fprintf(stderr, "semroute tail: %" PRId64 " more requests are left out\n",
                sr_admin_number(root, "left_out"));
    else
        print_request(tail, data, root);
    sr_doc_free(doc);
}

static bool on_slice(void *ctx, struct sr_bytes bytes)
{
    struct tail *tail = ctx;
    const struct sr_admin_tail *how = tail->how;
    struct sr_sse_frame frame;
    while (!tail->failed && sr_sse_frames_next(&tail->frames, &bytes, &frame) == SR_OK) {
        if (frame.whole && frame.has_data)
            take_event(tail, frame.data);
        if (how->count && tail->printed >= how->count)
            return false;
    }
    return !tail->failed;
}

int sr_admin_tail(const struct sr_usage *usage, const struct sr_admin_where *where,
                  const struct sr_admin_tail *how)
{
    struct tail tail = {.how = how};
    struct sr_err err = {0};
    struct sr_buf path, answer;
    char message[256];
    int status = 0, code = SR_EXIT_DONE;
    sr_buf_init(&path, TARGET_MAX);
    sr_buf_init(&answer, EVENT_MAX);
    sr_sse_frames_init(&tail.frames, EVENT_MAX);
    int rc = make_path(how, &path);
    if (rc)
        code = sr_cmd_misuse(usage, "the filters are too long");
    else
        rc = sr_admin_stream(where, path.data, on_slice, &tail, &answer, &status, &err);
    if (code == SR_EXIT_DONE && rc) {
        code = sr_cmd_fail(usage, rc == SR_EINVAL ? SR_EXIT_USAGE : SR_EXIT_FAILED, "%s", err.message);
    } else if (code == SR_EXIT_DONE && status != 200) {
        sr_admin_message(sr_buf_view(&answer), message);
        code = sr_cmd_fail(usage, SR_EXIT_NO, "the router answered %d: %s", status, message);
    } else if (tail.failed) {
        code = SR_EXIT_FAILED;
    }
    sr_sse_frames_dispose(&tail.frames);
    sr_buf_dispose(&path);
    sr_buf_dispose(&answer);
    return code;
}
