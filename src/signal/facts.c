/* The copy of a request's facts: one block with its lists and bytes. */
#include "signal/facts.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "signal/types.h"

/* The block while it is filled: lists first, then bytes. */
struct filling {
    char *list, *bytes;
};

static size_t bytes_of(const struct sr_bytes *texts, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += texts[i].n;
    return sum;
}

static struct sr_bytes copy_text(struct filling *to, struct sr_bytes text)
{
    struct sr_bytes copy = sr_bytes_of(to->bytes, text.n);
    sr_utf8_clean(text, to->bytes);
    to->bytes += text.n;
    return copy;
}

static const struct sr_bytes *copy_texts(struct filling *to, const struct sr_bytes *texts, size_t n)
{
    struct sr_bytes *list = (struct sr_bytes *)(void *)to->list;
    to->list += n * sizeof *list;
    for (size_t i = 0; i < n; i++)
        list[i] = copy_text(to, texts[i]);
    return list;
}

static const struct sr_signal_entry *copy_entries(struct filling *to, const struct sr_signal_entry *entries,
                                                  size_t n)
{
    struct sr_signal_entry *list = (struct sr_signal_entry *)(void *)to->list;
    to->list += n * sizeof *list;
    for (size_t i = 0; i < n; i++)
        list[i] = (struct sr_signal_entry){copy_text(to, entries[i].key), copy_text(to, entries[i].value)};
    return list;
}

int sr_signal_input_add_facts(struct sr_signal_input *input, const struct sr_signal_facts *facts)
{
    size_t lists = (facts->n_groups + facts->n_turns) * sizeof(struct sr_bytes) +
                   facts->n_metadata * sizeof(struct sr_signal_entry);
    size_t bytes =
        facts->user.n + bytes_of(facts->groups, facts->n_groups) + bytes_of(facts->turns, facts->n_turns);
    for (size_t i = 0; i < facts->n_metadata; i++)
        bytes += facts->metadata[i].key.n + facts->metadata[i].value.n;
    struct sr_signal_facts *copy = sr_mem_alloc(sizeof *copy + lists + bytes + 1);
    if (!copy)
        return SR_ENOMEM;
    struct filling to = {.list = (char *)(copy + 1)};
    to.bytes = to.list + lists;
    *copy = *facts;
    copy->user = copy_text(&to, facts->user);
    copy->groups = copy_texts(&to, facts->groups, facts->n_groups);
    copy->turns = copy_texts(&to, facts->turns, facts->n_turns);
    copy->metadata = copy_entries(&to, facts->metadata, facts->n_metadata);
    sr_mem_free(input->facts);
    input->facts = copy;
    return SR_OK;
}
