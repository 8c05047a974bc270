/* Traces of lengths, from texts and from published shares; the plan; its tables. */
#include "bench/pool_plan.h"

#include "base/buf.h"
#include "base/grow.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "bench/bench.h"
#include "bench/pool_texts.h"

#include <math.h>
#include <stdio.h>

#define PREFILL_MS  0.1
#define STEP_MS     10.0
#define SEQUENCE_MS 0.1
#define CACHED_COST 0.1  /* of a cached token, for one that is computed */
#define USED        0.85 /* share of its time that a GPU is planned to work */
#define SEQUENCES   256  /* most at once where blocks do not limit them (vLLM's --max-num-seqs) */

#define TOKEN_BYTES  4
#define ANSWER       256   /* tokens, where the texts have no answers */
#define GENERATED    20000 /* requests of a generated trace */
#define ANSWER_SHARE 0.2   /* of the tokens of a generated request */
#define TRACES_MAX   8
#define JSON_MAX     ((size_t)1 << 20)

static const uint64_t SPLITS[] = {1024, 2048, 4096, 8192, 16384, 32768};
/* Of prompts: none; chats with a long system prompt; agents behind llm-d (the seed, fourth text). */
static const double CACHED[] = {0, 0.75, 0.874};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- the plan ---- */

static double time_of(const struct sr_plan_request *r, double sequences, double cached)
{
    double prefill = PREFILL_MS * r->prompt * (1 - (1 - CACHED_COST) * cached);
    return prefill + r->answer * (STEP_MS + SEQUENCE_MS * sequences) / sequences;
}

static double at_least_one(double n)
{
    return n < 1 ? 1 : n > SEQUENCES ? SEQUENCES : n;
}

/* Sequences at once where each may become `longest` tokens. */
static double reserved(const struct sr_plan_settings *s, uint64_t longest)
{
    return at_least_one(floor((double)s->kv_tokens / (double)longest));
}

/* A pool of the requests that are short, or of those that are not, or of all. */
struct pool {
    const struct sr_plan_request *requests;
    size_t n;
    uint64_t from, to; /* tokens of the requests: above `from`, up to `to` */
};

static bool is_in(const struct pool *pool, const struct sr_plan_request *r)
{
    double tokens = r->prompt + r->answer;
    return tokens > (double)pool->from && tokens <= (double)pool->to;
}

/* Milliseconds of a GPU for a request of the trace, over all of the trace. */
static double mean_time(const struct pool *pool, double sequences, double cached)
{
    double sum = 0;
    for (size_t i = 0; i < pool->n; i++)
        sum += is_in(pool, &pool->requests[i]) ? time_of(&pool->requests[i], sequences, cached) : 0;
    return pool->n ? sum / (double)pool->n : 0;
}

/* Sequences at once where each holds the blocks that it has used so far: for its steps, the prompt and half
 * of the answer. */
static double used(const struct sr_plan_settings *s, const struct pool *pool)
{
    double steps = 0, held = 0;
    for (size_t i = 0; i < pool->n; i++) {
        const struct sr_plan_request *r = &pool->requests[i];
        if (!is_in(pool, r))
            continue;
        steps += r->answer;
        held += r->answer * (r->prompt + r->answer / 2);
    }
    return at_least_one(held > 0 ? floor((double)s->kv_tokens * steps / held) : SEQUENCES);
}

static double gpus(const struct sr_plan_settings *s, double mean_ms)
{
    return s->rate * mean_ms / 1000 / USED;
}

static struct sr_plan plan_at(const struct sr_plan_settings *s, const struct sr_plan_request *requests,
                              size_t n, double cached, uint64_t split)
{
    struct pool all = {requests, n, 0, UINT64_MAX}, low = {requests, n, 0, split},
                high = {requests, n, split, UINT64_MAX};
    struct sr_plan plan = {.split = split};
    double wide = reserved(s, split), narrow = reserved(s, s->longest);
    double one = mean_time(&all, narrow, cached), low_in_one = mean_time(&low, narrow, cached);
    double low_alone = mean_time(&low, wide, cached), rest = mean_time(&high, narrow, cached);
    for (size_t i = 0; i < n; i++)
        plan.requests += is_in(&low, &requests[i]) / (double)n;
    plan.time = one > 0 ? low_in_one / one : 0;
    plan.gain = low_alone > 0 ? low_in_one / low_alone : 1;
    plan.one = gpus(s, one);
    plan.two = gpus(s, low_alone) + gpus(s, rest);
    plan.one_gpus = (uint64_t)ceil(plan.one);
    plan.short_gpus = (uint64_t)ceil(gpus(s, low_alone));
    plan.long_gpus = (uint64_t)ceil(gpus(s, rest));
    plan.saved = plan.one > 0 ? 1 - plan.two / plan.one : 0;
    double paged = mean_time(&all, used(s, &all), cached);
    double paged_two = mean_time(&low, used(s, &low), cached) + mean_time(&high, used(s, &high), cached);
    plan.saved_paged = paged > 0 ? 1 - paged_two / paged : 0;
    return plan;
}

struct sr_plan sr_plan_make(const struct sr_plan_settings *s, const struct sr_plan_request *requests,
                            size_t n, double cached)
{
    if (s->split)
        return plan_at(s, requests, n, cached, s->split);
    struct sr_plan best = {.saved = -1};
    for (size_t i = 0; i < COUNT(SPLITS); i++) {
        if (SPLITS[i] >= s->longest)
            break;
        struct sr_plan plan = plan_at(s, requests, n, cached, SPLITS[i]);
        if (plan.saved > best.saved)
            best = plan;
    }
    return best;
}

/* ---- traces ---- */

struct trace {
    const char *name;
    struct sr_plan_request *requests;
    size_t n, cap;
};

static int add(struct trace *trace, double prompt, double answer)
{
    int rc = sr_grow(&trace->requests, &trace->cap, trace->n + 1, sizeof *trace->requests, SR_GROW_NO_MAX);
    if (rc == SR_OK)
        trace->requests[trace->n++] = (struct sr_plan_request){prompt, answer};
    return rc;
}

/* A share of the requests, whose tokens are spread evenly over the logarithm of their number. */
struct band {
    double share, from, to;
};

static int generate(struct trace *trace, const char *name, const struct band *bands, size_t n)
{
    int rc = SR_OK;
    trace->name = name;
    for (size_t b = 0; b < n; b++) {
        size_t count = (size_t)(bands[b].share * GENERATED + 0.5);
        for (size_t i = 0; i < count && rc == SR_OK; i++) {
            double tokens =
                bands[b].from * pow(bands[b].to / bands[b].from, ((double)i + 0.5) / (double)count);
            rc = add(trace, tokens * (1 - ANSWER_SHARE), tokens * ANSWER_SHARE);
        }
    }
    return rc;
}

/* Each call of the model: the JSON of what was said before, and of what it answered. */
static int add_agent(struct trace *trace, const sr_doc_value *messages)
{
    struct sr_buf said;
    int rc = SR_OK;
    sr_buf_init(&said, JSON_MAX);
    for (size_t i = 0; i < sr_doc_size(messages) && rc == SR_OK; i++) {
        const sr_doc_value *message = sr_doc_at(messages, i);
        size_t before = said.len;
        rc = sr_doc_dump(message, &said);
        bool answer = sr_bytes_eq(sr_doc_string(sr_doc_get(message, "role")), SR_LIT("assistant"));
        if (answer && i > 0 && rc == SR_OK)
            rc = add(trace, (double)before / TOKEN_BYTES, (double)(said.len - before) / TOKEN_BYTES);
    }
    sr_buf_dispose(&said);
    return rc;
}

static int read_texts(struct trace *traces, const char *data, struct sr_err *err)
{
    struct sr_bench_texts texts;
    struct trace *agents = &traces[0], *rag = &traces[1], *chat = &traces[2], *all = &traces[3];
    int rc = sr_bench_texts_read(&texts, data, err);
    agents->name = "agents", rag->name = "rag", chat->name = "chat", all->name = "the three";
    for (size_t i = 0; i < texts.n_agents && rc == SR_OK; i++)
        rc = add_agent(agents, texts.agents[i]);
    for (size_t i = 0; i < texts.n_contexts && rc == SR_OK; i++) {
        const struct sr_bench_context *context = &texts.contexts[i];
        double bytes = (double)(context->intro.n + context->question.n);
        for (size_t k = 0; k < context->n_docs; k++)
            bytes += (double)context->docs[k].n;
        rc = add(rag, bytes / TOKEN_BYTES, ANSWER);
    }
    for (size_t i = 0; i < texts.n_prompts && rc == SR_OK; i++)
        rc = add(chat, (double)texts.prompts[i].n / TOKEN_BYTES, ANSWER);
    for (size_t t = 0; t < 3; t++) /* as many of each */
        for (size_t i = 0; i < GENERATED / 4 && rc == SR_OK && traces[t].n; i++) {
            const struct sr_plan_request *r = &traces[t].requests[i % traces[t].n];
            rc = add(all, r->prompt, r->answer);
        }
    sr_bench_texts_dispose(&texts);
    return rc;
}

static int make_traces(struct trace *traces, size_t *n, const char *data, struct sr_err *err)
{
    /* arXiv 2604.09613: of the Azure trace 80 % have up to 2K tokens and 92 % up to 8K; in production 80 to
     * 95 % are short, up to 8K. */
    static const struct band azure[] = {{0.80, 64, 2048}, {0.12, 2048, 8192}, {0.08, 8192, 65536}};
    static const struct band most[] = {{0.80, 64, 8192}, {0.20, 8192, 65536}};
    static const struct band nearly[] = {{0.95, 64, 8192}, {0.05, 8192, 65536}};
    int rc = read_texts(traces, data, err);
    *n = 7;
    if (rc == SR_OK)
        rc = generate(&traces[4], "azure", azure, COUNT(azure));
    if (rc == SR_OK)
        rc = generate(&traces[5], "80 % short", most, COUNT(most));
    if (rc == SR_OK)
        rc = generate(&traces[6], "95 % short", nearly, COUNT(nearly));
    return rc;
}

/* ---- what is printed ---- */

static void put_row(struct sr_bench_table *table, const struct trace *trace, double cached,
                    const struct sr_plan *p)
{
    sr_bench_table_cell(table, "%s", trace->name);
    sr_bench_table_cell(table, "%.0f %%", cached * 100);
    sr_bench_table_cell(table, "%llu", (unsigned long long)p->split);
    sr_bench_table_cell(table, "%.1f %%", p->requests * 100);
    sr_bench_table_cell(table, "%.1f %%", p->time * 100);
    sr_bench_table_cell(table, "%.2f", p->gain);
    sr_bench_table_cell(table, "%llu", (unsigned long long)p->one_gpus);
    sr_bench_table_cell(table, "%llu + %llu", (unsigned long long)p->short_gpus,
                        (unsigned long long)p->long_gpus);
    sr_bench_table_cell(table, "%.1f %%", p->saved * 100);
    sr_bench_table_cell(table, "%.1f %%", p->saved_paged * 100);
}

static void print_table(const struct sr_plan_settings *s, const struct trace *traces, size_t n,
                        const char *data)
{
    static const char *const titles[] = {"trace", "cached",   "split",     "short, requests", "short, time",
                                         "gain",  "one pool", "two pools", "saved",           "saved, paged"};
    struct sr_bench_table *table = sr_mem_calloc(1, sizeof *table);
    if (!table)
        return;
    sr_bench_table_init(table, titles, COUNT(titles));
    for (size_t t = 0; t < n; t++)
        for (size_t c = 0; c < COUNT(CACHED); c++) {
            struct sr_plan plan = sr_plan_make(s, traces[t].requests, traces[t].n, CACHED[c]);
            put_row(table, &traces[t], CACHED[c], &plan);
        }
    printf("GPUs for %.0f requests a second, %llu tokens of KV cache each, requests of up to %llu tokens; "
           "texts: %s\n\n",
           s->rate, (unsigned long long)s->kv_tokens, (unsigned long long)s->longest,
           data ? data : "our own sample");
    sr_bench_table_print(table, stdout);
    printf(
        "\nsaved = alpha (1 - 1 / rho): alpha is `short, time`, rho is `gain`. The seed: 17 to 39 %%.\n"
        "paged: engines that admit requests by the blocks they use instead of the longest that may come.\n");
    sr_mem_free(table);
}

static void print_json(const struct sr_plan_settings *s, const struct trace *traces, size_t n,
                       const char *data)
{
    struct sr_buf out;
    sr_buf_init(&out, JSON_MAX);
    struct sr_json_writer w = sr_json_writer_of(&out);
    sr_json_object(&w, NULL);
    sr_json_bool(&w, "sample", data == NULL);
    sr_json_real(&w, "rate", "%.9g", s->rate);
    sr_json_uint(&w, "kv_tokens", s->kv_tokens);
    sr_json_uint(&w, "longest", s->longest);
    sr_json_array(&w, "rows");
    for (size_t t = 0; t < n; t++)
        for (size_t c = 0; c < COUNT(CACHED); c++) {
            struct sr_plan p = sr_plan_make(s, traces[t].requests, traces[t].n, CACHED[c]);
            sr_json_object(&w, NULL);
            sr_json_text(&w, "trace", traces[t].name);
            sr_json_uint(&w, "requests", traces[t].n);
            sr_json_real(&w, "cached", "%.9g", CACHED[c]);
            sr_json_uint(&w, "split", p.split);
            sr_json_real(&w, "short_requests", "%.6g", p.requests);
            sr_json_real(&w, "alpha", "%.6g", p.time);
            sr_json_real(&w, "rho", "%.6g", p.gain);
            sr_json_uint(&w, "one_pool", p.one_gpus);
            sr_json_uint(&w, "short_pool", p.short_gpus);
            sr_json_uint(&w, "long_pool", p.long_gpus);
            sr_json_real(&w, "saved", "%.6g", p.saved);
            sr_json_real(&w, "saved_paged", "%.6g", p.saved_paged);
            sr_json_object_end(&w);
        }
    sr_json_array_end(&w);
    sr_json_object_end(&w);
    if (w.rc == SR_OK)
        printf("%.*s\n", (int)sr_buf_view(&out).n, sr_buf_view(&out).p);
    sr_buf_dispose(&out);
}

int sr_bench_plan(const struct sr_plan_settings *settings, const char *data, bool json)
{
    struct trace traces[TRACES_MAX] = {{0}};
    struct sr_err err = {0};
    size_t n = 0;
    int rc = make_traces(traces, &n, data, &err);
    if (rc == SR_OK)
        (json ? print_json : print_table)(settings, traces, n, data);
    else
        fprintf(stderr, "semroute bench pool: %s\n", err.message[0] ? err.message : sr_strerror(rc));
    for (size_t t = 0; t < TRACES_MAX; t++)
        sr_mem_free(traces[t].requests);
    return rc == SR_OK ? 0 : 3;
}
