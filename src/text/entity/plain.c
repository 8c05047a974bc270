/* Copies rows character by character; beside the row only digits and marks change. */
#include "text/entity/plain.h"

#include "base/utf8.h"

#define DIGITS_MIN ((size_t)5)
#define SINGLE_MIN ((size_t)7) /* digits that are written one by one */
#define BEFORE     ((size_t)64)
#define BEHIND     ((size_t)16)

static void put(struct sr_plain *out, size_t from, size_t to, const char *p, size_t n)
{
    for (size_t i = 0; i < n && out->n < SR_PLAIN_MAX; i++) {
        out->text[out->n] = p[i];
        out->from[out->n] = from;
        out->to[out->n++] = to;
    }
}

/* Copies [at, end) with digits and marks in ASCII. */
static void copy(struct sr_bytes text, size_t at, size_t end, struct sr_plain *out)
{
    for (size_t n; at < end; at += n) {
        enum sr_row_gap gap;
        int32_t cp;
        n = sr_utf8_decode(text, at, &cp);
        int digit = sr_row_digit(cp), mark = digit < 0 ? sr_row_mark(cp, &gap) : '0' + digit;
        char one = (char)mark;
        if (mark > 0 && cp >= 0x80)
            put(out, at, at + n, &one, 1);
        else if (mark != 0)
            put(out, at, at + n, text.p + at, n);
    }
}

/* All gaps are of one kind and mark, and all groups but one of these sizes: "1", "334", "1334", "324". */
static bool is_of(const struct sr_row *row, const char *sizes)
{
    size_t n = strlen(sizes);
    for (size_t i = 0; i < row->n; i++) {
        const struct sr_row_group *group = &row->groups[i];
        if (group->n != (size_t)(sizes[i < n ? i : n - 1] - '0'))
            return false;
        if (i + 1 < row->n && (group->gap != row->groups[0].gap || group->mark != row->groups[0].mark))
            return false;
    }
    return n == 1 || row->n == n;
}

/* Copies the groups with `gap` between them. */
static void join(struct sr_bytes text, const struct sr_row *row, const char *gap, struct sr_plain *out)
{
    for (size_t i = 0; i < row->n; i++) {
        const struct sr_row_group *group = &row->groups[i];
        copy(text, group->start, group->end, out);
        if (i + 1 < row->n)
            put(out, group->end, row->groups[i + 1].start, gap, strlen(gap));
    }
}

/* Where a sign or a bracket that belongs to the row begins. */
static size_t begin_of(struct sr_bytes text, size_t at)
{
    for (int i = 0; i < 2 && at > 0; i++) {
        enum sr_row_gap gap;
        int32_t cp;
        size_t n = sr_utf8_decode_before(text, at, &cp);
        int mark = sr_row_mark(cp, &gap);
        if (mark != '+' && mark != '(' && mark != ' ')
            break;
        at -= n;
    }
    return at;
}

bool sr_plain_copy(struct sr_bytes text, const struct sr_row *row, struct sr_plain *out)
{
    size_t start = row->groups[0].start, end = row->groups[row->n - 1].end, begin = begin_of(text, start);
    bool single = row->n >= SINGLE_MIN && !row->cut && is_of(row, "1");
    bool marked = row->n > 2 && row->groups[0].gap >= SR_GAP_SLASH &&
                  (is_of(row, "334") || is_of(row, "1334") || is_of(row, "324"));
    bool foreign = row->foreign;
    for (size_t i = begin; i < start; i++)
        foreign |= (unsigned char)text.p[i] >= 0x80;
    if (row->n_digits < DIGITS_MIN || !(foreign || single || marked))
        return false;
    size_t before = begin > BEFORE ? begin - BEFORE : 0;
    while (before < begin && sr_utf8_is_tail(text.p[before]))
        before++;
    out->n = 0;
    out->least = single ? 0.85f : marked ? 0.95f : 0;
    copy(text, before, begin, out);
    out->row = out->n;
    copy(text, begin, start, out);
    if (single || marked)
        join(text, row, single ? "" : ".", out);
    else
        copy(text, start, end, out);
    copy(text, end, text.n - end > BEHIND ? end + BEHIND : text.n, out);
    return true;
}
