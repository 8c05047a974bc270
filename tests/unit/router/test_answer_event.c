/* An event of an answer: one scan, marks in any order, one writer. */
#include "dialect/registry.h"
#include "router/response/event.h"
#include "tests/unit/cmocka_all.h"

struct kit {
    struct sr_dialect_paths *paths;
    struct sr_arena arena;
    struct sr_buf before, out;
    struct sr_sse_frames frames;
    struct sr_answer_event event;
};

/* An event out of the first frame of `stream`. */
static void open_event(struct kit *kit, const char *stream)
{
    struct sr_bytes in = sr_bytes_str(stream);
    struct sr_sse_frame frame;
    memset(kit, 0, sizeof *kit);
    assert_int_equal(sr_dialect_paths_new(&kit->paths, NULL), SR_OK);
    sr_arena_init(&kit->arena, 1 << 22);
    sr_buf_init(&kit->before, 4096);
    sr_buf_init(&kit->out, 4096);
    sr_sse_frames_init(&kit->frames, 4096);
    assert_int_equal(sr_sse_frames_next(&kit->frames, &in, &frame), SR_OK);
    sr_answer_event_init(&kit->event, &frame, &sr_dialect_chat,
                         sr_dialect_answer_paths(kit->paths, &sr_dialect_chat)->all, &kit->arena,
                         &kit->before);
}

static void close_event(struct kit *kit)
{
    sr_sse_frames_dispose(&kit->frames);
    sr_buf_dispose(&kit->before);
    sr_buf_dispose(&kit->out);
    sr_arena_dispose(&kit->arena);
    sr_dialect_paths_free(kit->paths);
}

static void check_out(struct kit *kit, const char *wanted)
{
    assert_int_equal(sr_answer_event_write(&kit->event, &kit->out), SR_OK);
    assert_true(sr_bytes_eq(sr_buf_view(&kit->out), sr_bytes_str(wanted)));
    sr_buf_clear(&kit->out);
}

static void test_marks(void **state)
{
    struct kit kit;
    (void)state;
    open_event(&kit, "data: {\"a\":1,\"b\":22}\n\n");
    assert_true(kit.event.editable);
    assert_false(kit.event.done);
    check_out(&kit, "data: {\"a\":1,\"b\":22}\n\n");
    assert_int_equal(sr_answer_event_replace(&kit.event, 11, 13, SR_LIT("")), SR_OK);
    assert_int_equal(sr_answer_event_replace(&kit.event, 5, 6, SR_LIT("long")), SR_OK);
    assert_int_equal(sr_buf_append_bytes(&kit.before, SR_LIT(": x\n\n")), SR_OK);
    check_out(&kit, ": x\n\ndata: {\"a\":long,\"b\":}\n\n");
    kit.event.dropped = true;
    check_out(&kit, ": x\n\n");
    close_event(&kit);
}

static void test_scan(void **state)
{
    struct kit kit;
    const struct sr_span *text = NULL;
    (void)state;
    open_event(&kit, "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"index\":3}],\"usage\":null}\n\n");
    assert_true(sr_answer_event_has_usage(&kit.event));
    const struct sr_span *spans = kit.event.spans;
    assert_true(sr_answer_event_scan(&kit.event));
    assert_ptr_equal(kit.event.spans, spans); /* scanned once */
    for (size_t i = 0; i < kit.event.n_spans; i++)
        if (spans[i].id == SR_ANSWER_TEXT)
            text = &spans[i];
    assert_non_null(text);
    assert_int_equal(sr_answer_event_choice(&kit.event, text), 3);
    assert_int_equal(text->tag, SR_CLASS_JUDGED | SR_CLASS_RESTORES);
    close_event(&kit);
}

static void test_no_json(void **state)
{
    struct kit kit;
    (void)state;
    open_event(&kit, "data: [DONE]\n\n");
    assert_true(kit.event.done);
    assert_false(sr_answer_event_scan(&kit.event));
    close_event(&kit);
    open_event(&kit, "data: \"usage\"\n\n");
    assert_true(sr_answer_event_scan(&kit.event));
    assert_false(sr_answer_event_has_usage(&kit.event));
    close_event(&kit);
    open_event(&kit, ": comment\n\n");
    assert_false(kit.event.has_data);
    assert_false(sr_answer_event_scan(&kit.event));
    check_out(&kit, ": comment\n\n");
    close_event(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_scan),
        cmocka_unit_test(test_no_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
