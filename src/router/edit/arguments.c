/* A run is what a string says, or a number or word outside of strings: structure is never replaced. */
#include "router/edit/arguments.h"

#include "base/json_read.h"

void sr_arguments_read(struct sr_arguments *arguments, struct sr_bytes text)
{
    sr_json_view root;
    if (arguments->text.p == text.p && arguments->text.n == text.n)
        return;
    *arguments = (struct sr_arguments){.text = text};
    arguments->is_json = sr_json_view_open(&root, text, NULL) == SR_OK &&
                         (sr_json_view_is_object(root) || sr_json_view_is_array(root));
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static bool is_structure(char c)
{
    return c == '[' || c == ']' || c == '{' || c == '}' || c == ':';
}

/* Bytes of the character or the escape at `at`, inside a string. */
static size_t character(struct sr_bytes text, size_t at)
{
    return text.p[at] != '\\' ? 1 : text.p[at + 1] == 'u' ? 6 : 2;
}

/* True for an escape that stands for white space. */
static bool is_blank_escape(struct sr_bytes text, size_t at)
{
    char c = text.p[at] == '\\' ? text.p[at + 1] : '\0';
    return c == 'n' || c == 'r' || c == 't' || c == 'f' || c == 'b';
}

/* Takes what the string that is being read says in [start, end); false where that is nothing. */
static bool take_content(struct sr_arguments *a, size_t start, size_t end, struct sr_arguments_piece *out)
{
    while (a->at < start && a->text.p[a->at] != '"') {
        size_t n = character(a->text, a->at);
        if (a->at + n > start && !is_blank_escape(a->text, a->at))
            break; /* the range cuts this escape */
        a->at += n;
    }
    out->start = a->at;
    while (a->at < end && a->text.p[a->at] != '"')
        a->at += character(a->text, a->at);
    out->end = a->at;
    out->open = out->close = false;
    return out->end > out->start;
}

/* Takes a number or a word; false where it ends before `start`. */
static bool take_word(struct sr_arguments *a, size_t start, struct sr_arguments_piece *out)
{
    out->start = a->at;
    while (a->at < a->text.n && !is_blank(a->text.p[a->at]) && !is_structure(a->text.p[a->at]) &&
           a->text.p[a->at] != ',')
        a->at++;
    out->end = a->at;
    out->open = out->close = true;
    return out->end > start;
}

/* The next run of [start, end). `apart`: structure stands before it. */
static bool next_run(struct sr_arguments *a, size_t start, size_t end, struct sr_arguments_piece *out,
                     bool *apart)
{
    *apart = false;
    while (a->at < end) {
        char c = a->text.p[a->at];
        if (c == '"') {
            a->inside = !a->inside;
            a->at++;
        } else if (a->inside) {
            if (take_content(a, start, end, out))
                return true;
        } else if (is_blank(c) || is_structure(c) || c == ',') {
            *apart |= is_structure(c);
            a->at++;
        } else if (take_word(a, start, out)) {
            return true;
        }
    }
    return false;
}

/* True when the reading is in or behind a key. */
static bool is_key(struct sr_arguments a)
{
    while (a.inside && a.text.p[a.at] != '"')
        a.at += character(a.text, a.at);
    a.at += a.inside;
    while (a.at < a.text.n && is_blank(a.text.p[a.at]))
        a.at++;
    return a.at < a.text.n && a.text.p[a.at] == ':';
}

bool sr_arguments_next(struct sr_arguments *arguments, size_t *start, size_t end,
                       struct sr_arguments_piece *out)
{
    if (*start >= end)
        return false;
    if (!arguments->is_json) {
        *out = (struct sr_arguments_piece){*start, end, false, false};
        *start = end;
        return true;
    }
    if (arguments->at > *start) {
        arguments->at = 0;
        arguments->inside = false;
    }
    bool apart;
    if (!next_run(arguments, *start, end, out, &apart))
        return false;
    struct sr_arguments ahead = *arguments;
    struct sr_arguments_piece more;
    while (next_run(&ahead, *start, end, &more, &apart) && !apart && !is_key(ahead)) {
        out->end = more.end;
        out->close = more.close;
        *arguments = ahead;
    }
    *start = out->end;
    return true;
}
