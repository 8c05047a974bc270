/* The block that signals read: one allocation, the text after the header, always valid UTF-8. */
#include "base/mem.h"
#include "base/utf8.h"
#include "signal/topic/vector.h"
#include "signal/types.h"

#define UNIT_COST 256u /* bytes of text that take as long as one more unit does */

const char *const sr_signal_source_names[SR_SIGNAL_SOURCES] = {
    [SR_SOURCE_MESSAGE] = "message", [SR_SOURCE_TOOL_RESULT] = "tool_result",
    [SR_SOURCE_TOOL] = "tool",       [SR_SOURCE_DOCUMENT] = "document",
    [SR_SOURCE_FIELD] = "field",
};

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
    input->units = NULL;
    input->facts = NULL;
    input->vector = NULL;
    input->text = sr_bytes_of(bytes, text.n);
    input->total_bytes = total_bytes;
    input->total_tokens = total_bytes / 4 + (total_bytes > 0 && total_bytes < 4);
    return input;
}

/* Bytes of the block's tables: units and parts. False when they do not fit. */
static bool table_sizes(const struct sr_signal_unit_list *units, size_t *items, size_t *parts)
{
    return !__builtin_mul_overflow(units->n, sizeof *units->items, items) &&
           !__builtin_mul_overflow(units->n_parts, sizeof *units->parts, parts) && *items <= SIZE_MAX / 8 &&
           *parts <= SIZE_MAX / 8;
}

int sr_signal_input_add_units(struct sr_signal_input *input, const struct sr_signal_unit_list *units,
                              struct sr_bytes tenant)
{
    size_t bytes = 0, items, parts;
    uint64_t own = 0;
    for (size_t i = 0; i < units->n; i++) {
        if (__builtin_add_overflow(bytes, units->items[i].text.n, &bytes))
            return SR_ENOMEM;
        own += units->items[i].n_parts ? 0 : units->items[i].text.n;
    }
    if (!table_sizes(units, &items, &parts) || bytes > SIZE_MAX / 4)
        return SR_ENOMEM;
    struct sr_signal_units *copy = sr_mem_alloc(sizeof *copy + items + parts + bytes + tenant.n + 1);
    if (!copy)
        return SR_ENOMEM;
    copy->parts = (const struct sr_signal_part *)(const void *)&copy->items[units->n];
    char *at = (char *)&copy->items[units->n];
    if (parts)
        memcpy(at, units->parts, parts);
    at += parts;
    for (size_t i = 0; i < units->n; i++) {
        copy->items[i] = units->items[i];
        copy->items[i].text.p = at;
        sr_utf8_clean(units->items[i].text, at);
        at += units->items[i].text.n;
    }
    if (tenant.n)
        memcpy(at, tenant.p, tenant.n);
    copy->tenant = sr_bytes_of(at, tenant.n);
    copy->bytes = own;
    copy->unread = units->unread;
    copy->n = units->n;
    copy->n_parts = units->n_parts;
    sr_mem_free(input->units);
    input->units = copy;
    return SR_OK;
}

int sr_signal_input_share_vector(struct sr_signal_input *input)
{
    if (!input->vector)
        input->vector = sr_signal_vector_new();
    return input->vector ? SR_OK : SR_ENOMEM;
}

size_t sr_signal_input_bytes(const struct sr_signal_input *input, enum sr_signal_type type)
{
    bool units = sr_signal_registry[type]->reads == SR_SIGNAL_READS_UNITS;
    return units && input->units ? (size_t)input->units->bytes + input->units->n * UNIT_COST : input->text.n;
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
        sr_mem_free(input->units);
        sr_mem_free(input->facts);
        sr_signal_vector_unref(input->vector);
        sr_mem_free(input);
    }
}
