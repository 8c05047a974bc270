/*
 * Which neural classifier is asked about which text: the first one about texts in English, the one of other
 * scripts and languages about texts in these, about texts in several languages as well as the first one, and
 * about the parts in other scripts of texts that the first one reads. Of long units the first one is also
 * asked about passages alone.
 */
#include "signal/guard/jailbreak.h"

/* The other one, if it is there, has a head for attacks and is open, or `opens`. */
static struct sr_neural *other_of(const struct sr_jailbreak_models *models, bool opens)
{
    struct sr_neural *neural =
        opens ? sr_multilingual_open(models->other) : sr_multilingual_peek(models->other);
    return neural && sr_neural_head(neural, SR_JAILBREAK_TASK) ? neural : NULL;
}

struct sr_neural *sr_jailbreak_reader_of(const struct sr_jailbreak_models *models, struct sr_bytes text,
                                         bool opens)
{
    if (sr_multilingual_judges(models->other, text) != SR_MULTILINGUAL_INSTEAD)
        return NULL;
    return other_of(models, opens);
}

/* What is being written. */
struct asking {
    const struct sr_jailbreak_models *models;
    struct sr_signal_question *questions;
    size_t n;
    void *about;
};

static struct sr_signal_question *add(struct asking *asking, struct sr_bytes text, struct sr_neural *neural)
{
    struct sr_signal_question *question = &asking->questions[asking->n++];
    *question =
        (struct sr_signal_question){.text = text, .about = asking->about, .neural = neural, .extra = true};
    return question;
}

/* What the other one reads as well of a text that the first neural classifier reads: all of one in several
 * languages, of others the parts in other scripts. */
static void add_stretches(struct asking *asking, struct sr_jailbreak_region *region, bool whole)
{
    struct sr_script_stretch parts[SR_SCRIPT_STRETCHES_MAX] = {{0, region->text.n}};
    size_t n = whole ? 1 : sr_multilingual_stretches(asking->models->other, region->text, parts);
    struct sr_neural *neural = n ? other_of(asking->models, true) : NULL;
    if (!neural)
        return;
    region->stretches = asking->questions + asking->n;
    region->n_stretches = n;
    for (size_t i = 0; i < n; i++)
        (void)add(asking, sr_bytes_of(region->text.p + parts[i].start, parts[i].end - parts[i].start),
                  neural);
}

/* How many passages of a region are read alone at most: of long units, where both tiers read. */
static size_t region_room(const struct sr_jailbreak_region *region)
{
    size_t most = sr_risk_stretches(region->text.n) + 1;
    bool is_long = region->of && region->of->stretches >= SR_RISK_LONG_FROM && region->of->linear.n_passages;
    return !is_long ? 0 : most < SR_RISK_ALONE_PASSAGES ? most : SR_RISK_ALONE_PASSAGES;
}

/* The passages of the region that are read alone: in each stretch the one with the highest linear risk. */
static size_t choose_passages(const struct sr_jailbreak_region *region, const struct sr_risk_window **out,
                              size_t room)
{
    const struct sr_jailbreak_reading *linear = &region->of->linear;
    size_t n = 0, end = region->from + region->text.n;
    for (size_t i = 0; i < linear->n_passages; i++) {
        const struct sr_risk_window *passage = &linear->passages[i], *last = n ? out[n - 1] : NULL;
        bool inside = passage->start >= region->from && passage->end <= end;
        if (!inside || passage->disguise || passage->risk < SR_RISK_ALONE_FROM)
            continue;
        if (last && last->start / SR_RISK_STRETCH == passage->start / SR_RISK_STRETCH)
            out[n - 1] = passage->risk > last->risk ? passage : last;
        else if (n < room)
            out[n++] = passage;
    }
    return n;
}

/* Passages of a long unit, each alone. */
static int add_passages(struct asking *asking, struct sr_jailbreak_region *region, struct sr_arena *arena)
{
    size_t room = region_room(region);
    const struct sr_risk_window **chosen = room ? sr_arena_calloc(arena, room, sizeof(void *)) : NULL;
    if (room == 0 || !chosen)
        return room ? SR_ENOMEM : SR_OK;
    region->alone = asking->questions + asking->n;
    region->alone_are = chosen;
    region->n_alone = choose_passages(region, chosen, room);
    for (size_t i = 0; i < region->n_alone; i++)
        (void)add(asking,
                  sr_bytes_of(region->text.p + (chosen[i]->start - region->from),
                              chosen[i]->end - chosen[i]->start),
                  NULL);
    return SR_OK;
}

int sr_jailbreak_ask(const struct sr_jailbreak_models *models, struct sr_jailbreak_region *regions, size_t n,
                     void *about, struct sr_arena *arena, struct sr_signal_question **out, size_t *n_out)
{
    size_t most = n * (2 + (models->other ? SR_SCRIPT_STRETCHES_MAX : 0)) + 1;
    struct asking asking = {.models = models, .about = about};
    for (size_t i = 0; i < n; i++)
        most += region_room(&regions[i]);
    asking.questions = sr_arena_calloc(arena, most, sizeof *asking.questions);
    if (!asking.questions)
        return SR_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        struct sr_jailbreak_region *region = &regions[i];
        struct sr_bytes undisguised;
        bool instead;
        int rc = sr_jailbreak_region_views(region, arena, &undisguised, &instead);
        if (rc)
            return rc;
        if (!instead) {
            enum sr_multilingual_part part = sr_multilingual_judges(models->other, region->text);
            struct sr_neural *other = part == SR_MULTILINGUAL_INSTEAD ? other_of(models, true) : NULL;
            region->plain = add(&asking, region->text, other);
            if (!other)
                add_stretches(&asking, region, part == SR_MULTILINGUAL_BESIDE);
            rc = other ? SR_OK : add_passages(&asking, region, arena);
            if (rc)
                return rc;
        }
        if (undisguised.n)
            region->undisguised =
                add(&asking, undisguised, sr_jailbreak_reader_of(models, undisguised, true));
    }
    *out = asking.questions;
    *n_out = asking.n;
    return SR_OK;
}
