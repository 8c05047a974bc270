/* Searches the end of one passage after the other, never further than `most`. */
#include "text/passages.h"

#include "base/utf8.h"

#define NONE          SIZE_MAX
#define LINE_MOST     ((size_t)240) /* bytes, as in the form */
#define LINE_LEAST    ((size_t)40)
#define LINE_SENTENCE ((size_t)120)

const struct sr_passage_form sr_passage_paragraphs = {.most = 800, .least = 24, .sentence = 160};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

struct sr_passage_form sr_passage_lines(size_t bytes, size_t n)
{
    size_t least = larger(LINE_LEAST, bytes / (n - 1) + 1); /* which all have but the last */
    return (struct sr_passage_form){.most = larger(LINE_MOST, 2 * least),
                                    .least = least,
                                    .sentence = larger(LINE_SENTENCE, least),
                                    .lines = true};
}

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

bool sr_passage_next(struct sr_bytes text, const struct sr_passage_form *form, size_t *at,
                     struct sr_passage *out)
{
    size_t start = *at, end;
    while (start < text.n && is_space(text.p[start]))
        start++;
    if (start == text.n)
        return false;
    size_t limit = text.n - start < form->most ? text.n : start + form->most;
    end = (form->lines ? line_end : paragraph_end)(text, start + form->least, limit);
    if (limit == text.n && (end == NONE || (form->lines && text.n - end < form->least)))
        end = limit;
    if (end == NONE && !form->lines)
        end = line_end(text, start + form->least, limit);
    if (end == NONE)
        end = sentence_end(text, start + form->sentence, limit);
    if (end == NONE)
        for (end = limit; end > start + 1 && limit - end < 4 && sr_utf8_is_tail(text.p[end]);)
            end--;
    *out = (struct sr_passage){start, end};
    *at = end;
    return true;
}
