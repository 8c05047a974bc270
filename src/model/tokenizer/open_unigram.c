/* From JSON to a Unigram model: pieces with their scores, and what stands for unknown text. */
#include "model/tokenizer/private.h"

#include "base/json_read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define UNKNOWN_PENALTY 10.0 /* tokenizers, models/unigram: K_UNK_PENALTY */

static int out_of_memory(struct sr_err *err)
{
    return sr_err_set(err, SR_ENOMEM, "out of memory for a tokenizer");
}

/* ["piece", -3.25] */
static bool read_piece(sr_json_view json, sr_json_view *piece, double *score)
{
    sr_json_view number, more;
    char text[64], *end;
    size_t at = 0;
    if (!sr_json_view_is_array(json) || !sr_json_view_next(json, &at, NULL, piece) ||
        !sr_json_view_next(json, &at, NULL, &number) || sr_json_view_next(json, &at, NULL, &more) ||
        !sr_json_view_is_string(*piece) || number.n >= sizeof text)
        return false;
    memcpy(text, number.p, number.n);
    text[number.n] = '\0';
    *score = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*score);
}

/* Counts pieces and their bytes; checks each. */
static int measure(sr_json_view vocab, size_t *n, size_t *bytes, struct sr_err *err)
{
    sr_json_view entry, piece;
    double score;
    size_t at = 0;
    *n = *bytes = 0;
    if (!sr_json_view_is_array(vocab))
        return sr_err_set(err, SR_EPARSE, "model: `vocab` of a Unigram model must be an array");
    while (sr_json_view_next(vocab, &at, NULL, &entry)) {
        if (!read_piece(entry, &piece, &score))
            return sr_err_set(err, SR_EPARSE, "model: vocab: entry %zu is not [piece, score]", *n);
        if (piece.n > SR_TOK_PIECE_MAX)
            return sr_err_set(err, SR_ELIMIT, "model: a piece of more than %u bytes", SR_TOK_PIECE_MAX);
        if (++*n > SR_TOKENIZER_VOCAB_MAX)
            return sr_err_set(err, SR_ELIMIT, "model: more than %zu pieces", SR_TOKENIZER_VOCAB_MAX);
        *bytes += piece.n;
    }
    return SR_OK;
}

static int read_vocab(struct sr_tokenizer *t, sr_json_view vocab, size_t bytes, struct sr_err *err)
{
    struct sr_tok_unigram *model = &t->unigram;
    sr_json_view entry, piece;
    size_t at = 0;
    double lowest = 0;
    char *pool = sr_arena_alloc(&t->arena, bytes + 1);
    model->scores = sr_arena_alloc(&t->arena, (model->n + 1) * sizeof *model->scores);
    if (!pool || !model->scores)
        return out_of_memory(err);
    for (size_t id = 0; sr_json_view_next(vocab, &at, NULL, &entry); id++) {
        if (!read_piece(entry, &piece, &model->scores[id]))
            return sr_err_set(err, SR_EPARSE, "model: vocab: entry %zu is not [piece, score]", id);
        struct sr_bytes token = {pool, sr_json_view_decode(piece, pool)};
        pool += token.n;
        sr_tok_vocab_put(&t->vocab, token, (int32_t)id);
        if (id == 0 || model->scores[id] < lowest)
            lowest = model->scores[id];
    }
    model->unk_score = lowest - UNKNOWN_PENALTY;
    int rc = sr_tok_pieces_init(&model->pieces, t->vocab.tokens, model->n);
    if (rc == SR_EINVAL)
        return sr_err_set(err, SR_EUNSUPPORTED, "model: vocab: two pieces are equal");
    return rc ? out_of_memory(err) : SR_OK;
}

static void open_fallback(struct sr_tokenizer *t, sr_json_view model)
{
    char text[8];
    t->unigram.byte_fallback = sr_json_view_bool(sr_json_view_get(model, "byte_fallback"), false);
    for (unsigned b = 0; b < 256; b++) {
        snprintf(text, sizeof text, "<0x%02X>", b);
        t->unigram.fallback[b] = sr_tok_vocab_find(&t->vocab, sr_bytes_str(text));
    }
}

int sr_tok_open_unigram(struct sr_tokenizer *t, struct sr_bytes json, struct sr_bytes added,
                        struct sr_err *err)
{
    struct sr_tok_unigram *model = &t->unigram;
    sr_json_view vocab = sr_json_view_get(json, "vocab"), value;
    size_t bytes, size, at = 0;
    int64_t unk;
    if (t->byte_level)
        return sr_err_set(err, SR_EUNSUPPORTED, "model: Unigram behind ByteLevel is not supported");
    int rc = measure(vocab, &model->n, &bytes, err);
    if (rc)
        return rc;
    if (!sr_json_view_int(sr_json_view_get(json, "unk_id"), &unk) || unk < 0 || (uint64_t)unk >= model->n)
        return sr_err_set(err, SR_EPARSE, "model: a Unigram model needs `unk_id`, the index of a piece");
    for (size = model->n; rc == SR_OK && sr_json_view_next(added, &at, NULL, &value);)
        rc = sr_tok_see_id(sr_json_view_get(value, "id"), "added_tokens", &size, err);
    if (rc)
        return rc;
    if (sr_tok_vocab_init(&t->vocab, size, &t->arena))
        return out_of_memory(err);
    t->is_unigram = true;
    t->unk = (int32_t)unk;
    rc = read_vocab(t, vocab, bytes, err);
    if (rc == SR_OK)
        open_fallback(t, json);
    return rc;
}
