/*
 * The frame splitter: one pass that finds line ends, then one over the lines of a complete frame.
 *
 * After a CR at the end of a chunk an LF may still follow. The frame is returned at once anyway; such an LF
 * becomes the first byte of the next frame's `raw` and is not a line of its own.
 */
#include "json/sse_frames.h"

void sr_sse_frames_init(struct sr_sse_frames *frames, size_t max)
{
    *frames = (struct sr_sse_frames){.max = max, .line_empty = true};
    sr_buf_init(&frames->held, max);
    sr_buf_init(&frames->joined, max);
}

void sr_sse_frames_dispose(struct sr_sse_frames *frames)
{
    sr_buf_dispose(&frames->held);
    sr_buf_dispose(&frames->joined);
}

/* Index one past the end of the frame in `in`, or 0 when the frame does not end in it. */
static size_t find_end(struct sr_sse_frames *frames, struct sr_bytes in)
{
    if (frames->held.len == 0)
        frames->lead = !frames->oversized && frames->after_cr && in.n && in.p[0] == '\n';
    for (size_t i = 0; i < in.n; i++) {
        char c = in.p[i];
        if (c != '\n' && c != '\r') {
            frames->after_cr = false;
            frames->line_empty = false;
            continue;
        }
        if (c == '\n' && frames->after_cr) {
            frames->after_cr = false;
            continue;
        }
        frames->after_cr = c == '\r';
        if (!frames->line_empty) {
            frames->line_empty = true;
            continue;
        }
        if (c == '\r' && i + 1 < in.n && in.p[i + 1] == '\n') {
            frames->after_cr = false;
            i++;
        }
        return i + 1;
    }
    return 0;
}

/* The next line of `*rest` without its end. */
static struct sr_bytes take_line(struct sr_bytes *rest)
{
    size_t n = 0;
    while (n < rest->n && rest->p[n] != '\n' && rest->p[n] != '\r')
        n++;
    struct sr_bytes line = sr_bytes_of(rest->p, n);
    size_t skip = n;
    if (skip < rest->n)
        skip += rest->p[n] == '\r' && n + 1 < rest->n && rest->p[n + 1] == '\n' ? 2 : 1;
    *rest = sr_bytes_of(rest->p + skip, rest->n - skip);
    return line;
}

/* The value of a data field; false for other lines. */
static bool data_value(struct sr_bytes line, struct sr_bytes *value)
{
    if (!sr_bytes_starts_with(line, SR_LIT("data")))
        return false;
    *value = sr_bytes_of(line.p + 4, line.n - 4);
    if (value->n == 0)
        return true;
    if (value->p[0] != ':')
        return false;
    size_t skip = value->n > 1 && value->p[1] == ' ' ? 2 : 1;
    *value = sr_bytes_of(value->p + skip, value->n - skip);
    return true;
}

static int read_lines(struct sr_sse_frames *frames, struct sr_sse_frame *frame)
{
    struct sr_bytes rest = frame->raw, value;
    if (!frames->started && sr_bytes_starts_with(rest, SR_LIT("\xef\xbb\xbf")))
        rest = sr_bytes_of(rest.p + 3, rest.n - 3);
    frames->started = true;
    sr_buf_clear(&frames->joined);
    while (rest.n) {
        if (!data_value(take_line(&rest), &value))
            continue;
        int rc = SR_OK;
        if (frame->data_lines == 1)
            rc = sr_buf_append_bytes(&frames->joined, frame->data);
        if (!rc && frame->data_lines >= 1)
            rc = sr_buf_append(&frames->joined, "\n", 1);
        if (!rc && frame->data_lines >= 1)
            rc = sr_buf_append_bytes(&frames->joined, value);
        if (rc)
            return rc;
        if (frame->data_lines++ == 0) {
            frame->data = value;
            frame->data_at = (size_t)(value.p - frame->raw.p);
        } else {
            frame->data = sr_buf_view(&frames->joined);
        }
    }
    frame->has_data = frame->data_lines > 0;
    return SR_OK;
}

/* Returns `n` bytes of the input, after the held bytes, as one frame or as a piece. */
static int give(struct sr_sse_frames *frames, struct sr_bytes *in, size_t n, bool whole,
                struct sr_sse_frame *frame)
{
    *frame = (struct sr_sse_frame){.whole = whole, .raw = {in->p, n}, .data = {"", 0}, .lead = frames->lead};
    if (frames->held.len) {
        int rc = sr_buf_append(&frames->held, in->p, n);
        if (rc)
            return rc;
        frame->raw = sr_buf_view(&frames->held);
        frames->spent = true;
    }
    *in = sr_bytes_of(in->p + n, in->n - n);
    if (!whole)
        return SR_OK;
    frames->line_empty = true;
    if (read_lines(frames, frame)) { /* out of memory for joining its lines: it passes unchanged */
        frame->whole = frame->has_data = false;
        frame->data = (struct sr_bytes){"", 0};
    }
    return SR_OK;
}

int sr_sse_frames_next(struct sr_sse_frames *frames, struct sr_bytes *in, struct sr_sse_frame *frame)
{
    if (frames->spent)
        sr_buf_clear(&frames->held);
    frames->spent = false;
    if (in->n == 0)
        return SR_MORE;
    struct sr_sse_frames before = *frames;
    size_t end = find_end(frames, *in);
    size_t take = end ? end : in->n;
    bool fits = !frames->oversized && take <= frames->max - frames->held.len;
    int rc = SR_MORE;
    if (fits && end) {
        rc = give(frames, in, end, true, frame);
    } else if (fits) {
        rc = sr_buf_append(&frames->held, in->p, in->n);
        if (!rc) {
            *in = sr_bytes_of(in->p + in->n, 0);
            rc = SR_MORE;
        }
    } else if (frames->held.len) { /* over the maximum: first the held bytes, then pieces as they arrive */
        *frame =
            (struct sr_sse_frame){.raw = sr_buf_view(&frames->held), .data = {"", 0}, .lead = before.lead};
        before.spent = before.oversized = true;
        *frames = before; /* the input is scanned again */
        return SR_OK;
    } else {
        frames->oversized = end == 0;
        if (end)
            frames->line_empty = true;
        rc = give(frames, in, take, false, frame);
    }
    if (rc == SR_ENOMEM || rc == SR_ELIMIT) {
        frames->line_empty = before.line_empty;
        frames->after_cr = before.after_cr;
        rc = SR_ENOMEM;
    }
    return rc;
}

int sr_sse_frames_finish(struct sr_sse_frames *frames, struct sr_sse_frame *frame)
{
    if (frames->spent)
        sr_buf_clear(&frames->held);
    frames->spent = false;
    if (frames->held.len == 0)
        return SR_MORE;
    *frame = (struct sr_sse_frame){.raw = sr_buf_view(&frames->held), .data = {"", 0}, .lead = frames->lead};
    frames->spent = true;
    return SR_OK;
}
