/*
 * Any bytes as a text for a tokenizer of each kind, and any bytes as a tokenizer.json.
 *
 * The first byte chooses: below 128 a built-in tokenizer for the text behind it; otherwise the rest, up to a
 * NUL, is a tokenizer.json and what follows its text. Properties: offsets lie in the text, do not run
 * backwards and never cut a character; count agrees with encode; a fitted piece is a prefix that keeps the
 * budget; a second call, from the cache, says the same.
 */
#include "model/tokenizer/tokenizer.h"

#include <stdlib.h>

#define KINDS    6
#define TEXT_MAX 4096
#define BYTES                                                                                                \
    "\"!\":0,\"a\":1,\"b\":2,\"\xC4\xA0\":3,\"\xC3\xA9\":4,\"ab\":5,\"\xC4\xA0"                              \
    "a\":6,\"<s>\":7"
#define PIECES                                                                                               \
    "\"<unk>\":0,\"a\":1,\"b\":2,\"\xE2\x96\x81\":3,\"\xC3\xA9\":4,\"ab\":5,\"\xE2\x96\x81"                  \
    "a\":6,\"<s>\":7"
#define ADDED(norm)                                                                                          \
    "\"added_tokens\":[{\"id\":7,\"content\":\"<s>\",\"special\":true,\"lstrip\":true,\"rstrip\":true},"     \
    "{\"id\":5,\"content\":\"ab\",\"normalized\":" norm ",\"single_word\":true}],"

#define SCORES                                                                                               \
    "[\"<unk>\",0],[\"a\",-2],[\"b\",-2.5],[\"\xE2\x96\x81\",-3],[\"\xC3\xA9\",-4],[\"ab\",-4.5],"           \
    "[\"\xE2\x96\x81"                                                                                        \
    "a\",-3.5],[\"<s>\",0],[\"aab\",-6.25],[\"<0xC3>\",-9],[\"<0xA8>\",-9]"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const kinds[KINDS] = {
    "{" ADDED("true") "\"normalizer\":{\"type\":\"BertNormalizer\"},\"pre_tokenizer\":{\"type\":"
                      "\"BertPreTokenizer\"},"
                      "\"post_processor\":{\"type\":\"BertProcessing\",\"cls\":[\"a\",1],\"sep\":[\"b\",2]},"
                      "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"<unk>\",\"continuing_subword_"
                      "prefix\":\"##\",\"vocab\":{"
                      "\"<unk>\":0,\"a\":1,\"b\":2,\"##b\":3,\"\xC3\xA9\":4,\"ab\":5,\"##a\":6,\"<s>\":7}}}",
    "{" ADDED(
        "false") "\"normalizer\":{\"type\":\"NFC\"},\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_"
                 "space\":true},"
                 "\"post_processor\":{\"type\":\"RobertaProcessing\",\"cls\":[\"a\",1],\"sep\":[\"b\",2]},"
                 "\"model\":{\"type\":\"BPE\",\"vocab\":{" BYTES "},\"merges\":[\"a b\",\"\xC4\xA0 a\"]}}",
    "{" ADDED(
        "true") "\"normalizer\":{\"type\":\"NFKC\"},\"pre_tokenizer\":{\"type\":\"Sequence\","
                "\"pretokenizers\":["
                "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{"
                "L}\\\\p{N}]?\\\\p{L}+|"
                "\\\\p{N}| "
                "?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+\"},"
                "\"behavior\":\"Isolated\"},"
                "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}]},"
                "\"model\":{\"type\":\"BPE\",\"ignore_merges\":true,\"unk_token\":\"!\",\"vocab\":{" BYTES
                "},\"merges\":[[\"a\",\"b\"]]}}",
    "{" ADDED("false") "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\xE2\x96\x81\",\"prepend_"
                       "scheme\":\"always\"},"
                       "\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"fuse_unk\":true,\"byte_"
                       "fallback\":true,\"vocab\":{" PIECES "},"
                       "\"merges\":[\"a b\",\"\xE2\x96\x81 a\"]}}",
    "{" ADDED("true") "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Strip\"},{\"type\":"
                      "\"NFKD\"},"
                      "{\"type\":\"StripAccents\"},{\"type\":\"Lowercase\"},{\"type\":\"Prepend\","
                      "\"prepend\":\"\xE2\x96\x81\"},"
                      "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\xE2\x96\x81\"}]},"
                      "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Whitespace\"},"
                      "{\"type\":\"Digits\"},"
                      "{\"type\":\"Punctuation\"},{\"type\":\"Split\",\"pattern\":{\"String\":\"a\"},"
                      "\"behavior\":\"MergedWithNext\"}]},"
                      "\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"vocab\":{" PIECES
                      "},\"merges\":[\"a b\",\"\xE2\x96\x81 a\"]}}",
    "{" ADDED("true") "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{\"type\":"
                      "\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\" \"}]},"
                      "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\xE2\x96\x81\",\"prepend_"
                      "scheme\":\"first\",\"split\":false},"
                      "\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"byte_fallback\":true,\"vocab\":[" SCORES
                      "]}}",
};

static void check(bool holds)
{
    if (!holds)
        abort();
}

/* Nothing that the fuzzer is given is this long: more is out of its reach in time, not in kind. */
static void check_text(struct sr_tokenizer *t, struct sr_bytes text)
{
    struct sr_arena arena;
    struct sr_tokens a, b;
    size_t n, length, fitted;
    sr_arena_init(&arena, (size_t)64 << 20);
    check(sr_tokenizer_encode_arena(t, text, SR_TOKENIZER_SPECIAL, &arena, &a) == SR_OK);
    check(sr_tokenizer_encode_arena(t, text, SR_TOKENIZER_SPECIAL, &arena, &b) == SR_OK);
    check(a.n == b.n && (a.n == 0 || memcmp(a.ids, b.ids, a.n * sizeof *a.ids) == 0));
    check(sr_tokenizer_count(t, text, SR_TOKENIZER_SPECIAL, &n) == SR_OK && n == a.n);
    for (size_t i = 0; i < a.n; i++) {
        check(a.starts[i] <= a.ends[i] && a.ends[i] <= text.n);
        check(a.starts[i] == b.starts[i] && a.ends[i] == b.ends[i]);
        check(sr_tokenizer_token(t, a.ids[i]).p != NULL);
    }
    check(sr_tokenizer_fit(t, text, 0, a.n / 2, &length) == SR_OK && length <= text.n);
    check(sr_tokenizer_count(t, sr_bytes_of(text.p, length), 0, &fitted) == SR_OK && fitted <= a.n / 2);
    sr_arena_dispose(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sr_tokenizer *built_in[KINDS];
    struct sr_tokenizer *t;
    struct sr_err err = {0};
    for (size_t i = 0; !built_in[KINDS - 1] && i < KINDS; i++)
        check(sr_tokenizer_open_memory(&built_in[i], kinds[i], strlen(kinds[i]), &err) == SR_OK);
    if (size == 0)
        return 0;
    struct sr_bytes rest = sr_bytes_of(data + 1, size - 1);
    if (data[0] < 128) {
        check_text(built_in[data[0] % KINDS], rest.n > TEXT_MAX ? sr_bytes_of(rest.p, TEXT_MAX) : rest);
        return 0;
    }
    const char *nul = memchr(rest.p, 0, rest.n);
    size_t n = nul ? (size_t)(nul - rest.p) : rest.n;
    struct sr_bytes text = nul ? sr_bytes_of(nul + 1, rest.n - n - 1) : SR_LIT("<s> ab a\xC3\xA9");
    if (sr_tokenizer_open_memory(&t, rest.p, n, &err) == SR_OK) {
        check_text(t, text.n > TEXT_MAX ? sr_bytes_of(text.p, TEXT_MAX) : text);
        sr_tokenizer_unref(t);
    } else {
        check(t == NULL && err.code != SR_OK && err.message[0]);
    }
    return 0;
}
