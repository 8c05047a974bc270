/* One pass over the messages, and one over the members beside them. */
#include "router/request/facts.h"

#include "base/utf8.h"

#define TYPE_MAX 32 /* bytes of the longest type that counts, with its quotes */

/* The text of a short string as it is written; empty for others. */
static struct sr_bytes word_of(const struct sr_request *doc, const struct sr_span *span)
{
    struct sr_bytes raw = sr_span_raw(span, doc->body);
    if (span->kind != SR_JSON_STRING || raw.n < 2 || raw.n > TYPE_MAX)
        return SR_LIT("");
    return sr_bytes_of(raw.p + 1, raw.n - 2);
}

static bool ends_with(struct sr_bytes word, struct sr_bytes end)
{
    return word.n >= end.n && memcmp(word.p + word.n - end.n, end.p, end.n) == 0;
}

/* What a message holds. */
struct message {
    enum sr_signal_role role;
    bool developer, calls, answers; /* calls a tool; answers a call */
};

static void note_type(struct message *message, struct sr_bytes type, struct sr_signal_facts *facts)
{
    if (ends_with(type, SR_LIT("_output")) || ends_with(type, SR_LIT("tool_result"))) {
        facts->results++;
        message->answers = true;
    } else if (ends_with(type, SR_LIT("_call")) || ends_with(type, SR_LIT("tool_use"))) {
        facts->calls++;
        message->calls = true;
    } else if (sr_bytes_eq(type, SR_LIT("image_url")) || sr_bytes_eq(type, SR_LIT("input_image")) ||
               sr_bytes_eq(type, SR_LIT("image"))) {
        facts->images++;
    }
}

/* Is this span the type of the message itself or of one of its parts? */
static bool is_type_of(const struct sr_request *doc, const struct sr_span *span, size_t message)
{
    uint32_t owner = span->parent;
    if (span->id != SR_AT_TYPE || owner == SR_SPAN_NONE)
        return false;
    if (owner == message)
        return true;
    const struct sr_span *part = &doc->spans[owner];
    bool content = part->id == SR_AT_PART && part->parent != SR_SPAN_NONE &&
                   doc->spans[part->parent].id == SR_AT_CONTENT;
    return content && doc->spans[part->parent].parent == message;
}

static struct message read_message(const struct sr_request *doc, size_t at, struct sr_signal_facts *facts)
{
    struct message message = {.role = SR_ROLE_OTHER};
    size_t end = doc->spans[at].end;
    for (size_t i = at + 1; i < doc->n_spans && doc->spans[i].start < end; i++) {
        const struct sr_span *span = &doc->spans[i];
        if (span->id == SR_AT_ROLE && span->parent == at) {
            message.role = sr_walk_role_of(doc, span);
            message.developer = sr_bytes_eq(word_of(doc, span), SR_LIT("developer"));
        } else if (span->id == SR_AT_TOOL_CALL) {
            facts->calls++;
            message.calls = true;
        } else if (is_type_of(doc, span, at)) {
            note_type(&message, word_of(doc, span), facts);
        }
    }
    if (message.role == SR_ROLE_TOOL) {
        facts->results++;
        message.answers = true;
    } else if (message.role == SR_ROLE_OTHER && (message.calls || message.answers)) {
        message.role = message.calls ? SR_ROLE_ASSISTANT : SR_ROLE_TOOL;
    }
    return message;
}

static void count_message(const struct message *message, struct sr_signal_facts *facts)
{
    facts->users += message->role == SR_ROLE_USER;
    facts->assistants += message->role == SR_ROLE_ASSISTANT;
    facts->systems += message->role == SR_ROLE_SYSTEM && !message->developer;
    facts->tools += message->role == SR_ROLE_TOOL;
    facts->developer |= message->developer;
}

/* The texts of a content joined by spaces, at most SR_SIGNAL_TURN_BYTES; `p` NULL when out of memory. */
static struct sr_bytes turn_text(const struct sr_request *doc, uint32_t content, struct sr_arena *arena)
{
    size_t end = doc->spans[content].end;
    struct sr_bytes text = {"", 0};
    for (size_t i = content; (i = sr_walk_text(doc, i, end, SR_TEXTS_CONTENT)) < doc->n_spans; i++) {
        struct sr_bytes part = sr_span_text(&doc->spans[i], doc->body, arena);
        if (!part.p)
            return part;
        if (!text.n) {
            text = part;
        } else if (part.n && text.n < SR_SIGNAL_TURN_BYTES) {
            char *joined = sr_arena_alloc(arena, text.n + 1 + part.n);
            if (!joined)
                return (struct sr_bytes){NULL, 0};
            memcpy(joined, text.p, text.n);
            joined[text.n] = ' ';
            memcpy(joined + text.n + 1, part.p, part.n);
            text = sr_bytes_of(joined, text.n + 1 + part.n);
        }
    }
    if (text.n > SR_SIGNAL_TURN_BYTES)
        for (text.n = SR_SIGNAL_TURN_BYTES; text.n && ((unsigned char)text.p[text.n] & 0xc0) == 0x80;)
            text.n--;
    return text;
}

/* Earlier turns of the user, from the last message but the newest turn backwards. */
static int read_turns(struct sr_signal_facts *out, const struct sr_request *doc, const uint32_t *contents,
                      size_t n, struct sr_arena *arena)
{
    struct sr_bytes *turns = sr_arena_calloc(arena, SR_SIGNAL_TURNS_MAX, sizeof *turns);
    if (!turns)
        return SR_ENOMEM;
    out->turns = turns;
    for (size_t i = n; i-- > 0 && out->n_turns < SR_SIGNAL_TURNS_MAX;) {
        struct sr_bytes text = turn_text(doc, contents[i], arena);
        if (!text.p)
            return SR_ENOMEM;
        if (text.n)
            turns[out->n_turns++] = text;
    }
    return SR_OK;
}

static void read_tools(struct sr_signal_facts *out, const struct sr_request *doc)
{
    for (size_t i = 0; i < doc->n_spans; i++) {
        const struct sr_span *span = &doc->spans[i];
        out->definitions += span->id == SR_AT_TOOL;
        if (span->id != SR_AT_TOOL_CHOICE)
            continue;
        struct sr_bytes word = word_of(doc, span);
        out->tools_forbidden = sr_bytes_eq(word, SR_LIT("none"));
        out->tools_required = span->kind == SR_JSON_OBJECT || sr_bytes_eq(word, SR_LIT("required")) ||
                              sr_bytes_eq(word, SR_LIT("any"));
    }
}

static int read_metadata(struct sr_signal_facts *out, const struct sr_request *doc, struct sr_arena *arena)
{
    uint32_t metadata = doc->at.metadata;
    size_t n = 0;
    if (metadata == SR_SPAN_NONE)
        return SR_OK;
    for (size_t i = metadata; i < doc->n_spans && doc->spans[i].start < doc->spans[metadata].end; i++)
        n += doc->spans[i].id == SR_AT_METADATA_ITEM;
    struct sr_signal_entry *entries = sr_arena_calloc(arena, n + 1, sizeof *entries);
    if (!entries)
        return SR_ENOMEM;
    out->metadata = entries;
    for (size_t i = metadata; i < doc->n_spans && doc->spans[i].start < doc->spans[metadata].end; i++) {
        const struct sr_span *item = &doc->spans[i];
        if (item->id != SR_AT_METADATA_ITEM || item->kind != SR_JSON_STRING)
            continue;
        struct sr_signal_entry *entry = &entries[out->n_metadata];
        *entry =
            (struct sr_signal_entry){sr_request_key(doc, item, arena), sr_span_text(item, doc->body, arena)};
        if (!entry->key.p || !entry->value.p)
            return SR_ENOMEM;
        out->n_metadata++;
    }
    return SR_OK;
}

int sr_facts_read(struct sr_signal_facts *out, const struct sr_request *doc, bool turns,
                  struct sr_arena *arena)
{
    uint32_t users[SR_SIGNAL_TURNS_MAX + 1]; /* contents of the newest turns, the oldest first */
    size_t n = 0;
    struct message last = {.role = SR_ROLE_OTHER}, before = last;
    bool replied = false;
    *out = (struct sr_signal_facts){0};
    for (size_t i = 0; (i = sr_walk_message(doc, i)) < doc->n_spans; i++) {
        before = last;
        last = read_message(doc, i, out);
        count_message(&last, out);
        replied |= last.role == SR_ROLE_ASSISTANT;
        uint32_t content = last.role == SR_ROLE_USER ? sr_walk_content(doc, i) : SR_SPAN_NONE;
        if (last.role == SR_ROLE_USER)
            out->replied = replied;
        if (content == SR_SPAN_NONE)
            continue;
        if (n == sizeof users / sizeof users[0])
            memmove(users, users + 1, --n * sizeof users[0]);
        users[n++] = content;
    }
    out->tool_loop = last.calls || last.answers || (last.role == SR_ROLE_USER && before.answers);
    read_tools(out, doc);
    int rc = read_metadata(out, doc, arena);
    if (rc == SR_OK && turns && n > 1)
        rc = read_turns(out, doc, users, n - 1, arena);
    return rc;
}
