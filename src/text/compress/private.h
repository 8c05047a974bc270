/*
 * The compressor's structures, shared by compress.c (input and ranking), select.c (the budget) and write.c
 * (the result as a text).
 */
#ifndef SR_TEXT_COMPRESS_PRIVATE_H
#define SR_TEXT_COMPRESS_PRIVATE_H

#include "text/compress/compress.h"
#include "text/segment/segment.h"

/* A sentence that may be kept. */
struct sr_compress_candidate {
    double score;
    uint32_t unit;
};

struct sr_compressor {
    struct sr_compress_settings settings;
    struct sr_buf text;
    struct sr_segmenter segmenter;
    struct sr_terms terms;
    struct sr_rank rank;
    struct sr_compress_unit *units;
    size_t n_units, cap_units;
    struct sr_segment pending;      /* units that are being merged; end 0: none */
    struct sr_estimate estimate;    /* of the text so far */
    struct sr_estimate_field field; /* compat: the field in progress */
    size_t counted;                 /* compat: bytes that `estimate` and `field` cover */
    struct sr_scores *scores;
    size_t cap_scores;
    struct sr_compress_candidate *heap;
    size_t cap_heap;
    struct sr_compress_unit *kept;
    size_t n_kept, cap_kept;
    size_t joined_tokens;
    bool joined_exact;
};

/* Chooses units within the budget: marks them, fills `kept`, `joined_tokens`, `joined_exact`. The scores must
 * be computed. SR_ENOMEM. */
int sr_compress_select(struct sr_compressor *c) SR_WARN_UNUSED;

#endif
