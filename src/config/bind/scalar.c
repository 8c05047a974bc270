/* Scalars: type, range and words, with messages that say what was expected and what was found. */
#include "config/bind/scalar.h"

#include "config/bind/hint.h"
#include "config/bind/meaning.h"
#include "config/bind/value.h"

#include <math.h>
#include <stdio.h>

/* Is it text for its quotes alone? */
static bool is_quoted_value(const struct sr_yaml_node *node)
{
    struct sr_yaml_node bare = *node;
    bool flag;
    bare.plain = true;
    enum sr_yaml_type type = sr_yaml_type(&bare);
    return node->kind == SR_YAML_SCALAR && !node->plain && node->text.n &&
           (type == SR_YAML_INT || type == SR_YAML_FLOAT || sr_yaml_to_bool(&bare, &flag));
}

static void expected(struct sr_binder *b, const struct sr_field *field, const struct sr_yaml_node *node,
                     const char *what)
{
    if (is_quoted_value(node))
        sr_bind_error(b, node, "`%s`: expected %s, found the text `%.60s`; write it without quotes",
                      field->key, what, node->text.p);
    else if (node->kind == SR_YAML_SCALAR && node->text.n)
        sr_bind_error(b, node, "`%s`: expected %s, found `%.60s`", field->key, what, node->text.p);
    else
        sr_bind_error(b, node, "`%s`: expected %s, found %s", field->key, what, sr_yaml_type_name(node));
}

/* Text and numbers are text; true, false and null need quotes. */
static bool text_of(struct sr_binder *b, const struct sr_field *field, const struct sr_yaml_node *node)
{
    enum sr_yaml_type type = sr_yaml_type(node);
    if (type == SR_YAML_STRING || type == SR_YAML_INT || type == SR_YAML_FLOAT)
        return true;
    if (type == SR_YAML_BOOL || (type == SR_YAML_NULL && node->text.n))
        sr_bind_error(b, node, "`%s`: expected text, found %s; put it in quotes if text is meant", field->key,
                      type == SR_YAML_BOOL ? "true or false" : "null");
    else
        sr_bind_error(b, node, "`%s`: expected text, found %s", field->key, sr_yaml_type_name(node));
    return false;
}

static void put(void *target, size_t offset, const void *value, size_t size)
{
    memcpy((char *)target + offset, value, size);
}

static void put_text(void *target, size_t offset, const char *text)
{
    put(target, offset, &text, sizeof text);
}

static void bind_text(struct sr_binder *b, const struct sr_field *field, const struct sr_yaml_node *node,
                      void *target)
{
    if (!text_of(b, field, node))
        return;
    if (node->text.n == 0 && (field->flags & SR_FIELD_NOT_EMPTY)) {
        sr_bind_error(b, node, "`%s` must not be empty", field->key);
        return;
    }
    if (strlen(node->text.p) != node->text.n) {
        sr_bind_error(b, node, "`%s` must not contain a NUL character", field->key);
        return;
    }
    if (field->type == SR_FIELD_TEXT && !(field->flags & (SR_FIELD_DECLARED | SR_FIELD_INERT)))
        put_text(target, field->offset, sr_bind_dup(b, node->text));
}

static void unknown_word(struct sr_binder *b, const struct sr_field *field, const struct sr_yaml_node *node)
{
    char hint[SR_ERR_MESSAGE_MAX] = "";
    struct sr_nearest nearest = {.word = node->text};
    for (const char *const *later = field->later; later && *later; later++)
        if (sr_bytes_eq(node->text, sr_bytes_str(*later))) {
            sr_bind_unsupported(b, node, "`%s`: `%s` is not supported by this version of semroute%s",
                                field->key, *later, sr_meaning_refused(*later).text);
            sr_bind_drop(b, node);
            return;
        }
    for (const struct sr_enum_word *word = field->words; !field->otherwise && word->word; word++)
        sr_nearest_try(&nearest, word->word);
    if (field->otherwise)
        snprintf(hint, sizeof hint, "; %s", field->otherwise);
    else if (!*sr_nearest_hint(&nearest, hint, sizeof hint)) {
        size_t n = (size_t)snprintf(hint, sizeof hint, "; it is one of");
        for (const struct sr_enum_word *word = field->words; word->word && n < sizeof hint; word++)
            n += (size_t)snprintf(hint + n, sizeof hint - n, "%s `%s`", word == field->words ? "" : ",",
                                  word->word);
    }
    (field->flags & SR_FIELD_DROPPABLE ? sr_bind_unsupported : sr_bind_error)(
        b, node, "`%s`: unknown value `%.60s`%s", field->key, node->text.p, hint);
}

static void bind_word(struct sr_binder *b, const struct sr_field *field, const struct sr_yaml_node *node,
                      void *target)
{
    if (!text_of(b, field, node))
        return;
    bool decides = (field->flags & (SR_FIELD_DROPPABLE | SR_FIELD_DECLARED)) == SR_FIELD_DROPPABLE;
    if (node->text.n == 0 && !b->own && !node->variable && !decides && !(field->flags & SR_FIELD_REQUIRED))
        return; /* as good as absent */
    for (const struct sr_enum_word *word = field->words; word->word; word++) {
        if (!sr_bytes_eq(node->text, sr_bytes_str(word->word)))
            continue;
        if (field->flags & SR_FIELD_DECLARED)
            return;
        if (field->type == SR_FIELD_WORD)
            put_text(target, field->offset, word->word);
        else
            put(target, field->offset, &word->value, sizeof word->value);
        return;
    }
    unknown_word(b, field, node);
}

static bool in_range(struct sr_binder *b, const struct sr_field *field, const struct sr_yaml_node *node,
                     double value)
{
    bool bounded = field->min != 0 || field->max != 0;
    bool low = value < field->min || ((field->flags & SR_FIELD_EXCLUSIVE) && value <= field->min);
    if (isfinite(value) && (!bounded || (!low && value <= field->max)))
        return true;
    if (!isfinite(value))
        expected(b, field, node, "a finite number");
    else if (field->flags & SR_FIELD_EXCLUSIVE)
        sr_bind_error(b, node, "`%s` must be above %.15g and at most %.15g, found %.40s", field->key,
                      field->min, field->max, node->text.p);
    else
        sr_bind_error(b, node, "`%s` must be between %.15g and %.15g, found %.40s", field->key, field->min,
                      field->max, node->text.p);
    return false;
}

static void bind_whole(struct sr_binder *b, const struct sr_field *field, const struct sr_yaml_node *node,
                       void *target)
{
    int64_t value;
    double real;
    if (!sr_yaml_to_int(node, &value)) {
        if (sr_yaml_type(node) != SR_YAML_FLOAT || !sr_yaml_to_double(node, &real) || real != trunc(real) ||
            fabs(real) > 1e15) {
            expected(b, field, node, "a whole number");
            return;
        }
        value = (int64_t)real;
    }
    if (!in_range(b, field, node, (double)value))
        return;
    int narrow = (int)value;
    uint32_t natural = (uint32_t)value;
    if (field->type == SR_FIELD_INT64 ||
        field->type == SR_FIELD_MS) /* of one size; a range keeps it positive */
        put(target, field->offset, &value, sizeof value);
    else if (field->type == SR_FIELD_INT)
        put(target, field->offset, &narrow, sizeof narrow);
    else
        put(target, field->offset, &natural, sizeof natural);
}

static void bind_number(struct sr_binder *b, const struct sr_field *field, const struct sr_yaml_node *node,
                        void *target)
{
    double value;
    if (!sr_yaml_to_double(node, &value)) {
        expected(b, field, node, "a number");
        return;
    }
    if (in_range(b, field, node, value))
        put(target, field->offset, &value, sizeof value);
}

static void bind_quantity(struct sr_binder *b, const struct sr_field *field, const struct sr_yaml_node *node,
                          void *target)
{
    uint64_t value = 0;
    bool scalar = node->kind == SR_YAML_SCALAR;
    if (field->type == SR_FIELD_DURATION) {
        if (!scalar || !sr_value_duration(node->text, &value)) {
            expected(b, field, node, "a duration with its unit, such as `30s`, `500ms` or `1m30s`");
            return;
        }
    } else if (field->type == SR_FIELD_TOKENS) {
        if (!scalar || !sr_value_tokens(node->text, &value)) {
            expected(b, field, node, "a number of tokens, such as 4096, `4K` or `1.5M`");
            return;
        }
    } else if (!scalar || !sr_value_size(node->text, &value)) {
        expected(b, field, node, "a size, such as 4096, `64KiB` or `32MiB`");
        return;
    }
    if (!in_range(b, field, node, (double)value))
        return;
    size_t size = (size_t)value;
    if (field->type == SR_FIELD_SIZE)
        put(target, field->offset, &size, sizeof size);
    else
        put(target, field->offset, &value, sizeof value);
}

/* An entry of a list of texts: NULL with an error when it is none. */
static const char *entry_of(struct sr_binder *b, const struct sr_field *field,
                            const struct sr_yaml_node *item)
{
    if (!text_of(b, field, item))
        return NULL;
    bool empty_ok = (field->flags & SR_FIELD_EMPTY_ENTRIES) != 0;
    if ((item->text.n || empty_ok) && strlen(item->text.p) == item->text.n)
        return sr_bind_dup(b, item->text);
    sr_bind_error(b, item, "`%s`: an entry must not be empty", field->key);
    return NULL;
}

static void bind_texts(struct sr_binder *b, const struct sr_field *field, const struct sr_yaml_node *node,
                       struct sr_strings *out)
{
    if (node->kind != SR_YAML_LIST) {
        expected(b, field, node, "a list");
        return;
    }
    if (node->count == 0 && (field->flags & SR_FIELD_NOT_EMPTY))
        sr_bind_error(b, node, "`%s` must not be empty", field->key);
    const char **items = node->count ? sr_bind_calloc(b, node->count, sizeof *items) : NULL;
    size_t count = 0;
    for (size_t i = 0; items && i < node->count; i++) {
        items[count] = entry_of(b, field, node->items[i]);
        count += items[count] != NULL;
    }
    *out = (struct sr_strings){items, count};
}

static void bind_names(struct sr_binder *b, const struct sr_field *field, const struct sr_yaml_node *node,
                       struct sr_name_values *out)
{
    if (node->kind != SR_YAML_LIST) {
        expected(b, field, node, "a list");
        return;
    }
    struct sr_name_value *items = node->count ? sr_bind_calloc(b, node->count, sizeof *items) : NULL;
    size_t count = 0;
    for (size_t i = 0; items && i < node->count; i++) {
        const struct sr_yaml_node *item = node->items[i], *name = item, *about = NULL;
        if (item->kind == SR_YAML_MAP) {
            name = sr_yaml_get(item, "name");
            about = sr_yaml_get(item, "description");
            if (!name || item->count != (size_t)1 + (about != NULL)) {
                sr_bind_error(b, item, "`%s`: an entry is a name, or a mapping of `name` and `description`",
                              field->key);
                continue;
            }
        }
        items[count].name = entry_of(b, field, name);
        items[count].value = about ? entry_of(b, field, about) : "";
        count += items[count].name && items[count].value;
    }
    *out = (struct sr_name_values){items, count};
}

static void bind_text_lists(struct sr_binder *b, const struct sr_field *field,
                            const struct sr_yaml_node *node, void *target)
{
    if (node->kind != SR_YAML_LIST) {
        expected(b, field, node, "a list of lists");
        return;
    }
    struct sr_strings *lists = node->count ? sr_bind_calloc(b, node->count, sizeof *lists) : NULL;
    if (!lists)
        return;
    for (size_t i = 0; i < node->count; i++)
        bind_texts(b, field, node->items[i], &lists[i]);
    put(target, field->offset, &lists, sizeof lists);
    put(target, field->count_offset, &node->count, sizeof node->count);
}

static void bind_text_map(struct sr_binder *b, const struct sr_field *field, const struct sr_yaml_node *node,
                          void *target)
{
    if (node->kind != SR_YAML_MAP) {
        expected(b, field, node, "a mapping of lists");
        return;
    }
    struct sr_named_strings *lists = node->count ? sr_bind_calloc(b, node->count, sizeof *lists) : NULL;
    if (!lists)
        return;
    for (size_t i = 0; i < node->count; i++) {
        lists[i].name = sr_bind_dup(b, node->keys[i]->text);
        bind_texts(b, field, node->items[i], &lists[i].texts);
    }
    put(target, field->offset, &lists, sizeof lists);
    put(target, field->count_offset, &node->count, sizeof node->count);
}

static void bind_pairs(struct sr_binder *b, const struct sr_field *field, const struct sr_yaml_node *node,
                       void *target)
{
    if (node->kind != SR_YAML_MAP) {
        expected(b, field, node, "a mapping");
        return;
    }
    struct sr_name_values pairs = {0};
    pairs.items = node->count ? sr_bind_calloc(b, node->count, sizeof *pairs.items) : NULL;
    for (size_t i = 0; pairs.items && i < node->count; i++) {
        if (!text_of(b, field, node->items[i]))
            continue;
        struct sr_name_value *pair = &pairs.items[pairs.count++];
        pair->name = sr_bind_dup(b, node->keys[i]->text);
        pair->value = sr_bind_dup(b, node->items[i]->text);
    }
    put(target, field->offset, &pairs, sizeof pairs);
}

void sr_bind_scalar(struct sr_binder *b, const struct sr_field *field, const struct sr_yaml_node *node,
                    void *target)
{
    bool flag;
    double nowhere[2]; /* room for one value of any type */
    struct sr_field inert = *field;
    if (field->flags & SR_FIELD_INERT) {
        inert.offset = 0;
        field = &inert;
        target = nowhere;
    }
    switch (field->type) {
    case SR_FIELD_TEXT:
    case SR_FIELD_REF:
        bind_text(b, field, node, target);
        break;
    case SR_FIELD_ENUM:
    case SR_FIELD_WORD:
        bind_word(b, field, node, target);
        break;
    case SR_FIELD_BOOL:
        if (sr_yaml_to_bool(node, &flag))
            put(target, field->offset, &flag, sizeof flag);
        else
            expected(b, field, node, "true or false");
        break;
    case SR_FIELD_INT:
    case SR_FIELD_INT64:
    case SR_FIELD_UINT32:
    case SR_FIELD_MS:
        bind_whole(b, field, node, target);
        break;
    case SR_FIELD_NUMBER:
        bind_number(b, field, node, target);
        break;
    case SR_FIELD_DURATION:
    case SR_FIELD_SIZE:
    case SR_FIELD_TOKENS:
        bind_quantity(b, field, node, target);
        break;
    case SR_FIELD_TEXTS:
        bind_texts(b, field, node, (struct sr_strings *)((char *)target + field->offset));
        break;
    case SR_FIELD_NAMES:
        bind_names(b, field, node, (struct sr_name_values *)((char *)target + field->offset));
        break;
    case SR_FIELD_TEXT_LISTS:
        bind_text_lists(b, field, node, target);
        break;
    case SR_FIELD_TEXT_MAP:
        bind_text_map(b, field, node, target);
        break;
    default:
        bind_pairs(b, field, node, target);
    }
}

void sr_bind_default(struct sr_binder *b, const struct sr_field *field, void *target)
{
    bool text = field->type == SR_FIELD_TEXT || field->type == SR_FIELD_WORD;
    if (text && !(field->flags & (SR_FIELD_DECLARED | SR_FIELD_INERT)))
        put_text(target, field->offset, "");
    if (!field->def || (field->flags & (SR_FIELD_DECLARED | SR_FIELD_INERT)))
        return;
    struct sr_yaml_node node = {.kind = SR_YAML_SCALAR, .plain = true, .text = sr_bytes_str(field->def)};
    sr_bind_scalar(b, field, &node, target);
}
