/* The parts of a seam are in the order of its text: the first that ends behind the finding's begin has it. */
#include "signal/guard/place.h"

void sr_guard_place(const struct sr_signal_input *input, struct sr_signal_finding *finding)
{
    const struct sr_signal_unit *unit = input->units ? &input->units->items[finding->unit] : NULL;
    finding->group = unit ? unit->group : 0;
    finding->source = unit ? unit->source : SR_SOURCE_MESSAGE;
    for (uint32_t i = 0; unit && i < unit->n_parts; i++) {
        const struct sr_signal_part *part = &input->units->parts[unit->first_part + i];
        if (finding->start >= part->end)
            continue;
        size_t end = finding->end < part->end ? finding->end : part->end;
        size_t start = finding->start > part->start ? finding->start : part->start;
        finding->unit = part->unit;
        finding->end = end - part->start + part->from;
        finding->start = start - part->start + part->from;
        return;
    }
}
