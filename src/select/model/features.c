/* Counts bytes: letters of other scripts count by their bytes, which is all that the predictor needs. */
#include "select/model/features.h"

#include <math.h>
#include <string.h>

const char *const sr_feature_names[SR_FEATURES] = {
    "bytes",     "words",     "word_length", "digits",     "capitals",    "signs",        "lines",
    "sentences", "questions", "commas",      "underlines", "other_bytes", "longest_word", "numbers"};

struct counts {
    size_t words, digits, capitals, signs, lines, sentences, questions, commas, underlines, other, longest,
        numbers;
};

static void count_byte(struct counts *c, unsigned char byte)
{
    c->digits += byte >= '0' && byte <= '9';
    c->capitals += byte >= 'A' && byte <= 'Z';
    c->signs += byte != '\0' && strchr("+-*/=^<>\\{}()[]$%|~&#@`", byte) != NULL;
    c->lines += byte == '\n';
    c->sentences += byte == '.' || byte == '!' || byte == '?';
    c->questions += byte == '?';
    c->commas += byte == ',';
    c->underlines += byte == '_';
    c->other += byte > 127;
}

static struct counts count(struct sr_bytes text)
{
    struct counts c = {0};
    size_t length = 0;
    bool number = false;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char byte = (unsigned char)text.p[i];
        bool space = byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
        bool digit = byte >= '0' && byte <= '9';
        count_byte(&c, byte);
        c.words += !space && length == 0;
        c.numbers += digit && !number;
        number = digit;
        length = space ? 0 : length + 1;
        c.longest = length > c.longest ? length : c.longest;
    }
    return c;
}

void sr_features_of(struct sr_bytes text, float out[SR_FEATURES])
{
    text.n = text.n < SR_FEATURES_TEXT_MAX ? text.n : SR_FEATURES_TEXT_MAX;
    struct counts c = count(text);
    double n = (double)text.n + 1;
    const double values[SR_FEATURES] = {
        log1p((double)text.n),    log1p((double)c.words),      (double)text.n / ((double)c.words + 1),
        (double)c.digits / n,     (double)c.capitals / n,      (double)c.signs / n,
        log1p((double)c.lines),   log1p((double)c.sentences),  log1p((double)c.questions),
        log1p((double)c.commas),  log1p((double)c.underlines), (double)c.other / n,
        log1p((double)c.longest), log1p((double)c.numbers),
    };
    for (size_t i = 0; i < SR_FEATURES; i++)
        out[i] = (float)values[i];
}
