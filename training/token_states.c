/*
 * Prints the token states of sequences, as the shipped engine computes them in int8.
 *
 *     token_states TRUNK_FOLDER BUNDLE_FOLDER < sequences > states
 *
 * The bundle's one token head has the identity as its matrix, so that its logits are the last hidden states.
 * In: of each sequence its length and its ids, all int32. Out: [tokens][labels] float16 of each, in the same
 * order. pii_features.py compiles and runs it.
 */
#include "infer/encoder/encoder.h"

#include <stdio.h>
#include <stdlib.h>

#define BATCH_TOKENS 2048u
#define SEQUENCES    256u

struct batch {
    struct sr_encoder_item items[SEQUENCES];
    size_t n, tokens;
    unsigned head;
    int32_t *ids;
    float *out;
    _Float16 *small;
};

static int run(struct batch *b, const struct sr_encoder *encoder, struct sr_encoder_work *work, size_t width)
{
    for (size_t i = 0, at = 0; i < b->n; at += b->items[i++].n_ids) {
        b->items[i].ids = b->ids + at;
        b->items[i].heads = 1u << b->head;
        b->items[i].out[b->head] = b->out + at * width;
    }
    int rc = b->n ? sr_encoder_run(encoder, NULL, work, b->items, b->n, NULL) : SR_OK;
    for (size_t i = 0; rc == SR_OK && i < b->tokens * width; i++)
        b->small[i] = (_Float16)b->out[i];
    if (rc == SR_OK && fwrite(b->small, sizeof *b->small * width, b->tokens, stdout) != b->tokens)
        rc = SR_EIO;
    b->n = b->tokens = 0;
    return rc;
}

static int read_all(struct batch *b, const struct sr_encoder *encoder, struct sr_encoder_work *work,
                    size_t width)
{
    int32_t n;
    int rc = SR_OK;
    while (rc == SR_OK && fread(&n, sizeof n, 1, stdin) == 1) {
        if (n < 1 || n > (int32_t)BATCH_TOKENS)
            return SR_EINVAL;
        if (b->n == SEQUENCES || b->tokens + (size_t)n > BATCH_TOKENS)
            rc = run(b, encoder, work, width);
        if (rc == SR_OK && fread(b->ids + b->tokens, sizeof n, (size_t)n, stdin) != (size_t)n)
            rc = SR_EPARSE;
        b->items[b->n++].n_ids = (size_t)n;
        b->tokens += (size_t)n;
    }
    return rc == SR_OK ? run(b, encoder, work, width) : rc;
}

int main(int argc, char **argv)
{
    struct sr_encoder_options how = {.precision = SR_PRECISION_INT8, .n_heads = 1};
    struct sr_encoder *encoder = NULL;
    struct sr_encoder_work *work = NULL;
    struct sr_err err = {0};
    struct batch b = {.n = 0};
    const char *heads = argc == 3 ? argv[2] : "";
    how.heads = &heads;
    int rc = argc == 3 ? sr_encoder_open(&encoder, argv[1], &how, &err) : SR_EINVAL;
    int head = rc == SR_OK ? sr_encoder_find_head(encoder, "pii") : 0;
    if (rc == SR_OK && head < 0)
        rc = SR_EMISMATCH;
    size_t width = rc == SR_OK ? sr_encoder_info(encoder)->heads[head].n_labels : 1;
    b.head = (unsigned)head;
    b.ids = malloc(BATCH_TOKENS * sizeof *b.ids);
    b.out = malloc(BATCH_TOKENS * width * sizeof *b.out);
    b.small = malloc(BATCH_TOKENS * width * sizeof *b.small);
    if (rc == SR_OK)
        rc = b.ids && b.out && b.small ? sr_encoder_work_new(&work, (size_t)1 << 30) : SR_ENOMEM;
    if (rc == SR_OK)
        rc = read_all(&b, encoder, work, width);
    if (rc)
        fprintf(stderr, "%s\n", err.message[0] ? err.message : sr_strerror(rc));
    sr_encoder_work_free(work);
    sr_encoder_unref(encoder);
    free(b.ids);
    free(b.out);
    free(b.small);
    return rc != SR_OK;
}
