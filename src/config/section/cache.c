/* `global.stores.response_cache` and `global.semroute.cache`: where cached answers are kept, and how many. */
#include "config/section/section.h"

#define CACHE(member)  offsetof(struct sr_config_cache, member)
#define REDIS(member)  offsetof(struct sr_config_cache_redis, member)
#define SERVER(member) offsetof(struct sr_config_store_server, member)

static const struct sr_enum_word stores[] = {{"memory", SR_STORE_MEMORY},
                                             {"redis", SR_STORE_REDIS},
                                             {"valkey", SR_STORE_REDIS},
                                             {"milvus", SR_STORE_MILVUS},
                                             {"hybrid", SR_STORE_MILVUS},
                                             {"qdrant", SR_STORE_ELSEWHERE},
                                             {NULL, 0}};
static const struct sr_enum_word embedders[] = {{"bert", 0},  {"mmbert", 0},     {"qwen3", 0},
                                                {"gemma", 0}, {"multimodal", 0}, {NULL, 0}};
static const struct sr_enum_word orders[] = {
    {"lru", SR_ORDER_LRU}, {"lfu", SR_ORDER_LFU}, {"fifo", SR_ORDER_FIFO}, {NULL, 0}};

/* Why keys of other stores' clients change nothing. */
#define WHICH_VECTORS "vectors are the encoder's, and compared by their cosine"
#define MAKES_ALL     "the cache makes what is missing and never drops what is there"
#define OWN_CLIENT    "the store's client sets itself up"
#define OWN_INDEX     "the index in memory sets itself up"

/* ---- servers ---- */

static const struct sr_field server_tls_fields[] = {
    {"enabled", SR_FIELD_BOOL, SERVER(tls), .def = "false", .help = "whether the connection is encrypted"},
    {"ca_file", SR_FIELD_TEXT, SERVER(ca_file), .def_note = "the system's",
     .help = "certificates that sign the server's"},
    {"cert_file", SR_FIELD_TEXT, SERVER(cert_file), .help = "the client's own certificate"},
    {"key_file", SR_FIELD_TEXT, SERVER(key_file), .help = "its key"},
};
static const struct sr_section server_tls_section = {
    .name = "store tls", .help = "TLS to the store.", SR_FIELDS(server_tls_fields)};

static const struct sr_field server_fields[] = {
    {"host", SR_FIELD_TEXT, SERVER(host), .def = "localhost", .flags = SR_FIELD_NOT_EMPTY,
     .help = "name or address"},
    {"port", SR_FIELD_INT, SERVER(port), .def_note = "6379 for Redis, 19530 for Milvus", .max = 65535,
     .help = "TCP port"},
    {"database", SR_FIELD_TEXT, SERVER(database), .def_note = "the first",
     .help = "number (Redis) or name (Milvus)"},
    {"user", SR_FIELD_TEXT, SERVER(user), .help = "name of an account"},
    {"password", SR_FIELD_TEXT, SERVER(password), .help = "its password, or Milvus's token; write `${NAME}`"},
    {"timeout", SR_FIELD_NUMBER, .min = 0, .max = 1e6, .flags = SR_FIELD_INERT,
     .def_note = "`global.semroute.cache.lookup_timeout_ms`", .help = "a lookup has its own limit"},
    {"tls", SR_FIELD_OBJECT, .of = &server_tls_section, .help = "TLS to the store"},
};
const struct sr_section sr_section_store_server = {.name = "store connection",
                                                   .help = "How the store is reached.",
                                                   SR_FIELDS(server_fields),
                                                   .later = (const char *const[]){"auth", NULL}};

/* ---- Redis ---- */

static const struct sr_enum_word redis_indexes[] = {{"HNSW", 0}, {"FLAT", 0}, {NULL, 0}};
static const struct sr_field redis_index_fields[] = {
    {"prefix", SR_FIELD_TEXT, REDIS(prefix), .def = "semroute:cache:", .flags = SR_FIELD_NOT_EMPTY,
     .help = "the beginning of every key and of the channel"},
    {"name", SR_FIELD_TEXT, .flags = SR_FIELD_INERT, .def_note = "none",
     .help = "there is no index in the server"},
    {"index_type", SR_FIELD_ENUM, .words = redis_indexes, .flags = SR_FIELD_INERT, .def_note = "none",
     .help = "the same"},
};
static const struct sr_section redis_index_section = {
    .name = "redis index",
    .help = "Names of keys.",
    SR_FIELDS(redis_index_fields),
    .inert = (const struct sr_inert_key[]){{"vector_field", WHICH_VECTORS, false},
                                           {"params", "vectors are searched in each process", false},
                                           {NULL, NULL, false}}};

static const struct sr_field redis_search_fields[] = {
    {"topk", SR_FIELD_INT, .min = 1, .max = 1e6, .flags = SR_FIELD_INERT, .def_note = "8",
     .help = "the cache looks at eight near questions"},
};
static const struct sr_section redis_search_section = {
    .name = "redis search", .help = "Searches.", SR_FIELDS(redis_search_fields)};
static const struct sr_field redis_fields[] = {
    {"connection", SR_FIELD_OBJECT, REDIS(server), .of = &sr_section_store_server,
     .help = "how the server is reached"},
    {"index", SR_FIELD_OBJECT, .of = &redis_index_section, .help = "names of keys"},
    {"search", SR_FIELD_OBJECT, .of = &redis_search_section, .help = "searches"},
};
static const struct sr_section redis_section = {
    .name = "response_cache redis",
    .help = "Redis or Valkey: several instances share records; vectors are searched in each.",
    SR_FIELDS(redis_fields),
    .inert = (const struct sr_inert_key[]){
        {"development", MAKES_ALL, false}, {"logging", OWN_CLIENT, false}, {NULL, NULL, false}}};

/* ---- Milvus ---- */

static const struct sr_field milvus_params_fields[] = {
    {"M", SR_FIELD_INT, CACHE(milvus.m), .def = "16", .min = 4, .max = 64, .help = "neighbours of a node"},
    {"efConstruction", SR_FIELD_INT, CACHE(milvus.ef_construction), .def = "64", .min = 8, .max = 512,
     .help = "candidates while the index is built"},
};
static const struct sr_section milvus_params_section = {
    .name = "milvus index params", .help = "Parameters of HNSW.", SR_FIELDS(milvus_params_fields)};
static const struct sr_enum_word milvus_indexes[] = {{"HNSW", 0}, {NULL, 0}};
static const struct sr_field milvus_index_fields[] = {
    {"params", SR_FIELD_OBJECT, .of = &milvus_params_section, .help = "its parameters"},
    {"type", SR_FIELD_ENUM, .words = milvus_indexes, .flags = SR_FIELD_INERT, .def_note = "HNSW",
     .help = "the index is HNSW"},
};
static const struct sr_section milvus_index_section = {
    .name = "milvus index", .help = "The index of the vectors.", SR_FIELDS(milvus_index_fields)};
static const struct sr_field milvus_collection_fields[] = {
    {"name", SR_FIELD_TEXT, CACHE(milvus.collection), .def = "semroute_cache", .flags = SR_FIELD_NOT_EMPTY,
     .help = "created when it is missing"},
    {"index", SR_FIELD_OBJECT, .of = &milvus_index_section, .help = "the index of the vectors"},
    {"description", SR_FIELD_TEXT, .flags = SR_FIELD_INERT, .def_note = "none", .help = "a note for people"},
};
static const struct sr_section milvus_collection_section = {
    .name = "milvus collection",
    .help = "The collection.",
    SR_FIELDS(milvus_collection_fields),
    .inert = (const struct sr_inert_key[]){{"vector_field", WHICH_VECTORS, false}, {NULL, NULL, false}},
};
static const struct sr_field milvus_search_params_fields[] = {
    {"ef", SR_FIELD_INT, CACHE(milvus.ef), .def = "64", .min = 1, .max = 4096,
     .help = "candidates of a search"},
};
static const struct sr_section milvus_search_params_section = {.name = "milvus search params",
                                                               .help = "Parameters of a search.",
                                                               SR_FIELDS(milvus_search_params_fields)};
static const struct sr_enum_word consistencies[] = {
    {"Strong", 0}, {"Session", 1}, {"Bounded", 2}, {"Eventually", 3}, {NULL, 0}};
static const struct sr_field milvus_search_fields[] = {
    {"consistency_level", SR_FIELD_WORD, CACHE(milvus.consistency), .words = consistencies, .def = "Session",
     .help = "what a search sees of the latest writes"},
    {"params", SR_FIELD_OBJECT, .of = &milvus_search_params_section, .help = "parameters of a search"},
    {"topk", SR_FIELD_INT, .min = 1, .max = 1e6, .flags = SR_FIELD_INERT, .def_note = "8",
     .help = "the cache looks at eight near questions"},
};
static const struct sr_section milvus_search_section = {
    .name = "milvus search", .help = "Searches.", SR_FIELDS(milvus_search_fields)};
static const struct sr_field milvus_fields[] = {
    {"connection", SR_FIELD_OBJECT, CACHE(milvus.server), .of = &sr_section_store_server,
     .help = "how the server is reached"},
    {"collection", SR_FIELD_OBJECT, .of = &milvus_collection_section, .help = "the collection"},
    {"search", SR_FIELD_OBJECT, .of = &milvus_search_section, .help = "searches"},
};
static const struct sr_section milvus_section = {
    .name = "response_cache milvus",
    .help = "Milvus: vectors and records outside of this process.",
    SR_FIELDS(milvus_fields),
    .inert = (const struct sr_inert_key[]){{"performance", OWN_CLIENT, false},
                                           {"logging", OWN_CLIENT, false},
                                           {"data_management", "entries end by `ttl_seconds`", false},
                                           {"development", MAKES_ALL, false},
                                           {NULL, NULL, false}}};

/* ---- the two sections ---- */

static const struct sr_field response_cache_fields[] = {
    {"enabled", SR_FIELD_BOOL, CACHE(enabled), .def = "true",
     .help = "switches the cache off for every decision"},
    {"backend_type", SR_FIELD_ENUM, CACHE(store), .words = stores, .def = "memory",
     .help =
         "memory (with a file: `global.semroute.cache.path`), redis, valkey or milvus; hybrid is another "
         "word for milvus: memory is in front of every store; qdrant is refused where something is cached"},
    {"max_entries", SR_FIELD_SIZE, CACHE(max_entries), .def = "10000", .max = 1e8,
     .help = "answers kept in memory"},
    {"ttl_seconds", SR_FIELD_INT64, CACHE(ttl_s), .def = "7200", .min = 0, .max = 1e9,
     .help = "how long an answer is kept, for plugins that do not say it; 0 = for ever"},
    {"eviction_policy", SR_FIELD_ENUM, CACHE(eviction), .words = orders, .def = "lru",
     .help =
         "which entry goes when there is no room: the one used least recently (lru), least often (lfu), or "
         "the oldest (fifo)"},
    {"embedding_model", SR_FIELD_ENUM, .words = embedders, .flags = SR_FIELD_INERT,
     .def_note = "the router's encoder", .help = "questions are embedded by the router's one encoder"},
    {"similarity_threshold", SR_FIELD_NUMBER, .min = 0, .max = 1, .flags = SR_FIELD_INERT,
     .def_note = "the plugin's", .help = "each plugin has its own"},
    {"redis", SR_FIELD_OBJECT, CACHE(redis), .of = &redis_section, .older = "valkey",
     .help = "Redis, or Valkey"},
    {"milvus", SR_FIELD_OBJECT, .of = &milvus_section, .help = "Milvus"},
};
static const struct sr_section response_cache_section = {
    .name = "response_cache store",
    .help = "Where cached answers are kept.",
    SR_FIELDS(response_cache_fields),
    .inert = (const struct sr_inert_key[]){{"qdrant", "only a store of that name reads it", false},
                                           {"use_hnsw", OWN_INDEX, false},
                                           {"hnsw_m", OWN_INDEX, false},
                                           {"hnsw_ef_construction", OWN_INDEX, false},
                                           {"hnsw_ef_search", OWN_INDEX, false},
                                           {"max_memory_entries", "`max_entries` limits memory", false},
                                           {NULL, NULL, false}},
    .later = (const char *const[]){"backend_config_path", NULL},
};

static const struct sr_field stores_fields[] = {
    {"response_cache", SR_FIELD_OBJECT, .of = &response_cache_section, .older = "semantic_cache",
     .help = "cached answers; a decision uses them by its plugin `response_cache`"},
};
const struct sr_section sr_section_stores = {
    .name = "global.stores",
    .help = "What outlives a request.",
    SR_FIELDS(stores_fields),
    .later = (const char *const[]){"memory", "vector_store", NULL},
    .switched = (const char *const[]){"memory", "vector_store", NULL},
};

static const struct sr_field cache_fields[] = {
    {"path", SR_FIELD_TEXT, CACHE(path), .def_note = "none: a restart empties the cache",
     .help = "with `backend_type: memory`: an SQLite file that keeps the entries over a restart"},
    {"key_file", SR_FIELD_TEXT, CACHE(key_file), .def_note = "none: the file is not encrypted",
     .help = "encrypts that file: 32 bytes or more as text; to rotate, the new key is the first line and the "
             "old one the second"},
    {"max_bytes", SR_FIELD_SIZE, CACHE(max_bytes), .def = "256MiB", .min = 65536, .max = 0x1p40,
     .help = "memory of all entries and their index"},
    {"max_entry_bytes", SR_FIELD_SIZE, CACHE(max_entry_bytes), .def = "1MiB", .min = 1024, .max = 0x1p24,
     .help = "the largest answer that is kept"},
    {"max_request_bytes", SR_FIELD_SIZE, CACHE(max_request_bytes), .def = "1MiB", .min = 1024, .max = 0x1p28,
     .help = "the largest request that is looked up"},
    {"lookup_timeout_ms", SR_FIELD_MS, CACHE(lookup_timeout_ms), .def = "100", .min = 1, .max = 10e3,
     .help = "time for the store's answer to a lookup; then the model is asked"},
    {"wait_ms", SR_FIELD_MS, CACHE(wait_ms), .def = "2000", .max = 600e3,
     .help = "how long a request waits for the answer to an identical one in progress; 0 = not at all"},
    {"team_header", SR_FIELD_TEXT, CACHE(team_header), .def_note = "none",
     .help = "a request header, set by a trusted proxy, that names the team, for `scope: team`"},
    {"warm_file", SR_FIELD_TEXT, CACHE(warm_file), .def_note = "none",
     .help =
         "JSON Lines of known questions and answers, or of requests and responses, that the cache is filled "
         "with at the start and when the configuration changes (docs/cache.md)"},
    {"default", SR_FIELD_OBJECT, CACHE(use), .of = &sr_section_cache_use, .def_note = "they are not cached",
     .help = "for requests whose decision has no plugin `response_cache`, and for those that name a model"},
};
const struct sr_section sr_section_cache = {
    .name = "global.semroute.cache",
    .help = "The response cache, beyond `global.stores.response_cache`.",
    SR_FIELDS(cache_fields),
};
