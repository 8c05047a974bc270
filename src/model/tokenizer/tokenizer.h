/*
 * Tokenizers as their tokenizer.json describes them: text in, token ids and byte offsets out.
 *
 * Gives the same tokens as Hugging Face's `tokenizers` for WordPiece, BPE (byte-level, metaspace, byte
 * fallback) and Unigram models with their normalizers, pre-tokenizers, added tokens and templates. The
 * sections `truncation` and `padding` are ignored on purpose: the caller decides how much of a text is
 * tokenized. Not supported: pairs of texts, decoding; a file with an unknown component is refused.
 *
 * A tokenizer is immutable and counted; any number of threads may use it at once. Working memory is kept
 * inside and reused. Any bytes are a text: malformed UTF-8 decodes to U+FFFD, as with Python's
 * decode(errors="replace").
 */
#ifndef SR_MODEL_TOKENIZER_TOKENIZER_H
#define SR_MODEL_TOKENIZER_TOKENIZER_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/err.h"

#include <stdint.h>

#define SR_TOKENIZER_TEXT_MAX  ((size_t)4 << 20)   /* bytes of one text */
#define SR_TOKENIZER_FILE_MAX  ((size_t)128 << 20) /* bytes of a tokenizer.json */
#define SR_TOKENIZER_VOCAB_MAX ((size_t)1 << 20)   /* ids are below it */
#define SR_TOKENIZER_TOKEN_MAX 4096u               /* bytes of one token, of what a normalizer inserts */
#define SR_TOKENIZER_ADDED_MAX 65536u              /* added tokens */

enum sr_tokenizer_flag {
    SR_TOKENIZER_SPECIAL = 1,    /* add the template's tokens: [CLS] A [SEP] */
    SR_TOKENIZER_NO_OFFSETS = 2, /* only ids; starts and ends are not written */
};

struct sr_tokenizer;

/* Token i is ids[i] and covers text[starts[i] .. ends[i]), whole characters (several tokens may share one).
 * Tokens of the template cover nothing: 0, 0. */
struct sr_tokens {
    int32_t *ids;
    uint32_t *starts, *ends; /* may be NULL with SR_TOKENIZER_NO_OFFSETS */
    size_t n;                /* number of tokens of the text, even if larger than cap */
    size_t cap;              /* capacity of the arrays; no more are written */
};

/* Reads tokenizer.json. SR_ENOENT, SR_EIO, SR_EPARSE (not JSON, or not a tokenizer.json), SR_EUNSUPPORTED (a
 * component that is not implemented, named in err), SR_ELIMIT, SR_ENOMEM. Blocks on I/O. */
int sr_tokenizer_open_file(struct sr_tokenizer **out, const char *path, struct sr_err *err) SR_WARN_UNUSED;

/* The same from memory, which is not needed afterwards. */
int sr_tokenizer_open_memory(struct sr_tokenizer **out, const void *p, size_t n,
                             struct sr_err *err) SR_WARN_UNUSED;

struct sr_tokenizer *sr_tokenizer_ref(struct sr_tokenizer *tokenizer);
void sr_tokenizer_unref(struct sr_tokenizer *tokenizer); /* NULL is allowed */

/* Tokens of `text` into the caller's arrays. SR_ELIMIT when the text is longer than SR_TOKENIZER_TEXT_MAX,
 * when the file's normalizers make too much of it, or when the tokens do not fit (then out->n is their
 * number, else 0). SR_ENOMEM. */
int sr_tokenizer_encode(struct sr_tokenizer *tokenizer, struct sr_bytes text, unsigned flags,
                        struct sr_tokens *out) SR_WARN_UNUSED;

/* The same with arrays from the arena. */
int sr_tokenizer_encode_arena(struct sr_tokenizer *tokenizer, struct sr_bytes text, unsigned flags,
                              struct sr_arena *arena, struct sr_tokens *out) SR_WARN_UNUSED;

/* The number of tokens that encode would give. */
int sr_tokenizer_count(struct sr_tokenizer *tokenizer, struct sr_bytes text, unsigned flags,
                       size_t *n) SR_WARN_UNUSED;

/* Where to cut `text` so that at most `max_tokens` remain: *length is text.n when all of it fits, otherwise
 * the end of the last token such that the piece before it, tokenized on its own, does not exceed the maximum
 * (a piece may have more tokens than it had inside the whole). 0 when not even one token fits. */
int sr_tokenizer_fit(struct sr_tokenizer *tokenizer, struct sr_bytes text, unsigned flags, size_t max_tokens,
                     size_t *length) SR_WARN_UNUSED;

/* One more than the largest id. */
size_t sr_tokenizer_size(const struct sr_tokenizer *tokenizer);

/* The token as spelled in tokenizer.json ("##ing", "Ġthe"); p is NULL when no token has this id. */
struct sr_bytes sr_tokenizer_token(const struct sr_tokenizer *tokenizer, int32_t id);

/* -1 when there is none. */
int32_t sr_tokenizer_id(const struct sr_tokenizer *tokenizer, struct sr_bytes token);

/* The number of tokens that the template adds to a text. */
size_t sr_tokenizer_template_size(const struct sr_tokenizer *tokenizer);

/* The template's ids, valid as long as the tokenizer: those before a text and those after it. */
struct sr_token_template {
    const int32_t *before, *after;
    size_t n_before, n_after;
};
struct sr_token_template sr_tokenizer_template(const struct sr_tokenizer *tokenizer);

#endif
