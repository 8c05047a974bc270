/*
 * A text that still arrives, as tokens.
 *
 * What has arrived is tokenized up to a place where what follows cannot change the tokens before it: in front
 * of a word that is not the last one. Such places are known of WordPiece vocabularies (a token that continues
 * no word); of others white space is taken for one. A mistake costs time, no answer: windows are found by
 * their tokens.
 */
#include "infer/classifier/private.h"

#include "base/buf.h"
#include "base/grow.h"
#include "base/mem.h"

#include <string.h>

#define STEP_BYTES  ((size_t)1 << 10)  /* of new text, before it is tokenized */
#define TAIL_MAX    ((size_t)16 << 10) /* bytes without a place to cut */
#define MARGIN      32u                /* bytes that stay behind: an added token may be arriving */
#define SCRATCH_MAX ((size_t)16 << 20)
#define WINDOWS_MAX 256u /* complete, not yet classified */

struct sr_neural_growing {
    struct sr_neural *neural;
    uint64_t salt;
    bool word_pieces; /* the vocabulary marks tokens that continue a word */
    struct sr_windows_shape shape;
    /* Of the text: */
    bool over;
    size_t bytes, windows;
    struct sr_buf tail;         /* not stable yet */
    size_t looked;              /* bytes of the tail that were tokenized in vain */
    int32_t *ids;               /* stable */
    size_t at, n_ids, room_ids; /* the first of the next window, and behind the last */
};

int sr_neural_growing_new(struct sr_neural_growing **out, struct sr_neural *neural, uint64_t salt)
{
    struct sr_neural_growing *growing = sr_mem_calloc(1, sizeof *growing);
    const struct sr_tokenizer *tokenizer = sr_encoder_tokenizer(neural->encoder);
    if (!growing)
        return SR_ENOMEM;
    growing->neural = sr_neural_ref(neural);
    growing->salt = salt;
    growing->word_pieces = sr_tokenizer_id(tokenizer, SR_LIT("##s")) >= 0;
    growing->shape = sr_windows_shape(&neural->options.windows, sr_tokenizer_template_size(tokenizer));
    sr_buf_init(&growing->tail, 2 * TAIL_MAX);
    *out = growing;
    return SR_OK;
}

void sr_neural_growing_free(struct sr_neural_growing *growing)
{
    if (!growing)
        return;
    sr_buf_dispose(&growing->tail);
    sr_mem_free(growing->ids);
    sr_neural_unref(growing->neural);
    sr_mem_free(growing);
}

void sr_neural_growing_begin(struct sr_neural_growing *growing)
{
    growing->over = false;
    growing->bytes = growing->windows = growing->at = growing->n_ids = growing->looked = 0;
    sr_buf_clear(&growing->tail);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* Does a word begin with token i, whatever follows? */
static bool begins_word(const struct sr_neural_growing *growing, const struct sr_tokens *tokens, size_t i)
{
    struct sr_bytes text = sr_buf_view(&growing->tail);
    size_t start = tokens->starts[i];
    if (growing->word_pieces) {
        struct sr_bytes token =
            sr_tokenizer_token(sr_encoder_tokenizer(growing->neural->encoder), tokens->ids[i]);
        return start > tokens->starts[i - 1] && !sr_bytes_starts_with(token, SR_LIT("##"));
    }
    return start > 0 && (is_space(text.p[start]) || is_space(text.p[start - 1]));
}

/* How many of the tail's tokens are stable. */
static size_t stable(const struct sr_neural_growing *growing, const struct sr_tokens *tokens)
{
    for (size_t i = tokens->n; i-- > 1;)
        if (tokens->starts[i] + MARGIN <= growing->tail.len && begins_word(growing, tokens, i))
            return i;
    return 0;
}

static int keep_ids(struct sr_neural_growing *growing, const int32_t *ids, size_t n)
{
    if (growing->n_ids - growing->at + n > WINDOWS_MAX * growing->shape.room + TAIL_MAX)
        return SR_EBUSY;
    if (growing->at > growing->n_ids / 2) {
        growing->n_ids -= growing->at;
        memmove(growing->ids, growing->ids + growing->at, growing->n_ids * sizeof *ids);
        growing->at = 0;
    }
    int rc = sr_grow(&growing->ids, &growing->room_ids, growing->n_ids + n, sizeof *ids, SR_GROW_NO_MAX);
    if (rc)
        return rc;
    memcpy(growing->ids + growing->n_ids, ids, n * sizeof *ids);
    growing->n_ids += n;
    return SR_OK;
}

static int tokenize_tail(struct sr_neural_growing *growing)
{
    struct sr_arena scratch;
    struct sr_tokens tokens = {0};
    sr_arena_init(&scratch, SCRATCH_MAX);
    int rc = sr_tokenizer_encode_arena(sr_encoder_tokenizer(growing->neural->encoder),
                                       sr_buf_view(&growing->tail), 0, &scratch, &tokens);
    size_t n = rc == SR_OK ? stable(growing, &tokens) : 0;
    if (n)
        rc = keep_ids(growing, tokens.ids, n);
    if (n && rc == SR_OK)
        sr_buf_consume(&growing->tail, tokens.starts[n]);
    growing->looked = growing->tail.len;
    sr_arena_dispose(&scratch);
    return rc == SR_OK && growing->tail.len > TAIL_MAX ? SR_EUNSUPPORTED : rc;
}

int sr_neural_growing_feed(struct sr_neural_growing *growing, struct sr_bytes piece)
{
    size_t most = growing->neural->options.text_bytes;
    int rc = SR_OK;
    most = most && most < SR_TOKENIZER_TEXT_MAX ? most : SR_TOKENIZER_TEXT_MAX;
    if (growing->over)
        return SR_EUNSUPPORTED;
    growing->bytes += piece.n;
    if (growing->bytes > most)
        rc = SR_ELIMIT;
    for (size_t at = 0, n; rc == SR_OK && at < piece.n; at += n) {
        n = piece.n - at < STEP_BYTES ? piece.n - at : STEP_BYTES;
        rc = sr_buf_append(&growing->tail, piece.p + at, n);
        if (rc == SR_OK && growing->tail.len >= growing->looked + STEP_BYTES)
            rc = tokenize_tail(growing);
    }
    growing->over = rc != SR_OK;
    return rc;
}

int sr_neural_growing_read(struct sr_neural_growing *growing, struct sr_neural_ask *ask)
{
    struct sr_neural *neural = growing->neural;
    struct sr_token_template around = sr_tokenizer_template(sr_encoder_tokenizer(neural->encoder));
    size_t room = growing->shape.room, step = room - growing->shape.overlap;
    struct sr_window window = {.count = (uint32_t)room};
    struct sr_neural_result *result;
    ask->neural = neural;
    ask->result = ask->pending = NULL;
    sr_task_begin(&ask->task, &sr_neural_ask_work);
    if (growing->over || growing->n_ids - growing->at <= room ||
        growing->windows + 1 >= neural->options.windows.max_windows)
        return SR_ENOENT;
    size_t n = around.n_before + room + around.n_after;
    int32_t *ids = sr_mem_alloc(n * sizeof *ids);
    if (!ids)
        return SR_ENOMEM;
    memcpy(ids, around.before, around.n_before * sizeof *ids);
    memcpy(ids + around.n_before, growing->ids + growing->at, room * sizeof *ids);
    memcpy(ids + around.n_before + room, around.after, around.n_after * sizeof *ids);
    window.ids = ids;
    window.n_ids = (uint32_t)n;
    growing->windows++;
    growing->at += step;
    int rc = sr_neural_result_prefetch(&result, neural, &window, growing->salt);
    if (rc == SR_OK)
        rc = sr_neural_begin(neural, result, SR_INFER_PREFETCH, ask);
    sr_mem_free(ids);
    return rc;
}
