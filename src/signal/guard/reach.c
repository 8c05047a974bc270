/* Words by their beginnings, so that most inflected forms are one; pairs of characters where a script has no
 * spaces. */
#include "signal/guard/reach.h"

#include "base/hash.h"
#include "text/segment/segment.h"
#include "text/words.h"

#include <math.h>
#include <stdlib.h>

#define BEGINNING 5u /* characters of a word that count */
#define LEAST     4u /* of a word that counts: shorter ones are mostly articles and the like */
#define SYLLABLES 2u /* the same of Korean, both */

static const char *const protecting[] = {
    /* English, German, Dutch */
    "never", "not", "only", "always", "refuse", "decline", "secret", "confidential", "sealed", "keep",
    "don't", "cannot", "can't", "forbidden", "prohibited", "nie", "niemals", "niemandem", "nicht", "nur",
    "immer", "kein", "keine", "keinen", "keinem", "keiner", "vertraulich", "verschluss", "geheim",
    "ausschließlich", "verboten", "nooit", "niet", "geen", "alleen", "altijd", "vertrouwelijk",
    /* French, Spanish, Portuguese, Italian, Romanian */
    "jamais", "toujours", "ne", "pas", "aucun", "aucune", "uniquement", "seulement", "confidentiel",
    "confidentielle", "interdit", "nunca", "jamás", "no", "ni", "solo", "sólo", "siempre", "secreto",
    "confidencial", "prohibido", "jamais", "não", "nem", "somente", "apenas", "sempre", "segredo", "proibido",
    "mai", "non", "soltanto", "segreto", "riservato", "vietato", "niciodată", "nu", "doar", "mereu",
    "confidențial", "interzis",
    /* Scandinavian, Finnish */
    "aldrig", "inte", "bara", "endast", "alltid", "hemligt", "aldri", "ikke", "kun", "bare", "altid",
    "hemmelig", "koskaan", "älä", "ei", "vain", "aina", "salainen",
    /* Slavic */
    "nigdy", "nikomu", "tylko", "zawsze", "tajne", "poufne", "nikdy", "pouze", "jen", "vždy", "důvěrné",
    "nesmíš", "никогда", "не", "никому", "только", "всегда", "нельзя", "секрет", "секретно",
    "конфиденциально", "запрещено", "ніколи", "нікому", "лише", "тільки", "завжди", "таємно", "никога",
    "само", "винаги",
    /* Turkish, Hungarian, Greek, Indonesian, Vietnamese */
    "asla", "hiçbir", "kimseye", "sadece", "yalnızca", "gizli", "soha", "nem", "csak", "mindig", "titkos",
    "bizalmas", "tilos", "ποτέ", "μην", "δεν", "μόνο", "πάντα", "μυστικό", "απόρρητο", "jangan", "tidak",
    "hanya", "selalu", "rahasia", "dilarang", "không", "chỉ", "luôn", "bí mật", "đừng",
    /* Arabic, Persian, Urdu, Hebrew, Hindi, Bengali */
    "لا", "أبدا", "أبدًا", "فقط", "دائما", "سري", "سرية", "ممنوع", "هرگز", "نباید", "محرمانه", "نکن", "همیشه",
    "کبھی", "صرف", "לא", "לעולם", "רק", "תמיד", "סודי", "אל", "कभी", "नहीं", "केवल", "मत", "हमेशा", "गोपनीय",
    "কখনো", "না", "শুধু", "সবসময়", "গোপন",
    /* Chinese, Japanese, Korean, Thai */
    "不得", "不要", "不能", "不可", "不许", "绝对", "绝不", "只", "仅", "机密", "秘密", "保密", "禁止",
    "永远", "絕對", "絕不", "僅", "機密", "いけま", "ないで", "しない", "ません", "必ず", "だけ", "のみ",
    "決して", "絶対", "마세요", "마십시오", "말고", "말아", "절대", "항상", "비밀", "기밀", "금지", "반드시",
    "ห้าม", "ไม่", "เท่านั้น", "เสมอ", "ความลับ"};

#define N_PROTECTING (sizeof protecting / sizeof protecting[0])

int sr_reach_matcher(struct sr_matcher **out)
{
    struct sr_bytes literals[N_PROTECTING];
    struct sr_err err = {0};
    for (size_t i = 0; i < N_PROTECTING; i++)
        literals[i] = sr_bytes_str(protecting[i]);
    return sr_matcher_new(out, literals, N_PROTECTING, false, &err);
}

/* The words of a text that count, as hashes. */
struct reading {
    struct sr_words words;
    struct sr_word word;
    bool dense; /* the word before was a character of a script without spaces, which ends at `end` */
    size_t end, n;
    char last[2 * (SR_WORD_MAX + SR_UNICODE_FOLD_MAX)]; /* [n]: that character */
};

static struct reading reading_of(struct sr_bytes text)
{
    return (struct reading){.words = sr_words_of(text, false)};
}

static uint64_t hash_of_beginning(const struct sr_word *word, size_t points)
{
    size_t n = 0;
    while (n < word->n && points--) {
        n++;
        while (n < word->n && ((unsigned char)word->folded[n] & 0xc0) == 0x80)
            n++;
    }
    return sr_hash64(sr_bytes_of(word->folded, n), 0);
}

/* The pair that the character makes with the one before it; false: that is apart. */
static bool pair(struct reading *reading, uint64_t *out)
{
    const struct sr_word *word = &reading->word;
    bool joined = reading->dense && reading->end == word->start;
    size_t n = joined ? reading->n : 0;
    memcpy(reading->last + n, word->folded, word->n);
    if (joined)
        *out = sr_hash64(sr_bytes_of(reading->last, n + word->n), 0);
    memmove(reading->last, reading->last + n, word->n);
    reading->n = word->n;
    reading->end = word->end;
    reading->dense = true;
    return joined;
}

static bool next(struct reading *reading, uint64_t *out)
{
    while (sr_words_next(&reading->words, &reading->word)) {
        const struct sr_word *word = &reading->word;
        if (word->class == SR_UNICODE_DENSE) {
            if (pair(reading, out))
                return true;
            continue;
        }
        reading->dense = false;
        bool korean = word->class == SR_UNICODE_KOREAN;
        if (word->points < (korean ? SYLLABLES : LEAST))
            continue;
        *out = hash_of_beginning(word, korean ? SYLLABLES : BEGINNING);
        return true;
    }
    return false;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The different ones of `words` [n], sorted; returns how many. */
static size_t sort(uint64_t *words, size_t n)
{
    size_t kept = 0;
    qsort(words, n, sizeof *words, by_value);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || words[i] != words[i - 1])
            words[kept++] = words[i];
    return kept;
}

static void found(void *ctx, size_t id, size_t start, size_t end)
{
    (void)id, (void)start, (void)end;
    *(bool *)ctx = true;
}

/* Adds a sentence's words; when there is no room, those that are there twice go. */
static size_t add_sentence(struct sr_bytes sentence, uint64_t *words, size_t n)
{
    struct reading reading = reading_of(sentence);
    uint64_t word;
    while (next(&reading, &word)) {
        if (n == 2 * SR_REACH_WORDS_MAX)
            n = sort(words, n);
        if (n == 2 * SR_REACH_WORDS_MAX)
            break;
        words[n++] = word;
    }
    return n;
}

static size_t read_prompt(const struct sr_matcher *matcher, struct sr_bytes text, uint64_t *words)
{
    struct sr_segmenter segmenter = {0};
    struct sr_segment unit;
    size_t n = 0;
    while (sr_segment_next(&segmenter, text, true, &unit)) {
        struct sr_bytes sentence = sr_bytes_of(text.p + unit.start, unit.end - unit.start);
        bool protects = false;
        sr_matcher_each(matcher, sentence, found, &protects);
        if (protects)
            n = add_sentence(sentence, words, n);
    }
    n = sort(words, n);
    return n < SR_REACH_WORDS_MAX ? n : SR_REACH_WORDS_MAX;
}

/* As much of it as `most` bytes, cut between characters. */
static struct sr_bytes beginning(struct sr_bytes text, size_t most)
{
    if (text.n <= most)
        return text;
    while (most && ((unsigned char)text.p[most] & 0xc0) == 0x80)
        most--;
    return sr_bytes_of(text.p, most);
}

int sr_reach_read(struct sr_reach *out, const struct sr_matcher *matcher, const struct sr_signal_unit *units,
                  size_t n, struct sr_arena *arena)
{
    *out = (struct sr_reach){.n = 0};
    for (size_t i = 0; i < n && out->n < SR_REACH_PROMPTS_MAX; i++) {
        if (units[i].role != SR_ROLE_SYSTEM || units[i].source != SR_SOURCE_MESSAGE || units[i].only_seam ||
            units[i].text.n == 0)
            continue;
        uint64_t *words = sr_arena_calloc(arena, (size_t)2 * SR_REACH_WORDS_MAX, sizeof *words);
        if (!words)
            return SR_ENOMEM;
        struct sr_reach_prompt prompt = {words, 0};
        prompt.n = read_prompt(matcher, beginning(units[i].text, SR_REACH_BYTES_MAX), words);
        if (prompt.n)
            out->prompts[out->n++] = prompt;
    }
    return SR_OK;
}

static bool has(const struct sr_reach_prompt *prompt, uint64_t word)
{
    return bsearch(&word, prompt->words, prompt->n, sizeof word, by_value) != NULL;
}

float sr_reach_raise(const struct sr_reach *reach, struct sr_bytes text)
{
    size_t all = 0, mine[SR_REACH_PROMPTS_MAX] = {0};
    float most = 0;
    struct reading reading = reading_of(beginning(text, SR_REACH_TEXT_MAX));
    uint64_t word;
    while (reach->n && next(&reading, &word)) {
        all++;
        for (size_t i = 0; i < reach->n; i++)
            mine[i] += has(&reach->prompts[i], word);
    }
    for (size_t i = 0; i < reach->n; i++) {
        float share = (float)mine[i] / ((float)all + SR_REACH_SMOOTH),
              few = SR_REACH_FEW / (float)reach->prompts[i].n;
        float raise = SR_REACH_WEIGHT * share * (few < 1 ? sqrtf(few) : 1);
        most = raise > most ? raise : most;
    }
    return most < SR_REACH_MOST ? most : SR_REACH_MOST;
}
