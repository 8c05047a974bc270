/*
 * The short text of an input: the compressed text that signals read if the configuration asks for it.
 *
 * It may be begun while the input still arrives. The first signal that needs it finishes it, on that
 * signal's thread. When out of memory, signals read the original. This file decides which signals read it.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "infer/model_store.h"
#include "signal/types.h"
#include "text/compress/compress.h"

#include <pthread.h>

/* Most idle compressors kept for the next text: their allocated memory saves four fifths of the time.
 * Compressors that a long text has made large are freed. */
#define SHELF       4
#define SHELF_BYTES ((size_t)4 << 20)

struct shelf {
    pthread_mutex_t lock;
    sr_compressor *items[SHELF];
    size_t n;
};

/* The settings of short texts, part of a configuration's signals; immutable except the list of idle
 * compressors. */
struct sr_signal_shortener {
    struct sr_ref ref; /* of the signals, and of each short text */
    struct shelf shelf;
    struct sr_compress_settings settings;
    struct sr_compress_counter counter; /* its `ctx` is a tokenizer of its own, or NULL */
    uint32_t skipped;                   /* types that read the original: bits */
    size_t least;                       /* texts of at most so many bytes stay as they are */
};

struct sr_signal_brief {
    pthread_mutex_t lock;
    struct sr_signal_shortener *shortener; /* a reference */
    sr_compressor *compressor;             /* holds the text so far; NULL: none, or out of memory */
    bool tried;
    bool shorter; /* `text` is set */
    struct sr_buf text;
    struct sr_signal_brief_stats stats;
};

static int shelf_take(struct shelf *shelf, size_t bytes, sr_compressor **out)
{
    *out = NULL;
    if (bytes > SR_COMPRESS_TEXT_MAX)
        return sr_compressor_new(out, bytes);
    pthread_mutex_lock(&shelf->lock);
    if (shelf->n)
        *out = shelf->items[--shelf->n];
    pthread_mutex_unlock(&shelf->lock);
    return *out ? SR_OK : sr_compressor_new(out, SR_COMPRESS_TEXT_MAX);
}

static void shelf_give(struct shelf *shelf, sr_compressor *c)
{
    if (c && sr_compressor_memory(c) <= SHELF_BYTES) {
        pthread_mutex_lock(&shelf->lock);
        if (shelf->n < SHELF) {
            shelf->items[shelf->n++] = c;
            c = NULL;
        }
        pthread_mutex_unlock(&shelf->lock);
    }
    sr_compressor_free(c);
}

/* Values of 0 are the profile's. */
static struct sr_compress_settings settings_of(const struct sr_config_compression *config)
{
    struct sr_compress_settings s;
    sr_compress_profile(sr_bytes_str(config->profile), &s);
    s.budget = (size_t)config->max_tokens;
    s.textrank = config->textrank > 0 ? config->textrank : s.textrank;
    s.position = config->position > 0 ? config->position : s.position;
    s.tfidf = config->tfidf > 0 ? config->tfidf : s.tfidf;
    s.novelty = config->novelty > 0 ? config->novelty : s.novelty;
    s.depth = config->depth > 0 ? config->depth : s.depth;
    s.first = config->first > 0 ? (size_t)config->first : s.first;
    s.last = config->last > 0 ? (size_t)config->last : s.last;
    return s;
}

static uint32_t skipped_types(const struct sr_strings *names)
{
    uint32_t skipped = 0;
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        if (sr_signal_registry[type]->reads != SR_SIGNAL_READS_TEXT)
            skipped |= 1u << type;
    for (size_t i = 0; i < names->count; i++) {
        int type = sr_signal_find_type(sr_bytes_str(names->items[i]));
        if (type >= 0)
            skipped |= 1u << type;
    }
    return skipped;
}

/* True when a configured signal reads short texts. */
static bool is_wanted(const struct sr_signals *signals, uint32_t skipped)
{
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        if (signals->sets[type] && !(skipped >> type & 1))
            return true;
    return false;
}

/* Counts tokens; a text that the tokenizer cannot count is too long for any budget. */
static size_t count_tokens(void *ctx, struct sr_bytes text)
{
    size_t n;
    return sr_tokenizer_count(ctx, text, 0, &n) == SR_OK ? n : SIZE_MAX;
}

static size_t fit_tokens(void *ctx, struct sr_bytes text, size_t tokens)
{
    size_t length;
    return sr_tokenizer_fit(ctx, text, 0, tokens, &length) == SR_OK ? length : 0;
}

static int open_tokenizer(struct sr_signal_shortener *s, const struct sr_config_compression *config,
                          struct sr_model_store *models, struct sr_err *err)
{
    struct sr_tokenizer *tokenizer;
    struct sr_err why = {0};
    int rc = sr_model_store_tokenizer(models, config->tokenizer, &tokenizer, &why);
    if (rc) {
        sr_err_set(err, rc, "`tokenizer`: %.200s: %s", config->tokenizer, why.message);
        err->line = config->tokenizer_at.line;
        err->column = config->tokenizer_at.column;
        return rc;
    }
    s->counter = (struct sr_compress_counter){count_tokens, fit_tokens, tokenizer};
    s->settings.counter = &s->counter;
    return SR_OK;
}

int sr_signal_shortener_new(struct sr_signals *signals, struct sr_model_store *models, struct sr_err *err)
{
    const struct sr_config_compression *config = &signals->config->global.compression;
    uint32_t skipped = skipped_types(&config->skip_signals);
    if (!config->enabled || config->max_tokens <= 0 || !is_wanted(signals, skipped))
        return SR_OK;
    struct sr_signal_shortener *s = sr_mem_calloc(1, sizeof *s);
    if (!s)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    sr_ref_init(&s->ref);
    pthread_mutex_init(&s->shelf.lock, NULL);
    s->settings = settings_of(config);
    s->skipped = skipped;
    /* Estimated, a token has at least a byte. A tokenizer may first unfold a character: U+FDFA, three bytes,
     * becomes eighteen letters. */
    s->least = (size_t)config->max_tokens / (config->tokenizer && *config->tokenizer ? 8 : 1);
    s->least = config->min_length > s->least ? config->min_length : s->least;
    signals->shortener = s;
    return config->tokenizer && *config->tokenizer ? open_tokenizer(s, config, models, err) : SR_OK;
}

void sr_signal_shortener_unref(struct sr_signal_shortener *s)
{
    if (!s || !sr_ref_put(&s->ref))
        return;
    for (size_t i = 0; i < s->shelf.n; i++)
        sr_compressor_free(s->shelf.items[i]);
    pthread_mutex_destroy(&s->shelf.lock);
    sr_tokenizer_unref(s->counter.ctx);
    sr_mem_free(s);
}

size_t sr_signals_read_whole(const struct sr_signals *signals)
{
    return signals->shortener ? signals->shortener->least : SIZE_MAX;
}

struct sr_signal_brief *sr_signal_brief_new(struct sr_signals *signals)
{
    struct sr_signal_brief *brief = signals->shortener ? sr_mem_calloc(1, sizeof *brief) : NULL;
    if (!brief)
        return NULL;
    pthread_mutex_init(&brief->lock, NULL);
    brief->shortener = signals->shortener;
    sr_ref_get(&brief->shortener->ref);
    return brief;
}

static void drop_compressor(struct sr_signal_brief *brief)
{
    shelf_give(&brief->shortener->shelf, brief->compressor);
    brief->compressor = NULL;
}

void sr_signal_brief_free(struct sr_signal_brief *brief)
{
    if (!brief)
        return;
    pthread_mutex_destroy(&brief->lock);
    sr_buf_dispose(&brief->text);
    drop_compressor(brief);
    sr_signal_shortener_unref(brief->shortener);
    sr_mem_free(brief);
}

void sr_signal_brief_begin(struct sr_signal_brief *brief)
{
    int rc = SR_OK;
    if (!brief->compressor)
        rc = shelf_take(&brief->shortener->shelf, 0, &brief->compressor);
    if (rc == SR_OK)
        rc = sr_compress_begin(brief->compressor, &brief->shortener->settings);
    if (rc)
        drop_compressor(brief);
}

void sr_signal_brief_feed(struct sr_signal_brief *brief, struct sr_bytes piece)
{
    uint64_t start = sr_clock_ns();
    if (brief->compressor && sr_compress_feed(brief->compressor, piece))
        drop_compressor(brief);
    brief->stats.ns += sr_clock_ns() - start;
}

int sr_signal_input_shorten(struct sr_signal_input *input, struct sr_signals *signals,
                            struct sr_signal_brief *prefetched)
{
    int rc = SR_OK;
    if (input->text.n > sr_signals_read_whole(signals)) {
        input->brief = prefetched ? prefetched : sr_signal_brief_new(signals);
        prefetched = NULL;
        if (input->brief)
            sr_buf_init(&input->brief->text, input->text.n * 2);
        else
            rc = SR_ENOMEM;
    }
    sr_signal_brief_free(prefetched);
    return rc;
}

/* True when the prefetched text is the beginning of this text. */
static bool begins(const sr_compressor *c, struct sr_bytes text)
{
    return c && sr_bytes_starts_with(text, sr_compress_arrived(c));
}

static int compress(struct sr_signal_brief *brief, struct sr_bytes text)
{
    sr_compressor *c = brief->compressor;
    struct sr_compress_result result;
    int rc = SR_OK;
    if (!begins(c, text)) {
        drop_compressor(brief);
        rc = shelf_take(&brief->shortener->shelf, text.n, &c);
        brief->compressor = c;
        if (rc == SR_OK)
            rc = sr_compress_begin(c, &brief->shortener->settings);
    }
    if (rc == SR_OK) {
        size_t n = brief->stats.prefetched = sr_compress_arrived(c).n;
        rc = sr_compress_feed(c, sr_bytes_of(text.p + n, text.n - n));
    }
    if (rc == SR_OK)
        rc = sr_compress_end(c, &result);
    if (rc == SR_OK && !result.whole)
        rc = sr_compress_write(c, &brief->text);
    if (rc == SR_OK && !result.whole) {
        brief->shorter = true;
        brief->stats.original_tokens = result.original_tokens;
        brief->stats.compressed_tokens = result.compressed_tokens;
    }
    drop_compressor(brief);
    return rc;
}

struct sr_signal_input sr_signal_input_seen_by(const struct sr_signal_input *input, enum sr_signal_type type)
{
    struct sr_signal_brief *brief = input->brief;
    struct sr_signal_input seen = {.text = input->text,
                                   .total_bytes = input->total_bytes,
                                   .facts = input->facts,
                                   .vector = input->vector,
                                   .total_tokens = input->total_tokens};
    if (!brief || (brief->shortener->skipped >> type & 1))
        return seen;
    pthread_mutex_lock(&brief->lock);
    if (!brief->tried) {
        uint64_t start = sr_clock_ns();
        brief->tried = true;
        if (compress(brief, input->text) != SR_OK)
            brief->shorter = false;
        brief->stats.end_ns = sr_clock_ns() - start;
        brief->stats.ns += brief->stats.end_ns;
    }
    if (brief->shorter)
        seen.text = sr_buf_view(&brief->text);
    pthread_mutex_unlock(&brief->lock);
    return seen;
}

bool sr_signal_input_stats(const struct sr_signal_input *input, struct sr_signal_brief_stats *stats)
{
    struct sr_signal_brief *brief = input->brief;
    if (!brief || pthread_mutex_trylock(&brief->lock)) /* cancelled and still running: no result */
        return false;
    bool shorter = brief->shorter;
    *stats = brief->stats;
    pthread_mutex_unlock(&brief->lock);
    return shorter;
}
