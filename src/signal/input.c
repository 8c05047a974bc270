/* The block that signals read: one allocation, the text after the header, always valid UTF-8. */
#include "base/mem.h"
#include "base/utf8.h"
#include "signal/types.h"

struct sr_signal_input *sr_signal_input_new(struct sr_bytes text, uint64_t total_bytes)
{
    if (text.n > SIZE_MAX / 2)
        return NULL;
    struct sr_signal_input *input = sr_mem_alloc(sizeof *input + text.n + 1);
    if (!input)
        return NULL;
    char *bytes = (char *)(input + 1);
    sr_utf8_clean(text, bytes);
    bytes[text.n] = 0;
    sr_ref_init(&input->ref);
    input->brief = NULL;
    input->turns = NULL;
    input->text = sr_bytes_of(bytes, text.n);
    input->total_bytes = total_bytes;
    input->total_tokens = total_bytes / 4 + (total_bytes > 0 && total_bytes < 4);
    return input;
}

int sr_signal_input_add_turns(struct sr_signal_input *input, const struct sr_signal_turn *turns, size_t n,
                              struct sr_bytes tenant)
{
    size_t bytes = 0, head;
    for (size_t i = 0; i < n; i++)
        if (__builtin_add_overflow(bytes, turns[i].text.n, &bytes))
            return SR_ENOMEM;
    if (__builtin_mul_overflow(n, sizeof *turns, &head) || head > SIZE_MAX / 4 || bytes > SIZE_MAX / 4)
        return SR_ENOMEM;
    struct sr_signal_turns *copy = sr_mem_alloc(sizeof *copy + head + bytes + tenant.n + 1);
    if (!copy)
        return SR_ENOMEM;
    char *at = (char *)&copy->items[n];
    for (size_t i = 0; i < n; i++) {
        copy->items[i] = turns[i];
        copy->items[i].text.p = at;
        sr_utf8_clean(turns[i].text, at);
        at += turns[i].text.n;
    }
    if (tenant.n)
        memcpy(at, tenant.p, tenant.n);
    copy->tenant = sr_bytes_of(at, tenant.n);
    copy->bytes = bytes;
    copy->n = n;
    sr_mem_free(input->turns);
    input->turns = copy;
    return SR_OK;
}

size_t sr_signal_input_bytes(const struct sr_signal_input *input, enum sr_signal_type type)
{
    bool turns = sr_signal_registry[type]->reads == SR_SIGNAL_READS_TURNS;
    return turns && input->turns ? (size_t)input->turns->bytes : input->text.n;
}

struct sr_signal_input *sr_signal_input_ref(struct sr_signal_input *input)
{
    sr_ref_get(&input->ref);
    return input;
}

void sr_signal_input_unref(struct sr_signal_input *input)
{
    if (input && sr_ref_put(&input->ref)) {
        sr_signal_brief_free(input->brief);
        sr_mem_free(input->turns);
        sr_mem_free(input);
    }
}
