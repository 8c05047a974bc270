/* Lines are `name{labels} value` or `name value`, with a time or without; `#` begins a comment. */
#include "serve/gateway/scrape_text.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_MAX 1e15 /* a larger number is taken for this one */

static const struct {
    const char *name;
    size_t offset;
    bool highest; /* of several series, not their sum */
} NAMES[] = {
    {"vllm:num_requests_running", offsetof(struct sr_scrape_text, running), false},
    {"vllm:num_requests_waiting", offsetof(struct sr_scrape_text, waiting), false},
    {"vllm:kv_cache_usage_perc", offsetof(struct sr_scrape_text, usage), true},
    {"vllm:gpu_cache_usage_perc", offsetof(struct sr_scrape_text, usage), true},
    {"vllm:prefix_cache_queries_total", offsetof(struct sr_scrape_text, asked), false},
    {"vllm:gpu_prefix_cache_queries_total", offsetof(struct sr_scrape_text, asked), false},
    {"vllm:prefix_cache_hits_total", offsetof(struct sr_scrape_text, hits), false},
    {"vllm:gpu_prefix_cache_hits_total", offsetof(struct sr_scrape_text, hits), false},
};

void sr_scrape_text_init(struct sr_scrape_text *text)
{
    *text = (struct sr_scrape_text){.running = -1, .waiting = -1, .usage = -1, .asked = -1, .hits = -1};
}

static void take(double *to, double value, bool highest)
{
    value = value < COUNT_MAX ? value : COUNT_MAX;
    if (*to < 0 || (highest && value > *to))
        *to = value;
    else if (!highest)
        *to += value;
}

/* The end of the labels that begin at `at`, behind the brace; NULL: there is none. Label values may have any
 * escaped byte. */
static const char *labels_end(const char *at)
{
    for (bool quoted = false; *at; at++)
        if (quoted && *at == '\\' && at[1])
            at++;
        else if (*at == '"')
            quoted = !quoted;
        else if (!quoted && *at == '}')
            return at + 1;
    return NULL;
}

static void read_line(struct sr_scrape_text *text)
{
    size_t name = strcspn(text->line, "{ \t");
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        if (strlen(NAMES[i].name) != name || memcmp(text->line, NAMES[i].name, name) != 0)
            continue;
        const char *at = text->line + name;
        if (*at == '{' && !(at = labels_end(at)))
            return;
        char *end;
        double value = strtod(at, &end);
        if (end != at && isfinite(value) && value >= 0)
            take((double *)((char *)text + NAMES[i].offset), value, NAMES[i].highest);
        return;
    }
}

static void end_line(struct sr_scrape_text *text)
{
    text->line[text->n] = 0;
    if (!text->too_long && text->n && text->line[0] == 'v')
        read_line(text);
    text->n = 0;
    text->too_long = false;
}

void sr_scrape_text_feed(struct sr_scrape_text *text, struct sr_bytes slice)
{
    for (size_t i = 0; i < slice.n; i++)
        if (slice.p[i] == '\n')
            end_line(text);
        else if (text->n + 1 < sizeof text->line)
            text->line[text->n++] = slice.p[i];
        else
            text->too_long = true;
}

static uint32_t count_of(double value)
{
    return value < 0 ? 0 : value < 1e9 ? (uint32_t)value : 1000000000u;
}

bool sr_scrape_text_finish(struct sr_scrape_text *text, struct sr_pool_reported *out)
{
    end_line(text);
    *out = (struct sr_pool_reported){
        .running = count_of(text->running),
        .waiting = count_of(text->waiting),
        .kv_usage = text->usage > 1 ? 1 : text->usage,
        .has_hits = text->asked >= 0 && text->hits >= 0,
    };
    if (out->has_hits) {
        out->asked = (uint64_t)(text->asked < COUNT_MAX ? text->asked : COUNT_MAX);
        out->hits = (uint64_t)(text->hits < COUNT_MAX ? text->hits : COUNT_MAX);
    }
    return text->running >= 0;
}
