/* Searches the end of one passage after the other, never further than SR_PASSAGE_MAX. */
#include "text/passages.h"

#include "base/utf8.h"

#define NONE SIZE_MAX

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* Behind the first blank line that begins in [at, end). */
static size_t paragraph_end(struct sr_bytes text, size_t at, size_t end)
{
    for (; at < end; at++) {
        if (text.p[at] != '\n')
            continue;
        size_t to = at + 1;
        while (to < end && text.p[to] != '\n' && is_space(text.p[to]))
            to++;
        if (to < end && text.p[to] == '\n')
            return to + 1;
    }
    return NONE;
}

static size_t line_end(struct sr_bytes text, size_t at, size_t end)
{
    for (; at < end; at++)
        if (text.p[at] == '\n')
            return at + 1;
    return NONE;
}

static bool is_wide_stop(struct sr_bytes rest)
{
    return sr_bytes_starts_with(rest, SR_LIT("\u3002")) || sr_bytes_starts_with(rest, SR_LIT("\uff01")) ||
           sr_bytes_starts_with(rest, SR_LIT("\uff1f"));
}

static size_t sentence_end(struct sr_bytes text, size_t at, size_t end)
{
    for (; at < end; at++) {
        char c = text.p[at];
        if ((c == '.' || c == '!' || c == '?') && at + 1 < end && is_space(text.p[at + 1]))
            return at + 1;
        if (is_wide_stop(sr_bytes_of(text.p + at, end - at)))
            return at + 3;
    }
    return NONE;
}

bool sr_passage_next(struct sr_bytes text, size_t *at, struct sr_passage *out)
{
    size_t start = *at, end;
    while (start < text.n && is_space(text.p[start]))
        start++;
    if (start == text.n)
        return false;
    size_t limit = text.n - start < SR_PASSAGE_MAX ? text.n : start + SR_PASSAGE_MAX;
    end = paragraph_end(text, start + SR_PASSAGE_LEAST, limit);
    if (end == NONE && limit == text.n)
        end = limit;
    if (end == NONE)
        end = line_end(text, start + SR_PASSAGE_LEAST, limit);
    if (end == NONE)
        end = sentence_end(text, start + SR_PASSAGE_SENTENCE, limit);
    if (end == NONE)
        for (end = limit; end > start + 1 && limit - end < 4 && sr_utf8_is_tail(text.p[end]);)
            end--;
    *out = (struct sr_passage){start, end};
    *at = end;
    return true;
}
