/* The table of terms, and words as we read them. */
#include "text/terms_private.h"

#include "base/mem.h"

#define SLOTS_MIN ((size_t)1 << 13)
#define KEEP_MAX  ((size_t)1 << 16) /* elements of an array that a reset keeps */

int sr_terms_init(struct sr_terms *terms)
{
    *terms = (struct sr_terms){.glyphs = sr_glyph_table()};
    return sr_random(&terms->seed, sizeof terms->seed);
}

void sr_terms_dispose(struct sr_terms *terms)
{
    sr_mem_free(terms->entries);
    sr_mem_free(terms->rows);
    sr_mem_free(terms->slots);
    *terms = (struct sr_terms){0};
}

int sr_terms_reset(struct sr_terms *terms)
{
    if (terms->cap_entries > KEEP_MAX) {
        sr_mem_free(terms->entries);
        terms->entries = NULL;
        terms->cap_entries = 0;
    }
    if (terms->cap_rows > KEEP_MAX) {
        sr_mem_free(terms->rows);
        terms->rows = NULL;
        terms->cap_rows = 0;
    }
    if (terms->n_slots != SLOTS_MIN) {
        sr_mem_free(terms->slots);
        terms->n_slots = 0;
        terms->slots = sr_mem_alloc(SLOTS_MIN * sizeof *terms->slots);
        if (!terms->slots)
            return SR_ENOMEM;
        terms->n_slots = SLOTS_MIN;
    }
    memset(terms->slots, 0, terms->n_slots * sizeof *terms->slots);
    terms->n_entries = terms->n_rows = terms->n_terms = 0;
    terms->rc = SR_OK;
    return SR_OK;
}

size_t sr_terms_memory(const struct sr_terms *terms)
{
    return terms->cap_entries * sizeof *terms->entries + terms->cap_rows * sizeof *terms->rows +
           terms->n_slots * sizeof *terms->slots;
}

/* Makes room for one more element. */
static bool grow(struct sr_terms *terms, void **array, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return true;
    if (n >= UINT32_MAX / 2) {
        terms->rc = SR_ELIMIT;
        return false;
    }
    size_t wanted = *cap ? *cap * 2 : 1024;
    void *grown = sr_mem_realloc(*array, wanted * size);
    if (!grown) {
        terms->rc = SR_ENOMEM;
        return false;
    }
    *array = grown;
    *cap = wanted;
    return true;
}

bool sr_terms_open_row(struct sr_terms *terms)
{
    void *rows = terms->rows;
    bool room =
        terms->rc == SR_OK && grow(terms, &rows, terms->n_rows, &terms->cap_rows, sizeof *terms->rows);
    terms->rows = rows;
    if (room)
        terms->rows[terms->n_rows++] = (struct sr_terms_row){.start = (uint32_t)terms->n_entries};
    return room;
}

static bool double_slots(struct sr_terms *terms)
{
    size_t n = terms->n_slots * 2;
    struct sr_terms_slot *slots = sr_mem_calloc(n, sizeof *slots);
    if (!slots) {
        terms->rc = SR_ENOMEM;
        return false;
    }
    for (size_t i = 0; i < terms->n_slots; i++) {
        size_t to = terms->slots[i].hash & (n - 1);
        if (terms->slots[i].hash == 0)
            continue;
        while (slots[to].hash)
            to = (to + 1) & (n - 1);
        slots[to] = terms->slots[i];
    }
    sr_mem_free(terms->slots);
    terms->slots = slots;
    terms->n_slots = n;
    return true;
}

void sr_terms_append(struct sr_terms *terms, struct sr_terms_slot *slot)
{
    void *entries = terms->entries;
    bool room = grow(terms, &entries, terms->n_entries, &terms->cap_entries, sizeof *terms->entries);
    terms->entries = entries;
    if (!room)
        return;
    slot->row = (uint32_t)terms->n_rows;
    slot->at = (uint32_t)terms->n_entries;
    terms->entries[terms->n_entries++] = (struct sr_terms_entry){slot->term, 1};
}

void sr_terms_insert(struct sr_terms *terms, size_t slot, uint64_t hash)
{
    if (terms->n_terms * 2 >= terms->n_slots) {
        if (terms->rc || !double_slots(terms))
            return;
        size_t mask = terms->n_slots - 1;
        for (slot = hash & mask; terms->slots[slot].hash;)
            slot = (slot + 1) & mask;
    }
    terms->slots[slot] = (struct sr_terms_slot){.hash = hash, .term = (uint32_t)terms->n_terms++};
    sr_terms_append(terms, &terms->slots[slot]);
}

/* ASCII, by what it does: the lower case of a word's character, or 0. */
static const char word_of[128] = {
    ['0'] = '0', ['1'] = '1', ['2'] = '2', ['3'] = '3', ['4'] = '4', ['5'] = '5', ['6'] = '6', ['7'] = '7',
    ['8'] = '8', ['9'] = '9', ['_'] = '_', ['a'] = 'a', ['b'] = 'b', ['c'] = 'c', ['d'] = 'd', ['e'] = 'e',
    ['f'] = 'f', ['g'] = 'g', ['h'] = 'h', ['i'] = 'i', ['j'] = 'j', ['k'] = 'k', ['l'] = 'l', ['m'] = 'm',
    ['n'] = 'n', ['o'] = 'o', ['p'] = 'p', ['q'] = 'q', ['r'] = 'r', ['s'] = 's', ['t'] = 't', ['u'] = 'u',
    ['v'] = 'v', ['w'] = 'w', ['x'] = 'x', ['y'] = 'y', ['z'] = 'z', ['A'] = 'a', ['B'] = 'b', ['C'] = 'c',
    ['D'] = 'd', ['E'] = 'e', ['F'] = 'f', ['G'] = 'g', ['H'] = 'h', ['I'] = 'i', ['J'] = 'j', ['K'] = 'k',
    ['L'] = 'l', ['M'] = 'm', ['N'] = 'n', ['O'] = 'o', ['P'] = 'p', ['Q'] = 'q', ['R'] = 'r', ['S'] = 's',
    ['T'] = 't', ['U'] = 'u', ['V'] = 'v', ['W'] = 'w', ['X'] = 'x', ['Y'] = 'y', ['Z'] = 'z',
};

/* A sentence while its row is built. */
struct reading {
    struct sr_terms *terms;
    struct sr_bytes text;
    struct sr_terms_word word;
    struct sr_estimate_field field;
    struct sr_estimate sum;
    int32_t before; /* the character of a script without spaces just before, 0 when there is none */
};

/* A letter of a script without spaces: pairs say more than single letters, except in CJK where both do. */
static void add_dense(struct reading *r, int32_t cp, uint32_t glyph)
{
    sr_terms_end_word(r->terms, &r->word);
    if (glyph & SR_GLYPH_CJK)
        sr_terms_count(r->terms, sr_terms_pair(r->terms, 0, cp));
    if (r->before)
        sr_terms_count(r->terms, sr_terms_pair(r->terms, r->before, cp));
    r->before = cp;
}

/* A character that is not ASCII; returns its length. */
static size_t read_wide(struct reading *r, size_t at)
{
    int32_t cp;
    uint32_t glyph;
    size_t n = sr_glyph_at(r->terms->glyphs, r->text, at, &cp, &glyph);
    if (glyph & SR_GLYPH_SPACE) {
        sr_terms_end_word(r->terms, &r->word);
        sr_estimate_add_field(&r->sum, r->field);
        r->field = (struct sr_estimate_field){0};
        r->before = 0;
        return n;
    }
    r->field.cjk += (glyph & SR_GLYPH_CJK) != 0;
    r->field.points += (glyph & SR_GLYPH_CJK) == 0;
    if (glyph & (SR_GLYPH_CJK | SR_GLYPH_DENSE)) {
        if (!(glyph & SR_GLYPH_MARK))
            add_dense(r, cp, glyph);
        return n;
    }
    r->before = 0;
    if (glyph & (SR_GLYPH_LETTER | SR_GLYPH_DIGIT | SR_GLYPH_MARK))
        sr_terms_put_lower(r->terms, &r->word, cp, glyph, sr_bytes_of(r->text.p + at, n));
    else
        sr_terms_end_word(r->terms, &r->word);
    return n;
}

/* A run of ASCII word characters; returns its length. */
static size_t read_word(struct reading *r, size_t at)
{
    const unsigned char *p = (const unsigned char *)r->text.p;
    size_t i = at;
    for (; i < r->text.n && p[i] < 0x80 && word_of[p[i]]; i++) {
        if (r->word.n == SR_TERMS_WORD)
            sr_terms_put(r->terms, &r->word, &word_of[p[i]], 1);
        else
            r->word.bytes[r->word.n++] = word_of[p[i]];
    }
    r->before = 0;
    r->field.points += i - at;
    return i - at;
}

/* ASCII between words. An apostrophe between letters belongs to the word: "don't". */
static void read_mark(struct reading *r, size_t at)
{
    char c = r->text.p[at];
    bool space = c == ' ' || (c >= '\t' && c <= '\r');
    if (space) {
        sr_terms_end_word(r->terms, &r->word);
        sr_estimate_add_field(&r->sum, r->field);
        r->field = (struct sr_estimate_field){0};
        r->before = 0;
        return;
    }
    r->field.points++;
    r->field.marks += c > ' ' && c < 0x7F;
    unsigned char next = at + 1 < r->text.n ? (unsigned char)r->text.p[at + 1] : 0;
    if (c == '\'' && r->word.n && next < 0x80 && word_of[next] >= 'a')
        sr_terms_put(r->terms, &r->word, &c, 1);
    else
        sr_terms_end_word(r->terms, &r->word);
    r->before = 0;
}

static void close_row(struct sr_terms *terms)
{
    struct sr_terms_row *row = &terms->rows[terms->n_rows - 1];
    row->n = (uint32_t)terms->n_entries - row->start;
    for (size_t i = row->start; i < terms->n_entries; i++)
        row->total += terms->entries[i].count;
}

struct sr_estimate sr_terms_add(struct sr_terms *terms, struct sr_bytes sentence)
{
    struct reading r = {.terms = terms, .text = sentence};
    if (!sr_terms_open_row(terms))
        return r.sum;
    for (size_t i = 0; i < sentence.n && terms->rc == SR_OK;) {
        unsigned char c = (unsigned char)sentence.p[i];
        if (c >= 0x80) {
            i += read_wide(&r, i);
        } else if (word_of[c]) {
            i += read_word(&r, i);
        } else {
            read_mark(&r, i);
            i++;
        }
    }
    sr_terms_end_word(terms, &r.word);
    sr_estimate_add_field(&r.sum, r.field);
    close_row(terms);
    return r.sum;
}

/* A trimmed field: CJK characters alone and in pairs, what stands between them whole. */
static void add_field(struct sr_terms *terms, struct sr_bytes field)
{
    struct sr_terms_word word = {0};
    int32_t before = 0;
    for (size_t i = 0; i < field.n;) {
        int32_t cp;
        uint32_t glyph;
        size_t n = sr_glyph_at(terms->glyphs, field, i, &cp, &glyph);
        if (glyph & SR_GLYPH_CJK) {
            sr_terms_end_word(terms, &word);
            sr_terms_count(terms, sr_terms_pair(terms, 0, cp));
            if (before)
                sr_terms_count(terms, sr_terms_pair(terms, before, cp));
            before = cp;
        } else {
            sr_terms_put_lower(terms, &word, cp, glyph, sr_bytes_of(field.p + i, n));
            before = 0;
        }
        i += n;
    }
    sr_terms_end_word(terms, &word);
}

struct sr_estimate sr_terms_add_published(struct sr_terms *terms, struct sr_bytes sentence)
{
    struct sr_estimate sum = {0};
    struct sr_bytes s = sentence;
    if (!sr_terms_open_row(terms))
        return sum;
    for (size_t i = 0; i < s.n && terms->rc == SR_OK;) {
        int32_t cp;
        uint32_t glyph;
        size_t n = sr_glyph_at(terms->glyphs, s, i, &cp, &glyph);
        if (glyph & SR_GLYPH_SPACE) {
            i += n;
            continue;
        }
        struct sr_estimate_field field = {0};
        size_t first = s.n, last = i; /* of what remains when both ends are trimmed */
        for (; i < s.n; i += n) {
            n = sr_glyph_at(terms->glyphs, s, i, &cp, &glyph);
            if (glyph & SR_GLYPH_SPACE)
                break;
            field.cjk += (glyph & SR_GLYPH_CJK) != 0;
            field.points += (glyph & SR_GLYPH_CJK) == 0;
            if (!(glyph & (SR_GLYPH_LETTER | SR_GLYPH_DIGIT)))
                continue;
            first = first < i ? first : i;
            last = i + n;
        }
        sr_estimate_add_field(&sum, field);
        if (first < last)
            add_field(terms, sr_bytes_of(s.p + first, last - first));
    }
    close_row(terms);
    return sum;
}
