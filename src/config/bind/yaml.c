/*
 * Builds the node tree from libyaml's events. The only file that includes yaml.h of libyaml.
 * libyaml allocates for itself; everything that outlives a call here is in the caller's arena.
 */
#include "config/bind/yaml.h"

#include <yaml.h>

struct anchor {
    struct anchor *next;
    struct sr_bytes name;
    struct sr_yaml_node *node; /* NULL while it is being built */
};

struct builder {
    yaml_parser_t parser;
    yaml_event_t event;
    bool has_event;
    struct sr_bytes text;
    struct sr_arena *arena;
    struct sr_problems *problems;
    struct anchor *anchors; /* latest first */
    size_t size;
};

/* Grows in the arena by doubling. */
struct node_list {
    struct sr_yaml_node **items;
    size_t count, capacity;
};

static int build_node(struct builder *b, struct sr_yaml_node **out, int depth);

static int fail_at(struct builder *b, yaml_mark_t mark, const char *message)
{
    sr_problems_add(b->problems, SR_PROBLEM_ERROR, (uint32_t)mark.line + 1, (uint32_t)mark.column + 1, "%s",
                    message);
    return SR_EPARSE;
}

/* libyaml gives a byte offset for bytes that are no text, a mark for everything else. */
static int fail_reader(struct builder *b)
{
    uint32_t line = 1, column = 1;
    size_t end = b->parser.problem_offset < b->text.n ? b->parser.problem_offset : b->text.n;
    for (size_t i = 0; i < end; i++) {
        column = b->text.p[i] == '\n' ? 1 : column + 1;
        line += b->text.p[i] == '\n';
    }
    sr_problems_add(b->problems, SR_PROBLEM_ERROR, line, column, "not valid UTF-8 text: %s",
                    b->parser.problem ? b->parser.problem : "bad bytes");
    return SR_EPARSE;
}

static bool line_starts_with_tab(struct sr_bytes text, size_t offset)
{
    while (offset > 0 && offset <= text.n && text.p[offset - 1] != '\n')
        offset--;
    for (; offset < text.n && (text.p[offset] == ' ' || text.p[offset] == '\t'); offset++)
        if (text.p[offset] == '\t')
            return true;
    return false;
}

/* The value before the place of a mistake that is a variable without quotes inside `{}` or `[]`, where braces
 * are YAML's own; empty when there is none on the line. */
static struct sr_bytes bare_variable(struct sr_bytes text, size_t offset)
{
    size_t from = offset < text.n ? offset : text.n, to = from;
    while (from > 0 && text.p[from - 1] != '\n')
        from--;
    while (to < text.n && text.p[to] != '\n')
        to++;
    bool flow = false, quoted = false;
    for (size_t i = from; i + 1 < to; i++) {
        char c = text.p[i];
        quoted ^= c == '"' || c == '\'';
        bool opens = c == '{' && text.p[i + 1] == '{';
        if (!quoted && flow && ((c == '$' && text.p[i + 1] == '{') || opens)) {
            const char *end = memchr(text.p + i, '}', to - i);
            size_t n = end ? (size_t)(end - text.p) + 1 + opens : to;
            return sr_bytes_of(text.p + i, (n < to ? n : to) - i);
        }
        flow |= c == '{' || c == '[';
    }
    return sr_bytes_of(text.p, 0);
}

static int fail_parser(struct builder *b)
{
    const yaml_parser_t *p = &b->parser;
    if (p->error == YAML_MEMORY_ERROR)
        return SR_ENOMEM;
    if (p->error == YAML_READER_ERROR)
        return fail_reader(b);
    if (line_starts_with_tab(b->text, p->problem_mark.index))
        return fail_at(b, p->problem_mark, "YAML is indented with spaces; this line has a tab");
    struct sr_bytes bare = bare_variable(b->text, p->problem_mark.index);
    int n = (int)(bare.n < 60 ? bare.n : 60);
    if (n) {
        sr_problems_add(b->problems, SR_PROBLEM_ERROR, (uint32_t)p->problem_mark.line + 1,
                        (uint32_t)p->problem_mark.column + 1,
                        "not valid YAML: inside `{}` and `[]` a value with braces needs quotes: \"%.*s\"", n,
                        bare.p);
        return SR_EPARSE;
    }
    sr_problems_add(b->problems, SR_PROBLEM_ERROR, (uint32_t)p->problem_mark.line + 1,
                    (uint32_t)p->problem_mark.column + 1, "not valid YAML: %s%s%s",
                    p->problem ? p->problem : "syntax error", p->context ? " " : "",
                    p->context ? p->context : "");
    return SR_EPARSE;
}

static int next_event(struct builder *b)
{
    if (b->has_event)
        yaml_event_delete(&b->event);
    b->has_event = yaml_parser_parse(&b->parser, &b->event) != 0;
    return b->has_event ? SR_OK : fail_parser(b);
}

static int charge(struct builder *b, size_t size)
{
    b->size += size;
    if (b->size <= SR_YAML_MAX_SIZE)
        return SR_OK;
    return fail_at(b, b->event.start_mark, "the file is too large once its aliases are written out");
}

static int list_push(struct builder *b, struct node_list *list, struct sr_yaml_node *node)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 4;
        struct sr_yaml_node **items = sr_arena_alloc(b->arena, capacity * sizeof *items);
        if (!items)
            return SR_ENOMEM;
        if (list->count)
            memcpy(items, list->items, list->count * sizeof *items);
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = node;
    return SR_OK;
}

static int add_anchor(struct builder *b, const yaml_char_t *name, struct anchor **out)
{
    *out = NULL;
    if (!name)
        return SR_OK;
    struct anchor *anchor = sr_arena_calloc(b->arena, 1, sizeof *anchor);
    if (!anchor)
        return SR_ENOMEM;
    anchor->name = sr_arena_dup(b->arena, sr_bytes_str((const char *)name));
    if (!anchor->name.p)
        return SR_ENOMEM;
    anchor->next = b->anchors;
    b->anchors = anchor;
    *out = anchor;
    return SR_OK;
}

static int build_alias(struct builder *b, struct sr_yaml_node **out)
{
    struct sr_bytes name = sr_bytes_str((const char *)b->event.data.alias.anchor);
    for (struct anchor *anchor = b->anchors; anchor; anchor = anchor->next) {
        if (!sr_bytes_eq(anchor->name, name))
            continue;
        if (!anchor->node)
            return fail_at(b, b->event.start_mark, "an alias inside its own anchor");
        *out = anchor->node;
        return charge(b, anchor->node->size);
    }
    sr_problems_add(b->problems, SR_PROBLEM_ERROR, (uint32_t)b->event.start_mark.line + 1,
                    (uint32_t)b->event.start_mark.column + 1, "no anchor `&%.60s` before this alias", name.p);
    return SR_EPARSE;
}

/* True for "!", and for the core tag of `kind` or `!!str` on a scalar. */
static bool tag_accepted(const yaml_char_t *tag, const char *core)
{
    return !tag || strcmp((const char *)tag, "!") == 0 || strcmp((const char *)tag, core) == 0;
}

static int build_scalar(struct builder *b, struct sr_yaml_node *node)
{
    const yaml_char_t *tag = b->event.data.scalar.tag;
    if (!tag_accepted(tag, YAML_STR_TAG))
        return fail_at(b, b->event.start_mark, "tags such as `!!int` and `!name` are not supported");
    node->plain = !tag && b->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node->text = sr_arena_dup(b->arena, sr_bytes_of(b->event.data.scalar.value, b->event.data.scalar.length));
    if (!node->text.p)
        return SR_ENOMEM;
    return charge(b, node->text.n / 64);
}

static int build_list(struct builder *b, struct sr_yaml_node *node, int depth)
{
    struct node_list list = {0};
    if (!tag_accepted(b->event.data.sequence_start.tag, YAML_SEQ_TAG))
        return fail_at(b, b->event.start_mark, "tags are not supported");
    for (;;) {
        struct sr_yaml_node *item;
        int rc = next_event(b);
        if (rc)
            return rc;
        if (b->event.type == YAML_SEQUENCE_END_EVENT)
            break;
        rc = build_node(b, &item, depth + 1);
        if (rc == SR_OK)
            rc = list_push(b, &list, item);
        if (rc)
            return rc;
    }
    node->items = list.items;
    node->count = list.count;
    return SR_OK;
}

#define TOO_MANY_KEYS "more than 1024 keys in one mapping"

static int build_key(struct builder *b, const struct node_list *keys, struct sr_yaml_node **out, int depth)
{
    if (b->event.type != YAML_SCALAR_EVENT)
        return fail_at(b, b->event.start_mark,
                       "a key must be plain text; a value in braces, such as {{NAME}}, needs quotes");
    if (keys->count == SR_YAML_MAX_KEYS)
        return fail_at(b, b->event.start_mark, TOO_MANY_KEYS);
    return build_node(b, out, depth + 1);
}

static bool is_merge(const struct sr_yaml_node *key)
{
    return key->plain && sr_bytes_eq(key->text, SR_LIT("<<"));
}

/* Of a key that is given twice the first stays, so that every reader sees the same value. */
static int add_pair(struct builder *b, struct node_list *keys, struct node_list *values,
                    struct sr_yaml_node *key, struct sr_yaml_node *value)
{
    for (size_t i = 0; i < keys->count; i++)
        if (sr_bytes_eq(keys->items[i]->text, key->text)) {
            sr_problems_add(b->problems, SR_PROBLEM_ERROR, key->line, key->column,
                            "key `%.60s` is given twice; the first is on line %u", key->text.p,
                            keys->items[i]->line);
            return SR_OK;
        }
    int rc = list_push(b, keys, key);
    return rc ? rc : list_push(b, values, value);
}

static bool has_key(const struct node_list *keys, struct sr_bytes name)
{
    for (size_t i = 0; i < keys->count; i++)
        if (sr_bytes_eq(keys->items[i]->text, name))
            return true;
    return false;
}

/* Adds what `from`, the value of a merge key, has and the mapping has not: a mapping, or a list of them. */
static int merge(struct builder *b, struct node_list *keys, struct node_list *values,
                 const struct sr_yaml_node *from, bool nested)
{
    int rc = SR_OK;
    if (from->kind == SR_YAML_SCALAR || (from->kind == SR_YAML_LIST && nested)) {
        sr_problems_add(b->problems, SR_PROBLEM_ERROR, from->line, from->column,
                        "`<<` takes a mapping, or a list of mappings");
        return SR_EPARSE;
    }
    for (size_t i = 0; i < from->count && rc == SR_OK; i++) {
        if (from->kind == SR_YAML_LIST) {
            rc = merge(b, keys, values, from->items[i], true);
            continue;
        }
        if (has_key(keys, from->keys[i]->text))
            continue;
        if (keys->count == SR_YAML_MAX_KEYS) {
            sr_problems_add(b->problems, SR_PROBLEM_ERROR, from->line, from->column, TOO_MANY_KEYS);
            return SR_EPARSE;
        }
        rc = charge(b, (size_t)1 + from->items[i]->size);
        if (rc == SR_OK)
            rc = list_push(b, keys, from->keys[i]);
        if (rc == SR_OK)
            rc = list_push(b, values, from->items[i]);
    }
    return rc;
}

static int build_map(struct builder *b, struct sr_yaml_node *node, int depth)
{
    struct node_list keys = {0}, values = {0}, merged = {0};
    if (!tag_accepted(b->event.data.mapping_start.tag, YAML_MAP_TAG))
        return fail_at(b, b->event.start_mark, "tags are not supported");
    for (;;) {
        struct sr_yaml_node *key, *value;
        int rc = next_event(b);
        if (rc)
            return rc;
        if (b->event.type == YAML_MAPPING_END_EVENT)
            break;
        rc = build_key(b, &keys, &key, depth);
        if (rc == SR_OK)
            rc = next_event(b);
        if (rc == SR_OK)
            rc = build_node(b, &value, depth + 1);
        if (rc == SR_OK)
            rc = is_merge(key) ? list_push(b, &merged, value) : add_pair(b, &keys, &values, key, value);
        if (rc)
            return rc;
    }
    for (size_t i = 0; i < merged.count; i++) {
        int rc = merge(b, &keys, &values, merged.items[i], false);
        if (rc)
            return rc;
    }
    node->keys = keys.items;
    node->items = values.items;
    node->count = values.count;
    return SR_OK;
}

/* Builds what the current event starts, and stops at its last event. */
static int build_node(struct builder *b, struct sr_yaml_node **out, int depth)
{
    if (b->event.type == YAML_ALIAS_EVENT)
        return build_alias(b, out);
    if (depth > SR_YAML_MAX_DEPTH)
        return fail_at(b, b->event.start_mark, "nested deeper than 64 levels");
    struct sr_yaml_node *node = sr_arena_calloc(b->arena, 1, sizeof *node);
    struct anchor *anchor = NULL;
    if (!node)
        return SR_ENOMEM;
    node->line = (uint32_t)b->event.start_mark.line + 1;
    node->column = (uint32_t)b->event.start_mark.column + 1;
    size_t before = b->size;
    int rc = charge(b, 1);
    if (rc)
        return rc;
    switch (b->event.type) {
    case YAML_SCALAR_EVENT:
        rc = add_anchor(b, b->event.data.scalar.anchor, &anchor);
        node->kind = SR_YAML_SCALAR;
        rc = rc ? rc : build_scalar(b, node);
        break;
    case YAML_SEQUENCE_START_EVENT:
        rc = add_anchor(b, b->event.data.sequence_start.anchor, &anchor);
        node->kind = SR_YAML_LIST;
        rc = rc ? rc : build_list(b, node, depth);
        break;
    default:
        rc = add_anchor(b, b->event.data.mapping_start.anchor, &anchor);
        node->kind = SR_YAML_MAP;
        rc = rc ? rc : build_map(b, node, depth);
        break;
    }
    node->size = (uint32_t)(b->size - before);
    if (anchor)
        anchor->node = node;
    *out = node;
    return rc;
}

/* After the document: the end of the stream, or documents with nothing in them. */
static int expect_end(struct builder *b)
{
    for (;;) {
        int rc = next_event(b);
        if (rc || b->event.type == YAML_STREAM_END_EVENT)
            return rc;
        yaml_mark_t mark = b->event.start_mark;
        rc = next_event(b);
        if (rc)
            return rc;
        if (b->event.type != YAML_SCALAR_EVENT || b->event.data.scalar.length ||
            b->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
            return fail_at(b, mark, "a second YAML document (`---`); a configuration is one");
        rc = next_event(b); /* document end */
        if (rc)
            return rc;
    }
}

static int build_document(struct builder *b, struct sr_yaml_node **root)
{
    int rc = next_event(b); /* stream start */
    if (rc == SR_OK)
        rc = next_event(b);
    if (rc || b->event.type == YAML_STREAM_END_EVENT)
        return rc;
    rc = next_event(b); /* the node after document start */
    if (rc == SR_OK)
        rc = build_node(b, root, 0);
    if (rc == SR_OK)
        rc = next_event(b); /* document end */
    return rc ? rc : expect_end(b);
}

int sr_yaml_parse(struct sr_yaml_node **root, struct sr_arena *arena, struct sr_bytes text,
                  struct sr_problems *problems)
{
    if (sr_bytes_starts_with(text, SR_LIT("\xEF\xBB\xBF"))) /* a byte order mark */
        text = sr_bytes_of(text.p + 3, text.n - 3);
    struct builder b = {.text = text, .arena = arena, .problems = problems};
    *root = NULL;
    if (text.n > SR_YAML_MAX_TEXT) {
        sr_problems_add(problems, SR_PROBLEM_ERROR, 0, 0, "larger than 16 MiB");
        return SR_EPARSE;
    }
    if (!yaml_parser_initialize(&b.parser))
        return SR_ENOMEM;
    yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b.parser, (const unsigned char *)(text.p ? text.p : ""), text.n);
    int rc = build_document(&b, root);
    if (b.has_event)
        yaml_event_delete(&b.event);
    yaml_parser_delete(&b.parser);
    if (rc)
        *root = NULL;
    return rc;
}
