/*
 * Aho and Corasick's automaton (CACM 18(6), 1975), completed to a DFA over byte classes.
 *
 * Speed comes from four independent walks over four quarters of a text, which hides the latency of the table:
 * each walk starts a literal's length before its quarter, and reports only literals that end inside it. A
 * text with letters above ASCII is first folded through a window, so that the walk reads only folded bytes.
 */
#include "text/terms/match.h"

#include "base/mem.h"
#include "base/unicode.h"

#define ENTRY_HIT   UINT32_C(0x80000000) /* the target state ends literals */
#define NONE        UINT32_MAX
#define LANES       4
#define LANES_MIN   ((size_t)1 << 10) /* shorter texts use a single walk */
#define WINDOW      ((size_t)16 << 10)
#define WINDOW_KEEP (SR_MATCH_LITERAL_MAX + 2 * SR_UTF8_MAX)

struct literal {
    uint32_t same; /* next literal with the same bytes, NONE at the end */
    uint16_t length;
    uint8_t left, right; /* enum sr_unicode_class that must not continue at the edge; SR_UNICODE_OTHER = no
                            restriction */
};

struct sr_matcher {
    bool case_sensitive;
    uint32_t classes;
    size_t longest;
    uint8_t class_of[256];
    uint8_t ascii_class[128]; /* enum sr_unicode_class of ASCII */
    struct literal *literals;
    uint32_t *table;  /* [states * classes]: first entry of the next state, with ENTRY_HIT */
    uint32_t *ends;   /* [states]: first literal that ends here, NONE */
    uint32_t *suffix; /* [states]: the next shorter state that ends literals, 0 = none */
};

struct sink {
    uint32_t *counts; /* or NULL; then: */
    sr_matcher_hit *hit;
    void *ctx;
    size_t base; /* offset of the view in the whole folded text */
};

/* The compiled form of a literal: its bytes, folded unless case matters. 0 when it is empty or too long. */
static size_t literal_bytes(const struct sr_matcher *matcher, struct sr_bytes literal, char *out)
{
    size_t at = 0;
    if (literal.n == 0 || literal.n > SR_MATCH_LITERAL_MAX)
        return 0;
    if (!matcher->case_sensitive) {
        size_t n = sr_unicode_fold_into(literal, &at, out, SR_MATCH_LITERAL_MAX + SR_UNICODE_FOLD_MAX);
        return at == literal.n && n <= SR_MATCH_LITERAL_MAX ? n : 0;
    }
    memcpy(out, literal.p, literal.n);
    return literal.n;
}

static void literal_edges(struct literal *literal, struct sr_bytes bytes)
{
    int32_t cp;
    sr_utf8_decode(bytes, 0, &cp);
    enum sr_unicode_class left = sr_unicode_class(cp);
    sr_utf8_decode_before(bytes, bytes.n, &cp);
    enum sr_unicode_class right = sr_unicode_class(cp);
    literal->left = (uint8_t)(left == SR_UNICODE_DENSE ? SR_UNICODE_OTHER : left);
    literal->right = right == SR_UNICODE_WORD ? SR_UNICODE_WORD : SR_UNICODE_OTHER;
}

/* Assigns classes to the bytes that occur; class 0 is every other byte and leads back to the root. */
static int measure(struct sr_matcher *matcher, const struct sr_bytes *literals, size_t n, size_t *states,
                   struct sr_err *err)
{
    char bytes[SR_MATCH_LITERAL_MAX + SR_UNICODE_FOLD_MAX];
    *states = 1;
    matcher->classes = 1;
    for (size_t i = 0; i < n; i++) {
        size_t length = literal_bytes(matcher, literals[i], bytes);
        if (length == 0)
            return sr_err_set(err, SR_EINVAL, "a keyword must have 1 to %d bytes", SR_MATCH_LITERAL_MAX);
        *states += length;
        if (length > matcher->longest)
            matcher->longest = length;
        for (size_t k = 0; k < length; k++) {
            uint8_t *class = &matcher->class_of[(unsigned char)bytes[k]];
            if (*class == 0)
                *class = (uint8_t)matcher->classes++;
        }
    }
    if (*states > SR_MATCH_TABLE_MAX / matcher->classes)
        return sr_err_set(err, SR_ELIMIT, "the keywords are too many for one automaton (%zu bytes)", *states);
    for (int c = 'A'; !matcher->case_sensitive && c <= 'Z'; c++)
        matcher->class_of[c] = matcher->class_of[c + 32];
    for (int c = 0; c < 128; c++)
        matcher->ascii_class[c] = (uint8_t)sr_unicode_class(c);
    return SR_OK;
}

/* Builds the trie; entries hold state numbers for now. Returns the number of states. */
static uint32_t build_trie(struct sr_matcher *matcher, const struct sr_bytes *literals, size_t n)
{
    char bytes[SR_MATCH_LITERAL_MAX + SR_UNICODE_FOLD_MAX];
    uint32_t states = 1;
    matcher->ends[0] = NONE;
    for (size_t i = 0; i < n; i++) {
        size_t length = literal_bytes(matcher, literals[i], bytes);
        uint32_t state = 0;
        for (size_t k = 0; k < length; k++) {
            uint32_t *entry =
                &matcher->table[state * matcher->classes + matcher->class_of[(unsigned char)bytes[k]]];
            if (*entry == 0) {
                matcher->ends[states] = NONE;
                *entry = states++;
            }
            state = *entry;
        }
        struct literal *literal = &matcher->literals[i];
        literal->length = (uint16_t)length;
        literal_edges(literal, sr_bytes_of(bytes, length));
        literal->same = matcher->ends[state];
        matcher->ends[state] = (uint32_t)i;
    }
    return states;
}

/* Breadth first: turns failure links into plain transitions. `fail` and `queue` have one entry per state. */
static void complete(struct sr_matcher *matcher, uint32_t states, uint32_t *fail, uint32_t *queue)
{
    uint32_t classes = matcher->classes, head = 0, tail = 0;
    for (uint32_t c = 1; c < classes; c++)
        if (matcher->table[c])
            queue[tail++] = matcher->table[c];
    while (head < tail) {
        uint32_t state = queue[head++], down = fail[state];
        uint32_t *row = &matcher->table[state * classes], *below = &matcher->table[down * classes];
        matcher->suffix[state] = matcher->ends[down] != NONE ? down : matcher->suffix[down];
        for (uint32_t c = 1; c < classes; c++) {
            if (row[c]) {
                fail[row[c]] = below[c];
                queue[tail++] = row[c];
            } else {
                row[c] = below[c];
            }
        }
    }
    for (size_t i = 0; i < (size_t)states * classes; i++) {
        uint32_t to = matcher->table[i];
        bool hit = matcher->ends[to] != NONE || matcher->suffix[to];
        matcher->table[i] = to * classes | (hit ? ENTRY_HIT : 0);
    }
}

int sr_matcher_new(struct sr_matcher **out, const struct sr_bytes *literals, size_t n, bool case_sensitive,
                   struct sr_err *err)
{
    size_t states = 0;
    uint32_t *scratch = NULL;
    struct sr_matcher *matcher = sr_mem_calloc(1, sizeof *matcher);
    int rc = SR_ENOMEM;
    if (!matcher)
        return rc;
    matcher->case_sensitive = case_sensitive;
    rc = measure(matcher, literals, n, &states, err);
    if (rc)
        goto out;
    rc = SR_ENOMEM;
    matcher->literals = sr_mem_calloc(n + 1, sizeof *matcher->literals);
    matcher->table = sr_mem_calloc(states * matcher->classes, sizeof *matcher->table);
    matcher->ends = sr_mem_calloc(states, sizeof *matcher->ends);
    matcher->suffix = sr_mem_calloc(states, sizeof *matcher->suffix);
    scratch = sr_mem_calloc(states * 2, sizeof *scratch);
    if (!matcher->literals || !matcher->table || !matcher->ends || !matcher->suffix || !scratch)
        goto out;
    complete(matcher, build_trie(matcher, literals, n), scratch, scratch + states);
    rc = SR_OK;
out:
    sr_mem_free(scratch);
    if (rc)
        sr_matcher_free(matcher);
    else
        *out = matcher;
    return rc;
}

void sr_matcher_free(struct sr_matcher *matcher)
{
    if (!matcher)
        return;
    sr_mem_free(matcher->literals);
    sr_mem_free(matcher->table);
    sr_mem_free(matcher->ends);
    sr_mem_free(matcher->suffix);
    sr_mem_free(matcher);
}

static enum sr_unicode_class class_before(const struct sr_matcher *matcher, struct sr_bytes view, size_t at)
{
    unsigned char c = (unsigned char)view.p[at - 1];
    int32_t cp;
    if (c < 0x80)
        return matcher->ascii_class[c];
    sr_utf8_decode_before(view, at, &cp);
    return sr_unicode_class(cp);
}

static enum sr_unicode_class class_after(const struct sr_matcher *matcher, struct sr_bytes view, size_t at)
{
    unsigned char c = (unsigned char)view.p[at];
    int32_t cp;
    if (c < 0x80)
        return matcher->ascii_class[c];
    sr_utf8_decode(view, at, &cp);
    return sr_unicode_class(cp);
}

/* Reports every literal that ends at view.p[end] and is a whole word there. */
static void report(const struct sr_matcher *matcher, struct sr_bytes view, uint32_t entry, size_t end,
                   const struct sink *sink)
{
    uint32_t state = (entry & ~ENTRY_HIT) / matcher->classes;
    for (; state; state = matcher->suffix[state]) {
        for (uint32_t id = matcher->ends[state]; id != NONE; id = matcher->literals[id].same) {
            const struct literal *literal = &matcher->literals[id];
            size_t start = end - literal->length;
            if (literal->left && start > 0 && class_before(matcher, view, start) == literal->left)
                continue;
            if (literal->right && end < view.n && class_after(matcher, view, end) == literal->right)
                continue;
            if (sink->counts)
                sink->counts[id] += sink->counts[id] != UINT32_MAX;
            else
                sink->hit(sink->ctx, id, sink->base + start, sink->base + end);
        }
    }
}

/* The start of a walk that sees literals ending after `from` whole, and its state there. */
static uint32_t warm_up(const struct sr_matcher *matcher, struct sr_bytes view, size_t from)
{
    uint32_t state = 0;
    size_t at = from > matcher->longest ? from - matcher->longest : 0;
    for (; at < from; at++)
        state = matcher->table[(state & ~ENTRY_HIT) + matcher->class_of[(unsigned char)view.p[at]]];
    return state & ~ENTRY_HIT;
}

static void walk(const struct sr_matcher *matcher, struct sr_bytes view, size_t from, size_t to,
                 uint32_t state, const struct sink *sink)
{
    for (size_t at = from; at < to; at++) {
        uint32_t entry = matcher->table[state + matcher->class_of[(unsigned char)view.p[at]]];
        if (entry & ENTRY_HIT)
            report(matcher, view, entry, at + 1, sink);
        state = entry & ~ENTRY_HIT;
    }
}

/* Counts literals that end in (from, to]; a count does not depend on order. */
static void walk_lanes(const struct sr_matcher *matcher, struct sr_bytes view, size_t from, size_t to,
                       const struct sink *sink)
{
    const uint32_t *table = matcher->table;
    const uint8_t *class_of = matcher->class_of;
    size_t quarter = (to - from) / LANES;
    uint32_t state[LANES];
    const unsigned char *p[LANES];
    for (size_t k = 0; k < LANES; k++) {
        state[k] = warm_up(matcher, view, from + k * quarter);
        p[k] = (const unsigned char *)view.p + from + k * quarter;
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    for (size_t at = 0; at < quarter; at++) {
        a = table[a + class_of[p[0][at]]];
        b = table[b + class_of[p[1][at]]];
        c = table[c + class_of[p[2][at]]];
        d = table[d + class_of[p[3][at]]];
        if ((a | b | c | d) & ENTRY_HIT) {
            uint32_t entries[LANES] = {a, b, c, d};
            for (size_t k = 0; k < LANES; k++)
                if (entries[k] & ENTRY_HIT)
                    report(matcher, view, entries[k], from + k * quarter + at + 1, sink);
            a &= ~ENTRY_HIT;
            b &= ~ENTRY_HIT;
            c &= ~ENTRY_HIT;
            d &= ~ENTRY_HIT;
        }
    }
    walk(matcher, view, from + LANES * quarter, to, d, sink);
}

static void walk_view(const struct sr_matcher *matcher, struct sr_bytes view, size_t from, size_t to,
                      const struct sink *sink)
{
    if (sink->counts && to - from >= LANES_MIN)
        walk_lanes(matcher, view, from, to, sink);
    else
        walk(matcher, view, from, to, warm_up(matcher, view, from), sink);
}

/* Folds through a window. Literals before `seen` were reported; the last character of a window waits for its
 * successor, which tells whether the word ends. */
static void walk_folded(const struct sr_matcher *matcher, struct sr_bytes text, struct sink *sink)
{
    char window[WINDOW_KEEP + WINDOW];
    size_t have = 0, seen = 0, at = 0;
    while (at < text.n) {
        have += sr_unicode_fold_into(text, &at, window + have, sizeof window - have);
        size_t to = at == text.n ? have : have - SR_UTF8_MAX;
        walk_view(matcher, sr_bytes_of(window, have), seen, to, sink);
        size_t drop = to > SR_MATCH_LITERAL_MAX + SR_UTF8_MAX ? to - SR_MATCH_LITERAL_MAX - SR_UTF8_MAX : 0;
        memmove(window, window + drop, have - drop);
        have -= drop;
        seen = to - drop;
        sink->base += drop;
    }
}

static void scan(const struct sr_matcher *matcher, struct sr_bytes text, struct sink *sink)
{
    if (matcher->case_sensitive || sr_utf8_ascii_prefix(text) == text.n)
        walk_view(matcher, text, 0, text.n, sink);
    else
        walk_folded(matcher, text, sink);
}

void sr_matcher_count(const struct sr_matcher *matcher, struct sr_bytes text, uint32_t *counts)
{
    struct sink sink = {.counts = counts};
    scan(matcher, text, &sink);
}

void sr_matcher_each(const struct sr_matcher *matcher, struct sr_bytes text, sr_matcher_hit *hit, void *ctx)
{
    struct sink sink = {.hit = hit, .ctx = ctx};
    scan(matcher, text, &sink);
}
