/* Characters that look like Latin letters or digits: styled alphabets by their order in Unicode, others by a
 * table. */
#include "text/disguise/private.h"

/* Cyrillic, Greek, Armenian, Cherokee and Latin extensions that look like a Latin letter in running text. */
static const struct {
    uint16_t cp;
    char latin;
} table[] = {
    {0x0131, 'i'}, {0x0251, 'a'}, {0x0261, 'g'}, {0x0262, 'g'}, {0x0269, 'i'}, {0x026A, 'i'}, {0x0274, 'n'},
    {0x0280, 'r'}, {0x028F, 'y'}, {0x0299, 'b'}, {0x029C, 'h'}, {0x029F, 'l'}, {0x02B0, 'h'}, {0x02B2, 'j'},
    {0x02B3, 'r'}, {0x02B7, 'w'}, {0x02B8, 'y'}, {0x02E1, 'l'}, {0x02E2, 's'}, {0x02E3, 'x'}, {0x0391, 'A'},
    {0x0392, 'B'}, {0x0395, 'E'}, {0x0396, 'Z'}, {0x0397, 'H'}, {0x0399, 'I'}, {0x039A, 'K'}, {0x039C, 'M'},
    {0x039D, 'N'}, {0x039F, 'O'}, {0x03A1, 'P'}, {0x03A4, 'T'}, {0x03A5, 'Y'}, {0x03A7, 'X'}, {0x03B1, 'a'},
    {0x03B3, 'y'}, {0x03B5, 'e'}, {0x03B9, 'i'}, {0x03BA, 'k'}, {0x03BD, 'v'}, {0x03BF, 'o'}, {0x03C1, 'p'},
    {0x03C4, 't'}, {0x03C5, 'u'}, {0x03C7, 'x'}, {0x0405, 'S'}, {0x0406, 'I'}, {0x0408, 'J'}, {0x0410, 'A'},
    {0x0412, 'B'}, {0x0415, 'E'}, {0x041A, 'K'}, {0x041C, 'M'}, {0x041D, 'H'}, {0x041E, 'O'}, {0x0420, 'P'},
    {0x0421, 'C'}, {0x0422, 'T'}, {0x0423, 'Y'}, {0x0425, 'X'}, {0x0430, 'a'}, {0x0432, 'b'}, {0x0433, 'r'},
    {0x0435, 'e'}, {0x043A, 'k'}, {0x043C, 'm'}, {0x043D, 'h'}, {0x043E, 'o'}, {0x043F, 'n'}, {0x0440, 'p'},
    {0x0441, 'c'}, {0x0442, 't'}, {0x0443, 'y'}, {0x0445, 'x'}, {0x0455, 's'}, {0x0456, 'i'}, {0x0458, 'j'},
    {0x0475, 'v'}, {0x04AE, 'Y'}, {0x04AF, 'y'}, {0x04BB, 'h'}, {0x04C0, 'I'}, {0x04CF, 'l'}, {0x0501, 'd'},
    {0x051B, 'q'}, {0x051D, 'w'}, {0x0555, 'O'}, {0x0578, 'n'}, {0x057D, 'u'}, {0x0585, 'o'}, {0x13A0, 'D'},
    {0x13A1, 'R'}, {0x13A2, 'T'}, {0x13AA, 'A'}, {0x13AC, 'E'}, {0x13B3, 'W'}, {0x13C4, 'V'}, {0x13DA, 'S'},
    {0x13DE, 'L'}, {0x13DF, 'C'}, {0x1D00, 'a'}, {0x1D04, 'c'}, {0x1D05, 'd'}, {0x1D07, 'e'}, {0x1D0A, 'j'},
    {0x1D0B, 'k'}, {0x1D0D, 'm'}, {0x1D0F, 'o'}, {0x1D18, 'p'}, {0x1D1B, 't'}, {0x1D1C, 'u'}, {0x1D20, 'v'},
    {0x1D21, 'w'}, {0x1D22, 'z'}, {0x1D2C, 'A'}, {0x1D2E, 'B'}, {0x1D30, 'D'}, {0x1D31, 'E'}, {0x1D33, 'G'},
    {0x1D34, 'H'}, {0x1D35, 'I'}, {0x1D36, 'J'}, {0x1D37, 'K'}, {0x1D38, 'L'}, {0x1D39, 'M'}, {0x1D3A, 'N'},
    {0x1D3C, 'O'}, {0x1D3E, 'P'}, {0x1D3F, 'R'}, {0x1D40, 'T'}, {0x1D41, 'U'}, {0x1D42, 'W'}, {0x1D43, 'a'},
    {0x1D47, 'b'}, {0x1D48, 'd'}, {0x1D49, 'e'}, {0x1D4D, 'g'}, {0x1D4F, 'k'}, {0x1D50, 'm'}, {0x1D52, 'o'},
    {0x1D56, 'p'}, {0x1D57, 't'}, {0x1D58, 'u'}, {0x1D5B, 'v'}, {0x1D9C, 'c'}, {0x1DA0, 'f'}, {0x1DBB, 'z'},
    {0x2071, 'i'}, {0x207F, 'n'}, {0x2102, 'C'}, {0x210A, 'g'}, {0x210B, 'H'}, {0x210C, 'H'}, {0x210D, 'H'},
    {0x210E, 'h'}, {0x2110, 'I'}, {0x2111, 'I'}, {0x2112, 'L'}, {0x2113, 'l'}, {0x2115, 'N'}, {0x2119, 'P'},
    {0x211A, 'Q'}, {0x211B, 'R'}, {0x211C, 'R'}, {0x211D, 'R'}, {0x2124, 'Z'}, {0x2128, 'Z'}, {0x212C, 'B'},
    {0x212D, 'C'}, {0x212F, 'e'}, {0x2130, 'E'}, {0x2131, 'F'}, {0x2133, 'M'}, {0x2134, 'o'}, {0x2C7D, 'V'},
    {0xA730, 'f'}, {0xA731, 's'},
};

static char of_order(int32_t offset)
{
    return (char)(offset < 26 ? 'A' + offset : 'a' + offset - 26);
}

/* The letters of English braille, by the dots that are raised. */
static char braille(int32_t cp)
{
    static const char letters[64] = {
        [0x01] = 'a', [0x03] = 'b', [0x09] = 'c', [0x19] = 'd', [0x11] = 'e', [0x0B] = 'f', [0x1B] = 'g',
        [0x13] = 'h', [0x0A] = 'i', [0x1A] = 'j', [0x05] = 'k', [0x07] = 'l', [0x0D] = 'm', [0x1D] = 'n',
        [0x15] = 'o', [0x0F] = 'p', [0x1F] = 'q', [0x17] = 'r', [0x0E] = 's', [0x1E] = 't', [0x25] = 'u',
        [0x27] = 'v', [0x3A] = 'w', [0x2D] = 'x', [0x3D] = 'y', [0x35] = 'z'};
    return cp >= 0x2800 && cp < 0x2840 ? letters[cp - 0x2800] : 0;
}

static char styled(int32_t cp)
{
    if (cp >= 0x2800 && cp < 0x2900)
        return braille(cp);
    if (cp >= 0xFF21 && cp <= 0xFF3A)
        return (char)('A' + cp - 0xFF21);
    if (cp >= 0xFF41 && cp <= 0xFF5A)
        return (char)('a' + cp - 0xFF41);
    if (cp >= 0xFF10 && cp <= 0xFF19)
        return (char)('0' + cp - 0xFF10);
    if (cp >= 0x1D7CE && cp <= 0x1D7FF) /* five sets of digits */
        return (char)('0' + (cp - 0x1D7CE) % 10);
    if (cp == 0xFF20 || cp == 0xFE6B)
        return '@';
    if (cp >= 0x1D400 && cp <= 0x1D6A3) /* thirteen alphabets of 52 */
        return of_order((cp - 0x1D400) % 52);
    if (cp >= 0x24B6 && cp <= 0x24E9) /* circled */
        return of_order(cp - 0x24B6);
    if (cp >= 0x249C && cp <= 0x24B5) /* in parentheses */
        return (char)('a' + cp - 0x249C);
    for (int32_t first = 0x1F110; first <= 0x1F170; first += 0x20) /* in boxes and circles */
        if (cp >= first && cp < first + 26)
            return (char)('A' + cp - first);
    if (cp >= 0x1F1E6 && cp <= 0x1F1FF) /* regional indicators */
        return (char)('A' + cp - 0x1F1E6);
    return 0;
}

char sr_lookalike(int32_t cp, bool *sure)
{
    size_t low = 0, high = sizeof table / sizeof table[0];
    char c = cp > 0x7F ? styled(cp) : 0;
    *sure = c != 0 || (cp >= 0x2100 && cp < 0x2140) || (cp >= 0x1D2C && cp < 0x1D6B) ||
            (cp >= 0x2071 && cp < 0x2080);
    if (c)
        return c;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (table[middle].cp == cp)
            return table[middle].latin;
        if (table[middle].cp < cp)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}
