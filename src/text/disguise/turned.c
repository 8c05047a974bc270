/*
 * Words that read as English when they are turned: in ROT13, or with their letters backwards. Frequent words
 * begin a stretch; rarer ones next to them belong to it.
 */
#include "text/disguise/private.h"

#include <pthread.h>

#define LEAN_MAX   120 /* evidence for clear words that ends a rotated run */
#define LEAN_MIXED 48  /* more than chance for SR_DISGUISE_LEFT_MAX letters: seven a letter are usual */
#define LEAN_WORD  40  /* of a word backwards: three belong to a run, the fourth ends it */

#define TURNED_MIN 7 /* bytes of the shortest run: two words of three letters */

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

/* Its hash set, filled once: each slot holds a word's letters, five bits each. */
static uint64_t slots[512];
static pthread_once_t once = PTHREAD_ONCE_INIT;

struct set {
    enum sr_turned how;
};

static uint64_t pack_letter(uint64_t key, char c)
{
    return key << 5 | (uint64_t)((c | 0x20) - 'a' + 1);
}

static uint64_t pack(const char *p, size_t n)
{
    uint64_t key = 0;
    for (size_t i = 0; i < n && i < 8; i++)
        key = pack_letter(key, p[i]);
    return key;
}

static uint64_t pack_turned(const char *p, size_t n, enum sr_turned how)
{
    uint64_t key = 0;
    for (size_t i = 0; i < n && i < 8; i++)
        key = pack_letter(key, how == SR_TURNED_ROT13 ? sr_rot13(p[i]) : p[n - 1 - i]);
    return key;
}

static size_t slot_of(uint64_t key)
{
    return (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 55);
}

static void fill(void)
{
    for (const char *p = words; *p;) {
        size_t n = strcspn(p, " ");
        uint64_t key = pack(p, n);
        size_t slot = slot_of(key);
        while (slots[slot] && slots[slot] != key)
            slot = (slot + 1) % 512;
        slots[slot] = key;
        p += n + 1;
    }
}

static bool is_word(uint64_t key)
{
    for (size_t slot = slot_of(key); slots[slot]; slot = (slot + 1) % 512)
        if (slots[slot] == key)
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
    bool plain, turned; /* a frequent word of English as it stands, and when it is turned */
};

static struct letters letters_at(const struct set *set, struct sr_bytes text, size_t at)
{
    struct letters word = {.start = at, .end = at};
    while (word.end < text.n && is_letter(text.p[word.end]))
        word.end++;
    word.plain = is_word(pack(text.p + at, word.end - at));
    word.turned = is_word(pack_turned(text.p + at, word.end - at, set->how));
    return word;
}

/* Above 0: likelier unchanged. Letters say nothing about their order, so that backwards only known words
 * count. */
static int lean_of_word(const struct set *set, struct sr_bytes text, const struct letters *word)
{
    int lean = 0;
    if (set->how == SR_TURNED_BACKWARDS)
        return word->end - word->start > 1 ? LEAN_WORD : 0;
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

/* True when a run reaches as far as a word after which the evidence is `lean`. */
static bool reaches(const struct set *set, int lean)
{
    return set->how == SR_TURNED_BACKWARDS ? lean <= LEAN_MAX : lean < 0;
}

/* Extends a run over neighbouring words that are likelier turned: rare words, names. A frequent English word
 * ends it. */
static void widen(const struct set *set, struct sr_bytes text, size_t from, struct sr_turned_run *run)
{
    int lean = 0;
    for (size_t at = next_letter(text, run->end); at < text.n;) {
        struct letters word = letters_at(set, text, at);
        if (word.plain && !word.turned)
            break;
        lean += lean_of_word(set, text, &word);
        run->end = reaches(set, lean) ? word.end : run->end;
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
        if (word.end == at || (word.plain && !word.turned))
            break;
        lean += lean_of_word(set, text, &word);
        run->start = reaches(set, lean) ? at : run->start;
        if (lean > LEAN_MAX)
            break;
    }
}

/* True when the run holds successive words that are clearly likelier not rotated. */
static bool is_mixed(const struct set *set, struct sr_bytes text, const struct sr_turned_run *run)
{
    size_t n = 0;
    int lean = 0;
    for (size_t at = next_letter(text, run->start); at < run->end;) {
        struct letters word = letters_at(set, text, at);
        bool known = word.turned && !word.plain && word.end - word.start > 1;
        lean += lean_of_word(set, text, &word);
        lean = known || lean < 0 ? 0 : lean;
        n = lean == 0 ? 0 : n + word.end - word.start;
        if (n >= SR_DISGUISE_LEFT_MAX && lean >= LEAN_MIXED)
            return true;
        at = next_letter(text, word.end);
    }
    return false;
}

bool sr_find_turned(struct sr_bytes text, size_t from, enum sr_turned how, struct sr_turned_run *run)
{
    struct set set = {how};
    const int enough = how == SR_TURNED_BACKWARDS ? 6 : 4, known = how == SR_TURNED_BACKWARDS ? 3 : 2;
    int score = 0, best = 0, count = 0;
    size_t begin = from;
    if (text.n - from < TURNED_MIN)
        return false;
    pthread_once(&once, fill);
    for (size_t i = from; i < text.n;) {
        if (!is_letter(text.p[i])) {
            i++;
            continue;
        }
        struct letters word = letters_at(&set, text, i);
        size_t n = word.end - i;
        bool plain = word.plain, turned = word.turned;
        /* Short words and long runs without a known word give no evidence. */
        int gain = turned && !plain ? (n > 1 ? 2 : 0) : plain && !turned ? -4 : n > 1 ? -1 : 0;
        if (score <= 0) {
            score = count = 0;
            begin = i;
        }
        score += gain;
        count += turned && !plain && n > 2;
        if (score > best && count >= known) {
            best = score;
            run->start = begin;
            run->end = i + n;
        } else if (best >= enough && score < best - 8) {
            break;
        }
        i += n;
    }
    if (best < enough)
        return false;
    widen(&set, text, from, run);
    run->mixed = how == SR_TURNED_BACKWARDS || is_mixed(&set, text, run);
    return true;
}
