/* Labels by their words, and the messages for those that say nothing. */
#include "signal/guard/jailbreak_labels.h"

#include "base/bytes.h"

#include <stdio.h>

#define LABELS_MAX 64u /* bits of a mask */
#define SHOWN      128u

static bool same_word(const char *a, const char *b)
{
    return sr_bytes_eq_nocase(sr_bytes_str(a), sr_bytes_str(b));
}

static bool is_attack(const char *label, const struct sr_strings *positive)
{
    static const char *const harmless[] = {"benign", "safe", "normal", "legit", "harmless", "clean"};
    for (size_t i = 0; i < positive->count; i++)
        if (same_word(positive->items[i], label))
            return true;
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
        if (same_word(harmless[i], label))
            return false;
    return positive->count == 0;
}

/* "LABEL_0, LABEL_1", cut where it is long. */
static void list(char out[SHOWN], const char *const *names, size_t n)
{
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n && at < SHOWN; i++)
        at += (size_t)snprintf(out + at, SHOWN - at, "%s%.40s", i ? ", " : "", names[i]);
}

int sr_jailbreak_attacks(uint64_t *mask, const char *const *names, size_t n,
                         const struct sr_strings *positive, struct sr_err *err)
{
    char shown[SHOWN];
    size_t attacks = 0;
    *mask = 0;
    if (n > LABELS_MAX)
        return sr_err_set(err, SR_EINVAL, "%zu labels; at most %u can mean an attack", n, LABELS_MAX);
    for (size_t i = 0; i < n; i++)
        if (is_attack(names[i], positive)) {
            *mask |= UINT64_C(1) << i;
            attacks++;
        }
    if (attacks && attacks < n)
        return SR_OK;
    list(shown, names, n);
    if (attacks)
        return sr_err_set(err, SR_EINVAL,
                          "the labels (%s) do not say which of them means an attack; `positive_labels` of "
                          "`prompt_guard` names it",
                          shown);
    return sr_err_set(err, SR_EINVAL,
                      "no label of the model means an attack: it has %s; `positive_labels` of `prompt_guard` "
                      "must name one of them",
                      shown);
}
