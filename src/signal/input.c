/* The block that signals read: one allocation, text behind the header, always valid UTF-8. */
#include "base/mem.h"
#include "signal/types.h"
#include "text/utf8.h"

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
    input->text = sr_bytes_of(bytes, text.n);
    input->total_bytes = total_bytes;
    input->total_tokens = total_bytes / 4 + (total_bytes > 0 && total_bytes < 4);
    return input;
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
        sr_mem_free(input);
    }
}
