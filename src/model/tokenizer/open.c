/* Opening a tokenizer: the file, the document's parts in their order, added tokens, the template. */
#include "model/tokenizer/private.h"

#include "base/json_read.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>

#define ARENA_MAX ((size_t)1 << 30)

static int out_of_memory(struct sr_err *err)
{
    return sr_err_set(err, SR_ENOMEM, "out of memory for a tokenizer");
}

/* ---- added tokens ---- */

/* SR_ELIMIT for a content that is too long, written or normalized. */
static int check_content(struct sr_bytes content, struct sr_err *err)
{
    if (content.n <= SR_TOKENIZER_TOKEN_MAX)
        return SR_OK;
    return sr_err_set(err, SR_ELIMIT, "added_tokens: a token of more than %u bytes", SR_TOKENIZER_TOKEN_MAX);
}

static int read_added(struct sr_tokenizer *t, sr_json_view json, struct sr_tok_added *added,
                      struct sr_err *err)
{
    int64_t id;
    sr_json_view content = sr_json_view_get(json, "content");
    if (!sr_json_view_is_string(content) || !sr_json_view_int(sr_json_view_get(json, "id"), &id))
        return sr_err_set(err, SR_EPARSE, "added_tokens: an entry needs `content` and `id`");
    if (!sr_json_view_dup(content, &t->arena, &added->content))
        return out_of_memory(err);
    int rc = check_content(added->content, err);
    if (rc)
        return rc;
    added->special = sr_json_view_bool(sr_json_view_get(json, "special"), false);
    added->normalized = sr_json_view_bool(sr_json_view_get(json, "normalized"), !added->special);
    added->lstrip = sr_json_view_bool(sr_json_view_get(json, "lstrip"), false);
    added->rstrip = sr_json_view_bool(sr_json_view_get(json, "rstrip"), false);
    added->single_word = sr_json_view_bool(sr_json_view_get(json, "single_word"), false);
    int32_t known = sr_tok_vocab_find(&t->vocab, added->content);
    if (known == SR_TOK_NONE) {
        known = (int32_t)id; /* in range: the vocabulary was sized by it */
        if (t->vocab.tokens[known].p)
            return sr_err_set(err, SR_EPARSE, "added_tokens: id %d is taken by another token", known);
        sr_tok_vocab_put(&t->vocab, added->content, known);
        t->foreign[known] = true;
    }
    added->id = known;
    return SR_OK;
}

/* The normalized contents of an added token, as the strings to search for. */
static int normalize_content(struct sr_tokenizer *t, struct sr_bytes content, struct sr_bytes *out,
                             struct sr_err *err)
{
    struct sr_tok_work w = {.t = t, .original = content};
    struct sr_tok_text base = {.p = content.p, .n = content.n, .n_runs = 1}, *text;
    struct sr_tok_run run = {0, 0};
    size_t a, b;
    base.runs = &run;
    sr_tok_normalize(&w, &base, 0, content.n, &text, &a, &b);
    struct sr_bytes normalized = a < b ? sr_bytes_of(text->p + a, b - a) : SR_LIT("");
    int rc = w.rc == SR_ENOMEM ? out_of_memory(err)
             : w.rc ? sr_err_set(err, w.rc, "added_tokens: a token grows without end when normalized")
                    : check_content(normalized, err);
    *out = rc || !normalized.n ? SR_LIT("") : sr_arena_dup(&t->arena, normalized);
    for (size_t i = 0; i < 2; i++)
        sr_tok_text_dispose(&w.norm[i]);
    return rc || out->p ? rc : out_of_memory(err);
}

static int set_add(struct sr_tokenizer *t, size_t index, struct sr_err *err)
{
    const struct sr_tok_added *added = &t->added[index];
    struct sr_tok_added_set *set = added->normalized ? &t->normalized : &t->raw;
    struct sr_bytes content = added->content;
    int rc = added->normalized ? normalize_content(t, added->content, &content, err) : SR_OK;
    if (rc || content.n == 0)
        return rc;
    t->added_bytes += content.n;
    if (t->added_bytes > SR_TOK_ADDED_BYTES)
        return sr_err_set(err, SR_ELIMIT, "added_tokens: more than %zu bytes together", SR_TOK_ADDED_BYTES);
    if (!set->any)
        rc = sr_tok_trie_init(&set->trie, 16);
    if (rc == SR_OK) {
        set->any = true;
        set->first[(unsigned char)content.p[0]] = true;
        rc = sr_tok_trie_add(&set->trie, 0, content, (int32_t)index);
    }
    return rc ? out_of_memory(err) : SR_OK;
}

static int open_added(struct sr_tokenizer *t, struct sr_bytes json, struct sr_err *err)
{
    sr_json_view value;
    size_t n = 0, at = 0;
    int rc = SR_OK;
    while (sr_json_view_next(json, &at, NULL, &value))
        n++;
    if (n > SR_TOKENIZER_ADDED_MAX)
        return sr_err_set(err, SR_ELIMIT, "added_tokens: %zu entries, the limit is %u", n,
                          SR_TOKENIZER_ADDED_MAX);
    t->added = sr_arena_calloc(&t->arena, n + 1, sizeof *t->added);
    t->foreign = sr_arena_calloc(&t->arena, t->vocab.size + 1, sizeof *t->foreign);
    if (!t->added || !t->foreign)
        return out_of_memory(err);
    for (at = 0; rc == SR_OK && sr_json_view_next(json, &at, NULL, &value); t->n_added++)
        rc = read_added(t, value, &t->added[t->n_added], err);
    /* Of equal contents the first one counts, special ones before others. */
    for (int special = 1; special >= 0; special--)
        for (size_t i = 0; rc == SR_OK && i < t->n_added; i++)
            if (t->added[i].special == special)
                rc = set_add(t, i, err);
    return rc;
}

/* ---- post-processors ---- */

static int template_put(struct sr_tokenizer *t, bool before, int64_t id, struct sr_err *err)
{
    size_t *n = before ? &t->n_before : &t->n_after;
    if (id < 0 || (size_t)id >= t->vocab.size || *n == SR_TOK_TEMPLATE_MAX)
        return sr_err_set(err, SR_EPARSE, "post_processor: too many special tokens, or an id out of range");
    (before ? t->before : t->after)[(*n)++] = (int32_t)id;
    return SR_OK;
}

/* All ids of the special token `name` ([CLS]) of a TemplateProcessing. */
static int put_special(struct sr_tokenizer *t, sr_json_view specials, sr_json_view name, bool before,
                       struct sr_err *err)
{
    sr_json_view key, value, id;
    char wanted[256], got[256];
    size_t at = 0, i = 0,
           n = sr_json_view_is_string(name) && name.n <= sizeof wanted ? sr_json_view_decode(name, wanted)
                                                                       : 0;
    int64_t number;
    int rc = SR_OK;
    while (n && sr_json_view_next(specials, &at, &key, &value)) {
        if (key.n > sizeof got || sr_json_view_decode(key, got) != n || memcmp(got, wanted, n) != 0)
            continue;
        while (rc == SR_OK && sr_json_view_next(sr_json_view_get(value, "ids"), &i, NULL, &id))
            rc = sr_json_view_int(id, &number)
                     ? template_put(t, before, number, err)
                     : sr_err_set(err, SR_EPARSE, "post_processor: an id is not an integer");
        return rc;
    }
    return sr_err_set(err, SR_EPARSE, "post_processor: the template names a token that special_tokens lacks");
}

static int open_template(struct sr_tokenizer *t, sr_json_view json, struct sr_err *err)
{
    sr_json_view single = sr_json_view_get(json, "single"),
                 specials = sr_json_view_get(json, "special_tokens"), piece;
    size_t at = 0, sequences = 0;
    int rc = SR_OK;
    while (rc == SR_OK && sr_json_view_next(single, &at, NULL, &piece)) {
        sr_json_view special = sr_json_view_get(piece, "SpecialToken");
        if (special.p)
            rc = put_special(t, specials, sr_json_view_get(special, "id"), sequences == 0, err);
        else
            sequences += sr_json_view_eq(sr_json_view_get(sr_json_view_get(piece, "Sequence"), "id"), "A");
    }
    if (rc == SR_OK && sequences != 1)
        rc = sr_err_set(err, SR_EUNSUPPORTED, "post_processor: `single` must have the sequence A once");
    return rc;
}

/* ["[CLS]", 101] */
static int put_pair(struct sr_tokenizer *t, sr_json_view pair, bool before, struct sr_err *err)
{
    sr_json_view value;
    size_t at = 0;
    int64_t id;
    if (!sr_json_view_next(pair, &at, NULL, &value) || !sr_json_view_next(pair, &at, NULL, &value) ||
        !sr_json_view_int(value, &id))
        return sr_err_set(err, SR_EPARSE, "post_processor: `cls` and `sep` are [token, id]");
    return template_put(t, before, id, err);
}

static void open_trim(struct sr_tokenizer *t, sr_json_view json)
{
    if (sr_json_view_bool(sr_json_view_get(json, "trim_offsets"), true)) {
        t->trim = true;
        t->trim_prefix_space = sr_json_view_bool(sr_json_view_get(json, "add_prefix_space"), true);
    }
}

static int open_processor(struct sr_tokenizer *t, sr_json_view json, struct sr_err *err)
{
    sr_json_view type = sr_json_view_get(json, "type");
    if (sr_json_view_eq(type, "TemplateProcessing"))
        return open_template(t, json, err);
    if (sr_json_view_eq(type, "ByteLevel")) {
        open_trim(t, json);
        return SR_OK;
    }
    bool roberta = sr_json_view_eq(type, "RobertaProcessing");
    if (!roberta && !sr_json_view_eq(type, "BertProcessing"))
        return sr_err_set(err, SR_EUNSUPPORTED, "post_processor: type %.*s is not supported",
                          (int)(type.n < 64 ? type.n : 64), type.p ? type.p : "");
    if (roberta)
        open_trim(t, json);
    int rc = put_pair(t, sr_json_view_get(json, "cls"), true, err);
    return rc ? rc : put_pair(t, sr_json_view_get(json, "sep"), false, err);
}

static int open_processors(struct sr_tokenizer *t, struct sr_bytes json, struct sr_err *err)
{
    sr_json_view processor;
    size_t at = 0;
    int rc = SR_OK;
    if (sr_json_view_is_null(json))
        return SR_OK;
    if (!sr_json_view_eq(sr_json_view_get(json, "type"), "Sequence"))
        return open_processor(t, json, err);
    while (rc == SR_OK && sr_json_view_next(sr_json_view_get(json, "processors"), &at, NULL, &processor))
        rc = open_processor(t, processor, err);
    return rc;
}

/* ---- the document ---- */

static int compile(struct sr_tokenizer *t, sr_json_view root, struct sr_err *err)
{
    sr_json_view name, value, normalizer = {0}, splits = {0}, processor = {0}, model = {0}, added = {0};
    size_t at = 0;
    if (!sr_json_view_is_object(root))
        return sr_err_set(err, SR_EPARSE, "a tokenizer.json is a JSON object");
    while (sr_json_view_next(root, &at, &name, &value))
        if (sr_json_view_eq(name, "normalizer"))
            normalizer = value;
        else if (sr_json_view_eq(name, "pre_tokenizer"))
            splits = value;
        else if (sr_json_view_eq(name, "post_processor"))
            processor = value;
        else if (sr_json_view_eq(name, "model"))
            model = value;
        else if (sr_json_view_eq(name, "added_tokens"))
            added = value;
    if (!sr_json_view_is_object(model))
        return sr_err_set(err, SR_EPARSE, "tokenizer.json has no `model`");
    int rc = sr_tok_open_norms(t, normalizer, err);
    if (rc == SR_OK)
        rc = sr_tok_open_splits(t, splits, err);
    if (rc == SR_OK)
        rc = sr_tok_open_model(t, model, added, err);
    if (rc == SR_OK)
        rc = open_added(t, added, err);
    if (rc == SR_OK)
        rc = open_processors(t, processor, err);
    return rc;
}

int sr_tokenizer_open_memory(struct sr_tokenizer **out, const void *p, size_t n, struct sr_err *err)
{
    sr_json_view root;
    *out = NULL;
    if (n > SR_TOKENIZER_FILE_MAX)
        return sr_err_set(err, SR_ELIMIT, "tokenizer.json: %zu bytes, the limit is %zu", n,
                          SR_TOKENIZER_FILE_MAX);
    int rc = sr_json_view_open(&root, sr_bytes_of(p, n), err);
    if (rc)
        return rc;
    struct sr_tokenizer *t = sr_mem_calloc(1, sizeof *t);
    if (!t)
        return out_of_memory(err);
    sr_chars_init();
    sr_ref_init(&t->ref);
    sr_arena_init(&t->arena, ARENA_MAX);
    t->unk = SR_TOK_NONE;
    rc = compile(t, root, err);
    if (rc)
        sr_tokenizer_unref(t);
    else
        *out = t;
    return rc;
}

static int read_all(FILE *file, const char *path, char **bytes, size_t *n, struct sr_err *err)
{
    long size = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    if (size < 0 || fseek(file, 0, SEEK_SET))
        return sr_err_set(err, SR_EIO, "%s: %s", path, strerror(errno));
    if ((size_t)size > SR_TOKENIZER_FILE_MAX)
        return sr_err_set(err, SR_ELIMIT, "%s: %ld bytes, the limit is %zu", path, size,
                          SR_TOKENIZER_FILE_MAX);
    *bytes = sr_mem_alloc((size_t)size + 1);
    if (!*bytes)
        return out_of_memory(err);
    *n = fread(*bytes, 1, (size_t)size, file);
    return *n == (size_t)size ? SR_OK : sr_err_set(err, SR_EIO, "%s: could not be read", path);
}

int sr_tokenizer_open_file(struct sr_tokenizer **out, const char *path, struct sr_err *err)
{
    char *bytes = NULL;
    size_t n = 0;
    *out = NULL;
    FILE *file = fopen(path, "rb");
    if (!file)
        return sr_err_set(err, errno == ENOENT ? SR_ENOENT : SR_EIO, "%s: %s", path, strerror(errno));
    int rc = read_all(file, path, &bytes, &n, err);
    fclose(file);
    if (rc == SR_OK)
        rc = sr_tokenizer_open_memory(out, bytes, n, err);
    sr_mem_free(bytes);
    return rc;
}
