/* The bounded growing buffer. Grows by half, never beyond its maximum. */
#include "base/buf.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

void sr_buf_init(struct sr_buf *buf, size_t max)
{
    *buf = (struct sr_buf){.max = max < SIZE_MAX - 1 ? max : SIZE_MAX - 1};
}

void sr_buf_dispose(struct sr_buf *buf)
{
    sr_mem_free(buf->data);
    sr_buf_init(buf, buf->max);
}

int sr_buf_reserve(struct sr_buf *buf, size_t more)
{
    if (more > buf->max - buf->len)
        return SR_ELIMIT;
    size_t need = buf->len + more;
    if (buf->data && need <= buf->cap)
        return SR_OK;
    size_t cap = buf->cap + buf->cap / 2;
    if (cap < need)
        cap = need;
    if (cap < 64)
        cap = 64;
    if (cap > buf->max)
        cap = buf->max;
    char *data = sr_mem_realloc(buf->data, cap + 1);
    if (!data)
        return SR_ENOMEM;
    buf->data = data;
    buf->cap = cap;
    buf->data[buf->len] = 0;
    return SR_OK;
}

int sr_buf_append(struct sr_buf *buf, const void *p, size_t n)
{
    int rc = sr_buf_reserve(buf, n);
    if (rc)
        return rc;
    if (n)
        memcpy(buf->data + buf->len, p, n);
    buf->len += n;
    buf->data[buf->len] = 0;
    return SR_OK;
}

int sr_buf_append_bytes(struct sr_buf *buf, struct sr_bytes s)
{
    return sr_buf_append(buf, s.p, s.n);
}

int sr_buf_printf(struct sr_buf *buf, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    int rc = n < 0 ? SR_EINVAL : sr_buf_reserve(buf, (size_t)n);
    if (rc == SR_OK) {
        vsnprintf(buf->data + buf->len, (size_t)n + 1, fmt, again);
        buf->len += (size_t)n;
    }
    va_end(again);
    return rc;
}

static int append_escaped(struct sr_buf *buf, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
    const char *hit = c ? strchr(from, c) : NULL;
    if (hit) {
        char two[2] = {'\\', to[hit - from]};
        return sr_buf_append(buf, two, 2);
    }
    char six[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
    return sr_buf_append(buf, six, 6);
}

int sr_buf_append_json(struct sr_buf *buf, struct sr_bytes s)
{
    size_t run = 0, i = 0;
    int rc = SR_OK;
    while (i < s.n && rc == SR_OK) {
        unsigned char c = (unsigned char)s.p[i];
        size_t len = sr_utf8_sequence((const unsigned char *)s.p + i, s.n - i);
        if (len && c >= 0x20 && c != '"' && c != '\\' && c != 0x7F) {
            i += len;
            continue;
        }
        rc = sr_buf_append(buf, s.p + run, i - run);
        if (rc == SR_OK)
            rc = len ? append_escaped(buf, c) : sr_buf_append(buf, "\xEF\xBF\xBD", 3);
        run = ++i;
    }
    return rc ? rc : sr_buf_append(buf, s.p + run, i - run);
}

void sr_buf_consume(struct sr_buf *buf, size_t n)
{
    if (n == 0)
        return;
    memmove(buf->data, buf->data + n, buf->len - n);
    buf->len -= n;
    buf->data[buf->len] = 0;
}
