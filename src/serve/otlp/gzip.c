/* One call: the room is asked for before. */
#include "serve/otlp/gzip.h"

#include <stdint.h>
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
