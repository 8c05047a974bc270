/* Words, ids and links are short; of bytes in base64 every one is looked at. */
#include "router/request/form.h"

#include "dialect/dialect.h"
#include "json/scan.h"

#include <stdlib.h>

#define ID_MAX      64
#define BASE64_MIN  16
#define OPENING_MAX 192 /* bytes of a string that say what it links to, or which media it is */

/* ---- words ---- */

/* Sorted by bytes. No word says anything by itself, and none is part of what attacks say. */
/* clang-format off */
static const char *const words[] = {
    "", "$defs", "$ref", "$schema", "1024x1024", "1024x1536", "1024x1792", "1536x1024", "1792x1024", "1h",
    "24h", "256x256", "512x512", "5m", "END", "NONE", "START", "aac", "adaptive", "additionalProperties",
    "allOf", "allowed_tools", "alloy", "any", "anyOf", "application/pdf", "array", "assistant", "audio",
    "audio_url", "auto", "b64_json", "base64", "bash_code_execution_tool_result", "bfloat16", "big",
    "boolean", "budget_tokens", "bytes", "cache_control", "classification", "classify", "clustering",
    "code_execution_tool_result", "code_interpreter", "code_interpreter_call", "completed", "computer_call",
    "computer_call_output", "computer_screenshot", "computer_use_preview", "concise", "const", "container_upload", "content",
    "custom", "custom_tool_call", "custom_tool_call_output", "data", "date", "date-time", "default",
    "definitions", "description", "detail", "detailed", "developer", "disable_parallel_tool_use",
    "disabled", "display", "document", "double", "effort", "else", "email", "embed", "enabled", "enum",
    "ephemeral", "examples", "exclusiveMaximum", "exclusiveMinimum", "file", "file_data", "file_id",
    "file_search", "file_search_call", "file_url", "filename", "flac", "flex", "float", "float16",
    "float32", "format", "function", "function_call", "function_call_output", "grammar", "hd", "high", "id",
    "if", "image", "image/gif", "image/jpeg", "image/png", "image/webp", "image_embeds", "image_generation",
    "image_generation_call", "image_url", "in-memory", "in_memory", "in_progress", "include_usage",
    "incomplete", "input_audio", "input_file", "input_image", "input_text", "int32", "int64", "integer",
    "item_reference", "items", "jpeg", "json", "json_object", "json_schema", "lark", "little",
    "local_shell", "local_shell_call", "local_shell_call_output", "low", "max", "maxItems", "maxLength",
    "maximum", "mcp", "mcp_approval_request", "mcp_approval_response", "mcp_call", "mcp_list_tools",
    "mcp_tool_result", "mcp_tool_use", "media_type", "medium", "message", "minItems", "minLength",
    "minimal", "minimum", "mode", "mp3", "mp4", "multipleOf", "name", "native", "natural", "none", "not",
    "null", "nullable", "number", "object", "omitted", "oneOf", "opaque", "opus", "original", "output_text",
    "parameters", "passage", "pattern", "pcm", "ping", "png", "priority", "properties", "query",
    "reasoning", "reasoning.encrypted", "reasoning.summary", "reasoning.text", "reasoning_text", "redacted_thinking", "refusal", "regex", "required", "reward", "role",
    "scale", "schema", "score", "search", "search_document", "search_query", "search_result",
    "server_tool_use", "source", "sse", "standard", "strict", "string", "summarized", "summary",
    "summary_text", "syntax", "system", "text", "text/plain", "text_editor_code_execution_tool_result",
    "then", "thinking", "title", "token_classify", "token_embed", "tool", "tool_choice", "tool_reference",
    "tool_result", "tool_use", "tools", "transparent", "ttl", "type", "uniqueItems", "uri", "url", "user",
    "uuid", "value", "video_url", "vivid", "voice", "wav", "web", "web_fetch_tool_result", "web_search",
    "web_search_call", "web_search_preview", "web_search_tool_result", "webm", "webp", "xhigh",
};
/* clang-format on */

#define WORDS    (sizeof words / sizeof words[0])
#define WORD_MAX 40

static int compare(const void *key, const void *entry)
{
    const struct sr_bytes *raw = key;
    const char *word = *(const char *const *)entry;
    size_t n = strlen(word), least = raw->n < n ? raw->n : n;
    int order = memcmp(raw->p, word, least);
    return order ? order : raw->n < n ? -1 : raw->n > n;
}

bool sr_form_is_word(struct sr_bytes raw)
{
    return raw.n <= WORD_MAX && (raw.n == 0 || bsearch(&raw, words, WORDS, sizeof words[0], compare));
}

/* ---- ids ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    char low = sr_ascii_lower(c);
    return low >= 'a' && low <= 'z';
}

#define WORDS_IN_ID    2 /* "chatcmpl-tool-..." */
#define LETTERS_IN_ROW 11
#define DIGITS_IN_ROW  8 /* with separators between them */

bool sr_form_is_id(struct sr_bytes raw)
{
    size_t letters = 0, digits = 0, parts = 0, part = 0;
    bool mixed = false;
    if (raw.n > ID_MAX)
        return false;
    for (size_t i = 0; i <= raw.n; i++) {
        char c = i < raw.n ? raw.p[i] : '-';
        bool digit = is_digit(c), letter = is_letter(c);
        if (!digit && !letter && !strchr("_-.:", c))
            return false;
        letters = letter ? letters + 1 : 0;
        digits = digit ? digits + 1 : letter ? 0 : digits;
        if (letters > LETTERS_IN_ROW || digits > DIGITS_IN_ROW)
            return false;
        if (digit || letter) {
            mixed |= digit;
            part++;
            continue;
        }
        parts += part > 2 && !mixed;
        part = 0;
        mixed = false;
    }
    return parts <= WORDS_IN_ID;
}

/* ---- marks ---- */

#define MARK_MAX 24

/* A mark: at most 24 bytes with at most one space, and no letters or digits of private data. */
static bool is_mark(struct sr_bytes raw)
{
    size_t spaces = 0, digits = 0;
    if (raw.n > MARK_MAX)
        return false;
    for (size_t i = 0; i < raw.n; i++) {
        char c = raw.p[i];
        spaces += c == ' ';
        digits += is_digit(c);
        if (c == '@' || (unsigned char)c >= 0x80)
            return false;
        if (c == '\\' && (++i == raw.n || raw.p[i] == 'u'))
            return false;
    }
    return spaces <= 1 && digits <= 4;
}

/* ---- media ---- */

/* 0 for the bytes of the alphabet. */
static const uint8_t no_base64[256] = {
    [0 ... '+' - 1] = 1,       ['+' + 1 ... '-' - 1] = 1, ['-' + 1 ... '/' - 1] = 1,
    ['9' + 1 ... '=' - 1] = 1, ['=' + 1 ... 'A' - 1] = 1, ['Z' + 1 ... '_' - 1] = 1,
    ['_' + 1 ... 'a' - 1] = 1, ['z' + 1 ... 255] = 1,
};

static bool has_only_base64(const char *p, size_t n)
{
    const uint8_t *at = (const uint8_t *)p, *end = at + n;
    for (; end - at >= 8; at += 8)
        if (no_base64[at[0]] | no_base64[at[1]] | no_base64[at[2]] | no_base64[at[3]] | no_base64[at[4]] |
            no_base64[at[5]] | no_base64[at[6]] | no_base64[at[7]])
            return false;
    for (; at < end; at++)
        if (no_base64[*at])
            return false;
    return true;
}

/* Base64 (also of URLs), at least 16 characters, with the escapes that JSON writers put into it. */
static bool is_base64(struct sr_bytes raw, bool escaped)
{
    const char *p = raw.p, *end = raw.p + raw.n;
    if (raw.n < BASE64_MIN)
        return false;
    while (escaped && p < end) {
        const char *backslash = memchr(p, '\\', (size_t)(end - p));
        if (!backslash)
            break;
        if (end - backslash < 2 || !strchr("/nr", backslash[1]) ||
            !has_only_base64(p, (size_t)(backslash - p)))
            return false;
        p = backslash + 2;
    }
    return has_only_base64(p, (size_t)(end - p));
}

static bool starts_with(struct sr_bytes raw, struct sr_bytes with)
{
    if (raw.n < with.n)
        return false;
    for (size_t i = 0; i < with.n; i++)
        if (sr_ascii_lower(raw.p[i]) != with.p[i])
            return false;
    return true;
}

/* How a string begins for who decodes it: without escapes, and without blanks before it. */
static struct sr_bytes opening(struct sr_bytes raw, bool escaped, char room[OPENING_MAX])
{
    struct sr_bytes begin = sr_bytes_of(raw.p, raw.n < OPENING_MAX ? raw.n : OPENING_MAX);
    if (escaped) {
        size_t n;
        sr_json_unescape_part(begin, begin.n == raw.n, room, &n);
        begin = sr_bytes_of(room, n);
    }
    while (begin.n && (unsigned char)begin.p[0] <= ' ')
        begin = sr_bytes_of(begin.p + 1, begin.n - 1);
    return begin;
}

/* Base64 with escapes of every kind, and with blanks around it. */
static bool is_escaped_base64(struct sr_bytes raw)
{
    char room[OPENING_MAX];
    size_t letters = 0;
    bool ended = false;
    for (size_t at = 0; at < raw.n;) {
        size_t left = raw.n - at, n;
        bool last = left <= sizeof room;
        at += sr_json_unescape_part(sr_bytes_of(raw.p + at, last ? left : sizeof room), last, room, &n);
        for (size_t i = 0; i < n; i++) {
            unsigned char c = (unsigned char)room[i];
            if (c == ' ')
                ended = letters > 0;
            else if (c > ' ' && (ended || no_base64[c]))
                return false;
            letters += c > ' ';
        }
    }
    return letters >= BASE64_MIN;
}

/* A data: URL with base64 of something that is no text. */
static bool is_binary_url(struct sr_bytes raw, bool escaped)
{
    static const struct sr_bytes binary[] = {{"image", 5}, {"audio", 5}, {"video", 5}, {"application", 11}};
    const char *comma = memchr(raw.p, ',', raw.n < 256 ? raw.n : 256);
    if (!starts_with(raw, SR_LIT("data:")) || !comma)
        return false;
    struct sr_bytes kind = {raw.p + 5, (size_t)(comma - raw.p) - 5};
    struct sr_bytes data = {comma + 1, raw.n - (size_t)(comma + 1 - raw.p)};
    if (sr_bytes_contains(kind, SR_LIT("json")) || sr_bytes_contains(kind, SR_LIT("xml")) ||
        sr_bytes_contains(kind, SR_LIT(" ")) || !sr_bytes_contains(kind, SR_LIT(";base64")))
        return false;
    for (size_t i = 0; i < sizeof binary / sizeof binary[0]; i++)
        if (starts_with(kind, binary[i]))
            return data.n == 0 || is_base64(data, escaped);
    return false;
}

static bool is_link(struct sr_bytes raw)
{
    static const struct sr_bytes schemes[] = {{"https:", 6}, {"http:", 5}, {"file:", 5},
                                              {"s3:", 3},    {"gs:", 3},   {"ftp:", 4}};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (starts_with(raw, schemes[i]))
            return true;
    return false;
}

/* How base64 of media and documents begins: of their first bytes, in groups of three. */
static const struct {
    struct sr_bytes begin;
    unsigned class;
} media[] = {
    {{"iVBORw0KGg", 10}, SR_CLASS_IMAGE}, {{"/9j", 3}, SR_CLASS_IMAGE},    {{"_9j", 3}, SR_CLASS_IMAGE},
    {{"R0lGOD", 6}, SR_CLASS_IMAGE},      {{"UklGR", 5}, SR_CLASS_AUDIO},  {{"SUkqA", 5}, SR_CLASS_IMAGE},
    {{"TU0AK", 5}, SR_CLASS_IMAGE},       {{"T2dnUw", 6}, SR_CLASS_AUDIO}, {{"SUQz", 4}, SR_CLASS_AUDIO},
    {{"ZkxhQw", 6}, SR_CLASS_AUDIO},      {{"JVBERi0", 7}, SR_CLASS_FILE}, {{"UEsDB", 5}, SR_CLASS_FILE},
    {{"0M8R4KGx", 8}, SR_CLASS_FILE},     {{"H4sI", 4}, SR_CLASS_FILE},    {{"GkXfo", 5}, SR_CLASS_IMAGE},
};

#define MEDIA_MIN 64 /* characters of base64 that are taken for media by how they begin */
#define WEBP_AT   12 /* where the kind of a RIFF file ends in its base64 */

/* The class of the media whose base64 begins so; SR_CLASS_JUDGED: of none that is known. */
static unsigned class_of_bytes(struct sr_bytes begin)
{
    for (size_t i = 0; i < sizeof media / sizeof media[0]; i++)
        if (sr_bytes_starts_with(begin, media[i].begin)) {
            bool webp = media[i].class == SR_CLASS_AUDIO && begin.n >= WEBP_AT + 4 &&
                        memcmp(begin.p + WEBP_AT, "RUJQ", 4) == 0;
            return webp ? SR_CLASS_IMAGE : media[i].class;
        }
    return SR_CLASS_JUDGED;
}

/* The class of a data: URL that begins so, by its type or, whatever type it states, by its bytes;
 * SR_CLASS_JUDGED: it states a text, and does not begin like something else. */
static unsigned class_of_url(struct sr_bytes begin)
{
    const char *comma = memchr(begin.p, ',', begin.n);
    struct sr_bytes kind = sr_bytes_of(begin.p + 5, (comma ? (size_t)(comma - begin.p) : begin.n) - 5);
    unsigned class = comma ? class_of_bytes(sr_bytes_of(comma + 1, begin.n - (size_t)(comma + 1 - begin.p)))
                           : SR_CLASS_FILE;
    if (class != SR_CLASS_JUDGED)
        return class;
    if (sr_bytes_contains(kind, SR_LIT("json")) || sr_bytes_contains(kind, SR_LIT("xml")))
        return SR_CLASS_JUDGED;
    return starts_with(kind, SR_LIT("audio"))                                         ? SR_CLASS_AUDIO
           : starts_with(kind, SR_LIT("image")) || starts_with(kind, SR_LIT("video")) ? SR_CLASS_IMAGE
           : starts_with(kind, SR_LIT("application"))                                 ? SR_CLASS_FILE
                                                                                      : SR_CLASS_JUDGED;
}

/* The form of a value where an API has media, files or ids of them. Servers decode the bytes of a data: URL
 * whatever type it states, and some leave out what is no base64: so no string is only text where an image or
 * a sound belongs. */
static enum sr_form media_form(unsigned class, struct sr_bytes raw, bool escaped)
{
    char room[OPENING_MAX];
    bool sensed = class == SR_CLASS_IMAGE || class == SR_CLASS_AUDIO;
    if (is_binary_url(raw, escaped) || is_base64(raw, escaped) || sr_form_is_id(raw))
        return SR_FORM_UNREAD;
    struct sr_bytes begin = opening(raw, escaped, room);
    if (sensed || is_link(begin) || (begin.n == 0 && raw.n > OPENING_MAX))
        return SR_FORM_LINK;
    if (starts_with(begin, SR_LIT("data:")))
        return class_of_url(begin) == SR_CLASS_JUDGED ? SR_FORM_TEXT : SR_FORM_LINK;
    bool whole = raw.n <= OPENING_MAX;
    if ((escaped || begin.p != raw.p) &&
        ((whole && sr_form_is_id(sr_bytes_trim(begin))) || is_escaped_base64(raw)))
        return SR_FORM_LINK;
    return SR_FORM_TEXT;
}

unsigned sr_form_hidden(struct sr_bytes raw, bool escaped)
{
    char room[OPENING_MAX];
    if (raw.n < MEDIA_MIN)
        return SR_CLASS_JUDGED;
    struct sr_bytes begin = opening(raw, escaped, room);
    if (starts_with(begin, SR_LIT("data:")) && sr_bytes_contains(begin, SR_LIT(";base64,")))
        return class_of_url(begin);
    unsigned class = class_of_bytes(begin);
    bool bytes = class != SR_CLASS_JUDGED && (is_base64(raw, escaped) || is_escaped_base64(raw));
    return bytes ? class : SR_CLASS_JUDGED;
}

bool sr_form_keeps_media(struct sr_bytes key)
{
    static const struct sr_bytes names[] = {{"url", 3},    {"uri", 3},   {"data", 4},    {"id", 2},
                                            {"base64", 6}, {"bytes", 5}, {"b64_json", 8}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (sr_bytes_eq(key, names[i]))
            return true;
    return false;
}

bool sr_form_names_media(struct sr_bytes key)
{
    static const struct sr_bytes names[] = {
        {"image_url", 9},     {"image_urls", 10},   {"input_image", 11},   {"video_url", 9},
        {"audio_url", 9},     {"input_audio", 11},  {"inline_data", 11},   {"image_file", 10},
        {"file_id", 7},       {"file_ids", 8},      {"file_url", 8},       {"file_uri", 8},
        {"file_data", 9},     {"fileUri", 7},       {"inlineData", 10},    {"vector_store_ids", 16},
        {"image_embeds", 12}, {"audio_embeds", 12}, {"prompt_embeds", 13},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (sr_bytes_eq(key, names[i]))
            return true;
    return false;
}

enum sr_form sr_form_of(unsigned class, struct sr_bytes raw, bool escaped, bool plain)
{
    if (raw.n == 0)
        return SR_FORM_INERT;
    switch ((enum sr_class)(class & SR_CLASS_MASK)) {
    case SR_CLASS_INERT:
        return sr_form_is_word(raw) ? SR_FORM_INERT : SR_FORM_TEXT;
    case SR_CLASS_ID:
        return sr_form_is_id(raw) ? SR_FORM_INERT : SR_FORM_TEXT;
    case SR_CLASS_MARK:
        return is_mark(raw) ? SR_FORM_INERT : SR_FORM_TEXT;
    case SR_CLASS_CARRIED:
        return SR_FORM_INERT;
    case SR_CLASS_IMAGE:
    case SR_CLASS_AUDIO:
    case SR_CLASS_FILE:
    case SR_CLASS_ENCRYPTED:
    case SR_CLASS_TOKENS:
    case SR_CLASS_STORED:
        if (plain)
            return SR_FORM_TEXT;
        return sr_form_is_word(raw) ? SR_FORM_INERT : media_form(class & SR_CLASS_MASK, raw, escaped);
    default:
        return SR_FORM_TEXT;
    }
}
