/* Sentences are counted once; a prompt's count is the sum of its sentences' counts. */
#include "bench/guards_text.h"

#include "base/mem.h"
#include "bench/texts.h"
#include "text/estimate.h"

#include <stdio.h>
#include <string.h>

#define SENTENCES_MAX 4096u
#define SENTENCE_MAX  400u /* bytes of a sentence that is taken */
#define PARAGRAPH     8u   /* sentences between two numbers */

extern const char sr_embed_guards_text[], sr_embed_guards_text_end[];

struct sentence {
    struct sr_bytes text;
    size_t tokens;
};

struct sr_guards_text {
    struct sr_buf source;
    struct sr_tokenizer *tokenizer;
    struct sentence sentences[SENTENCES_MAX];
    size_t n, numbered; /* paragraphs so far */
    uint64_t seed;
};

static size_t count(const struct sr_guards_text *texts, struct sr_bytes text)
{
    size_t n = 0;
    if (texts->tokenizer && sr_tokenizer_count(texts->tokenizer, text, 0, &n) == SR_OK)
        return n;
    return sr_estimate_published(sr_estimate_of(text));
}

static void split(struct sr_guards_text *texts)
{
    struct sr_bytes all = sr_buf_view(&texts->source);
    for (size_t at = 0; at < all.n && texts->n < SENTENCES_MAX;) {
        const char *newline = memchr(all.p + at, '\n', all.n - at);
        size_t end = newline ? (size_t)(newline - all.p) : all.n;
        struct sr_bytes line = sr_bytes_trim(sr_bytes_of(all.p + at, end - at));
        if (line.n > 20 && line.n <= SENTENCE_MAX)
            texts->sentences[texts->n++] = (struct sentence){line, count(texts, line)};
        at = end + 1;
    }
}

int sr_guards_text_new(struct sr_guards_text **out, const char *data, struct sr_tokenizer *tokenizer)
{
    struct sr_guards_text *texts = sr_mem_calloc(1, sizeof *texts);
    *out = NULL;
    if (!texts)
        return SR_ENOMEM;
    texts->tokenizer = tokenizer;
    texts->seed = 1;
    sr_buf_init(&texts->source, SR_GUARDS_TEXT_MAX);
    int rc = data ? sr_bench_texts(data, "longdocs-opensourceguide/docs.jsonl", "text", "lang", "en",
                                   &texts->source, SR_GUARDS_TEXT_MAX / 2)
                  : sr_buf_append(&texts->source, sr_embed_guards_text,
                                  (size_t)(sr_embed_guards_text_end - sr_embed_guards_text));
    if (rc == SR_OK)
        split(texts);
    if (rc == SR_OK && texts->n == 0)
        rc = SR_ENOENT;
    if (rc)
        sr_guards_text_free(texts);
    else
        *out = texts;
    return rc;
}

void sr_guards_text_free(struct sr_guards_text *texts)
{
    if (!texts)
        return;
    sr_buf_dispose(&texts->source);
    sr_mem_free(texts);
}

static const struct sentence *choose(struct sr_guards_text *texts)
{
    texts->seed = texts->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return &texts->sentences[(texts->seed >> 33) % texts->n];
}

int sr_guards_text_make(struct sr_guards_text *texts, size_t tokens, struct sr_buf *out, size_t *made)
{
    size_t total = 0;
    int rc = SR_OK;
    for (size_t i = 0; rc == SR_OK && total < tokens; i++) {
        char number[48];
        if (i % PARAGRAPH == 0) {
            snprintf(number, sizeof number, "%sNote %zu.", i ? "\n\n" : "", ++texts->numbered);
            rc = sr_buf_append_bytes(out, sr_bytes_str(number));
            total += count(texts, sr_bytes_str(number));
        }
        const struct sentence *sentence = choose(texts);
        if (rc == SR_OK)
            rc = sr_buf_append(out, " ", 1);
        if (rc == SR_OK)
            rc = sr_buf_append_bytes(out, sentence->text);
        total += sentence->tokens;
    }
    if (made)
        *made = total;
    return rc;
}
