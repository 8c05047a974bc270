/*
 * Private to model/tokenizer: the compiled form of a tokenizer.json, and the working memory of a call.
 *
 * The stages of a text: (1) malformed UTF-8 is replaced; (2) raw added tokens are cut out; (3) each gap is
 * normalized; (4) normalized added tokens are cut out; (5) pre-tokenizers cut the rest into words; (6) the
 * model turns a word into ids, from the cache where possible; (7) the post-processor trims offsets and adds
 * the template. Every text between the stages (struct sr_tok_text) maps each of its bytes to the original
 * character.
 */
#ifndef SR_MODEL_TOKENIZER_PRIVATE_H
#define SR_MODEL_TOKENIZER_PRIVATE_H

#include "base/arena.h"
#include "base/ref.h"
#include "model/tokenizer/chars.h"
#include "model/tokenizer/tokenizer.h"

#define SR_TOK_STEPS_MAX    32u /* normalizers, pre-tokenizers: each */
#define SR_TOK_TEMPLATE_MAX 16u /* tokens before, after a text: each */
#define SR_TOK_POOL         16u /* working memories kept for later calls */
#define SR_TOK_NONE         (-1)
#define SR_TOK_CHARS        0x10000
/* A text on its way, and the number of tokens, may be this many times the text of the call and the longest
 * token together. Normal forms need 11 times, marks for spaces a little more. */
#define SR_TOK_GROWTH_MAX  16u
#define SR_TOK_ADDED_BYTES ((size_t)16 << 20) /* of the contents of all added tokens */
#define SR_TOK_PAD         48u                /* readable bytes after a sr_tok_text that owns its bytes */

/* ---- a set of byte strings, looked up byte by byte ---- */

struct sr_tok_trie {
    uint64_t *edges; /* (node << 8 | byte) + 1, 0 = free */
    uint32_t *targets;
    int32_t *values; /* of nodes; SR_TOK_NONE: no string ends here */
    size_t mask, n_edges, n_nodes, cap_nodes;
    size_t longest;
};

int sr_tok_trie_init(struct sr_tok_trie *trie, size_t strings);
void sr_tok_trie_dispose(struct sr_tok_trie *trie);

/* A further root, for a second set in the same tables; the first root is 0. */
int sr_tok_trie_root(struct sr_tok_trie *trie, uint32_t *root);

/* Of equal strings the first value stays. SR_ENOMEM. */
int sr_tok_trie_add(struct sr_tok_trie *trie, uint32_t root, struct sr_bytes s, int32_t value);

/* The longest string that is a prefix of p[0..n): its value and *length; or SR_TOK_NONE. */
int32_t sr_tok_trie_longest(const struct sr_tok_trie *trie, uint32_t root, const char *p, size_t n,
                            size_t *length);

/* ---- a large set of byte strings, whose every prefix of a text is visited ---- */

/* The children of a node lie next to each other, by their bytes, after all nodes that are nearer the root. */
struct sr_tok_piece_node {
    uint32_t first; /* child; the next node's first is where they end */
    int32_t value;  /* SR_TOK_NONE: no string ends here */
};

struct sr_tok_pieces {
    struct sr_tok_piece_node *nodes; /* [n + 1], the last one for the end of the children before it */
    uint8_t *labels;                 /* [n] the byte that leads to a node */
    size_t n;
    uint32_t root[256]; /* children of the root by byte; 0: none */
    size_t longest;
};

/* From strings[0..n), empty ones (p NULL or n 0) left out; values are their indices. SR_EINVAL when two are
 * equal, SR_ENOMEM. Dispose in any case. */
int sr_tok_pieces_init(struct sr_tok_pieces *pieces, const struct sr_bytes *strings, size_t n);
void sr_tok_pieces_dispose(struct sr_tok_pieces *pieces);

/* The child of `node` behind byte `c`, 0 when there is none. */
static inline uint32_t sr_tok_pieces_child(const struct sr_tok_pieces *pieces, uint32_t node, char c)
{
    uint32_t from = pieces->nodes[node].first, n = pieces->nodes[node + 1].first - from;
    const uint8_t *label = pieces->labels + from;
    if (n > 8) {
        label = memchr(label, (unsigned char)c, n);
        return label ? (uint32_t)(label - pieces->labels) : 0;
    }
    for (uint32_t i = 0; i < n; i++)
        if (label[i] == (unsigned char)c)
            return from + i;
    return 0;
}

/* ---- the content of tokenizer.json ---- */

struct sr_tok_added {
    struct sr_bytes content;
    int32_t id;
    bool special, normalized, lstrip, rstrip, single_word;
};

/* One set of added tokens: raw or normalized. */
struct sr_tok_added_set {
    struct sr_tok_trie trie; /* values: index into the tokenizer's added[] */
    bool any;
    bool first[256]; /* bytes that begin one */
};

enum sr_tok_norm_kind {
    SR_TOK_NORM_BERT,
    SR_TOK_NORM_FORM, /* NFC, NFD, NFKC, NFKD */
    SR_TOK_NORM_LOWER,
    SR_TOK_NORM_STRIP_ACCENTS,
    SR_TOK_NORM_STRIP,
    SR_TOK_NORM_REPLACE,
    SR_TOK_NORM_PREPEND,
    SR_TOK_NORM_CHARSMAP,
};

/* SentencePiece's `precompiled_charsmap`: a double array of what is replaced (darts-clone), and the
 * replacements, each ended by a NUL. */
struct sr_tok_charsmap {
    uint32_t *units;
    size_t n_units;
    struct sr_bytes replacements;
    bool alone[128];       /* ASCII characters that are replaced without regard to what follows */
    uint64_t begins[1024]; /* BMP: something that is replaced begins with the character */
};

/* A class of characters and how many of them in a row are a match: [ \n], \s+, " {2,}". */
struct sr_tok_class {
    bool on;
    bool space;         /* \s */
    int32_t points[16]; /* others of the class */
    size_t n;
    size_t least; /* in a row */
    bool more;    /* and as many as follow; otherwise exactly `least` */
    char needle[4];
    size_t n_needle; /* every match begins with these bytes; 0: not known */
};

struct sr_tok_norm {
    enum sr_tok_norm_kind kind;
    bool compat, compose;             /* FORM */
    bool clean, cjk, accents, lower;  /* BERT */
    bool left, right;                 /* STRIP */
    struct sr_bytes pattern, content; /* REPLACE; PREPEND has content */
    struct sr_tok_class class;        /* REPLACE: when it is on, instead of `pattern` */
    const struct sr_tok_charsmap *charsmap;
};

enum sr_tok_split_kind {
    SR_TOK_SPLIT_BERT,
    SR_TOK_SPLIT_WORDS,  /* `Whitespace`: \w+|[^\w\s]+ */
    SR_TOK_SPLIT_SPACES, /* `WhitespaceSplit` */
    SR_TOK_SPLIT_PUNCTUATION,
    SR_TOK_SPLIT_DIGITS,
    SR_TOK_SPLIT_BYTE_LEVEL,
    SR_TOK_SPLIT_METASPACE,
    SR_TOK_SPLIT_STRING,
    SR_TOK_SPLIT_REGEX,
};

enum sr_tok_behavior {
    SR_TOK_REMOVED,
    SR_TOK_ISOLATED,
    SR_TOK_MERGED_WITH_PREVIOUS,
    SR_TOK_MERGED_WITH_NEXT,
    SR_TOK_CONTIGUOUS,
};

enum sr_tok_prepend { SR_TOK_PREPEND_NEVER, SR_TOK_PREPEND_FIRST, SR_TOK_PREPEND_ALWAYS };

/* Length of the match at p[i], 0 when there is none. */
typedef size_t sr_tok_regex(const char *p, size_t n, size_t i);

struct sr_tok_split {
    enum sr_tok_split_kind kind;
    enum sr_tok_behavior behavior;
    bool invert;
    bool prefix_space, use_regex; /* BYTE_LEVEL */
    bool split;                   /* METASPACE: cut before each replacement */
    enum sr_tok_prepend prepend;  /* METASPACE */
    struct sr_bytes pattern;      /* STRING; METASPACE: the replacement */
    sr_tok_regex *regex;          /* REGEX, BYTE_LEVEL with use_regex */
};

struct sr_tok_merge {
    uint64_t pair; /* left << 32 | right; all ones: free */
    uint32_t rank;
    int32_t id;
};

struct sr_tok_bpe {
    struct sr_tok_merge *merges;
    size_t mask;
    int32_t bytes[256];    /* byte level: id of the byte's symbol */
    int32_t fallback[256]; /* <0xNN> */
    bool byte_level, byte_fallback, fuse_unk, ignore_merges;
    int32_t *chars;                 /* [SR_TOK_CHARS]: ids of single characters, for models without affixes */
    bool cut_at_metaspace;          /* no merge joins a symbol with a U+2581 after it */
    struct sr_bytes prefix, suffix; /* continuing_subword_prefix, end_of_word_suffix */
};

struct sr_tok_wordpiece {
    struct sr_tok_trie trie;
    uint32_t inner; /* root of the continuations, after the prefix */
    size_t max_chars;
};

#define SR_TOK_PIECE_MAX 512u /* bytes of a Unigram piece: the Viterbi search looks this far ahead */

struct sr_tok_unigram {
    struct sr_tok_pieces pieces;
    double *scores; /* [model's tokens] */
    size_t n;
    double unk_score;
    bool byte_fallback;
    int32_t fallback[256]; /* <0xNN> */
};

/* The vocabulary both ways. */
struct sr_tok_vocab {
    struct sr_bytes *tokens; /* [size] by id; p NULL: none */
    int32_t *slots;          /* open addressing over the tokens' bytes; SR_TOK_NONE = free */
    size_t size, mask;
};

int sr_tok_vocab_init(struct sr_tok_vocab *vocab, size_t size, struct sr_arena *arena);
int32_t sr_tok_vocab_find(const struct sr_tok_vocab *vocab, struct sr_bytes token);
/* The id must be free or hold the same token. */
void sr_tok_vocab_put(struct sr_tok_vocab *vocab, struct sr_bytes token, int32_t id);

struct sr_tok_work;

struct sr_tokenizer {
    struct sr_ref ref;
    struct sr_arena arena; /* everything that is constant */
    struct sr_tok_vocab vocab;
    struct sr_tok_added *added;
    size_t n_added, added_bytes;
    struct sr_tok_added_set raw, normalized;
    struct sr_tok_norm norms[SR_TOK_STEPS_MAX];
    size_t n_norms;
    struct sr_tok_split splits[SR_TOK_STEPS_MAX];
    size_t n_splits;
    bool is_bpe, is_unigram, byte_level;
    struct sr_tok_wordpiece wordpiece;
    struct sr_tok_bpe bpe;
    struct sr_tok_unigram unigram;
    struct sr_tok_vocab byte_words; /* byte level with ignore_merges: tokens as bytes */
    bool *foreign;                  /* [vocab.size]: added tokens that the model does not know */
    int32_t unk;                    /* SR_TOK_NONE: none */
    int32_t before[SR_TOK_TEMPLATE_MAX], after[SR_TOK_TEMPLATE_MAX];
    size_t n_before, n_after;
    bool trim, trim_prefix_space; /* offsets exclude spaces; the first one's space was added */
    _Atomic(struct sr_tok_work *) pool[SR_TOK_POOL];
};

/* Compiles a validated document. In open.c and its parts. */
int sr_tok_open_norms(struct sr_tokenizer *t, struct sr_bytes json, struct sr_err *err);
int sr_tok_open_splits(struct sr_tokenizer *t, struct sr_bytes json, struct sr_err *err);
int sr_tok_open_model(struct sr_tokenizer *t, struct sr_bytes json, struct sr_bytes added,
                      struct sr_err *err);
int sr_tok_open_unigram(struct sr_tokenizer *t, struct sr_bytes json, struct sr_bytes added,
                        struct sr_err *err);
/* A `precompiled_charsmap`, a JSON string of base64, into the arena. */
int sr_tok_open_charsmap(struct sr_tokenizer *t, struct sr_bytes json, const struct sr_tok_charsmap **out,
                         struct sr_err *err);
/* An id of the document: an integer in range; raises *size above it. */
int sr_tok_see_id(struct sr_bytes value, const char *where, size_t *size, struct sr_err *err);

/* ---- the working memory of a call ---- */

/* From byte `at` on: plain (the bytes are the original's from `start`, character for character of equal
 * length) or a lump (all bytes come from the one original character at `start`). */
#define SR_TOK_LUMP 0x80000000u
struct sr_tok_run {
    uint32_t at;
    uint32_t start; /* | SR_TOK_LUMP */
};

struct sr_tok_text {
    const char *p;
    size_t n;
    char *own; /* p, when the text owns the bytes */
    size_t cap;
    struct sr_tok_run *runs;
    size_t n_runs, cap_runs;
    size_t hint; /* run of the latest look-up */
};

#define SR_TOK_KEY_MAX     40u
#define SR_TOK_CACHED_MAX  12u
#define SR_TOK_CACHE_SETS  4096u
#define SR_TOK_CACHE_WAYS  4u
#define SR_TOK_LONG_MAX    192u /* bytes of a word of the second cache, */
#define SR_TOK_LONG_TOKENS 96u  /* and its tokens */
#define SR_TOK_LONG_SLOTS  512u

/* One line of the cache: a word and its tokens. */
struct sr_tok_cached {
    uint64_t key[SR_TOK_KEY_MAX / 8];
    uint8_t length; /* 0: free */
    uint8_t n;
    uint8_t ends[SR_TOK_CACHED_MAX];
    int32_t ids[SR_TOK_CACHED_MAX];
};

/* One line of the second cache: long words, and those of many tokens. */
struct sr_tok_cached_long {
    uint8_t length; /* 0: free */
    uint8_t n;
    uint8_t ends[SR_TOK_LONG_TOKENS];
    int32_t ids[SR_TOK_LONG_TOKENS];
    char key[SR_TOK_LONG_MAX];
};

struct sr_tok_symbol {
    uint32_t prev, next;
    uint32_t length; /* bytes of the word */
    int32_t id;
    uint32_t rank; /* of merging with the next */
    int32_t merged;
};

struct sr_tok_work {
    const struct sr_tokenizer *t;
    struct sr_bytes original;
    bool offsets;
    size_t limit; /* stop after this many tokens */
    bool stop;
    int rc; /* keeps SR_ENOMEM, SR_ELIMIT */
    int32_t *ids;
    uint32_t *starts, *ends;
    size_t n, cap;
    struct sr_tok_text base, norm[2], pre[SR_TOK_STEPS_MAX];
    int32_t *word_ids; /* tokens of one word that is not cached */
    uint32_t *word_ends;
    size_t n_word, cap_word;
    int32_t *path; /* Unigram: the last token of the best way to each byte of a word */
    size_t cap_path;
    struct sr_tok_symbol *symbols;
    size_t cap_symbols;
    uint64_t *heap; /* rank << 32 | symbol */
    size_t n_heap, cap_heap;
    struct sr_tok_cached *cache; /* [sets][ways], the younger first */
    struct sr_tok_cached_long *long_cache;
    uint64_t seed;
};

/* An empty text that owns its bytes. */
void sr_tok_text_clear(struct sr_tok_text *text);
void sr_tok_text_dispose(struct sr_tok_text *text);

/* Appends `n` bytes that come from the original character at `unit`. */
void sr_tok_text_put(struct sr_tok_work *w, struct sr_tok_text *text, const char *p, size_t n, uint32_t unit);

/* Appends from[a..b) with its origins; returns the appended bytes, NULL after an error (w->rc). */
char *sr_tok_text_copy(struct sr_tok_work *w, struct sr_tok_text *text, struct sr_tok_text *from, size_t a,
                       size_t b);

/* The original character of byte `at` < text->n. Fast for ascending offsets. */
uint32_t sr_tok_text_unit(struct sr_tok_work *w, struct sr_tok_text *text, size_t at);

/* The run that holds byte `at` < text->n. */
const struct sr_tok_run *sr_tok_text_run(struct sr_tok_text *text, size_t at);

/* True when the bytes a..b, a < b, are those of the original from *start on. */
bool sr_tok_text_plain(struct sr_tok_text *text, size_t a, size_t b, size_t *start);

/* Where the original character at `unit` ends. */
uint32_t sr_tok_unit_end(const struct sr_tok_work *w, uint32_t unit);

/* False (and w->rc) when `n` bytes or tokens are more than this call may make of its text. */
bool sr_tok_within(struct sr_tok_work *w, size_t n);

/* sr_grow (base/grow.h): room for `n` elements; false (and w->rc) when out of memory. */
bool sr_tok_reserve(struct sr_tok_work *w, void *array, size_t *cap, size_t n, size_t size);

/* Runs the normalizers over from[a..b); the result is *out with *out_a, *out_b (it may be `from`). */
void sr_tok_normalize(struct sr_tok_work *w, struct sr_tok_text *from, size_t a, size_t b,
                      struct sr_tok_text **out, size_t *out_a, size_t *out_b);

/* The pre-tokenizers from `level` on, and then the model, over text[a..b). */
void sr_tok_split(struct sr_tok_work *w, size_t level, struct sr_tok_text *text, size_t a, size_t b);

/* One word: cache, model, output. */
void sr_tok_word(struct sr_tok_work *w, struct sr_tok_text *text, size_t a, size_t b);

/* Writes an added token that was found at text[a..b). */
void sr_tok_put_added(struct sr_tok_work *w, struct sr_tok_text *text, size_t a, size_t b, int32_t id);

/* Tokenizes a word into word_ids, word_ends. */
void sr_tok_wordpiece(struct sr_tok_work *w, const char *p, size_t n);
void sr_tok_bpe(struct sr_tok_work *w, const char *p, size_t n);
/* A token with the end of the one before it covers what that one covers (byte fallback). */
void sr_tok_unigram(struct sr_tok_work *w, const char *p, size_t n);

/* Runs the charsmap over from[a..b) into `out`; false when nothing changes, and `out` is to be ignored. */
bool sr_tok_charsmap_apply(struct sr_tok_work *w, const struct sr_tok_charsmap *map, struct sr_tok_text *from,
                           size_t a, size_t b, struct sr_tok_text *out);

/* The first position of `needle` (not empty) in p[0..n), or NULL. It searches the first byte, which is rare
 * enough in running text. */
static inline const char *sr_tok_search(const char *p, size_t n, struct sr_bytes needle)
{
    const char *end = p + n;
    while ((size_t)(end - p) >= needle.n) {
        const char *hit = memchr(p, needle.p[0], (size_t)(end - p) - needle.n + 1);
        if (!hit || memcmp(hit, needle.p, needle.n) == 0)
            return hit;
        p = hit + 1;
    }
    return NULL;
}

/* Adds a token that ends at byte `end` of the word. */
static inline void sr_tok_word_put(struct sr_tok_work *w, int32_t id, uint32_t end)
{
    w->word_ids[w->n_word] = id;
    w->word_ends[w->n_word++] = end;
}

/* One class of characters, by itself, with + or {n,}: a character, an escape (\s, \n, \r, \t, \\ and so on),
 * or [...] of these. False for another regular expression. */
bool sr_tok_class_read(struct sr_bytes pattern, struct sr_tok_class *out);
/* The first match in p[*at, n) becomes [*at, *end); false when there is none. */
bool sr_tok_class_find(const struct sr_tok_class *class, const char *p, size_t n, size_t *at, size_t *end);

/* The matcher of a known regular expression; NULL: not known. */
sr_tok_regex *sr_tok_regex_known(struct sr_bytes pattern);
sr_tok_regex sr_tok_regex_gpt2;

#endif
