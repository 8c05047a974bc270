/* Decodes without memory: bits in, bytes out, and the length of the text that is being read. */
#include "router/request/sealed.h"

#include "base/base64.h"
#include "router/request/form.h"

#include <stdint.h>
#include <string.h>

#define WORDY_MAX 54  /* letters of one case and separators among 64 characters: by chance about 30 */
#define WORDY_MIN 16  /* characters that a string needs to have words */
#define ROW_MAX   100 /* letters, or digits of base 16, in a row; as many are never there by chance */
#define ROW_ALONE 32  /* the same of a whole string */
#define ZEROS_MAX 3   /* between characters of wide encodings */

struct reader {
    uint64_t lower, upper; /* which of the latest 64 characters could be of words: one bit each */
    size_t letters, hex;   /* in a row up to here */
    size_t rows;           /* the longest of both */
    uint32_t bits;
    unsigned n_bits;
    unsigned zeros;         /* bytes of zero in a row */
    unsigned run;           /* bytes of text up to here */
    unsigned needed, begun; /* of a character: continuation bytes that must follow, bytes so far */
};

static bool is_plain(uint8_t byte)
{
    return (byte >= 0x20 && byte < 0x7f) || byte == '\t' || byte == '\n' || byte == '\r';
}

/* Bytes that must follow the first one of a character; 0: it begins none. */
static unsigned follow(uint8_t byte)
{
    return byte >= 0xc2 && byte <= 0xdf   ? 1
           : byte >= 0xe0 && byte <= 0xef ? 2
           : byte >= 0xf0 && byte <= 0xf4 ? 3
                                          : 0;
}

static void read_byte(struct reader *reader, uint8_t byte)
{
    reader->zeros = byte ? 0 : reader->zeros + 1;
    if (!byte && !reader->needed && reader->zeros <= ZEROS_MAX)
        return; /* text in UTF-16 and UTF-32 has them */
    if (reader->needed && (byte & 0xc0) == 0x80) {
        reader->begun++;
        if (--reader->needed == 0)
            reader->run += reader->begun;
        return;
    }
    if (reader->needed)
        reader->run = 0;
    reader->needed = 0;
    if (is_plain(byte)) {
        reader->run++;
        return;
    }
    reader->needed = follow(byte);
    reader->begun = 1;
    if (!reader->needed)
        reader->run = 0;
}

/* Notes how many letters, and how many digits of base 16, stand in a row. */
static void note_rows(struct reader *reader, char c)
{
    char low = sr_ascii_lower(c);
    bool digit = c >= '0' && c <= '9';
    reader->letters = low >= 'a' && low <= 'z' ? reader->letters + 1 : 0;
    reader->hex = digit || (low >= 'a' && low <= 'f') ? reader->hex + 1 : 0;
    size_t longer = reader->letters > reader->hex ? reader->letters : reader->hex;
    reader->rows = longer > reader->rows ? longer : reader->rows;
}

/* Notes a character of base64. True: the latest ones look like words. */
static bool reads_as_words(struct reader *reader, char c, size_t n)
{
    bool separates = c == '+' || c == '/' || c == '-' || c == '_';
    size_t seen = n < 64 ? n : 64;
    reader->lower = reader->lower << 1 | (separates || (c >= 'a' && c <= 'z'));
    reader->upper = reader->upper << 1 | (separates || (c >= 'A' && c <= 'Z'));
    size_t most = (size_t)__builtin_popcountll(reader->lower),
           other = (size_t)__builtin_popcountll(reader->upper);
    return (most > other ? most : other) * 64 > seen * WORDY_MAX;
}

/* The string behind an item's id and `~`, or all of it. */
static struct sr_bytes without_id(struct sr_bytes raw)
{
    const char *mark = memchr(raw.p, '~', raw.n < 128 ? raw.n : 128);
    if (!mark || !sr_form_is_id(sr_bytes_of(raw.p, (size_t)(mark - raw.p))))
        return raw;
    return sr_bytes_of(mark + 1, raw.n - (size_t)(mark + 1 - raw.p));
}

bool sr_sealed_is(struct sr_bytes raw, bool escaped)
{
    struct reader reader = {0};
    raw = without_id(raw);
    if (raw.n > SR_SEALED_MAX)
        return false;
    for (size_t ends = 0; ends < 2 && raw.n > 0 && raw.p[raw.n - 1] == '='; ends++)
        raw.n--;
    bool wordy = false;
    size_t digits = 0;
    for (size_t i = 0; i < raw.n; i++) {
        if (escaped && raw.p[i] == '\\' && i + 1 < raw.n && raw.p[i + 1] == '/')
            i++;
        int value = sr_base64_digit(raw.p[i]);
        if (value < 0)
            return false;
        wordy = reads_as_words(&reader, raw.p[i], ++digits);
        note_rows(&reader, raw.p[i]);
        if ((wordy && digits >= 64) || reader.rows > ROW_MAX)
            return false;
        reader.bits = reader.bits << 6 | (uint32_t)value;
        reader.n_bits += 6;
        if (reader.n_bits < 8)
            continue;
        reader.n_bits -= 8;
        read_byte(&reader, (uint8_t)(reader.bits >> reader.n_bits));
        if (reader.run >= SR_SEALED_RUN)
            return false;
    }
    bool one_row = digits >= ROW_ALONE && reader.rows == digits;
    return digits > 0 && !one_row && !(wordy && digits >= WORDY_MIN);
}
