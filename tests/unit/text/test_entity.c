/* Exact recognisers: what is found where, what is not found, and how overlaps are resolved. */
#include "tests/unit/cmocka_all.h"
#include "text/entity/entity.h"
#include "text/entity/public_suffix.h"

#include <stdio.h>

#define SURE 0.7f

/* The findings that are sure enough, as "TYPE text|TYPE text". */
static const char *found(const char *text)
{
    static char out[2048];
    struct sr_entities list;
    size_t n = 0;
    out[0] = 0;
    sr_entities_init(&list, 1000);
    assert_int_equal(sr_entities_recognise(&list, sr_bytes_str(text)), SR_OK);
    for (size_t i = 0; i < list.n; i++) {
        const struct sr_entity *e = &list.items[i];
        if (e->confidence >= SURE)
            n += (size_t)snprintf(out + n, sizeof out - n, "%s%s %.*s", n ? "|" : "",
                                  sr_entity_names[e->type], (int)(e->end - e->start), text + e->start);
    }
    sr_entities_dispose(&list);
    return out;
}

static void check(const char *text, const char *expected)
{
    const char *got = found(text);
    if (strcmp(got, expected))
        fail_msg("`%s`: found `%s`, expected `%s`", text, got, expected);
}

static void test_net(void **state)
{
    (void)state;
    check("mail bob.o'neil+x@mail.example.co.uk, now", "EMAIL_ADDRESS bob.o'neil+x@mail.example.co.uk");
    check("\"bob@example.com.\"", "EMAIL_ADDRESS bob@example.com");
    check("bob@localhost @home a@b", "");
    check("see https://www.Example.com.pt/x and shop.example.org.",
          "DOMAIN_NAME www.Example.com.pt|DOMAIN_NAME shop.example.org");
    check("main.rs, e.g. utils.py in a.b.c; end.The next; README.md; foo.bar()", "");
    check("from 192.168.1.20 and 10.0.0.1/8", "IP_ADDRESS 192.168.1.20|IP_ADDRESS 10.0.0.1");
    check("version 1.2.3.4 of 300.1.1.1 or 1.2.3.4.5", "");
    check("127.0.0.1:80, 127.0.1.1, 0.0.0.0, 255.255.255.0, ::1 and 12.70.0.1", "IP_ADDRESS 12.70.0.1");
    check(
        "6e40:4041:c617:e898:c11:40d2:c669:2eb4 fe80::1:2 ::ffff:10.0.0.1",
        "IP_ADDRESS 6e40:4041:c617:e898:c11:40d2:c669:2eb4|IP_ADDRESS fe80::1:2|IP_ADDRESS ::ffff:10.0.0.1");
    check("std::string at 10:30:45 aa:bb:cc:dd:ee:ff", "DATE_TIME 10:30:45");
    assert_true(sr_public_suffix_has(SR_LIT("example.co.uk")));
    assert_false(sr_public_suffix_has(SR_LIT("co.uk")));
    assert_false(sr_public_suffix_has(SR_LIT("main.c")));
    assert_false(sr_public_suffix_has(SR_LIT("")));
}

static void test_numbers(void **state)
{
    (void)state;
    check("card 4111 1111 1111 1111 and 378282246310005",
          "CREDIT_CARD 4111 1111 1111 1111|CREDIT_CARD 378282246310005");
    check("order 4111 1111 1111 1112", "");
    check("my ssn is 078-05-1120, not 666-12-3456", "US_SSN 078-05-1120");
    check("Social Security Number 078051120", "US_SSN 078051120");
    check("IBAN GB29 NWBK 6016 1331 9268 19, de89370400440532013000",
          "IBAN_CODE GB29 NWBK 6016 1331 9268 19|IBAN_CODE de89370400440532013000");
    check("GB29 NWBK 6016 1331 9268 18", "");
    check("my driver's license number is F162823540116", "US_DRIVER_LICENSE F162823540116");
    check("he is 31 y/o, aged 45, a 19-year-old in 300 years", "AGE 31|AGE 45|AGE 19");
    check("my zip code is 2371; Beverly Hills, CA 90210-1234", "ZIP_CODE 2371|ZIP_CODE 90210-1234");
    check("London SW1A 1AA, Ottawa K1A 0B1", "ZIP_CODE SW1A 1AA|ZIP_CODE K1A 0B1");
    check("1234567890 items, 3.14159265358979, 0x1234, ISBN 978-3-16-148410-0", "");
}

static void test_phones(void **state)
{
    (void)state;
    check("call +49 (0)30 1234567 or (415) 555-2671 x12, 541-714-1388",
          "PHONE_NUMBER +49 (0)30 1234567|PHONE_NUMBER (415) 555-2671 x12|PHONE_NUMBER 541-714-1388");
    check("Phone: 0490 75 40 81", "PHONE_NUMBER 0490 75 40 81");
    check("the years 1990-1995 and pages 100-200, 12 345 678 inhabitants", "");
}

static void test_dates(void **state)
{
    (void)state;
    check("2000-04-16 11:34:35, 2/8/1935, 3.10.1990",
          "DATE_TIME 2000-04-16 11:34:35|DATE_TIME 2/8/1935|DATE_TIME 3.10.1990");
    check("March 3rd, 2021 or 3 March 2021 or 3rd of March",
          "DATE_TIME March 3rd, 2021|DATE_TIME 3 March 2021|DATE_TIME 3rd of March");
    check("on Tuesday at 5 pm, founded in 1977", "DATE_TIME Tuesday|DATE_TIME 5 pm|DATE_TIME 1977");
    check("you may march 45/99/2000 and 1/2 or 3/4 cups, 1984 by Orwell", "");
}

static void test_titles(void **state)
{
    (void)state;
    check("Dear Mr. Smith and Dr Who", "TITLE Mr.|TITLE Dr");
    check("Mr. and Dr. of course; Mrs", "");
}

static void test_names(void **state)
{
    (void)state;
    assert_int_equal(sr_entity_find_type(SR_LIT("email_address")), SR_ENTITY_EMAIL_ADDRESS);
    assert_int_equal(sr_entity_find_type(SR_LIT("EMAIL")), -1);
    for (int type = 0; type < SR_ENTITY_TYPES; type++)
        assert_int_equal(sr_entity_find_type(sr_bytes_str(sr_entity_names[type])), type);
}

static void test_overlaps(void **state)
{
    (void)state;
    struct sr_entities list;
    sr_entities_init(&list, 4);
    assert_int_equal(sr_entities_add(&list, SR_ENTITY_AGE, 10, 12, 0.8f), SR_OK);
    assert_int_equal(sr_entities_add(&list, SR_ENTITY_ZIP_CODE, 0, 11, 0.9f), SR_OK);
    assert_int_equal(sr_entities_add(&list, SR_ENTITY_PERSON, 20, 30, 0.9f), SR_OK);
    assert_int_equal(sr_entities_add(&list, SR_ENTITY_GPE, 22, 25, 0.9f), SR_OK);
    assert_int_equal(sr_entities_add(&list, SR_ENTITY_GPE, 40, 45, 0.9f), SR_ELIMIT);
    sr_entities_resolve(&list);
    assert_int_equal(list.n, 2);
    assert_int_equal(list.items[0].type, SR_ENTITY_ZIP_CODE);
    assert_int_equal(list.items[1].type, SR_ENTITY_PERSON);
    sr_entities_dispose(&list);
    sr_entities_init(&list, 2);
    assert_int_equal(sr_entities_recognise(&list, SR_LIT("a@example.com b@example.com c@example.com")),
                     SR_ELIMIT);
    assert_int_equal(list.n, 2);
    sr_entities_dispose(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_net),      cmocka_unit_test(test_numbers), cmocka_unit_test(test_phones),
        cmocka_unit_test(test_dates),    cmocka_unit_test(test_titles),  cmocka_unit_test(test_names),
        cmocka_unit_test(test_overlaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
