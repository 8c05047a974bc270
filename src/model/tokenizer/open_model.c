/* From JSON to the vocabulary and the model's tables. */
#include "model/tokenizer/private.h"

#include "base/json_read.h"

#include <stdio.h>

#define METASPACE "\xE2\x96\x81"

static int out_of_memory(struct sr_err *err)
{
    return sr_err_set(err, SR_ENOMEM, "out of memory for a tokenizer");
}

/* ---- vocabulary ---- */

static int open_vocab(struct sr_tokenizer *t, sr_json_view json, sr_json_view added, struct sr_err *err)
{
    sr_json_view name, value;
    size_t at = 0, size = 0;
    int64_t id;
    int rc = SR_OK;
    if (!sr_json_view_is_object(json))
        return sr_err_set(err, SR_EPARSE, "model: `vocab` must be an object");
    while (rc == SR_OK && sr_json_view_next(json, &at, &name, &value))
        rc = name.n > SR_TOKENIZER_TOKEN_MAX
                 ? sr_err_set(err, SR_ELIMIT, "model: a token of more than %u bytes", SR_TOKENIZER_TOKEN_MAX)
                 : sr_tok_see_id(value, "model: vocab", &size, err);
    at = 0;
    while (rc == SR_OK && sr_json_view_next(added, &at, NULL, &value))
        rc = sr_tok_see_id(sr_json_view_get(value, "id"), "added_tokens", &size, err);
    if (rc)
        return rc;
    char *pool = sr_arena_alloc(&t->arena, json.n);
    if (!pool || sr_tok_vocab_init(&t->vocab, size, &t->arena))
        return out_of_memory(err);
    for (at = 0; sr_json_view_next(json, &at, &name, &value);) {
        struct sr_bytes token = {pool, sr_json_view_decode(name, pool)};
        pool += token.n;
        sr_json_view_int(value, &id);
        if (t->vocab.tokens[id].p)
            return sr_err_set(err, SR_EPARSE, "model: vocab: two tokens have the id %lld", (long long)id);
        sr_tok_vocab_put(&t->vocab, token, (int32_t)id);
    }
    return SR_OK;
}

static int open_unk(struct sr_tokenizer *t, sr_json_view model, bool needed, struct sr_err *err)
{
    sr_json_view json = sr_json_view_get(model, "unk_token");
    struct sr_bytes token;
    if (sr_json_view_is_null(json) && !needed)
        return SR_OK;
    if (!sr_json_view_is_string(json))
        return sr_err_set(err, SR_EPARSE, "model: `unk_token` must be a string");
    if (!sr_json_view_dup(json, &t->arena, &token))
        return out_of_memory(err);
    t->unk = sr_tok_vocab_find(&t->vocab, token);
    return t->unk == SR_TOK_NONE ? sr_err_set(err, SR_EPARSE, "model: `unk_token` is not in the vocabulary")
                                 : SR_OK;
}

/* An optional affix, "" when there is none. */
static int open_affix(struct sr_tokenizer *t, sr_json_view model, const char *name, struct sr_bytes *out,
                      struct sr_err *err)
{
    sr_json_view json = sr_json_view_get(model, name);
    *out = SR_LIT("");
    if (sr_json_view_is_null(json))
        return SR_OK;
    if (!sr_json_view_is_string(json) || json.n > 256)
        return sr_err_set(err, SR_EPARSE, "model: `%s` must be a short string", name);
    return sr_json_view_dup(json, &t->arena, out) ? SR_OK : out_of_memory(err);
}

/* ---- WordPiece ---- */

static int open_wordpiece(struct sr_tokenizer *t, sr_json_view model, struct sr_err *err)
{
    struct sr_tok_wordpiece *wp = &t->wordpiece;
    struct sr_bytes prefix;
    sr_json_view chars = sr_json_view_get(model, "max_input_chars_per_word");
    int64_t max_chars = 100;
    if (!sr_json_view_is_null(chars) &&
        (!sr_json_view_int(chars, &max_chars) || max_chars < 0 || max_chars > 65536))
        return sr_err_set(err, SR_EPARSE, "model: `max_input_chars_per_word` must be from 0 to 65536");
    wp->max_chars = (size_t)max_chars;
    int rc = open_unk(t, model, true, err);
    if (rc == SR_OK)
        rc = open_affix(t, model, "continuing_subword_prefix", &prefix, err);
    if (rc)
        return rc;
    rc = sr_tok_trie_init(&wp->trie, t->vocab.size);
    if (rc == SR_OK)
        rc = sr_tok_trie_root(&wp->trie, &wp->inner);
    for (size_t id = 0; rc == SR_OK && id < t->vocab.size; id++) {
        struct sr_bytes token = t->vocab.tokens[id];
        if (!token.n)
            continue;
        rc = sr_tok_trie_add(&wp->trie, 0, token, (int32_t)id);
        if (rc == SR_OK && token.n > prefix.n && sr_bytes_starts_with(token, prefix))
            rc = sr_tok_trie_add(&wp->trie, wp->inner, sr_bytes_of(token.p + prefix.n, token.n - prefix.n),
                                 (int32_t)id);
    }
    return rc ? out_of_memory(err) : SR_OK;
}

/* ---- BPE ---- */

/* Reads one merge, "a b" or ["a", "b"], into text[]: both parts, concatenated; the first has *left bytes. */
static bool read_merge(sr_json_view json, char *text, size_t *left, size_t *n)
{
    sr_json_view a, b, more;
    size_t at = 0;
    if (json.n > 2 * SR_TOKENIZER_TOKEN_MAX)
        return false;
    if (sr_json_view_is_string(json)) {
        *n = sr_json_view_decode(json, text);
        char *space = memchr(text, ' ', *n);
        if (!space || memchr(space + 1, ' ', *n - (size_t)(space - text) - 1))
            return false;
        *left = (size_t)(space - text);
        memmove(space, space + 1, --*n - *left);
        return true;
    }
    if (!sr_json_view_is_array(json) || !sr_json_view_next(json, &at, NULL, &a) ||
        !sr_json_view_next(json, &at, NULL, &b) || sr_json_view_next(json, &at, NULL, &more) ||
        !sr_json_view_is_string(a) || !sr_json_view_is_string(b))
        return false;
    *left = sr_json_view_decode(a, text);
    *n = *left + sr_json_view_decode(b, text + *left);
    return true;
}

static void put_merge(struct sr_tok_bpe *bpe, int32_t left, int32_t right, uint32_t rank, int32_t id)
{
    uint64_t pair = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    size_t slot = (size_t)((pair * UINT64_C(0x9E3779B97F4A7C15)) >> 28) & bpe->mask;
    while (bpe->merges[slot].pair != pair && bpe->merges[slot].pair != UINT64_MAX)
        slot = (slot + 1) & bpe->mask;
    bpe->merges[slot] = (struct sr_tok_merge){pair, rank, id};
}

/* True when a character other than U+2581 precedes a U+2581. */
static bool joins_metaspace(const char *p, size_t n)
{
    for (size_t i = 1; i + 3 <= n; i++)
        if (memcmp(p + i, METASPACE, 3) == 0 && (i < 3 || memcmp(p + i - 3, METASPACE, 3) != 0))
            return true;
    return false;
}

static int open_merges(struct sr_tokenizer *t, sr_json_view json, struct sr_err *err)
{
    struct sr_tok_bpe *bpe = &t->bpe;
    sr_json_view value;
    size_t n = 0, at = 0, slots = 16, left, length;
    char text[2 * SR_TOKENIZER_TOKEN_MAX];
    if (!sr_json_view_is_array(json))
        return sr_err_set(err, SR_EPARSE, "model: `merges` must be an array");
    while (sr_json_view_next(json, &at, NULL, &value))
        n++;
    if (n > 4 * SR_TOKENIZER_VOCAB_MAX)
        return sr_err_set(err, SR_ELIMIT, "model: %zu merges, the limit is %zu", n,
                          4 * SR_TOKENIZER_VOCAB_MAX);
    while (slots < n * 2)
        slots *= 2;
    bpe->mask = slots - 1;
    bpe->merges = sr_arena_alloc(&t->arena, slots * sizeof *bpe->merges);
    if (!bpe->merges)
        return out_of_memory(err);
    memset(bpe->merges, 0xFF, slots * sizeof *bpe->merges);
    uint32_t rank = 0;
    for (at = 0; sr_json_view_next(json, &at, NULL, &value); rank++) {
        if (!read_merge(value, text, &left, &length))
            return sr_err_set(err, SR_EPARSE, "model: merge %u is not two tokens", rank);
        int32_t a = sr_tok_vocab_find(&t->vocab, sr_bytes_of(text, left));
        int32_t b = sr_tok_vocab_find(&t->vocab, sr_bytes_of(text + left, length - left));
        if (length - left < bpe->prefix.n || a == SR_TOK_NONE || b == SR_TOK_NONE)
            return sr_err_set(err, SR_EPARSE, "model: merge %u names a token that is not in the vocabulary",
                              rank);
        memmove(text + left, text + left + bpe->prefix.n, length - left - bpe->prefix.n);
        length -= bpe->prefix.n;
        int32_t id = sr_tok_vocab_find(&t->vocab, sr_bytes_of(text, length));
        if (id == SR_TOK_NONE)
            return sr_err_set(err, SR_EPARSE, "model: the result of merge %u is not in the vocabulary", rank);
        bpe->cut_at_metaspace = bpe->cut_at_metaspace && !joins_metaspace(text, length);
        put_merge(bpe, a, b, rank, id);
    }
    return SR_OK;
}

/* The 256 characters that represent bytes: printable Latin-1 as itself, the others from U+0100 on. */
static void byte_chars(int32_t chars[256])
{
    int32_t next = 0x100;
    for (int32_t b = 0; b < 256; b++)
        chars[b] = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE ? b : next++;
}

/* With ignore_merges a word that is a token stays whole: look-up by the bytes that tokens represent. */
static int open_byte_words(struct sr_tokenizer *t, const int32_t chars[256], struct sr_err *err)
{
    int32_t byte_of[0x200], cp;
    memset(byte_of, 0xFF, sizeof byte_of);
    for (int32_t b = 0; b < 256; b++)
        byte_of[chars[b]] = b;
    if (sr_tok_vocab_init(&t->byte_words, t->vocab.size, &t->arena))
        return out_of_memory(err);
    for (size_t id = 0; id < t->vocab.size; id++) {
        struct sr_bytes token = t->vocab.tokens[id];
        size_t n = 0, i = 0;
        char *bytes = token.n ? sr_arena_alloc(&t->arena, token.n) : NULL;
        if (token.n && !bytes)
            return out_of_memory(err);
        for (; i < token.n; n++) {
            size_t length = sr_utf8_decode_valid(token.p + i, &cp);
            if (cp >= 0x200 || byte_of[cp] < 0)
                break;
            bytes[n] = (char)byte_of[cp];
            i += length;
        }
        if (token.n && i == token.n)
            sr_tok_vocab_put(&t->byte_words, sr_bytes_of(bytes, n), (int32_t)id);
    }
    return SR_OK;
}

/* The ids of single characters in a table of their own: each word begins with them. */
static int open_chars(struct sr_tokenizer *t, struct sr_err *err)
{
    int32_t cp;
    if (t->byte_level || t->bpe.prefix.n + t->bpe.suffix.n)
        return SR_OK;
    t->bpe.chars = sr_arena_alloc(&t->arena, SR_TOK_CHARS * sizeof *t->bpe.chars);
    if (!t->bpe.chars)
        return out_of_memory(err);
    memset(t->bpe.chars, 0xFF, SR_TOK_CHARS * sizeof *t->bpe.chars);
    for (size_t id = 0; id < t->vocab.size; id++) {
        struct sr_bytes token = t->vocab.tokens[id];
        if (token.n && token.n < 4 && sr_utf8_decode_valid(token.p, &cp) == token.n)
            t->bpe.chars[cp] = (int32_t)id;
    }
    return SR_OK;
}

static int open_bytes(struct sr_tokenizer *t, struct sr_err *err)
{
    int32_t chars[256];
    char text[8];
    byte_chars(chars);
    for (int b = 0; b < 256; b++) {
        t->bpe.bytes[b] = sr_tok_vocab_find(&t->vocab, sr_bytes_of(text, sr_utf8_encode(chars[b], text)));
        snprintf(text, sizeof text, "<0x%02X>", (unsigned)b);
        t->bpe.fallback[b] = sr_tok_vocab_find(&t->vocab, sr_bytes_str(text));
    }
    return t->byte_level && t->bpe.ignore_merges ? open_byte_words(t, chars, err) : SR_OK;
}

static int open_bpe(struct sr_tokenizer *t, sr_json_view model, struct sr_err *err)
{
    struct sr_tok_bpe *bpe = &t->bpe;
    sr_json_view dropout = sr_json_view_get(model, "dropout");
    t->is_bpe = true;
    bpe->byte_level = t->byte_level;
    bpe->byte_fallback = sr_json_view_bool(sr_json_view_get(model, "byte_fallback"), false);
    bpe->fuse_unk = sr_json_view_bool(sr_json_view_get(model, "fuse_unk"), false);
    bpe->ignore_merges = sr_json_view_bool(sr_json_view_get(model, "ignore_merges"), false);
    if (!sr_json_view_is_null(dropout) && !sr_bytes_eq(dropout, SR_LIT("0.0")) &&
        !sr_bytes_eq(dropout, SR_LIT("0")))
        return sr_err_set(err, SR_EUNSUPPORTED, "model: `dropout` makes tokens random and is not supported");
    int rc = open_unk(t, model, false, err);
    if (rc == SR_OK)
        rc = open_affix(t, model, "continuing_subword_prefix", &bpe->prefix, err);
    if (rc == SR_OK)
        rc = open_affix(t, model, "end_of_word_suffix", &bpe->suffix, err);
    if (rc == SR_OK && bpe->byte_level && bpe->prefix.n + bpe->suffix.n)
        rc = sr_err_set(err, SR_EUNSUPPORTED,
                        "model: ByteLevel with a subword prefix or suffix is not supported");
    bool cut_already = t->n_splits && t->splits[t->n_splits - 1].kind == SR_TOK_SPLIT_METASPACE &&
                       t->splits[t->n_splits - 1].split &&
                       sr_bytes_eq(t->splits[t->n_splits - 1].pattern, SR_LIT(METASPACE));
    bpe->cut_at_metaspace = !cut_already && !bpe->byte_level && !bpe->ignore_merges && !bpe->prefix.n &&
                            !bpe->suffix.n && sr_tok_vocab_find(&t->vocab, SR_LIT(METASPACE)) != SR_TOK_NONE;
    if (rc == SR_OK)
        rc = open_merges(t, sr_json_view_get(model, "merges"), err);
    if (rc == SR_OK)
        rc = open_chars(t, err);
    return rc ? rc : open_bytes(t, err);
}

int sr_tok_open_model(struct sr_tokenizer *t, struct sr_bytes json, struct sr_bytes added, struct sr_err *err)
{
    sr_json_view type = sr_json_view_get(json, "type");
    bool wordpiece = sr_json_view_eq(type, "WordPiece");
    if (sr_json_view_eq(type, "Unigram"))
        return sr_tok_open_unigram(t, json, added, err);
    if (!wordpiece && !sr_json_view_eq(type, "BPE"))
        return sr_err_set(err, SR_EUNSUPPORTED,
                          "model: type %.*s is not supported (WordPiece, BPE and Unigram are)",
                          (int)(type.n < 64 ? type.n : 64), type.p ? type.p : "");
    if (wordpiece && t->byte_level)
        return sr_err_set(err, SR_EUNSUPPORTED, "model: WordPiece behind ByteLevel is not supported");
    int rc = open_vocab(t, sr_json_view_get(json, "vocab"), added, err);
    if (rc)
        return rc;
    return wordpiece ? open_wordpiece(t, json, err) : open_bpe(t, json, err);
}
