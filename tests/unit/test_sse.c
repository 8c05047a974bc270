/* Server-Sent Events: whole, byte by byte and cut at every place, always the same items, whose bytes are the
 * stream. */
#include "tests/unit/cmocka_all.h"

#include "net/sse.h"

#include <stdlib.h>

struct log {
    struct sr_buf items; /* what was parsed, and the ranges of it */
    struct sr_buf raw;
};

static void log_item(struct log *log, const struct sr_sse_item *item)
{
    assert_int_equal(item->end - item->start, item->raw.n);
    assert_int_equal(item->start, log->raw.len);
    assert_true(item->raw.n > 0);
    assert_int_equal(sr_buf_append_bytes(&log->raw, item->raw), SR_OK);
    if (!item->parsed)
        return;
    assert_int_equal(sr_buf_printf(&log->items, "%d-%d<%.*s>", (int)item->start, (int)item->end,
                                   (int)item->data.n, item->has_data ? item->data.p : ""),
                     SR_OK);
    if (item->event.n)
        assert_int_equal(sr_buf_printf(&log->items, "e=%.*s", (int)item->event.n, item->event.p), SR_OK);
    if (item->id.n)
        assert_int_equal(sr_buf_printf(&log->items, "i=%.*s", (int)item->id.n, item->id.p), SR_OK);
    if (!item->has_data)
        assert_int_equal(sr_buf_append(&log->items, "-", 1), SR_OK);
    assert_int_equal(sr_buf_append(&log->items, " ", 1), SR_OK);
}

static void feed(struct sr_sse *sse, struct log *log, const char *p, size_t n)
{
    char *exact = malloc(n ? n : 1);
    size_t at = 0, used;
    struct sr_sse_item item;
    int rc;
    memcpy(exact, p, n);
    while ((rc = sr_sse_next(sse, exact + at, n - at, &used, &item)) == SR_OK) {
        at += used;
        log_item(log, &item);
    }
    assert_int_equal(rc, SR_MORE);
    assert_int_equal(at + used, n);
    free(exact);
}

static void check_split(const char *in, const char *expect, size_t max, size_t cut, size_t step)
{
    size_t n = strlen(in);
    struct sr_sse sse;
    struct sr_sse_item item;
    struct log log;
    sr_sse_init(&sse, max);
    sr_buf_init(&log.items, 10000);
    sr_buf_init(&log.raw, 10000);
    for (size_t at = 0; at < n;) {
        size_t size = at == 0 && cut ? cut : step;
        size = size < n - at ? size : n - at;
        feed(&sse, &log, in + at, size);
        at += size;
    }
    while (sr_sse_finish(&sse, &item) == SR_OK)
        log_item(&log, &item);
    assert_int_equal(log.raw.len, n);
    assert_memory_equal(log.raw.len ? log.raw.data : "", in, n);
    if (strcmp(log.items.len ? log.items.data : "", expect) != 0)
        fail_msg("cut %zu step %zu of <<%s>> gave <<%s>> not <<%s>>", cut, step, in,
                 log.items.len ? log.items.data : "", expect);
    sr_buf_dispose(&log.items);
    sr_buf_dispose(&log.raw);
    sr_sse_dispose(&sse);
}

static void check(const char *in, const char *expect, size_t max)
{
    size_t n = strlen(in);
    check_split(in, expect, max, 0, 1);
    for (size_t cut = 0; cut < n; cut++)
        check_split(in, expect, max, cut, n);
}

static void events_and_their_ranges(void **state)
{
    (void)state;
    check("", "", 1000);
    check("data: a\n\n", "0-9<a> ", 1000);
    check("data:a\n\ndata:  b\n\n", "0-8<a> 8-18< b> ", 1000);
    check("data: {\"x\":1}\n\ndata: [DONE]\n\n", "0-15<{\"x\":1}> 15-29<[DONE]> ", 1000);
    check("data: a\r\n\r\ndata: b\r\n\r\n", "0-11<a> 11-22<b> ", 1000);
    check("data: a\r\rdata: b\r\r", "0-9<a> 9-18<b> ", 1000);
    check("data: a\n\r\ndata: b\r\n\n", "0-10<a> 10-20<b> ", 1000);
    check("data: a\ndata: b\ndata\ndata:c\n\n", "0-29<a\nb\n\nc> ", 1000);
    check("event: e\nid: 7\ndata: a\nretry: 5\nunknown: x\n\n", "0-44<a>e=ei=7 ", 1000);
    check(": ping\n\ndata: a\n\n", "0-8<>- 8-17<a> ", 1000);
    check(":\r\n\r\n", "0-5<>- ", 1000);
    check("event: e\n\n", "0-10<>e=e- ", 1000);
    check("data\n\n", "0-6<> ", 1000);
    check("data:\n\n", "0-7<> ", 1000);
    check("\xEF\xBB\xBF"
          "data: a\n\n",
          "0-12<a> ", 1000);
    check("xdata: a\nData: b\n\n", "0-18<>- ", 1000);
}

static void empty_lines_belong_to_the_next_frame(void **state)
{
    (void)state;
    check("\n\n\ndata: a\n\n\n\ndata: b\n\n", "0-12<a> 12-23<b> ", 1000);
    check("\r\n\r\ndata: a\r\n\r\n", "0-15<a> ", 1000);
    /* A lone LF after two lone CR. */
    check("data: a\r\r\ndata: b\r\r", "0-9<a> 9-19<b> ", 1000);
}

static void incomplete_frames_pass_unparsed(void **state)
{
    (void)state;
    check("data: a\n\ndata: b\n", "0-9<a> ", 1000);
    check("data: a", "", 1000);
    check("\n\n", "", 1000);
    /* Only whether an LF follows was open. */
    check("data: a\r\n\r", "0-10<a> ", 1000);
}

static void long_frames_pass_unparsed(void **state)
{
    (void)state;
    check("data: a\n\ndata: 0123456789\n\ndata: b\n\n", "0-9<a> 27-36<b> ", 12);
    check("data: 0123456789\r\n\r\ndata: b\n\n", "20-29<b> ", 12);
    check("data: 0123456789\r\rdata: b\n\n", "18-27<b> ", 12);
    check("data: 0123456789\n\r"
          "data: b\n\n",
          "18-27<b> ", 12);
    check("data: 012345678901234567890123456789", "", 12);
    check("data: 123\n\n", "0-11<123> ", 11);
    check("data: 1234\n\n", "", 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_and_their_ranges),
        cmocka_unit_test(empty_lines_belong_to_the_next_frame),
        cmocka_unit_test(incomplete_frames_pass_unparsed),
        cmocka_unit_test(long_frames_pass_unparsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
