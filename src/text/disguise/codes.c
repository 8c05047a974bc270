/*
 * Codes of single characters: decimal numbers (105 103 110) and Morse.
 *
 * Lists of numbers and rows of dashes are common in harmless texts; only those that say words, or only
 * digits, are taken.
 */
#include "text/ascii.h"
#include "text/disguise/private.h"

#define NUMBERS_MIN  12 /* numbers of a list */
#define MORSE_MIN    12 /* letters */
#define DISTINCT_MIN 5  /* different letters of them */
#define SIGNS_MAX    5  /* of one letter */
#define BETWEEN_MAX  4  /* bytes between two numbers */

/* What a list says, character by character. */
struct says {
    size_t n, small, digits;
    uint32_t letters; /* bits of a to z */
    char *out;        /* or NULL: room for all of it */
};

static void say(struct says *says, char c)
{
    if (says->out)
        says->out[says->n] = c;
    says->n++;
    says->small += (c >= 'a' && c <= 'z') || c == ' ';
    says->digits += (c >= '0' && c <= '9') || c == ' ' || c == '-';
    if (c >= 'a' && c <= 'z')
        says->letters |= 1u << (c - 'a');
}

static int distinct(uint32_t bits)
{
    return __builtin_popcount(bits);
}

/* A number from 0 to 999 at `at`; returns its end, 0 when there is none. */
static size_t number_at(struct sr_bytes text, size_t at, int *value)
{
    size_t i = at;
    *value = 0;
    for (; i < text.n && i < at + 3 && text.p[i] >= '0' && text.p[i] <= '9'; i++)
        *value = *value * 10 + (text.p[i] - '0');
    return i == at || (i < text.n && sr_ascii_is_word((unsigned char)text.p[i])) ? 0 : i;
}

static size_t read_numbers(struct sr_bytes text, size_t at, struct says *says)
{
    size_t end = at, i = at;
    for (;;) {
        int value;
        size_t next = number_at(text, i, &value);
        if (!next || !((value >= ' ' && value < 0x7F) || value == '\n'))
            return end;
        say(says, value == '\n' ? ' ' : (char)value);
        end = next;
        for (i = next; i < text.n && i < next + BETWEEN_MAX && strchr(" ,;-|\n\t", text.p[i]);)
            i++;
        if (i == next)
            return end;
    }
}

/* The letter of at most SIGNS_MAX dots and dashes, 0 for none. */
static char morse_letter(const char *p, size_t n)
{
    static const char letters[] = "\0\0etianmsurwdkgohvf\0l\0pjbxcyzq\0\0";
    static const char digits[10][6] = {"-----", ".----", "..---", "...--", "....-",
                                       ".....", "-....", "--...", "---..", "----."};
    size_t code = 1;
    for (size_t i = 0; i < n && i < 5; i++)
        code = code << 1 | (p[i] != '.');
    if (n < 5)
        return letters[code];
    for (char d = 0; d < 10; d++)
        if (memcmp(digits[(size_t)d], p, 5) == 0)
            return (char)('0' + d);
    return 0;
}

static size_t read_morse(struct sr_bytes text, size_t at, struct says *says)
{
    size_t end = at, i = at;
    while (i < text.n) {
        char signs[SIGNS_MAX];
        size_t n = 0, gap = 0;
        bool word = false;
        while (i + n < text.n && n < SIGNS_MAX && (text.p[i + n] == '.' || text.p[i + n] == '-')) {
            signs[n] = text.p[i + n];
            n++;
        }
        char letter = n ? morse_letter(signs, n) : 0;
        if (!letter)
            return end;
        say(says, letter);
        end = i += n;
        while (i + gap < text.n && gap < 4 && strchr(" /|\n", text.p[i + gap])) {
            word |= text.p[i + gap] != ' ' || gap > 1;
            gap++;
        }
        if (gap == 0)
            return end;
        if (word)
            say(says, ' ');
        i += gap;
    }
    return end;
}

static bool begins_word(struct sr_bytes text, size_t at)
{
    return at == 0 || !(sr_ascii_is_word((unsigned char)text.p[at - 1]) || strchr(".-", text.p[at - 1]));
}

bool sr_find_codes(struct sr_bytes text, size_t at, struct sr_run *run, char *out, size_t *skip)
{
    struct says says = {.out = out};
    char c = text.p[at];
    bool taken = false;
    *skip = 0;
    if (!begins_word(text, at))
        return false;
    if (c >= '0' && c <= '9') {
        *skip = read_numbers(text, at, &says);
        taken = says.n >= NUMBERS_MIN && (says.small * 10 >= says.n * 8 || says.digits == says.n);
    } else if (c == '.' || c == '-') {
        *skip = read_morse(text, at, &says);
        taken = says.n >= MORSE_MIN && distinct(says.letters) >= DISTINCT_MIN;
    }
    if (taken)
        *run = (struct sr_run){.start = at,
                               .end = *skip,
                               .n = says.n,
                               .in_place = says.n < 48,
                               .alone = true,
                               .disguise = SR_DISGUISE_CODES};
    return taken;
}
