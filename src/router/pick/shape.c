/* Counts bytes and looks at a few members. What is attached is a long string of base64 behind `data:...,`, or
 * the value of a key `data`: the APIs have it in no other place. */
#include "router/pick/shape.h"

#define ATTACHED_MIN 2048 /* bytes of a string that may be base64 */
#define PREFIX_MAX   256  /* of `data:...,` */
#define TOKENS_MAX   4000000

static bool is_base64(unsigned char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/' || c == '=' || c == '-' || c == '_' || c == '\\';
}

/* Is the string that begins at `at` the value of a key `data`? */
static bool is_data(struct sr_bytes raw, size_t at)
{
    struct sr_bytes key = SR_LIT("\"data\"");
    size_t colons = 0;
    while (at > 0 && (raw.p[at - 1] == ' ' || raw.p[at - 1] == '\n' || raw.p[at - 1] == '\r' ||
                      raw.p[at - 1] == '\t' || (raw.p[at - 1] == ':' && colons++ == 0)))
        at--;
    return colons && at > key.n && raw.p[at - key.n - 1] != '\\' &&
           memcmp(raw.p + at - key.n, key.p, key.n) == 0;
}

/* Does the string that begins at `at`, with this content of at least ATTACHED_MIN bytes, carry bytes? */
static bool is_attached(struct sr_bytes raw, size_t at, struct sr_bytes text)
{
    size_t i = 0;
    if (sr_bytes_starts_with(text, SR_LIT("data:"))) {
        const char *comma = memchr(text.p, ',', PREFIX_MAX);
        i = comma ? (size_t)(comma - text.p) + 1 : 0;
    } else if (!is_data(raw, at)) {
        return false;
    }
    while (i < text.n && is_base64((unsigned char)text.p[i]))
        i++;
    return i == text.n;
}

/* The end of the string that begins at `at`, behind its quote. The body is valid JSON. */
static size_t string_end(struct sr_bytes raw, size_t at)
{
    for (size_t i = at + 1; i < raw.n;) {
        const char *quote = memchr(raw.p + i, '"', raw.n - i);
        size_t end = quote ? (size_t)(quote - raw.p) : raw.n, escapes = 0;
        while (end - escapes > at + 1 && raw.p[end - escapes - 1] == '\\')
            escapes++;
        if (escapes % 2 == 0)
            return end < raw.n ? end + 1 : raw.n;
        i = end + 1;
    }
    return raw.n;
}

/* The JSON of one part of the prompt. */
static void count(struct sr_shape *shape, struct sr_bytes raw)
{
    shape->bytes += raw.n;
    for (size_t at = 0; at < raw.n;) {
        const char *quote = memchr(raw.p + at, '"', raw.n - at);
        if (!quote)
            break;
        at = (size_t)(quote - raw.p);
        size_t end = string_end(raw, at);
        if (end - at >= ATTACHED_MIN + 2 && is_attached(raw, at, sr_bytes_of(raw.p + at + 1, end - at - 2))) {
            shape->attachments++;
            shape->bytes -= end - at;
        }
        at = end;
    }
}

/* A number of the body; 0: it is none. */
static uint64_t number_of(struct sr_bytes raw)
{
    uint64_t value = 0;
    for (size_t i = 0; i < raw.n && raw.p[i] >= '0' && raw.p[i] <= '9' && value < TOKENS_MAX; i++)
        value = value * 10 + (uint64_t)(raw.p[i] - '0');
    return value < TOKENS_MAX ? value : TOKENS_MAX;
}

static void look_at(struct sr_shape *shape, const struct sr_request *doc, const struct sr_span *span)
{
    struct sr_bytes raw = sr_span_raw(span, doc->body);
    switch (span->id) {
    case SR_AT_TOOLS:
        shape->has_tools |= span->kind == SR_JSON_ARRAY && raw.n > 2;
        count(shape, raw);
        break;
    case SR_AT_SYSTEM:
    case SR_AT_MESSAGES:
    case SR_AT_PROMPT:
        count(shape, raw);
        break;
    case SR_AT_MAX_TOKENS:
    case SR_AT_MAX_COMPLETION_TOKENS:
    case SR_AT_MAX_OUTPUT_TOKENS:
        shape->most = span->kind == SR_JSON_NUMBER && number_of(raw) ? number_of(raw) : shape->most;
        break;
    case SR_AT_SERVICE_TIER:
        shape->may_wait = sr_bytes_eq(raw, SR_LIT("\"flex\""));
        break;
    default:
        break;
    }
}

struct sr_shape sr_shape_of(const struct sr_request *doc)
{
    struct sr_shape shape = {0};
    for (size_t i = 0; i < doc->n_spans; i++)
        if (sr_request_is_top(&doc->spans[i]) && !(doc->spans[i].flags & SR_SPAN_OPEN))
            look_at(&shape, doc, &doc->spans[i]);
    return shape;
}

struct sr_bytes sr_shape_metadata(const struct sr_request *doc, const char *key, struct sr_arena *arena)
{
    for (size_t i = 0; i < doc->n_spans && key[0]; i++) {
        const struct sr_span *span = &doc->spans[i];
        if (span->id != SR_AT_METADATA_ITEM || span->kind != SR_JSON_STRING ||
            !sr_bytes_eq(sr_request_key(doc, span, arena), sr_bytes_str(key)))
            continue;
        struct sr_bytes raw = sr_span_raw(span, doc->body);
        return raw.n > 2 ? sr_bytes_of(raw.p + 1, raw.n - 2) : SR_LIT("");
    }
    return SR_LIT("");
}
