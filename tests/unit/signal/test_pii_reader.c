/* Private data that is disguised is found, and the finding is all that says it. */
#include "tests/unit/disguise_kit.h"

#include "signal/guard/pii_reader.h"

#include <stdio.h>

static struct sr_model_store *models;
static struct sr_pii_reader *reader;

static int open_reader(void **state)
{
    return open_arena(state) || sr_model_store_new(&models, NULL) || sr_pii_reader_new(&reader, models, NULL);
}

static int close_reader(void **state)
{
    sr_pii_reader_free(reader);
    sr_model_store_free(models);
    return close_arena(state);
}

static struct sr_pii_findings read_text(const char *text)
{
    struct sr_pii_findings found;
    struct sr_pii_session session;
    sr_pii_session_init(&session, reader, SR_LIT(""));
    assert_int_equal(sr_pii_read(&session, sr_bytes_str(text), &arena, &found), SR_OK);
    sr_pii_session_dispose(&session);
    return found;
}

/* One finding of the type, and it is `span`. */
static void finds(const char *text, enum sr_entity_type type, const char *span)
{
    struct sr_pii_findings found = read_text(text);
    size_t hits = 0;
    for (size_t i = 0; i < found.n; i++) {
        if (found.items[i].type != (uint32_t)type)
            continue;
        struct sr_bytes got =
            sr_bytes_of(text + found.items[i].start, found.items[i].end - found.items[i].start);
        if (!sr_bytes_eq(got, sr_bytes_str(span)))
            fail_msg("`%s`: found `%.*s`", text, (int)got.n, got.p);
        hits++;
    }
    if (hits != 1)
        fail_msg("`%s`: %zu findings", text, hits);
}

static void test_disguised(void **state)
{
    (void)state;
    finds("card NDExMSAxMTExIDExMTEgMTExMQ== please", SR_ENTITY_CREDIT_CARD, "NDExMSAxMTExIDExMTEgMTExMQ==");
    finds("am9obi5kb2VAZXhhbXBsZS5jb20=", SR_ENTITY_EMAIL_ADDRESS, "am9obi5kb2VAZXhhbXBsZS5jb20=");
    finds("am9obi5kb2VA\nZXhhbXBsZS5jb20=", SR_ENTITY_EMAIL_ADDRESS, "am9obi5kb2VA\nZXhhbXBsZS5jb20=");
    finds("write to john%40example.com now", SR_ENTITY_EMAIL_ADDRESS, "john%40example.com");
    finds("write to j&#111;hn&commat;example.com now", SR_ENTITY_EMAIL_ADDRESS,
          "j&#111;hn&commat;example.com");
    finds("write to j\\u006fhn\\x40example.com now", SR_ENTITY_EMAIL_ADDRESS, "j\\u006fhn\\x40example.com");
    finds("4111\u200b1111\u200b1111\u200b1111", SR_ENTITY_CREDIT_CARD, "4111\u200b1111\u200b1111\u200b1111");
    finds("\uff14\uff11\uff11\uff11 1111 1111 1111", SR_ENTITY_CREDIT_CARD,
          "\uff14\uff11\uff11\uff11 1111 1111 1111");
    finds("34 31 31 31 20 31 31 31 31 20 31 31 31 31 20 31 31 31 31", SR_ENTITY_CREDIT_CARD,
          "34 31 31 31 20 31 31 31 31 20 31 31 31 31 20 31 31 31 31");
    finds("GQYTCMJAGEYTCMJAGEYTCMJAGEYTCMI=", SR_ENTITY_CREDIT_CARD, "GQYTCMJAGEYTCMJAGEYTCMJAGEYTCMI=");
    finds("\u202emoc.elpmaxe@nhoj\u202c", SR_ENTITY_EMAIL_ADDRESS, "\u202emoc.elpmaxe@nhoj\u202c");
    finds("data:text/plain;base64,am9obkBleGFtcGxlLmNvbQ==", SR_ENTITY_EMAIL_ADDRESS,
          "am9obkBleGFtcGxlLmNvbQ==");
}

/* One run may say several things: none of them hides another. */
static void test_several_in_one(void **state)
{
    (void)state;
    static const char text[] = "am9obkBleGFtcGxlLmNvbSA0MTExIDExMTEgMTExMSAxMTExIGphbmVAZXhhbXBsZS5jb20=";
    finds(text, SR_ENTITY_EMAIL_ADDRESS, text);
    finds(text, SR_ENTITY_CREDIT_CARD, text);
}

static void test_beside(void **state)
{
    (void)state;
    static const char text[] = "jane@example.com and john%40example.com";
    struct sr_pii_findings found = read_text(text);
    assert_int_equal(found.n, 2);
    assert_int_equal(found.items[0].start, 0);
    assert_int_equal(found.items[0].end, 16);
    assert_false(found.items[0].disguised);
    assert_int_equal(found.items[1].start, 21);
    assert_int_equal(found.items[1].end, sizeof text - 1);
    assert_true(found.items[1].disguised);
    assert_int_equal(read_text("nothing is here, but 1gn0r3 %41 and aGVsbG8gd29ybGQgaG93IGFyZQ==").n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_disguised),
        cmocka_unit_test(test_several_in_one),
        cmocka_unit_test(test_beside),
    };
    return cmocka_run_group_tests(tests, open_reader, close_reader);
}
