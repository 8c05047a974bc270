/*
 * The texts that workloads are made of: conversations, documents with questions, single prompts. Read from
 * data files, or our own (bench/pool_sample.json). Borrowed from the documents, which they own.
 */
#ifndef SR_BENCH_POOL_TEXTS_H
#define SR_BENCH_POOL_TEXTS_H

#include "base/bytes.h"
#include "base/err.h"
#include "json/doc.h"

#define SR_BENCH_RAG_DOCS_MAX 16

/* Questions that are asked about the same documents. */
struct sr_bench_context {
    struct sr_bytes intro;
    struct sr_bytes docs[SR_BENCH_RAG_DOCS_MAX];
    size_t n_docs;
    size_t gold; /* the document that answers its own question */
    struct sr_bytes question;
};

struct sr_bench_texts {
    struct sr_doc **owners;
    size_t n_owners, cap_owners;
    const sr_doc_value **agents; /* lists of messages, OpenAI's shape */
    size_t n_agents, cap_agents;
    struct sr_bench_context *contexts;
    size_t n_contexts, cap_contexts;
    struct sr_bytes *prompts;
    size_t n_prompts, cap_prompts;
};

/* All that `data` has (NULL: our own). SR_ENOENT, SR_EPARSE, SR_ENOMEM with a message that names the file. */
int sr_bench_texts_read(struct sr_bench_texts *texts, const char *data, struct sr_err *err) SR_WARN_UNUSED;
void sr_bench_texts_dispose(struct sr_bench_texts *texts);

#endif
