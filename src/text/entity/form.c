/*
 * The minimal form of a value of a type: digits in a number, an @ in an address.
 *
 * For findings of a model; the exact recognisers do not need it. Checks no checksums and ranges, and accepts
 * values that it cannot check, such as digits of other scripts.
 */
#include "text/entity/entity.h"

#include <string.h>

#define AGE_MAX 130u

/* Counts of the bytes of a value by kind. */
struct makeup {
    size_t digits, letters, foreign, dots, colons, signs;
};

static struct makeup makeup_of(struct sr_bytes value)
{
    struct makeup m = {0};
    for (size_t i = 0; i < value.n; i++) {
        unsigned char c = (unsigned char)value.p[i];
        m.digits += c >= '0' && c <= '9';
        m.letters += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        m.foreign += c >= 0x80;
        m.dots += c == '.';
        m.colons += c == ':';
        m.signs += c != '\0' && strchr("=<>^$\\{}|_~", c) != NULL;
    }
    return m;
}

static bool says(struct sr_bytes value, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= value.n; i++)
        if (memcmp(value.p + i, word, n) == 0)
            return true;
    return false;
}

/* Two bytes of another script may be a digit of it. */
static bool numbers(const struct makeup *m, size_t least)
{
    return m->signs == 0 && m->digits + m->foreign / 2 >= least;
}

/* Written in figures, an age has a value that people reach. */
static bool is_age(struct sr_bytes value, const struct makeup *m)
{
    unsigned number = 0;
    size_t i = 0;
    while (i < value.n && (value.p[i] < '0' || value.p[i] > '9'))
        i++;
    for (; i < value.n && value.p[i] >= '0' && value.p[i] <= '9' && number <= AGE_MAX; i++)
        number = number * 10 + (unsigned)(value.p[i] - '0');
    return m->signs == 0 && !says(value, "*") && !says(value, "%") && number <= AGE_MAX;
}

static bool is_one_of(const char *characters, char c)
{
    return c && strchr(characters, c) != NULL;
}

bool sr_entity_is_operand(struct sr_bytes text, size_t start, size_t end)
{
    while (start > 0 && text.p[start - 1] == ' ')
        start--;
    while (end < text.n && text.p[end] == ' ')
        end++;
    struct sr_bytes after = sr_bytes_of(text.p + end, text.n - end);
    return (start > 0 && is_one_of("*+^$%", text.p[start - 1])) ||
           (end < text.n && is_one_of("*+^%=", text.p[end])) ||
           sr_bytes_starts_with(after, SR_LIT("\u00d7")) || sr_bytes_starts_with(after, SR_LIT("\u00f7"));
}

/* Loopback, the address of none or of all, a mask: every machine has it. */
static bool is_nobodys_address(struct sr_bytes value)
{
    return sr_bytes_starts_with(value, SR_LIT("127.")) || sr_bytes_starts_with(value, SR_LIT("255.")) ||
           sr_bytes_starts_with(value, SR_LIT("0.0.0.0"));
}

bool sr_entity_plausible(enum sr_entity_type type, struct sr_bytes value)
{
    struct makeup m = makeup_of(value);
    switch (type) {
    case SR_ENTITY_CREDIT_CARD:
        return numbers(&m, 12);
    case SR_ENTITY_PHONE_NUMBER:
        return numbers(&m, 5) && m.letters <= 12;
    case SR_ENTITY_US_SSN:
        return numbers(&m, 4) && m.letters == 0;
    case SR_ENTITY_US_DRIVER_LICENSE:
        return numbers(&m, 3) && value.n >= 5 && value.n <= 24;
    case SR_ENTITY_ZIP_CODE:
        return numbers(&m, 2) && value.n >= 3 && value.n <= 16 && !says(value, "/") && !says(value, "(");
    case SR_ENTITY_IBAN_CODE:
        return numbers(&m, 6) && m.digits + m.letters >= 12;
    case SR_ENTITY_IP_ADDRESS:
        return m.signs == 0 && (m.dots >= 3 || m.colons >= 2) && !is_nobodys_address(value);
    case SR_ENTITY_EMAIL_ADDRESS:
        return says(value, "@") || says(value, "(at)") || says(value, "[at]") || says(value, " at ");
    case SR_ENTITY_DOMAIN_NAME:
        return m.dots > 0 || says(value, " dot ") || m.foreign > 0;
    case SR_ENTITY_AGE:
        return is_age(value, &m);
    case SR_ENTITY_GPE:
    case SR_ENTITY_NRP:
    case SR_ENTITY_ORGANIZATION:
    case SR_ENTITY_PERSON:
    case SR_ENTITY_TITLE:
        return m.letters + m.foreign >= 2 && m.signs == 0;
    default:
        return true;
    }
}
