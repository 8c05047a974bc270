/* Batches of KV events are read as engines write them, and a worker's numbers are followed over gaps,
 * restarts and lost connections. */
#include "serve/kv/batch.h"
#include "serve/kv/follow.h"
#include "tests/unit/cmocka_all.h"

#include <stdio.h>

/* What policies were told, as text; and what was asked for. */
struct seen {
    char text[8192];
    size_t n;
    int asked; /* the number that a replay was asked from; -1: none was */
    bool deaf; /* a replay cannot be asked */
};

static void on_event(void *ctx, const struct sr_pool_kv_event *event)
{
    static const char letters[] = "SRCU";
    struct seen *seen = ctx;
    seen->n +=
        (size_t)snprintf(seen->text + seen->n, sizeof seen->text - seen->n, "%c", letters[event->kind]);
    for (size_t i = 0; event->kind <= SR_POOL_KV_REMOVED && i < event->n && i < 3; i++)
        seen->n += (size_t)snprintf(seen->text + seen->n, sizeof seen->text - seen->n, "%llu.",
                                    (unsigned long long)event->hashes[i]);
}

static bool on_replay(void *ctx, uint64_t from)
{
    struct seen *seen = ctx;
    seen->asked = (int)from;
    return !seen->deaf;
}

static const struct sr_kv_follow_ops OPS = {.event = on_event, .replay = on_replay};

/* A batch of one stored block with this hash: [0.0, [["BlockStored", [hash], nil, [1, 2], 2]]]. */
static struct sr_bytes stored(uint8_t hash)
{
    static char bytes[64];
    size_t n = 0;
    memcpy(bytes,
           "\x92\xcb\0\0\0\0\0\0\0\0\x91\x95\xab"
           "BlockStored\x91",
           25);
    n = 25;
    bytes[n++] = (char)hash;
    memcpy(bytes + n, "\xc0\x92\x01\x02\x02", 5);
    return sr_bytes_of(bytes, n + 5);
}

static void expect(struct seen *seen, const char *text)
{
    assert_string_equal(seen->text, text);
    seen->n = 0;
    seen->text[0] = '\0';
}

static void begin(struct sr_kv_follow *follow, struct seen *seen, bool has_replay)
{
    *seen = (struct seen){.asked = -1};
    sr_kv_follow_init(follow, &OPS, seen, has_replay);
    sr_kv_follow_connected(follow);
    assert_int_equal(seen->asked, has_replay ? 0 : -1);
    seen->asked = -1;
}

static void test_in_order(void **state)
{
    struct sr_kv_follow follow;
    struct seen seen;
    (void)state;
    begin(&follow, &seen, true);
    sr_kv_follow_replayed(&follow, 0, stored(1));
    sr_kv_follow_replayed(&follow, 1, stored(2));
    sr_kv_follow_replay_end(&follow, true);
    sr_kv_follow_batch(&follow, 1, stored(2)); /* waited in the socket */
    sr_kv_follow_batch(&follow, 2, stored(3));
    expect(&seen, "S1.S2.S3.");
    assert_int_equal(seen.asked, -1);
    assert_int_equal(follow.feed.batches, 3);
    assert_int_equal(follow.feed.gaps, 0);
}

static void test_gap_is_filled(void **state)
{
    struct sr_kv_follow follow;
    struct seen seen;
    (void)state;
    begin(&follow, &seen, true);
    sr_kv_follow_replay_end(&follow, true);
    sr_kv_follow_batch(&follow, 0, stored(1));
    sr_kv_follow_batch(&follow, 3, stored(4));
    assert_int_equal(seen.asked, 1);
    sr_kv_follow_replayed(&follow, 1, stored(2));
    sr_kv_follow_replayed(&follow, 2, stored(3));
    sr_kv_follow_replayed(&follow, 3, stored(4));
    sr_kv_follow_replay_end(&follow, true);
    sr_kv_follow_batch(&follow, 4, stored(5));
    expect(&seen, "S1.S2.S3.S4.S5.");
    assert_int_equal(follow.feed.gaps, 1);
}

static void test_gap_that_is_not_filled(void **state)
{
    struct sr_kv_follow follow;
    struct seen seen;
    (void)state;
    for (int how = 0; how < 4; how++) {
        begin(&follow, &seen, how > 0);
        sr_kv_follow_replay_end(&follow, true);
        sr_kv_follow_batch(&follow, 0, stored(1));
        seen.deaf = how == 1;
        sr_kv_follow_batch(&follow, 5, stored(6));
        if (how == 2)
            sr_kv_follow_replay_end(&follow, false); /* no answer */
        if (how == 3) {                              /* 1 is not kept any more */
            sr_kv_follow_replayed(&follow, 4, stored(5));
            sr_kv_follow_replayed(&follow, 5, stored(6));
            sr_kv_follow_replay_end(&follow, true);
        }
        sr_kv_follow_batch(&follow, 6, stored(7));
        expect(&seen, how < 2 ? "S1.US6.S7." : how == 2 ? "S1.US7." : "S1.US5.S6.S7.");
    }
}

static void test_restart(void **state)
{
    struct sr_kv_follow follow;
    struct seen seen;
    (void)state;
    begin(&follow, &seen, true);
    sr_kv_follow_replay_end(&follow, true);
    sr_kv_follow_batch(&follow, 0, stored(1));
    sr_kv_follow_batch(&follow, 1, stored(2));
    sr_kv_follow_batch(&follow, 1, stored(8)); /* of a new life */
    assert_int_equal(seen.asked, 0);
    sr_kv_follow_replayed(&follow, 0, stored(7));
    sr_kv_follow_replayed(&follow, 1, stored(8));
    sr_kv_follow_replay_end(&follow, true);
    expect(&seen, "S1.S2.CUS7.S8.");
    assert_int_equal(follow.feed.restarts, 1);
}

static void test_lost_connection(void **state)
{
    struct sr_kv_follow follow;
    struct seen seen;
    (void)state;
    begin(&follow, &seen, false);
    sr_kv_follow_batch(&follow, 7, stored(1)); /* the first that is heard */
    sr_kv_follow_lost(&follow);
    assert_false(follow.feed.connected);
    sr_kv_follow_connected(&follow);
    sr_kv_follow_batch(&follow, 0, stored(2));
    expect(&seen, "S1.CUS2.");
}

static void test_bad_batch(void **state)
{
    struct sr_kv_follow follow;
    struct seen seen;
    (void)state;
    begin(&follow, &seen, true);
    sr_kv_follow_replay_end(&follow, true);
    sr_kv_follow_batch(&follow, 0, stored(1));
    sr_kv_follow_batch(&follow, 1, SR_LIT("\x92\x01"));
    sr_kv_follow_batch(&follow, 2, stored(3));
    expect(&seen, "S1.US3.");
    assert_int_equal(follow.feed.bad, 1);
}

static void test_last_batch_is_asked_for(void **state)
{
    struct sr_kv_follow follow;
    struct seen seen;
    (void)state;
    begin(&follow, &seen, true);
    sr_kv_follow_replay_end(&follow, true);
    sr_kv_follow_batch(&follow, 0, stored(1));
    sr_kv_follow_check(&follow, follow.at_ns);
    assert_int_equal(seen.asked, -1);
    sr_kv_follow_check(&follow, follow.at_ns + SR_KV_CHECK_NS + 1);
    assert_int_equal(seen.asked, 1);
    sr_kv_follow_replay_end(&follow, false); /* a question that is not answered changes nothing */
    expect(&seen, "S1.");
    sr_kv_follow_check(&follow, follow.at_ns + SR_KV_CHECK_NS + 1);
    sr_kv_follow_replayed(&follow, 1, stored(2));
    sr_kv_follow_replay_end(&follow, true);
    expect(&seen, "S2.");
}

/* ---- batches ---- */

static int read_text(const char *bytes, size_t n, struct seen *seen, struct sr_kv_read *read)
{
    *seen = (struct seen){.asked = -1};
    return sr_kv_batch_read(sr_bytes_of(bytes, n), on_event, seen, read);
}
#define READ(text, seen, read) read_text(text, sizeof text - 1, seen, read)

static void test_what_is_left_out(void **state)
{
    static const char adapter[] = "\x92\x01\x91\x96\xab"
                                  "BlockStored\x91\x05\xc0\x92\x01\x02\x02\x07";
    static const char medium[] = "\x92\x01\x91\x97\xab"
                                 "BlockStored\x91\x05\xc0\x92\x01\x02\x02\xc0\xa3"
                                 "CPU";
    static const char keys[] = "\x92\x01\x91\x99\xab"
                               "BlockStored\x91\x05\xc0\x92\x01\x02\x02\xc0\xc0\xc0\x91\x91\x01";
    static const char no_keys[] = "\x92\x01\x91\x99\xab"
                                  "BlockStored\x91\x05\xc0\x92\x01\x02\x02\xc0\xc0\xc0\x91\xc0";
    static const char removed[] = "\x92\x01\x91\x93\xac"
                                  "BlockRemoved\x91\x05\xa3"
                                  "CPU";
    static const char tokens[] = "\x92\x01\x91\x95\xab"
                                 "BlockStored\x91\x05\xc0\x91\x01\x02";
    struct sr_kv_read read;
    struct seen seen;
    (void)state;
    assert_int_equal(READ(adapter, &seen, &read) | READ(medium, &seen, &read) | READ(keys, &seen, &read),
                     SR_OK);
    assert_int_equal(READ(removed, &seen, &read) | READ(tokens, &seen, &read), SR_OK);
    assert_int_equal(read.left_out, 1);
    expect(&seen, "");
    assert_int_equal(READ(no_keys, &seen, &read), SR_OK);
    expect(&seen, "S5.");
}

static void test_forms(void **state)
{
    static const char map[] = "\x92\x01\x91\x85\xaa"
                              "block_size\x02\xa9"
                              "token_ids\x92\x01\x02\xac"
                              "block_hashes\x91\xcf\xff\xff\xff\xff\xff\xff\xff\xff\xb1"
                              "parent_block_hash\x05\xa4"
                              "type\xab"
                              "BlockStored";
    static const char bytes[] = "\x92\x01\x92\x92\xac"
                                "BlockRemoved\x91\xc4\x02xy\x91\xb0"
                                "AllBlocksCleared";
    static const char cut[] = "\x92\x01\x91\x92\xac"
                              "BlockRemoved\x91";
    struct sr_kv_read read;
    struct seen seen;
    (void)state;
    assert_int_equal(READ(map, &seen, &read), SR_OK);
    expect(&seen, "S18446744073709551615.");
    assert_int_equal(READ(bytes, &seen, &read), SR_OK);
    assert_int_equal(read.events, 2);
    assert_int_equal(seen.text[0], 'R');
    assert_int_equal(seen.text[seen.n - 1], 'C');
    assert_int_equal(READ(cut, &seen, &read), SR_EPARSE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_order),
        cmocka_unit_test(test_gap_is_filled),
        cmocka_unit_test(test_gap_that_is_not_filled),
        cmocka_unit_test(test_restart),
        cmocka_unit_test(test_lost_connection),
        cmocka_unit_test(test_bad_batch),
        cmocka_unit_test(test_last_batch_is_asked_for),
        cmocka_unit_test(test_what_is_left_out),
        cmocka_unit_test(test_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
