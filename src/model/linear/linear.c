/*
 * Evaluation of the linear tier: bytes to symbols, symbols to n-gram keys, keys to rows of weights.
 *
 * training/features.py implements the same features: both must compute the same keys from the same bytes,
 * which tests/golden/linear_domain.jsonl checks. open.c loads models.
 */
#include "model/linear/linear.h"

#include "model/linear/model.h"
#include "model/linear/table.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the tables of a model are read as they are stored: little-endian"
#endif

enum kind { SPACE, LETTER, SIGN, IDEOGRAPH };

#define K_CHAR    UINT64_C(0x9E3779B97F4A7C15)
#define K_WORD    UINT64_C(0xD6E8FEB86659FD93)
#define K_MIX     UINT64_C(0xFF51AFD7ED558CCD)
#define SEED_WORD UINT64_C(0x2545F4914F6CDD1D)
#define SEED_PAIR UINT64_C(0x6C62272E07BB0142)
#define SEED_SKIP UINT64_C(0x8EBC6AF09C88C6E3)

/* An n-gram of each length, and three words each for the word before a sign and the sign. */
#define KEYS_PER_SYMBOL (SR_LINEAR_GRAM_MAX + 6)
static_assert(SR_LINEAR_BATCH <= SR_LINEAR_BURST, "a batch is added up in 16 bits");

struct range {
    uint32_t first, last, kind;
};

/* Code points above ASCII, ascending; all others are SPACE. */
static const struct range ranges[] = {
    {0xAA, 0xAA, LETTER},          {0xB0, 0xB1, SIGN},
    {0xB5, 0xB5, LETTER},          {0xBA, 0xBA, LETTER},
    {0xC0, 0xD6, LETTER},          {0xD7, 0xD7, SIGN},
    {0xD8, 0xF6, LETTER},          {0xF7, 0xF7, SIGN},
    {0xF8, 0x1FFF, LETTER},        {0x2070, 0x209F, LETTER},
    {0x20A0, 0x20CF, SIGN},        {0x2100, 0x214F, LETTER},
    {0x2190, 0x23FF, SIGN},        {0x2500, 0x2BFF, SIGN},
    {0x2C00, 0x2DFF, LETTER},      {0x2E80, 0x2FFF, IDEOGRAPH},
    {0x3005, 0x3007, IDEOGRAPH},   {0x3040, 0x30FF, IDEOGRAPH},
    {0x3100, 0x318F, LETTER},      {0x3400, 0x4DBF, IDEOGRAPH},
    {0x4E00, 0x9FFF, IDEOGRAPH},   {0xA000, 0xD7FF, LETTER},
    {0xF900, 0xFAFF, IDEOGRAPH},   {0xFB00, 0xFDFF, LETTER},
    {0xFE70, 0xFEFE, LETTER},      {0x10000, 0x1CFFF, LETTER},
    {0x1D000, 0x1F0FF, LETTER},    {0x1F100, 0x1FAFF, SIGN},
    {0x20000, 0x3FFFF, IDEOGRAPH},
};

#define L LETTER
#define S SIGN
/* ASCII: # $ % & * + / < = > @ [ \ ] ^ { | } ~ are symbols; other punctuation separates words. */
static const unsigned char ascii_kind[128] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, S, S, S, S, 0, 0, 0, S, S, 0, 0, 0, S, L, L, L, L, L, L, L, L, L, L, 0, 0, S, S, S, 0,
    S, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, S, S, S, S, 0,
    0, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, S, S, S, S, 0,
};
#undef L
#undef S

static uint32_t kind_of(uint32_t c)
{
    size_t low = 0, high = sizeof ranges / sizeof *ranges;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (c < ranges[middle].first)
            high = middle;
        else if (c > ranges[middle].last)
            low = middle + 1;
        else
            return ranges[middle].kind;
    }
    return SPACE;
}

static uint32_t fold_ascii(uint32_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c + 32;
    return c >= '0' && c <= '9' ? '0' : c; /* only the shape of a number matters */
}

/* Lower case of the scripts that have a regular one: Latin, Greek, Cyrillic. */
static uint32_t fold(uint32_t c)
{
    if ((c >= 0xC0 && c <= 0xDE && c != 0xD7) || (c >= 0x391 && c <= 0x3A9) || (c >= 0x410 && c <= 0x42F))
        return c + 32;
    if (c >= 0x400 && c <= 0x40F)
        return c + 80;
    if ((c >= 0x100 && c <= 0x137) || (c >= 0x14A && c <= 0x177) || (c >= 0x460 && c <= 0x52F) ||
        (c >= 0x1E00 && c <= 0x1EFF))
        return c | 1;
    return c;
}

static inline uint64_t finish(uint64_t h)
{
    h ^= h >> 32;
    h *= K_MIX;
    return h ^ h >> 29;
}

/* Rows with that many labels, or so near the end of the table that a wide read would exceed it. */
static void add_row(struct sr_linear_run *run, uint32_t row)
{
    const int8_t *w = run->model->weights + (size_t)row * run->model->n_labels;
    for (uint32_t l = 0; l < run->model->n_labels; l++)
        run->sums[l] += w[l];
}

/* Adds the rows that the previous flush found; their weights were prefetched since then. */
static void add_pending(struct sr_linear_run *run)
{
    sr_linear_add_rows(run->sums, run->model->weights, run->model->n_labels, run->pending, run->n_pending);
    run->n_pending = 0;
}

/* Counts the queued n-grams, in steps without a branch on the result of a look-up: the table's cache lines
 * are fetched in parallel, and a row that was seen before costs as much as a new one. */
static void flush(struct sr_linear_run *run)
{
    const struct sr_linear *m = run->model;
    uint32_t rows[SR_LINEAR_BATCH + 1], n = 0, fresh = 0;
    for (uint32_t i = 0; i < run->waiting; i++) {
        uint64_t key = run->keys[i];
        uint32_t bucket = (uint32_t)((key >> 32) * m->buckets >> 32);
        uint16_t wanted = (uint16_t)key;
        wanted = (uint16_t)(wanted + (wanted == 0));
        uint32_t slot = sr_linear_match(m->fingerprints + (size_t)bucket * 2 * SR_LINEAR_SLOTS, wanted);
        rows[n] = bucket * SR_LINEAR_SLOTS + slot;
        n += slot < SR_LINEAR_SLOTS;
    }
    run->waiting = 0;
    add_pending(run);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = rows[i];
        uint64_t bit = UINT64_C(1) << (row & 63), *seen = &run->seen[row >> 6];
        uint32_t first = !(*seen & bit);
        *seen |= bit;
        run->touched[run->known % SR_LINEAR_TOUCHED] = row;
        run->known += first;
        if (row >= m->wide_rows) {
            if (first)
                add_row(run, row);
            continue;
        }
        __builtin_prefetch(m->weights + (size_t)row * m->n_labels);
        run->pending[fresh] = row;
        fresh += first;
    }
    run->n_pending = fresh;
}

static inline void add_key(struct sr_linear_run *run, uint64_t key)
{
    run->keys[run->waiting++] = key;
}

/* `h` is the hash of a whole word, or 0 for a character that separates word sequences. */
static void add_word(struct sr_linear_run *run, uint64_t h)
{
    if (h) {
        add_key(run, finish(h));
        if (run->words[0])
            add_key(run, finish(run->words[0] * K_CHAR + h + SEED_PAIR));
        if (run->words[1])
            add_key(run, finish(run->words[1] * K_WORD + h + SEED_SKIP));
    }
    run->words[1] = run->words[0];
    run->words[0] = h;
}

static inline uint64_t extend_word(uint64_t h, uint32_t symbol)
{
    h = (h ^ symbol) * K_WORD;
    return h ^ h >> 32;
}

static void feed_words(struct sr_linear_run *run, uint32_t symbol, uint32_t kind)
{
    if (kind == LETTER) {
        run->word = extend_word(run->word ? run->word : SEED_WORD, symbol);
        return;
    }
    if (run->word)
        add_word(run, run->word);
    run->word = 0;
    if (kind == SIGN)
        add_word(run, extend_word(SEED_WORD, symbol));
    else if (kind == IDEOGRAPH)
        add_word(run, 0);
}

static void feed_symbol(struct sr_linear_run *run, uint32_t symbol, uint32_t kind)
{
    if (kind == SPACE) {
        if (run->last_kind == SPACE)
            return;
        symbol = ' ';
    }
    if (run->waiting > SR_LINEAR_BATCH - KEYS_PER_SYMBOL)
        flush(run);
    run->recent[run->at++ & 7] = symbol;
    run->reach = run->last_kind == SPACE ? 2 : run->reach + (run->reach < SR_LINEAR_GRAM_MAX);
    run->last_kind = kind;
    feed_words(run, symbol, kind);
    uint64_t h = (symbol + UINT64_C(1)) * K_CHAR;
    if (kind >= SIGN)
        add_key(run, finish(h + 1));
    uint32_t across = run->at < SR_LINEAR_GRAM_ACROSS ? run->at : SR_LINEAR_GRAM_ACROSS;
    uint32_t longest = run->reach > across ? run->reach : across;
    for (uint32_t n = 2; n <= longest; n++) {
        h = (h + run->recent[(run->at - n) & 7] + 1) * K_CHAR;
        add_key(run, finish(h + n));
    }
}

static void feed_code(struct sr_linear_run *run, uint32_t c)
{
    if (c >= 0xFF01 && c <= 0xFF5E) /* full-width forms of ASCII */
        c -= 0xFEE0;
    if (c < 128)
        feed_symbol(run, fold_ascii(c), ascii_kind[c]);
    else
        feed_symbol(run, fold(c), kind_of(c));
}

/* Handles a byte from 0x80 up where a new sequence may begin. False: it begins none. */
static bool lead(struct sr_linear_run *run, unsigned char c)
{
    run->low = 0x80;
    run->high = 0xBF;
    if (c >= 0xC2 && c <= 0xDF) {
        run->need = 1;
        run->code = c & 0x1F;
    } else if (c >= 0xE0 && c <= 0xEF) {
        run->need = 2;
        run->code = c & 0x0F;
        run->low = c == 0xE0 ? 0xA0 : 0x80;
        run->high = c == 0xED ? 0x9F : 0xBF; /* no surrogates */
    } else if (c >= 0xF0 && c <= 0xF4) {
        run->need = 3;
        run->code = c & 0x07;
        run->low = c == 0xF0 ? 0x90 : 0x80;
        run->high = c == 0xF4 ? 0x8F : 0xBF;
    } else {
        return false;
    }
    return true;
}

static void feed_byte(struct sr_linear_run *run, unsigned char c)
{
    if (run->need) {
        if (c >= run->low && c <= run->high) {
            run->code = run->code << 6 | (c & 0x3F);
            run->low = 0x80;
            run->high = 0xBF;
            if (--run->need == 0)
                feed_code(run, run->code);
            return;
        }
        run->need = 0;
        feed_symbol(run, ' ', SPACE); /* the broken sequence; `c` may begin the next */
    }
    if (c < 0x80)
        feed_symbol(run, fold_ascii(c), ascii_kind[c]);
    else if (!lead(run, c))
        feed_symbol(run, ' ', SPACE);
}

/* Everything but `seen`. */
static void reset(struct sr_linear_run *run, const struct sr_linear *model)
{
    memset(run, 0, offsetof(struct sr_linear_run, keys));
    run->model = model;
    run->recent[0] = ' ';
    run->at = run->reach = 1;
}

void sr_linear_begin(struct sr_linear_run *run, const struct sr_linear *model)
{
    reset(run, model);
    memset(run->seen, 0, ((size_t)model->buckets * SR_LINEAR_SLOTS + 63) / 64 * sizeof *run->seen);
}

void sr_linear_again(struct sr_linear_run *run)
{
    if (run->known >= SR_LINEAR_TOUCHED) {
        sr_linear_begin(run, run->model);
        return;
    }
    for (uint32_t i = 0; i < run->known; i++)
        run->seen[run->touched[i] >> 6] = 0;
    reset(run, run->model);
}

void sr_linear_feed(struct sr_linear_run *run, struct sr_bytes piece)
{
    for (size_t i = 0; i < piece.n; i++)
        feed_byte(run, (unsigned char)piece.p[i]);
}

void sr_linear_end(struct sr_linear_run *run, double *logits, float *probabilities)
{
    const struct sr_linear *m = run->model;
    double z[SR_CLASSIFIER_LABELS_MAX], top = -INFINITY, sum = 0;
    feed_symbol(run, ' ', SPACE); /* an incomplete sequence at the end of the text also counts as a space */
    flush(run);
    add_pending(run);
    double norm = run->known ? m->scale / sqrt((double)run->known + m->damping) : 0;
    for (uint32_t l = 0; l < m->n_labels; l++) {
        z[l] = m->bias[l] + norm * run->sums[l];
        top = z[l] > top ? z[l] : top;
    }
    if (logits)
        memcpy(logits, z, m->n_labels * sizeof *z);
    if (!probabilities)
        return;
    for (uint32_t l = 0; l < m->n_labels; l++)
        sum += z[l] = exp((z[l] - top) / m->temperature);
    for (uint32_t l = 0; l < m->n_labels; l++)
        probabilities[l] = (float)(z[l] / sum);
}

void sr_linear_scores(const struct sr_linear *model, struct sr_bytes text, float *out)
{
    struct sr_linear_run run;
    sr_linear_begin(&run, model);
    sr_linear_feed(&run, text);
    sr_linear_end(&run, NULL, out);
}

int sr_linear_answer(struct sr_classifier *self, struct sr_classifier_query *query)
{
    sr_linear_scores((const struct sr_linear *)self, query->text, query->probabilities);
    query->tier = self->ops->name;
    query->read_bytes = query->text.n;
    return SR_OK;
}
