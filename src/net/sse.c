/*
 * Server-Sent Events (WHATWG HTML, 9.2.5): finds the empty line that ends a frame, then reads the fields of
 * the whole frame. A frame that came in pieces is collected; one over the limit is passed on piece by piece
 * while only its end is looked for.
 */
#include "net/sse.h"

enum state { ST_LINE, ST_CR, ST_BLANK_CR };

static void frame_begin(struct sr_sse *sse)
{
    sse->scan = (struct sr_sse_scan){.state = ST_LINE, .line_empty = true};
    sse->oversized = false;
}

void sr_sse_init(struct sr_sse *sse, size_t max_frame)
{
    *sse = (struct sr_sse){.max_frame = max_frame};
    frame_begin(sse);
    sr_buf_init(&sse->frame, max_frame);
    sr_buf_init(&sse->joined, max_frame);
}

void sr_sse_dispose(struct sr_sse *sse)
{
    sr_buf_dispose(&sse->frame);
    sr_buf_dispose(&sse->joined);
}

/* Looks for the end of the frame. True: it ends after *at bytes of the input.
 *
 * An empty line that ends in CR may go on with LF: whether it does is waited for, except when the line before
 * ended in a lone CR too, for such a stream has no CRLF. An LF that comes nevertheless leads the next frame.
 */
static bool frame_scan(struct sr_sse_scan *scan, const char *p, size_t n, size_t *at)
{
    while (*at < n) {
        char c = p[*at];
        if (scan->state == ST_BLANK_CR) {
            *at += c == '\n';
            return true;
        }
        if (scan->state == ST_CR) {
            scan->state = ST_LINE;
            scan->lone_cr = c != '\n';
            if (c == '\n') {
                ++*at;
                continue;
            }
        }
        ++*at;
        if (c != '\n' && c != '\r') {
            const char *lf;
            scan->line_empty = false;
            scan->content = true;
            /* Long lines are the rule: jump to the next end of line. */
            lf = p + *at;
            while (lf < p + n && *lf != '\n' && *lf != '\r')
                lf++;
            *at = (size_t)(lf - p);
        } else if (scan->line_empty && !scan->content) {
            /* Empty lines before a frame belong to it. */
            scan->state = c == '\r' ? ST_CR : ST_LINE;
        } else if (scan->line_empty) {
            if (c == '\n' || scan->lone_cr)
                return true;
            scan->state = ST_BLANK_CR;
        } else {
            scan->state = c == '\r' ? ST_CR : ST_LINE;
            scan->lone_cr = false;
            scan->line_empty = true;
        }
    }
    return false;
}

/* ---- fields ---- */

static int data_add(struct sr_sse *sse, struct sr_sse_item *item, struct sr_bytes value)
{
    int rc = SR_OK;
    if (!item->has_data) {
        item->has_data = true;
        item->data = value;
        return SR_OK;
    }
    if (item->data.p != sse->joined.data || !sse->joined.len) {
        sr_buf_clear(&sse->joined);
        rc = sr_buf_append_bytes(&sse->joined, item->data);
    }
    if (rc == SR_OK)
        rc = sr_buf_append(&sse->joined, "\n", 1);
    if (rc == SR_OK)
        rc = sr_buf_append_bytes(&sse->joined, value);
    item->data = sr_buf_view(&sse->joined);
    return rc;
}

static int line_parse(struct sr_sse *sse, struct sr_sse_item *item, struct sr_bytes line)
{
    const char *colon = line.n ? memchr(line.p, ':', line.n) : NULL;
    struct sr_bytes name = sr_bytes_of(line.p, colon ? (size_t)(colon - line.p) : line.n);
    struct sr_bytes value = {"", 0};
    if (colon) {
        value = sr_bytes_of(colon + 1, line.n - name.n - 1);
        if (value.n && value.p[0] == ' ')
            value = sr_bytes_of(value.p + 1, value.n - 1);
    }
    if (sr_bytes_eq(name, SR_LIT("data")))
        return data_add(sse, item, value);
    if (sr_bytes_eq(name, SR_LIT("event")))
        item->event = value;
    else if (sr_bytes_eq(name, SR_LIT("id")) && !(value.n && memchr(value.p, 0, value.n)))
        item->id = value;
    return SR_OK;
}

static int frame_parse(struct sr_sse *sse, struct sr_sse_item *item)
{
    const char *p = item->raw.p, *end = p + item->raw.n;
    item->parsed = true;
    sr_buf_clear(&sse->joined);
    if (item->start == 0 && item->raw.n >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0)
        p += 3;
    while (p < end) {
        const char *eol = p;
        int rc;
        while (eol < end && *eol != '\n' && *eol != '\r')
            eol++;
        rc = line_parse(sse, item, sr_bytes_of(p, (size_t)(eol - p)));
        if (rc != SR_OK)
            return rc;
        p = eol < end ? eol + 1 : end;
    }
    return SR_OK;
}

/* ---- items ---- */

static void item_begin(struct sr_sse *sse, struct sr_sse_item *item, struct sr_bytes raw)
{
    *item = (struct sr_sse_item){.start = sse->offset, .end = sse->offset + raw.n, .raw = raw};
    sse->offset += raw.n;
}

/* The frame is complete with `raw`. */
static int frame_end(struct sr_sse *sse, struct sr_bytes raw, struct sr_sse_item *item)
{
    item_begin(sse, item, raw);
    frame_begin(sse);
    return frame_parse(sse, item);
}

/* A piece of a frame over the limit; `ended`: its last one. */
static int piece(struct sr_sse *sse, struct sr_bytes raw, bool ended, struct sr_sse_item *item)
{
    item_begin(sse, item, raw);
    if (ended)
        frame_begin(sse);
    return SR_OK;
}

int sr_sse_next(struct sr_sse *sse, const char *data, size_t n, size_t *used, struct sr_sse_item *item)
{
    struct sr_sse_scan before = sse->scan;
    size_t at = 0;
    bool ended;
    *used = 0;
    if (sse->flush)
        sr_buf_clear(&sse->frame);
    sse->flush = false;
    ended = frame_scan(&sse->scan, data, n, &at);
    if (sse->oversized && ended && at == 0) {
        frame_begin(sse);
        ended = frame_scan(&sse->scan, data, n, &at);
    }
    if (!sse->oversized && sse->frame.len + at > sse->max_frame) {
        sse->oversized = true;
        if (sse->frame.len) {
            /* What was collected goes first; then the input is looked at again. */
            sse->scan = before;
            sse->flush = true;
            return piece(sse, sr_buf_view(&sse->frame), false, item);
        }
    }
    *used = at;
    if (sse->oversized)
        return at ? piece(sse, sr_bytes_of(data, at), ended, item) : SR_MORE;
    if (ended && !sse->frame.len)
        return frame_end(sse, sr_bytes_of(data, at), item);
    if (sr_buf_append(&sse->frame, data, at) != SR_OK)
        return SR_ENOMEM;
    if (!ended)
        return SR_MORE;
    sse->flush = true;
    return frame_end(sse, sr_buf_view(&sse->frame), item);
}

int sr_sse_finish(struct sr_sse *sse, struct sr_sse_item *item)
{
    struct sr_bytes raw;
    if (sse->flush)
        sr_buf_clear(&sse->frame);
    sse->flush = false;
    raw = sr_buf_view(&sse->frame);
    if (!raw.n)
        return SR_MORE;
    sse->flush = true;
    if (sse->scan.state == ST_BLANK_CR)
        return frame_end(sse, raw, item);
    return piece(sse, raw, true, item);
}
