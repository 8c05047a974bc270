/* Reads rows of digits: what a digit is, what a mark is, and where a row ends. */
#include "text/entity/row.h"

#include "base/unicode.h"
#include "base/utf8.h"

static int chinese_digit(int32_t cp)
{
    static const int32_t digits[] = {0x96F6, 0x4E00, 0x4E8C, 0x4E09, 0x56DB,
                                     0x4E94, 0x516D, 0x4E03, 0x516B, 0x4E5D};
    for (int i = 0; i < 10; i++)
        if (digits[i] == cp)
            return i;
    return -1;
}

/* Raised, lowered and circled digits, which Unicode does not count as decimal ones. */
static int styled_digit(int32_t cp)
{
    if (cp == 0xB9 || cp == 0x2070)
        return cp == 0xB9;
    if (cp == 0xB2 || cp == 0xB3)
        return cp - 0xB0;
    if (cp >= 0x2074 && cp <= 0x2079)
        return cp - 0x2070;
    if (cp >= 0x2080 && cp <= 0x2089)
        return cp - 0x2080;
    if (cp >= 0x2460 && cp <= 0x2468)
        return cp - 0x2460 + 1;
    if (cp >= 0x2776 && cp <= 0x277E)
        return cp - 0x2776 + 1;
    return cp == 0x24EA || cp == 0x24FF || cp == 0x3007 ? 0 : -1;
}

int sr_row_digit(int32_t cp)
{
    if (cp < 0x80)
        return cp >= '0' && cp <= '9' ? cp - '0' : -1;
    if (cp < 0x660 || (cp >= 0x2000 && cp < 0xA620))
        return cp >= 0x4E00 ? chinese_digit(cp) : styled_digit(cp);
    if ((cp >= 0xAC00 && cp < 0xFF00) || !(sr_unicode_kind(cp) & SR_UNICODE_DIGIT))
        return -1;
    if (cp >= 0x1D7CE && cp <= 0x1D7FF) /* five sets */
        return (cp - 0x1D7CE) % 10;
    /* All other sets begin at a code point whose last hexadecimal digit is 0 or 6. */
    return (sr_unicode_kind(cp & ~0xF) & SR_UNICODE_DIGIT) ? cp & 0xF : (cp & 0xF) - 6;
}

static bool is_hidden(int32_t cp)
{
    return cp == 0xAD || cp == 0x34F || cp == 0x61C || cp == 0x180E || (cp >= 0x200B && cp <= 0x200F) ||
           (cp >= 0x202A && cp <= 0x202E) || (cp >= 0x2060 && cp <= 0x206F) || cp == 0xFEFF ||
           (cp >= 0xFE00 && cp <= 0xFE0F) || cp == 0x20E3 || (cp >= 0x300 && cp <= 0x36F);
}

static int foreign_mark(int32_t cp, enum sr_row_gap *gap)
{
    static const struct {
        int32_t first, last;
        enum sr_row_gap gap;
        char plain;
    } marks[] = {
        {0x85, 0x85, SR_GAP_LINE, '\n'},      {0xA0, 0xA0, SR_GAP_SPACE, ' '},
        {0xB7, 0xB7, SR_GAP_DOT, '.'},        {0x1680, 0x1680, SR_GAP_SPACE, ' '},
        {0x2000, 0x200A, SR_GAP_SPACE, ' '},  {0x2010, 0x2015, SR_GAP_DASH, '-'},
        {0x2022, 0x2022, SR_GAP_DOT, '.'},    {0x2024, 0x2024, SR_GAP_DOT, '.'},
        {0x2027, 0x2027, SR_GAP_DOT, '.'},    {0x2028, 0x2029, SR_GAP_LINE, '\n'},
        {0x202F, 0x202F, SR_GAP_SPACE, ' '},  {0x2043, 0x2043, SR_GAP_DASH, '-'},
        {0x2044, 0x2044, SR_GAP_SLASH, '/'},  {0x205F, 0x205F, SR_GAP_SPACE, ' '},
        {0x2212, 0x2212, SR_GAP_DASH, '-'},   {0x2215, 0x2215, SR_GAP_SLASH, '/'},
        {0x2219, 0x2219, SR_GAP_DOT, '.'},    {0x22C5, 0x22C5, SR_GAP_DOT, '.'},
        {0x2500, 0x2503, SR_GAP_DASH, '-'},   {0x3000, 0x3000, SR_GAP_SPACE, ' '},
        {0x3001, 0x3001, SR_GAP_LIST, ','},   {0x3002, 0x3002, SR_GAP_DOT, '.'},
        {0x30FB, 0x30FB, SR_GAP_DOT, '.'},    {0x30FC, 0x30FC, SR_GAP_DASH, '-'},
        {0xFE58, 0xFE58, SR_GAP_DASH, '-'},   {0xFE63, 0xFE63, SR_GAP_DASH, '-'},
        {0xFF08, 0xFF08, SR_GAP_LIST, '('},   {0xFF09, 0xFF09, SR_GAP_LIST, ')'},
        {0xFF0B, 0xFF0B, SR_GAP_LIST, '+'},   {0xFF0C, 0xFF0C, SR_GAP_LIST, ','},
        {0xFF0D, 0xFF0D, SR_GAP_DASH, '-'},   {0xFF0E, 0xFF0E, SR_GAP_DOT, '.'},
        {0xFF0F, 0xFF0F, SR_GAP_SLASH, '/'},  {0xFF1A, 0xFF1B, SR_GAP_LIST, ':'},
        {0xFF3C, 0xFF3C, SR_GAP_SLASH, '\\'}, {0xFF3F, 0xFF3F, SR_GAP_UNDER, '_'},
        {0xFF5C, 0xFF5C, SR_GAP_SLASH, '|'},  {0xFF65, 0xFF65, SR_GAP_DOT, '.'},
    };
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (cp >= marks[i].first && cp <= marks[i].last) {
            *gap = marks[i].gap;
            return marks[i].plain;
        }
    *gap = SR_GAP_NONE;
    return is_hidden(cp) ? 0 : -1;
}

int sr_row_mark(int32_t cp, enum sr_row_gap *gap)
{
    if (cp >= 0x80)
        return foreign_mark(cp, gap);
    switch (cp) {
    case ' ':
    case '\t':
        *gap = SR_GAP_SPACE;
        return cp;
    case '-':
        *gap = SR_GAP_DASH;
        return cp;
    case '.':
        *gap = SR_GAP_DOT;
        return cp;
    case '/':
    case '\\':
    case '|':
        *gap = SR_GAP_SLASH;
        return cp;
    case '_':
        *gap = SR_GAP_UNDER;
        return cp;
    case '\n':
    case '\r':
        *gap = SR_GAP_LINE;
        return cp;
    default:
        *gap = SR_GAP_LIST;
        return cp > ' ' && strchr(",;:*+~='\"`#[](){}<>&", cp) ? cp : -1;
    }
}

/* Reads what stands between the last group and the next digit. False when none follows. */
static bool read_gap(struct sr_bytes text, size_t at, struct sr_row *row, size_t *next)
{
    struct sr_row_group *last = &row->groups[row->n - 1];
    enum sr_row_gap kind = SR_GAP_NONE, one;
    int32_t cp, mark = 0;
    bool foreign = false;
    for (size_t i = at, n, count = 0; i < text.n && count < SR_ROW_GAP; i += n) {
        n = sr_utf8_decode(text, i, &cp);
        if (sr_row_digit(cp) >= 0) {
            last->gap = kind;
            last->mark = mark;
            last->width = (uint32_t)count;
            row->foreign |= foreign;
            *next = i;
            return true;
        }
        int plain = sr_row_mark(cp, &one);
        if (plain < 0)
            return false;
        foreign |= cp >= 0x80;
        count += plain > 0;
        if (one > SR_GAP_SPACE) {
            kind = kind <= SR_GAP_SPACE || kind == one ? one : SR_GAP_LIST;
            mark = mark ? mark : cp;
        } else if (kind == SR_GAP_NONE) {
            kind = one;
        }
    }
    return false;
}

/* Reads the digits of one group. */
static size_t read_group(struct sr_bytes text, size_t at, struct sr_row *row)
{
    struct sr_row_group *group = &row->groups[row->n++];
    *group = (struct sr_row_group){.start = at, .end = at, .first = (uint32_t)row->n_digits};
    while (at < text.n) {
        int32_t cp;
        size_t n = sr_utf8_decode(text, at, &cp);
        int digit = sr_row_digit(cp);
        if (digit < 0)
            break;
        if (row->n_digits == SR_ROW_DIGITS) {
            row->cut = true;
            break;
        }
        row->digits[row->n_digits++] = (char)('0' + digit);
        row->foreign |= cp >= 0x80;
        group->n++;
        at += n;
        group->end = at;
    }
    return at;
}

bool sr_row_read(struct sr_bytes text, size_t at, struct sr_row *row)
{
    row->n = row->n_digits = 0;
    row->cut = row->joined = row->foreign = false;
    at = read_group(text, at, row);
    if (row->groups[0].n == 0)
        return false;
    for (size_t next; !row->cut && read_gap(text, at, row, &next);) {
        if (row->n == SR_ROW_GROUPS) {
            row->cut = true;
            break;
        }
        at = read_group(text, next, row);
    }
    row->groups[row->n - 1].gap = SR_GAP_NONE;
    return true;
}

/* ---- the ends of texts ---- */

/* True when only marks stand between one end of the text and a digit. */
static bool is_number_at(struct sr_bytes text, bool end)
{
    for (size_t at = end ? text.n : 0, n, count = 0; (end ? at > 0 : at < text.n) && count < SR_ROW_GAP;
         count++) {
        enum sr_row_gap gap;
        int32_t cp;
        n = end ? sr_utf8_decode_before(text, at, &cp) : sr_utf8_decode(text, at, &cp);
        if (sr_row_digit(cp) >= 0)
            return true;
        if (sr_row_mark(cp, &gap) < 0)
            return false;
        at = end ? at - n : at + n;
    }
    return false;
}

bool sr_entities_end_in_number(struct sr_bytes text)
{
    return is_number_at(text, true);
}

bool sr_entities_begin_with_number(struct sr_bytes text)
{
    return is_number_at(text, false);
}
