/* A string at depth 1 that is followed by a colon is a name; the list after the name `tokens` counts. */
#include "serve/gateway/tokenize_text.h"

#include "base/grow.h"
#include "base/mem.h"

#include <string.h>

static const char NAME[] = "tokens";

void sr_tokenize_text_init(struct sr_tokenize_text *text, size_t max)
{
    *text = (struct sr_tokenize_text){.max = max};
}

void sr_tokenize_text_dispose(struct sr_tokenize_text *text)
{
    sr_mem_free(text->ids);
    text->ids = NULL;
    text->n = text->cap = 0;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_tokens(const struct sr_tokenize_text *text)
{
    return text->named && text->depth == 1 && text->string_n == strlen(NAME) &&
           memcmp(text->string, NAME, strlen(NAME)) == 0;
}

static void outside(struct sr_tokenize_text *text, char c)
{
    if (c == '"') {
        text->state = SR_TOKENIZE_STRING;
        text->string_n = 0;
        text->named = false;
    } else if (c == ':') {
        text->named = true;
    } else if (c == '[' && is_tokens(text)) {
        text->state = SR_TOKENIZE_LIST;
    } else if (c == '{' || c == '[') {
        text->depth++;
        text->named = false;
    } else if (c == '}' || c == ']') {
        text->state = text->depth == 0 ? SR_TOKENIZE_BAD : SR_TOKENIZE_OUTSIDE;
        text->depth -= text->depth > 0;
    } else if (!is_space(c)) {
        text->named = false;
    }
}

static void in_string(struct sr_tokenize_text *text, char c)
{
    if (c == '\\')
        text->state = SR_TOKENIZE_ESCAPE;
    else if (c == '"')
        text->state = SR_TOKENIZE_OUTSIDE;
    if (c != '"') {
        if (text->string_n < sizeof text->string)
            text->string[text->string_n] = c;
        text->string_n++;
    }
}

static void add(struct sr_tokenize_text *text)
{
    bool good = text->number <= UINT32_MAX &&
                sr_grow(&text->ids, &text->cap, text->n + 1, sizeof *text->ids, text->max) == SR_OK;
    if (good)
        text->ids[text->n++] = (uint32_t)text->number;
    else
        text->state = SR_TOKENIZE_BAD;
    text->number = 0;
    text->has_number = false;
}

static void in_list(struct sr_tokenize_text *text, char c)
{
    if (c >= '0' && c <= '9') {
        text->number = text->number * 10 + (uint64_t)(c - '0');
        text->has_number = true;
        if (text->number > UINT32_MAX)
            text->state = SR_TOKENIZE_BAD;
    } else if (c == ',' || c == ']') {
        if (text->has_number)
            add(text);
        else if (c == ',' || text->n > 0)
            text->state = SR_TOKENIZE_BAD;
        if (c == ']' && text->state == SR_TOKENIZE_LIST)
            text->state = SR_TOKENIZE_DONE;
    } else if (!is_space(c)) {
        text->state = SR_TOKENIZE_BAD;
    }
}

void sr_tokenize_text_feed(struct sr_tokenize_text *text, struct sr_bytes slice)
{
    for (size_t i = 0; i < slice.n; i++) {
        switch (text->state) {
        case SR_TOKENIZE_OUTSIDE:
            outside(text, slice.p[i]);
            break;
        case SR_TOKENIZE_STRING:
            in_string(text, slice.p[i]);
            break;
        case SR_TOKENIZE_ESCAPE:
            text->state = SR_TOKENIZE_STRING;
            break;
        case SR_TOKENIZE_LIST:
            in_list(text, slice.p[i]);
            break;
        default:
            return;
        }
    }
}

bool sr_tokenize_text_finish(const struct sr_tokenize_text *text)
{
    return text->state == SR_TOKENIZE_DONE;
}
