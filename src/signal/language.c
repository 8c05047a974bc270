/* Language: a rule names an ISO 639-1 code and matches when enough of the text is in it. */
#include "text/language.h"

#include "base/mem.h"
#include "signal/types.h"

struct sr_signal_set {
    const struct sr_config_language *rules;
    size_t n;
};

static int language_compile(struct sr_signal_set **set, const struct sr_config *config,
                            struct sr_model_store *models, struct sr_err *err)
{
    (void)models;
    (void)err;
    if (config->n_languages == 0)
        return SR_OK;
    *set = sr_mem_calloc(1, sizeof **set);
    if (!*set)
        return SR_ENOMEM;
    (*set)->rules = config->languages;
    (*set)->n = config->n_languages;
    return SR_OK;
}

static void language_free(struct sr_signal_set *set)
{
    sr_mem_free(set);
}

static size_t language_rules(const struct sr_signal_set *set)
{
    return set->n;
}

static const char *language_name(const struct sr_signal_set *set, size_t rule)
{
    return set->rules[rule].name;
}

/* "pt-BR" asks for "pt": the detector knows no regions. */
static bool is_code(struct sr_bytes wanted, struct sr_bytes code)
{
    if (wanted.n > code.n && (wanted.p[code.n] == '-' || wanted.p[code.n] == '_'))
        wanted.n = code.n;
    return sr_bytes_eq_nocase(wanted, code);
}

static int language_run(const struct sr_signal_set *set, const struct sr_signal_input *input,
                        struct sr_arena *arena, struct sr_signal_result *result)
{
    result->hits = sr_signal_hits(arena, set->n);
    if (!result->hits)
        return SR_ENOMEM;
    result->n_hits = set->n;
    result->tier = "cld2";
    struct sr_languages found = sr_language_detect(input->text);
    for (size_t i = 0; i < set->n; i++) {
        struct sr_signal_hit *hit = &result->hits[i];
        hit->value = 0;
        for (int k = 0; k < found.count; k++) {
            const struct sr_language *language = &found.items[k];
            if (!is_code(sr_bytes_str(set->rules[i].name), sr_bytes_str(language->code)))
                continue;
            hit->value = language->confidence;
            hit->matched = language->confidence >= (float)set->rules[i].threshold;
            hit->confidence = hit->matched ? language->confidence : 0.0f;
            break;
        }
    }
    return SR_OK;
}

const struct sr_signal_ops sr_signal_language = {
    .name = "language",
    .header = "x-vsr-matched-language",
    .header_order = 2,
    .cost_ns_per_kib = 12000,
    .compile = language_compile,
    .free = language_free,
    .n_rules = language_rules,
    .rule_name = language_name,
    .run = language_run,
};
