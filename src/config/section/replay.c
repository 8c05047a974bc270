/* `global.services.router_replay`, `global.semroute.replay`, and the plugin `router_replay` of a decision. */
#include "config/section/plugins.h"

#define REPLAY(member) offsetof(struct sr_config_replay, member)
#define PLUGIN(member) offsetof(struct sr_config_plugins, member)

#define RECORDS_MAX 1e6
#define BODY_MAX    1048576.0

static const struct sr_enum_word stores[] = {{"memory", SR_REPLAY_MEMORY},
                                             {"sqlite", SR_REPLAY_SQLITE},
                                             {"postgres", SR_REPLAY_ELSEWHERE},
                                             {"redis", SR_REPLAY_ELSEWHERE},
                                             {"milvus", SR_REPLAY_ELSEWHERE},
                                             {"qdrant", SR_REPLAY_ELSEWHERE},
                                             {NULL, 0}};

static const struct sr_field router_replay_fields[] = {
    {"enabled", SR_FIELD_BOOL, REPLAY(all.enabled), .def = "false",
     .help = "whether requests are recorded whose decision has no plugin `router_replay`"},
    {"store_backend", SR_FIELD_ENUM, REPLAY(store), .words = stores, .def = "memory",
     .help = "memory, or sqlite: a file that outlives a restart (`global.semroute.replay.path`); the others "
             "are refused where something is recorded"},
    {"ttl_seconds", SR_FIELD_INT64, REPLAY(ttl_s), .def = "2592000", .max = 1e9,
     .help = "how long a record is kept; 0 = until others need its room"},
    {"max_records", SR_FIELD_INT64, REPLAY(all.max_records), .def = "10000", .min = 1, .max = RECORDS_MAX,
     .help = "records that are kept, of all decisions together; the largest number counts, also of plugins"},
    {"capture_request_body", SR_FIELD_BOOL, REPLAY(all.request_body), .def = "false",
     .help = "whether a record has the request's body: what users write"},
    {"capture_response_body", SR_FIELD_BOOL, REPLAY(all.response_body), .def = "false",
     .help = "whether a record has the answer's body: what models write"},
    {"max_body_bytes", SR_FIELD_SIZE, REPLAY(all.max_body_bytes), .def = "4096", .max = BODY_MAX,
     .help = "bytes of a body that a record has, up to 1 MiB; 0 = 4096"},
};

static size_t body_bytes(size_t given)
{
    return given ? given : 4096;
}

static void finish_router_replay(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_replay *replay = target;
    (void)b;
    (void)node;
    replay->all.max_body_bytes = body_bytes(replay->all.max_body_bytes);
}

#define ELSEWHERE "only a store of that name reads it"

const struct sr_section sr_section_router_replay = {
    .name = "router_replay",
    .help = "Records of requests that have ended.",
    SR_FIELDS(router_replay_fields),
    .inert = (const struct sr_inert_key[]){{"async_writes", "a file is always written by a thread of its own",
                                            false},
                                           {"postgres", ELSEWHERE, false},
                                           {"redis", ELSEWHERE, false},
                                           {"milvus", ELSEWHERE, false},
                                           {"qdrant", ELSEWHERE, false},
                                           {NULL, NULL, false}},
    .finish = finish_router_replay,
};

static const struct sr_field replay_fields[] = {
    {"path", SR_FIELD_TEXT, REPLAY(path), .def_note = "none",
     .help = "the SQLite file that keeps records, with `store_backend: sqlite`; only its owner may read it"},
    {"max_bytes", SR_FIELD_SIZE, REPLAY(max_bytes), .def = "67108864", .min = 65536, .max = 0x1p36,
     .help = "the size of all records together, with bodies; the oldest give way"},
};

const struct sr_section sr_section_replay = {
    .name = "replay",
    .help = "Records of requests, beyond `services.router_replay`.",
    SR_FIELDS(replay_fields),
};

static const struct sr_field plugin_fields[] = {
    {"enabled", SR_FIELD_BOOL, PLUGIN(router_replay.enabled), .def = "false",
     .help = "whether the decision's requests are recorded, whatever `services.router_replay` says"},
    {"max_records", SR_FIELD_INT64, PLUGIN(router_replay.max_records), .def = "0", .max = RECORDS_MAX,
     .help = "records that are kept, of all decisions together; the largest number counts; 0 = as global"},
    {"capture_request_body", SR_FIELD_BOOL, PLUGIN(router_replay.request_body), .def = "false",
     .help = "whether a record has the request's body: what users write"},
    {"capture_response_body", SR_FIELD_BOOL, PLUGIN(router_replay.response_body), .def = "false",
     .help = "whether a record has the answer's body: what models write"},
    {"max_body_bytes", SR_FIELD_SIZE, PLUGIN(router_replay.max_body_bytes), .def = "4096", .max = BODY_MAX,
     .help = "bytes of a body that a record has, up to 1 MiB; 0 = 4096"},
};

static void finish_plugin(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_plugins *plugins = target;
    (void)b;
    (void)node;
    plugins->router_replay.max_body_bytes = body_bytes(plugins->router_replay.max_body_bytes);
}

static const struct sr_section plugin_section = {
    .name = "router_replay plugin",
    .help = "Whether the decision's requests are recorded, and what of them.",
    SR_FIELDS(plugin_fields),
    .inert =
        (const struct sr_inert_key[]){{"max_tool_trace_bytes", "calls of tools are not kept apart", false},
                                      {"max_tool_trace_steps", "calls of tools are not kept apart", false},
                                      {NULL, NULL, false}},
    .finish = finish_plugin,
};

const struct sr_variant sr_plugin_router_replay = {"router_replay", "records the decision's requests",
                                                   &plugin_section, PLUGIN(router_replay.set)};
