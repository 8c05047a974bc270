/* Numbers as people and attackers write them: digits of any script, any mark between groups, beside any
 * script; and rows of numbers that are none of these. The finding is all that is written. */
#include "tests/unit/cmocka_all.h"
#include "text/entity/entity.h"

#include <stdio.h>

#define SURE 0.7f

/* The only sure finding of the text is `span`, of this type; NULL: there is none. */
static void check(const char *text, enum sr_entity_type type, const char *span)
{
    struct sr_entities list;
    size_t hits = 0;
    sr_entities_init(&list, 1000);
    assert_int_equal(sr_entities_recognise(&list, sr_bytes_str(text)), SR_OK);
    for (size_t i = 0; i < list.n; i++) {
        const struct sr_entity *e = &list.items[i];
        struct sr_bytes got = sr_bytes_of(text + e->start, e->end - e->start);
        if (e->confidence < SURE)
            continue;
        if (!span || e->type != (uint32_t)type || !sr_bytes_eq(got, sr_bytes_str(span)))
            fail_msg("`%s`: found %s `%.*s`", text, sr_entity_names[e->type], (int)got.n, got.p);
        hits++;
    }
    sr_entities_dispose(&list);
    if (hits != (span != NULL))
        fail_msg("`%s`: %zu findings", text, hits);
}

static void card(const char *text, const char *span)
{
    check(text, SR_ENTITY_CREDIT_CARD, span);
}

static void phone(const char *text, const char *span)
{
    check(text, SR_ENTITY_PHONE_NUMBER, span);
}

static void none(const char *text)
{
    check(text, SR_ENTITY_CREDIT_CARD, NULL);
}

/* 4111 1111 1111 1111 in groups of `size` with `mark` between them. */
static void groups(const char *mark, size_t size)
{
    char text[512] = "it is ", *number = text + 6, whole[512];
    size_t n = 0;
    for (size_t i = 0; i < 16; i++)
        n += (size_t)snprintf(number + n, 500 - n, "%s%c", i && i % size == 0 ? mark : "", i ? '1' : '4');
    snprintf(whole, sizeof whole, "%s", number);
    snprintf(number + n, 500 - n, " ok");
    card(text, whole);
}

static void test_marks(void **state)
{
    static const char *const marks[] = {
        " ",
        "-",
        ".",
        "_",
        "/",
        "\\",
        "|",
        ",",
        ", ",
        ":",
        ";",
        "*",
        "~",
        "+",
        "=",
        "  ",
        "   ",
        "\t",
        "\n",
        "\r\n",
        " - ",
        ". ",
        " / ",
        "\u00a0",
        "\u2009",
        "\u200a",
        "\u202f",
        "\u2007",
        "\u3000",
        "\u2013",
        "\u2014",
        "\u2212",
        "\u2011",
        "\uff0d",
        "\u00b7",
        " \u2022 ",
        "\u200b",
        "\u2060",
        "\ufeff",
        "\u00ad",
        "\u200e",
        "**",
        "\u200b \u200b",
        "\u2009\u2013\u2009",
    };
    (void)state;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        for (size_t size = 1; size <= 4; size *= 2)
            groups(marks[i], size);
    card("\"4111\",\"1111\",\"1111\",\"1111\"", "4111\",\"1111\",\"1111\",\"1111");
    card("[4111][1111][1111][1111]", "4111][1111][1111][1111");
    card("4111-1111 1111.1111", "4111-1111 1111.1111");
    card("3782.822463.10005", "3782.822463.10005");
}

static void test_digits(void **state)
{
    (void)state;
    static const int zeros[] = {0x660,  0x6F0,  0x7C0,   0x966,   0x9E6,   0xE50,   0xF20,  0x1040,
                                0x17E0, 0xFF10, 0x104A0, 0x1D7CE, 0x1D7F6, 0x1E950, 0x1FBF0};
    for (size_t z = 0; z < sizeof zeros / sizeof zeros[0]; z++) {
        char text[128] = "it is ";
        size_t n = 6;
        for (int i = 0; i < 16; i++) {
            int cp = zeros[z] + (i ? 1 : 4);
            if (cp < 0x800)
                n += (size_t)snprintf(text + n, 8, "%c%c", 0xC0 | cp >> 6, 0x80 | (cp & 63));
            else if (cp < 0x10000)
                n += (size_t)snprintf(text + n, 8, "%c%c%c", 0xE0 | cp >> 12, 0x80 | (cp >> 6 & 63),
                                      0x80 | (cp & 63));
            else
                n += (size_t)snprintf(text + n, 8, "%c%c%c%c", 0xF0 | cp >> 18, 0x80 | (cp >> 12 & 63),
                                      0x80 | (cp >> 6 & 63), 0x80 | (cp & 63));
        }
        card(text, text + 6);
    }
    card("4111 \u0661\u0661\u0661\u0661 1111 \u0661\u0661\u0661\u0661",
         "4111 \u0661\u0661\u0661\u0661 1111 \u0661\u0661\u0661\u0661");
    card("\u2074\u00b9\u00b9\u00b9\u00b9\u00b9\u00b9\u00b9\u00b9\u00b9\u00b9\u00b9\u00b9\u00b9\u00b9\u00b9",
         "\u2074\u00b9\u00b9\u00b9\u00b9\u00b9\u00b9\u00b9\u00b9\u00b9\u00b9\u00b9\u00b9\u00b9\u00b9\u00b9");
    card("四一一一一一一一一一一一一一一一", "四一一一一一一一一一一一一一一一");
}

static void test_beside(void **state)
{
    (void)state;
    card("卡号4111111111111111是我的", "4111111111111111");
    card("карта4111111111111111", "4111111111111111");
    card("“4111111111111111”", "4111111111111111");
    card("card4111111111111111x", "4111111111111111");
    card("#4111111111111111", "4111111111111111");
    card("4111 1111 1111 1111 12/27 123", "4111 1111 1111 1111");
    card("1234 4111 1111 1111 1111 1234", "4111 1111 1111 1111");
    card("http://a.example/4111/1111/1111/1111", "4111/1111/1111/1111");
    phone("请致电417-359-5959，谢谢", "417-359-5959");
    check("邮箱bob@example.com谢谢", SR_ENTITY_EMAIL_ADDRESS, "bob@example.com");
    check("网站www.example.com谢谢", SR_ENTITY_DOMAIN_NAME, "www.example.com");
    check("“192.168.1.23”", SR_ENTITY_IP_ADDRESS, "192.168.1.23");
}

static void test_other_numbers(void **state)
{
    (void)state;
    phone("it is 212\u2013555\u20130143", "212\u2013555\u20130143");
    phone("it is ２１２－５５５－０１４３", "２１２－５５５－０１４３");
    phone("it is ＋44\u00a020\u00a07946\u00a00958", "＋44\u00a020\u00a07946\u00a00958");
    phone("it is （212） 555-0143", "（212） 555-0143");
    phone("call 212/555/0143", "212/555/0143");
    phone("call 2 1 2 5 5 5 0 1 4 3", "2 1 2 5 5 5 0 1 4 3");
    check("my SSN is 536/90/4399", SR_ENTITY_US_SSN, "536/90/4399");
    check("my SSN is 536_90_4399", SR_ENTITY_US_SSN, "536_90_4399");
    check("my SSN is 5 3 6 9 0 4 3 9 9", SR_ENTITY_US_SSN, "5 3 6 9 0 4 3 9 9");
    check("it is 536\u201090\u20104399", SR_ENTITY_US_SSN, "536\u201090\u20104399");
    check("GB82.WEST.1234.5698.7654.32", SR_ENTITY_IBAN_CODE, "GB82.WEST.1234.5698.7654.32");
    check("GB82\u00a0WEST\u00a01234\u00a05698\u00a07654\u00a032", SR_ENTITY_IBAN_CODE,
          "GB82\u00a0WEST\u00a01234\u00a05698\u00a07654\u00a032");
    check("G B 8 2 W E S T 1 2 3 4 5 6 9 8 7 6 5 4 3 2", SR_ENTITY_IBAN_CODE,
          "G B 8 2 W E S T 1 2 3 4 5 6 9 8 7 6 5 4 3 2");
    check("it is １９２．１６８．１．２３", SR_ENTITY_IP_ADDRESS, "１９２．１６８．１．２３");
}

/* Numbers that a model reads as something else. */
static void test_none(void **state)
{
    (void)state;
    none("0.4111111111111111 and 3.4111111111111111");
    none("004111111111111111 41111111111111110 999994111111111111111199999 41111111111111115500000000000004");
    none("a4111111111111111f2b 5f4111111111111111");
    none("4,111,111,111,111,111 people");
    none("4023, 4102, 5519, 6201, 7711, 8120");
    none("4111 1111 1111 1112, 4111.1111.1111.1112, 4111_1111_1111_1112");
    none("the president (1963\u20131969), (2010-2020), 165(10)^-5, 2303.11436) (2023");
    none("212/555/0143 and 212_555_0143 and 2 1 2 5 5 5 0 1 4 3");
    none("4 5 3 9\n1 4 8 8\n0 3 4 3\n6 4 6 8\n4 5 3 9\n");
}

/* Rows beyond the limits: no finding over a border, and a card behind it is found. */
static void test_long_rows(void **state)
{
    (void)state;
    static char text[4096];
    size_t n = 0;
    for (int i = 0; i < 400; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%d,", i % 10);
    none(text);
    snprintf(text + n, sizeof text - n, " 4111 1111 1111 1111");
    card(text, "4111 1111 1111 1111");
    memset(text, '7', 400);
    snprintf(text + 400, 64, " 4111111111111111");
    card(text, "4111111111111111");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks),         cmocka_unit_test(test_digits), cmocka_unit_test(test_beside),
        cmocka_unit_test(test_other_numbers), cmocka_unit_test(test_none),   cmocka_unit_test(test_long_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
