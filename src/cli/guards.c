/* Asking the readers, and writing down what they found. */
#include "cli/guards.h"

#include "base/clock.h"
#include "cli/cmd.h"
#include "text/deobfuscate.h"
#include "text/utf8.h"

#define SCRATCH_MAX ((size_t)1 << 30)

bool sr_guards_task(const struct sr_tiers *tiers)
{
    bool task = tiers->task && (strcmp(tiers->task, "jailbreak") == 0 || strcmp(tiers->task, "pii") == 0);
    bool folder = tiers->neural.model && strcmp(tiers->task ? tiers->task : "", "pii") == 0;
    return task && !folder && (!tiers->tier || strcmp(tiers->tier, "linear") == 0);
}

bool sr_guards_open(const struct sr_usage *usage, const struct sr_tiers *tiers, struct sr_guards *guards,
                    int *code)
{
    static const struct sr_strings all = {NULL, 0};
    const char *file = tiers->neural.model ? tiers->neural.model : "";
    struct sr_err err = {0};
    *guards = (struct sr_guards){NULL, NULL};
    int rc = strcmp(tiers->task, "pii") == 0
                 ? sr_pii_reader_new(&guards->pii, NULL, &err)
                 : sr_jailbreak_reader_new(&guards->jailbreak, file, &all, NULL, &err);
    if (rc)
        *code = sr_cmd_fail(usage, SR_EXIT_BROKE, "%s%s%s", file, *file ? ": " : "", err.message);
    return rc == SR_OK;
}

void sr_guards_close(struct sr_guards *guards)
{
    sr_jailbreak_reader_unref(guards->jailbreak);
    sr_pii_reader_unref(guards->pii);
}

static double us_since(uint64_t start)
{
    return (double)(sr_clock_ns() - start) / 1e3;
}

static int put_head(struct sr_buf *out, struct sr_bytes id, const char *task, const char *tier)
{
    int rc = sr_buf_append(out, "{", 1);
    if (!rc && id.n)
        rc = sr_buf_printf(out, "\"id\":%.*s,", (int)id.n, id.p);
    return rc ? rc : sr_buf_printf(out, "\"task\":\"%s\",\"tier\":\"%s\"", task, tier);
}

static int put_disguises(struct sr_buf *out, uint32_t disguise)
{
    int rc = sr_buf_printf(out, ",\"disguises\":[");
    const char *comma = "";
    for (uint32_t bit = 1; !rc && bit <= SR_DISGUISE_ROT13; bit *= 2) {
        if (!(disguise & bit))
            continue;
        rc = sr_buf_printf(out, "%s\"%s\"", comma, sr_disguise_name((enum sr_disguise)bit));
        comma = ",";
    }
    return rc ? rc : sr_buf_append(out, "]", 1);
}

static int put_jailbreak(const struct sr_guards *guards, struct sr_bytes text, struct sr_bytes id,
                         struct sr_arena *arena, struct sr_buf *out)
{
    struct sr_jailbreak_find find;
    size_t n;
    uint64_t start = sr_clock_ns();
    int rc = sr_jailbreak_read(guards->jailbreak, text, SR_LIT(""), arena, &find);
    double us = us_since(start), risk = (double)find.risk;
    const char *const *labels = sr_jailbreak_labels(guards->jailbreak, &n);
    bool attack = risk >= SR_GUARDS_THRESHOLD;
    if (!rc)
        rc = put_head(out, id, "jailbreak", sr_jailbreak_tier(guards->jailbreak));
    if (!rc)
        rc = sr_buf_printf(out, ",\"label\":\"%s\",\"confidence\":%.6f,\"score\":%.6f,\"kind\":\"%s\"",
                           attack ? "jailbreak" : "benign", attack ? risk : 1 - risk, risk,
                           labels[find.label]);
    if (!rc)
        rc = sr_buf_printf(out, ",\"start\":%zu,\"end\":%zu,\"windows\":%u", find.start, find.end,
                           (unsigned)find.windows);
    if (!rc)
        rc = put_disguises(out, find.disguise);
    return rc ? rc : sr_buf_printf(out, ",\"us\":%.1f}\n", us);
}

static int put_pii(const struct sr_guards *guards, struct sr_bytes text, struct sr_bytes id,
                   struct sr_arena *arena, struct sr_buf *out)
{
    struct sr_pii_finds finds;
    uint64_t start = sr_clock_ns();
    int rc = sr_pii_read(guards->pii, text, SR_LIT(""), arena, &finds);
    double us = us_since(start);
    const char *comma = "";
    if (!rc)
        rc = put_head(out, id, "pii", "exact");
    if (!rc)
        rc = sr_buf_printf(out, ",\"entities\":[");
    for (size_t i = 0; !rc && i < finds.n; i++) {
        const struct sr_entity *e = &finds.items[i];
        if ((double)e->confidence < SR_GUARDS_THRESHOLD)
            continue;
        rc = sr_buf_printf(out, "%s{\"type\":\"%s\",\"start\":%zu,\"end\":%zu,\"text\":\"", comma,
                           sr_entity_names[e->type], e->start, e->end);
        if (!rc)
            rc = sr_buf_append_json(out, sr_bytes_of(text.p + e->start, e->end - e->start));
        if (!rc)
            rc = sr_buf_printf(out, "\",\"confidence\":%.6f}", (double)e->confidence);
        comma = ",";
    }
    return rc ? rc : sr_buf_printf(out, "],\"us\":%.1f}\n", us);
}

/* The readers want valid UTF-8: what is none becomes `?`, so that offsets stay. */
static struct sr_bytes clean(struct sr_bytes text, struct sr_arena *arena)
{
    char *copy = sr_arena_alloc(arena, text.n + 1);
    if (copy)
        sr_utf8_clean(text, copy);
    return sr_bytes_of(copy, text.n);
}

int sr_guards_put_json(const struct sr_guards *guards, struct sr_bytes text, struct sr_bytes id,
                       struct sr_buf *out)
{
    struct sr_arena arena;
    sr_arena_init(&arena, SCRATCH_MAX);
    struct sr_bytes valid = clean(text, &arena);
    int rc = !valid.p      ? SR_ENOMEM
             : guards->pii ? put_pii(guards, valid, id, &arena, out)
                           : put_jailbreak(guards, valid, id, &arena, out);
    sr_arena_dispose(&arena);
    return rc;
}

static int picture_of_pii(const struct sr_guards *guards, struct sr_bytes text, struct sr_arena *arena,
                          struct sr_buf *out)
{
    struct sr_pii_finds finds;
    size_t shown = 0;
    int rc = sr_pii_read(guards->pii, text, SR_LIT(""), arena, &finds);
    for (size_t i = 0; !rc && i < finds.n; i++) {
        const struct sr_entity *e = &finds.items[i];
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
    struct sr_jailbreak_find find;
    int rc = sr_jailbreak_read(guards->jailbreak, text, SR_LIT(""), arena, &find);
    bool attack = (double)find.risk >= SR_GUARDS_THRESHOLD;
    return rc ? rc
              : sr_buf_printf(out, "%s%s%s  score %.3f  (%s, bytes %zu-%zu)\n", colour ? "\033[1m" : "",
                              attack ? "jailbreak" : "benign", colour ? "\033[0m" : "", (double)find.risk,
                              sr_jailbreak_tier(guards->jailbreak), find.start, find.end);
}

int sr_guards_put_picture(const struct sr_guards *guards, struct sr_bytes text, bool colour,
                          struct sr_buf *out)
{
    struct sr_arena arena;
    sr_arena_init(&arena, SCRATCH_MAX);
    struct sr_bytes valid = clean(text, &arena);
    int rc = !valid.p      ? SR_ENOMEM
             : guards->pii ? picture_of_pii(guards, valid, &arena, out)
                           : picture_of_jailbreak(guards, valid, &arena, colour, out);
    sr_arena_dispose(&arena);
    return rc;
}
