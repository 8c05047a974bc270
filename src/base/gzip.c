/* Compression is one call: the room is asked for before. */
#include "base/gzip.h"

#include "base/mem.h"

#include <stdint.h>
#include <string.h>
#include <zlib.h>

#define INPUT_MAX  ((size_t)1 << 30)
#define WINDOW     (15 + 16) /* with the gzip header */
#define MEMORY     8         /* zlib's default */
#define HEADER_MAX 64

static int compress_into(z_stream *stream, struct sr_bytes in, struct sr_buf *out)
{
    size_t room = deflateBound(stream, (uLong)in.n) + HEADER_MAX;
    int rc = sr_buf_reserve(out, room);
    if (rc)
        return rc;
    stream->next_in = (Bytef *)(uintptr_t)in.p; /* it is only read */
    stream->avail_in = (uInt)in.n;
    stream->next_out = (Bytef *)(out->data + out->len);
    stream->avail_out = (uInt)room;
    if (deflate(stream, Z_FINISH) != Z_STREAM_END)
        return SR_ELIMIT;
    out->len += room - stream->avail_out;
    return SR_OK;
}

int sr_gzip(struct sr_bytes in, struct sr_buf *out)
{
    z_stream stream = {0};
    if (in.n > INPUT_MAX)
        return SR_ELIMIT;
    if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return SR_ENOMEM;
    int rc = compress_into(&stream, in, out);
    deflateEnd(&stream);
    return rc;
}

/* ---- codings ---- */

enum sr_coding sr_coding_of(struct sr_bytes value)
{
    value = sr_bytes_trim(value);
    if (value.n == 0 || sr_bytes_eq_nocase(value, SR_LIT("identity")))
        return SR_CODING_NONE;
    if (sr_bytes_eq_nocase(value, SR_LIT("gzip")) || sr_bytes_eq_nocase(value, SR_LIT("x-gzip")))
        return SR_CODING_GZIP;
    return sr_bytes_eq_nocase(value, SR_LIT("deflate")) ? SR_CODING_DEFLATE : SR_CODING_OTHER;
}

enum sr_coding sr_coding_with(enum sr_coding before, struct sr_bytes value)
{
    enum sr_coding coding = sr_coding_of(value);
    if (before == SR_CODING_NONE)
        return coding;
    return coding == SR_CODING_NONE ? before : SR_CODING_OTHER;
}

/* ---- decompression ---- */

struct sr_inflate {
    z_stream stream;
    enum sr_coding coding;
    bool begun, ended; /* bytes have come; the last of them ended a member */
    uint64_t came, made;
    char out[SR_INFLATE_PIECE];
};

/* NULL for what overflows, as calloc. */
static void *take_memory(void *ctx, unsigned count, unsigned size)
{
    (void)ctx;
    return sr_mem_calloc(count, size);
}

static void give_memory(void *ctx, void *p)
{
    (void)ctx;
    sr_mem_free(p);
}

int sr_inflate_new(struct sr_inflate **out, enum sr_coding coding)
{
    struct sr_inflate *z = sr_mem_calloc(1, sizeof *z);
    *out = NULL;
    if (!z)
        return SR_ENOMEM;
    z->coding = coding;
    z->stream.zalloc = take_memory;
    z->stream.zfree = give_memory;
    if (inflateInit2(&z->stream, coding == SR_CODING_GZIP ? WINDOW : MAX_WBITS) != Z_OK) {
        sr_mem_free(z);
        return SR_ENOMEM;
    }
    *out = z;
    return SR_OK;
}

void sr_inflate_free(struct sr_inflate *z)
{
    if (!z)
        return;
    inflateEnd(&z->stream);
    sr_mem_free(z);
}

bool sr_inflate_is_whole(const struct sr_inflate *z)
{
    return z->ended || !z->begun;
}

/* A member has ended and bytes follow: of gzip another member. */
static int begin_member(struct sr_inflate *z)
{
    if (z->coding != SR_CODING_GZIP || inflateReset(&z->stream) != Z_OK)
        return SR_EPARSE;
    z->ended = false;
    return SR_OK;
}

int sr_inflate_next(struct sr_inflate *z, struct sr_bytes *in, struct sr_bytes *out)
{
    z_stream *s = &z->stream;
    size_t given = in->n < INPUT_MAX ? in->n : INPUT_MAX;
    *out = (struct sr_bytes){z->out, 0};
    if (z->ended && given && begin_member(z))
        return SR_EPARSE;
    if (z->ended)
        return SR_MORE;
    z->begun |= given > 0;
    s->next_in = (Bytef *)(uintptr_t)in->p; /* it is only read */
    s->avail_in = (uInt)given;
    s->next_out = (Bytef *)z->out;
    s->avail_out = (uInt)sizeof z->out;
    int rc = inflate(s, Z_NO_FLUSH);
    size_t used = given - s->avail_in;
    out->n = sizeof z->out - s->avail_out;
    *in = sr_bytes_of(in->p + used, in->n - used);
    z->came += used;
    z->made += out->n;
    z->ended = rc == Z_STREAM_END;
    if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
        return rc == Z_MEM_ERROR ? SR_ENOMEM : SR_EPARSE;
    if (z->made > SR_INFLATE_FREE && z->made / SR_INFLATE_RATIO > z->came)
        return SR_ELIMIT;
    return in->n || out->n == sizeof z->out ? SR_OK : SR_MORE;
}
