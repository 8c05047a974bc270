/* Lines of data files, and our own sample. */
#include "bench/pool_texts.h"

#include "base/grow.h"
#include "base/mem.h"
#include "base/read_file.h"

#include <ctype.h>
#include <stdio.h>

#define FILE_MAX ((size_t)64 << 20)
#define LINE_MAX ((size_t)4 << 20)
#define READ_MS  60000

extern const char sr_embed_pool_sample[], sr_embed_pool_sample_end[];

static int own(struct sr_bench_texts *texts, struct sr_doc *doc)
{
    int rc = sr_grow(&texts->owners, &texts->cap_owners, texts->n_owners + 1, sizeof(struct sr_doc *),
                     SR_GROW_NO_MAX);
    if (rc == SR_OK)
        texts->owners[texts->n_owners++] = doc;
    else
        sr_doc_free(doc);
    return rc;
}

/* ---- one row ---------------------------------------------------------------------------------------- */

static int add_agent(struct sr_bench_texts *texts, const sr_doc_value *row)
{
    const sr_doc_value *messages = sr_doc_get(sr_doc_get(row, "request"), "messages");
    int rc = sr_grow(&texts->agents, &texts->cap_agents, texts->n_agents + 1, sizeof(sr_doc_value *),
                     SR_GROW_NO_MAX);
    if (rc == SR_OK && sr_doc_size(messages) > 2)
        texts->agents[texts->n_agents++] = messages;
    return rc;
}

/* Where the next document begins: "\n\nDocument 3:" or "\n\n[3]"; the length of the text when there is none.
 */
static size_t next_doc(struct sr_bytes text, size_t from)
{
    static const char mark[] = "\n\nDocument ";
    for (size_t i = from; i + sizeof mark < text.n; i++) {
        if (memcmp(text.p + i, mark, sizeof mark - 1) == 0)
            return i;
        if (text.p[i] == '\n' && text.p[i + 1] == '\n' && text.p[i + 2] == '[' &&
            isdigit((unsigned char)text.p[i + 3]))
            return i;
    }
    return text.n;
}

/* Without its number, which changes with its place. */
static struct sr_bytes doc_body(struct sr_bytes doc)
{
    const char *end = doc.n > 2 ? memchr(doc.p + 2, doc.p[2] == '[' ? ']' : ':', doc.n - 2) : NULL;
    size_t skip = end ? (size_t)(end + 1 - doc.p) : 0;
    return sr_bytes_trim(sr_bytes_of(doc.p + skip, doc.n - skip));
}

static int add_context(struct sr_bench_texts *texts, const sr_doc_value *row)
{
    const sr_doc_value *messages = sr_doc_get(sr_doc_get(row, "request"), "messages");
    struct sr_bytes system = sr_doc_string(sr_doc_get(sr_doc_at(messages, 0), "content"));
    struct sr_bench_context context = {.question =
                                           sr_doc_string(sr_doc_get(sr_doc_at(messages, 1), "content"))};
    int64_t gold = 1;
    size_t at = system.p ? next_doc(system, 0) : 0;
    context.intro = sr_bytes_of(system.p, at);
    while (at < system.n && context.n_docs < SR_BENCH_RAG_DOCS_MAX) {
        size_t end = next_doc(system, at + 3);
        context.docs[context.n_docs++] = doc_body(sr_bytes_of(system.p + at, end - at));
        at = end;
    }
    (void)sr_doc_int(sr_doc_get(row, "gold_doc"), &gold);
    context.gold = gold >= 1 && (size_t)gold <= context.n_docs ? (size_t)gold - 1 : 0;
    if (context.n_docs == 0 || !context.question.p)
        return SR_OK;
    int rc = sr_grow(&texts->contexts, &texts->cap_contexts, texts->n_contexts + 1, sizeof context,
                     SR_GROW_NO_MAX);
    if (rc == SR_OK)
        texts->contexts[texts->n_contexts++] = context;
    return rc;
}

static int add_prompt(struct sr_bench_texts *texts, const sr_doc_value *row)
{
    struct sr_bytes text = sr_doc_string(sr_doc_get(row, "text"));
    int rc = sr_grow(&texts->prompts, &texts->cap_prompts, texts->n_prompts + 1, sizeof text, SR_GROW_NO_MAX);
    if (rc == SR_OK && text.n > 0)
        texts->prompts[texts->n_prompts++] = text;
    return rc;
}

/* ---- files ------------------------------------------------------------------------------------------ */

typedef int (*add_fn)(struct sr_bench_texts *texts, const sr_doc_value *row);

static int read_lines(struct sr_bench_texts *texts, struct sr_bytes all, add_fn add, const char *name,
                      struct sr_err *err)
{
    int rc = SR_OK;
    for (size_t number = 1; all.n > 0 && rc == SR_OK; number++) {
        const char *end = memchr(all.p, '\n', all.n);
        size_t n = end ? (size_t)(end - all.p) : all.n;
        struct sr_doc *doc = NULL;
        struct sr_err inner = {0};
        struct sr_bytes line = sr_bytes_trim(sr_bytes_of(all.p, n));
        all = sr_bytes_of(all.p + n + (end != NULL), all.n - n - (end != NULL));
        if (line.n == 0)
            continue;
        rc = sr_doc_parse(&doc, line, LINE_MAX, &inner);
        if (rc != SR_OK)
            return sr_err_set(err, rc, "%s:%zu: %s", name, number, inner.message);
        const sr_doc_value *root = sr_doc_root(doc);
        rc = own(texts, doc);
        if (rc == SR_OK)
            rc = add(texts, root);
    }
    return rc == SR_OK ? rc : sr_err_set(err, rc, "%s: %s", name, sr_strerror(rc));
}

static int read_data(struct sr_bench_texts *texts, const char *data, struct sr_err *err)
{
    static const struct {
        const char *name;
        add_fn add;
    } files[] = {
        {"chat-agent-taubench/airline_trajectories.jsonl", add_agent},
        {"chat-rag-bills/requests.jsonl", add_context},
        {"chat-rag-opensourceguide/requests.jsonl", add_context},
        {"benign-real-users/train.jsonl", add_prompt},
    };
    int rc = SR_OK;
    for (size_t i = 0; i < sizeof files / sizeof files[0] && rc == SR_OK; i++) {
        char path[4096];
        struct sr_buf all;
        struct sr_err inner = {0};
        snprintf(path, sizeof path, "%s/%s", data, files[i].name);
        sr_buf_init(&all, FILE_MAX);
        rc = sr_read_file(&all, path, READ_MS, &inner);
        rc = rc == SR_OK ? read_lines(texts, sr_buf_view(&all), files[i].add, path, err)
                         : sr_err_set(err, rc, "%s: %s", path, inner.message);
        sr_buf_dispose(&all);
    }
    return rc;
}

static int read_sample(struct sr_bench_texts *texts, struct sr_err *err)
{
    struct sr_bytes all =
        sr_bytes_of(sr_embed_pool_sample, (size_t)(sr_embed_pool_sample_end - sr_embed_pool_sample));
    struct sr_doc *doc = NULL;
    int rc = sr_doc_parse(&doc, all, LINE_MAX, err);
    if (rc != SR_OK)
        return rc;
    const sr_doc_value *root = sr_doc_root(doc);
    rc = own(texts, doc);
    static const struct {
        const char *name;
        add_fn add;
    } lists[] = {{"agents", add_agent}, {"contexts", add_context}, {"prompts", add_prompt}};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const sr_doc_value *list = sr_doc_get(root, lists[i].name);
        for (size_t at = 0; at < sr_doc_size(list) && rc == SR_OK; at++)
            rc = lists[i].add(texts, sr_doc_at(list, at));
    }
    return rc == SR_OK ? rc : sr_err_set(err, rc, "the sample: %s", sr_strerror(rc));
}

int sr_bench_texts_read(struct sr_bench_texts *texts, const char *data, struct sr_err *err)
{
    *texts = (struct sr_bench_texts){0};
    int rc = data ? read_data(texts, data, err) : read_sample(texts, err);
    if (rc == SR_OK && (texts->n_agents == 0 || texts->n_contexts == 0 || texts->n_prompts == 0))
        rc = sr_err_set(err, SR_EINVAL, "there are no texts for some workload");
    return rc;
}

void sr_bench_texts_dispose(struct sr_bench_texts *texts)
{
    for (size_t i = 0; i < texts->n_owners; i++)
        sr_doc_free(texts->owners[i]);
    sr_mem_free(texts->owners);
    sr_mem_free(texts->agents);
    sr_mem_free(texts->contexts);
    sr_mem_free(texts->prompts);
    *texts = (struct sr_bench_texts){0};
}
