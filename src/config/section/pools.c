/* `global.semroute.pools`: the workers of a model, and how one of them is chosen. */
#include "config/section/section.h"

#include "config/bind/value.h"

#define POOL(member) offsetof(struct sr_config_pool, member)

static const struct sr_field queue_fields[] = {
    {"max", SR_FIELD_UINT32, POOL(queue.max), .def = "100", .max = 10000,
     .help = "requests that wait; more are answered 503 with `retry-after`; 0: none waits"},
    {"timeout", SR_FIELD_DURATION, POOL(queue.timeout_ms), .def = "10s",
     .help = "the longest wait, then 503 with `retry-after`"},
    {"priority_header", SR_FIELD_TEXT, POOL(queue.priority_header), .def_note = "none",
     .help = "a request header with a whole number from -1000 to 1000, which a trusted proxy sets: higher is "
             "served first"},
    {"priorities", SR_FIELD_PAIRS, POOL(queue.priorities),
     .help = "such numbers for decisions, for requests without that header; all others have 0"},
};

static void finish_queue(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_config_pool *pool = target;
    const struct sr_yaml_node *map = sr_yaml_get(node, "priorities");
    int priority;
    for (size_t i = 0; i < pool->queue.priorities.count && map && i < map->count; i++)
        if (!sr_config_priority(sr_bytes_str(pool->queue.priorities.items[i].value), &priority))
            sr_bind_error(b, map->items[i],
                          "`priorities`: expected a whole number from -1000 to 1000, found `%.40s`",
                          pool->queue.priorities.items[i].value);
    if (pool->queue.timeout_ms == 0)
        sr_bind_error(b, sr_bind_at(node, "timeout"), "`timeout` must be above 0");
    if (pool->queue.priority_header[0] && !sr_value_is_header_name(sr_bytes_str(pool->queue.priority_header)))
        sr_bind_error(b, sr_bind_at(node, "priority_header"), "`priority_header` is no header name");
}

static const struct sr_section queue_section = {
    .name = "queue",
    .help = "Requests that wait for a worker with room, in the gateway.",
    SR_FIELDS(queue_fields),
    .finish = finish_queue,
};

static const struct sr_field endpoint_fields[] = {
    {"file", SR_FIELD_TEXT, POOL(endpoints.file), .flags = SR_FIELD_NOT_EMPTY,
     .help = "a file with a worker on each line, `host:port`, after spaces its weight and the word `backup` "
             "where it "
             "has them, read every second"},
    {"dns", SR_FIELD_TEXT, POOL(endpoints.dns), .flags = SR_FIELD_NOT_EMPTY,
     .help = "`name:port`: each address of the name is a worker; asked again when its TTL is over"},
    {"srv", SR_FIELD_TEXT, POOL(endpoints.srv), .flags = SR_FIELD_NOT_EMPTY,
     .help = "a name whose SRV records are the workers, those over the lowest priority as backups, such as "
             "`_http._tcp.vllm.default`"},
    {"server", SR_FIELD_TEXT, POOL(endpoints.server), .flags = SR_FIELD_NOT_EMPTY,
     .def_note = "the system's (/etc/resolv.conf)", .help = "`address:port` of the DNS server, IPv4"},
    {"keep", SR_FIELD_DURATION, POOL(endpoints.keep_ms), .def = "5m",
     .help = "how long the last good answer holds when DNS or the file gives none; 0s: for ever"},
};

static void finish_endpoints(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_config_pool *pool = target;
    struct sr_value_endpoint at;
    int given = (pool->endpoints.file[0] != '\0') + (pool->endpoints.dns[0] != '\0') +
                (pool->endpoints.srv[0] != '\0');
    if (given != 1)
        sr_bind_error(b, node, "`endpoints` needs one of `file`, `dns` and `srv`");
    if (pool->endpoints.dns[0] && !sr_value_endpoint(sr_bytes_str(pool->endpoints.dns), &at))
        sr_bind_error(b, sr_bind_at(node, "dns"), "`dns`: expected `name:port`, found `%.80s`",
                      pool->endpoints.dns);
    if (pool->endpoints.server[0] && !sr_value_endpoint(sr_bytes_str(pool->endpoints.server), &at))
        sr_bind_error(b, sr_bind_at(node, "server"), "`server`: expected `address:port`, found `%.80s`",
                      pool->endpoints.server);
}

static const struct sr_section endpoints_section = {
    .name = "endpoints",
    .help = "Where the workers are named. Keys, headers, TLS and base path are those of the model's first "
            "backend; "
            "without one it is plain HTTP.",
    SR_FIELDS(endpoint_fields),
    .finish = finish_endpoints,
};

static const struct sr_field workloads_fields[] = {
    {"header", SR_FIELD_TEXT, offsetof(struct sr_config_workloads, header), .def_note = "none",
     .help = "a request header that names the workload; without a known word in it the shape of the request "
             "says it"},
    {"metadata", SR_FIELD_TEXT, offsetof(struct sr_config_workloads, metadata), .def_note = "none",
     .help = "the key of the body's `metadata` that names it, for requests without that header"},
    {"long_context_tokens", SR_FIELD_TOKENS, offsetof(struct sr_config_workloads, long_context_tokens),
     .def = "8192", .min = 1, .max = 1e9,
     .help = "estimated tokens of a prompt from which a request without tools is `long_context`"},
};

static void finish_workloads(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_config_workloads *workloads = target;
    const char *header = workloads->header;
    if (header[0] && !sr_value_is_header_name(sr_bytes_str(header)))
        sr_bind_error(b, sr_bind_at(node, "header"), "`header` is no header name");
}

static void prepare_workloads(void *target)
{
    struct sr_config_workloads *workloads = target;
    workloads->header = workloads->metadata = "";
}

const struct sr_section sr_section_workloads = {
    .name = "workloads",
    .help = "What a request is for, for models with several pools: `interactive`, `long_context`, `agent` or "
            "`batch`.",
    SR_FIELDS(workloads_fields),
    .prepare = prepare_workloads,
    .finish = finish_workloads,
};

static const struct sr_field slow_fields[] = {
    {"times", SR_FIELD_NUMBER, POOL(slow.times), .def = "2.5", .max = 1000,
     .help =
         "how many times as long as those of the median worker its requests take, to the first byte and to "
         "the end, when it is ejected for `base_ejection_time`; 0: it never is"},
    {"recovery", SR_FIELD_DURATION, POOL(slow.recovery_ms), .def = "30s",
     .help = "the time after that in which it grows from a tenth to all of its requests"},
};

static const struct sr_section slow_section = {
    .name = "slow",
    .help = "Workers that are far slower than the others of the pool.",
    SR_FIELDS(slow_fields),
};

static const struct sr_field fields[] = {
    {"name", SR_FIELD_TEXT, POOL(name), .flags = SR_FIELD_NOT_EMPTY, .def_note = "its `model`",
     .help = "a name for logs and metrics"},
    {"model", SR_FIELD_TEXT, POOL(model_name), .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY,
     .help = "the model of `providers.models` that its workers serve"},
    {"backends", SR_FIELD_TEXTS, POOL(backends), .flags = SR_FIELD_NOT_EMPTY,
     .def_note = "all of the model's `backend_refs`",
     .help = "the names of those that are this pool's workers"},
    {"backups", SR_FIELD_TEXTS, POOL(backups),
     .help = "those of them that get requests only when all others are gone or full"},
    {"max_prompt_tokens", SR_FIELD_TOKENS, POOL(max_prompt_tokens), .def = "0", .max = 1e9,
     .help = "for a model with several pools: the longest prompt of this one, estimated; 0: no limit"},
    {"max_tokens", SR_FIELD_TOKENS, POOL(max_tokens), .def = "0", .max = 1e9,
     .help = "the same for prompt and answer: the engine's `--max-model-len`; the smallest pool that a "
             "request fits is its first one"},
    {"workloads", SR_FIELD_TEXTS, POOL(workload_names), .def_note = "all",
     .help = "the workloads that this pool is for: `interactive`, `long_context`, `agent`, `batch`"},
    {"policy", SR_FIELD_WORD, POOL(policy), .words = sr_picking_policies,
     .def_note = "the model's `lb_policy`",
     .help =
         "how a worker is chosen: in turn, by its requests (`least_request`) or reported load, by who asks "
         "(`session`), by what was sent there (`prefix`, `cost`, `meaning`), by what workers tell of their "
         "caches (`kv`), or by all of these (`auto`)"},
    {"session", SR_FIELD_OBJECT, .of = &sr_section_picking_session, .help = "the policy `session`"},
    {"prefix", SR_FIELD_OBJECT, .of = &sr_section_picking_prefix, .help = "what is known of KV caches"},
    {"cost", SR_FIELD_OBJECT, .of = &sr_section_picking_cost, .help = "the policy `cost`"},
    {"meaning", SR_FIELD_OBJECT, .of = &sr_section_picking_meaning,
     .help = "the policies `meaning` and `auto`"},
    {"load_guard", SR_FIELD_NUMBER, POOL(picking.load_guard), .def = "1.5", .min = 1, .max = 100,
     .help = "load, for the mean, over which a worker is left although it has the prompt in its cache"},
    {"metrics", SR_FIELD_OBJECT, .of = &sr_section_picking_metrics,
     .help = "what workers report of their load"},
    {"kv_events", SR_FIELD_OBJECT, .of = &sr_section_picking_kv_events,
     .def_note = "none: caches are estimated by what was sent there",
     .help = "what workers tell of their KV caches, for `kv`, `cost` and `auto`"},
    {"endpoints", SR_FIELD_OBJECT, .of = &endpoints_section, .def_note = "the model's `backend_refs`",
     .help = "workers that come and go while it runs"},
    {"max_in_flight", SR_FIELD_UINT32, POOL(max_in_flight), .def = "0", .max = 1e6,
     .help = "requests of this process that a worker has at once, of all models; 0: no limit"},
    {"queue", SR_FIELD_OBJECT, .of = &queue_section,
     .help = "what waits when all workers have `max_in_flight` requests"},
    {"slow_start", SR_FIELD_DURATION, POOL(slow_start_ms), .def = "0s",
     .help = "the time in which a worker that joins grows from a tenth to all of its weight"},
    {"slow", SR_FIELD_OBJECT, .of = &slow_section, .help = "what becomes of a worker that is slow"},
};

static void prepare(void *target)
{
    struct sr_config_pool *pool = target;
    pool->name = pool->model_name = pool->policy = pool->queue.priority_header = "";
    pool->endpoints.file = pool->endpoints.dns = pool->endpoints.srv = pool->endpoints.server = "";
    pool->model = -1;
    sr_picking_prepare(pool);
}

static void finish(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_pool *pool = target;
    const struct sr_yaml_node *workloads = sr_yaml_get(node, "workloads");
    if (!pool->name[0])
        pool->name = pool->model_name;
    for (size_t i = 0; i < pool->workload_names.count; i++) {
        int workload = sr_config_find_workload(sr_bytes_str(pool->workload_names.items[i]));
        if (workload < 0)
            sr_bind_error(b, workloads && i < workloads->count ? workloads->items[i] : node,
                          "`workloads`: expected `interactive`, `long_context`, `agent` or `batch`, found "
                          "`%.40s`",
                          pool->workload_names.items[i]);
        else
            pool->workloads |= 1u << workload;
    }
    if (pool->max_tokens && pool->max_prompt_tokens >= pool->max_tokens)
        sr_bind_error(b, sr_bind_at(node, "max_prompt_tokens"),
                      "`max_prompt_tokens` must be below `max_tokens`, which has room for the answer too");
}

const struct sr_section sr_section_pool = {
    .name = "pool",
    .help = "The workers of a model. A model without an entry has one pool of its `backend_refs`.",
    .size = sizeof(struct sr_config_pool),
    SR_FIELDS(fields),
    .prepare = prepare,
    .finish = finish,
};
