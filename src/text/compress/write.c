/* The kept units as one text, with their separators. */
#include "text/compress/private.h"

/* The byte between a kept unit and the one before it, which ends at `before`. */
static char joint_of(const struct sr_compressor *c, size_t before, size_t start)
{
    if (c->settings.compat || start <= before)
        return ' ';
    for (size_t i = start; i > before; i--) {
        char byte = c->text.data[i - 1];
        if (byte == '\n')
            return '\n';
        if (byte != ' ' && byte != '\t' && byte != '\r')
            break;
    }
    return ' ';
}

int sr_compress_write(const sr_compressor *c, struct sr_buf *out)
{
    int rc = SR_OK;
    for (size_t i = 0; i < c->n_kept && rc == SR_OK; i++) {
        const struct sr_compress_unit *unit = &c->kept[i];
        if (i) {
            char joint = joint_of(c, c->kept[i - 1].end, unit->start);
            rc = sr_buf_append(out, &joint, 1);
        }
        if (rc == SR_OK)
            rc = sr_buf_append(out, c->text.data + unit->start, unit->end - unit->start);
    }
    return rc;
}
