/* Calls the readers, and writes their findings. */
#include "cli/classify/guards.h"

#include "base/clock.h"
#include "base/json_write.h"
#include "base/utf8.h"
#include "cli/cmd.h"
#include "config/load.h"
#include "text/disguise/deobfuscate.h"

bool sr_is_guard_task(const struct sr_tiers *tiers)
{
    return tiers->task && (strcmp(tiers->task, "jailbreak") == 0 || strcmp(tiers->task, "pii") == 0);
}

static enum sr_readers_tier tier_of(const char *tier)
{
    if (tier && strcmp(tier, "linear") == 0)
        return SR_READERS_LINEAR;
    return tier && strcmp(tier, "neural") == 0 ? SR_READERS_NEURAL : SR_READERS_SHIPPED;
}

/* The built-in configuration with the models of the command line. */
static int open_readers(struct sr_guards *guards, const struct sr_tiers *tiers, struct sr_err *err)
{
    const struct sr_config *base = NULL;
    struct sr_problems problems = {0};
    int rc = sr_config_load_text(&base, sr_config_builtin_text(), "(built-in)", (struct sr_load_options){0},
                                 &problems);
    sr_problems_dispose(&problems);
    if (rc)
        return sr_err_set(err, rc, "the built-in configuration does not load");
    struct sr_config config = *base;
    config.ref = NULL;
    if (tiers->encoder.model && guards->type == SR_SIGNAL_PII)
        config.global.pii_model = tiers->encoder.model;
    else if (tiers->encoder.model)
        config.global.jailbreak_model = tiers->encoder.model;
    const char *attacks[] = {tiers->attack};
    if (tiers->attack)
        config.global.jailbreak_labels = (struct sr_strings){attacks, 1};
    config.global.inference.neural = tiers->neural ? tiers->neural : config.global.inference.neural;
    config.global.inference.threads = (int)tiers->encoder.threads;
    if (tiers->encoder.precision)
        config.global.inference.neural_precision = config.global.inference.precision =
            (int)sr_cli_encoder_precision(tiers->encoder.precision);
    if (strcmp(guards->tier, "both") == 0)
        config.global.inference.ask_below = 1;
    if (strcmp(guards->tier, "linear") != 0)
        guards->precision = sr_precision_name((enum sr_precision)config.global.inference.neural_precision);
    config.global.inference.neural_max = 0; /* no deadline applies */
    rc = sr_readers_new(&guards->readers, &config, NULL, tier_of(tiers->tier), 1U << guards->type, err);
    guards->base = base;
    if (rc == SR_OK && sr_readers_missing(guards->readers, guards->type))
        rc = sr_err_set(err, SR_EUNSUPPORTED, "%s", sr_readers_missing(guards->readers, guards->type));
    return rc;
}

bool sr_guard_task_open(const struct sr_usage *usage, const struct sr_tiers *tiers, struct sr_guards *guards,
                        int *code)
{
    struct sr_err err = {0};
    struct sr_tiers chosen = *tiers;
    *guards =
        (struct sr_guards){.type = strcmp(tiers->task, "pii") == 0 ? SR_SIGNAL_PII : SR_SIGNAL_JAILBREAK,
                           .tier = tiers->tier ? tiers->tier : "cascade"};
    if (!sr_cli_encoder_choose(usage, &chosen.encoder, tiers->task, guards->model, code))
        return false;
    int rc = open_readers(guards, &chosen, &err);
    if (rc) {
        *code = sr_cmd_fail(usage, SR_EXIT_FAILED, "%s", err.message);
        sr_guard_task_close(guards);
    }
    return rc == SR_OK;
}

void sr_guard_task_close(struct sr_guards *guards)
{
    sr_readers_free(guards->readers);
    sr_config_unref(guards->base);
}

int sr_guard_task_read(const struct sr_guards *guards, struct sr_bytes text, struct sr_arena *arena,
                       const struct sr_signal_result **result, struct sr_signal_finding *worst)
{
    struct sr_bytes system = guards->type == SR_SIGNAL_JAILBREAK ? guards->system : SR_LIT("");
    int rc = sr_readers_read(guards->readers, guards->type, text, system, SR_LIT(""), arena, result);
    *worst = rc == SR_OK && (*result)->n_findings ? (*result)->findings[0] : (struct sr_signal_finding){0};
    return rc;
}

static double us_since(uint64_t start)
{
    return (double)(sr_clock_ns() - start) / 1e3;
}

static void put_head(struct sr_json_writer *w, struct sr_bytes id, const char *task, const char *tier)
{
    sr_json_object(w, NULL);
    if (id.n)
        sr_json_raw(w, "id", id);
    sr_json_text(w, "task", task);
    sr_json_text(w, "tier", tier);
}

static void put_us(struct sr_json_writer *w, double us)
{
    sr_json_real(w, "us", "%.1f", us);
    sr_json_object_end(w);
}

static void put_disguises(struct sr_json_writer *w, uint32_t disguise)
{
    sr_json_array(w, "disguises");
    for (uint32_t bit = 1; bit <= SR_DISGUISE_LAST; bit *= 2)
        if (disguise & bit)
            sr_json_text(w, NULL, sr_disguise_name((enum sr_disguise)bit));
    sr_json_array_end(w);
}

static int put_jailbreak(const struct sr_guards *guards, struct sr_bytes text, struct sr_bytes id,
                         struct sr_arena *arena, struct sr_json_writer *w)
{
    const struct sr_signal_result *result;
    struct sr_signal_finding finding;
    uint64_t start = sr_clock_ns();
    int rc = sr_guard_task_read(guards, text, arena, &result, &finding);
    if (rc)
        return rc;
    double us = us_since(start), risk = (double)finding.confidence;
    bool attack = risk >= SR_GUARDS_THRESHOLD;
    put_head(w, id, "jailbreak", result->tier);
    sr_json_text(w, "label", attack ? "jailbreak" : "benign");
    sr_json_real(w, "confidence", "%.6f", attack ? risk : 1 - risk);
    sr_json_real(w, "score", "%.6f", risk);
    sr_json_text(w, "kind", result->labels[finding.type]);
    if (result->multilingual_bytes)
        sr_json_uint(w, "multilingual_bytes", result->multilingual_bytes);
    if (result->read_twice)
        sr_json_uint(w, "read_twice", result->read_twice);
    sr_json_uint(w, "start", finding.start);
    sr_json_uint(w, "end", finding.end);
    put_disguises(w, finding.disguise);
    put_us(w, us);
    return w->rc;
}

static int put_pii(const struct sr_guards *guards, struct sr_bytes text, struct sr_bytes id,
                   struct sr_arena *arena, struct sr_json_writer *w)
{
    const struct sr_signal_result *result;
    struct sr_signal_finding worst;
    uint64_t start = sr_clock_ns();
    int rc = sr_guard_task_read(guards, text, arena, &result, &worst);
    if (rc)
        return rc;
    double us = us_since(start);
    put_head(w, id, "pii", result->tier);
    sr_json_array(w, "entities");
    for (size_t i = 0; i < result->n_findings; i++) {
        const struct sr_signal_finding *e = &result->findings[i];
        if ((double)e->confidence < SR_GUARDS_THRESHOLD)
            continue;
        sr_json_object(w, NULL);
        sr_json_text(w, "type", sr_entity_names[e->type]);
        sr_json_uint(w, "start", e->start);
        sr_json_uint(w, "end", e->end);
        sr_json_bytes(w, "text", sr_bytes_of(text.p + e->start, e->end - e->start));
        sr_json_real(w, "confidence", "%.6f", (double)e->confidence);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
    put_us(w, us);
    return w->rc;
}

/* The readers need valid UTF-8: invalid bytes become `?`, so that offsets stay. */
static struct sr_bytes clean(struct sr_bytes text, struct sr_arena *arena)
{
    char *copy = sr_arena_alloc(arena, text.n + 1);
    if (copy)
        sr_utf8_clean(text, copy);
    return sr_bytes_of(copy, text.n);
}

int sr_guard_task_put_json(const struct sr_guards *guards, struct sr_bytes text, struct sr_bytes id,
                           struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    struct sr_arena arena;
    sr_arena_init(&arena, SR_GUARDS_SCRATCH);
    struct sr_bytes valid = clean(text, &arena);
    int rc = !valid.p                        ? SR_ENOMEM
             : guards->type == SR_SIGNAL_PII ? put_pii(guards, valid, id, &arena, &w)
                                             : put_jailbreak(guards, valid, id, &arena, &w);
    sr_arena_dispose(&arena);
    return rc ? rc : sr_buf_append(out, "\n", 1);
}

static int picture_of_pii(const struct sr_guards *guards, struct sr_bytes text, struct sr_arena *arena,
                          struct sr_buf *out)
{
    const struct sr_signal_result *result;
    struct sr_signal_finding worst;
    size_t shown = 0;
    int rc = sr_guard_task_read(guards, text, arena, &result, &worst);
    for (size_t i = 0; !rc && i < result->n_findings; i++) {
        const struct sr_signal_finding *e = &result->findings[i];
        if ((double)e->confidence < SR_GUARDS_THRESHOLD)
            continue;
        shown++;
        rc = sr_buf_printf(out, "%-18s %5.1f %%  %zu-%zu  %.*s\n", sr_entity_names[e->type],
                           100 * (double)e->confidence, e->start, e->end, (int)(e->end - e->start),
                           text.p + e->start);
    }
    return rc || shown ? rc : sr_buf_printf(out, "no private data\n");
}

static int picture_of_jailbreak(const struct sr_guards *guards, struct sr_bytes text, struct sr_arena *arena,
                                bool colour, struct sr_buf *out)
{
    const struct sr_signal_result *result;
    struct sr_signal_finding finding;
    int rc = sr_guard_task_read(guards, text, arena, &result, &finding);
    bool attack = (double)finding.confidence >= SR_GUARDS_THRESHOLD;
    return rc ? rc
              : sr_buf_printf(out, "%s%s%s  score %.3f  (%s, bytes %zu-%zu)\n", colour ? "\033[1m" : "",
                              attack ? "jailbreak" : "benign", colour ? "\033[0m" : "",
                              (double)finding.confidence, result->tier, finding.start, finding.end);
}

int sr_guard_task_put_picture(const struct sr_guards *guards, struct sr_bytes text, bool colour,
                              struct sr_buf *out)
{
    struct sr_arena arena;
    sr_arena_init(&arena, SR_GUARDS_SCRATCH);
    struct sr_bytes valid = clean(text, &arena);
    int rc = !valid.p                        ? SR_ENOMEM
             : guards->type == SR_SIGNAL_PII ? picture_of_pii(guards, valid, &arena, out)
                                             : picture_of_jailbreak(guards, valid, &arena, colour, out);
    sr_arena_dispose(&arena);
    return rc;
}
