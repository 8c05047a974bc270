/*
 * The short text of an input: what signals read of a long one when the configuration asks for compression.
 *
 * Made by the first signal that wants it, so that it happens where that signal runs and only when one does;
 * without memory for it, signals read the original. Which signals want it is decided here.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "signal/types.h"
#include "text/compress.h"

#include <pthread.h>

struct sr_signal_brief {
    pthread_mutex_t lock;
    struct sr_compress_settings settings;
    uint32_t skipped; /* types that read the original: bits */
    bool tried;
    bool shorter; /* `text` is there */
    struct sr_buf text;
    struct sr_signal_brief_stats stats;
};

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
        if (sr_signal_registry[type]->reads_all)
            skipped |= 1u << type;
    for (size_t i = 0; i < names->count; i++) {
        int type = sr_signal_find(sr_bytes_str(names->items[i]));
        if (type >= 0)
            skipped |= 1u << type;
    }
    return skipped;
}

int sr_signal_input_shorten(struct sr_signal_input *input, const struct sr_config_compression *config)
{
    /* A token has at least a byte, so a text of as many bytes as the budget has tokens fits. */
    if (!config->enabled || config->max_tokens <= 0 || input->text.n <= config->min_length ||
        input->text.n <= (size_t)config->max_tokens)
        return SR_OK;
    struct sr_signal_brief *brief = sr_mem_calloc(1, sizeof *brief);
    if (!brief)
        return SR_ENOMEM;
    pthread_mutex_init(&brief->lock, NULL);
    brief->settings = settings_of(config);
    brief->skipped = skipped_types(&config->skip_signals);
    sr_buf_init(&brief->text, input->text.n * 2);
    input->brief = brief;
    return SR_OK;
}

void sr_signal_brief_free(struct sr_signal_brief *brief)
{
    if (!brief)
        return;
    pthread_mutex_destroy(&brief->lock);
    sr_buf_dispose(&brief->text);
    sr_mem_free(brief);
}

static int compress(struct sr_signal_brief *brief, struct sr_bytes text)
{
    sr_compressor *c = NULL;
    struct sr_compress_result result;
    int rc = sr_compressor_new(&c, text.n);
    if (rc == SR_OK)
        rc = sr_compress_text(c, &brief->settings, text, &result);
    if (rc == SR_OK && !result.whole)
        rc = sr_compress_write(c, &brief->text);
    if (rc == SR_OK && !result.whole) {
        brief->shorter = true;
        brief->stats.original_tokens = result.original_tokens;
        brief->stats.compressed_tokens = result.compressed_tokens;
    }
    sr_compressor_free(c);
    return rc;
}

struct sr_signal_input sr_signal_input_seen_by(const struct sr_signal_input *input, enum sr_signal_type type)
{
    struct sr_signal_brief *brief = input->brief;
    struct sr_signal_input seen = {
        .text = input->text, .total_bytes = input->total_bytes, .total_tokens = input->total_tokens};
    if (!brief || (brief->skipped >> type & 1))
        return seen;
    pthread_mutex_lock(&brief->lock);
    if (!brief->tried) {
        uint64_t start = sr_clock_ns();
        brief->tried = true;
        if (compress(brief, input->text) != SR_OK)
            brief->shorter = false;
        brief->stats.ns = sr_clock_ns() - start;
    }
    if (brief->shorter)
        seen.text = sr_buf_view(&brief->text);
    pthread_mutex_unlock(&brief->lock);
    return seen;
}

bool sr_signal_input_stats(const struct sr_signal_input *input, struct sr_signal_brief_stats *stats)
{
    struct sr_signal_brief *brief = input->brief;
    if (!brief || pthread_mutex_trylock(&brief->lock)) /* given up on, and still at it: nothing is known */
        return false;
    bool shorter = brief->shorter;
    *stats = brief->stats;
    pthread_mutex_unlock(&brief->lock);
    return shorter;
}
