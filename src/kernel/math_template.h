/*
 * Functions of vectors, over the primitives of the vec_*.h included before.
 *
 * exp2: a minimax polynomial of the fraction (relative error 8e-8, or 8e-5 in the rough form, which feeds
 * values that are rounded to 16 bits). erf: Abramowitz and Stegun 7.1.26 (absolute error 1.5e-7). The rough
 * gelu is x / (1 + 2^-p(x)), where p is a fit of log2(Phi / (1 - Phi)): off by a thousandth of its value and
 * 3e-7 at most.
 */
#ifndef SR_KERNEL_MATH_TEMPLATE_H
#define SR_KERNEL_MATH_TEMPLATE_H

static inline vf v_exp2(vf x)
{
    vf n = v_round(x), f = v_sub(x, n);
    vf p = v_set(1.32764668e-3F);
    p = v_fma(p, f, v_set(9.67554129e-3F));
    p = v_fma(p, f, v_set(5.55071329e-2F));
    p = v_fma(p, f, v_set(0.240221197F));
    p = v_fma(p, f, v_set(0.693146967F));
    p = v_fma(p, f, v_set(1.00000007F));
    return v_scale(p, n);
}

/* `times` 2^x; a constant. */
static inline vf v_exp2_rough(vf x, const float times)
{
    vf n = v_round(x), f = v_sub(x, n);
    vf p = v_set(0.0551716237F * times);
    p = v_fma(p, f, v_set(0.242611119F * times));
    p = v_fma(p, f, v_set(0.693260994F * times));
    p = v_fma(p, f, v_set(0.999928074F * times));
    return v_scale(p, n);
}

/* x Phi(x) = max(x, 0) - |x| (1 - erf(|x| / sqrt 2)) / 2: no cancellation on either side. */
static inline vf v_gelu(vf x)
{
    vf a = v_abs(x), z = v_min(v_mul(a, v_set(0.70710678F)), v_set(9.0F));
    vf t = v_inverse(v_fma(z, v_set(0.3275911F), v_set(1)));
    vf p = v_set(1.061405429F * 0.5F);
    p = v_fma(p, t, v_set(-1.453152027F * 0.5F));
    p = v_fma(p, t, v_set(1.421413741F * 0.5F));
    p = v_fma(p, t, v_set(-0.284496736F * 0.5F));
    p = v_fma(p, t, v_set(0.254829592F * 0.5F));
    vf e = v_exp2(v_mul(v_mul(z, z), v_set(-1.44269504F)));
    return v_sub(v_max(x, v_set(0)), v_mul(v_mul(v_min(a, v_set(1e30F)), e), v_mul(p, t)));
}

static inline vf v_gelu_rough(vf x)
{
    vf above = v_max(v_set(-7), x),
       inside = v_min(v_set(7), above); /* in this operand order a NaN stays a NaN */
    vf square = v_mul(inside, inside);
    vf p = v_set(-1.17258934e-6F);
    p = v_fma(p, square, v_set(3.29720152e-5F));
    p = v_fma(p, square, v_set(8.31592891e-4F));
    p = v_fma(p, square, v_set(-0.106646079F));
    p = v_fma(p, square, v_set(-2.30094865F));
    vf e = v_exp2_rough(v_mul(p, inside), 1);
    return v_mul(above, v_inverse_rough(v_add(e, v_set(1))));
}

static inline vf v_tanh(vf x)
{
    vf e = v_exp2(v_mul(v_min(v_abs(x), v_set(12)), v_set(2.88539008F)));
    return v_copysign(v_sub(v_set(1), v_mul(v_set(2), v_inverse(v_add(e, v_set(1))))), x);
}

#endif
