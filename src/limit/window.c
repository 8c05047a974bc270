/* A ring of parts, addressed by their number. */
#include "limit/window.h"

#include <string.h>

#define KEPT (SR_WINDOW_PARTS + 1)

uint64_t sr_window_part_ms(uint64_t unit_ms)
{
    uint64_t ms = (unit_ms + SR_WINDOW_PARTS - 1) / SR_WINDOW_PARTS;
    return ms ? ms : 1;
}

static int64_t sum_of(const struct sr_window *window)
{
    int64_t sum = 0;
    for (int i = 0; i < KEPT; i++)
        sum += window->counts[i];
    return sum;
}

int64_t sr_window_roll(struct sr_window *window, uint64_t unit_ms, uint64_t now_ms)
{
    if (window->ends_ms) {
        if (now_ms >= window->ends_ms)
            window->counts[0] = 0;
        return window->counts[0];
    }
    uint64_t now = now_ms / sr_window_part_ms(unit_ms);
    if (now > window->part) {
        uint64_t passed = now - window->part;
        for (uint64_t i = 1; i <= passed && i <= KEPT; i++)
            window->counts[(window->part + i) % KEPT] = 0;
        if (passed > KEPT)
            memset(window->counts, 0, sizeof window->counts);
        window->part = now;
    }
    return sum_of(window);
}

void sr_window_add(struct sr_window *window, int64_t count)
{
    int64_t *at = &window->counts[window->ends_ms ? 0 : window->part % KEPT];
    *at = count > INT64_MAX / KEPT / 2 - *at ? INT64_MAX / KEPT / 2 : *at + count;
}

void sr_window_take_back(struct sr_window *window, uint64_t unit_ms, uint64_t then_ms, int64_t count)
{
    uint64_t then = then_ms / sr_window_part_ms(unit_ms);
    int64_t *at = &window->counts[0];
    if (!window->ends_ms) {
        if (then > window->part || window->part - then >= KEPT)
            return;
        at = &window->counts[then % KEPT];
    }
    *at = *at > count ? *at - count : 0;
}

uint64_t sr_window_wait_ms(const struct sr_window *window, uint64_t unit_ms, uint64_t now_ms, int64_t most)
{
    uint64_t part_ms = sr_window_part_ms(unit_ms);
    int64_t sum = sum_of(window);
    if (sum <= most)
        return 0;
    if (most < 0)
        return UINT64_MAX;
    if (window->ends_ms)
        return window->ends_ms > now_ms ? window->ends_ms - now_ms : 0;
    uint64_t oldest = window->part >= SR_WINDOW_PARTS ? window->part - SR_WINDOW_PARTS : 0;
    for (uint64_t part = oldest; part <= window->part; part++) {
        sum -= window->counts[part % KEPT];
        uint64_t gone_ms = (part + KEPT) * part_ms;
        if (sum <= most)
            return gone_ms > now_ms ? gone_ms - now_ms : 1;
    }
    return UINT64_MAX;
}
