/* Selects the instruction set: the best that the CPU and the OS support, limited by SEMROUTE_ISA or
 * sr_isa_limit. */
#include "kernel/private.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"scalar", "neon", "avx2", "avx512", "avx512_bf16"};
#define N_ISAS (sizeof names / sizeof names[0])

/* The sets that this CPU supports, the best last. */
static const struct sr_ops *ops_of(enum sr_isa isa)
{
    switch (isa) {
    case SR_ISA_SCALAR:
        return sr_ops_scalar();
#if defined __aarch64__
    case SR_ISA_NEON:
        return sr_ops_neon();
#elif defined __x86_64__
    case SR_ISA_AVX2:
        return sr_ops_avx2();
    case SR_ISA_AVX512:
        return sr_ops_avx512();
    case SR_ISA_AVX512_BF16:
        return sr_ops_avx512() ? sr_ops_avx512_bf16() : NULL;
#endif
    default:
        return NULL;
    }
}

static const struct sr_ops *best_below(enum sr_isa limit)
{
    for (int isa = (int)limit; isa > 0; isa--) {
        const struct sr_ops *ops = ops_of((enum sr_isa)isa);
        if (ops)
            return ops;
    }
    return sr_ops_scalar();
}

/* Intel's cores run `vdpbf16ps` at a quarter of fp32's instruction rate: half as fast as fixed point. AMD's
 * run it at the full rate: as fast as fixed point. */
static bool bf16_pays(void)
{
#if defined __x86_64__
    return !__builtin_cpu_is("intel");
#else
    return true;
#endif
}

static enum sr_isa limit_from_environment(enum sr_isa otherwise)
{
    const char *name = getenv("SEMROUTE_ISA");
    for (size_t i = 0; name && i < N_ISAS; i++)
        if (strcmp(name, names[i]) == 0)
            return (enum sr_isa)i;
    return otherwise;
}

static _Atomic(const struct sr_ops *) current;

const struct sr_ops *sr_ops_current(void)
{
    const struct sr_ops *ops = atomic_load_explicit(&current, memory_order_acquire);
    if (!ops) {
        ops = best_below(limit_from_environment(bf16_pays() ? SR_ISA_AVX512_BF16 : SR_ISA_AVX512));
        atomic_store_explicit(&current, ops, memory_order_release);
    }
    return ops;
}

enum sr_isa sr_isa_current(void)
{
    return sr_ops_current()->isa;
}

const char *sr_isa_name(enum sr_isa isa)
{
    return (size_t)isa < N_ISAS ? names[isa] : "unknown";
}

void sr_isa_limit(enum sr_isa isa)
{
    enum sr_isa limit = limit_from_environment(SR_ISA_AVX512_BF16);
    atomic_store_explicit(&current, best_below(isa < limit ? isa : limit), memory_order_release);
}
