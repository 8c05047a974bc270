/*
 * Character n-grams through an inverted index: each window of words is cut into n-grams once, and only
 * keywords that share one with it are compared. Rules with the same arity and keywords with the same
 * number of words form a group with an index of its own.
 */
#include "base/hash.h"
#include "base/mem.h"
#include "base/unicode.h"
#include "signal/keyword/keyword.h"
#include "text/words.h"

#define WIDTH_MAX  8 /* words in a keyword; more are compared by their first 8 */
#define ARITY_MAX  8
#define SIEVE_BITS 4096
#define SEEN_MAX   2048 /* windows that are memoised */
#define GRAMS_MAX  512  /* n-grams of one window; longer windows are cut */
#define TEXT_MAX   (WIDTH_MAX * (SR_WORD_MAX + SR_UNICODE_FOLD_MAX + 1) + 2 * ARITY_MAX)

struct posting {
    uint32_t keyword; /* in the group */
    uint32_t count;   /* how often the keyword has the n-gram */
    uint32_t next;    /* further postings of the n-gram, NONE */
};

#define NONE UINT32_MAX

struct group {
    int arity;
    size_t width, n_keywords, n_postings, n_grams;
    size_t *slots;
    uint32_t *sizes; /* n-grams of each keyword */
    struct posting *postings;
    size_t mask;
    uint64_t sieve[SIEVE_BITS / 64]; /* hashes that may be in the table */
    struct {
        uint64_t hash;
        uint32_t gram; /* 0 = free, else number + 1 */
        uint32_t first;
    } * table;
};

struct sr_ngram {
    bool keep_case;
    size_t n_groups;
    struct group groups[];
};

/* The current window of consecutive words, oldest first. */
struct window {
    size_t count;
    struct {
        uint64_t hash;
        uint16_t n;
        bool glued; /* no space to the word before */
        char text[SR_WORD_MAX + SR_UNICODE_FOLD_MAX];
    } words[WIDTH_MAX];
    size_t end;
    enum sr_unicode_class class;
};

static void window_push(struct window *window, const struct sr_word *word, size_t width)
{
    if (window->count == width) {
        memmove(&window->words[0], &window->words[1], (width - 1) * sizeof window->words[0]);
        window->count--;
    }
    size_t at = window->count++;
    window->words[at].n = (uint16_t)word->n;
    window->words[at].glued =
        window->end == word->start && word->class == SR_UNICODE_DENSE && window->class == SR_UNICODE_DENSE;
    memcpy(window->words[at].text, word->folded, word->n);
    window->words[at].hash = sr_hash64(sr_bytes_of(word->folded, word->n), window->words[at].glued);
    window->end = word->end;
    window->class = word->class;
}

/* Short n-grams are their own hash, mixed; the lengths of XXH3's fixed costs would dominate otherwise. */
static uint64_t hash_gram(const char *p, size_t n)
{
    uint64_t v = n;
    if (n > 7)
        return sr_hash64(sr_bytes_of(p, n), 0);
    for (size_t i = 0; i < n; i++)
        v = v << 8 | (unsigned char)p[i];
    v *= UINT64_C(0x9E3779B97F4A7C15);
    return v ^ v >> 32;
}

/* The hashes of the window's n-grams, its ends padded with arity - 1 spaces. */
static size_t window_grams(const struct window *window, int arity, uint64_t hashes[GRAMS_MAX])
{
    char text[TEXT_MAX];
    uint16_t starts[TEXT_MAX + 1];
    size_t n = 0, points = 0, grams = 0, pad = (size_t)arity - 1;
    memset(text, ' ', pad);
    n = pad;
    for (size_t i = 0; i < window->count; i++) {
        if (i && !window->words[i].glued)
            text[n++] = ' ';
        memcpy(text + n, window->words[i].text, window->words[i].n);
        n += window->words[i].n;
    }
    memset(text + n, ' ', pad);
    n += pad;
    for (size_t i = 0; i < n; i++)
        if (!sr_utf8_is_tail(text[i]))
            starts[points++] = (uint16_t)i;
    starts[points] = (uint16_t)n;
    for (size_t i = 0; i + (size_t)arity <= points && grams < GRAMS_MAX; i++)
        hashes[grams++] = hash_gram(text + starts[i], starts[i + (size_t)arity] - starts[i]);
    return grams;
}

static size_t keyword_window(const struct sr_keyword_item *item, bool keep_case, struct window *window)
{
    struct sr_words words = sr_words_of(item->text, keep_case);
    struct sr_word word;
    *window = (struct window){.count = 0};
    while (window->count < WIDTH_MAX && sr_words_next(&words, &word))
        window_push(window, &word, WIDTH_MAX);
    return window->count;
}

static int arity_of(const struct sr_config_keyword *rule)
{
    return rule->ngram_arity < 1 ? 1 : rule->ngram_arity > ARITY_MAX ? ARITY_MAX : rule->ngram_arity;
}

static size_t find(const struct group *group, uint64_t hash)
{
    size_t at = hash & group->mask;
    while (group->table[at].gram && group->table[at].hash != hash)
        at = (at + 1) & group->mask;
    return at;
}

static void add_gram(struct group *group, uint64_t hash, uint32_t keyword)
{
    size_t at = find(group, hash);
    if (!group->table[at].gram) {
        group->table[at].hash = hash;
        group->table[at].gram = (uint32_t)++group->n_grams;
        group->sieve[hash % SIEVE_BITS / 64] |= UINT64_C(1) << hash % 64;
        group->table[at].first = NONE;
    }
    uint32_t first = group->table[at].first;
    if (first != NONE && group->postings[first].keyword == keyword) {
        group->postings[first].count++;
        return;
    }
    group->postings[group->n_postings] = (struct posting){keyword, 1, first};
    group->table[at].first = (uint32_t)group->n_postings++;
}

static int group_fill(struct group *group, const struct sr_keyword_item *items, size_t n, bool keep_case)
{
    size_t size = 64, total = 0;
    uint64_t hashes[GRAMS_MAX];
    struct window window;
    for (int pass = 0; pass < 2; pass++) {
        uint32_t keyword = 0;
        for (size_t i = 0; i < n; i++) {
            if (arity_of(items[i].rule) != group->arity ||
                keyword_window(&items[i], keep_case, &window) != group->width)
                continue;
            size_t grams = window_grams(&window, group->arity, hashes);
            total += pass == 0 ? grams : 0;
            for (size_t g = 0; pass == 1 && g < grams; g++)
                add_gram(group, hashes[g], keyword);
            if (pass == 1) {
                group->slots[keyword] = items[i].slot;
                group->sizes[keyword] = (uint32_t)grams;
            }
            keyword++;
        }
        if (pass == 1)
            break;
        while (size < total * 2)
            size *= 2;
        group->n_keywords = keyword;
        group->mask = size - 1;
        group->slots = sr_mem_calloc(keyword + 1, sizeof *group->slots);
        group->sizes = sr_mem_calloc(keyword + 1, sizeof *group->sizes);
        group->postings = sr_mem_calloc(total + 1, sizeof *group->postings);
        group->table = sr_mem_calloc(size, sizeof *group->table);
        if (!group->slots || !group->sizes || !group->postings || !group->table)
            return SR_ENOMEM;
    }
    return SR_OK;
}

static bool has_group(const struct sr_ngram *ngram, int arity, size_t width)
{
    for (size_t i = 0; i < ngram->n_groups; i++)
        if (ngram->groups[i].arity == arity && ngram->groups[i].width == width)
            return true;
    return false;
}

int sr_ngram_new(struct sr_ngram **out, const struct sr_keyword_item *items, size_t n, bool keep_case)
{
    struct sr_ngram *ngram = sr_mem_calloc(1, sizeof *ngram + ARITY_MAX * WIDTH_MAX * sizeof(struct group));
    struct window window;
    if (!ngram)
        return SR_ENOMEM;
    ngram->keep_case = keep_case;
    for (size_t i = 0; i < n; i++) {
        int arity = arity_of(items[i].rule);
        size_t width = keyword_window(&items[i], keep_case, &window);
        if (width == 0 || has_group(ngram, arity, width))
            continue;
        struct group *group = &ngram->groups[ngram->n_groups++];
        group->arity = arity;
        group->width = width;
        int rc = group_fill(group, items, n, keep_case);
        if (rc) {
            sr_ngram_free(ngram);
            return rc;
        }
    }
    *out = ngram;
    return SR_OK;
}

void sr_ngram_free(struct sr_ngram *ngram)
{
    if (!ngram)
        return;
    for (size_t i = 0; i < ngram->n_groups; i++) {
        sr_mem_free(ngram->groups[i].slots);
        sr_mem_free(ngram->groups[i].sizes);
        sr_mem_free(ngram->groups[i].postings);
        sr_mem_free(ngram->groups[i].table);
    }
    sr_mem_free(ngram);
}

/* True when this window was compared recently: texts repeat their words, and the same window has the same
 * score. */
static bool seen_before(const struct window *window, uint64_t *seen)
{
    uint64_t key = window->words[0].hash | 1; /* 0 is a free slot */
    for (size_t i = 1; i < window->count; i++)
        key = (key ^ window->words[i].hash) * UINT64_C(0x9E3779B97F4A7C15) | 1;
    uint64_t *place = &seen[(key >> 32) % SEEN_MAX];
    if (*place == key)
        return true;
    *place = key;
    return false;
}

/* Counters of a run; all zero between windows. */
struct counters {
    uint32_t *grams;         /* occurrences in the window, by n-gram */
    uint32_t met[GRAMS_MAX]; /* n-grams of the window that keywords have */
    size_t n_met;
    uint32_t *shared;  /* n-grams in common, by keyword */
    uint32_t *touched; /* keywords with something in common */
    size_t n_touched;
};

static void count_window(const struct group *group, const uint64_t *hashes, size_t n,
                         struct counters *counters)
{
    for (size_t g = 0; g < n; g++) {
        if (!(group->sieve[hashes[g] % SIEVE_BITS / 64] >> hashes[g] % 64 & 1))
            continue;
        size_t at = find(group, hashes[g]);
        if (!group->table[at].gram)
            continue;
        uint32_t gram = group->table[at].gram - 1, occurrence = ++counters->grams[gram];
        counters->met[counters->n_met++] = gram;
        for (uint32_t p = group->table[at].first; p != NONE; p = group->postings[p].next) {
            uint32_t keyword = group->postings[p].keyword;
            if (occurrence > group->postings[p].count)
                continue;
            if (counters->shared[keyword]++ == 0)
                counters->touched[counters->n_touched++] = keyword;
        }
    }
}

static void score_window(const struct group *group, const uint64_t *hashes, size_t n,
                         struct counters *counters, float *scores)
{
    counters->n_touched = counters->n_met = 0;
    count_window(group, hashes, n, counters);
    for (size_t i = 0; i < counters->n_touched; i++) {
        uint32_t keyword = counters->touched[i], shared = counters->shared[keyword];
        float similarity = (float)shared / (float)(group->sizes[keyword] + n - shared);
        float *best = &scores[group->slots[keyword]];
        if (similarity > *best)
            *best = similarity;
        counters->shared[keyword] = 0;
    }
    for (size_t i = 0; i < counters->n_met; i++)
        counters->grams[counters->met[i]] = 0;
}

int sr_ngram_run(const struct sr_ngram *ngram, struct sr_bytes text, struct sr_arena *arena, float *scores)
{
    uint64_t hashes[GRAMS_MAX];
    struct sr_word word;
    for (size_t i = 0; i < ngram->n_groups; i++) {
        const struct group *group = &ngram->groups[i];
        struct counters counters = {
            .grams = sr_arena_calloc(arena, group->n_grams + 1, sizeof(uint32_t)),
            .shared = sr_arena_calloc(arena, group->n_keywords + 1, sizeof(uint32_t)),
            .touched = sr_arena_calloc(arena, group->n_keywords + 1, sizeof(uint32_t)),
        };
        uint64_t *seen = sr_arena_calloc(arena, SEEN_MAX, sizeof *seen);
        if (!counters.grams || !counters.shared || !counters.touched || !seen)
            return SR_ENOMEM;
        for (size_t k = 0; k < group->n_keywords; k++)
            scores[group->slots[k]] = 0;
        struct sr_words words = sr_words_of(text, ngram->keep_case);
        struct window window = {.count = 0};
        while (sr_words_next(&words, &word)) {
            window_push(&window, &word, group->width);
            if (window.count == group->width && !seen_before(&window, seen))
                score_window(group, hashes, window_grams(&window, group->arity, hashes), &counters, scores);
        }
    }
    return SR_OK;
}
