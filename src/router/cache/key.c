/* Finds the question, and hashes parts. */
#include "router/cache/key.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/version.h"
#include "router/request/walk.h"

#include <stdlib.h>

#define QUESTION_MARK "\x01" /* occurs in no JSON text */

/* Members of a request that cannot change the answer: whose it is, how its usage is told. */
static const char *const aside[] = {"metadata",          "prompt_cache_key", "request_id",
                                    "safety_identifier", "stream_options",   "user"};

/* ---- the question ---- */

/* The content of the last user message, or the prompt; SR_SPAN_NONE without one. */
static uint32_t question_span(const struct sr_request *doc)
{
    uint32_t prompt = doc->at.prompt;
    if (doc->dialect->has_messages || sr_request_turns(doc) != SR_SPAN_NONE)
        return sr_request_last_turn(doc);
    return prompt != SR_SPAN_NONE && doc->spans[prompt].kind == SR_JSON_STRING ? prompt : SR_SPAN_NONE;
}

static size_t count_texts(const struct sr_request *doc, uint32_t container)
{
    size_t n = 0, end = doc->spans[container].end;
    for (size_t i = container; (i = sr_walk_text(doc, i, end, SR_TEXTS_CONTENT)) < doc->n_spans; i++)
        n++;
    return n;
}

/* Joins the decoded parts by a space. */
static struct sr_bytes join_parts(const struct sr_bytes *parts, size_t n, struct sr_arena *arena)
{
    size_t size = n - 1;
    if (n == 1)
        return parts[0];
    for (size_t i = 0; i < n; i++)
        size += parts[i].n;
    char *text = sr_arena_alloc(arena, size + 1), *at = text;
    for (size_t i = 0; text && i < n; i++) {
        if (i)
            *at++ = ' ';
        memcpy(at, parts[i].p, parts[i].n);
        at += parts[i].n;
    }
    return sr_bytes_of(text, size);
}

int sr_question_read(const struct sr_request *doc, struct sr_arena *arena, struct sr_question *out)
{
    uint32_t container = question_span(doc);
    size_t n = container == SR_SPAN_NONE ? 0 : count_texts(doc, container), at = 0;
    *out = (struct sr_question){.text = SR_LIT("")};
    if (!n)
        return SR_OK;
    struct sr_question_place *places = sr_arena_calloc(arena, n, sizeof *places);
    struct sr_bytes *parts = sr_arena_calloc(arena, n, sizeof *parts);
    if (!places || !parts)
        return SR_ENOMEM;
    size_t end = doc->spans[container].end;
    for (size_t i = container; (i = sr_walk_text(doc, i, end, SR_TEXTS_CONTENT)) < doc->n_spans; i++, at++) {
        const struct sr_span *span = &doc->spans[i];
        places[at] = (struct sr_question_place){span->start + 1, span->end - 1};
        parts[at] = sr_span_text(span, doc->body, arena);
        if (!parts[at].p)
            return SR_ENOMEM;
    }
    out->text = join_parts(parts, n, arena);
    out->places = places;
    out->parts = parts;
    out->n = n;
    return out->text.p ? SR_OK : SR_ENOMEM;
}

/* ---- keys ---- */

/* Adds what a text takes with its length and `more` bytes; false: there is no such size. */
static bool add_size(size_t *size, struct sr_bytes text, size_t more)
{
    return !__builtin_add_overflow(*size, more + sizeof(uint64_t), size) &&
           !__builtin_add_overflow(*size, text.n, size);
}

static char *put_text(char *at, struct sr_bytes text)
{
    uint64_t length = text.n;
    memcpy(at, &length, sizeof length);
    at += sizeof length;
    if (length)
        memcpy(at, text.p, length);
    return at + length;
}

int sr_key_of(const struct sr_key_part *parts, size_t n, struct sr_arena *arena, struct sr_cache_key *out)
{
    size_t size = 1;
    for (size_t i = 0; i < n; i++)
        if (!parts[i].value.p || !add_size(&size, parts[i].value, strlen(parts[i].name) + 1))
            return SR_ENOMEM;
    char *text = sr_arena_alloc(arena, size), *at = text;
    if (!text)
        return SR_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        size_t name = strlen(parts[i].name) + 1;
        memcpy(at, parts[i].name, name);
        at = put_text(at + name, parts[i].value);
    }
    return sr_sha256(sr_bytes_of(text, size - 1), out->bytes);
}

struct sr_bytes sr_key_texts(const struct sr_bytes *texts, size_t n, struct sr_arena *arena)
{
    size_t size = 1;
    for (size_t i = 0; i < n; i++)
        if (!add_size(&size, texts[i], 0))
            return sr_bytes_of(NULL, 0);
    char *text = sr_arena_alloc(arena, size), *at = text;
    for (size_t i = 0; text && i < n; i++)
        at = put_text(at, texts[i]);
    return sr_bytes_of(text, text ? size - 1 : 0);
}

/* The models that a client's key lists: another list may lead to another model. */
static struct sr_bytes models_of(const struct sr_identity *identity, struct sr_arena *arena)
{
    size_t n = identity->key ? identity->key->models.count : 0;
    struct sr_bytes *names = sr_arena_calloc(arena, n + 1, sizeof *names);
    if (!names)
        return sr_bytes_of(NULL, 0);
    for (size_t i = 0; i < n; i++)
        names[i] = sr_bytes_str(identity->key->models.items[i]);
    return sr_key_texts(names, n, arena);
}

int sr_key_of_request(const struct sr_key_request *in, struct sr_arena *arena, struct sr_cache_key *out)
{
    const struct sr_identity *id = in->identity;
    struct sr_key_part parts[] = {
        {"version", sr_bytes_str(sr_version_text)},
        {"epoch", sr_bytes_str(in->epoch)},
        {"profile", sr_bytes_str(in->profile)},
        {"tenant", id->tenant},
        {"user", id->user},
        {"team", id->team},
        {"groups", sr_key_texts(id->groups, id->n_groups, arena)},
        {"models", models_of(id, arena)},
        {"anonymous", id->anonymous ? SR_LIT("1") : SR_LIT("0")},
        {"target", in->target},
        {"body", in->body},
        {"stream", in->streams ? SR_LIT("1") : SR_LIT("0")},
        {"workload", in->workload},
        {"session", in->session},
        {"conversation", in->conversation},
        {"versions", in->versions},
    };
    return sr_key_of(parts, sizeof parts / sizeof parts[0], arena, out);
}

static bool is_aside(struct sr_bytes key, struct sr_bytes value)
{
    if (sr_bytes_eq(key, SR_LIT("stream")) && sr_bytes_eq(value, SR_LIT("false")))
        return true;
    for (size_t i = 0; i < sizeof aside / sizeof aside[0]; i++)
        if (sr_bytes_eq(key, sr_bytes_str(aside[i])))
            return true;
    return false;
}

/* Is there an escape of four digits at p, whose first two are `d` and one of `second`? */
static bool is_surrogate(const char *p, const char *end, const char *second)
{
    return end - p >= 6 && p[0] == '\\' && p[1] == 'u' && (p[2] | 0x20) == 'd' && strchr(second, p[3] | 0x20);
}

/* Writes a character of a string as all clients would: control characters have their short form or four
 * digits in lower case, quotes and backslashes their escape, all others are themselves. */
static char *put_char(char *out, const char *decoded, size_t n)
{
    static const char hex[] = "0123456789abcdef", shorts[] = "\b\t\n\f\r", letters[] = "btnfr";
    unsigned char c = (unsigned char)decoded[0];
    if (c == '"' || c == '\\' || c < ' ')
        *out++ = '\\';
    if (c >= ' ') {
        memcpy(out, decoded, n);
        return out + n;
    }
    const char *letter = memchr(shorts, c, sizeof shorts - 1);
    if (letter) {
        *out++ = letters[letter - shorts];
        return out;
    }
    memcpy(out, "u00", 3);
    out[3] = hex[c >> 4];
    out[4] = hex[c & 15];
    return out + 5;
}

/* Copies the escape at body.p[*at] in its one form, which is never longer; *at is after it then. Half of a
 * surrogate pair is no character: it stays an escape. */
static char *put_escape(struct sr_bytes body, size_t *at, char *out)
{
    const char *p = body.p + *at, *end = body.p + body.n;
    bool high = is_surrogate(p, end, "89ab"), low = is_surrogate(p, end, "cdef"), wide = false;
    char decoded[12];
    size_t n = p[1] == 'u' ? 6 : 2;
    if (high && is_surrogate(p + 6, end, "cdef")) {
        n = 12;
        wide = true;
    }
    *at += n;
    if ((high || low) && !wide) {
        for (size_t i = 0; i < n; i++)
            *out++ = sr_ascii_lower(p[i]);
        return out;
    }
    size_t size;
    (void)sr_json_unescape_part(sr_bytes_of(p, n), true, decoded, &size);
    return put_char(out, decoded, size);
}

/* A value without the white space outside of its strings, and without the question; in place of `out`, which
 * has room for `raw`. Returns the end. */
static char *compact(const struct sr_question *question, size_t *next, struct sr_bytes body, size_t at,
                     size_t end, char *out)
{
    bool quoted = false;
    while (at < end) {
        if (*next < question->n && at == question->places[*next].start) {
            at = question->places[*next].end;
            (*next)++;
            *out++ = QUESTION_MARK[0];
            continue;
        }
        char c = body.p[at++];
        if (!quoted && (c == ' ' || c == '\t' || c == '\r' || c == '\n'))
            continue;
        if (c == '\\') {
            at--;
            out = put_escape(body, &at, out);
            continue;
        }
        *out++ = c;
        if (c == '"')
            quoted = !quoted;
    }
    return out;
}

struct member {
    struct sr_bytes key;
    const struct sr_span *span;
};

static int by_key(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    int order = sr_bytes_cmp(x->key, y->key);
    return order ? order : (x->span->start > y->span->start) - (x->span->start < y->span->start);
}

/* The members that count, sorted; NULL when out of memory. */
static struct member *members_of(const struct sr_request *doc, struct sr_arena *arena, size_t *n)
{
    size_t count = 0;
    for (size_t i = 0; i < doc->n_spans; i++)
        count += sr_request_is_top(&doc->spans[i]);
    struct member *members = sr_arena_calloc(arena, count + 1, sizeof *members);
    *n = 0;
    for (size_t i = 0; members && i < doc->n_spans; i++) {
        if (!sr_request_is_top(&doc->spans[i]))
            continue;
        struct sr_bytes key = sr_request_key(doc, &doc->spans[i], arena);
        if (!key.p)
            return NULL;
        if (!is_aside(key, sr_span_raw(&doc->spans[i], doc->body)))
            members[(*n)++] = (struct member){key, &doc->spans[i]};
    }
    if (members)
        qsort(members, *n, sizeof *members, by_key);
    return members;
}

struct sr_bytes sr_key_body(const struct sr_request *doc, const struct sr_question *question,
                            struct sr_arena *arena)
{
    size_t n, size = 0;
    struct member *members = members_of(doc, arena, &n);
    for (size_t i = 0; members && i < n; i++)
        size += members[i].key.n + 2 + members[i].span->end - members[i].span->start + question->n;
    char *text = members ? sr_arena_alloc(arena, size + 1) : NULL, *at = text;
    for (size_t i = 0; text && i < n; i++) {
        const struct sr_span *span = members[i].span;
        size_t next = 0;
        memcpy(at, members[i].key.p, members[i].key.n);
        at += members[i].key.n;
        *at++ = '\0';
        while (next < question->n && question->places[next].start < span->start)
            next++;
        at = compact(question, &next, doc->body, span->start, span->end, at);
        *at++ = '\0';
    }
    return sr_bytes_of(text, text ? (size_t)(at - text) : 0);
}

struct sr_bytes sr_key_edits(struct sr_bytes body, const struct sr_bytes *slices, size_t n,
                             struct sr_arena *arena)
{
    size_t size = sizeof(uint64_t), kept = 0;
    for (size_t i = 0; i < n; i++) {
        bool own = slices[i].p >= body.p && slices[i].p < body.p + body.n;
        kept += own ? slices[i].n : 0;
        size += own ? 0 : slices[i].n + sizeof(uint64_t);
    }
    char *text = sr_arena_alloc(arena, size), *at = text;
    if (!text)
        return sr_bytes_of(NULL, 0);
    uint64_t gone = body.n - kept;
    memcpy(at, &gone, sizeof gone);
    at += sizeof gone;
    for (size_t i = 0; i < n; i++) {
        uint64_t length = slices[i].n;
        if (slices[i].p >= body.p && slices[i].p < body.p + body.n)
            continue;
        memcpy(at, &length, sizeof length);
        memcpy(at + sizeof length, slices[i].p, slices[i].n);
        at += sizeof length + slices[i].n;
    }
    return sr_bytes_of(text, size);
}
