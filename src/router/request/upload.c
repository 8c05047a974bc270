/* Pieces are in the order in which they stand in the document, which is that of the body. */
#include "router/request/upload.h"

#include "base/json_write.h"
#include "base/utf8.h"
#include "router/request/multipart.h"

void sr_upload_init(struct sr_upload *upload, struct sr_bytes boundary, size_t max)
{
    *upload = (struct sr_upload){.boundary = boundary};
    sr_buf_init(&upload->raw, max);
}

void sr_upload_dispose(struct sr_upload *upload)
{
    sr_buf_dispose(&upload->raw);
}

/* ---- the document ---- */

static bool is_text(struct sr_bytes content)
{
    return !memchr(content.p, '\0', content.n) && sr_utf8_valid(content);
}

static bool is_utf8(struct sr_bytes charset)
{
    return charset.n == 0 || sr_bytes_eq_nocase(charset, SR_LIT("utf-8")) ||
           sr_bytes_eq_nocase(charset, SR_LIT("\"utf-8\"")) ||
           sr_bytes_eq_nocase(charset, SR_LIT("us-ascii"));
}

static bool is_stream(const struct sr_multipart_part *part)
{
    return sr_bytes_eq(part->name, SR_LIT("stream")) &&
           (sr_bytes_eq(part->content, SR_LIT("true")) || sr_bytes_eq(part->content, SR_LIT("false")));
}

static void add_piece(struct sr_upload *upload, struct sr_upload_piece piece)
{
    upload->pieces[upload->n_pieces++] = piece;
}

static void add_unread(struct sr_upload *upload, enum sr_unread_kind kind, size_t bytes)
{
    upload->unread.of[kind].parts++;
    upload->unread.of[kind].bytes += bytes;
}

/* Writes what a part has to read. SR_EPARSE: a field that is no text in UTF-8. */
static int write_part(struct sr_upload *upload, const struct sr_multipart_part *part,
                      enum sr_unread_kind unread, struct sr_json_writer *w, struct sr_err *err)
{
    bool text = is_text(part->content) && is_utf8(part->charset);
    bool named = is_text(part->name) && (!part->filename.p || is_text(part->filename));
    if (!named || sr_bytes_eq(part->name, SR_LIT("_charset_")) || (!text && !part->filename.p))
        return sr_err_set(err, SR_EPARSE, "a field that is not text in UTF-8");
    if (part->filename.p) {
        sr_json_bytes(w, "filename", part->filename);
        add_piece(upload, (struct sr_upload_piece){.at = {NULL, 0}});
        add_piece(upload, (struct sr_upload_piece){part->filename, true, part->named_twice});
    }
    sr_json_name(w, part->name);
    add_piece(upload, (struct sr_upload_piece){.at = part->name, .filename = true});
    if (is_stream(part))
        sr_json_raw(w, NULL, part->content);
    else
        sr_json_bytes(w, NULL, text ? part->content : SR_LIT(""));
    add_piece(upload, (struct sr_upload_piece){.at = text ? part->content : (struct sr_bytes){NULL, 0}});
    if (!text)
        add_unread(upload, unread, part->content.n);
    return w->rc;
}

int sr_upload_read(struct sr_upload *upload, enum sr_unread_kind unread, struct sr_arena *arena,
                   struct sr_buf *json, struct sr_err *err)
{
    struct sr_multipart parts;
    int rc = sr_multipart_read(sr_buf_view(&upload->raw), upload->boundary, arena, &parts, err);
    if (rc)
        return rc;
    upload->pieces = sr_arena_calloc(arena, 4 * parts.n + 1, sizeof *upload->pieces);
    if (!upload->pieces)
        return SR_ENOMEM;
    struct sr_json_writer w = sr_json_writer_of(json);
    sr_json_object(&w, NULL);
    for (size_t i = 0; i < parts.n && !rc; i++)
        rc = write_part(upload, &parts.parts[i], unread, &w, err);
    sr_json_object_end(&w);
    return rc ? rc : w.rc;
}

/* ---- the edited body ---- */

struct writer {
    const struct sr_upload *upload;
    struct sr_arena *arena;
    struct sr_bytes rest; /* of the document */
    struct sr_bytes *slices;
    size_t n;
    const char *done; /* in the raw body: the bytes before it are in slices */
};

static bool takes(struct writer *w, char c)
{
    if (!w->rest.n || w->rest.p[0] != c)
        return false;
    w->rest = sr_bytes_of(w->rest.p + 1, w->rest.n - 1);
    return true;
}

/* The next string or literal, decoded; `p` NULL: there is none, or no memory. */
static struct sr_bytes take_value(struct writer *w)
{
    size_t n = 0;
    bool string = takes(w, '"'), escaped = false;
    for (; n < w->rest.n && (string ? w->rest.p[n] != '"' : w->rest.p[n] >= 'a' && w->rest.p[n] <= 'z'); n++)
        if (w->rest.p[n] == '\\') {
            escaped = true;
            n++;
        }
    struct sr_bytes raw = {w->rest.p, n < w->rest.n ? n : w->rest.n};
    w->rest = sr_bytes_of(raw.p + raw.n, w->rest.n - raw.n);
    if (string && !takes(w, '"'))
        return (struct sr_bytes){NULL, 0};
    return escaped ? sr_json_unescape(raw, w->arena) : raw;
}

static void put(struct writer *w, struct sr_bytes slice)
{
    if (slice.n)
        w->slices[w->n++] = slice;
}

/* Puts a value in the place of its piece, where it is another one. */
static int put_piece(struct writer *w, const struct sr_upload_piece *piece, struct sr_bytes value)
{
    if (!value.p)
        return SR_EPARSE;
    if (!piece->at.p || sr_bytes_eq(value, piece->at))
        return SR_OK;
    if (piece->fixed)
        return SR_EPARSE;
    for (size_t i = 0; piece->filename && i < value.n; i++)
        if (value.p[i] == '"' || value.p[i] == '\\' || (unsigned char)value.p[i] < ' ')
            return SR_EPARSE;
    if (memmem(value.p, value.n, w->upload->boundary.p, w->upload->boundary.n))
        return SR_EPARSE;
    put(w, sr_bytes_of(w->done, (size_t)(piece->at.p - w->done)));
    put(w, value);
    w->done = piece->at.p + piece->at.n;
    return SR_OK;
}

int sr_upload_write(const struct sr_upload *upload, struct sr_bytes json, struct sr_arena *arena,
                    const struct sr_bytes **slices, size_t *n_slices)
{
    struct sr_bytes raw = sr_buf_view(&upload->raw);
    struct writer w = {.upload = upload, .arena = arena, .rest = json, .done = raw.p};
    int rc = SR_OK;
    w.slices = sr_arena_calloc(arena, 2 * upload->n_pieces + 1, sizeof *w.slices);
    if (!w.slices)
        return SR_ENOMEM;
    if (!takes(&w, '{'))
        return SR_EPARSE;
    for (size_t i = 0; i < upload->n_pieces && !rc; i += 2) {
        if (i && !takes(&w, ','))
            return SR_EPARSE;
        rc = put_piece(&w, &upload->pieces[i], take_value(&w));
        if (!rc && !takes(&w, ':'))
            return SR_EPARSE;
        if (!rc)
            rc = put_piece(&w, &upload->pieces[i + 1], take_value(&w));
    }
    if (rc || !takes(&w, '}') || w.rest.n)
        return rc ? rc : SR_EPARSE;
    put(&w, sr_bytes_of(w.done, (size_t)(raw.p + raw.n - w.done)));
    *slices = w.slices;
    *n_slices = w.n;
    return SR_OK;
}
