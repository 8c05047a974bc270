/* A scan of each document; texts are found by choice, kind and call. */
#include "router/response/text.h"

#include "base/mem.h"

enum {
    AT_ID = 1,
    AT_MODEL,
    AT_CREATED,
    AT_CHOICE,
    AT_INDEX,
    AT_CALL_INDEX,
    AT_FINISH,
    AT_TEXT, /* this and what follows are texts */
    AT_PART, /* one of several that belong together */
    AT_THOUGHTS,
    AT_REFUSAL,
    AT_ARGUMENTS,
};

#define SPANS_MAX   65536
#define NUMBERS_MAX 64 /* indices of one document that are known by number */

int sr_response_paths(struct sr_paths **out, struct sr_err *err)
{
    static const struct sr_path_spec specs[] = {
        {"id", AT_ID},
        {"model", AT_MODEL},
        {"created", AT_CREATED},
        {"choices[]", AT_CHOICE},
        {"choices[].index", AT_INDEX},
        {"choices[].finish_reason", AT_FINISH},
        {"choices[].text", AT_TEXT},
        {"choices[].delta.content", AT_TEXT},
        {"choices[].delta.reasoning", AT_THOUGHTS},
        {"choices[].delta.reasoning_content", AT_THOUGHTS},
        {"choices[].delta.refusal", AT_REFUSAL},
        {"choices[].delta.tool_calls[].index", AT_CALL_INDEX},
        {"choices[].delta.tool_calls[].function.arguments", AT_ARGUMENTS},
        {"choices[].delta.function_call.arguments", AT_ARGUMENTS},
        {"choices[].message.content", AT_TEXT},
        {"choices[].message.content[].text", AT_PART},
        {"choices[].message.reasoning", AT_THOUGHTS},
        {"choices[].message.reasoning_content", AT_THOUGHTS},
        {"choices[].message.refusal", AT_REFUSAL},
        {"choices[].message.tool_calls[].function.arguments", AT_ARGUMENTS},
        {"choices[].message.function_call.arguments", AT_ARGUMENTS},
        {"output[].content[].text", AT_PART},
        {"output[].summary[].text", AT_THOUGHTS},
        {"output[].arguments", AT_ARGUMENTS},
        {"content[].text", AT_PART},
        {"content[].thinking", AT_THOUGHTS},
        {"delta", AT_TEXT},
        {"delta.text", AT_TEXT},
        {"delta.thinking", AT_THOUGHTS},
        {"delta.partial_json", AT_ARGUMENTS},
    };
    return sr_paths_new(out, specs, sizeof specs / sizeof specs[0], err);
}

void sr_response_texts_init(struct sr_response_texts *texts, const struct sr_paths *paths)
{
    *texts = (struct sr_response_texts){.paths = paths};
}

void sr_response_texts_dispose(struct sr_response_texts *texts)
{
    for (size_t i = 0; i < texts->n; i++)
        sr_buf_dispose(&texts->items[i].bytes);
    sr_mem_free(texts->items);
    sr_response_texts_init(texts, texts->paths);
}

/* ---- one document ---- */

/* What `index` members say of positions. */
struct numbers {
    struct {
        uint16_t id;
        uint32_t at[2];
        uint64_t value;
    } items[NUMBERS_MAX];
    size_t n;
};

struct doc {
    struct sr_bytes data;
    const struct sr_span *spans;
    size_t n;
    struct numbers numbers;
};

static bool read_doc(const struct sr_paths *paths, struct sr_bytes data, struct sr_arena *scratch,
                     struct doc *doc)
{
    struct sr_scan *scan;
    struct sr_scan_limits limits = sr_scan_limits_defaults();
    limits.max_spans = SPANS_MAX;
    if (sr_scan_new(&scan, paths, limits, scratch))
        return false;
    int rc = sr_scan_feed(scan, data.p, data.n, NULL);
    if ((rc != SR_OK && rc != SR_MORE) || sr_scan_finish(scan, NULL))
        return false;
    doc->data = data;
    doc->spans = sr_scan_spans(scan, &doc->n);
    return true;
}

static void keep_raw(char *out, size_t size, struct sr_bytes raw)
{
    if (out[0] || raw.n == 0 || raw.n >= size)
        return;
    memcpy(out, raw.p, raw.n);
    out[raw.n] = '\0';
}

/* Everything but the texts. */
static void read_members(struct sr_response_texts *texts, struct doc *doc)
{
    struct numbers *numbers = &doc->numbers;
    unsigned long long value;
    for (size_t i = 0; i < doc->n; i++) {
        const struct sr_span *span = &doc->spans[i];
        struct sr_bytes raw = sr_span_raw(span, doc->data);
        bool string = span->kind == SR_JSON_STRING, number = span->kind == SR_JSON_NUMBER;
        if (span->id == AT_ID && string)
            keep_raw(texts->id, sizeof texts->id, raw);
        else if (span->id == AT_MODEL && string)
            keep_raw(texts->model, sizeof texts->model, raw);
        else if (span->id == AT_CREATED && number && sr_bytes_to_u64(raw, &value))
            keep_raw(texts->created, sizeof texts->created, raw);
        else if ((span->id == AT_INDEX || span->id == AT_CALL_INDEX) && number && numbers->n < NUMBERS_MAX &&
                 sr_bytes_to_u64(raw, &value)) {
            numbers->items[numbers->n].id = span->id;
            memcpy(numbers->items[numbers->n].at, span->index, sizeof span->index);
            numbers->items[numbers->n++].value = value;
        }
    }
}

/* The number that the container of `span` has, its position where it has none. */
static uint64_t number_of(const struct doc *doc, const struct sr_span *span, uint16_t id, int level)
{
    const struct numbers *numbers = &doc->numbers;
    for (size_t i = 0; i < numbers->n; i++)
        if (numbers->items[i].id == id && numbers->items[i].at[0] == span->index[0] &&
            (level == 0 || numbers->items[i].at[1] == span->index[1]))
            return numbers->items[i].value;
    return span->index[level];
}

static void mark(uint64_t *mask, uint64_t choice)
{
    if (choice < 64)
        *mask |= UINT64_C(1) << choice;
}

/* ---- the texts ---- */

static struct sr_response_text *find_text(struct sr_response_texts *texts, uint16_t kind, uint64_t choice,
                                          uint64_t call)
{
    for (size_t i = 0; i < texts->n; i++) {
        struct sr_response_text *text = &texts->items[i];
        if (text->kind == kind && text->choice == choice && text->call == call)
            return text;
    }
    if (!texts->items)
        texts->items = sr_mem_calloc(SR_RESPONSE_TEXTS, sizeof *texts->items);
    if (!texts->items || texts->n == SR_RESPONSE_TEXTS)
        return NULL;
    struct sr_response_text *text = &texts->items[texts->n++];
    *text = (struct sr_response_text){.kind = kind, .choice = choice, .call = call};
    sr_buf_init(&text->bytes, 2 * SR_RESPONSE_TEXT_MAX);
    return text;
}

static void add_text(struct sr_response_texts *texts, const struct doc *doc, const struct sr_span *span,
                     struct sr_arena *scratch)
{
    bool part = span->id == AT_PART;
    uint64_t choice = number_of(doc, span, AT_INDEX, 0);
    uint64_t call = span->id == AT_ARGUMENTS ? number_of(doc, span, AT_CALL_INDEX, 1) : 0;
    struct sr_bytes decoded = sr_span_text(span, doc->data, scratch);
    texts->all += decoded.p ? decoded.n : span->end - span->start;
    if (!decoded.p || decoded.n == 0)
        return;
    struct sr_response_text *text = find_text(texts, part ? AT_TEXT : span->id, choice, call);
    size_t room = SR_RESPONSE_TEXT_MAX - texts->fresh;
    if (!text || decoded.n > room)
        return;
    if (part && text->bytes.len && decoded.n < room && sr_buf_append(&text->bytes, " ", 1) == SR_OK) {
        texts->fresh++;
        texts->all++;
    }
    if (sr_buf_append_bytes(&text->bytes, decoded) == SR_OK)
        texts->fresh += decoded.n;
}

bool sr_response_texts_add(struct sr_response_texts *texts, struct sr_bytes json, struct sr_arena *scratch)
{
    struct doc doc = {.n = 0};
    bool read = read_doc(texts->paths, json, scratch, &doc);
    if (read)
        read_members(texts, &doc);
    for (size_t i = 0; read && i < doc.n; i++) {
        const struct sr_span *span = &doc.spans[i];
        if (span->id >= AT_TEXT && span->kind == SR_JSON_STRING)
            add_text(texts, &doc, span, scratch);
        else if (span->id == AT_CHOICE)
            mark(&texts->choices, number_of(&doc, span, AT_INDEX, 0));
        else if (span->id == AT_FINISH && span->kind == SR_JSON_STRING)
            mark(&texts->finished, number_of(&doc, span, AT_INDEX, 0));
    }
    sr_arena_dispose(scratch);
    return read;
}

int sr_response_texts_turns(const struct sr_response_texts *texts, struct sr_arena *arena,
                            struct sr_signal_turn **turns, size_t *n)
{
    *n = 0;
    *turns = sr_arena_calloc(arena, texts->n + 1, sizeof **turns);
    if (!*turns)
        return SR_ENOMEM;
    for (size_t i = 0; i < texts->n; i++) {
        const struct sr_response_text *text = &texts->items[i];
        if (text->bytes.len > text->read)
            (*turns)[(*n)++] = (struct sr_signal_turn){
                .role = SR_ROLE_ASSISTANT, .current = true, .text = sr_buf_view(&text->bytes)};
    }
    return SR_OK;
}

void sr_response_texts_taken(struct sr_response_texts *texts, size_t context)
{
    for (size_t i = 0; i < texts->n; i++) {
        struct sr_buf *bytes = &texts->items[i].bytes;
        size_t cut = bytes->len > context ? bytes->len - context : 0;
        while (cut && cut < bytes->len && ((unsigned char)bytes->data[cut] & 0xc0) == 0x80)
            cut++; /* not inside a character */
        sr_buf_consume(bytes, cut);
        texts->items[i].read = bytes->len;
    }
    texts->fresh = 0;
}
