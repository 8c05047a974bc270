/* Keys of `global.semroute.pools[]` that its picking policies read. */
#include "config/section/section.h"

#include "config/bind/value.h"
#include "config/worker_pattern.h"

#include <string.h>

/* The longest wait for what a policy reads of a request. */
#define WAIT_MAX_MS     10000
#define PICKING(member) offsetof(struct sr_config_pool, picking.member)

const struct sr_enum_word sr_picking_policies[] = {
    {"round_robin", 0}, {"least_request", 0}, {"least_load", 0}, {"session", 0}, {"prefix", 0},
    {"kv", 0},          {"cost", 0},          {"meaning", 0},    {"auto", 0},    {NULL, 0}};

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
    {"wait", SR_FIELD_DURATION, PICKING(meaning_wait_ms), .def = "8ms",
     .help = "how long `meaning` waits for the vector of a request: an encoder that is free takes less, and "
             "behind one that is busy the request is placed by load. 0s: never"},
};

static void finish_meaning(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_config_pool *pool = target;
    if (pool->picking.meaning_wait_ms > WAIT_MAX_MS)
        sr_bind_error(b, sr_bind_at(node, "wait"), "`wait` must be at most 10s");
}

const struct sr_section sr_section_picking_meaning = {
    .name = "meaning",
    .help = "The policies `meaning` and `auto`: workers that were asked similar questions.",
    SR_FIELDS(meaning_fields),
    .finish = finish_meaning,
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

#define KV(member) offsetof(struct sr_config_pool, kv_events.member)

/* Those of router/prompt/template.c. */
static const struct sr_enum_word chat_templates[] = {{"chatml", 0}, {"qwen2.5", 0},  {"qwen3", 0},
                                                     {"llama3", 0}, {"llama3.1", 0}, {"mistral", 0},
                                                     {"gemma", 0},  {NULL, 0}};

static const struct sr_field kv_events_fields[] = {
    {"endpoint", SR_FIELD_TEXT, KV(endpoint), .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY,
     .help = "where a worker publishes, such as `tcp://{host}:5557`: `{host}` and `{port}` are its own, and "
             "`{port+8}` is a port beside it"},
    {"replay", SR_FIELD_TEXT, KV(replay), .def_note = "none: after a gap the worker counts as not known",
     .help = "where it gives missed batches again (vLLM's `replay_endpoint`), in the same form"},
    {"topic", SR_FIELD_TEXT, KV(topic), .def_note = "any",
     .help = "what the topics of its batches begin with"},
    {"max_blocks", SR_FIELD_TOKENS, KV(max_blocks), .def = "65536", .min = 64, .max = 4e6,
     .help = "most blocks that are remembered of one worker, at about 100 bytes; more are not known"},
    {"tokenize", SR_FIELD_TEXT, KV(tokenize), .def = "/tokenize",
     .help = "POST on this path of a worker gives the tokens of a prompt (vLLM); `off`: without a "
             "`tokenizer` caches "
             "are estimated by what was sent there, and events are not used"},
    {"tokenizer", SR_FIELD_TEXT, KV(tokenizer), .flags = SR_FIELD_NOT_EMPTY,
     .def_note = "none: workers are asked",
     .help = "the model's tokenizer.json: gives the tokens of prompts without asking a worker"},
    {"chat_template", SR_FIELD_WORD, KV(chat_template), .words = chat_templates,
     .def_note = "none: `tokenizer` is for completions only",
     .help =
         "how the model's template writes a chat of texts; requests that it cannot express, such as those "
         "with tools, go to `tokenize`"},
    {"wait", SR_FIELD_DURATION, KV(wait_ms), .def = "20ms",
     .help =
         "how long `kv` waits for the tokens of a prompt that is new; then it goes on without. 0s: never"},
};

static void check_pattern(struct sr_binder *b, const struct sr_yaml_node *node, const char *key,
                          const char *pattern)
{
    char out[SR_WORKER_PATTERN_MAX];
    size_t scheme = strlen("tcp://");
    if (pattern[0] &&
        (!sr_worker_pattern(out, pattern, SR_LIT("host"), 32768) || strncmp(out, "tcp://", scheme) != 0 ||
         !strchr(out + scheme, ':') || strpbrk(out, " \t*;,")))
        sr_bind_error(b, sr_bind_at(node, key),
                      "`%s`: expected a pattern such as `tcp://{host}:{port+8}`, found `%.80s`", key,
                      pattern);
}

static void finish_kv_events(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_kv_events *keys = &((struct sr_config_pool *)target)->kv_events;
    check_pattern(b, node, "endpoint", keys->endpoint);
    check_pattern(b, node, "replay", keys->replay);
    if (strcmp(keys->tokenize, "off") == 0)
        keys->tokenize = "";
    else if (keys->tokenize[0] != '/' || strpbrk(keys->tokenize, " \t\r\n#"))
        sr_bind_error(b, sr_bind_at(node, "tokenize"),
                      "`tokenize` must begin with `/` and be a path, or be `off`");
    if (keys->chat_template[0] && !keys->tokenizer[0])
        sr_bind_error(b, sr_bind_at(node, "chat_template"), "`chat_template` needs `tokenizer`");
    if (keys->wait_ms > WAIT_MAX_MS)
        sr_bind_error(b, sr_bind_at(node, "wait"), "`wait` must be at most 10s");
}

const struct sr_section sr_section_picking_kv_events = {
    .name = "kv_events",
    .help = "What workers tell of their KV caches: events over ZeroMQ in the format of vLLM and Dynamo.",
    SR_FIELDS(kv_events_fields),
    .finish = finish_kv_events,
};

void sr_picking_prepare(struct sr_config_pool *pool)
{
    struct sr_config_picking *picking = &pool->picking;
    picking->session_header = picking->metrics_path = "";
    pool->kv_events.endpoint = pool->kv_events.replay = pool->kv_events.topic = "";
    pool->kv_events.tokenize = pool->kv_events.tokenizer = pool->kv_events.chat_template = "";
}
