/*
 * The prompt is taken as bytes of JSON in the order in which chat templates put them: tools, instructions,
 * messages. A conversation that grows has the same bytes in front, but for the bracket that ended its
 * messages; so its blocks are the same.
 */
#include "router/pick/ask.h"

#include "base/hash.h"

#define PARTS_MAX         4
#define ANSWER_TOKENS     256 /* of a request that has no limit */
#define ANSWER_TOKENS_MAX 131072

static const uint16_t ORDER[PARTS_MAX] = {SR_AT_TOOLS, SR_AT_SYSTEM, SR_AT_MESSAGES, SR_AT_PROMPT};

/* The end of the string that begins at `at`, behind its quote. The body is valid JSON. */
static size_t string_end(struct sr_bytes raw, size_t at)
{
    for (size_t i = at + 1; i < raw.n; i++)
        if (raw.p[i] == '\\')
            i++;
        else if (raw.p[i] == '"')
            return i + 1;
    return raw.n;
}

/* Copies JSON without the white space between its tokens, which clients write as they like. Returns the
 * bytes written. */
static size_t squeeze(struct sr_bytes raw, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < raw.n;) {
        if (raw.p[i] == '"') {
            size_t end = string_end(raw, i);
            memcpy(out + n, raw.p + i, end - i);
            n += end - i;
            i = end;
        } else {
            char c = raw.p[i++];
            out[n] = c;
            n += c != ' ' && c != '\n' && c != '\r' && c != '\t';
        }
    }
    return n;
}

/* The bytes of the prompt; `p` NULL: out of memory. */
static struct sr_bytes prompt_of(const struct sr_request *doc, struct sr_arena *arena)
{
    const struct sr_span *found[PARTS_MAX] = {NULL};
    size_t size = 0, n = 0;
    for (size_t i = 0; i < doc->n_spans; i++)
        for (size_t k = 0; k < PARTS_MAX; k++)
            if (doc->spans[i].id == ORDER[k] && sr_request_is_top(&doc->spans[i]) &&
                !(doc->spans[i].flags & SR_SPAN_OPEN))
                found[k] = &doc->spans[i];
    for (size_t k = 0; k < PARTS_MAX; k++)
        size += found[k] ? found[k]->end - found[k]->start : 0;
    char *out = sr_arena_alloc(arena, size + 1);
    for (size_t k = 0; out && k < PARTS_MAX; k++) {
        if (!found[k])
            continue;
        n += squeeze(sr_span_raw(found[k], doc->body), out + n);
        n -= n > 0 && ORDER[k] == SR_AT_MESSAGES; /* the bracket */
    }
    return (struct sr_bytes){out, n};
}

static int hash_blocks(const struct sr_ask_inputs *in, struct sr_bytes prompt, struct sr_arena *arena,
                       struct sr_pool_ask *out)
{
    size_t size = (size_t)in->block_tokens * SR_ASK_TOKEN_BYTES, n = size ? prompt.n / size : 0;
    n = n < SR_ASK_BLOCKS_MAX ? n : SR_ASK_BLOCKS_MAX;
    uint64_t *blocks = sr_arena_alloc(arena, (n + 1) * sizeof *blocks);
    if (!blocks)
        return SR_ENOMEM;
    uint64_t hash = in->seed;
    for (size_t i = 0; i < n; i++) {
        hash = sr_hash64(sr_bytes_of(prompt.p + i * size, size), hash);
        blocks[i] = hash;
    }
    out->blocks = blocks;
    out->n_blocks = n;
    return SR_OK;
}

/* A number of the body; 0: it is none. */
static uint64_t number_of(const struct sr_request *doc, uint32_t span)
{
    uint64_t value = 0;
    if (span == SR_SPAN_NONE || doc->spans[span].kind != SR_JSON_NUMBER)
        return 0;
    struct sr_bytes raw = sr_span_raw(&doc->spans[span], doc->body);
    for (size_t i = 0; i < raw.n && raw.p[i] >= '0' && raw.p[i] <= '9' && value < ANSWER_TOKENS_MAX; i++)
        value = value * 10 + (uint64_t)(raw.p[i] - '0');
    return value < ANSWER_TOKENS_MAX ? value : ANSWER_TOKENS_MAX;
}

static uint64_t answer_tokens(const struct sr_request *doc)
{
    uint64_t most = number_of(doc, doc->at.max_completion_tokens);
    most = most ? most : number_of(doc, doc->at.max_tokens);
    return most && most < ANSWER_TOKENS ? most : ANSWER_TOKENS;
}

static struct sr_bytes user_of(const struct sr_request *doc)
{
    for (size_t i = 0; i < doc->n_spans; i++) {
        const struct sr_span *span = &doc->spans[i];
        if (span->id == SR_AT_USER && span->kind == SR_JSON_STRING && sr_request_is_top(span))
            return sr_span_raw(span, doc->body);
    }
    return SR_LIT("");
}

static uint64_t session_of(const struct sr_ask_inputs *in)
{
    struct sr_bytes name = in->session.n ? in->session : user_of(in->doc);
    name = name.n ? name : in->user;
    return name.n ? sr_hash64(name, 0) | 1 : 0;
}

int sr_ask_make(const struct sr_ask_inputs *in, struct sr_arena *arena, struct sr_pool_ask *out)
{
    *out = (struct sr_pool_ask){0};
    if (in->needs & SR_POOL_NEEDS_SESSION)
        out->session = session_of(in);
    if (!(in->needs & SR_POOL_NEEDS_BLOCKS))
        return SR_OK;
    struct sr_bytes prompt = prompt_of(in->doc, arena);
    if (!prompt.p)
        return SR_ENOMEM;
    out->prompt_tokens = prompt.n / SR_ASK_TOKEN_BYTES;
    out->answer_tokens = answer_tokens(in->doc);
    return hash_blocks(in, prompt, arena, out);
}
