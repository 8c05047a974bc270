/*
 * The figures of the paper's tables of speed, measured on this machine: the baseline, the same shape with
 * semroute's encoder, compression, and the embedded models by themselves and through the real Envoy.
 *
 * Each figure is measured when it is first asked for and kept. A figure that cannot be measured has a reason.
 * What the embedded models do not read whole, or answer with another tier than they are to, is no figure but
 * an error.
 */
#ifndef SR_BENCH_PAPER_STAGES_H
#define SR_BENCH_PAPER_STAGES_H

#include "bench/guards_signals.h"

enum { SR_STAGE_500, SR_STAGE_2K, SR_STAGE_4K, SR_STAGE_8K, SR_STAGE_16K, SR_STAGE_32K, SR_STAGE_SIZES };
extern const size_t sr_stage_tokens[SR_STAGE_SIZES];

/* Milliseconds, the median of the repeats; ms 0: not measured, and `why` is the text of the cell. */
struct sr_stage {
    bool tried;
    double ms, p99, spare; /* `spare`: tokens that stay (compression), megabytes (a peer that does not fit) */
    double each[SR_GUARDS_SIGNALS];
    char tier[SR_GUARDS_SIGNALS][24]; /* of the embedded models, in the process: who answered */
    double
        least; /* a peer that does not fit: in proportion to the longest that does, less than it would take */
    char why[40];
};

enum { SR_STAGE_BUFFERED, SR_STAGE_STREAMED, SR_STAGE_MODES };
enum { SR_STAGE_WHOLE, SR_STAGE_COMPRESSED, SR_STAGE_READS };

struct sr_stages;

struct sr_stages_options {
    const char *python, *precision; /* of the embedded models; NULL: the default */
    const char *shape_precision;
    int repeats;
    size_t max_tokens; /* longer ones are left out, and say so */
    bool peer, quick, linear;
};

int sr_stages_new(struct sr_stages **out, const struct sr_stages_options *options,
                  struct sr_err *err) SR_WARN_UNUSED;
void sr_stages_free(struct sr_stages *stages); /* NULL is allowed */

/* Three classifiers in ONNX Runtime, one after the other. */
const struct sr_stage *sr_stage_peer(struct sr_stages *stages, int size);
/* The same shape, random weights, our encoder: one pass of the trunk for all heads; in the process. */
const struct sr_stage *sr_stage_shape(struct sr_stages *stages, int size);
/* The compressor alone, to 512 tokens. */
const struct sr_stage *sr_stage_compress(struct sr_stages *stages, int size);
/* The embedded models, all three signals; in the process. */
const struct sr_stage *sr_stage_signals(struct sr_stages *stages, int reads, int size);
/* The same through Envoy, a new prompt each time. Guards read originals by design, so the compressed prompt
 * is made here and its time is in the figure. `clients` at once: 1, 10 or 20. */
const struct sr_stage *sr_stage_envoy(struct sr_stages *stages, int mode, int reads, int size,
                                      unsigned clients);
/* The first figure that another tier made than was to: what happened; "" when there is none. */
const char *sr_stages_broken(const struct sr_stages *stages);

/* Only the domain signal, compression in the router. */
const struct sr_stage *sr_stage_domain(struct sr_stages *stages, int mode, int size);

#endif
