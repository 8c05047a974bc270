/* Sessions from texts: agents, documents and questions, single prompts; and what one cache would do. */
#include "bench/pool_workload.h"

#include "base/grow.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "bench/pool_texts.h"
#include "mock/engine/cache.h"
#include "mock/engine/prompt.h"

#define BODY_MAX      ((size_t)4 << 20)
#define ANSWER_MIN    4
#define ANSWER_MAX    64
#define RAG_ANSWER    32
#define CHAT_ANSWER   48
#define AGENT_PAUSE   500 /* ms until a tool or a person has answered */
#define AGENT_EVERY   600 /* ms between two new sessions, on average */
#define REQUEST_EVERY 50  /* ms between two new requests */
#define TOOLS_MAX     64

/* ---- chance, the same in every run ------------------------------------------------------------------ */

static uint64_t draw(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

/* The state of a workload's chance. */
static uint64_t chance_of(uint64_t own, uint64_t seed)
{
    return own + seed * UINT64_C(0x9e3779b97f4a7c15);
}

/* The text that is the first one. */
static size_t first_of(uint64_t seed, size_t n)
{
    return n ? (size_t)(seed * 7907 % n) : 0;
}

static double draw_unit(uint64_t *state)
{
    return (double)(draw(state) >> 11) / 9007199254740992.0;
}

/* A rank below n, the first ones more often: Zipf's law. */
static size_t draw_rank(uint64_t *state, size_t n)
{
    double sum = 0, at;
    for (size_t i = 0; i < n; i++)
        sum += 1.0 / (double)(i + 1);
    at = draw_unit(state) * sum;
    for (size_t i = 0; i < n; i++)
        if ((at -= 1.0 / (double)(i + 1)) < 0)
            return i;
    return n - 1;
}

/* Uniform between half and one and a half times `mean`: arrivals that are neither even nor in bursts. */
static uint64_t draw_gap(uint64_t *state, uint64_t mean)
{
    return mean / 2 + draw(state) % (mean + 1);
}

/* ---- bodies ----------------------------------------------------------------------------------------- */

static int add_session(struct sr_bench_workload *w, uint64_t start_ms, struct sr_bench_session **out)
{
    int rc = sr_grow(&w->sessions, &w->cap, w->n + 1, sizeof *w->sessions, SR_GROW_NO_MAX);
    if (rc != SR_OK)
        return rc;
    *out = &w->sessions[w->n++];
    **out = (struct sr_bench_session){.start_ms = start_ms};
    return SR_OK;
}

/* Takes what `out` holds so far as a body. */
static int add_turn(struct sr_bench_session *session, struct sr_buf *out, uint32_t answer, uint32_t pause_ms)
{
    int rc = sr_grow(&session->turns, &session->cap, session->n + 1, sizeof *session->turns, SR_GROW_NO_MAX);
    char *body = rc == SR_OK ? sr_mem_dup(out->data, out->len) : NULL;
    if (!body)
        return SR_ENOMEM;
    session->turns[session->n++] =
        (struct sr_bench_turn){.body = body, .n = out->len, .answer = answer, .pause_ms = pause_ms};
    return SR_OK;
}

/* "{"model":..., "user":..., [tools], "messages":[" */
static int open_body(struct sr_buf *out, size_t session, struct sr_bytes tools, uint32_t answer)
{
    sr_buf_clear(out);
    return sr_buf_printf(out,
                         "{\"model\":\"pool\",\"user\":\"session-%zu\",\"stream\":true,\"stream_options\":"
                         "{\"include_usage\":true},\"max_tokens\":%u,\"ignore_eos\":true,%.*s\"messages\":[",
                         session, answer, (int)tools.n, tools.p);
}

static int put_message(struct sr_buf *out, bool first, const char *role, struct sr_bytes content)
{
    int rc = sr_buf_printf(out, "%s{\"role\":\"%s\",\"content\":\"", first ? "" : ",", role);
    if (rc == SR_OK)
        rc = sr_buf_append_json(out, content);
    return rc == SR_OK ? sr_buf_append_bytes(out, SR_LIT("\"}")) : rc;
}

/* ---- agents ----------------------------------------------------------------------------------------- */

/* A list of the functions that are called anywhere, with the names of their arguments as far as one call has
 * them: the data has no list of its own. */
static int put_tools(const struct sr_bench_texts *texts, struct sr_buf *out)
{
    struct sr_bytes seen[TOOLS_MAX];
    size_t n = 0;
    int rc = sr_buf_append_bytes(out, SR_LIT("\"tools\":["));
    for (size_t a = 0; a < texts->n_agents; a++)
        for (size_t m = 0; m < sr_doc_size(texts->agents[a]); m++) {
            const sr_doc_value *calls = sr_doc_get(sr_doc_at(texts->agents[a], m), "tool_calls");
            const sr_doc_value *function = sr_doc_get(sr_doc_at(calls, 0), "function");
            struct sr_bytes name = sr_doc_string(sr_doc_get(function, "name"));
            bool known = !name.p || n == TOOLS_MAX;
            for (size_t i = 0; i < n && !known; i++)
                known = sr_bytes_eq(seen[i], name);
            if (known || rc != SR_OK)
                continue;
            rc = sr_buf_printf(
                out,
                "%s{\"type\":\"function\",\"function\":{\"name\":\"%.*s\",\"parameters\":{\"type\":"
                "\"object\",\"examples\":[\"",
                n ? "," : "", (int)name.n, name.p);
            if (rc == SR_OK)
                rc = sr_buf_append_json(out, sr_doc_string(sr_doc_get(function, "arguments")));
            if (rc == SR_OK)
                rc = sr_buf_append_bytes(out, SR_LIT("\"]}}}"));
            seen[n++] = name;
        }
    return rc == SR_OK ? sr_buf_append_bytes(out, SR_LIT("],")) : rc;
}

static uint32_t tokens_of(struct sr_bytes text)
{
    struct sr_mock_tokens tokens;
    sr_mock_tokens_init(&tokens, ANSWER_MAX);
    uint32_t n = sr_mock_tokens_text(&tokens, text) == SR_OK ? (uint32_t)tokens.n : ANSWER_MAX;
    sr_mock_tokens_dispose(&tokens);
    return n < ANSWER_MIN ? ANSWER_MIN : n;
}

/* Every message of the assistant is an answer to all before it. */
static int put_trajectory(struct sr_bench_session *session, size_t number, const sr_doc_value *messages,
                          struct sr_bytes tools, struct sr_buf *out)
{
    struct sr_buf so_far;
    int rc = SR_OK;
    sr_buf_init(&so_far, BODY_MAX);
    for (size_t i = 0; i < sr_doc_size(messages) && rc == SR_OK; i++) {
        const sr_doc_value *message = sr_doc_at(messages, i);
        size_t before = so_far.len;
        if (i > 0)
            rc = sr_buf_append(&so_far, ",", 1);
        if (rc == SR_OK)
            rc = sr_doc_dump(message, &so_far);
        if (rc != SR_OK || i == 0 ||
            !sr_bytes_eq(sr_doc_string(sr_doc_get(message, "role")), SR_LIT("assistant")))
            continue;
        uint32_t answer = tokens_of(sr_bytes_of(so_far.data + before, so_far.len - before));
        rc = open_body(out, number, tools, answer);
        if (rc == SR_OK)
            rc = sr_buf_append(out, so_far.data, before);
        if (rc == SR_OK)
            rc = sr_buf_append_bytes(out, SR_LIT("]}"));
        if (rc == SR_OK)
            rc = add_turn(session, out, answer, AGENT_PAUSE);
    }
    sr_buf_dispose(&so_far);
    return rc;
}

static int make_agents(struct sr_bench_workload *w, const struct sr_bench_texts *texts, size_t requests,
                       uint64_t seed, struct sr_buf *out)
{
    struct sr_buf tools;
    uint64_t chance = chance_of(19, seed), at = 0;
    size_t first = first_of(seed, texts->n_agents);
    size_t made = 0;
    sr_buf_init(&tools, BODY_MAX);
    int rc = put_tools(texts, &tools);
    for (size_t i = 0; i < texts->n_agents && made < requests && rc == SR_OK; i++) {
        struct sr_bench_session *session;
        rc = add_session(w, at, &session);
        if (rc == SR_OK)
            rc = put_trajectory(session, i, texts->agents[(first + i) % texts->n_agents], sr_buf_view(&tools),
                                out);
        made += rc == SR_OK ? session->n : 0;
        at += draw_gap(&chance, AGENT_EVERY);
    }
    sr_buf_dispose(&tools);
    return rc;
}

/* ---- documents and questions ------------------------------------------------------------------------ */

/* Another question that the documents of `context` answer: that of a context whose gold document is here. */
static struct sr_bytes pick_question(const struct sr_bench_texts *texts,
                                     const struct sr_bench_context *context, uint64_t *chance)
{
    struct sr_bytes found[SR_BENCH_RAG_DOCS_MAX] = {context->question};
    size_t n = 1;
    for (size_t i = 0; i < texts->n_contexts && n < SR_BENCH_RAG_DOCS_MAX; i++) {
        const struct sr_bench_context *other = &texts->contexts[i];
        for (size_t d = 0; d < context->n_docs && other != context; d++)
            if (sr_bytes_eq(other->docs[other->gold], context->docs[d])) {
                found[n++] = other->question;
                break;
            }
    }
    return found[draw(chance) % n];
}

static int put_context(struct sr_buf *out, const struct sr_bench_context *context, size_t shift)
{
    int rc = sr_buf_append_bytes(out, SR_LIT("{\"role\":\"system\",\"content\":\""));
    if (rc == SR_OK)
        rc = sr_buf_append_json(out, context->intro);
    for (size_t i = 0; i < context->n_docs && rc == SR_OK; i++) {
        /* The best document stays first; the others change their order with `shift`. */
        size_t rest = context->n_docs - 1, at = context->gold;
        if (i > 0)
            at = (context->gold + 1 + (i - 1 + shift) % rest) % context->n_docs;
        rc = sr_buf_printf(out, "\\n\\nDocument %zu: ", i + 1);
        if (rc == SR_OK)
            rc = sr_buf_append_json(out, context->docs[at]);
    }
    return rc == SR_OK ? sr_buf_append_bytes(out, SR_LIT("\"}")) : rc;
}

static int put_question(struct sr_buf *out, struct sr_bytes question, size_t form)
{
    static const char *const forms[][2] = {
        {"", ""},
        {"Could you tell me this, please: ", ""},
        {"I was wondering about the following. ", " Thank you."},
        {"In a few words: ", ""},
        {"A colleague asked me this and I was not sure. ", " What should I say?"},
        {"Please explain. ", ""},
    };
    struct sr_buf text;
    sr_buf_init(&text, BODY_MAX);
    const char *const *of = forms[form % (sizeof forms / sizeof forms[0])];
    int rc = sr_buf_printf(&text, "%s%.*s%s", of[0], (int)question.n, question.p, of[1]);
    if (rc == SR_OK)
        rc = put_message(out, false, "user", sr_buf_view(&text));
    sr_buf_dispose(&text);
    return rc;
}

/* Popular documents are asked about more often. Paraphrases have one question in several forms, and the
 * documents after the first in several orders, as a search would give them. */
static int make_rag(struct sr_bench_workload *w, const struct sr_bench_texts *texts, size_t requests,
                    bool paraphrases, uint64_t seed, struct sr_buf *out)
{
    uint64_t chance = chance_of(23, seed), at = 0;
    size_t first = first_of(seed, texts->n_contexts);
    int rc = SR_OK;
    for (size_t i = 0; i < requests && rc == SR_OK; i++) {
        /* The order of the file is one of topics: spread the popular ones. */
        size_t rank = draw_rank(&chance, texts->n_contexts);
        const struct sr_bench_context *context = &texts->contexts[(first + rank * 7919) % texts->n_contexts];
        struct sr_bytes question = paraphrases ? context->question : pick_question(texts, context, &chance);
        size_t form = paraphrases ? draw(&chance) % 6 : 0;
        struct sr_bench_session *session;
        rc = add_session(w, at, &session);
        if (rc == SR_OK)
            rc = open_body(out, i, SR_LIT(""), RAG_ANSWER);
        if (rc == SR_OK)
            rc = put_context(out, context, form % 2);
        if (rc == SR_OK)
            rc = put_question(out, question, form);
        if (rc == SR_OK)
            rc = sr_buf_append_bytes(out, SR_LIT("]}"));
        if (rc == SR_OK)
            rc = add_turn(session, out, RAG_ANSWER, 0);
        at += draw_gap(&chance, REQUEST_EVERY);
    }
    return rc;
}

static int make_chat(struct sr_bench_workload *w, const struct sr_bench_texts *texts, size_t requests,
                     uint64_t seed, struct sr_buf *out)
{
    uint64_t chance = chance_of(29, seed), at = 0;
    size_t first = first_of(seed, texts->n_prompts);
    int rc = SR_OK;
    for (size_t i = 0; i < requests && i < texts->n_prompts && rc == SR_OK; i++) {
        struct sr_bench_session *session;
        rc = add_session(w, at, &session);
        if (rc == SR_OK)
            rc = open_body(out, i, SR_LIT(""), CHAT_ANSWER);
        if (rc == SR_OK)
            rc = put_message(out, true, "user", texts->prompts[(first + i) % texts->n_prompts]);
        if (rc == SR_OK)
            rc = sr_buf_append_bytes(out, SR_LIT("]}"));
        if (rc == SR_OK)
            rc = add_turn(session, out, CHAT_ANSWER, 0);
        at += draw_gap(&chance, REQUEST_EVERY);
    }
    return rc;
}

/* ---- one cache -------------------------------------------------------------------------------------- */

struct one_cache {
    struct sr_mock_cache *cache;
    struct sr_mock_prompts *prompts;
    struct sr_mock_tokens tokens;
    uint64_t hashes[SR_BENCH_POOL_PROMPT_MAX / SR_MOCK_BLOCK + 1];
    uint32_t table[SR_BENCH_POOL_PROMPT_MAX / SR_MOCK_BLOCK + 1];
};

/* The tokens of a turn; SR_ELIMIT when it has too many. */
static int read_turn(struct one_cache *one, const struct sr_bench_turn *turn, struct sr_err *err)
{
    struct sr_mock_prompt prompt;
    struct sr_arena arena;
    sr_arena_init(&arena, (size_t)64 << 20);
    one->tokens.n = 0;
    int rc = sr_mock_prompt_read(one->prompts, sr_bytes_of(turn->body, turn->n), &arena, &one->tokens,
                                 &prompt, err);
    sr_arena_dispose(&arena);
    return rc;
}

static void count_turn(struct sr_bench_workload *w, struct one_cache *one, uint32_t answer)
{
    size_t n = one->tokens.n, full = n / SR_MOCK_BLOCK, idle = 0;
    for (size_t i = 0; i < full; i++)
        one->hashes[i] =
            sr_mock_block_hash(i ? &one->hashes[i - 1] : NULL, &one->tokens.ids[i * SR_MOCK_BLOCK]);
    size_t hits = sr_mock_cache_match(one->cache, one->hashes, full, &idle);
    size_t usable = hits * SR_MOCK_BLOCK == n ? hits - 1 : hits;
    sr_mock_cache_hold(one->cache, one->hashes, hits, one->table);
    for (size_t i = hits; i < full; i++)
        if (sr_mock_cache_take(one->cache, &one->table[i]) != SR_OK)
            full = i;
    sr_mock_cache_commit(one->cache, one->table, one->hashes, one->tokens.ids, hits, full);
    sr_mock_cache_release(one->cache, one->table, full);
    size_t blocks = (n + answer + SR_MOCK_BLOCK - 1) / SR_MOCK_BLOCK;
    w->largest_blocks = blocks > w->largest_blocks ? blocks : w->largest_blocks;
    w->requests++;
    w->prompt_tokens += n;
    w->cached_tokens += usable * SR_MOCK_BLOCK;
}

/* Counts all turns; a session ends before its first turn that is too long. */
static int count_all(struct sr_bench_workload *w, struct sr_err *err)
{
    static struct one_cache one;
    one = (struct one_cache){0};
    sr_mock_tokens_init(&one.tokens, SR_BENCH_POOL_PROMPT_MAX);
    int rc = sr_mock_cache_new(&one.cache, (size_t)1 << 18, NULL);
    if (rc == SR_OK)
        rc = sr_mock_prompts_new(&one.prompts, err);
    for (size_t s = 0; s < w->n && rc == SR_OK; s++) {
        struct sr_bench_session *session = &w->sessions[s];
        for (size_t t = 0; t < session->n && rc == SR_OK; t++) {
            rc = read_turn(&one, &session->turns[t], err);
            if (rc == SR_ELIMIT) {
                while (session->n > t)
                    sr_mem_free(session->turns[--session->n].body);
                rc = SR_OK;
            } else if (rc == SR_OK) {
                count_turn(w, &one, session->turns[t].answer);
            }
        }
    }
    w->distinct_blocks = rc == SR_OK ? sr_mock_cache_stored(one.cache) : 0;
    sr_mock_tokens_dispose(&one.tokens);
    sr_mock_prompts_free(one.prompts);
    sr_mock_cache_free(one.cache);
    return rc;
}

int sr_bench_workload_make(struct sr_bench_workload *workload, int which, const char *data, size_t requests,
                           uint64_t seed, struct sr_err *err)
{
    static const char *const names[] = {"agents", "rag", "paraphrases", "chat"};
    struct sr_bench_texts texts;
    struct sr_buf out;
    *workload = (struct sr_bench_workload){.name = names[which]};
    sr_buf_init(&out, BODY_MAX);
    int rc = sr_bench_texts_read(&texts, data, err);
    if (rc == SR_OK && which == SR_BENCH_AGENTS)
        rc = make_agents(workload, &texts, requests, seed, &out);
    else if (rc == SR_OK && which == SR_BENCH_CHAT)
        rc = make_chat(workload, &texts, requests, seed, &out);
    else if (rc == SR_OK)
        rc = make_rag(workload, &texts, requests, which == SR_BENCH_PARAPHRASES, seed, &out);
    if (rc == SR_OK)
        rc = count_all(workload, err);
    sr_buf_dispose(&out);
    sr_bench_texts_dispose(&texts);
    return rc;
}

void sr_bench_workload_dispose(struct sr_bench_workload *workload)
{
    for (size_t s = 0; s < workload->n; s++) {
        for (size_t t = 0; t < workload->sessions[s].n; t++)
            sr_mem_free(workload->sessions[s].turns[t].body);
        sr_mem_free(workload->sessions[s].turns);
    }
    sr_mem_free(workload->sessions);
    *workload = (struct sr_bench_workload){0};
}
