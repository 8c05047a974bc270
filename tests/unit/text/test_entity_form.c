/* The minimal form of values of each type. */
#include "text/entity/entity.h"

#include "tests/unit/cmocka_all.h"

#include <stdio.h>
#include <string.h>

static bool ok(enum sr_entity_type type, const char *value)
{
    return sr_entity_plausible(type, sr_bytes_str(value));
}

static void numbers_have_digits(void **state)
{
    (void)state;
    assert_true(ok(SR_ENTITY_PHONE_NUMBER, "+49 30 901820"));
    assert_true(ok(SR_ENTITY_PHONE_NUMBER, "(978)645-9740x11144"));
    assert_true(ok(SR_ENTITY_PHONE_NUMBER, "\u0660\u0661\u0662-\u0663\u0664\u0665\u0666"));
    assert_false(ok(SR_ENTITY_PHONE_NUMBER, "sum of"));
    assert_false(ok(SR_ENTITY_PHONE_NUMBER, "+ 5 = 10"));
    assert_true(ok(SR_ENTITY_US_DRIVER_LICENSE, "WDLABCD456DG"));
    assert_false(ok(SR_ENTITY_US_DRIVER_LICENSE, "following"));
    assert_true(ok(SR_ENTITY_CREDIT_CARD, "4111 1111 1111 1111"));
    assert_false(ok(SR_ENTITY_CREDIT_CARD, "x^2 + 3x"));
    assert_true(ok(SR_ENTITY_US_SSN, "078-05-1120"));
    assert_false(ok(SR_ENTITY_US_SSN, "n squared"));
    assert_true(ok(SR_ENTITY_ZIP_CODE, "SW1A 1AA"));
    assert_true(ok(SR_ENTITY_ZIP_CODE, "12412"));
    assert_false(ok(SR_ENTITY_ZIP_CODE, "all"));
    assert_false(ok(SR_ENTITY_ZIP_CODE, "in.^2"));
    assert_true(ok(SR_ENTITY_IBAN_CODE, "GB29 NWBK 6016 1331 9268 19"));
    assert_false(ok(SR_ENTITY_IBAN_CODE, "Which of"));
}

static void addresses_have_their_signs(void **state)
{
    (void)state;
    assert_true(ok(SR_ENTITY_EMAIL_ADDRESS, "ann@example.com"));
    assert_true(ok(SR_ENTITY_EMAIL_ADDRESS, "ann at example dot com"));
    assert_false(ok(SR_ENTITY_EMAIL_ADDRESS, "example"));
    assert_true(ok(SR_ENTITY_IP_ADDRESS, "192.0.2.44"));
    assert_true(ok(SR_ENTITY_IP_ADDRESS, "2001:db8::1"));
    assert_false(ok(SR_ENTITY_IP_ADDRESS, "3.14"));
    assert_false(ok(SR_ENTITY_IP_ADDRESS, "127.0.0.1"));
    assert_false(ok(SR_ENTITY_IP_ADDRESS, "255.255.0.0"));
    assert_true(ok(SR_ENTITY_DOMAIN_NAME, "example.com"));
    assert_false(ok(SR_ENTITY_DOMAIN_NAME, "Kubernetes"));
}

static void names_have_letters(void **state)
{
    (void)state;
    assert_true(ok(SR_ENTITY_PERSON, "Li"));
    assert_true(ok(SR_ENTITY_PERSON, "\u674e"));
    assert_false(ok(SR_ENTITY_PERSON, "3."));
    assert_false(ok(SR_ENTITY_ORGANIZATION, "f(x) = 2"));
    assert_true(ok(SR_ENTITY_ORGANIZATION, "23 And Me"));
    assert_true(ok(SR_ENTITY_AGE, "forty"));
    assert_true(ok(SR_ENTITY_DATE_TIME, "noon"));
    assert_true(ok(SR_ENTITY_STREET_ADDRESS, "08"));
}

static void ages_are_ages(void **state)
{
    (void)state;
    assert_true(ok(SR_ENTITY_AGE, "45-year-old"));
    assert_true(ok(SR_ENTITY_AGE, "130"));
    assert_false(ok(SR_ENTITY_AGE, "131"));
    assert_false(ok(SR_ENTITY_AGE, "99999999999999999999"));
    assert_false(ok(SR_ENTITY_AGE, "15 * 23"));
    assert_false(ok(SR_ENTITY_AGE, "31 %"));
}

static bool operand(const char *before, const char *value, const char *after)
{
    char text[64];
    size_t n = (size_t)snprintf(text, sizeof text, "%s%s%s", before, value, after);
    return sr_entity_is_operand(sr_bytes_of(text, n), strlen(before), strlen(before) + strlen(value));
}

static void numbers_of_sums_are_operands(void **state)
{
    (void)state;
    assert_true(operand("", "15", " * 23"));
    assert_true(operand("15 * ", "23", ""));
    assert_true(operand("", "48", "\u00d7 3"));
    assert_true(operand("for $", "30", ""));
    assert_true(operand("x = 3 + ", "12", " = y"));
    assert_false(operand("", "34", ""));
    assert_false(operand("age=", "34", ""));
    assert_false(operand("I am ", "34", ", and you?"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_digits),          cmocka_unit_test(addresses_have_their_signs),
        cmocka_unit_test(names_have_letters),           cmocka_unit_test(ages_are_ages),
        cmocka_unit_test(numbers_of_sums_are_operands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
