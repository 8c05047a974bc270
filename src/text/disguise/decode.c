/* Encodings: base64, hexadecimal, ROT13. A run is accepted only if it decodes to readable text. */
#include "base/utf8.h"
#include "text/disguise/private.h"

#define RUN_MAX    ((size_t)1 << 20) /* bytes of one encoded run */
#define LEAN_MAX   120               /* evidence for clear words that ends a rotated run */
#define LEAN_MIXED 48 /* more than chance for SR_DISGUISE_LEFT_MAX letters: seven a letter are usual */

/* Text: valid UTF-8, no controls but white space, and mostly letters and spaces. */
static bool reads_as_text(struct sr_bytes s)
{
    size_t letters = 0;
    if (s.n < 6 || !sr_utf8_valid(s))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if ((c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7F)
            return false;
        letters += (unsigned)((c | 0x20) - 'a') < 26 || c == ' ' || c >= 0x80;
    }
    return letters * 10 >= s.n * 7;
}

static int value64(unsigned char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

size_t sr_decode_base64(struct sr_bytes text, size_t at, char *out, size_t *n)
{
    uint32_t bits = 0;
    int have = 0;
    size_t i = at, chars = 0, end = at, written = 0;
    unsigned kinds = 0; /* upper case, lower case, digits: words mix fewer kinds */
    for (; i < text.n && i - at < RUN_MAX; i++) {
        unsigned char c = (unsigned char)text.p[i];
        int value = value64(c);
        bool line_end = (c == '\n' || c == '\r') && chars >= 60; /* as in mail: 64 or 76 */
        if (value < 0 && line_end && i + 1 < text.n)
            continue;
        if (value < 0)
            break;
        kinds |= c >= 'A' && c <= 'Z' ? 1u : c >= 'a' && c <= 'z' ? 2u : 4u;
        chars++;
        end = i + 1;
        bits = bits << 6 | (uint32_t)value;
        have += 6;
        if (have >= 8) {
            have -= 8;
            out[written++] = (char)(bits >> have & 0xFF);
        }
    }
    if (chars < SR_DISGUISE_BASE64_MIN || (kinds & 3u) != 3u)
        return 0;
    while (end < text.n && text.p[end] == '=' && end - i < 2)
        end++;
    *n = written;
    return reads_as_text(sr_bytes_of(out, written)) ? end : 0;
}

static int value16(unsigned char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Pairs of hexadecimal digits, optionally with one space, comma, colon or \x between two pairs. */
size_t sr_decode_hex(struct sr_bytes text, size_t at, char *out, size_t *n)
{
    bool escaped = at > 0 && text.p[at] == 'x' && text.p[at - 1] == '\\';
    size_t i = at + escaped, end = at, written = 0;
    while (i + 1 < text.n && i - at < RUN_MAX) {
        if (text.p[i] == '\\' && text.p[i + 1] == 'x')
            i += 2;
        int high = i + 1 < text.n ? value16((unsigned char)text.p[i]) : -1;
        int low = high >= 0 ? value16((unsigned char)text.p[i + 1]) : -1;
        if (low < 0)
            break;
        out[written++] = (char)(high << 4 | low);
        i += 2;
        end = i;
        if (i < text.n && (text.p[i] == ' ' || text.p[i] == ':' || text.p[i] == ','))
            i++;
    }
    *n = written;
    return written * 2 >= SR_DISGUISE_HEX_MIN && reads_as_text(sr_bytes_of(out, written)) ? end : 0;
}

/* ---- ROT13 ---- */

char sr_rot13(char c)
{
    char lower = (char)(c | 0x20);
    if (lower < 'a' || lower > 'z')
        return c;
    return (char)(lower < 'n' ? c + 13 : c - 13);
}

/* Frequent English words and those of instructions, at most their first eight letters. */
static const char words[] =
    "a about act after all also always an and answer any are as ask at be been "
    "before but by can code could data "
    "disregar do does each english every first follow for forget format from gave get "
    "give given go good guidelin had "
    "has have he help her him his how i if ignore in informat instruct into is it "
    "its jailbrea just key know language "
    "let like list little long make many may me mode model more most must my name "
    "never new no not now of on one only "
    "or other our out output override password people persona please previous print "
    "prior prompt question read "
    "remember repeat respond response restrict return reveal role rule rules safety "
    "say secret see send she should "
    "show so some system take tell text than that the their them then there these "
    "they this time to two up us use "
    "user very want was way we were what when where which who will with without word "
    "words would write year you your ";

/* Its hash set: each slot holds a word's letters, five bits each. */
struct set {
    uint64_t slots[512];
};

static uint64_t pack(const char *p, size_t n, bool rotated)
{
    uint64_t key = 0;
    for (size_t i = 0; i < n && i < 8; i++) {
        char c = rotated ? sr_rot13(p[i]) : p[i];
        key = key << 5 | (uint64_t)((c | 0x20) - 'a' + 1);
    }
    return key;
}

static size_t slot_of(uint64_t key)
{
    return (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 55);
}

static void set_fill(struct set *set)
{
    memset(set, 0, sizeof *set);
    for (const char *p = words; *p;) {
        size_t n = strcspn(p, " ");
        uint64_t key = pack(p, n, false);
        size_t slot = slot_of(key);
        while (set->slots[slot] && set->slots[slot] != key)
            slot = (slot + 1) % 512;
        set->slots[slot] = key;
        p += n + 1;
    }
}

static bool set_has(const struct set *set, uint64_t key)
{
    for (size_t slot = slot_of(key); set->slots[slot]; slot = (slot + 1) % 512)
        if (set->slots[slot] == key)
            return true;
    return false;
}

static bool is_letter(char c)
{
    return (unsigned)((c | 0x20) - 'a') < 26;
}

/* How much likelier a letter of European languages is unchanged than rotated: ten times the logarithm of both
 * frequencies' ratio, at most 25. */
static int lean_of(char c)
{
    static const signed char leans[] = {2, -16, 4, 25, 7, -10, -15, 8, 19, -25, 14, 7, 25};
    int i = (c | 0x20) - 'a';
    return i < 13 ? leans[i] : -leans[i - 13];
}

/* Adjacent letters. */
struct letters {
    size_t start, end;
    bool plain, rotated; /* a word that is frequent in English without rotation */
};

static struct letters letters_at(const struct set *set, struct sr_bytes text, size_t at)
{
    struct letters word = {.start = at, .end = at};
    while (word.end < text.n && is_letter(text.p[word.end]))
        word.end++;
    word.plain = set_has(set, pack(text.p + at, word.end - at, false));
    word.rotated = set_has(set, pack(text.p + at, word.end - at, true));
    return word;
}

/* Above 0: likelier unchanged. */
static int lean_of_word(struct sr_bytes text, const struct letters *word)
{
    int lean = 0;
    for (size_t i = word->start; i < word->end; i++)
        lean += lean_of(text.p[i]);
    return lean;
}

static size_t next_letter(struct sr_bytes text, size_t at)
{
    while (at < text.n && !is_letter(text.p[at]))
        at++;
    return at;
}

/* Extends a run over neighbouring words that are likelier rotated: rare words, names. A frequent English word
 * ends it. */
static void widen(const struct set *set, struct sr_bytes text, size_t from, struct sr_rot13_run *run)
{
    int lean = 0;
    for (size_t at = next_letter(text, run->end); at < text.n;) {
        struct letters word = letters_at(set, text, at);
        if (word.plain && !word.rotated)
            break;
        lean += lean_of_word(text, &word);
        run->end = lean < 0 ? word.end : run->end;
        if (lean > LEAN_MAX)
            break;
        at = next_letter(text, word.end);
    }
    lean = 0;
    for (size_t at = run->start; at > from;) {
        while (at > from && !is_letter(text.p[at - 1]))
            at--;
        while (at > from && is_letter(text.p[at - 1]))
            at--;
        struct letters word = letters_at(set, text, at);
        if (word.end == at || (word.plain && !word.rotated))
            break;
        lean += lean_of_word(text, &word);
        run->start = lean < 0 ? at : run->start;
        if (lean > LEAN_MAX)
            break;
    }
}

/* True when the run holds successive words that are clearly likelier not rotated. */
static bool is_mixed(const struct set *set, struct sr_bytes text, const struct sr_rot13_run *run)
{
    size_t n = 0;
    int lean = 0;
    for (size_t at = next_letter(text, run->start); at < run->end;) {
        struct letters word = letters_at(set, text, at);
        bool known = word.rotated && !word.plain && word.end - word.start > 1;
        lean += lean_of_word(text, &word);
        lean = known || lean < 0 ? 0 : lean;
        n = lean == 0 ? 0 : n + word.end - word.start;
        if (n >= SR_DISGUISE_LEFT_MAX && lean >= LEAN_MIXED)
            return true;
        at = next_letter(text, word.end);
    }
    return false;
}

bool sr_find_rot13(struct sr_bytes text, size_t from, struct sr_rot13_run *run)
{
    struct set set;
    int score = 0, best = 0, count = 0;
    size_t begin = from;
    set_fill(&set);
    for (size_t i = from; i < text.n;) {
        if (!is_letter(text.p[i])) {
            i++;
            continue;
        }
        struct letters word = letters_at(&set, text, i);
        size_t n = word.end - i;
        bool plain = word.plain, rotated = word.rotated;
        /* Short words and long runs without a known word give no evidence. */
        int gain = rotated && !plain ? (n > 1 ? 2 : 0) : plain && !rotated ? -4 : n > 1 ? -1 : 0;
        if (score <= 0) {
            score = count = 0;
            begin = i;
        }
        score += gain;
        count += rotated && !plain && n > 2;
        if (score > best && count >= 2) {
            best = score;
            run->start = begin;
            run->end = i + n;
        } else if (best >= 4 && score < best - 8) {
            break;
        }
        i += n;
    }
    if (best < 4)
        return false;
    widen(&set, text, from, run);
    run->mixed = is_mixed(&set, text, run);
    return true;
}
