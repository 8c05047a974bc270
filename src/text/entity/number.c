/*
 * Numbers that belong to people: social security, phones, postal codes, ages, licences, accounts.
 *
 * Conservative: a number without a checksum, a distinctive form or a word near it that names its type gets a
 * confidence below every useful threshold.
 */
#include "text/entity/recognisers.h"

#include "base/utf8.h"

#define NUMBER_MAX 40 /* bytes of a number with its separators */

#define PHONE_WORDS                                                                                          \
    "phone|telephone|tel|call|mobile|cell|fax|whatsapp|sms|text|answering|reach|contact|dial|messages|"      \
    "number|telefon|handy|móvil|téléphone|telefono|office|ring"
#define SSN_WORDS "ssn|social security|social security number|social-security|taxpayer"
#define ZIP_WORDS "zip|zipcode|zip code|postal code|postcode|post code|plz|code postal"
#define LICENSE_WORDS                                                                                        \
    "license|licence|driver's license|drivers license|driver license|driving licence|dl|license number|"     \
    "licence number"

/* A number with its separators, as written. */
struct number {
    size_t start, end;
    char digits[NUMBER_MAX];
    size_t n, groups;
    size_t sizes[8];         /* digits of the first groups */
    bool plus, paren, slash; /* `paren`: the first digits, or those behind a 0, stand in parentheses */
};

static bool is_mark(unsigned char c)
{
    return c == ' ' || c == '-' || c == '.' || c == '(' || c == ')' || c == '/';
}

/* Digits between a pair of parentheses, before which at most one digit stands. */
static bool has_parentheses(const struct sr_entity_scan *scan, size_t start, size_t end)
{
    size_t open = start, digits = 0, close;
    while (open < end && scan->text.p[open] != '(')
        digits += sr_entity_is_digit(sr_entity_at(scan, open++));
    for (close = open + 1; close < end && sr_entity_is_digit(sr_entity_at(scan, close));)
        close++;
    return digits <= 1 && close < end && close > open + 1 && scan->text.p[close] == ')';
}

/* Reads digits with at most three separators between two of them. False when no number starts here. */
static bool read_number(const struct sr_entity_scan *scan, size_t at, struct number *number)
{
    *number = (struct number){.start = at};
    size_t i = at + (sr_entity_at(scan, at) == '+');
    number->plus = i > at;
    bool in_group = false;
    for (size_t marks = 0; i - at < NUMBER_MAX; i++) {
        unsigned char c = sr_entity_at(scan, i);
        if (sr_entity_is_digit(c)) {
            if (!in_group)
                number->groups++;
            if (number->groups <= 8)
                number->sizes[number->groups - 1]++;
            number->digits[number->n++] = (char)c;
            number->end = i + 1;
            in_group = true;
            marks = 0;
            continue;
        }
        in_group = false;
        if (!is_mark(c) || ++marks > 3 || (c == ' ' && i > at && scan->text.p[i - 1] == ' '))
            break;
    }
    if (number->n == 0)
        return false;
    number->paren = has_parentheses(scan, at, number->end);
    number->slash = memchr(scan->text.p + at, '/', number->end - at) != NULL;
    return !sr_entity_goes_on(scan, number->end);
}

/* Areas 000, 666 and 900 to 999, group 00 and serial 0000 were never issued (SSA, 2011). */
static size_t social_security(struct sr_entity_scan *scan, size_t at)
{
    static const size_t marks[] = {3, 6};
    unsigned area = 0, group = 0, serial = 0;
    unsigned char mark = sr_entity_at(scan, at + 3);
    bool marked = mark == '-' || mark == ' ' || mark == '.';
    size_t length = marked ? 11 : 9, k = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = sr_entity_at(scan, at + i);
        if (marked && (i == marks[0] || i == marks[1])) {
            if (c != mark)
                return 0;
            continue;
        }
        if (!sr_entity_is_digit(c))
            return 0;
        unsigned *part = k < 3 ? &area : k < 5 ? &group : &serial;
        *part = *part * 10 + (unsigned)(c - '0');
        k++;
    }
    unsigned char next = sr_entity_at(scan, at + length);
    bool goes_on = sr_entity_goes_on(scan, at + length) ||
                   (next == '-' && sr_entity_is_digit(sr_entity_at(scan, at + length + 1)));
    if (goes_on || area == 0 || area == 666 || area >= 900 || group == 0 || serial == 0)
        return 0;
    bool named = sr_entity_word_before(scan, at, 40, SSN_WORDS);
    if (!named && mark != '-')
        return 0;
    sr_entity_found(scan, SR_ENTITY_US_SSN, at, at + length, named ? 0.99f : 0.9f);
    return at + length;
}

static size_t license(struct sr_entity_scan *scan, size_t at)
{
    size_t end = at, n = 0;
    while (end - at < 20 &&
           (sr_entity_is_alpha(sr_entity_at(scan, end)) || sr_entity_is_digit(sr_entity_at(scan, end)) ||
            (sr_entity_at(scan, end) == '-' && end > at))) {
        n += sr_entity_is_digit(sr_entity_at(scan, end));
        end++;
    }
    while (end > at && sr_entity_at(scan, end - 1) == '-')
        end--;
    if (n < 4 || end - at < 5 || sr_entity_goes_on(scan, end) ||
        !sr_entity_word_before(scan, at, 32, LICENSE_WORDS))
        return 0;
    sr_entity_found(scan, SR_ENTITY_US_DRIVER_LICENSE, at, end, 0.97f);
    return end;
}

/* ---- phones ---- */

/* North America: ten digits as 3-3-4, the exchange not below 2; optionally a 1 before them. */
static bool is_nanp(const struct number *number)
{
    size_t skip = number->n == 11 && number->digits[0] == '1';
    const size_t *sizes = number->sizes + (skip && number->sizes[0] == 1);
    if (number->n - skip != 10 || number->digits[skip] < '2' || number->digits[skip + 3] < '2')
        return false;
    return sizes[0] == 3 && sizes[1] == 3 && sizes[2] == 4;
}

static float phone_confidence(const struct sr_entity_scan *scan, const struct number *number)
{
    bool marked = number->groups > 1;
    bool named = sr_entity_word_before(scan, number->start, 48, PHONE_WORDS);
    if (number->plus)
        return number->n >= 8 && number->n <= 15 ? 0.97f : 0;
    if (number->n < 7 || number->n > 15 || number->slash)
        return 0;
    if (is_nanp(number))
        return named ? 0.97f : 0.9f;
    if (number->digits[0] == '0' && number->digits[1] == '0' && number->n >= 10)
        return 0.85f;
    if (number->digits[0] == '0' && number->n >= 9 && number->n <= 11 && marked)
        return named ? 0.95f : 0.8f;
    if (number->paren && marked && number->sizes[0] <= 4)
        return named ? 0.95f : 0.75f;
    bool even = number->groups >= 2 && number->groups <= 5 && number->sizes[0] >= 2;
    if (named && (even || (!marked && number->n >= 9 && number->n <= 11)))
        return 0.85f;
    return 0;
}

/* x123, ext. 123 after a phone number. */
static size_t with_extension(const struct sr_entity_scan *scan, size_t end)
{
    size_t at = end + (sr_entity_at(scan, end) == ' ');
    if (at + 4 < scan->text.n && memcmp(scan->text.p + at, "ext", 3) == 0)
        at += (size_t)3 + (sr_entity_at(scan, at + 3) == '.');
    else if (sr_entity_at(scan, at) == 'x')
        at++;
    else
        return end;
    at += sr_entity_at(scan, at) == ' ';
    size_t start = at;
    while (at - start < 6 && sr_entity_is_digit(sr_entity_at(scan, at)))
        at++;
    return at > start && !sr_entity_goes_on(scan, at) ? at : end;
}

static size_t phone(struct sr_entity_scan *scan, size_t at)
{
    struct number number;
    if (!read_number(scan, at, &number)) {
        size_t end = number.n ? with_extension(scan, number.end) : 0;
        if (end <= number.end)
            return 0;
    }
    float confidence = phone_confidence(scan, &number);
    if (!(confidence > 0))
        return 0;
    size_t end = with_extension(scan, number.end);
    sr_entity_found(scan, SR_ENTITY_PHONE_NUMBER, at, end, confidence);
    return end;
}

/* ---- small numbers ---- */

static size_t digits_end(const struct sr_entity_scan *scan, size_t at)
{
    while (sr_entity_is_digit(sr_entity_at(scan, at)))
        at++;
    return at;
}

/* Two capitals and a space before: CA 90210. */
static bool follows_state(const struct sr_entity_scan *scan, size_t at)
{
    static const char states[] =
        "AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV "
        "NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY DC PR ";
    if (at < 3 || scan->text.p[at - 1] != ' ' ||
        (at > 3 && sr_entity_is_word((unsigned char)scan->text.p[at - 4])))
        return false;
    for (const char *state = states; *state; state += 3)
        if (memcmp(state, scan->text.p + at - 3, 2) == 0)
            return true;
    return false;
}

static size_t postal_code(struct sr_entity_scan *scan, size_t at)
{
    size_t end = digits_end(scan, at), n = end - at, plus = 0;
    bool named = sr_entity_word_before(scan, at, 16, ZIP_WORDS);
    unsigned char mark = sr_entity_at(scan, end);
    if ((mark == '-' || mark == ' ') && n >= 2)
        plus = digits_end(scan, end + 1) - (end + 1);
    bool long_form = mark == '-' && n == 5 && plus == 4;
    bool two_parts = named && plus >= 2 && plus <= 4;
    if (sr_entity_goes_on(scan, end) || n < 3 || n > 7)
        return 0;
    if (named && sr_entity_at(scan, end) != '.' && (long_form || two_parts))
        end += 1 + plus;
    else if (long_form)
        end += 5;
    bool state = n == 5 && follows_state(scan, at);
    if (!named && !state && !long_form)
        return 0;
    sr_entity_found(scan, SR_ENTITY_ZIP_CODE, at, end, named ? 0.95f : state ? 0.9f : 0.75f);
    return end;
}

/* True when the text continues with this; white space and hyphens are equal. */
static bool goes_on_with(const struct sr_entity_scan *scan, size_t at, const char *words)
{
    for (const char *word = words; *word;) {
        size_t n = strcspn(word, "|"), k = 0;
        while (k < n &&
               (word[k] == ' ' ? sr_entity_at(scan, at + k) == ' ' || sr_entity_at(scan, at + k) == '-'
                               : sr_ascii_lower((char)sr_entity_at(scan, at + k)) == word[k]))
            k++;
        if (k == n && !sr_entity_is_word(sr_entity_at(scan, at + n)))
            return true;
        word += n + (word[n] == '|');
    }
    return false;
}

static size_t age(struct sr_entity_scan *scan, size_t at)
{
    size_t end = digits_end(scan, at), n = end - at;
    if (n < 1 || n > 3 || (n == 3 && scan->text.p[at] != '1'))
        return 0;
    float confidence = 0;
    if (goes_on_with(scan, end,
                     " years old| year old| yrs old| y/o| yo| yr old| years of age| year olds|yo|y/o"))
        confidence = 0.97f;
    else if (sr_entity_word_before(scan, at, 6, "age|aged|age:") ||
             sr_entity_word_before(scan, at, 12, "turned|turning"))
        confidence = 0.9f;
    else if (sr_entity_word_before(scan, at, 8, "i'm|i am|turn|he is|she is|he's|she's") && n == 2 &&
             (sr_entity_at(scan, end) == '.' || sr_entity_at(scan, end) == ',' || end == scan->text.n))
        confidence = 0.8f;
    if (!(confidence > 0))
        return 0;
    sr_entity_found(scan, SR_ENTITY_AGE, at, end, confidence);
    return end;
}

size_t sr_entity_number(struct sr_entity_scan *scan, size_t at)
{
    unsigned char before = at ? sr_entity_at(scan, at - 1) : 0;
    if (before == '$' || before == '#' ||
        (before == '.' && at > 1 && sr_entity_is_digit(sr_entity_at(scan, at - 2))))
        return 0;
    if (!sr_entity_is_digit(sr_entity_at(scan, at)))
        return phone(scan, at);
    size_t (*const tries[])(struct sr_entity_scan *, size_t) = {license, social_security, phone, postal_code,
                                                                age};
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        size_t end = tries[i](scan, at);
        if (end)
            return end;
    }
    return 0;
}

/* ---- accounts ---- */

/* Length of a country's IBAN (SWIFT registry); 0 = none. */
static size_t iban_length(const char country[2])
{
    static const char table[] = "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22DJ27DK18"
                                "DO28EE20EG29ES24FI18FK18FO18"
                                "FR27GB22GE22GI23GL18GR27GT28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32"
                                "LI21LT20LU20LV21LY25MC27MD24"
                                "ME22MK19MN20MR27MT31MU30NI28NL18NO15OM23PK24PL28PS29PT25QA29RO24RS22RU33SA24"
                                "SC31SD18SE24SI19SK24SM27SO23"
                                "ST25SV28TL23TN24TR26UA29VA22VG24XK20";
    for (const char *entry = table; *entry; entry += 4)
        if (entry[0] == country[0] && entry[1] == country[1])
            return (size_t)(entry[2] - '0') * 10 + (size_t)(entry[3] - '0');
    return 0;
}

static char upper(unsigned char c)
{
    return (char)(c >= 'a' && c <= 'z' ? c - 32 : c);
}

/* ISO 13616: moved by four characters, letters as numbers, modulo 97 is 1. */
static bool iban_checks(const char *code, size_t n)
{
    unsigned rest = 0;
    for (size_t i = 0; i < n; i++) {
        char c = code[(i + 4) % n];
        unsigned value = c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'A') + 10;
        rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
    }
    return rest == 1;
}

/* The end of a mark between two characters of a code, `at` when there is none. */
static size_t gap_end(const struct sr_entity_scan *scan, size_t at)
{
    for (size_t count = 0; at < scan->text.n && count < 3; count++) {
        enum sr_row_gap gap;
        int32_t cp;
        size_t n = sr_utf8_decode(scan->text, at, &cp);
        if (sr_row_mark(cp, &gap) < 0 || gap > SR_GAP_UNDER)
            break;
        at += n;
    }
    return at;
}

/* In groups of four with marks between them, or with a mark behind each character. */
static size_t iban(struct sr_entity_scan *scan, size_t at)
{
    char code[40];
    size_t n = 0, i = at, every = sr_entity_is_alpha(sr_entity_at(scan, at + 1)) ? 4 : 1;
    size_t second = every == 4 ? at + 1 : gap_end(scan, at + 1);
    size_t third = every == 4 ? at + 2 : gap_end(scan, second + 1);
    const char country[2] = {upper(sr_entity_at(scan, at)), upper(sr_entity_at(scan, second))};
    size_t length = sr_entity_is_digit(sr_entity_at(scan, third)) ? iban_length(country) : 0;
    while (length && n < length) {
        unsigned char c = sr_entity_at(scan, i);
        size_t end = n % every ? i : gap_end(scan, i);
        if (sr_entity_is_alpha(c) || sr_entity_is_digit(c))
            code[n++] = upper(c), i++;
        else if (end > i)
            i = end;
        else
            return 0;
    }
    if (!length || sr_entity_goes_on(scan, i) || !iban_checks(code, n))
        return 0;
    sr_entity_found(scan, SR_ENTITY_IBAN_CODE, at, i, 0.99f);
    return i;
}

/* British and Canadian postal codes: capitals and digits in a fixed order. */
static size_t lettered_code(struct sr_entity_scan *scan, size_t at)
{
    static const char *const forms[] = {"AADA DAA", "ADA DAA", "AAD DAA", "AADD DAA",
                                        "AD DAA",   "ADD DAA", "ADA DAD"};
    for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
        size_t k = 0;
        for (; forms[f][k]; k++) {
            unsigned char c = sr_entity_at(scan, at + k);
            bool fits = forms[f][k] == 'A'   ? c >= 'A' && c <= 'Z'
                        : forms[f][k] == 'D' ? sr_entity_is_digit(c)
                                             : c == ' ';
            if (!fits)
                break;
        }
        if (forms[f][k] || sr_entity_is_word(sr_entity_at(scan, at + k)))
            continue;
        sr_entity_found(scan, SR_ENTITY_ZIP_CODE, at, at + k, 0.85f);
        return at + k;
    }
    return 0;
}

size_t sr_entity_code(struct sr_entity_scan *scan, size_t at)
{
    size_t end = iban(scan, at);
    if (!end && sr_entity_is_digit(sr_entity_at(scan, at + 1)))
        end = license(scan, at);
    else if (!end && sr_entity_is_digit(sr_entity_at(scan, at + 2)))
        end = license(scan, at);
    return end ? end : lettered_code(scan, at);
}

/* ---- titles ---- */

size_t sr_entity_title(struct sr_entity_scan *scan, size_t at)
{
    static const char *const titles[] = {
        "Mr",  "Mrs", "Ms",  "Miss",  "Mx",     "Dr",   "Prof", "Professor", "Sir",    "Rev", "Capt", "Lt",
        "Sgt", "Col", "Hon", "Madam", "Doctor", "Herr", "Frau", "Señor",     "Señora", "Mme", "Mlle"};
    unsigned char first = sr_entity_at(scan, at);
    if (first < 'A' || first > 'Z')
        return 0;
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++) {
        if (titles[i][0] != (char)first)
            continue;
        size_t n = strlen(titles[i]);
        if (scan->text.n - at < n || memcmp(scan->text.p + at, titles[i], n) != 0 ||
            sr_entity_is_word(sr_entity_at(scan, at + n)))
            continue;
        size_t end = at + n + (sr_entity_at(scan, at + n) == '.' && n <= 4);
        unsigned char space = sr_entity_at(scan, end), name = sr_entity_at(scan, end + 1);
        if (space != ' ' || !((name >= 'A' && name <= 'Z') || name >= 0xC3))
            return 0;
        sr_entity_found(scan, SR_ENTITY_TITLE, at, end, 0.95f);
        return end;
    }
    return 0;
}
