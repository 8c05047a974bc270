/* Spans are in order of their start, so the content of a container follows it. */
#include "router/request/walk.h"

#include "router/request/form.h"
#include "router/request/sealed.h"

#define ROLE_MAX     64  /* bytes of JSON: longest role, with any escapes */
#define TYPE_MAX     256 /* bytes of JSON: longest type, with any escapes */
#define KEY_MAX      96  /* bytes of JSON: longest key that names media, with any escapes */
#define SIBLINGS_MAX 16  /* members of an object among which its type is looked for */

bool sr_walk_is_text(const struct sr_span *span, enum sr_texts which)
{
    if (span->kind != SR_JSON_STRING)
        return false;
    switch (span->id) {
    case SR_AT_CONTENT:
    case SR_AT_PART_TEXT:
    case SR_AT_PROMPT:
    case SR_AT_PROMPT_ITEM:
        return true;
    case SR_PATH_TOP:
        return false;
    default:
        return which == SR_TEXTS_JUDGED && (span->tag & SR_CLASS_MASK) == SR_CLASS_JUDGED;
    }
}

size_t sr_walk_text(const struct sr_request *doc, size_t from, size_t end, enum sr_texts which)
{
    for (size_t i = from; i < doc->n_spans && doc->spans[i].start < end; i++)
        if (sr_walk_is_text(&doc->spans[i], which))
            return i;
    return doc->n_spans;
}

size_t sr_walk_message(const struct sr_request *doc, size_t from)
{
    size_t i = from;
    while (i < doc->n_spans && doc->spans[i].id != SR_AT_MESSAGE)
        i++;
    return i;
}

/* What a string says, decoded into `room` where it has escapes; empty: it is none, or
 * longer than `most` bytes of JSON. */
static struct sr_bytes said_of(const struct sr_request *doc, const struct sr_span *span, size_t most,
                               char *room)
{
    struct sr_bytes raw = sr_span_raw(span, doc->body);
    if (span->kind != SR_JSON_STRING || raw.n < 2 || raw.n > most)
        return (struct sr_bytes){0};
    raw = sr_bytes_of(raw.p + 1, raw.n - 2);
    if (!(span->flags & SR_SPAN_ESCAPED))
        return raw;
    size_t n;
    sr_json_unescape_part(raw, true, room, &n);
    return sr_bytes_of(room, n);
}

enum sr_signal_role sr_walk_role_of(const struct sr_request *doc, const struct sr_span *role)
{
    static const struct {
        struct sr_bytes name;
        enum sr_signal_role role;
    } names[] = {
        {{"user", 4}, SR_ROLE_USER},     {{"assistant", 9}, SR_ROLE_ASSISTANT},
        {{"tool", 4}, SR_ROLE_TOOL},     {{"function", 8}, SR_ROLE_TOOL},
        {{"system", 6}, SR_ROLE_SYSTEM}, {{"developer", 9}, SR_ROLE_SYSTEM},
    };
    char room[ROLE_MAX];
    struct sr_bytes said = said_of(doc, role, ROLE_MAX, room);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (sr_bytes_eq(said, names[i].name))
            return names[i].role;
    return SR_ROLE_OTHER;
}

/* The last member of a message with this id, and how many there are; SR_SPAN_NONE without one. */
static uint32_t member_of(const struct sr_request *doc, size_t message, enum sr_at at, size_t *n)
{
    const struct sr_span *whole = &doc->spans[message];
    size_t end = whole->flags & SR_SPAN_OPEN ? SIZE_MAX : whole->end;
    uint32_t found = SR_SPAN_NONE;
    *n = 0;
    for (size_t i = message + 1; i < doc->n_spans && doc->spans[i].start < end; i++)
        if (doc->spans[i].id == at && doc->spans[i].parent == message) {
            found = (uint32_t)i;
            ++*n;
        }
    return found;
}

static uint32_t member(const struct sr_request *doc, size_t message, enum sr_at at)
{
    size_t n;
    return member_of(doc, message, at, &n);
}

enum sr_signal_role sr_walk_role(const struct sr_request *doc, size_t message)
{
    uint32_t role = member(doc, message, SR_AT_ROLE);
    if (role == SR_SPAN_NONE || doc->spans[role].flags & SR_SPAN_OPEN)
        return SR_ROLE_OTHER;
    return sr_walk_role_of(doc, &doc->spans[role]);
}

uint32_t sr_walk_content(const struct sr_request *doc, size_t message)
{
    return member(doc, message, SR_AT_CONTENT);
}

/* ---- every string ---- */

const char *const sr_unread_names[SR_UNREAD_KINDS] = {
    [SR_UNREAD_IMAGES] = "images",       [SR_UNREAD_AUDIO] = "audio",   [SR_UNREAD_FILES] = "files",
    [SR_UNREAD_ENCRYPTED] = "encrypted", [SR_UNREAD_TOKENS] = "tokens", [SR_UNREAD_STORED] = "stored",
    [SR_UNREAD_LIMIT] = "limit",
};

static const enum sr_unread_kind kinds[] = {
    [SR_CLASS_IMAGE] = SR_UNREAD_IMAGES,  [SR_CLASS_AUDIO] = SR_UNREAD_AUDIO,
    [SR_CLASS_FILE] = SR_UNREAD_FILES,    [SR_CLASS_ENCRYPTED] = SR_UNREAD_ENCRYPTED,
    [SR_CLASS_TOKENS] = SR_UNREAD_TOKENS, [SR_CLASS_STORED] = SR_UNREAD_STORED,
};

static void note_unread(struct sr_walk *walk, enum sr_unread_kind kind, size_t bytes)
{
    walk->unread.of[kind].parts++;
    walk->unread.of[kind].bytes += bytes;
}

static bool raw_ends_with(struct sr_bytes raw, struct sr_bytes end)
{
    return raw.n >= end.n && memcmp(raw.p + raw.n - end.n, end.p, end.n) == 0;
}

/* The `type` of a part or an item, decoded, of several the last; empty: none. `n`: how many it has. */
static struct sr_bytes type_of(const struct sr_request *doc, uint32_t owner, char room[TYPE_MAX], size_t *n)
{
    uint32_t type = member_of(doc, owner, SR_AT_TYPE, n);
    return type == SR_SPAN_NONE ? (struct sr_bytes){0} : said_of(doc, &doc->spans[type], TYPE_MAX, room);
}

/* What the type of a part or an item says about its strings. */
static enum sr_walk_what what_by_type(struct sr_bytes raw)
{
    if (raw_ends_with(raw, SR_LIT("_output")) || raw_ends_with(raw, SR_LIT("tool_result")))
        return SR_WALK_RESULT;
    if (sr_bytes_eq(raw, SR_LIT("document")) || sr_bytes_eq(raw, SR_LIT("search_result")))
        return SR_WALK_DOCUMENT;
    bool call = raw_ends_with(raw, SR_LIT("_call")) || raw_ends_with(raw, SR_LIT("tool_use"));
    return call ? SR_WALK_CALL : SR_WALK_PLAIN;
}

/* The member in which a part or an item of this type has what its provider sealed; empty: none. */
static struct sr_bytes sealed_by_type(struct sr_bytes type, size_t owner)
{
    static const struct {
        struct sr_bytes type, member;
        bool item; /* an item of Responses; else a part of a message */
    } sealed[] = {
        {{"thinking", 8}, {"signature", 9}, false},
        {{"redacted_thinking", 17}, {"data", 4}, false},
        {{"reasoning.text", 14}, {"signature", 9}, false},
        {{"reasoning.encrypted", 19}, {"data", 4}, false},
        {{"reasoning", 9}, {"encrypted_content", 17}, true},
    };
    for (size_t i = 0; i < sizeof sealed / sizeof sealed[0]; i++)
        if (sealed[i].item == (owner == SR_WALK_OWNER_MESSAGE) && sr_bytes_eq(type, sealed[i].type))
            return sealed[i].member;
    return (struct sr_bytes){0};
}

/* The role of a message; of an item that has none, the one of its type. */
static enum sr_signal_role role_of_item(const struct sr_request *doc, uint32_t message,
                                        enum sr_walk_what what)
{
    if (member(doc, message, SR_AT_ROLE) != SR_SPAN_NONE)
        return sr_walk_role(doc, message);
    return what == SR_WALK_RESULT ? SR_ROLE_TOOL : what == SR_WALK_CALL ? SR_ROLE_ASSISTANT : SR_ROLE_OTHER;
}

/* True for an item that stands for what the upstream keeps under its id: a reference, an item without a type
 * and a role, an image that was made, and, because parsers differ, one with several types. */
static bool refers_by_type(const struct sr_request *doc, uint32_t item, struct sr_bytes type, size_t n)
{
    uint32_t role = member(doc, item, SR_AT_ROLE);
    if (n > 1 || (type.n == 0 && (role == SR_SPAN_NONE || doc->spans[role].kind != SR_JSON_STRING)))
        return true;
    return sr_bytes_eq(type, SR_LIT("item_reference")) || sr_bytes_eq(type, SR_LIT("image_generation_call"));
}

/* Which of walk->owners holds what this message or part says: each is searched once, however many strings it
 * has. */
static size_t owner_of(struct sr_walk *walk, uint32_t span)
{
    const struct sr_request *doc = walk->doc;
    uint32_t parent = doc->spans[span].parent;
    uint16_t above = parent == SR_SPAN_NONE ? SR_PATH_TOP : doc->spans[parent].id;
    size_t i = doc->spans[span].id == SR_AT_MESSAGE              ? SR_WALK_OWNER_MESSAGE
               : above == SR_AT_CONTENT || above == SR_AT_SYSTEM ? SR_WALK_OWNER_PART
                                                                 : SR_WALK_OWNER_INNER;
    if (walk->owners[i].span == span)
        return i;
    char room[TYPE_MAX];
    size_t n;
    struct sr_bytes type = type_of(doc, span, room, &n);
    walk->owners[i].span = span;
    walk->owners[i].what = what_by_type(type);
    walk->owners[i].cites = n == 1 && sr_bytes_eq(type, SR_LIT("search_result"));
    walk->owners[i].sealed = n == 1 ? sealed_by_type(type, i) : (struct sr_bytes){0};
    if (i == SR_WALK_OWNER_MESSAGE) {
        walk->owners[i].role = role_of_item(doc, span, walk->owners[i].what);
        walk->owners[i].refers = refers_by_type(doc, span, type, n);
    }
    return i;
}

static enum sr_walk_what what_inside(struct sr_walk *walk, uint32_t span)
{
    switch (walk->doc->spans[span].id) {
    case SR_AT_PART:
    case SR_AT_MESSAGE:
        return walk->owners[owner_of(walk, span)].what;
    case SR_AT_TOOL_CALL:
        return SR_WALK_CALL;
    case SR_AT_TOOL:
        return SR_WALK_TOOL;
    case SR_AT_DOCUMENT:
        return SR_WALK_DOCUMENT;
    case SR_AT_SYSTEM:
        return SR_WALK_SYSTEM;
    default:
        return SR_WALK_PLAIN;
    }
}

static bool begins_unit(uint16_t id)
{
    return id == SR_AT_PART || id == SR_AT_TOOL_CALL || id == SR_AT_TOOL || id == SR_AT_DOCUMENT ||
           id == SR_AT_PROMPT_ITEM;
}

static bool is_content(uint16_t id)
{
    return id == SR_AT_CONTENT || id == SR_AT_MESSAGE_TEXT || id == SR_AT_PROMPT || id == SR_AT_PROMPT_ITEM ||
           id == SR_AT_MESSAGE || id == SR_AT_TOOL_RESULT || id == SR_AT_SYSTEM;
}

/* The source of strings in the member `top` of a message or of the request. */
static enum sr_signal_source source_of(enum sr_walk_what what, uint16_t top, enum sr_signal_role role)
{
    switch (what) {
    case SR_WALK_RESULT:
        return SR_SOURCE_TOOL_RESULT;
    case SR_WALK_DOCUMENT:
        return SR_SOURCE_DOCUMENT;
    case SR_WALK_TOOL:
        return SR_SOURCE_TOOL;
    case SR_WALK_CALL:
        return SR_SOURCE_MESSAGE;
    default:
        return !is_content(top)       ? SR_SOURCE_FIELD
               : role == SR_ROLE_TOOL ? SR_SOURCE_TOOL_RESULT
                                      : SR_SOURCE_MESSAGE;
    }
}

/* Finds what the strings of this span belong to, from its ancestors. */
static void locate(struct sr_walk *walk, uint32_t span, struct sr_walk_string *as)
{
    const struct sr_request *doc = walk->doc;
    uint32_t top = span, unit = SR_SPAN_NONE;
    enum sr_walk_what what = SR_WALK_PLAIN;
    *as = (struct sr_walk_string){.span = span, .message = SR_SPAN_NONE};
    for (uint32_t s = span; s != SR_SPAN_NONE && as->message == SR_SPAN_NONE; s = doc->spans[s].parent) {
        if (unit == SR_SPAN_NONE && begins_unit(doc->spans[s].id))
            unit = s;
        if (what == SR_WALK_PLAIN)
            what = what_inside(walk, s);
        if (doc->spans[s].id == SR_AT_MESSAGE)
            as->message = s;
        else
            top = s;
    }
    uint16_t id = doc->spans[top].id;
    as->group = unit != SR_SPAN_NONE ? unit : top;
    if (what == SR_WALK_RESULT)
        as->role = SR_ROLE_TOOL;
    else if (as->message != SR_SPAN_NONE)
        as->role = walk->owners[owner_of(walk, as->message)].role;
    else if (what == SR_WALK_SYSTEM)
        as->role = SR_ROLE_SYSTEM;
    else
        as->role = id == SR_AT_PROMPT || id == SR_AT_PROMPT_ITEM ? SR_ROLE_USER : SR_ROLE_OTHER;
    as->source = source_of(what, id, as->role);
}

bool sr_walk_counts(struct sr_walk *walk, size_t bytes)
{
    uint32_t most = walk->doc->max_strings ? walk->doc->max_strings : SR_WALK_STRINGS_MAX;
    if (walk->strings == most) {
        note_unread(walk, SR_UNREAD_LIMIT, bytes);
        return false;
    }
    walk->strings++;
    return true;
}

static bool give(struct sr_walk *walk, uint32_t span, struct sr_json_string string,
                 struct sr_walk_string *out)
{
    if (!sr_walk_counts(walk, string.end - string.start))
        return false;
    if (walk->place.span != span)
        locate(walk, span, &walk->place);
    *out = walk->place;
    out->start = string.start;
    out->end = string.end;
    out->escaped = string.escaped;
    out->key = string.key;
    out->number = string.number;
    return true;
}

/* True when the only `type` beside this member says that it is plain text. */
static bool is_plain(const struct sr_request *doc, uint32_t span)
{
    uint32_t parent = doc->spans[span].parent;
    if (doc->spans[span].id != SR_AT_DATA || parent == SR_SPAN_NONE)
        return false;
    size_t end = parent + 1 + SIBLINGS_MAX < doc->n_spans ? parent + 1 + SIBLINGS_MAX : doc->n_spans;
    size_t types = 0, i = parent + 1;
    bool plain = true;
    for (; i < end && doc->spans[i].start < doc->spans[parent].end; i++)
        if (doc->spans[i].id == SR_AT_TYPE && doc->spans[i].parent == parent) {
            types++;
            plain = sr_bytes_eq(sr_span_raw(&doc->spans[i], doc->body), SR_LIT("\"text\""));
        }
    bool all = i == doc->n_spans || doc->spans[i].start >= doc->spans[parent].end;
    return all && types == 1 && plain;
}

/* The role of the message that this span is or is in. */
static enum sr_signal_role role_around(struct sr_walk *walk, uint32_t span)
{
    const struct sr_request *doc = walk->doc;
    while (span != SR_SPAN_NONE && doc->spans[span].id != SR_AT_MESSAGE)
        span = doc->spans[span].parent;
    return span == SR_SPAN_NONE ? SR_ROLE_OTHER : walk->owners[owner_of(walk, span)].role;
}

/* True when the string is what a provider gave the client to carry, in the member that the API has for it: no
 * model reads it as text, and the provider refuses what it did not make. */
static bool is_sealed(struct sr_walk *walk, uint32_t span, struct sr_bytes raw, bool escaped)
{
    const struct sr_span *at = &walk->doc->spans[span];
    uint32_t owner = at->parent;
    if (owner == SR_SPAN_NONE || at->kind != SR_JSON_STRING || at->key_end < at->key_start + 2 ||
        (walk->doc->spans[owner].id != SR_AT_PART && walk->doc->spans[owner].id != SR_AT_MESSAGE))
        return false;
    struct sr_bytes key = {walk->doc->body.p + at->key_start + 1, at->key_end - at->key_start - 2};
    if (!sr_bytes_eq(key, walk->owners[owner_of(walk, owner)].sealed))
        return false;
    enum sr_signal_role role = role_around(walk, owner);
    return (role == SR_ROLE_ASSISTANT || role == SR_ROLE_OTHER) && sr_sealed_is(raw, escaped);
}

/* The class of a span's strings. An item that has an id and nothing else stands for one that is stored. */
static unsigned class_of(struct sr_walk *walk, uint32_t span)
{
    const struct sr_span *at = &walk->doc->spans[span];
    if (at->id == SR_AT_ITEM_ID && at->parent != SR_SPAN_NONE &&
        walk->owners[owner_of(walk, at->parent)].refers)
        return SR_CLASS_STORED;
    if (at->id == SR_AT_SOURCE && at->kind == SR_JSON_STRING && at->parent != SR_SPAN_NONE &&
        walk->owners[owner_of(walk, at->parent)].cites)
        return SR_CLASS_JUDGED;
    return at->tag & SR_CLASS_MASK;
}

/* True for a value that no path names, or that stands in one: servers may take it for media all the same. */
static bool is_loose(const struct sr_walk *walk, uint32_t span)
{
    switch (walk->doc->spans[span].id) {
    case SR_PATH_TOP:
        return true;
    case SR_AT_TOOL_RESULT:
    case SR_AT_PART:
    case SR_AT_SYSTEM:
    case SR_AT_CONTENT:
    case SR_AT_MESSAGE:
    case SR_AT_PROMPT:
    case SR_AT_PROMPT_ITEM:
    case SR_AT_DOCUMENT:
    case SR_AT_MIXED:
        return walk->inside;
    default:
        return false;
    }
}

/* The class of media that stands where no path expects it; SR_CLASS_JUDGED: it is none. */
static unsigned hidden_class(const struct sr_walk *walk, uint32_t span, struct sr_bytes raw, bool escaped)
{
    if (!is_loose(walk, span))
        return SR_CLASS_JUDGED;
    unsigned class = sr_form_hidden(raw, escaped);
    if (class != SR_CLASS_JUDGED || !walk->media)
        return class;
    enum sr_form form = sr_form_of(SR_CLASS_FILE, raw, escaped, false);
    return form == SR_FORM_UNREAD || form == SR_FORM_LINK ? SR_CLASS_FILE : SR_CLASS_JUDGED;
}

/* Whether the value of this key is media by its name; where it stands in one that is, by that one's. */
static bool is_of_media(struct sr_bytes key, bool within)
{
    char decoded[KEY_MAX];
    if (key.n > KEY_MAX)
        return false;
    if (memchr(key.p, '\\', key.n)) {
        size_t n;
        sr_json_unescape_part(key, true, decoded, &n);
        key = sr_bytes_of(decoded, n);
    }
    return sr_form_names_media(key) || (within && sr_form_keeps_media(key));
}

/* Notes whether the key of an unnamed span names media: of its value, or of what stands in it. */
static void note_key(struct sr_walk *walk, uint32_t span)
{
    const struct sr_span *at = &walk->doc->spans[span];
    walk->media = false;
    if (at->id == SR_PATH_TOP && at->key_end >= at->key_start + 2)
        walk->media = is_of_media(
            sr_bytes_of(walk->doc->body.p + at->key_start + 1, at->key_end - at->key_start - 2), false);
}

/* Decides about one string; true when it is given. */
static bool take(struct sr_walk *walk, uint32_t span, struct sr_json_string string,
                 struct sr_walk_string *out)
{
    const struct sr_request *doc = walk->doc;
    unsigned class = class_of(walk, span);
    struct sr_bytes raw = sr_bytes_of(doc->body.p + string.start, string.end - string.start);
    if (class == SR_CLASS_ENCRYPTED && is_sealed(walk, span, raw, string.escaped))
        return false;
    enum sr_form form = sr_form_of(class, raw, string.escaped, is_plain(doc, span));
    if (string.key) {
        walk->media = is_of_media(raw, walk->media);
        form = form == SR_FORM_LINK ? SR_FORM_TEXT : form;
    }
    if (form == SR_FORM_TEXT && walk->inside && sr_form_is_word(raw))
        form = SR_FORM_INERT;
    if (form == SR_FORM_TEXT && !string.key) {
        unsigned hidden = hidden_class(walk, span, raw, string.escaped);
        if (hidden != SR_CLASS_JUDGED)
            note_unread(walk, kinds[hidden], raw.n);
    }
    if (form == SR_FORM_UNREAD || form == SR_FORM_LINK)
        note_unread(walk, kinds[class], raw.n);
    return (form == SR_FORM_TEXT || form == SR_FORM_LINK) && give(walk, span, string, out);
}

/* True when no path names the member, so that its key is the sender's own. */
static bool has_free_key(const struct sr_span *span)
{
    return span->key_end > span->key_start &&
           (span->id == SR_PATH_TOP || span->id == SR_AT_METADATA_ITEM || span->id == SR_AT_KWARGS_ITEM);
}

static bool take_key(struct sr_walk *walk, uint32_t span, struct sr_walk_string *out)
{
    const struct sr_span *at = &walk->doc->spans[span];
    size_t n = at->key_end - at->key_start - 2;
    struct sr_json_string key = {.start = at->key_start + 1, .end = at->key_end - 1, .key = true};
    key.escaped = memchr(walk->doc->body.p + key.start, '\\', n) != NULL;
    return n && give(walk, span, key, out);
}

/* True where numbers are token ids. Of a document only those in lists: objects have numbers of other kinds.
 * Lists that no path names are taken for them in a prompt that is an object. */
static bool is_list_of_tokens(const struct sr_request *doc, const struct sr_span *span)
{
    switch (span->id) {
    case SR_AT_PROMPT:
    case SR_AT_PROMPT_ITEM:
    case SR_AT_MESSAGE:
        return true;
    case SR_AT_DOCUMENT:
        return span->kind != SR_JSON_OBJECT;
    case SR_PATH_TOP:
        return span->kind == SR_JSON_ARRAY && span->parent != SR_SPAN_NONE &&
               doc->spans[span->parent].id == SR_AT_PROMPT;
    default:
        return (span->tag & SR_CLASS_MASK) == SR_CLASS_TOKENS;
    }
}

static bool is_judged(const struct sr_span *span)
{
    return (span->tag & SR_CLASS_MASK) == SR_CLASS_JUDGED;
}

/* Looks at the value of span `at`: gives a string, or begins to read a container that no path enters. */
static bool enter(struct sr_walk *walk, uint32_t at, struct sr_walk_string *out)
{
    const struct sr_request *doc = walk->doc;
    const struct sr_span *span = &doc->spans[at];
    char digits[SR_JSON_LONG_MAX];
    switch ((enum sr_json_kind)span->kind) {
    case SR_JSON_STRING:
        return take(walk, at,
                    (struct sr_json_string){.start = span->start + 1,
                                            .end = span->end - 1,
                                            .escaped = span->flags & SR_SPAN_ESCAPED},
                    out);
    case SR_JSON_NUMBER:
        if (is_list_of_tokens(doc, span))
            note_unread(walk, SR_UNREAD_TOKENS, span->end - span->start);
        else if (is_judged(span) && sr_json_long_digits(sr_span_raw(span, doc->body), digits))
            return give(walk, at,
                        (struct sr_json_string){.start = span->start, .end = span->end, .number = true}, out);
        return false;
    case SR_JSON_ARRAY:
    case SR_JSON_OBJECT:
        if (at + 1 < doc->n_spans && doc->spans[at + 1].start < span->end)
            return false;
        sr_json_strings_init(&walk->container, doc->body, span->start, span->end);
        walk->container.find_numbers = is_list_of_tokens(doc, span);
        walk->container.find_long = !walk->container.find_numbers && is_judged(span);
        walk->inside = true;
        return false;
    default:
        return false;
    }
}

/* Continues to read a container; false at its end. */
static bool read_inside(struct sr_walk *walk, struct sr_walk_string *out)
{
    uint32_t span = (uint32_t)walk->next - 1;
    struct sr_json_string string;
    while (sr_json_strings_next(&walk->container, &string))
        if (take(walk, span, string, out))
            return true;
    walk->inside = false;
    if (walk->container.numbers)
        note_unread(walk, SR_UNREAD_TOKENS, walk->doc->spans[span].end - walk->doc->spans[span].start);
    return false;
}

void sr_walk_begin(struct sr_walk *walk, const struct sr_request *doc)
{
    *walk = (struct sr_walk){.doc = doc, .stop = SIZE_MAX, .place = {.span = SR_SPAN_NONE}};
    for (size_t i = 0; i < SR_WALK_OWNERS; i++)
        walk->owners[i].span = SR_SPAN_NONE;
    if (doc->beside)
        walk->unread = *doc->beside;
}

void sr_walk_begin_span(struct sr_walk *walk, const struct sr_request *doc, uint32_t span)
{
    sr_walk_begin(walk, doc);
    walk->unread = (struct sr_unread){0};
    walk->next = span;
    walk->stop = doc->spans[span].end;
}

bool sr_walk_next(struct sr_walk *walk, struct sr_walk_string *out)
{
    const struct sr_request *doc = walk->doc;
    for (;;) {
        if (walk->inside && read_inside(walk, out))
            return true;
        if (walk->next == doc->n_spans || doc->spans[walk->next].start >= walk->stop)
            return false;
        uint32_t at = (uint32_t)walk->next;
        if (!walk->key_given && has_free_key(&doc->spans[at])) {
            walk->key_given = true;
            if (take_key(walk, at, out))
                return true;
        }
        walk->key_given = false;
        walk->next++;
        note_key(walk, at);
        if (enter(walk, at, out))
            return true;
    }
}
