/* Writing YAML for the migration, and reading the old tree with errors at their positions. */
#include "config/migrate/write.h"

#include <stdarg.h>
#include <stdio.h>

#define NOTE_MAX 256

void sr_migrate_put(struct sr_migration *m, const char *fmt, ...)
{
    char line[512];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (m->rc == SR_OK)
        m->rc = n < 0 || (size_t)n >= sizeof line ? SR_ELIMIT : sr_buf_append(m->out, line, (size_t)n);
}

/* Reads as the same string without quotes: a word of letters, digits and a few marks that is no other type.
 */
static bool plain_enough(struct sr_bytes text)
{
    struct sr_yaml_node probe = {.kind = SR_YAML_SCALAR, .plain = true, .text = text};
    if (text.n == 0 || text.n > 80 || sr_yaml_type(&probe) != SR_YAML_STRING || text.p[text.n - 1] == ' ')
        return false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i], lower = sr_ascii_lower(c);
        bool letter = (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9');
        if (!letter && (i == 0 || !c || !strchr("_./- ", c)))
            return false;
    }
    return true;
}

/* Length of the line break that is no ASCII (U+0085, U+2028, U+2029) at `p`, 0 for anything else. */
static size_t odd_break(const char *p, size_t n, const char **escape)
{
    static const struct {
        struct sr_bytes bytes;
        const char *escape;
    } breaks[] = {{{"\xC2\x85", 2}, "\\N"}, {{"\xE2\x80\xA8", 3}, "\\L"}, {{"\xE2\x80\xA9", 3}, "\\P"}};
    for (size_t i = 0; i < 3; i++)
        if (sr_bytes_starts_with(sr_bytes_of(p, n), breaks[i].bytes)) {
            *escape = breaks[i].escape;
            return breaks[i].bytes.n;
        }
    return 0;
}

/* JSON's escapes are YAML's, but YAML knows more line breaks. */
static void put_quoted(struct sr_migration *m, struct sr_bytes text)
{
    size_t run = 0;
    sr_migrate_put(m, "\"");
    for (size_t i = 0; i <= text.n && m->rc == SR_OK;) {
        const char *escape = "";
        size_t n = i < text.n ? odd_break(text.p + i, text.n - i, &escape) : 0;
        if (n || i == text.n) {
            m->rc = sr_buf_append_json(m->out, sr_bytes_of(text.p + run, i - run));
            sr_migrate_put(m, "%s", escape);
            run = i + n;
        }
        i += n ? n : 1;
    }
    sr_migrate_put(m, "\"");
}

void sr_migrate_string(struct sr_migration *m, struct sr_bytes text)
{
    if (!plain_enough(text))
        put_quoted(m, text);
    else if (m->rc == SR_OK)
        m->rc = sr_buf_append_bytes(m->out, text);
}

void sr_migrate_value(struct sr_migration *m, const struct sr_yaml_node *node)
{
    enum sr_yaml_type type = node ? sr_yaml_type(node) : SR_YAML_NULL;
    bool variable = node && node->plain && sr_bytes_contains(node->text, SR_LIT("${"));
    bool bare = type == SR_YAML_BOOL || type == SR_YAML_INT || type == SR_YAML_FLOAT;
    for (size_t i = 0; variable && i < node->text.n; i++)
        variable = node->text.p[i] != ',' && node->text.p[i] != '#' && node->text.p[i] > ' ' &&
                   !strchr("[]'\"", node->text.p[i]);
    if (bare || variable)
        m->rc = m->rc ? m->rc : sr_buf_append_bytes(m->out, node->text);
    else
        sr_migrate_string(m, type == SR_YAML_STRING ? node->text : SR_LIT(""));
}

void sr_migrate_copy(struct sr_migration *m, const struct sr_yaml_node *map, const char *key,
                     const char *indent, const char *new_key)
{
    const struct sr_yaml_node *value = sr_migrate_scalar(m, map, key);
    if (!value)
        return;
    sr_migrate_put(m, "%s%s: ", indent, new_key);
    sr_migrate_value(m, value);
    sr_migrate_put(m, "\n");
}

/* In flow style: one line, whatever is below. */
static void put_node(struct sr_migration *m, const struct sr_yaml_node *node)
{
    if (node->kind == SR_YAML_SCALAR) {
        if (sr_yaml_type(node) == SR_YAML_NULL)
            sr_migrate_put(m, "null");
        else if (sr_bytes_contains(node->text, SR_LIT("${")))
            put_quoted(m, node->text); /* braces are flow style's own */
        else
            sr_migrate_value(m, node);
        return;
    }
    sr_migrate_put(m, node->kind == SR_YAML_LIST ? "[" : "{");
    for (size_t i = 0; i < node->count && m->rc == SR_OK; i++) {
        sr_migrate_put(m, i ? ", " : "");
        if (node->kind == SR_YAML_MAP) {
            sr_migrate_string(m, node->keys[i]->text);
            sr_migrate_put(m, ": ");
        }
        put_node(m, node->items[i]);
    }
    sr_migrate_put(m, node->kind == SR_YAML_LIST ? "]" : "}");
}

void sr_migrate_tree(struct sr_migration *m, const struct sr_yaml_node *map, const char *key,
                     const char *indent, const char *new_key)
{
    const struct sr_yaml_node *node = sr_yaml_get(map, key);
    if (!node)
        return;
    sr_migrate_put(m, "%s%s: ", indent, new_key);
    put_node(m, node);
    sr_migrate_put(m, "\n");
}

void sr_migrate_copy_list(struct sr_migration *m, const struct sr_yaml_node *map, const char *key,
                          const char *indent)
{
    const struct sr_yaml_node *list = sr_migrate_list(m, map, key);
    const char *separator = "";
    if (!list)
        return;
    sr_migrate_put(m, "%s%s: [", indent, key);
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i]->kind != SR_YAML_SCALAR || list->items[i]->text.n == 0)
            continue;
        sr_migrate_put(m, "%s", separator);
        sr_migrate_value(m, list->items[i]);
        separator = ", ";
    }
    sr_migrate_put(m, "]\n");
}

void sr_migrate_note(struct sr_migration *m, const struct sr_yaml_node *node, const char *fmt, ...)
{
    char text[NOTE_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    for (char *p = text; *p; p++) {
        const char *escape;
        size_t n = odd_break(p, strlen(p), &escape);
        memset(p, ' ', n ? n : (unsigned char)*p < ' ');
    }
    sr_problems_add(m->problems, SR_PROBLEM_WARNING, node->line, node->column, "%s", text);
    if (m->rc == SR_OK)
        m->rc = sr_buf_printf(&m->notes, "#   line %u: ", node->line);
    if (m->rc == SR_OK)
        m->rc = sr_buf_append_json(&m->notes, sr_bytes_str(text)); /* a cut may have left half a character */
    if (m->rc == SR_OK)
        m->rc = sr_buf_append(&m->notes, "\n", 1);
}

static const struct sr_yaml_node *child(struct sr_migration *m, const struct sr_yaml_node *map,
                                        const char *key, enum sr_yaml_kind kind)
{
    static const char *const names[] = {"a value", "a list", "a mapping"};
    const struct sr_yaml_node *node = sr_yaml_get(map, key);
    if (!node || sr_yaml_type(node) == SR_YAML_NULL)
        return NULL;
    if (node->kind == kind)
        return node;
    sr_problems_add(m->problems, SR_PROBLEM_ERROR, node->line, node->column, "`%s`: expected %s, found %s",
                    key, names[kind], sr_yaml_type_name(node));
    return NULL;
}

const struct sr_yaml_node *sr_migrate_list(struct sr_migration *m, const struct sr_yaml_node *map,
                                           const char *key)
{
    return child(m, map, key, SR_YAML_LIST);
}

const struct sr_yaml_node *sr_migrate_map(struct sr_migration *m, const struct sr_yaml_node *map,
                                          const char *key)
{
    return child(m, map, key, SR_YAML_MAP);
}

const struct sr_yaml_node *sr_migrate_scalar(struct sr_migration *m, const struct sr_yaml_node *map,
                                             const char *key)
{
    return child(m, map, key, SR_YAML_SCALAR);
}

bool sr_migrate_has(const struct sr_yaml_node *map, const char *key)
{
    const struct sr_yaml_node *node = sr_yaml_get(map, key);
    return node && node->kind == SR_YAML_SCALAR && node->text.n && sr_yaml_type(node) != SR_YAML_NULL;
}

const struct sr_yaml_node *sr_migrate_named(const struct sr_yaml_node *list, struct sr_bytes name)
{
    for (size_t i = 0; list && i < list->count; i++) {
        const struct sr_yaml_node *own = sr_yaml_get(list->items[i], "name");
        if (own && own->kind == SR_YAML_SCALAR && sr_bytes_eq(own->text, name))
            return list->items[i];
    }
    return NULL;
}

bool sr_migrate_is_word(const struct sr_yaml_node *node, const char *const *words)
{
    for (; *words; words++)
        if (sr_bytes_eq(node->text, sr_bytes_str(*words)))
            return true;
    return false;
}

void sr_migrate_rest(struct sr_migration *m, const struct sr_yaml_node *map, const char *const *known,
                     const char *where)
{
    for (size_t i = 0; map && map->kind == SR_YAML_MAP && i < map->count; i++)
        if (!sr_migrate_is_word(map->keys[i], known))
            sr_migrate_note(m, map->keys[i], "`%.60s`%s%s has no equivalent in this version",
                            map->keys[i]->text.p, *where ? " of " : "", where);
}
