/*
 * Usage extraction. A count that lies across a chunk boundary is put together from the kept tail, so that no
 * answer is buffered, however large.
 */
#include "router/response/usage.h"

enum {
    AT_USAGE = 1,
    AT_CHOICES,
    AT_PROMPT,
    AT_COMPLETION,
    AT_CACHED,
    AT_CACHE_WRITE,
};

#define METER_ARENA_MAX ((size_t)4 << 20)
#define METER_SPANS_MAX 16384

int sr_usage_paths(struct sr_paths **out, struct sr_err *err)
{
    static const struct sr_path_spec specs[] = {
        {"usage", AT_USAGE},
        {"choices", AT_CHOICES},
        {"usage.prompt_tokens", AT_PROMPT},
        {"usage.input_tokens", AT_PROMPT},
        {"usage.completion_tokens", AT_COMPLETION},
        {"usage.output_tokens", AT_COMPLETION},
        {"usage.prompt_tokens_details.cached_tokens", AT_CACHED},
        {"usage.input_tokens_details.cached_tokens", AT_CACHED},
        {"usage.cache_creation_input_tokens", AT_CACHE_WRITE},
    };
    return sr_paths_new(out, specs, sizeof specs / sizeof specs[0], err);
}

static void usage_count(struct sr_usage *usage, uint16_t id, struct sr_bytes number)
{
    unsigned long long value;
    if (!sr_bytes_to_u64(number, &value))
        return;
    switch (id) {
    case AT_PROMPT:
        usage->prompt = value;
        break;
    case AT_COMPLETION:
        usage->completion = value;
        break;
    case AT_CACHED:
        usage->cached = value;
        break;
    case AT_CACHE_WRITE:
        usage->cache_write = value;
        break;
    default:
        return;
    }
    usage->seen = true;
}

void sr_meter_init(struct sr_meter *meter, const struct sr_paths *paths)
{
    *meter = (struct sr_meter){.scan = NULL};
    sr_arena_init(&meter->arena, METER_ARENA_MAX);
    struct sr_scan_limits limits = sr_scan_limits_defaults();
    limits.max_spans = METER_SPANS_MAX;
    if (sr_scan_new(&meter->scan, paths, limits, &meter->arena))
        meter->scan = NULL;
}

void sr_meter_dispose(struct sr_meter *meter)
{
    meter->scan = NULL;
    sr_arena_dispose(&meter->arena);
}

/* The bytes of a span that ends in `chunk`; empty when its beginning is gone. */
static struct sr_bytes number_bytes(const struct sr_meter *meter, const struct sr_span *span,
                                    struct sr_bytes chunk, char scratch[SR_METER_TAIL])
{
    size_t length = span->end - span->start;
    if (span->start >= meter->offset)
        return sr_bytes_of(chunk.p + (span->start - meter->offset), length);
    size_t before = meter->offset - span->start;
    if (before > meter->tail_n || length > SR_METER_TAIL)
        return (struct sr_bytes){"", 0};
    size_t head = before < length ? before : length;
    memcpy(scratch, meter->tail + meter->tail_n - before, head);
    if (length > head)
        memcpy(scratch + head, chunk.p, length - head);
    return sr_bytes_of(scratch, length);
}

static void keep_tail(struct sr_meter *meter, struct sr_bytes chunk)
{
    if (chunk.n >= SR_METER_TAIL) {
        memcpy(meter->tail, chunk.p + chunk.n - SR_METER_TAIL, SR_METER_TAIL);
        meter->tail_n = SR_METER_TAIL;
        return;
    }
    size_t keep = meter->tail_n;
    if (keep > SR_METER_TAIL - chunk.n)
        keep = SR_METER_TAIL - chunk.n;
    memmove(meter->tail, meter->tail + meter->tail_n - keep, keep);
    memcpy(meter->tail + keep, chunk.p, chunk.n);
    meter->tail_n = keep + chunk.n;
}

void sr_meter_feed(struct sr_meter *meter, struct sr_bytes chunk)
{
    if (!meter->scan || chunk.n == 0)
        return;
    int rc = sr_scan_feed(meter->scan, chunk.p, chunk.n, NULL);
    if (rc != SR_OK && rc != SR_MORE) {
        sr_meter_dispose(meter);
        return;
    }
    size_t count;
    const struct sr_span *spans = sr_scan_spans(meter->scan, &count);
    for (; meter->next < count; meter->next++) {
        const struct sr_span *span = &spans[meter->next];
        if (span->kind != SR_JSON_NUMBER)
            continue;
        if (span->flags & SR_SPAN_OPEN)
            break;
        char scratch[SR_METER_TAIL];
        usage_count(&meter->usage, span->id, number_bytes(meter, span, chunk, scratch));
    }
    keep_tail(meter, chunk);
    meter->offset += chunk.n;
}

/* The member's bytes with the comma that has to go with it: the one after, else the one before. */
static void member_range(struct sr_usage_event *out, const struct sr_span *span, struct sr_bytes data)
{
    out->start = span->key_start;
    out->end = span->end;
    size_t after = span->end;
    while (after < data.n && strchr(" \t\r\n", data.p[after]))
        after++;
    if (after < data.n && data.p[after] == ',') {
        out->end = after + 1;
        return;
    }
    size_t before = span->key_start;
    while (before > 0 && strchr(" \t\r\n", data.p[before - 1]))
        before--;
    if (before > 0 && data.p[before - 1] == ',')
        out->start = before - 1;
}

bool sr_usage_read_event(struct sr_usage_event *out, struct sr_bytes data, const struct sr_paths *paths,
                         struct sr_arena *arena)
{
    *out = (struct sr_usage_event){.has_member = false};
    struct sr_scan *scan;
    struct sr_scan_limits limits = sr_scan_limits_defaults();
    limits.max_spans = METER_SPANS_MAX;
    if (sr_scan_new(&scan, paths, limits, arena))
        return false;
    int rc = sr_scan_feed(scan, data.p, data.n, NULL);
    if ((rc != SR_OK && rc != SR_MORE) || sr_scan_finish(scan, NULL))
        return false;
    size_t count;
    const struct sr_span *spans = sr_scan_spans(scan, &count);
    for (size_t i = 0; i < count; i++) {
        if (spans[i].id == AT_USAGE) {
            out->has_member = true;
            out->is_null = spans[i].kind == SR_JSON_NULL;
            member_range(out, &spans[i], data);
        } else if (spans[i].id == AT_CHOICES) {
            out->choices_empty = spans[i].kind == SR_JSON_ARRAY && (spans[i].flags & SR_SPAN_EMPTY);
        } else if (spans[i].kind == SR_JSON_NUMBER) {
            usage_count(&out->usage, spans[i].id, sr_span_raw(&spans[i], data));
        }
    }
    return sr_scan_root_kind(scan) == SR_JSON_OBJECT;
}
