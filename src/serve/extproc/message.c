/* Converts Envoy's messages to and from plain structs; the only file with the generated ext_proc types. */
#include "serve/extproc/message.h"

#include "net/grpc/protobuf_arena.h"

#include <ext_proc.pb-c.h>

/* The generated names are long; these are all that this file uses. */
#define PB(name)     Envoy__Service__ExtProc__V3__##name
#define ASKED(NAME)  ENVOY__SERVICE__EXT_PROC__V3__PROCESSING_REQUEST__REQUEST_##NAME
#define TOLD(NAME)   ENVOY__SERVICE__EXT_PROC__V3__PROCESSING_RESPONSE__RESPONSE_##NAME
#define ANSWER(NAME) ENVOY__SERVICE__EXT_PROC__V3__STREAMED_IMMEDIATE_RESPONSE__RESPONSE_##NAME
#define BODY(NAME)   ENVOY__SERVICE__EXT_PROC__V3__BODY_MUTATION__MUTATION_##NAME
#define VALUE(NAME)  ENVOY__SERVICE__EXT_PROC__V3__VALUE__KIND_##NAME

#define SUBSET_NAMESPACE   "envoy.lb.subset_hint"
#define SUBSET_KEY         SR_EXTPROC_ENDPOINT_HEADER "-subset"
#define ENDPOINT_NAMESPACE "envoy.lb"
#define SERVED_KEY         SR_EXTPROC_ENDPOINT_HEADER "-served"
#define SUBSET_MAX         65536 /* addresses of one request */

/* ---- decoding ---- */

static struct sr_bytes bytes_of(const ProtobufCBinaryData *data)
{
    return sr_bytes_of(data->data ? (const char *)data->data : "", data->len);
}

static struct sr_bytes value_of(const PB(HeaderValue) * header)
{
    return header->raw_value.len > 0 ? bytes_of(&header->raw_value) : sr_bytes_str(header->value);
}

static int read_headers(struct sr_extproc_message *out, const PB(HeaderMap) * map, struct sr_arena *arena)
{
    size_t count = map ? map->n_headers : 0;
    struct sr_header *headers = sr_arena_calloc(arena, count + 1, sizeof *headers);
    if (!headers)
        return SR_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        struct sr_bytes name = sr_bytes_str(map->headers[i]->key), value = value_of(map->headers[i]);
        if (name.n == 0 || name.p[0] != ':')
            headers[out->n_headers++] = (struct sr_header){name, value};
        else if (sr_bytes_eq(name, SR_LIT(":method")))
            out->method = value;
        else if (sr_bytes_eq(name, SR_LIT(":path")))
            out->path = value;
        else if (sr_bytes_eq(name, SR_LIT(":status")))
            out->status = value;
    }
    out->headers = headers;
    return SR_OK;
}

static int read_head(struct sr_extproc_message *out, const PB(HttpHeaders) * head, struct sr_arena *arena)
{
    out->end_of_stream = head->end_of_stream;
    return read_headers(out, head->headers, arena);
}

static void read_body(struct sr_extproc_message *out, const PB(HttpBody) * body)
{
    out->body = bytes_of(&body->body);
    out->end_of_stream = body->end_of_stream || body->end_of_stream_without_message;
}

static const PB(Value) * find_value(const PB(Struct) * fields, const char *key)
{
    for (size_t i = 0; fields && i < fields->n_fields; i++)
        if (strcmp(fields->fields[i]->key, key) == 0)
            return fields->fields[i]->value;
    return NULL;
}

static int read_subset_list(struct sr_extproc_message *out, const PB(ListValue) * list,
                            struct sr_arena *arena)
{
    size_t count = list->n_values < SUBSET_MAX ? list->n_values : SUBSET_MAX;
    struct sr_bytes *subset = sr_arena_calloc(arena, count + 1, sizeof *subset);
    if (!subset)
        return SR_ENOMEM;
    for (size_t i = 0; i < count; i++)
        if (list->values[i]->kind_case == VALUE(STRING_VALUE))
            subset[out->n_subset++] = sr_bytes_str(list->values[i]->string_value);
    out->subset = subset;
    return SR_OK;
}

/* The addresses come as a list of strings, or as one string with commas. */
static int read_subset_text(struct sr_extproc_message *out, struct sr_bytes text, struct sr_arena *arena)
{
    size_t count = 1;
    for (size_t i = 0; i < text.n; i++)
        count += text.p[i] == ',';
    struct sr_bytes *subset = sr_arena_calloc(arena, count, sizeof *subset);
    if (!subset)
        return SR_ENOMEM;
    for (size_t at = 0; at <= text.n && out->n_subset < SUBSET_MAX;) {
        const char *comma = at < text.n ? memchr(text.p + at, ',', text.n - at) : NULL;
        size_t end = comma ? (size_t)(comma - text.p) : text.n;
        struct sr_bytes one = sr_bytes_trim(sr_bytes_of(text.p + at, end - at));
        if (one.n > 0)
            subset[out->n_subset++] = one;
        at = end + 1;
    }
    out->subset = subset;
    return SR_OK;
}

static const PB(Value) * find_metadata(const PB(Metadata) * metadata, const char *name, const char *key)
{
    for (size_t i = 0; i < metadata->n_filter_metadata; i++)
        if (strcmp(metadata->filter_metadata[i]->key, name) == 0)
            return find_value(metadata->filter_metadata[i]->value, key);
    return NULL;
}

static int read_metadata(struct sr_extproc_message *out, const PB(Metadata) * metadata,
                         struct sr_arena *arena)
{
    const PB(Value) *value = find_metadata(metadata, ENDPOINT_NAMESPACE, SERVED_KEY);
    if (value && value->kind_case == VALUE(STRING_VALUE))
        out->served = sr_bytes_str(value->string_value);
    value = find_metadata(metadata, SUBSET_NAMESPACE, SUBSET_KEY);
    if (!value)
        return SR_OK;
    if (value->kind_case == VALUE(LIST_VALUE)) {
        out->has_subset = true;
        return read_subset_list(out, value->list_value, arena);
    }
    if (value->kind_case == VALUE(STRING_VALUE)) {
        out->has_subset = true;
        return read_subset_text(out, sr_bytes_str(value->string_value), arena);
    }
    return SR_OK;
}

static int read_phase(struct sr_extproc_message *out, const PB(ProcessingRequest) * in,
                      struct sr_arena *arena)
{
    switch (in->request_case) {
    case ASKED(REQUEST_HEADERS):
        out->phase = SR_EXTPROC_REQUEST_HEADERS;
        return read_head(out, in->request_headers, arena);
    case ASKED(RESPONSE_HEADERS):
        out->phase = SR_EXTPROC_RESPONSE_HEADERS;
        return read_head(out, in->response_headers, arena);
    case ASKED(REQUEST_BODY):
        out->phase = SR_EXTPROC_REQUEST_BODY;
        read_body(out, in->request_body);
        return SR_OK;
    case ASKED(RESPONSE_BODY):
        out->phase = SR_EXTPROC_RESPONSE_BODY;
        read_body(out, in->response_body);
        return SR_OK;
    case ASKED(REQUEST_TRAILERS):
        out->phase = SR_EXTPROC_REQUEST_TRAILERS;
        return SR_OK;
    case ASKED(RESPONSE_TRAILERS):
        out->phase = SR_EXTPROC_RESPONSE_TRAILERS;
        return SR_OK;
    default:
        return SR_OK;
    }
}

int sr_extproc_decode(struct sr_extproc_message *out, struct sr_bytes bytes, struct sr_arena *arena)
{
    ProtobufCMessage *message;
    *out =
        (struct sr_extproc_message){.method = {"", 0}, .path = {"", 0}, .status = {"", 0}, .served = {"", 0}};
    int rc = sr_protobuf_unpack(&message, &envoy__service__ext_proc__v3__processing_request__descriptor,
                                arena, bytes);
    if (rc != SR_OK)
        return rc;
    const PB(ProcessingRequest) *in = (const PB(ProcessingRequest) *)(const void *)message;
    out->observability = in->observability_mode;
    if (in->protocol_config) {
        out->has_config = true;
        out->request_mode = (enum sr_extproc_mode)in->protocol_config->request_body_mode;
        out->response_mode = (enum sr_extproc_mode)in->protocol_config->response_body_mode;
        out->no_wait = in->protocol_config->send_body_without_waiting_for_header_response;
    }
    if (in->metadata_context)
        rc = read_metadata(out, in->metadata_context, arena);
    return rc == SR_OK ? read_phase(out, in, arena) : rc;
}

/* ---- encoding ---- */

/* Storage for the parts of one reply, to which the generated structs point. */
struct parts {
    PB(ProcessingResponse) response;
    PB(HeadersResponse) headers;
    PB(BodyResponse) body;
    PB(TrailersResponse) trailers;
    PB(ImmediateResponse) immediate;
    PB(StreamedImmediateResponse) streamed;
    PB(HttpHeaders) head;
    PB(HeaderMap) map;
    PB(HttpStatus) status;
    PB(CommonResponse) common;
    PB(HeaderMutation) mutation;
    PB(BodyMutation) body_mutation;
    PB(StreamedBodyResponse) piece;
    PB(ProcessingMode) mode;
    PB(Duration) duration;
    PB(Struct) metadata, endpoint;
    PB(ValueEntry) metadata_entry, endpoint_entry;
    PB(Value) metadata_value, endpoint_value;
    PB(ValueEntry) * metadata_entries[1], *endpoint_entries[1];
};

static bool put_mutation(struct parts *parts, const struct sr_extproc_reply *reply, struct sr_arena *arena)
{
    PB(HeaderMutation) *m = &parts->mutation;
    envoy__service__ext_proc__v3__header_mutation__init(m);
    PB(HeaderValueOption) *options = sr_arena_calloc(arena, reply->n_set, sizeof *options);
    PB(HeaderValue) *values = sr_arena_calloc(arena, reply->n_set, sizeof *values);
    m->set_headers = sr_arena_calloc(arena, reply->n_set, sizeof(void *));
    m->remove_headers = sr_arena_calloc(arena, reply->n_remove, sizeof(char *));
    if ((reply->n_set > 0 && (!options || !values || !m->set_headers)) ||
        (reply->n_remove > 0 && !m->remove_headers))
        return false;
    for (size_t i = 0; i < reply->n_set; i++) {
        envoy__service__ext_proc__v3__header_value__init(&values[i]);
        envoy__service__ext_proc__v3__header_value_option__init(&options[i]);
        values[i].key = (char *)sr_arena_dup(arena, reply->set[i].name).p;
        values[i].raw_value.data = (uint8_t *)reply->set[i].value.p;
        values[i].raw_value.len = reply->set[i].value.n;
        options[i].header = &values[i];
        options[i].append_action =
            ENVOY__SERVICE__EXT_PROC__V3__HEADER_VALUE_OPTION__HEADER_APPEND_ACTION__OVERWRITE_IF_EXISTS_OR_ADD;
        m->set_headers[i] = &options[i];
        if (!values[i].key)
            return false;
    }
    for (size_t i = 0; i < reply->n_remove; i++) {
        m->remove_headers[i] = (char *)sr_arena_dup(arena, reply->remove[i]).p;
        if (!m->remove_headers[i])
            return false;
    }
    m->n_set_headers = reply->n_set;
    m->n_remove_headers = reply->n_remove;
    return true;
}

/* Joins the slices; a single one is borrowed. */
static bool put_bytes(ProtobufCBinaryData *out, const struct sr_extproc_reply *reply, struct sr_arena *arena)
{
    size_t n = 0, at = 0;
    for (size_t i = 0; i < reply->n_body; i++)
        n += reply->body[i].n;
    if (reply->n_body <= 1) {
        *out = (ProtobufCBinaryData){n, n ? (uint8_t *)reply->body[0].p : NULL};
        return true;
    }
    char *joined = sr_arena_alloc(arena, n + 1);
    if (!joined)
        return false;
    for (size_t i = 0; i < reply->n_body; i++) {
        if (reply->body[i].n > 0) {
            memcpy(joined + at, reply->body[i].p, reply->body[i].n);
            at += reply->body[i].n;
        }
    }
    *out = (ProtobufCBinaryData){n, (uint8_t *)joined};
    return true;
}

static bool put_body(struct parts *parts, const struct sr_extproc_reply *reply, struct sr_arena *arena)
{
    PB(BodyMutation) *m = &parts->body_mutation;
    envoy__service__ext_proc__v3__body_mutation__init(m);
    parts->common.body_mutation = m;
    if (reply->change == SR_EXTPROC_REPLACE) {
        m->mutation_case = BODY(BODY);
        return put_bytes(&m->body, reply, arena);
    }
    envoy__service__ext_proc__v3__streamed_body_response__init(&parts->piece);
    m->mutation_case = BODY(STREAMED_RESPONSE);
    m->streamed_response = &parts->piece;
    parts->piece.end_of_stream = reply->end_of_stream;
    return put_bytes(&parts->piece.body, reply, arena);
}

static bool put_common(struct parts *parts, const struct sr_extproc_reply *reply, struct sr_arena *arena)
{
    envoy__service__ext_proc__v3__common_response__init(&parts->common);
    parts->common.clear_route_cache = reply->clear_route_cache;
    if (reply->n_set + reply->n_remove > 0) {
        parts->common.header_mutation = &parts->mutation;
        if (!put_mutation(parts, reply, arena))
            return false;
    }
    return reply->change == SR_EXTPROC_KEEP || put_body(parts, reply, arena);
}

static bool put_phase(struct parts *parts, const struct sr_extproc_reply *reply, struct sr_arena *arena)
{
    PB(ProcessingResponse) *out = &parts->response;
    envoy__service__ext_proc__v3__headers_response__init(&parts->headers);
    envoy__service__ext_proc__v3__body_response__init(&parts->body);
    envoy__service__ext_proc__v3__trailers_response__init(&parts->trailers);
    parts->headers.response = parts->body.response = &parts->common;
    switch (reply->phase) {
    case SR_EXTPROC_REQUEST_HEADERS:
        out->response_case = TOLD(REQUEST_HEADERS);
        out->request_headers = &parts->headers;
        break;
    case SR_EXTPROC_RESPONSE_HEADERS:
        out->response_case = TOLD(RESPONSE_HEADERS);
        out->response_headers = &parts->headers;
        break;
    case SR_EXTPROC_REQUEST_BODY:
        out->response_case = TOLD(REQUEST_BODY);
        out->request_body = &parts->body;
        break;
    case SR_EXTPROC_RESPONSE_BODY:
        out->response_case = TOLD(RESPONSE_BODY);
        out->response_body = &parts->body;
        break;
    case SR_EXTPROC_REQUEST_TRAILERS:
        out->response_case = TOLD(REQUEST_TRAILERS);
        out->request_trailers = &parts->trailers;
        return true;
    case SR_EXTPROC_RESPONSE_TRAILERS:
        out->response_case = TOLD(RESPONSE_TRAILERS);
        out->response_trailers = &parts->trailers;
        return true;
    case SR_EXTPROC_NONE:
        return false;
    }
    return put_common(parts, reply, arena);
}

/* Envoy refuses a status that is not in its enumeration. */
static int known_status(int status)
{
    static const short known[] = {200, 201, 202, 203, 204, 205, 206, 207, 208, 226, 300, 301, 302,
                                  303, 304, 305, 307, 308, 421, 422, 423, 424, 426, 428, 429, 431};
    if ((status >= 400 && status <= 417) || (status >= 500 && status <= 508) || status == 510 ||
        status == 511)
        return status;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (status == known[i])
            return status;
    return status >= 400 && status < 500 ? 400 : status >= 200 && status < 300 ? 200 : 500;
}

static bool put_immediate(struct parts *parts, const struct sr_extproc_reply *reply, struct sr_arena *arena)
{
    PB(ImmediateResponse) *out = &parts->immediate;
    envoy__service__ext_proc__v3__immediate_response__init(out);
    envoy__service__ext_proc__v3__http_status__init(&parts->status);
    parts->status.code = known_status(reply->status);
    out->status = &parts->status;
    out->headers = &parts->mutation;
    parts->response.response_case = TOLD(IMMEDIATE_RESPONSE);
    parts->response.immediate_response = out;
    return put_mutation(parts, reply, arena) && put_bytes(&out->body, reply, arena);
}

/* The status as a pseudo header, then the rest. */
static bool put_answer(struct parts *parts, const struct sr_extproc_reply *reply, struct sr_arena *arena)
{
    size_t count = reply->n_set + 1;
    PB(HeaderValue) *values = sr_arena_calloc(arena, count, sizeof *values);
    PB(HeaderValue) **list = sr_arena_calloc(arena, count, sizeof(void *));
    const char *status = sr_arena_printf(arena, "%d", known_status(reply->status));
    if (!values || !list || !status)
        return false;
    for (size_t i = 0; i < count; i++) {
        struct sr_bytes value = i == 0 ? sr_bytes_str(status) : reply->set[i - 1].value;
        envoy__service__ext_proc__v3__header_value__init(&values[i]);
        values[i].key = i == 0 ? (char *)":status" : (char *)sr_arena_dup(arena, reply->set[i - 1].name).p;
        values[i].raw_value = (ProtobufCBinaryData){value.n, (uint8_t *)value.p};
        list[i] = &values[i];
        if (!values[i].key)
            return false;
    }
    envoy__service__ext_proc__v3__http_headers__init(&parts->head);
    envoy__service__ext_proc__v3__header_map__init(&parts->map);
    parts->map.n_headers = count;
    parts->map.headers = list;
    parts->head.headers = &parts->map;
    parts->streamed.response_case = ANSWER(HEADERS_RESPONSE);
    parts->streamed.headers_response = &parts->head;
    return true;
}

/* Writes the head or one piece of an answer in pieces. */
static bool put_streamed(struct parts *parts, const struct sr_extproc_reply *reply, struct sr_arena *arena)
{
    envoy__service__ext_proc__v3__streamed_immediate_response__init(&parts->streamed);
    parts->response.response_case = TOLD(STREAMED_IMMEDIATE_RESPONSE);
    parts->response.streamed_immediate_response = &parts->streamed;
    if (reply->action == SR_EXTPROC_ANSWER)
        return put_answer(parts, reply, arena);
    envoy__service__ext_proc__v3__streamed_body_response__init(&parts->piece);
    parts->piece.end_of_stream = reply->end_of_stream;
    parts->streamed.response_case = ANSWER(BODY_RESPONSE);
    parts->streamed.body_response = &parts->piece;
    return put_bytes(&parts->piece.body, reply, arena);
}

static void put_extension(struct parts *parts, const struct sr_extproc_reply *reply)
{
    envoy__service__ext_proc__v3__duration__init(&parts->duration);
    parts->duration.seconds = (int64_t)(reply->extend_ms / 1000);
    parts->duration.nanos = (int32_t)(reply->extend_ms % 1000) * 1000000;
    parts->response.override_message_timeout = &parts->duration;
}

static bool put_endpoint(struct parts *parts, struct sr_bytes address, struct sr_arena *arena)
{
    envoy__service__ext_proc__v3__struct__init(&parts->metadata);
    envoy__service__ext_proc__v3__struct__init(&parts->endpoint);
    envoy__service__ext_proc__v3__value_entry__init(&parts->metadata_entry);
    envoy__service__ext_proc__v3__value_entry__init(&parts->endpoint_entry);
    envoy__service__ext_proc__v3__value__init(&parts->metadata_value);
    envoy__service__ext_proc__v3__value__init(&parts->endpoint_value);
    parts->endpoint_value.kind_case = VALUE(STRING_VALUE);
    parts->endpoint_value.string_value = (char *)sr_arena_dup(arena, address).p;
    parts->endpoint_entry.key = (char *)SR_EXTPROC_ENDPOINT_HEADER;
    parts->endpoint_entry.value = &parts->endpoint_value;
    parts->endpoint_entries[0] = &parts->endpoint_entry;
    parts->endpoint.n_fields = 1;
    parts->endpoint.fields = parts->endpoint_entries;
    parts->metadata_value.kind_case = VALUE(STRUCT_VALUE);
    parts->metadata_value.struct_value = &parts->endpoint;
    parts->metadata_entry.key = (char *)ENDPOINT_NAMESPACE;
    parts->metadata_entry.value = &parts->metadata_value;
    parts->metadata_entries[0] = &parts->metadata_entry;
    parts->metadata.n_fields = 1;
    parts->metadata.fields = parts->metadata_entries;
    parts->response.dynamic_metadata = &parts->metadata;
    return parts->endpoint_value.string_value != NULL;
}

static void put_modes(struct parts *parts, const struct sr_extproc_reply *reply)
{
    envoy__service__ext_proc__v3__processing_mode__init(&parts->mode);
    parts->mode.request_body_mode = (PB(BodySendMode))reply->request_mode;
    parts->mode.response_body_mode = (PB(BodySendMode))reply->response_mode;
    parts->response.mode_override = &parts->mode;
}

struct sr_bytes sr_extproc_encode(const struct sr_extproc_reply *reply, struct sr_arena *arena)
{
    struct parts parts;
    bool done = true;
    envoy__service__ext_proc__v3__processing_response__init(&parts.response);
    if (reply->action == SR_EXTPROC_EXTEND)
        put_extension(&parts, reply);
    else if (reply->action == SR_EXTPROC_IMMEDIATE)
        done = put_immediate(&parts, reply, arena);
    else if (reply->action != SR_EXTPROC_CONTINUE)
        done = put_streamed(&parts, reply, arena);
    else
        done = put_phase(&parts, reply, arena);
    if (done && reply->endpoint.n > 0)
        done = put_endpoint(&parts, reply->endpoint, arena);
    if (reply->override_modes)
        put_modes(&parts, reply);
    return done ? sr_protobuf_pack(&parts.response.base, arena) : (struct sr_bytes){NULL, 0};
}
