/*
 * Tables of rotary positions. Angles are products of float32 numbers, as Hugging Face transformers computes
 * them (modeling_rope_utils.py): at position 30000 the exact angle and theirs differ noticeably.
 */
#include "kernel/private.h"

#include "base/mem.h"

#include <math.h>

int sr_rope_new(struct sr_rope **out, double theta, size_t head_dim, size_t max_positions)
{
    if (!(theta > 0) || !head_dim || head_dim % 2 || head_dim > 1024 || !max_positions ||
        max_positions > (size_t)1 << 24)
        return SR_EINVAL;
    struct sr_rope *rope = sr_mem_calloc(1, sizeof *rope);
    if (!rope)
        return SR_ENOMEM;
    rope->half = head_dim / 2;
    rope->positions = max_positions;
    rope->cosines = sr_mem_alloc(max_positions * rope->half * sizeof(float));
    rope->sines = sr_mem_alloc(max_positions * rope->half * sizeof(float));
    if (!rope->cosines || !rope->sines) {
        sr_rope_free(rope);
        return SR_ENOMEM;
    }
    for (size_t i = 0; i < rope->half; i++) {
        float exponent = (float)(2 * i) / (float)head_dim;
        float frequency = 1.0F / (float)pow((double)(float)theta, (double)exponent);
        for (size_t position = 0; position < max_positions; position++) {
            float angle = (float)position * frequency;
            rope->cosines[position * rope->half + i] = (float)cos((double)angle);
            rope->sines[position * rope->half + i] = (float)sin((double)angle);
        }
    }
    *out = rope;
    return SR_OK;
}

void sr_rope_free(struct sr_rope *rope)
{
    if (!rope)
        return;
    sr_mem_free(rope->cosines);
    sr_mem_free(rope->sines);
    sr_mem_free(rope);
}
