/* Mail addresses, Internet addresses, domain names. */
#include "text/entity/public_suffix.h"
#include "text/entity/recognisers.h"

#include "base/unicode.h"
#include "base/utf8.h"

#define LOCAL_MAX  64
#define DOMAIN_MAX 253
#define LABEL_MAX  63

/* Bytes of the letter, mark or digit beyond ASCII at `at`; 0 for other characters. */
static size_t foreign_letter(const struct sr_entity_scan *scan, size_t at)
{
    int32_t cp;
    if (sr_entity_at(scan, at) < 0x80)
        return 0;
    size_t n = sr_utf8_decode(scan->text, at, &cp);
    return sr_unicode_class(cp) == SR_UNICODE_OTHER ? 0 : n;
}

/* The end of the dot-separated labels from `at`; `*labels` is their number. `at` when there is none. */
static size_t labels_end(const struct sr_entity_scan *scan, size_t at, unsigned *labels)
{
    size_t end = at;
    *labels = 0;
    for (size_t i = at; i - at < DOMAIN_MAX;) {
        size_t start = i, n = 1;
        for (; i - start < LABEL_MAX && n; i += n) {
            unsigned char c = sr_entity_at(scan, i);
            bool plain = sr_entity_is_alpha(c) || sr_entity_is_digit(c) || (c == '-' && i > start);
            n = plain ? 1 : foreign_letter(scan, i);
        }
        while (i > start && sr_entity_at(scan, i - 1) == '-')
            i--;
        if (i == start)
            break;
        end = i;
        ++*labels;
        if (sr_entity_at(scan, i) != '.')
            break;
        i++;
    }
    return end;
}

/* The end of the letters, digits and hyphens of ASCII in the last label, where text of a script without
 * spaces may go on. */
static size_t ascii_end(const struct sr_entity_scan *scan, size_t start, size_t end)
{
    size_t at = end, cut = end;
    while (at > start && sr_entity_at(scan, at - 1) != '.')
        if (sr_entity_at(scan, --at) >= 0x80)
            cut = at;
    return cut > at ? cut : end;
}

/* The name in lower case, `out` of DOMAIN_MAX bytes. */
static struct sr_bytes lower(const struct sr_entity_scan *scan, size_t start, size_t end, char *out)
{
    for (size_t i = start; i < end; i++)
        out[i - start] = sr_ascii_lower(scan->text.p[i]);
    return sr_bytes_of(out, end - start);
}

static struct sr_bytes last_label(struct sr_bytes name)
{
    size_t at = name.n;
    while (at > 0 && name.p[at - 1] != '.')
        at--;
    return sr_bytes_of(name.p + at, name.n - at);
}

static bool is_letters(struct sr_bytes s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!sr_entity_is_alpha((unsigned char)s.p[i]))
            return false;
    return s.n >= 2;
}

/* Bytes of the character before `at` if it is allowed before the @, else 0; an apostrophe only inside a name.
 * Scripts without spaces put their words beside an address. */
static size_t local_before(const struct sr_entity_scan *scan, size_t at)
{
    unsigned char c = sr_entity_at(scan, at - 1);
    int32_t cp;
    if (c == '\'')
        return at > 1 && sr_entity_is_alpha(sr_entity_at(scan, at - 2)) &&
               sr_entity_is_alpha(sr_entity_at(scan, at));
    if (c < 0x80)
        return sr_entity_is_word(c) || (c && strchr("._%+-!#$*^~", c));
    size_t n = sr_utf8_decode_before(scan->text, at, &cp);
    return sr_unicode_class(cp) == SR_UNICODE_WORD ? n : 0;
}

size_t sr_entity_email(struct sr_entity_scan *scan, size_t sign)
{
    char name[DOMAIN_MAX + LABEL_MAX];
    unsigned labels;
    size_t start = sign, end = labels_end(scan, sign + 1, &labels);
    while (start > 0 && sign - start < LOCAL_MAX) {
        size_t n = local_before(scan, start);
        if (n == 0)
            break;
        start -= n;
    }
    while (start < sign && !sr_entity_is_word(sr_entity_at(scan, start)))
        start++;
    if (start == sign || labels < 2)
        return 0;
    struct sr_bytes domain = lower(scan, sign + 1, end, name);
    bool known = sr_public_suffix_has(domain);
    size_t cut = known ? end : ascii_end(scan, sign + 1, end);
    if (cut < end) {
        domain = lower(scan, sign + 1, end = cut, name);
        known = sr_public_suffix_has(domain);
    }
    if (!known && !is_letters(last_label(domain)))
        return 0;
    sr_entity_found(scan, SR_ENTITY_EMAIL_ADDRESS, start, end, known ? 1.0f : 0.85f);
    return end;
}

/* ---- domain names ---- */

static bool is_one_of(struct sr_bytes s, const char *words)
{
    for (const char *word = words; *word;) {
        size_t n = strcspn(word, "|");
        if (n == s.n && memcmp(word, s.p, n) == 0)
            return true;
        word += n + (word[n] == '|');
    }
    return false;
}

/* Suffixes that are also file extensions or abbreviations. */
#define FILE_ENDINGS                                                                                         \
    "ai|app|as|bat|bz|cc|cs|dev|do|fm|id|is|it|js|la|lib|md|me|ml|mk|mov|no|ps|pl|pm|py|rs|sh|so|st|sys|tf|" \
    "to|ts|zip"

static float domain_confidence(const struct sr_entity_scan *scan, size_t at, struct sr_bytes name,
                               unsigned labels)
{
    struct sr_bytes top = last_label(name);
    bool link = at >= 3 && memcmp(scan->text.p + at - 3, "://", 3) == 0;
    if (link || sr_bytes_starts_with(name, SR_LIT("www.")))
        return 0.98f;
    if (is_one_of(top, "com|net|org|edu|gov|mil|int|info|biz|io"))
        return 0.95f;
    bool capital = (unsigned)(scan->text.p[at + name.n - top.n] - 'A') < 26 &&
                   (unsigned)(scan->text.p[at + name.n - 1] - 'a') < 26;
    if (capital || (is_one_of(top, FILE_ENDINGS) && labels < 3))
        return 0.4f;
    return 0.85f;
}

/* True when letters of a script without spaces stand before ASCII in a label: words before a name. */
static bool has_words_before(const struct sr_entity_scan *scan, size_t at)
{
    int32_t cp;
    if (sr_entity_at(scan, at) < 0x80)
        return false;
    (void)sr_utf8_decode(scan->text, at, &cp);
    if (sr_unicode_class(cp) == SR_UNICODE_WORD)
        return false;
    while (sr_entity_at(scan, at) >= 0x80)
        at++;
    return sr_entity_is_word(sr_entity_at(scan, at));
}

size_t sr_entity_domain(struct sr_entity_scan *scan, size_t at)
{
    char name[DOMAIN_MAX + LABEL_MAX];
    unsigned labels;
    if ((at > 0 && strchr("@._-", scan->text.p[at - 1])) || has_words_before(scan, at))
        return 0;
    size_t end = labels_end(scan, at, &labels);
    unsigned char next = sr_entity_at(scan, end);
    if (labels < 2 || end - at > DOMAIN_MAX || next == '@' || next == '(' || next == '_')
        return 0;
    struct sr_bytes domain = lower(scan, at, end, name);
    if (!sr_public_suffix_has(domain)) {
        domain = lower(scan, at, end = ascii_end(scan, at, end), name);
        if (!sr_public_suffix_has(domain))
            return 0;
    }
    sr_entity_found(scan, SR_ENTITY_DOMAIN_NAME, at, end, domain_confidence(scan, at, domain, labels));
    return end;
}

/* ---- addresses ---- */

static size_t ipv4_end(const struct sr_entity_scan *scan, size_t at)
{
    for (int part = 0; part < 4; part++) {
        unsigned value = 0;
        size_t start = at;
        while (at - start < 3 && sr_entity_is_digit(sr_entity_at(scan, at)))
            value = value * 10 + (unsigned)(sr_entity_at(scan, at++) - '0');
        if (at == start || value > 255 || (at - start > 1 && sr_entity_at(scan, start) == '0'))
            return 0;
        if (part < 3 && sr_entity_at(scan, at++) != '.')
            return 0;
    }
    unsigned char next = sr_entity_at(scan, at);
    bool more = next == '.' && sr_entity_is_digit(sr_entity_at(scan, at + 1));
    return more || sr_entity_goes_on(scan, at) ? 0 : at;
}

static bool is_hex(unsigned char c)
{
    return sr_entity_is_digit(c) || (unsigned)((c | 0x20) - 'a') < 6;
}

/* Eight groups of four hexadecimal digits; one run of zero groups may be `::`, the last two an IPv4. */
static size_t ipv6_end(const struct sr_entity_scan *scan, size_t at, bool *plain)
{
    unsigned groups = 0, digits = 0;
    bool gap = false;
    size_t end = 0;
    while (groups < 8) {
        size_t start = at, four = groups && groups <= 6 ? ipv4_end(scan, at) : 0;
        if (four && (gap || groups == 6)) {
            groups += 2;
            digits++;
            end = four;
            break;
        }
        while (at - start < 4 && is_hex(sr_entity_at(scan, at)))
            digits += sr_entity_is_digit(sr_entity_at(scan, at++));
        if (at > start) {
            groups++;
            end = at;
        }
        if (sr_entity_at(scan, at) != ':')
            break;
        bool twice = sr_entity_at(scan, at + 1) == ':';
        if ((twice && gap) || (!twice && at == start))
            break;
        gap |= twice;
        at += twice ? 2 : 1;
        if (twice)
            end = at;
        else if (!is_hex(sr_entity_at(scan, at)))
            break;
    }
    if (sr_entity_goes_on(scan, end) || groups < 2 || (gap ? groups > 7 : groups != 8))
        return 0;
    *plain = digits > 0 && groups > 2;
    return end;
}

size_t sr_entity_address(struct sr_entity_scan *scan, size_t at)
{
    bool plain = false;
    unsigned char before = at ? (unsigned char)scan->text.p[at - 1] : 0;
    if (before == '.' || before == ':')
        return 0;
    size_t end = ipv4_end(scan, at);
    if (end) {
        bool doubtful = sr_entity_word_before(scan, at, 12, "version|v|release|section|ver") ||
                        !sr_entity_plausible(SR_ENTITY_IP_ADDRESS, sr_bytes_of(scan->text.p + at, end - at));
        sr_entity_found(scan, SR_ENTITY_IP_ADDRESS, at, end, doubtful ? 0.3f : 0.95f);
        return end;
    }
    unsigned char c = sr_entity_at(scan, at);
    if (!is_hex(c) && !(c == ':' && sr_entity_at(scan, at + 1) == ':'))
        return 0;
    end = ipv6_end(scan, at, &plain);
    if (end)
        sr_entity_found(scan, SR_ENTITY_IP_ADDRESS, at, end, plain ? 0.97f : 0.6f);
    return end;
}
