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

/* The bytes of the prompt, as up to PARTS_MAX runs of the body. */
struct prompt {
    struct sr_bytes parts[PARTS_MAX];
    size_t n, bytes;
};

static const uint16_t ORDER[] = {SR_AT_TOOLS, SR_AT_SYSTEM, SR_AT_MESSAGES, SR_AT_PROMPT};

static void prompt_find(struct prompt *prompt, const struct sr_request *doc)
{
    const struct sr_span *found[PARTS_MAX] = {NULL};
    for (size_t i = 0; i < doc->n_spans; i++) {
        if (!sr_request_is_top(&doc->spans[i]))
            continue;
        for (size_t k = 0; k < PARTS_MAX; k++)
            if (doc->spans[i].id == ORDER[k])
                found[k] = &doc->spans[i];
    }
    for (size_t k = 0; k < PARTS_MAX; k++) {
        if (!found[k] || found[k]->flags & SR_SPAN_OPEN)
            continue;
        struct sr_bytes raw = sr_span_raw(found[k], doc->body);
        raw.n -= raw.n > 0 && ORDER[k] == SR_AT_MESSAGES; /* the bracket */
        prompt->parts[prompt->n++] = raw;
        prompt->bytes += raw.n;
    }
}

/* The next `size` bytes from a position in the parts, which moves: borrowed, or joined in `room`. */
static struct sr_bytes next_block(const struct prompt *prompt, size_t *part, size_t *at, size_t size,
                                  char *room)
{
    struct sr_bytes rest = {prompt->parts[*part].p + *at, prompt->parts[*part].n - *at};
    if (rest.n >= size) {
        *at += size;
        return sr_bytes_of(rest.p, size);
    }
    for (size_t n = 0; n < size;) {
        size_t left = prompt->parts[*part].n - *at, take = left < size - n ? left : size - n;
        memcpy(room + n, prompt->parts[*part].p + *at, take);
        n += take;
        *at += take;
        if (n < size) {
            (*part)++;
            *at = 0;
        }
    }
    return sr_bytes_of(room, size);
}

static int hash_blocks(const struct sr_ask_inputs *in, const struct prompt *prompt, struct sr_arena *arena,
                       struct sr_pool_ask *out)
{
    size_t size = (size_t)in->block_tokens * SR_ASK_TOKEN_BYTES, part = 0, at = 0;
    size_t n = size ? prompt->bytes / size : 0;
    n = n < SR_ASK_BLOCKS_MAX ? n : SR_ASK_BLOCKS_MAX;
    uint64_t *blocks = sr_arena_alloc(arena, (n + 1) * sizeof *blocks);
    char *room = sr_arena_alloc(arena, size + 1);
    if (!blocks || !room)
        return SR_ENOMEM;
    uint64_t hash = in->seed;
    for (size_t i = 0; i < n; i++) {
        hash = sr_hash64(next_block(prompt, &part, &at, size, room), hash);
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
    struct prompt prompt = {.n = 0};
    *out = (struct sr_pool_ask){0};
    if (in->needs & SR_POOL_NEEDS_SESSION)
        out->session = session_of(in);
    if (!(in->needs & SR_POOL_NEEDS_BLOCKS))
        return SR_OK;
    prompt_find(&prompt, in->doc);
    out->prompt_tokens = prompt.bytes / SR_ASK_TOKEN_BYTES;
    out->answer_tokens = answer_tokens(in->doc);
    return hash_blocks(in, &prompt, arena, out);
}
