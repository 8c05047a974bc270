/*
 * Requests and answers of Milvus in protobuf.
 */
#include "store/milvus/message.h"

#include "base/hash.h"
#include "net/grpc/protobuf_arena.h"
#include "store/milvus/base64.h"

#include <math.h>
#include <milvus.pb-c.h>
#include <stdarg.h>
#include <stdio.h>

#define INT64        5 /* types of fields, as Milvus numbers them */
#define VARCHAR      21
#define FLOAT_VECTOR 101
#define NAME_SIZE    "80"
#define BODY_SIZE    "65535"
#define HEX          (2 * (size_t)SR_CACHE_KEY + 1)
#define VECTOR_NAME  "embedding"
#define BODY_NAME    "body"
#define QUERY_LIMIT  "8"
#define N_TEXTS      7
#define N_FIELDS     10

/* The texts of a row, in this order, then the numbers and the vector. */
static const char *const TEXTS[N_TEXTS] = {"id", "request", "part", "tenant", "user", "model", BODY_NAME};
static const char *const CREATED = "created_at", *const EXPIRES = "expires_at";

static char *database(const struct sr_milvus_place *place)
{
    return (char *)place->database;
}

static char *collection(const struct sr_milvus_place *place)
{
    return (char *)place->collection;
}

static const char *metric_name(const struct sr_milvus_place *place)
{
    return place->metric == SR_MILVUS_IP ? "IP" : "COSINE";
}

static void hex_write(const uint8_t *p, size_t n, char *out)
{
    for (size_t i = 0; i < n; i++)
        snprintf(out + 2 * i, 3, "%02x", p[i]);
}

static void model_write(struct sr_bytes model, char *out)
{
    if (sr_sha256_hex(model.n ? model : SR_LIT(""), out) != SR_OK)
        *out = '\0';
}

static Milvus__Proto__Milvus__KeyValuePair pair(const char *key, const char *value)
{
    Milvus__Proto__Milvus__KeyValuePair out = MILVUS__PROTO__MILVUS__KEY_VALUE_PAIR__INIT;
    out.key = (char *)key;
    out.value = (char *)value;
    return out;
}

/* ---- the collection ---- */

struct sr_bytes sr_milvus_has(struct sr_arena *arena, const struct sr_milvus_place *place)
{
    Milvus__Proto__Milvus__HasCollectionRequest r = MILVUS__PROTO__MILVUS__HAS_COLLECTION_REQUEST__INIT;
    r.db_name = database(place);
    r.collection_name = collection(place);
    return sr_protobuf_pack(&r.base, arena);
}

struct sr_bytes sr_milvus_describe(struct sr_arena *arena, const struct sr_milvus_place *place)
{
    Milvus__Proto__Milvus__DescribeCollectionRequest r =
        MILVUS__PROTO__MILVUS__DESCRIBE_COLLECTION_REQUEST__INIT;
    r.db_name = database(place);
    r.collection_name = collection(place);
    return sr_protobuf_pack(&r.base, arena);
}

struct sr_bytes sr_milvus_describe_index(struct sr_arena *arena, const struct sr_milvus_place *place)
{
    Milvus__Proto__Milvus__DescribeIndexRequest r = MILVUS__PROTO__MILVUS__DESCRIBE_INDEX_REQUEST__INIT;
    r.db_name = database(place);
    r.collection_name = collection(place);
    r.field_name = (char *)VECTOR_NAME;
    return sr_protobuf_pack(&r.base, arena);
}

static Milvus__Proto__Milvus__FieldSchema field(const char *name, int32_t type,
                                                Milvus__Proto__Milvus__KeyValuePair **params)
{
    Milvus__Proto__Milvus__FieldSchema out = MILVUS__PROTO__MILVUS__FIELD_SCHEMA__INIT;
    out.name = (char *)name;
    out.data_type = type;
    out.type_params = params;
    out.n_type_params = params ? 1 : 0;
    return out;
}

struct sr_bytes sr_milvus_create(struct sr_arena *arena, const struct sr_milvus_place *place)
{
    Milvus__Proto__Milvus__CreateCollectionRequest r = MILVUS__PROTO__MILVUS__CREATE_COLLECTION_REQUEST__INIT;
    Milvus__Proto__Milvus__CollectionSchema schema = MILVUS__PROTO__MILVUS__COLLECTION_SCHEMA__INIT;
    char dimensions[24];
    Milvus__Proto__Milvus__KeyValuePair name = pair("max_length", NAME_SIZE),
                                        body = pair("max_length", BODY_SIZE), dim = pair("dim", dimensions);
    Milvus__Proto__Milvus__KeyValuePair *name_of[] = {&name}, *body_of[] = {&body}, *dim_of[] = {&dim};
    Milvus__Proto__Milvus__FieldSchema fields[N_FIELDS], *list[N_FIELDS];
    struct sr_bytes packed;
    snprintf(dimensions, sizeof dimensions, "%zu", place->dimensions);
    for (size_t i = 0; i < N_TEXTS; i++)
        fields[i] = field(TEXTS[i], VARCHAR, strcmp(TEXTS[i], BODY_NAME) == 0 ? body_of : name_of);
    fields[0].is_primary_key = 1;
    fields[N_TEXTS] = field(CREATED, INT64, NULL);
    fields[N_TEXTS + 1] = field(EXPIRES, INT64, NULL);
    fields[N_TEXTS + 2] = field(VECTOR_NAME, FLOAT_VECTOR, dim_of);
    for (size_t i = 0; i < N_FIELDS; i++)
        list[i] = &fields[i];
    schema.name = collection(place);
    schema.description = (char *)"answers that semroute keeps";
    schema.fields = list;
    schema.n_fields = N_FIELDS;
    packed = sr_protobuf_pack(&schema.base, arena);
    if (!packed.p)
        return packed;
    r.db_name = database(place);
    r.collection_name = collection(place);
    r.schema = (ProtobufCBinaryData){packed.n, (uint8_t *)packed.p};
    r.shards_num = 1;
    r.consistency_level = (int32_t)place->consistency;
    return sr_protobuf_pack(&r.base, arena);
}

struct sr_bytes sr_milvus_index(struct sr_arena *arena, const struct sr_milvus_place *place, const char *type)
{
    Milvus__Proto__Milvus__CreateIndexRequest r = MILVUS__PROTO__MILVUS__CREATE_INDEX_REQUEST__INIT;
    char numbers[80];
    Milvus__Proto__Milvus__KeyValuePair pairs[] = {
        pair("index_type", type), pair("metric_type", metric_name(place)), pair("params", numbers)};
    Milvus__Proto__Milvus__KeyValuePair *list[] = {&pairs[0], &pairs[1], &pairs[2]};
    snprintf(numbers, sizeof numbers, "{\"M\":%u,\"efConstruction\":%u}", place->m, place->ef_construction);
    r.db_name = database(place);
    r.collection_name = collection(place);
    r.field_name = (char *)VECTOR_NAME;
    r.index_name = (char *)VECTOR_NAME;
    r.extra_params = list;
    r.n_extra_params = strcmp(type, "HNSW") == 0 ? 3 : 2;
    return sr_protobuf_pack(&r.base, arena);
}

struct sr_bytes sr_milvus_load(struct sr_arena *arena, const struct sr_milvus_place *place)
{
    Milvus__Proto__Milvus__LoadCollectionRequest r = MILVUS__PROTO__MILVUS__LOAD_COLLECTION_REQUEST__INIT;
    r.db_name = database(place);
    r.collection_name = collection(place);
    r.replica_number = 1;
    return sr_protobuf_pack(&r.base, arena);
}

struct sr_bytes sr_milvus_load_state(struct sr_arena *arena, const struct sr_milvus_place *place)
{
    Milvus__Proto__Milvus__GetLoadStateRequest r = MILVUS__PROTO__MILVUS__GET_LOAD_STATE_REQUEST__INIT;
    r.db_name = database(place);
    r.collection_name = collection(place);
    return sr_protobuf_pack(&r.base, arena);
}

/* ---- rows ---- */

struct rows {
    char **texts[N_TEXTS];
    int64_t *created, *expires;
};

static bool row_write(struct rows *rows, size_t i, const struct sr_cache_record *record, bool searchable,
                      struct sr_arena *arena)
{
    const struct sr_cache_fields *f = &record->f;
    const struct sr_cache_key *keys[] = {&f->exact, &f->request, &f->partition, &f->tenant, &f->user};
    size_t size = sr_cache_record_size(record), n = sizeof keys / sizeof *keys;
    uint8_t *bytes = sr_arena_alloc(arena, size);
    char *texts = sr_arena_calloc(arena, N_TEXTS, HEX + 1),
         *body = sr_arena_alloc(arena, SR_BASE64_SIZE(size) + 1);
    if (!bytes || !texts || !body)
        return false;
    for (size_t t = 0; t < n; t++) {
        char *text = texts + t * (HEX + 1);
        rows->texts[t][i] = text;
        if (t == 2 && !searchable)
            *text++ = '-';
        hex_write(keys[t]->bytes, SR_CACHE_KEY, text);
    }
    rows->texts[n][i] = texts + n * (HEX + 1);
    model_write(f->model, rows->texts[n][i]);
    sr_cache_record_write(record, bytes);
    sr_base64_write(bytes, size, body);
    rows->texts[n + 1][i] = body;
    rows->created[i] = f->created_ms;
    rows->expires[i] = f->expires_ms;
    return true;
}

static bool rows_write(struct rows *rows, struct sr_cache_record *const *records, const bool *searchable,
                       size_t count, struct sr_arena *arena)
{
    bool whole = (rows->created = sr_arena_calloc(arena, count, sizeof *rows->created)) != NULL &&
                 (rows->expires = sr_arena_calloc(arena, count, sizeof *rows->expires)) != NULL;
    for (size_t t = 0; t < N_TEXTS; t++)
        whole = (rows->texts[t] = sr_arena_calloc(arena, count, sizeof(char *))) != NULL && whole;
    for (size_t i = 0; i < count && whole; i++)
        whole = row_write(rows, i, records[i], searchable[i], arena);
    return whole;
}

struct column {
    Milvus__Proto__Milvus__FieldData field;
    Milvus__Proto__Milvus__ScalarField scalars;
    Milvus__Proto__Milvus__StringArray strings;
    Milvus__Proto__Milvus__LongArray longs;
    Milvus__Proto__Milvus__VectorField vectors;
    Milvus__Proto__Milvus__FloatArray floats;
};

static void column_init(struct column *c, const char *name, int32_t type)
{
    milvus__proto__milvus__field_data__init(&c->field);
    milvus__proto__milvus__scalar_field__init(&c->scalars);
    milvus__proto__milvus__string_array__init(&c->strings);
    milvus__proto__milvus__long_array__init(&c->longs);
    milvus__proto__milvus__vector_field__init(&c->vectors);
    milvus__proto__milvus__float_array__init(&c->floats);
    c->field.field_name = (char *)name;
    c->field.type = type;
    if (type == FLOAT_VECTOR) {
        c->field.vectors = &c->vectors;
        c->vectors.float_vector = &c->floats;
    } else {
        c->field.scalars = &c->scalars;
        c->scalars.string_data = type == VARCHAR ? &c->strings : NULL;
        c->scalars.long_data = type == INT64 ? &c->longs : NULL;
    }
}

struct sr_bytes sr_milvus_upsert(struct sr_arena *arena, const struct sr_milvus_place *place,
                                 struct sr_cache_record *const *records, const float *units,
                                 const bool *searchable, size_t count)
{
    Milvus__Proto__Milvus__UpsertRequest r = MILVUS__PROTO__MILVUS__UPSERT_REQUEST__INIT;
    struct column *columns = sr_arena_calloc(arena, N_FIELDS, sizeof *columns);
    Milvus__Proto__Milvus__FieldData *list[N_FIELDS];
    struct rows rows = {0};
    if (!columns || !rows_write(&rows, records, searchable, count, arena))
        return (struct sr_bytes){NULL, 0};
    for (size_t i = 0; i < N_FIELDS; i++)
        list[i] = &columns[i].field;
    for (size_t i = 0; i < N_TEXTS; i++) {
        column_init(&columns[i], TEXTS[i], VARCHAR);
        columns[i].strings.data = rows.texts[i];
        columns[i].strings.n_data = count;
    }
    column_init(&columns[N_TEXTS], CREATED, INT64);
    column_init(&columns[N_TEXTS + 1], EXPIRES, INT64);
    column_init(&columns[N_TEXTS + 2], VECTOR_NAME, FLOAT_VECTOR);
    columns[N_TEXTS].longs.data = rows.created;
    columns[N_TEXTS + 1].longs.data = rows.expires;
    columns[N_TEXTS].longs.n_data = columns[N_TEXTS + 1].longs.n_data = count;
    columns[N_TEXTS + 2].vectors.dim = (int64_t)place->dimensions;
    columns[N_TEXTS + 2].floats.data = (float *)units;
    columns[N_TEXTS + 2].floats.n_data = count * place->dimensions;
    r.db_name = database(place);
    r.collection_name = collection(place);
    r.fields_data = list;
    r.n_fields_data = N_FIELDS;
    r.num_rows = (uint32_t)count;
    return sr_protobuf_pack(&r.base, arena);
}

/* ---- filters ---- */

struct filter {
    char text[1024];
    size_t n;
};

static void filter_and(struct filter *filter, const char *fmt, ...) SR_PRINTF(2, 3);
static void filter_and(struct filter *filter, const char *fmt, ...)
{
    va_list args;
    int n;
    if (filter->n)
        filter->n += (size_t)snprintf(filter->text + filter->n, sizeof filter->text - filter->n, " && ");
    va_start(args, fmt);
    n = vsnprintf(filter->text + filter->n, sizeof filter->text - filter->n, fmt, args);
    va_end(args);
    filter->n += (size_t)n;
}

static void filter_key(struct filter *filter, const char *name, const struct sr_cache_key *key)
{
    char hex[HEX];
    if (!sr_cache_key_is_set(key))
        return;
    hex_write(key->bytes, SR_CACHE_KEY, hex);
    filter_and(filter, "%s == \"%s\"", name, hex);
}

static struct sr_bytes delete_pack(struct sr_arena *arena, const struct sr_milvus_place *place, char *filter)
{
    Milvus__Proto__Milvus__DeleteRequest r = MILVUS__PROTO__MILVUS__DELETE_REQUEST__INIT;
    r.db_name = database(place);
    r.collection_name = collection(place);
    r.expr = filter;
    r.consistency_level = SR_MILVUS_STRONG;
    return sr_protobuf_pack(&r.base, arena);
}

struct sr_bytes sr_milvus_delete(struct sr_arena *arena, const struct sr_milvus_place *place,
                                 const struct sr_cache_selector *which)
{
    struct filter filter = {.n = 0};
    char hex[HEX];
    filter_key(&filter, "id", &which->exact);
    filter_key(&filter, "tenant", &which->tenant);
    filter_key(&filter, "user", &which->user);
    if (sr_cache_key_is_set(&which->partition)) {
        hex_write(which->partition.bytes, SR_CACHE_KEY, hex);
        filter_and(&filter, "part in [\"%s\", \"-%s\"]", hex, hex);
    }
    if (which->model.n) {
        model_write(which->model, hex);
        filter_and(&filter, "model == \"%s\"", hex);
    }
    if (which->created_before_ms)
        filter_and(&filter, "created_at < %lld", (long long)which->created_before_ms);
    if (!filter.n)
        filter_and(&filter, "id != \"\"");
    return delete_pack(arena, place, filter.text);
}

struct sr_bytes sr_milvus_delete_expired(struct sr_arena *arena, const struct sr_milvus_place *place,
                                         int64_t now_ms)
{
    struct filter filter = {.n = 0};
    filter_and(&filter, "expires_at > 0 && expires_at <= %lld", (long long)now_ms);
    return delete_pack(arena, place, filter.text);
}

struct sr_bytes sr_milvus_search(struct sr_arena *arena, const struct sr_milvus_place *place,
                                 const struct sr_cache_key *partition, const float *unit, size_t k,
                                 int64_t now_ms, uint64_t written)
{
    Milvus__Proto__Milvus__SearchRequest r = MILVUS__PROTO__MILVUS__SEARCH_REQUEST__INIT;
    Milvus__Proto__Milvus__PlaceholderValue value = MILVUS__PROTO__MILVUS__PLACEHOLDER_VALUE__INIT;
    Milvus__Proto__Milvus__PlaceholderGroup group = MILVUS__PROTO__MILVUS__PLACEHOLDER_GROUP__INIT;
    Milvus__Proto__Milvus__PlaceholderValue *values[] = {&value};
    ProtobufCBinaryData vector = {place->dimensions * sizeof *unit, (uint8_t *)unit};
    char topk[24], ef[40], *outputs[] = {(char *)BODY_NAME};
    Milvus__Proto__Milvus__KeyValuePair pairs[] = {pair("anns_field", VECTOR_NAME), pair("topk", topk),
                                                   pair("metric_type", metric_name(place)),
                                                   pair("params", ef)};
    Milvus__Proto__Milvus__KeyValuePair *list[] = {&pairs[0], &pairs[1], &pairs[2], &pairs[3]};
    struct filter filter = {.n = 0};
    struct sr_bytes packed;
    value.tag = (char *)"$0";
    value.type = FLOAT_VECTOR;
    value.values = &vector;
    value.n_values = 1;
    group.placeholders = values;
    group.n_placeholders = 1;
    packed = sr_protobuf_pack(&group.base, arena);
    if (!packed.p)
        return packed;
    snprintf(topk, sizeof topk, "%zu", k);
    snprintf(ef, sizeof ef, "{\"ef\":%zu}", place->ef > k ? place->ef : k);
    filter_key(&filter, "part", partition);
    filter_and(&filter, "(expires_at == 0 || expires_at > %lld)", (long long)now_ms);
    r.db_name = database(place);
    r.collection_name = collection(place);
    r.dsl = filter.text;
    r.placeholder_group = (ProtobufCBinaryData){packed.n, (uint8_t *)packed.p};
    r.dsl_type = 1;
    r.output_fields = outputs;
    r.n_output_fields = 1;
    r.search_params = list;
    r.n_search_params = 4;
    r.nq = 1;
    r.consistency_level = (int32_t)place->consistency;
    r.guarantee_timestamp = place->consistency == SR_MILVUS_SESSION ? written : 0;
    return sr_protobuf_pack(&r.base, arena);
}

struct sr_bytes sr_milvus_query(struct sr_arena *arena, const struct sr_milvus_place *place,
                                const struct sr_cache_key *key, int64_t now_ms, uint64_t written)
{
    Milvus__Proto__Milvus__QueryRequest r = MILVUS__PROTO__MILVUS__QUERY_REQUEST__INIT;
    char hex[HEX], *outputs[] = {(char *)BODY_NAME};
    Milvus__Proto__Milvus__KeyValuePair limit = pair("limit", QUERY_LIMIT), *list[] = {&limit};
    struct filter filter = {.n = 0};
    hex_write(key->bytes, SR_CACHE_KEY, hex);
    filter_and(&filter, "(id == \"%s\" || request == \"%s\") && (expires_at == 0 || expires_at > %lld)", hex,
               hex, (long long)now_ms);
    r.db_name = database(place);
    r.collection_name = collection(place);
    r.expr = filter.text;
    r.output_fields = outputs;
    r.n_output_fields = 1;
    r.query_params = list;
    r.n_query_params = 1;
    r.consistency_level = (int32_t)place->consistency;
    r.guarantee_timestamp = place->consistency == SR_MILVUS_SESSION ? written : 0;
    return sr_protobuf_pack(&r.base, arena);
}

/* ---- answers ---- */

static void status_take(struct sr_milvus_status *out, const Milvus__Proto__Milvus__Status *status)
{
    *out = (struct sr_milvus_status){.reason = ""};
    if (!status)
        return;
    out->code = status->code ? status->code : status->error_code;
    out->retriable = status->retriable;
    out->reason = status->reason;
}

/* A message of `name` in `message`, declared here. */
#define UNPACK(Type, name, message)                                                                          \
    ProtobufCMessage *unpacked;                                                                              \
    int rc = sr_protobuf_unpack(&unpacked, &milvus__proto__milvus__##name##__descriptor, arena, bytes);      \
    const Milvus__Proto__Milvus__##Type *message = (const Milvus__Proto__Milvus__##Type *)unpacked;          \
    if (rc != SR_OK)                                                                                         \
    return rc

int sr_milvus_status_read(struct sr_milvus_status *out, struct sr_arena *arena, struct sr_bytes bytes)
{
    UNPACK(Status, status, message);
    status_take(out, message);
    return SR_OK;
}

int sr_milvus_has_read(struct sr_milvus_status *out, bool *has, struct sr_arena *arena, struct sr_bytes bytes)
{
    UNPACK(BoolResponse, bool_response, message);
    status_take(out, message->status);
    *has = message->value;
    return SR_OK;
}

static const char *param_find(Milvus__Proto__Milvus__KeyValuePair *const *pairs, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(pairs[i]->key, key) == 0)
            return pairs[i]->value;
    return "";
}

static const Milvus__Proto__Milvus__FieldSchema *
schema_find(const Milvus__Proto__Milvus__CollectionSchema *schema, const char *name, int32_t type)
{
    for (size_t i = 0; schema && i < schema->n_fields; i++)
        if (strcmp(schema->fields[i]->name, name) == 0 && schema->fields[i]->data_type == type)
            return schema->fields[i];
    return NULL;
}

static int mismatch(struct sr_milvus_status *out, char *text)
{
    out->reason = text ? text : "the collection is not ours";
    return SR_EMISMATCH;
}

int sr_milvus_describe_read(struct sr_milvus_status *out, struct sr_arena *arena,
                            const struct sr_milvus_place *place, struct sr_bytes bytes)
{
    const Milvus__Proto__Milvus__FieldSchema *found;
    unsigned long long dimensions = 0;
    UNPACK(DescribeCollectionResponse, describe_collection_response, message);
    status_take(out, message->status);
    if (out->code)
        return SR_OK;
    for (size_t i = 0; i < N_FIELDS - 1; i++) {
        const char *name = i < N_TEXTS ? TEXTS[i] : i == N_TEXTS ? CREATED : EXPIRES;
        if (!schema_find(message->schema, name, i < N_TEXTS ? VARCHAR : INT64))
            return mismatch(out, sr_arena_printf(arena,
                                                 "collection %s has no field `%s` of ours: name another one",
                                                 place->collection, name));
    }
    found = schema_find(message->schema, VECTOR_NAME, FLOAT_VECTOR);
    if (found)
        (void)sr_bytes_to_u64(sr_bytes_str(param_find(found->type_params, found->n_type_params, "dim")),
                              &dimensions);
    if (dimensions != place->dimensions)
        return mismatch(
            out, sr_arena_printf(arena,
                                 "collection %s has vectors of %llu dimensions, the model of the cache %zu: "
                                 "name another collection",
                                 place->collection, dimensions, place->dimensions));
    return SR_OK;
}

int sr_milvus_describe_index_read(struct sr_milvus_status *out, bool *found, struct sr_arena *arena,
                                  const struct sr_milvus_place *place, struct sr_bytes bytes)
{
    UNPACK(DescribeIndexResponse, describe_index_response, message);
    status_take(out, message->status);
    *found = false;
    for (size_t i = 0; i < message->n_index_descriptions && !out->code; i++) {
        const Milvus__Proto__Milvus__IndexDescription *index = message->index_descriptions[i];
        const char *metric = param_find(index->params, index->n_params, "metric_type");
        if (strcmp(index->field_name, VECTOR_NAME) != 0)
            continue;
        *found = true;
        if (*metric && strcmp(metric, metric_name(place)) != 0)
            return mismatch(out, sr_arena_printf(arena, "collection %s has an index of metric %.20s, not %s",
                                                 place->collection, metric, metric_name(place)));
    }
    return SR_OK;
}

int sr_milvus_load_state_read(struct sr_milvus_status *out, bool *loaded, struct sr_arena *arena,
                              struct sr_bytes bytes)
{
    UNPACK(GetLoadStateResponse, get_load_state_response, message);
    status_take(out, message->status);
    *loaded = message->state == 3;
    return SR_OK;
}

int sr_milvus_mutation_read(struct sr_milvus_status *out, uint64_t *timestamp, struct sr_arena *arena,
                            struct sr_bytes bytes)
{
    UNPACK(MutationResult, mutation_result, message);
    status_take(out, message->status);
    *timestamp = message->timestamp;
    return SR_OK;
}

/* The texts of the field `body`; NULL: it is not there. */
static const Milvus__Proto__Milvus__StringArray *bodies_of(Milvus__Proto__Milvus__FieldData *const *fields,
                                                           size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(fields[i]->field_name, BODY_NAME) == 0 && fields[i]->scalars)
            return fields[i]->scalars->string_data;
    return NULL;
}

static int body_read(struct sr_cache_record **out, const char *text, struct sr_arena *arena)
{
    size_t n = strlen(text);
    uint8_t *bytes = sr_arena_alloc(arena, n / 4 * 3 + 1);
    int rc = bytes ? sr_base64_read(sr_bytes_of(text, n), bytes, &n) : SR_ENOMEM;
    if (rc == SR_OK)
        rc = sr_cache_record_read(out, sr_bytes_of(bytes, n));
    if (rc == SR_OK && !sr_remote_is_live(&(*out)->f)) {
        sr_cache_record_unref(*out);
        rc = SR_ENOENT;
    }
    return rc;
}

/* `scores` NULL: every similarity is 1. */
static void candidates_read(const Milvus__Proto__Milvus__StringArray *bodies, const float *scores,
                            size_t n_scores, struct sr_cache_candidate *found, size_t max, size_t *n,
                            struct sr_arena *arena)
{
    *n = 0;
    for (size_t i = 0; bodies && i < bodies->n_data && *n < max; i++) {
        struct sr_cache_candidate *c = &found[*n];
        c->similarity = 1;
        if (scores && i >= n_scores)
            break;
        if (scores)
            c->similarity = fminf(fmaxf(scores[i], -1), 1);
        if (isnan(c->similarity) || (scores && isnan(scores[i])))
            continue;
        if (body_read(&c->record, bodies->data[i], arena) == SR_OK)
            ++*n;
    }
}

int sr_milvus_search_read(struct sr_milvus_status *out, struct sr_cache_candidate *found, size_t max,
                          size_t *n, struct sr_arena *arena, struct sr_bytes bytes)
{
    static const float none;
    const Milvus__Proto__Milvus__SearchResultData *r;
    *n = 0;
    UNPACK(SearchResults, search_results, message);
    status_take(out, message->status);
    r = message->results;
    if (!out->code && r)
        candidates_read(bodies_of(r->fields_data, r->n_fields_data), r->n_scores ? r->scores : &none,
                        r->n_scores, found, max, n, arena);
    return SR_OK;
}

int sr_milvus_query_read(struct sr_milvus_status *out, struct sr_cache_candidate *found, size_t max,
                         size_t *n, struct sr_arena *arena, struct sr_bytes bytes)
{
    *n = 0;
    UNPACK(QueryResults, query_results, message);
    status_take(out, message->status);
    if (!out->code)
        candidates_read(bodies_of(message->fields_data, message->n_fields_data), NULL, 0, found, max, n,
                        arena);
    return SR_OK;
}
