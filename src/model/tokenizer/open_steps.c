/* From JSON to the lists of normalizers and pre-tokenizers; an unknown type is refused, and the error names
 * it. */
#include "model/tokenizer/private.h"

#include "base/json_read.h"

static int unsupported(struct sr_err *err, const char *where, sr_json_view type)
{
    return sr_err_set(err, SR_EUNSUPPORTED, "%s: %.*s is not supported", where,
                      (int)(type.n < 200 ? type.n : 200), type.p ? type.p : "a component without a type");
}

static int out_of_memory(struct sr_err *err)
{
    return sr_err_set(err, SR_ENOMEM, "out of memory for a tokenizer");
}

/* {"String": "..."} */
static int string_pattern(struct sr_tokenizer *t, const char *where, sr_json_view pattern,
                          struct sr_bytes *out, struct sr_err *err)
{
    sr_json_view string = sr_json_view_get(pattern, "String");
    if (!sr_json_view_is_string(string))
        return unsupported(err, where, pattern);
    if (!sr_json_view_dup(string, &t->arena, out))
        return out_of_memory(err);
    return out->n ? SR_OK : sr_err_set(err, SR_EUNSUPPORTED, "%s: an empty pattern is not supported", where);
}

static int string_member(struct sr_tokenizer *t, const char *where, sr_json_view json, const char *name,
                         struct sr_bytes *out, struct sr_err *err)
{
    sr_json_view string = sr_json_view_get(json, name);
    if (!sr_json_view_is_string(string))
        return sr_err_set(err, SR_EPARSE, "%s: `%s` must be a string", where, name);
    if (!sr_json_view_dup(string, &t->arena, out))
        return out_of_memory(err);
    return out->n <= SR_TOKENIZER_TOKEN_MAX ? SR_OK
                                            : sr_err_set(err, SR_ELIMIT, "%s: `%s` has more than %u bytes",
                                                         where, name, SR_TOKENIZER_TOKEN_MAX);
}

/* ---- normalizers ---- */

static void open_bert(sr_json_view json, struct sr_tok_norm *norm)
{
    norm->kind = SR_TOK_NORM_BERT;
    norm->clean = sr_json_view_bool(sr_json_view_get(json, "clean_text"), true);
    norm->cjk = sr_json_view_bool(sr_json_view_get(json, "handle_chinese_chars"), true);
    norm->lower = sr_json_view_bool(sr_json_view_get(json, "lowercase"), true);
    norm->accents = sr_json_view_bool(sr_json_view_get(json, "strip_accents"), norm->lower);
}

static bool open_form(sr_json_view type, struct sr_tok_norm *norm)
{
    static const char *const names[] = {"NFD", "NFC", "NFKD", "NFKC"};
    for (unsigned i = 0; i < 4; i++)
        if (sr_json_view_eq(type, names[i])) {
            *norm = (struct sr_tok_norm){.kind = SR_TOK_NORM_FORM, .compose = i & 1, .compat = i & 2};
            return true;
        }
    return false;
}

static int open_replace(struct sr_tokenizer *t, sr_json_view json, struct sr_tok_norm *norm,
                        struct sr_err *err)
{
    sr_json_view pattern = sr_json_view_get(json, "pattern");
    norm->kind = SR_TOK_NORM_REPLACE;
    sr_json_view regex = sr_json_view_get(pattern, "Regex");
    struct sr_bytes spelling;
    int rc = SR_OK;
    if (!sr_json_view_is_string(regex))
        rc = string_pattern(t, "normalizer Replace", pattern, &norm->pattern, err);
    else if (!sr_json_view_dup(regex, &t->arena, &spelling))
        rc = out_of_memory(err);
    else if (!sr_tok_class_read(spelling, &norm->class))
        rc = unsupported(err, "normalizer Replace: the regular expression", regex);
    return rc ? rc : string_member(t, "normalizer Replace", json, "content", &norm->content, err);
}

static int open_norm(struct sr_tokenizer *t, sr_json_view json, unsigned depth, struct sr_err *err)
{
    sr_json_view type = sr_json_view_get(json, "type"), part;
    size_t at = 0;
    int rc = SR_OK;
    if (sr_json_view_eq(type, "Sequence") && depth < SR_TOK_STEPS_MAX) {
        while (rc == SR_OK && sr_json_view_next(sr_json_view_get(json, "normalizers"), &at, NULL, &part))
            rc = open_norm(t, part, depth + 1, err);
        return rc;
    }
    if (t->n_norms == SR_TOK_STEPS_MAX)
        return sr_err_set(err, SR_ELIMIT, "normalizer: more than %u steps", SR_TOK_STEPS_MAX);
    struct sr_tok_norm *norm = &t->norms[t->n_norms++];
    if (open_form(type, norm))
        return SR_OK;
    if (sr_json_view_eq(type, "BertNormalizer")) {
        open_bert(json, norm);
    } else if (sr_json_view_eq(type, "Lowercase")) {
        norm->kind = SR_TOK_NORM_LOWER;
    } else if (sr_json_view_eq(type, "StripAccents")) {
        norm->kind = SR_TOK_NORM_STRIP_ACCENTS;
    } else if (sr_json_view_eq(type, "Strip")) {
        norm->kind = SR_TOK_NORM_STRIP;
        norm->left = sr_json_view_bool(sr_json_view_get(json, "strip_left"), true);
        norm->right = sr_json_view_bool(sr_json_view_get(json, "strip_right"), true);
    } else if (sr_json_view_eq(type, "Prepend")) {
        norm->kind = SR_TOK_NORM_PREPEND;
        rc = string_member(t, "normalizer Prepend", json, "prepend", &norm->content, err);
    } else if (sr_json_view_eq(type, "Replace")) {
        rc = open_replace(t, json, norm, err);
    } else if (sr_json_view_eq(type, "Precompiled")) {
        norm->kind = SR_TOK_NORM_CHARSMAP;
        rc = sr_tok_open_charsmap(t, sr_json_view_get(json, "precompiled_charsmap"), &norm->charsmap, err);
    } else {
        return unsupported(err, "normalizer", type);
    }
    return rc;
}

int sr_tok_open_norms(struct sr_tokenizer *t, struct sr_bytes json, struct sr_err *err)
{
    return sr_json_view_is_null(json) ? SR_OK : open_norm(t, json, 0, err);
}

/* ---- pre-tokenizers ---- */

static int open_behavior(sr_json_view json, struct sr_tok_split *split, struct sr_err *err)
{
    static const char *const names[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext",
                                        "Contiguous"};
    sr_json_view behavior = sr_json_view_get(json, "behavior");
    split->behavior = SR_TOK_ISOLATED;
    if (sr_json_view_is_null(behavior))
        return SR_OK;
    for (unsigned i = 0; i < 5; i++)
        if (sr_json_view_eq(behavior, names[i])) {
            split->behavior = (enum sr_tok_behavior)i;
            return SR_OK;
        }
    return unsupported(err, "pre_tokenizer: behavior", behavior);
}

static int open_metaspace(struct sr_tokenizer *t, sr_json_view json, struct sr_tok_split *split,
                          struct sr_err *err)
{
    sr_json_view scheme = sr_json_view_get(json, "prepend_scheme");
    split->kind = SR_TOK_SPLIT_METASPACE;
    split->split = sr_json_view_bool(sr_json_view_get(json, "split"), true);
    split->prepend = SR_TOK_PREPEND_ALWAYS;
    if (sr_json_view_eq(scheme, "first"))
        split->prepend = SR_TOK_PREPEND_FIRST;
    else if (sr_json_view_eq(scheme, "never") ||
             !sr_json_view_bool(sr_json_view_get(json, "add_prefix_space"), true))
        split->prepend = SR_TOK_PREPEND_NEVER;
    else if (!sr_json_view_is_null(scheme) && !sr_json_view_eq(scheme, "always"))
        return unsupported(err, "pre_tokenizer Metaspace: prepend_scheme", scheme);
    int rc = string_member(t, "pre_tokenizer Metaspace", json, "replacement", &split->pattern, err);
    if (rc == SR_OK && split->pattern.n == 0)
        rc = sr_err_set(err, SR_EPARSE, "pre_tokenizer Metaspace: `replacement` is one character");
    return rc;
}

static int open_pattern(struct sr_tokenizer *t, sr_json_view json, struct sr_tok_split *split,
                        struct sr_err *err)
{
    sr_json_view pattern = sr_json_view_get(json, "pattern"), regex = sr_json_view_get(pattern, "Regex");
    struct sr_bytes spelling;
    split->invert = sr_json_view_bool(sr_json_view_get(json, "invert"), false);
    int rc = open_behavior(json, split, err);
    if (rc)
        return rc;
    if (!sr_json_view_is_string(regex)) {
        split->kind = SR_TOK_SPLIT_STRING;
        return string_pattern(t, "pre_tokenizer Split", pattern, &split->pattern, err);
    }
    split->kind = SR_TOK_SPLIT_REGEX;
    if (!sr_json_view_dup(regex, &t->arena, &spelling))
        return out_of_memory(err);
    split->regex = sr_tok_regex_known(spelling);
    return split->regex ? SR_OK : unsupported(err, "pre_tokenizer Split: the regular expression", regex);
}

static int open_split(struct sr_tokenizer *t, sr_json_view json, unsigned depth, struct sr_err *err)
{
    sr_json_view type = sr_json_view_get(json, "type"), part;
    size_t at = 0;
    int rc = SR_OK;
    if (sr_json_view_eq(type, "Sequence") && depth < SR_TOK_STEPS_MAX) {
        while (rc == SR_OK && sr_json_view_next(sr_json_view_get(json, "pretokenizers"), &at, NULL, &part))
            rc = open_split(t, part, depth + 1, err);
        return rc;
    }
    if (t->n_splits == SR_TOK_STEPS_MAX)
        return sr_err_set(err, SR_ELIMIT, "pre_tokenizer: more than %u steps", SR_TOK_STEPS_MAX);
    if (t->byte_level)
        return sr_err_set(err, SR_EUNSUPPORTED, "pre_tokenizer: nothing may follow ByteLevel");
    struct sr_tok_split *split = &t->splits[t->n_splits++];
    if (sr_json_view_eq(type, "BertPreTokenizer")) {
        split->kind = SR_TOK_SPLIT_BERT;
    } else if (sr_json_view_eq(type, "Whitespace")) {
        split->kind = SR_TOK_SPLIT_WORDS;
    } else if (sr_json_view_eq(type, "WhitespaceSplit")) {
        split->kind = SR_TOK_SPLIT_SPACES;
    } else if (sr_json_view_eq(type, "Punctuation")) {
        split->kind = SR_TOK_SPLIT_PUNCTUATION;
        rc = open_behavior(json, split, err);
    } else if (sr_json_view_eq(type, "Digits")) {
        split->kind = SR_TOK_SPLIT_DIGITS;
        split->behavior = sr_json_view_bool(sr_json_view_get(json, "individual_digits"), false)
                              ? SR_TOK_ISOLATED
                              : SR_TOK_CONTIGUOUS;
    } else if (sr_json_view_eq(type, "ByteLevel")) {
        split->kind = SR_TOK_SPLIT_BYTE_LEVEL;
        split->prefix_space = sr_json_view_bool(sr_json_view_get(json, "add_prefix_space"), true);
        split->use_regex = sr_json_view_bool(sr_json_view_get(json, "use_regex"), true);
        t->byte_level = true;
    } else if (sr_json_view_eq(type, "Metaspace")) {
        rc = open_metaspace(t, json, split, err);
    } else if (sr_json_view_eq(type, "Split")) {
        rc = open_pattern(t, json, split, err);
    } else {
        return unsupported(err, "pre_tokenizer", type);
    }
    return rc;
}

int sr_tok_open_splits(struct sr_tokenizer *t, struct sr_bytes json, struct sr_err *err)
{
    return sr_json_view_is_null(json) ? SR_OK : open_split(t, json, 0, err);
}
