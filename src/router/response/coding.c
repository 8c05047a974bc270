/* Undoes the content coding of an answer, call by call. */
#include "router/response/coding.h"

void sr_answer_coding_init(struct sr_answer_coding *c)
{
    *c = (struct sr_answer_coding){.inflate = NULL};
    sr_buf_init(&c->plain, SR_ANSWER_PLAIN_MAX);
}

void sr_answer_coding_dispose(struct sr_answer_coding *c)
{
    sr_inflate_free(c->inflate);
    sr_buf_dispose(&c->plain);
    c->inflate = NULL;
}

void sr_answer_coding_begin(struct sr_answer_coding *c, enum sr_coding coding, bool required)
{
    bool known = coding == SR_CODING_GZIP || coding == SR_CODING_DEFLATE;
    sr_answer_coding_dispose(c);
    c->failed = (known && sr_inflate_new(&c->inflate, coding)) || coding == SR_CODING_OTHER;
    c->failed &= required;
    c->unknown = c->failed;
    c->told = false;
}

int sr_answer_coding_undo(struct sr_answer_coding *c, struct sr_bytes *in, bool last)
{
    struct sr_bytes piece;
    int rc = SR_OK;
    if (c->failed)
        return SR_EPARSE;
    if (!c->inflate)
        return SR_OK;
    sr_buf_clear(&c->plain);
    while (rc == SR_OK) {
        rc = sr_inflate_next(c->inflate, in, &piece);
        if ((rc == SR_OK || rc == SR_MORE) && sr_buf_append_bytes(&c->plain, piece))
            rc = SR_ENOMEM;
    }
    c->failed = rc != SR_MORE || (last && !sr_inflate_is_whole(c->inflate));
    *in = sr_buf_view(&c->plain);
    return c->failed ? SR_EPARSE : SR_OK;
}
