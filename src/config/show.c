/* Walks the parsed file and writes each value again; what is below a secret's key is a secret, too. */
#include "config/show.h"

#include "config/bind/yaml.h"
#include "config/migrate/write.h"

#include <string.h>

#define TREE_MAX ((size_t)512 << 20)

/* What the ancestors of a value say of it. */
enum showing { OPEN, HEADERS, SECRET };

static bool contains_nocase(struct sr_bytes text, const char *part)
{
    size_t n = strlen(part);
    for (size_t i = 0; i + n <= text.n; i++)
        if (sr_bytes_eq_nocase(sr_bytes_of(text.p + i, n), sr_bytes_of(part, n)))
            return true;
    return false;
}

static bool ends_nocase(struct sr_bytes text, const char *part)
{
    size_t n = strlen(part);
    return text.n >= n && sr_bytes_eq_nocase(sr_bytes_of(text.p + text.n - n, n), sr_bytes_of(part, n));
}

static bool names_secret(struct sr_bytes key)
{
    static const char *const parts[] = {"secret",        "password", "passwd", "credential",
                                        "authorization", "private",  "dsn"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (contains_nocase(key, parts[i]))
            return true;
    return ends_nocase(key, "key") || ends_nocase(key, "token") || ends_nocase(key, "keys");
}

static enum showing below(enum showing above, struct sr_bytes key)
{
    if (above == SECRET || names_secret(key))
        return SECRET;
    if (contains_nocase(key, "header"))
        return HEADERS;
    return above;
}

/* A whole value that is the name of a variable or a file, without a default of its own. */
static bool is_reference(struct sr_bytes text)
{
    return text.n > 3 && sr_bytes_starts_with(text, SR_LIT("${")) && text.p[text.n - 1] == '}' &&
           !sr_bytes_contains(text, SR_LIT(":-"));
}

static bool looks_secret(struct sr_bytes text)
{
    static const char *const forms[] = {"sk-", "Bearer ", "Basic ", "ghp_", "AKIA", "xoxb-", "-----BEGIN"};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (contains_nocase(text, forms[i]))
            return true;
    const char *scheme = NULL;
    for (size_t i = 0; i + 3 <= text.n && !scheme; i++)
        if (memcmp(text.p + i, "://", 3) == 0)
            scheme = text.p + i + 3;
    return scheme && memchr(scheme, '@', (size_t)(text.p + text.n - scheme));
}

/* Under this key stands the name of a header, or what a plugin is. */
static bool names_header(struct sr_bytes key)
{
    static const char *const keys[] = {"name", "type", "delete", "remove"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (sr_bytes_eq(key, sr_bytes_str(keys[i])))
            return true;
    return ends_nocase(key, "header") || ends_nocase(key, "headers");
}

static bool is_hidden(enum showing how, struct sr_bytes key, const struct sr_yaml_node *node)
{
    enum sr_yaml_type type = sr_yaml_type(node);
    if (type == SR_YAML_NULL || type == SR_YAML_BOOL || is_reference(node->text))
        return false;
    return how == SECRET || (how == HEADERS && !names_header(key)) || looks_secret(node->text);
}

struct page {
    struct sr_buf *out;
    int rc;
};

static void put(struct page *page, struct sr_bytes text)
{
    page->rc = page->rc ? page->rc : sr_buf_append_bytes(page->out, text);
}

static void put_indent(struct page *page, int indent)
{
    for (int i = 0; i < indent; i++)
        put(page, SR_LIT("  "));
}

static void put_text(struct page *page, struct sr_bytes text)
{
    struct sr_migration m = {.out = page->out, .rc = page->rc};
    sr_migrate_string(&m, text);
    page->rc = m.rc;
}

static void put_scalar(struct page *page, enum showing how, struct sr_bytes key,
                       const struct sr_yaml_node *node)
{
    enum sr_yaml_type type = sr_yaml_type(node);
    if (is_hidden(how, key, node))
        put(page, SR_LIT("\"" SR_CONFIG_REDACTED "\""));
    else if (type == SR_YAML_NULL)
        put(page, SR_LIT("null"));
    else if (type != SR_YAML_STRING)
        put(page, node->text);
    else
        put_text(page, node->text);
}

static void put_node(struct page *page, enum showing how, struct sr_bytes key,
                     const struct sr_yaml_node *node, int indent, bool in_list);

static void put_map(struct page *page, enum showing how, const struct sr_yaml_node *map, int indent,
                    bool in_list)
{
    const struct sr_yaml_node *type = sr_yaml_get(map, "type"); /* a plugin of headers */
    if (type && type->kind == SR_YAML_SCALAR && how == OPEN && contains_nocase(type->text, "header"))
        how = HEADERS;
    for (size_t i = 0; i < map->count && !page->rc; i++) {
        struct sr_bytes key = map->keys[i]->text;
        if (i || !in_list)
            put_indent(page, indent);
        put_text(page, key);
        put(page, SR_LIT(":"));
        put_node(page, below(how, key), key, map->items[i], indent + 1, false);
    }
}

static void put_list(struct page *page, enum showing how, struct sr_bytes key,
                     const struct sr_yaml_node *list, int indent)
{
    for (size_t i = 0; i < list->count && !page->rc; i++) {
        put_indent(page, indent);
        put(page, SR_LIT("-"));
        put_node(page, how, key, list->items[i], indent + 1, true);
    }
}

/* Scalars and what is empty stay on the line; a mapping in a list begins on it. */
static void put_node(struct page *page, enum showing how, struct sr_bytes key,
                     const struct sr_yaml_node *node, int indent, bool in_list)
{
    if (node->kind == SR_YAML_SCALAR || node->count == 0) {
        put(page, SR_LIT(" "));
        if (node->kind == SR_YAML_SCALAR)
            put_scalar(page, how, key, node);
        else
            put(page, node->kind == SR_YAML_LIST ? SR_LIT("[]") : SR_LIT("{}"));
        put(page, SR_LIT("\n"));
        return;
    }
    bool same_line = in_list && node->kind == SR_YAML_MAP;
    put(page, same_line ? SR_LIT(" ") : SR_LIT("\n"));
    if (node->kind == SR_YAML_MAP)
        put_map(page, how, node, indent, same_line);
    else
        put_list(page, how, key, node, indent);
}

int sr_config_show(struct sr_bytes text, const char *only, struct sr_buf *out)
{
    struct sr_problems problems = {0};
    struct sr_arena tree;
    struct sr_yaml_node *root = NULL;
    struct page page = {.out = out};
    sr_arena_init(&tree, TREE_MAX);
    page.rc = sr_yaml_parse(&root, &tree, text, &problems);
    if (!page.rc && root && root->kind == SR_YAML_MAP) {
        for (size_t i = 0; i < root->count && !page.rc; i++) {
            struct sr_bytes key = root->keys[i]->text;
            if (only && !sr_bytes_eq(key, sr_bytes_str(only)))
                continue;
            put_text(&page, key);
            put(&page, SR_LIT(":"));
            put_node(&page, below(OPEN, key), key, root->items[i], 1, false);
        }
    }
    sr_arena_dispose(&tree);
    sr_problems_dispose(&problems);
    return page.rc;
}
