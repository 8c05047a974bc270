/* Envoy's messages on the wire: what is read of them and what is written, against protobuf-c itself. */
#include "serve/extproc/message.h"

#include "net/grpc/protobuf_arena.h"
#include "tests/unit/cmocka_all.h"

#include <ext_proc.pb-c.h>

#define PB(name)       Envoy__Service__ExtProc__V3__##name
#define REQUEST(name)  ENVOY__SERVICE__EXT_PROC__V3__PROCESSING_REQUEST__REQUEST_##name
#define RESPONSE(name) ENVOY__SERVICE__EXT_PROC__V3__PROCESSING_RESPONSE__RESPONSE_##name
#define MUTATION(name) ENVOY__SERVICE__EXT_PROC__V3__BODY_MUTATION__MUTATION_##name
#define KIND(name)     ENVOY__SERVICE__EXT_PROC__V3__VALUE__KIND_##name

static struct sr_arena arena;

static int setup(void **state)
{
    (void)state;
    sr_arena_init(&arena, (size_t)16 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sr_arena_dispose(&arena);
    return 0;
}

static void is(struct sr_bytes got, const char *want)
{
    if (!sr_bytes_eq(got, sr_bytes_str(want)))
        fail_msg("got `%.*s`, want `%s`", (int)got.n, got.p, want);
}

static void header(PB(HeaderValue) * h, const char *key, const char *value, const char *raw)
{
    envoy__service__ext_proc__v3__header_value__init(h);
    h->key = (char *)key;
    h->value = (char *)value;
    h->raw_value = (ProtobufCBinaryData){strlen(raw), (uint8_t *)raw};
}

static void decode(struct sr_extproc_message *out, const PB(ProcessingRequest) * in)
{
    struct sr_bytes bytes = sr_protobuf_pack(&in->base, &arena);
    assert_non_null(bytes.p);
    assert_int_equal(sr_extproc_decode(out, bytes, &arena), SR_OK);
}

static void test_decode_headers(void **state)
{
    (void)state;
    PB(ProcessingRequest) in = ENVOY__SERVICE__EXT_PROC__V3__PROCESSING_REQUEST__INIT;
    PB(ProtocolConfiguration) config = ENVOY__SERVICE__EXT_PROC__V3__PROTOCOL_CONFIGURATION__INIT;
    PB(HttpHeaders) head = ENVOY__SERVICE__EXT_PROC__V3__HTTP_HEADERS__INIT;
    PB(HeaderMap) map = ENVOY__SERVICE__EXT_PROC__V3__HEADER_MAP__INIT;
    PB(HeaderValue) values[4], *headers[4];
    header(&values[0], ":method", "", "POST");
    header(&values[1], ":path", "/v1/x", "");
    header(&values[2], "accept", "", "*/*");
    header(&values[3], ":authority", "", "host");
    for (int i = 0; i < 4; i++)
        headers[i] = &values[i];
    map.n_headers = 4;
    map.headers = headers;
    head.headers = &map;
    head.end_of_stream = true;
    config.request_body_mode = ENVOY__SERVICE__EXT_PROC__V3__BODY_SEND_MODE__FULL_DUPLEX_STREAMED;
    config.response_body_mode = ENVOY__SERVICE__EXT_PROC__V3__BODY_SEND_MODE__STREAMED;
    config.send_body_without_waiting_for_header_response = true;
    in.request_case = REQUEST(REQUEST_HEADERS);
    in.request_headers = &head;
    in.protocol_config = &config;
    struct sr_extproc_message out;
    decode(&out, &in);
    assert_int_equal(out.phase, SR_EXTPROC_REQUEST_HEADERS);
    is(out.method, "POST");
    is(out.path, "/v1/x");
    assert_int_equal(out.n_headers, 1);
    is(out.headers[0].name, "accept");
    is(out.headers[0].value, "*/*");
    assert_true(out.end_of_stream && out.has_config && out.no_wait && !out.has_subset && !out.observability);
    assert_int_equal(out.request_mode, SR_EXTPROC_MODE_FULL_DUPLEX);
    assert_int_equal(out.response_mode, SR_EXTPROC_MODE_STREAMED);
}

static void check_subset(PB(Value) * value, size_t count)
{
    PB(ProcessingRequest) in = ENVOY__SERVICE__EXT_PROC__V3__PROCESSING_REQUEST__INIT;
    PB(Metadata) metadata = ENVOY__SERVICE__EXT_PROC__V3__METADATA__INIT;
    PB(StructEntry) entry = ENVOY__SERVICE__EXT_PROC__V3__STRUCT_ENTRY__INIT, *entries[] = {&entry};
    PB(Struct) fields = ENVOY__SERVICE__EXT_PROC__V3__STRUCT__INIT;
    PB(ValueEntry) field = ENVOY__SERVICE__EXT_PROC__V3__VALUE_ENTRY__INIT, *list[] = {&field};
    PB(HttpTrailers) trailers = ENVOY__SERVICE__EXT_PROC__V3__HTTP_TRAILERS__INIT;
    field.key = (char *)"x-gateway-destination-endpoint-subset";
    field.value = value;
    fields.n_fields = 1;
    fields.fields = list;
    entry.key = (char *)"envoy.lb.subset_hint";
    entry.value = &fields;
    metadata.n_filter_metadata = 1;
    metadata.filter_metadata = entries;
    in.metadata_context = &metadata;
    in.request_case = REQUEST(REQUEST_TRAILERS);
    in.request_trailers = &trailers;
    struct sr_extproc_message out;
    decode(&out, &in);
    assert_int_equal(out.phase, SR_EXTPROC_REQUEST_TRAILERS);
    assert_true(out.has_subset);
    assert_int_equal(out.n_subset, count);
    if (count == 2) {
        is(out.subset[0], "10.0.0.1:80");
        is(out.subset[1], "10.0.0.2:80");
    }
}

static void test_decode_subset(void **state)
{
    (void)state;
    PB(Value) text = ENVOY__SERVICE__EXT_PROC__V3__VALUE__INIT;
    text.kind_case = KIND(STRING_VALUE);
    text.string_value = (char *)"10.0.0.1:80, 10.0.0.2:80,";
    check_subset(&text, 2);
    text.string_value = (char *)"";
    check_subset(&text, 0);
    PB(Value)
    items[3] = {ENVOY__SERVICE__EXT_PROC__V3__VALUE__INIT, ENVOY__SERVICE__EXT_PROC__V3__VALUE__INIT,
                ENVOY__SERVICE__EXT_PROC__V3__VALUE__INIT};
    PB(Value) * values[3] = {&items[0], &items[1], &items[2]};
    PB(ListValue) list = ENVOY__SERVICE__EXT_PROC__V3__LIST_VALUE__INIT;
    items[0].kind_case = items[2].kind_case = KIND(STRING_VALUE);
    items[0].string_value = (char *)"10.0.0.1:80";
    items[1].kind_case = KIND(BOOL_VALUE);
    items[2].string_value = (char *)"10.0.0.2:80";
    list.n_values = 3;
    list.values = values;
    text.kind_case = KIND(LIST_VALUE);
    text.list_value = &list;
    check_subset(&text, 2);
}

static void test_decode_rest(void **state)
{
    (void)state;
    PB(ProcessingRequest) in = ENVOY__SERVICE__EXT_PROC__V3__PROCESSING_REQUEST__INIT;
    PB(HttpBody) body = ENVOY__SERVICE__EXT_PROC__V3__HTTP_BODY__INIT;
    struct sr_extproc_message out;
    body.body = (ProtobufCBinaryData){3, (uint8_t *)"a\0b"};
    in.observability_mode = true;
    in.request_case = REQUEST(RESPONSE_BODY);
    in.response_body = &body;
    decode(&out, &in);
    assert_int_equal(out.phase, SR_EXTPROC_RESPONSE_BODY);
    assert_true(out.observability && !out.end_of_stream);
    assert_int_equal(out.body.n, 3);
    assert_memory_equal(out.body.p, "a\0b", 3);
    assert_int_equal(sr_extproc_decode(&out, SR_LIT(""), &arena), SR_OK);
    assert_int_equal(out.phase, SR_EXTPROC_NONE);
    assert_int_equal(sr_extproc_decode(&out, SR_LIT("\x12\x7f"), &arena), SR_EPARSE);
}

static PB(ProcessingResponse) * encode(const struct sr_extproc_reply *reply)
{
    ProtobufCMessage *message;
    struct sr_bytes bytes = sr_extproc_encode(reply, &arena);
    assert_non_null(bytes.p);
    assert_int_equal(sr_protobuf_unpack(&message,
                                        &envoy__service__ext_proc__v3__processing_response__descriptor,
                                        &arena, bytes),
                     SR_OK);
    return (PB(ProcessingResponse) *)(void *)message;
}

static const struct sr_header SET[] = {{{"x-selected-model", 16}, {"m", 1}}, {{":path", 5}, {"/v1", 3}}};
static const struct sr_bytes REMOVE[] = {{"authorization", 13}};
static const struct sr_bytes PIECES[] = {{"one", 3}, {NULL, 0}, {"two", 3}};

static void test_encode_body(void **state)
{
    (void)state;
    struct sr_extproc_reply reply = {.phase = SR_EXTPROC_REQUEST_BODY,
                                     .set = SET,
                                     .n_set = 2,
                                     .remove = REMOVE,
                                     .n_remove = 1,
                                     .clear_route_cache = true,
                                     .change = SR_EXTPROC_REPLACE,
                                     .body = PIECES,
                                     .n_body = 3,
                                     .endpoint = {"10.0.0.1:80", 11}};
    const PB(ProcessingResponse) *out = encode(&reply);
    assert_int_equal(out->response_case, RESPONSE(REQUEST_BODY));
    const PB(CommonResponse) *common = out->request_body->response;
    assert_true(common->clear_route_cache);
    assert_int_equal(common->header_mutation->n_set_headers, 2);
    const PB(HeaderValue) *h = common->header_mutation->set_headers[0]->header;
    assert_string_equal(h->key, "x-selected-model");
    assert_string_equal(h->value, ""); /* Envoy refuses a header with both */
    is(sr_bytes_of(h->raw_value.data, h->raw_value.len), "m");
    assert_string_equal(common->header_mutation->remove_headers[0], "authorization");
    assert_int_equal(common->body_mutation->mutation_case, MUTATION(BODY));
    is(sr_bytes_of(common->body_mutation->body.data, common->body_mutation->body.len), "onetwo");
    assert_int_equal(out->dynamic_metadata->n_fields, 1);
    assert_string_equal(out->dynamic_metadata->fields[0]->key, "envoy.lb");
    const PB(ValueEntry) *field = out->dynamic_metadata->fields[0]->value->struct_value->fields[0];
    assert_string_equal(field->key, SR_EXTPROC_ENDPOINT_HEADER);
    assert_string_equal(field->value->string_value, "10.0.0.1:80");
    reply = (struct sr_extproc_reply){.phase = SR_EXTPROC_REQUEST_BODY, .change = SR_EXTPROC_REPLACE};
    out = encode(&reply); /* dropped: a mutation that is there, and empty */
    assert_int_equal(out->request_body->response->body_mutation->mutation_case, MUTATION(BODY));
    assert_int_equal(out->request_body->response->body_mutation->body.len, 0);
    reply = (struct sr_extproc_reply){.phase = SR_EXTPROC_RESPONSE_BODY,
                                      .change = SR_EXTPROC_PIECE,
                                      .body = PIECES,
                                      .n_body = 1,
                                      .end_of_stream = true};
    out = encode(&reply);
    const PB(StreamedBodyResponse) *piece = out->response_body->response->body_mutation->streamed_response;
    assert_true(piece->end_of_stream);
    is(sr_bytes_of(piece->body.data, piece->body.len), "one");
}

static void test_encode_rest(void **state)
{
    (void)state;
    struct sr_extproc_reply reply = {.phase = SR_EXTPROC_RESPONSE_HEADERS,
                                     .override_modes = true,
                                     .request_mode = SR_EXTPROC_MODE_BUFFERED,
                                     .response_mode = SR_EXTPROC_MODE_STREAMED};
    const PB(ProcessingResponse) *out = encode(&reply);
    assert_int_equal(out->response_case, RESPONSE(RESPONSE_HEADERS));
    assert_int_equal(out->mode_override->response_body_mode, SR_EXTPROC_MODE_STREAMED);
    assert_int_equal(out->mode_override->request_body_mode, SR_EXTPROC_MODE_BUFFERED);
    assert_null(out->response_headers->response->header_mutation);
    reply = (struct sr_extproc_reply){.phase = SR_EXTPROC_REQUEST_TRAILERS};
    assert_int_equal(encode(&reply)->response_case, RESPONSE(REQUEST_TRAILERS));
    reply = (struct sr_extproc_reply){.phase = SR_EXTPROC_RESPONSE_TRAILERS};
    assert_int_equal(encode(&reply)->response_case, RESPONSE(RESPONSE_TRAILERS));
    reply = (struct sr_extproc_reply){.action = SR_EXTPROC_EXTEND, .extend_ms = 1250};
    out = encode(&reply);
    assert_int_equal(out->override_message_timeout->seconds, 1);
    assert_int_equal(out->override_message_timeout->nanos, 250000000);
}

static void test_encode_immediate(void **state)
{
    (void)state;
    static const int statuses[][2] = {{200, 200}, {404, 404}, {413, 413}, {415, 415}, {429, 429},
                                      {499, 400}, {503, 503}, {599, 500}, {299, 200}, {100, 500}};
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        struct sr_extproc_reply reply = {.action = SR_EXTPROC_IMMEDIATE,
                                         .phase = SR_EXTPROC_REQUEST_HEADERS,
                                         .status = statuses[i][0],
                                         .set = SET,
                                         .n_set = 1,
                                         .body = PIECES,
                                         .n_body = 1};
        const PB(ProcessingResponse) *out = encode(&reply);
        assert_int_equal(out->response_case, RESPONSE(IMMEDIATE_RESPONSE));
        assert_int_equal(out->immediate_response->status->code, statuses[i][1]);
        assert_int_equal(out->immediate_response->headers->n_set_headers, 1);
        is(sr_bytes_of(out->immediate_response->body.data, out->immediate_response->body.len), "one");
    }
}

static void test_no_room(void **state)
{
    (void)state;
    struct sr_arena small;
    struct sr_extproc_reply reply = {.phase = SR_EXTPROC_REQUEST_HEADERS, .set = SET, .n_set = 2};
    sr_arena_init(&small, 16);
    assert_null(sr_extproc_encode(&reply, &small).p);
    sr_arena_dispose(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_decode_headers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_decode_subset, setup, teardown),
        cmocka_unit_test_setup_teardown(test_decode_rest, setup, teardown),
        cmocka_unit_test_setup_teardown(test_encode_body, setup, teardown),
        cmocka_unit_test_setup_teardown(test_encode_rest, setup, teardown),
        cmocka_unit_test_setup_teardown(test_encode_immediate, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_room, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
