/* Questions keep their order: those about parts of texts follow the others. */
#include "signal/guard/pii_other.h"

#include "base/log.h"

#include <string.h>

#define TASK        "pii"
#define LATIN_LEAST 12u /* letters of a text in another script: two words or a name */

int sr_pii_other_open(struct sr_pii_other *other, const struct sr_config *config,
                      struct sr_model_store *models, struct sr_err *err)
{
    int rc = sr_multilingual_new(&other->models, config, models, err);
    if (rc == SR_ENOENT) {
        sr_log(SR_LOG_WARN, "multilingual_missing",
               "%s; names in scripts other than Latin are hardly found as private data", err->message);
        return SR_OK;
    }
    return rc ? rc
              : sr_multilingual_thresholds(other->models, TASK, sr_entity_names, SR_ENTITY_TYPES,
                                           other->least, err);
}

void sr_pii_other_dispose(struct sr_pii_other *other)
{
    sr_multilingual_free(other->models);
    other->models = NULL;
}

/* One that is open, or is opened, and has a head for private data. */
static struct sr_neural *open_reader(const struct sr_pii_other *other, bool opens)
{
    struct sr_neural *neural =
        opens ? sr_multilingual_open(other->models) : sr_multilingual_peek(other->models);
    size_t types = 0;
    return neural && sr_neural_types(neural, &types) && types ? neural : NULL;
}

struct sr_neural *sr_pii_other_reader(const struct sr_pii_other *other, struct sr_bytes text, bool opens)
{
    return sr_multilingual_reads(other->models, text) ? open_reader(other, opens) : NULL;
}

/* Parts of a text that the first neural classifier reads. */
static size_t parts_of(const struct sr_pii_other *other, const struct sr_signal_question *question,
                       struct sr_script_stretch out[SR_SCRIPT_STRETCHES_MAX])
{
    return question->neural ? 0 : sr_multilingual_stretches(other->models, question->text, out);
}

size_t sr_pii_other_parts(const struct sr_pii_other *other, const struct sr_signal_question *question,
                          struct sr_script_stretch out[SR_SCRIPT_STRETCHES_MAX])
{
    return open_reader(other, false) ? parts_of(other, question, out) : 0;
}

/* Has a text in another script names in Latin script, perhaps, which the first neural classifier reads best?
 */
static bool is_mixed(const struct sr_signal_question *question)
{
    size_t letters = 0;
    if (!question->neural || !sr_script_is_foreign(question->text))
        return false;
    for (size_t i = 0; i < question->text.n && letters < LATIN_LEAST; i++) {
        char c = sr_ascii_lower(question->text.p[i]);
        letters += c >= 'a' && c <= 'z';
    }
    return letters >= LATIN_LEAST;
}

int sr_pii_other_ask(const struct sr_pii_other *other, struct sr_arena *arena,
                     struct sr_signal_question **questions, size_t *n)
{
    struct sr_script_stretch parts[SR_SCRIPT_STRETCHES_MAX];
    struct sr_signal_question *own = *questions;
    size_t whole = *n, more = 0;
    for (size_t i = 0; i < whole; i++) {
        own[i].neural = sr_pii_other_reader(other, own[i].text, true);
        more += is_mixed(&own[i]) ? 1 : parts_of(other, &own[i], parts);
    }
    struct sr_neural *reader = more ? open_reader(other, true) : NULL;
    if (!reader)
        return SR_OK;
    struct sr_signal_question *all = sr_arena_calloc(arena, whole + more, sizeof *all);
    if (!all)
        return SR_ENOMEM;
    memcpy(all, own, whole * sizeof *all);
    *questions = all;
    for (size_t i = 0; i < whole; i++) {
        size_t count = parts_of(other, &own[i], parts);
        if (is_mixed(&own[i]))
            all[(*n)++] =
                (struct sr_signal_question){.text = own[i].text, .about = own[i].about, .extra = true};
        for (size_t k = 0; k < count; k++)
            all[(*n)++] = (struct sr_signal_question){
                .text = sr_bytes_of(own[i].text.p + parts[k].start, parts[k].end - parts[k].start),
                .about = own[i].about,
                .neural = reader,
                .extra = true};
    }
    return SR_OK;
}

int sr_pii_other_type(const struct sr_signal_question *question, size_t type)
{
    size_t n;
    const char *const *names = sr_neural_types(question->neural, &n);
    return type < n ? sr_entity_find_type(sr_bytes_str(names[type])) : -1;
}
