/*
 * Vectors of the questions, pairs of near ones where none are labelled, and what vectors and gate say of each
 * pair.
 */
#include "cli/cache/pairs.h"

#include "base/hash.h"
#include "base/mem.h"
#include "cli/term.h"
#include "infer/embed.h"
#include "text/words.h"

#include <math.h>

#define GROUP_TEXTS 256u
#define GROUP_IDS   16384u
#define WORDS_MAX   64   /* words of a question that are compared when pairs are guessed */
#define SHARE_SAME  0.5F /* of their words, in both questions: guessed to be the same */

struct vectors {
    float *values; /* [texts, dimensions] */
    size_t dimensions;
};

static float dot(const float *a, const float *b, size_t n)
{
    float sums[8] = {0}, sum = 0;
    for (size_t i = 0; i + 8 <= n; i += 8)
        for (size_t k = 0; k < 8; k++)
            sums[k] += a[i + k] * b[i + k];
    for (size_t i = n / 8 * 8; i < n; i++)
        sum += a[i] * b[i];
    for (size_t k = 0; k < 8; k++)
        sum += sums[k];
    return sum;
}

/* ---- vectors ---- */

static int new_group(struct sr_encoder *encoder, size_t texts, size_t ids, struct sr_embed **out,
                     struct sr_err *err)
{
    struct sr_embed_options o = sr_embed_defaults(encoder);
    o.max_texts = texts;
    o.max_ids = ids ? ids : o.max_ids;
    return sr_embed_new(out, encoder, &o, err);
}

/* Adds texts from `from` on to the group until it is full; returns how many. */
static size_t fill(struct sr_embed *group, const struct sr_pairs *pairs, size_t from)
{
    size_t n = 0;
    while (from + n < pairs->n_texts && n < GROUP_TEXTS &&
           sr_embed_add(group, pairs->texts[from + n]) == SR_OK)
        n++;
    return n;
}

static int keep(const struct sr_embed *group, size_t from, const struct sr_pairs *pairs, struct vectors *v)
{
    if (!v->values) {
        v->dimensions = sr_embed_dimensions(group);
        v->values = sr_mem_calloc(pairs->n_texts, v->dimensions * sizeof *v->values);
    }
    for (size_t i = 0; v->values && i < sr_embed_count(group); i++)
        sr_embed_vector(group, i, v->values + (from + i) * v->dimensions);
    return v->values ? SR_OK : SR_ENOMEM;
}

static int embed_all(const struct sr_pairs *pairs, struct sr_encoder *encoder, struct sr_infer *infer,
                     struct vectors *v, struct sr_err *err)
{
    int rc = SR_OK;
    for (size_t at = 0, n = 0; rc == SR_OK && at < pairs->n_texts; at += n) {
        struct sr_embed *group = NULL;
        rc = new_group(encoder, GROUP_TEXTS, GROUP_IDS, &group, err);
        n = rc == SR_OK ? fill(group, pairs, at) : 0;
        if (rc == SR_OK && n == 0) { /* a text that is too long for a group of many */
            sr_embed_free(group);
            group = NULL;
            rc = new_group(encoder, 1, 0, &group, err);
            n = 1;
            if (rc == SR_OK && (rc = sr_embed_add(group, pairs->texts[at])) != SR_OK)
                sr_err_set(err, rc, "a text of %zu bytes: %s", pairs->texts[at].n, sr_strerror(rc));
        }
        if (rc == SR_OK && (rc = sr_embed_run(group, infer)) == SR_OK)
            rc = keep(group, at, pairs, v);
        sr_embed_free(group);
        sr_term_progress("embed", at + n, pairs->n_texts + 1);
    }
    sr_term_progress("embed", 1, 1);
    return rc;
}

/* ---- guesses ---- */

static size_t words_of(struct sr_bytes text, uint64_t out[WORDS_MAX])
{
    struct sr_words words = sr_words_of(text, false);
    struct sr_word word;
    size_t n = 0;
    while (n < WORDS_MAX && sr_words_next(&words, &word))
        out[n++] = sr_hash64(sr_bytes_of(word.folded, word.n), 0);
    return n;
}

/* Words in both, as a share of those of the longer one. */
static float share(struct sr_bytes a, struct sr_bytes b)
{
    uint64_t of_a[WORDS_MAX], of_b[WORDS_MAX];
    size_t n_a = words_of(a, of_a), n_b = words_of(b, of_b), both = 0, most = n_a > n_b ? n_a : n_b;
    for (size_t i = 0; i < n_a; i++)
        for (size_t k = 0; k < n_b; k++)
            if (of_a[i] == of_b[k]) {
                of_b[k] = of_b[--n_b];
                both++;
                break;
            }
    return most ? (float)both / (float)most : 1;
}

struct neighbour {
    uint32_t text;
    float cosine;
};

/* Keeps the nearest ones, the nearest first. */
static void offer(struct neighbour near[SR_NEIGHBOURS], uint32_t text, float cosine)
{
    size_t at = SR_NEIGHBOURS;
    while (at > 0 && near[at - 1].cosine < cosine)
        at--;
    if (at == SR_NEIGHBOURS)
        return;
    memmove(near + at + 1, near + at, (SR_NEIGHBOURS - at - 1) * sizeof *near);
    near[at] = (struct neighbour){text, cosine};
}

static int guess(struct sr_pairs *pairs, const struct vectors *v)
{
    int rc = SR_OK;
    for (uint32_t a = 0; rc == SR_OK && a < pairs->n_texts; a++) {
        struct neighbour near[SR_NEIGHBOURS] = {{0}};
        for (uint32_t b = a + 1; b < pairs->n_texts; b++) {
            float cosine = dot(v->values + a * v->dimensions, v->values + b * v->dimensions, v->dimensions);
            if (cosine >= SR_NEIGHBOUR_MIN)
                offer(near, b, cosine);
        }
        for (size_t i = 0; rc == SR_OK && i < SR_NEIGHBOURS && near[i].cosine > 0; i++) {
            struct sr_bytes one = pairs->texts[a], two = pairs->texts[near[i].text];
            bool same = share(one, two) >= SHARE_SAME && sr_gate_check(one, two) == SR_GATE_AGREES;
            rc = sr_pairs_add(pairs, (struct sr_pair){.a = a, .b = near[i].text, .same = same});
        }
        sr_term_progress("neighbours", a + 1, pairs->n_texts + 1);
    }
    sr_term_progress("neighbours", 1, 1);
    return rc;
}

int sr_pairs_compare(struct sr_pairs *pairs, struct sr_encoder *encoder, struct sr_infer *infer,
                     struct sr_err *err)
{
    struct vectors v = {0};
    int rc = embed_all(pairs, encoder, infer, &v, err);
    if (rc == SR_OK && pairs->guessed)
        rc = guess(pairs, &v);
    for (size_t i = 0; rc == SR_OK && i < pairs->n; i++) {
        struct sr_pair *pair = &pairs->items[i];
        pair->cosine =
            dot(v.values + pair->a * v.dimensions, v.values + pair->b * v.dimensions, v.dimensions);
        pair->reason = (uint8_t)sr_gate_check(pairs->texts[pair->a], pairs->texts[pair->b]);
    }
    sr_mem_free(v.values);
    return rc == SR_OK || err->message[0] ? rc : sr_err_set(err, rc, "%s", sr_strerror(rc));
}
