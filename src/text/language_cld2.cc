/*
 * CLD2 behind a C face. The only C++ of the program: the library has no C interface.
 * It keeps no state between calls and never throws on plain text; its tables are static.
 */
#include "text/language.h"

#include <stdio.h>

#include <cld2/public/compact_lang_det.h>
#include <cld2/public/encodings.h>

/* "zh-Hant" and "iw" as people write them in rules. */
static void code_of(CLD2::Language language, char out[8])
{
    snprintf(out, 8, "%s", CLD2::LanguageCode(language));
    if (strcmp(out, "iw") == 0)
        snprintf(out, 8, "he");
    if (strncmp(out, "zh-", 3) == 0)
        out[2] = 0;
}

/* Three thirds of the sample, each cut at code point borders, joined by a line break. */
static int sample(struct sr_bytes text, char *out)
{
    const size_t third = SR_LANGUAGE_SAMPLE / 3;
    const size_t starts[3] = {0, text.n / 2 - third / 2, text.n - third};
    size_t n = 0;
    for (size_t start : starts) {
        size_t end = start + third;
        while (start < end && ((unsigned char)text.p[start] & 0xC0) == 0x80)
            start++;
        while (end > start && end < text.n && ((unsigned char)text.p[end] & 0xC0) == 0x80)
            end--;
        memcpy(out + n, text.p + start, end - start);
        n += end - start;
        out[n++] = '\n';
    }
    return (int)n;
}

extern "C" struct sr_languages sr_language_detect(struct sr_bytes text)
{
    struct sr_languages found = {};
    char buffer[SR_LANGUAGE_SAMPLE + 3];
    const char *p = text.p;
    int n = (int)text.n;
    if (text.n == 0)
        return found;
    if (text.n > SR_LANGUAGE_SAMPLE) {
        n = sample(text, buffer);
        p = buffer;
    }
    CLD2::CLDHints hints = {nullptr, nullptr, CLD2::UNKNOWN_ENCODING, CLD2::UNKNOWN_LANGUAGE};
    CLD2::Language languages[3] = {CLD2::UNKNOWN_LANGUAGE, CLD2::UNKNOWN_LANGUAGE, CLD2::UNKNOWN_LANGUAGE};
    int percent[3] = {0, 0, 0}, bytes = 0, valid = 0;
    double scores[3];
    bool reliable = false;
    CLD2::ExtDetectLanguageSummaryCheckUTF8(p, n, true, &hints, CLD2::kCLDFlagBestEffort, languages, percent,
                                            scores, nullptr, &bytes, &reliable, &valid);
    for (int i = 0; i < 3; i++) {
        if (languages[i] == CLD2::UNKNOWN_LANGUAGE || percent[i] <= 0)
            continue;
        struct sr_language *item = &found.items[found.count];
        code_of(languages[i], item->code);
        item->confidence = (float)percent[i] / 100.0f * (reliable ? 1.0f : 0.5f);
        found.count++;
    }
    return found;
}
