/* Trace context, samplers, and spans as bytes. What a real reader of OTLP makes of them is test_traces.py. */
#include "tests/unit/cmocka_all.h"

#include "trace/export.h"
#include "trace/sampler.h"
#include "trace/span.h"
#include "trace/wire.h"

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN  "00f067aa0ba902b7"
#define ZERO8 "0000000000000000"

static bool reads(const char *text)
{
    struct sr_trace_context context;
    return sr_trace_parent_read(&context, sr_bytes_str(text)) == SR_OK;
}

static void test_parent(void **state)
{
    struct sr_trace_context context;
    char text[SR_TRACE_PARENT_SIZE];
    (void)state;
    assert_int_equal(sr_trace_parent_read(&context, SR_LIT("00-" TRACE "-" SPAN "-03")), SR_OK);
    assert_int_equal(context.trace[0], 0x4b);
    assert_int_equal(context.span[7], 0xb7);
    assert_int_equal(context.flags, 3);
    sr_trace_parent_write(&context, text);
    assert_string_equal(text, "00-" TRACE "-" SPAN "-01");
    assert_true(reads("cc-" TRACE "-" SPAN "-00") && reads("cc-" TRACE "-" SPAN "-00-what else"));
    static const char *const none[] = {
        "",
        "00",
        "00-" TRACE "-" SPAN,
        "00-" TRACE "-" SPAN "-0",
        "00-" TRACE "-" SPAN "-01-",
        "00-" TRACE "-" SPAN "-01x",
        "cc-" TRACE "-" SPAN "-01x",
        "ff-" TRACE "-" SPAN "-01",
        "0x-" TRACE "-" SPAN "-01",
        "00-" ZERO8 ZERO8 "-" SPAN "-01",
        "00-" TRACE "-" ZERO8 "-01",
        "00-" TRACE "_" SPAN "-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01",
        "00-" TRACE "-" SPAN "-0g",
    };
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_false(reads(none[i]));
}

static bool usable(const char *text)
{
    return sr_trace_state_is_usable(sr_bytes_str(text));
}

static void test_state(void **state)
{
    char many[SR_TRACE_STATE_MAX + 2] = "";
    (void)state;
    assert_true(usable("a=1") && usable("a=1, b@c=2 ,, d=e=f"));
    assert_false(usable("") || usable(",") || usable("a") || usable("=1") || usable("a=") || usable("a=\n"));
    for (int i = 0; i < 32; i++)
        strcat(many, i ? ",a=1" : "a=1");
    assert_true(usable(many));
    strcat(many, ",a=1");
    assert_false(usable(many));
    memset(many, 'x', sizeof many - 1);
    many[1] = '=';
    assert_false(usable(many));
    many[SR_TRACE_STATE_MAX] = '\0';
    assert_true(usable(many));
}

/* A trace whose random part is this share of all. */
static bool head(struct sr_sampler sampler, unsigned char share, const struct sr_trace_context *parent)
{
    uint8_t trace[SR_TRACE_ID_SIZE] = {1};
    trace[SR_TRACE_ID_SIZE - 7] = share;
    return sr_sampler_head(&sampler, trace, parent);
}

static void test_sampler(void **state)
{
    struct sr_trace_context kept = {.flags = SR_TRACE_SAMPLED}, dropped = {.flags = 2};
    struct sr_sampler half = {.ratio = 0.5}, half_by_parent = {.ratio = 0.5, .parent_based = true};
    (void)state;
    assert_true(head(half, 0x7f, NULL) && !head(half, 0x80, NULL));
    assert_true(head((struct sr_sampler){.ratio = 1}, 0xff, NULL));
    assert_false(head((struct sr_sampler){.ratio = 0}, 0, NULL));
    assert_true(head(half, 0, &dropped) && !head(half, 0xff, &kept));
    assert_true(head(half_by_parent, 0xff, &kept) && !head(half_by_parent, 0, &dropped));
    assert_true(head(half_by_parent, 0, NULL) && !head(half_by_parent, 0xff, NULL));
    struct sr_sampler tail = {.errors = true, .slow_ns = 100};
    assert_true(sr_sampler_tail(&tail, true, 0) && sr_sampler_tail(&tail, false, 100));
    assert_false(sr_sampler_tail(&tail, false, 99) || sr_sampler_tail(&half, true, 1000));
}

/* ---- bytes ---- */

/* The field of this number, the `nth` of it; fails when there is none. */
static struct sr_wire_field field_of(struct sr_bytes in, unsigned number, unsigned nth)
{
    struct sr_wire_field field;
    while (sr_wire_next(&in, &field) == SR_OK)
        if (field.number == number && nth-- == 0)
            return field;
    fail_msg("there is no field %u", number);
    return field;
}

static unsigned count(struct sr_bytes in, unsigned number)
{
    struct sr_wire_field field;
    unsigned n = 0;
    int rc;
    while ((rc = sr_wire_next(&in, &field)) == SR_OK)
        n += field.number == number;
    assert_int_equal(rc, SR_ENOENT);
    return n;
}

static void assert_text(struct sr_bytes bytes, const char *text)
{
    assert_int_equal(bytes.n, strlen(text));
    assert_memory_equal(bytes.p, text, bytes.n);
}

static void write_spans(struct sr_trace_writer *w)
{
    struct sr_trace_context own = {.trace = {1}, .span = {2}, .flags = 1};
    uint8_t parent[SR_SPAN_ID_SIZE] = {3};
    char cut[SR_TRACE_TEXT_MAX + 10];
    sr_trace_begin(w, &(struct sr_trace_span){.trace = &own,
                                              .parent = parent,
                                              .state = SR_LIT("a=1"),
                                              .name = "one",
                                              .kind = SR_TRACE_SERVER,
                                              .start_ns = 5,
                                              .end_ns = 9,
                                              .status = SR_TRACE_ERROR,
                                              .message = "why"});
    sr_trace_text(w, "text", "value");
    sr_trace_text(w, "none", NULL);
    sr_trace_text(w, "broken", "\xff");
    sr_trace_int(w, "int", -1);
    memset(cut, 'a', sizeof cut);
    memcpy(cut + SR_TRACE_TEXT_MAX - 1, "\xc3\xa4", 2);
    sr_trace_bytes(w, "cut", sr_bytes_of(cut, sizeof cut));
    sr_trace_event(w, 7, "event");
    sr_trace_end(w);
    sr_trace_begin(w, &(struct sr_trace_span){.trace = &own, .name = "two", .kind = SR_TRACE_INTERNAL});
    sr_trace_end(w);
}

static void test_spans(void **state)
{
    struct sr_buf out;
    (void)state;
    sr_buf_init(&out, 1 << 16);
    struct sr_trace_writer w = sr_trace_writer_of(&out);
    write_spans(&w);
    assert_int_equal(w.rc, SR_OK);
    assert_int_equal(w.n, 2);
    struct sr_bytes first = field_of(sr_buf_view(&out), 2, 0).bytes;
    struct sr_bytes second = field_of(sr_buf_view(&out), 2, 1).bytes;
    assert_int_equal(count(sr_buf_view(&out), 2), 2);
    assert_int_equal(field_of(first, 1, 0).bytes.n, SR_TRACE_ID_SIZE);
    assert_text(field_of(first, 3, 0).bytes, "a=1");
    assert_int_equal(field_of(first, 4, 0).bytes.p[0], 3);
    assert_text(field_of(first, 5, 0).bytes, "one");
    assert_int_equal(field_of(first, 6, 0).value, 2);
    assert_int_equal(field_of(first, 7, 0).bytes.p[0], 5);
    assert_text(field_of(field_of(first, 15, 0).bytes, 2, 0).bytes, "why");
    assert_text(field_of(field_of(first, 11, 0).bytes, 2, 0).bytes, "event");
    assert_int_equal(count(first, 9), 3);
    struct sr_bytes text = field_of(field_of(first, 9, 0).bytes, 2, 0).bytes;
    assert_text(field_of(text, 1, 0).bytes, "value");
    struct sr_bytes number = field_of(field_of(first, 9, 1).bytes, 2, 0).bytes;
    assert_true(field_of(number, 3, 0).value == UINT64_MAX);
    struct sr_bytes cut = field_of(field_of(first, 9, 2).bytes, 2, 0).bytes;
    assert_int_equal(field_of(cut, 1, 0).bytes.n, SR_TRACE_TEXT_MAX - 1);
    assert_text(field_of(second, 5, 0).bytes, "two");
    assert_int_equal(count(second, 4) + count(second, 15), 0);
    sr_buf_dispose(&out);
}

/* Whatever the limit: an error, and no span that is not whole. */
static void test_no_room(void **state)
{
    (void)state;
    for (size_t max = 1; max < 700; max++) {
        struct sr_buf out;
        sr_buf_init(&out, max);
        struct sr_trace_writer w = sr_trace_writer_of(&out);
        write_spans(&w);
        assert_int_equal(w.rc, SR_ELIMIT);
        assert_true(w.n < 2);
        sr_buf_dispose(&out);
    }
}

static void test_export(void **state)
{
    static const struct sr_export_attribute resource[] = {{"service.name", "r"}, {"k", "v"}};
    struct sr_buf out;
    (void)state;
    sr_buf_init(&out, 1 << 16);
    assert_int_equal(sr_export_head(&out, resource, 2, "scope", "1", 3), SR_OK);
    assert_int_equal(sr_buf_append(&out, "\x12\x01x", 3), SR_OK);
    struct sr_bytes spans = field_of(sr_buf_view(&out), 1, 0).bytes;
    assert_int_equal(count(sr_buf_view(&out), 1), 1);
    struct sr_bytes attributes = field_of(spans, 1, 0).bytes;
    assert_int_equal(count(attributes, 1), 2);
    assert_text(field_of(field_of(attributes, 1, 1).bytes, 1, 0).bytes, "k");
    struct sr_bytes scope = field_of(spans, 2, 0).bytes;
    assert_text(field_of(field_of(scope, 1, 0).bytes, 1, 0).bytes, "scope");
    assert_text(field_of(scope, 2, 0).bytes, "x");
    sr_buf_dispose(&out);
}

static void test_result(void **state)
{
    struct sr_export_result result;
    (void)state;
    assert_int_equal(sr_export_result_read(&result, SR_LIT("")), SR_OK);
    assert_int_equal(result.rejected, 0);
    assert_int_equal(sr_export_result_read(&result, SR_LIT("\x0a\x06\x08\x02\x12\x02no")), SR_OK);
    assert_int_equal(result.rejected, 2);
    assert_text(result.message, "no");
    assert_int_equal(sr_export_result_read(&result, SR_LIT("\x0a\x07\x08")), SR_EPARSE);
    assert_int_equal(sr_export_result_read(&result, SR_LIT("\x0a\x01\x08")), SR_EPARSE);
    assert_int_equal(sr_export_result_read(&result, SR_LIT("\xff")), SR_EPARSE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parent), cmocka_unit_test(test_state),   cmocka_unit_test(test_sampler),
        cmocka_unit_test(test_spans),  cmocka_unit_test(test_no_room), cmocka_unit_test(test_export),
        cmocka_unit_test(test_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
