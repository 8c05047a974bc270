/* Keys of `global.semroute.pools[]` that its picking policies read. */
#include "config/section/section.h"

#include "config/bind/value.h"

#include <string.h>

#define PICKING(member) offsetof(struct sr_config_pool, picking.member)

const struct sr_enum_word sr_picking_policies[] = {
    {"round_robin", 0}, {"least_request", 0}, {"least_load", 0}, {"session", 0}, {"prefix", 0},
    {"cost", 0},        {"meaning", 0},       {"auto", 0},       {NULL, 0}};

static const struct sr_field session_fields[] = {
    {"header", SR_FIELD_TEXT, PICKING(session_header), .def_note = "none",
     .help = "request header that names the session; without it the body's `user`, then the known user"},
    {"bound", SR_FIELD_NUMBER, PICKING(session_bound), .def = "1.25", .min = 1, .max = 100,
     .help = "most requests of a worker, for its share of all; over it a session goes to its next worker"},
};

static void finish_session(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_config_pool *pool = target;
    const char *header = pool->picking.session_header;
    if (header[0] && !sr_value_is_header_name(sr_bytes_str(header)))
        sr_bind_error(b, sr_bind_at(node, "header"), "`header` is no header name");
}

const struct sr_section sr_section_picking_session = {
    .name = "session",
    .help = "The policy `session`: a session stays at its worker (consistent hashing with bounded loads).",
    SR_FIELDS(session_fields),
    .finish = finish_session,
};

static const struct sr_field prefix_fields[] = {
    {"block_tokens", SR_FIELD_UINT32, PICKING(block_tokens), .def = "16", .min = 1, .max = 4096,
     .help = "tokens of a block: the engine's `--block-size`"},
    {"blocks", SR_FIELD_TOKENS, PICKING(blocks), .def = "32768", .min = 64, .max = 4e6,
     .help = "blocks of a worker's KV cache (`num_gpu_blocks`); those used least recently are forgotten"},
};
const struct sr_section sr_section_picking_prefix = {
    .name = "prefix",
    .help = "What is known of the workers' KV caches, by prompts that were sent there.",
    SR_FIELDS(prefix_fields),
};

static const struct sr_field cost_fields[] = {
    {"overlap_weight", SR_FIELD_NUMBER, PICKING(overlap_weight), .def = "1", .max = 1000,
     .help = "of a block that is to be computed, beside one that requests hold at a worker"},
    {"temperature", SR_FIELD_NUMBER, PICKING(temperature), .def = "0", .max = 100,
     .help = "0: the lowest cost; above, workers are drawn, the more evenly the higher it is"},
};
const struct sr_section sr_section_picking_cost = {
    .name = "cost",
    .help = "The policy `cost`, after NVIDIA Dynamo's KV router.",
    SR_FIELDS(cost_fields),
};

static const struct sr_field meaning_fields[] = {
    {"threshold", SR_FIELD_NUMBER, PICKING(threshold), .def = "0.7", .max = 1,
     .help = "similarity to a worker's recent requests from which it is preferred"},
    {"recent", SR_FIELD_UINT32, PICKING(recent), .def = "64", .min = 1, .max = 100000,
     .help = "latest requests of a worker that count"},
};
const struct sr_section sr_section_picking_meaning = {
    .name = "meaning",
    .help = "The policies `meaning` and `auto`: workers that were asked similar questions.",
    SR_FIELDS(meaning_fields),
};

static const struct sr_field metrics_fields[] = {
    {"path", SR_FIELD_TEXT, PICKING(metrics_path), .def_note = "`/metrics` for `least_load` and `auto`",
     .help = "GET on this path gives the worker's load under vLLM's names; `off`: it is not asked"},
    {"interval", SR_FIELD_DURATION, PICKING(metrics_interval_ms), .def = "5s",
     .help = "time between two reports; a report that is three times as old is forgotten"},
};

static void finish_metrics(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_config_pool *pool = target;
    const char *path = pool->picking.metrics_path;
    if (path[0] && strcmp(path, "off") != 0 && (path[0] != '/' || strpbrk(path, " \t\r\n#")))
        sr_bind_error(b, sr_bind_at(node, "path"), "`path` must begin with `/` and be a path, or be `off`");
    if (pool->picking.metrics_interval_ms < 100)
        sr_bind_error(b, sr_bind_at(node, "interval"), "`interval` must be at least 100ms");
}

const struct sr_section sr_section_picking_metrics = {
    .name = "worker metrics",
    .help = "What workers report of their load.",
    SR_FIELDS(metrics_fields),
    .finish = finish_metrics,
};

void sr_picking_prepare(struct sr_config_picking *picking)
{
    picking->session_header = picking->metrics_path = "";
}
