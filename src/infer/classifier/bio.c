/* The BIO scheme: names of labels, decisions for words, spans. */
#include "infer/classifier/bio.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

static const char *type_name(const char *label, bool *begins)
{
    *begins = label[0] == 'B' && label[1] == '-';
    return *begins || (label[0] == 'I' && label[1] == '-') ? label + 2 : label;
}

static int add_type(struct sr_bio *bio, const char *name, uint8_t *type)
{
    for (size_t i = 0; i < bio->n_types; i++)
        if (!strcmp(bio->types[i], name)) {
            *type = (uint8_t)(i + 1);
            return SR_OK;
        }
    if (bio->n_types == SR_BIO_TYPES_MAX)
        return SR_ELIMIT;
    bio->types[bio->n_types++] = name;
    *type = (uint8_t)bio->n_types;
    return SR_OK;
}

int sr_bio_open(struct sr_bio *out, const char *const *labels, size_t n_labels, struct sr_err *err)
{
    bool outside = false;
    *out = (struct sr_bio){.n_labels = n_labels, .reach = 1};
    for (size_t c = 0; c < SR_WORD_CASES; c++)
        for (size_t i = 0; i < SR_BIO_TYPES_MAX; i++)
            out->odds[c][i] = 1;
    out->type_of = sr_mem_calloc(n_labels + 1, sizeof *out->type_of);
    out->begins = sr_mem_calloc(n_labels + 1, sizeof *out->begins);
    if (!out->type_of || !out->begins) {
        sr_bio_close(out);
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    }
    int rc = SR_OK;
    for (size_t i = 0; rc == SR_OK && i < n_labels; i++)
        if (!strcmp(labels[i], "O"))
            outside = true;
        else if (add_type(out, type_name(labels[i], &out->begins[i]), &out->type_of[i]) != SR_OK)
            rc = sr_err_set(err, SR_ELIMIT, "more than %u types of entities", SR_BIO_TYPES_MAX);
    if (rc == SR_OK && (!outside || out->n_types == 0))
        rc = sr_err_set(err, SR_EMISMATCH, "labels of tokens need \"O\" and at least one type");
    if (rc != SR_OK)
        sr_bio_close(out);
    return rc;
}

void sr_bio_close(struct sr_bio *bio)
{
    sr_mem_free(bio->type_of);
    sr_mem_free(bio->begins);
    *bio = (struct sr_bio){0};
}

/* Adds softmax(logits / temperature) of one token to the sums of types; returns what its B labels have. */
static float add_token(const struct sr_bio *bio, const float *logits, float temperature, float *sums)
{
    float top = logits[0], all = 0, begins = 0;
    float by_type[SR_BIO_TYPES_MAX + 1] = {0};
    for (size_t i = 1; i < bio->n_labels; i++)
        top = fmaxf(top, logits[i]);
    for (size_t i = 0; i < bio->n_labels; i++) {
        float p = expf((logits[i] - top) / temperature);
        by_type[bio->type_of[i]] += p;
        begins += bio->begins[i] ? p : 0;
        all += p;
    }
    for (size_t i = 0; i <= bio->n_types; i++)
        sums[i] += by_type[i] / all;
    return begins / all;
}

void sr_bio_word(const struct sr_bio *bio, const float *logits, size_t n, float temperature,
                 struct sr_bio_token *out)
{
    float sums[SR_BIO_TYPES_MAX + 1] = {0}, begins = 0;
    size_t best = 1;
    for (size_t i = 0; i < n; i++) {
        float b = add_token(bio, logits + i * bio->n_labels, temperature, sums);
        begins = i == 0 ? b : begins;
    }
    for (size_t i = 2; i <= bio->n_types; i++)
        best = sums[i] > sums[best] ? i : best;
    best = sums[best] * bio->reach > sums[0] ? best : 0;
    float p = n ? sums[best] / (float)n : 0;
    for (size_t i = 0; i < n; i++)
        out[i] = (struct sr_bio_token){.type = (uint8_t)best,
                                       .begins = i == 0 && begins > p / 2,
                                       .joined = i > 0,
                                       .p = p,
                                       .outside = sums[0] / (float)n};
}

void sr_bio_settle(const struct sr_bio *bio, const uint8_t *cases, struct sr_bio_token *tokens, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct sr_bio_token *token = &tokens[i];
        if (token->type == 0)
            continue;
        float likely = token->p * bio->odds[cases[i]][token->type - 1];
        if (likely > token->outside)
            token->p = likely / (likely + 1 - token->p);
        else
            token->type = 0;
    }
}

/* A beginning inside a run of touching tokens ("@" in an address) is no new span. */
static bool extends(const struct sr_bio_token *token, uint32_t start, const struct sr_bio_span *open,
                    bool near)
{
    if (!near || open->type + 1u != token->type)
        return false;
    return !token->begins || start <= open->end;
}

size_t sr_bio_spans(const struct sr_bio_token *tokens, const uint32_t *starts, const uint32_t *ends, size_t n,
                    struct sr_bio_span *out)
{
    size_t spans = 0, length = 0;
    double sum = 0;
    bool near = false; /* the token before belongs to the latest span */
    for (size_t i = 0; i < n; i++) {
        if (tokens[i].type == 0) {
            near = false;
            continue;
        }
        if (!spans || !extends(&tokens[i], starts[i], &out[spans - 1], near)) {
            out[spans++] = (struct sr_bio_span){.start = starts[i], .type = tokens[i].type - 1u};
            sum = 0;
            length = 0;
        }
        struct sr_bio_span *open = &out[spans - 1];
        open->end = ends[i];
        sum += (double)tokens[i].p;
        open->confidence = (float)(sum / (double)++length);
        near = true;
    }
    return spans;
}
