/*
 * Requests and answers of Milvus in protobuf.
 */
#include "store/milvus/message.h"

#include "net/grpc/protobuf_arena.h"

#include <math.h>
#include <milvus.pb-c.h>
#include <stdio.h>

#define INT64        5 /* types of fields, as Milvus numbers them */
#define VARCHAR      21
#define FLOAT_VECTOR 101
#define NAME_SIZE    "80"
#define BODY_SIZE    "65535"
#define VECTOR_NAME  "embedding"
#define BODY_NAME    "body"
#define N_TEXTS      SR_MILVUS_TEXTS
#define N_FIELDS     (N_TEXTS + 3)

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

static bool columns_fill(struct column columns[N_FIELDS], const struct sr_milvus_row *rows, size_t count,
                         size_t dimensions, struct sr_arena *arena)
{
    int64_t *times = sr_arena_calloc(arena, 2 * count, sizeof *times);
    char **texts = sr_arena_calloc(arena, N_TEXTS * count, sizeof *texts);
    float *units = sr_arena_calloc(arena, count * dimensions, sizeof *units);
    if (!times || !texts || !units)
        return false;
    for (size_t i = 0; i < count; i++) {
        float *unit = units + i * dimensions;
        *unit = 1;
        if (rows[i].unit)
            memcpy(unit, rows[i].unit, dimensions * sizeof *unit);
        for (size_t t = 0; t < N_TEXTS; t++)
            texts[t * count + i] = rows[i].texts[t];
        times[i] = rows[i].created_ms;
        times[count + i] = rows[i].expires_ms;
    }
    for (size_t t = 0; t < N_TEXTS; t++) {
        column_init(&columns[t], TEXTS[t], VARCHAR);
        columns[t].strings.data = texts + t * count;
        columns[t].strings.n_data = count;
    }
    column_init(&columns[N_TEXTS], CREATED, INT64);
    column_init(&columns[N_TEXTS + 1], EXPIRES, INT64);
    column_init(&columns[N_TEXTS + 2], VECTOR_NAME, FLOAT_VECTOR);
    columns[N_TEXTS].longs.data = times;
    columns[N_TEXTS + 1].longs.data = times + count;
    columns[N_TEXTS].longs.n_data = columns[N_TEXTS + 1].longs.n_data = count;
    columns[N_TEXTS + 2].vectors.dim = (int64_t)dimensions;
    columns[N_TEXTS + 2].floats.data = units;
    columns[N_TEXTS + 2].floats.n_data = count * dimensions;
    return true;
}

struct sr_bytes sr_milvus_upsert(struct sr_arena *arena, const struct sr_milvus_place *place,
                                 const struct sr_milvus_row *rows, size_t count)
{
    Milvus__Proto__Milvus__UpsertRequest r = MILVUS__PROTO__MILVUS__UPSERT_REQUEST__INIT;
    struct column *columns = sr_arena_calloc(arena, N_FIELDS, sizeof *columns);
    Milvus__Proto__Milvus__FieldData *list[N_FIELDS];
    if (!columns || !columns_fill(columns, rows, count, place->dimensions, arena))
        return (struct sr_bytes){NULL, 0};
    for (size_t i = 0; i < N_FIELDS; i++)
        list[i] = &columns[i].field;
    r.db_name = database(place);
    r.collection_name = collection(place);
    r.fields_data = list;
    r.n_fields_data = N_FIELDS;
    r.num_rows = (uint32_t)count;
    return sr_protobuf_pack(&r.base, arena);
}

struct sr_bytes sr_milvus_delete(struct sr_arena *arena, const struct sr_milvus_place *place, char *filter)
{
    Milvus__Proto__Milvus__DeleteRequest r = MILVUS__PROTO__MILVUS__DELETE_REQUEST__INIT;
    if (!filter)
        return (struct sr_bytes){NULL, 0};
    r.db_name = database(place);
    r.collection_name = collection(place);
    r.expr = filter;
    r.consistency_level = SR_MILVUS_STRONG;
    return sr_protobuf_pack(&r.base, arena);
}

/* ---- questions ---- */

/* A timestamp counts at the level of a session only; there it is the least that an answer must know. */
static int32_t level_of(const struct sr_milvus_place *place, uint64_t as_of)
{
    return place->consistency == SR_MILVUS_STRONG || !as_of ? (int32_t)place->consistency : SR_MILVUS_SESSION;
}

struct sr_bytes sr_milvus_search(struct sr_arena *arena, const struct sr_milvus_place *place, char *filter,
                                 const float *unit, size_t k, uint64_t as_of)
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
    struct sr_bytes packed = {NULL, 0};
    value.tag = (char *)"$0";
    value.type = FLOAT_VECTOR;
    value.values = &vector;
    value.n_values = 1;
    group.placeholders = values;
    group.n_placeholders = 1;
    if (filter)
        packed = sr_protobuf_pack(&group.base, arena);
    if (!packed.p)
        return packed;
    snprintf(topk, sizeof topk, "%zu", k);
    snprintf(ef, sizeof ef, "{\"ef\":%zu}", place->ef > k ? place->ef : k);
    r.db_name = database(place);
    r.collection_name = collection(place);
    r.dsl = filter;
    r.placeholder_group = (ProtobufCBinaryData){packed.n, (uint8_t *)packed.p};
    r.dsl_type = 1;
    r.output_fields = outputs;
    r.n_output_fields = 1;
    r.search_params = list;
    r.n_search_params = 4;
    r.nq = 1;
    r.consistency_level = level_of(place, as_of);
    r.guarantee_timestamp = as_of;
    return sr_protobuf_pack(&r.base, arena);
}

struct sr_bytes sr_milvus_query(struct sr_arena *arena, const struct sr_milvus_place *place, char *filter,
                                size_t limit, uint64_t as_of)
{
    Milvus__Proto__Milvus__QueryRequest r = MILVUS__PROTO__MILVUS__QUERY_REQUEST__INIT;
    char number[24] = "", *outputs[] = {(char *)BODY_NAME};
    Milvus__Proto__Milvus__KeyValuePair most = pair("limit", number), *list[] = {&most};
    if (!filter)
        return (struct sr_bytes){NULL, 0};
    snprintf(number, sizeof number, "%zu", limit);
    r.db_name = database(place);
    r.collection_name = collection(place);
    r.expr = filter;
    r.output_fields = outputs;
    r.n_output_fields = 1;
    r.query_params = list;
    r.n_query_params = 1;
    r.consistency_level = level_of(place, as_of);
    r.guarantee_timestamp = as_of;
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

/* `scores` NULL: every similarity is 1. */
static int hits_read(const Milvus__Proto__Milvus__StringArray *bodies, const float *scores, size_t n_scores,
                     struct sr_milvus_hit *hits, size_t max, size_t *n, struct sr_arena *arena)
{
    *n = 0;
    for (size_t i = 0; bodies && i < bodies->n_data && *n < max; i++) {
        struct sr_milvus_hit *hit = &hits[*n];
        int rc;
        if (scores && (i >= n_scores || isnan(scores[i])))
            continue;
        hit->similarity = scores ? fminf(fmaxf(scores[i], -1), 1) : 1;
        rc = sr_milvus_body_read(&hit->body, bodies->data[i], arena);
        if (rc == SR_ENOMEM)
            return rc;
        *n += rc == SR_OK;
    }
    return SR_OK;
}

int sr_milvus_search_read(struct sr_milvus_status *out, struct sr_milvus_hit *hits, size_t max, size_t *n,
                          struct sr_arena *arena, struct sr_bytes bytes)
{
    static const float none;
    const Milvus__Proto__Milvus__SearchResultData *r;
    *n = 0;
    UNPACK(SearchResults, search_results, message);
    status_take(out, message->status);
    r = message->results;
    if (out->code || !r)
        return SR_OK;
    return hits_read(bodies_of(r->fields_data, r->n_fields_data), r->n_scores ? r->scores : &none,
                     r->n_scores, hits, max, n, arena);
}

int sr_milvus_query_read(struct sr_milvus_status *out, struct sr_milvus_hit *hits, size_t max, size_t *n,
                         struct sr_arena *arena, struct sr_bytes bytes)
{
    *n = 0;
    UNPACK(QueryResults, query_results, message);
    status_take(out, message->status);
    if (out->code)
        return SR_OK;
    return hits_read(bodies_of(message->fields_data, message->n_fields_data), NULL, 0, hits, max, n, arena);
}
