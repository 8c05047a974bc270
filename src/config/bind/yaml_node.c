/* Reading the node tree: look-up by key and the scalar types of the YAML 1.2 core schema. */
#include "config/bind/yaml.h"

#include "base/hash.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

const struct sr_yaml_node *sr_yaml_get(const struct sr_yaml_node *map, const char *key)
{
    if (!map || map->kind != SR_YAML_MAP)
        return NULL;
    struct sr_bytes wanted = sr_bytes_str(key);
    for (size_t i = 0; i < map->count; i++)
        if (sr_bytes_eq(map->keys[i]->text, wanted))
            return sr_yaml_is_nothing(map->items[i]) ? NULL : map->items[i];
    return NULL;
}

static bool is_any(struct sr_bytes text, const char *const *words)
{
    for (; *words; words++)
        if (sr_bytes_eq(text, sr_bytes_str(*words)))
            return true;
    return false;
}

static size_t skip_digits(const char *p, size_t i)
{
    while (p[i] >= '0' && p[i] <= '9')
        i++;
    return i;
}

/* [-+]?[0-9]+ or 0o[0-7]+ or 0x[0-9a-fA-F]+ */
static bool is_int(struct sr_bytes text)
{
    const char *p = text.p;
    if (text.n > 2 && p[0] == '0' && (p[1] == 'o' || p[1] == 'x'))
        return strspn(p + 2, p[1] == 'o' ? "01234567" : "0123456789abcdefABCDEF") == text.n - 2;
    size_t start = text.n && (p[0] == '-' || p[0] == '+');
    return text.n > start && skip_digits(p, start) == text.n;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?, or an infinity, or .nan */
static bool is_float(struct sr_bytes text)
{
    static const char *const special[] = {".inf",  ".Inf",  ".INF", "+.inf", "+.Inf", "+.INF", "-.inf",
                                          "-.Inf", "-.INF", ".nan", ".NaN",  ".NAN",  NULL};
    if (is_any(text, special))
        return true;
    const char *p = text.p;
    size_t start = text.n && (p[0] == '-' || p[0] == '+');
    size_t i = skip_digits(p, start);
    size_t digits = i - start;
    if (p[i] == '.') {
        size_t end = skip_digits(p, i + 1);
        digits += end - i - 1;
        i = end;
    }
    if (digits == 0)
        return false;
    if (p[i] == 'e' || p[i] == 'E') {
        i += (size_t)1 + (p[i + 1] == '-' || p[i + 1] == '+');
        size_t end = skip_digits(p, i);
        if (end == i)
            return false;
        i = end;
    }
    return i == text.n;
}

enum sr_yaml_type sr_yaml_type(const struct sr_yaml_node *node)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const bools[] = {"true", "True", "TRUE", "false", "False", "FALSE", NULL};
    if (node->kind != SR_YAML_SCALAR)
        return node->kind == SR_YAML_LIST ? SR_YAML_IS_LIST : SR_YAML_IS_MAP;
    if (!node->plain)
        return SR_YAML_STRING;
    if (is_any(node->text, nulls))
        return SR_YAML_NULL;
    if (is_any(node->text, bools))
        return SR_YAML_BOOL;
    if (is_int(node->text))
        return SR_YAML_INT;
    return is_float(node->text) ? SR_YAML_FLOAT : SR_YAML_STRING;
}

const char *sr_yaml_type_name(const struct sr_yaml_node *node)
{
    static const char *const names[] = {"nothing", "true or false", "a whole number", "a number",
                                        "text",    "a list",        "a mapping"};
    return names[sr_yaml_type(node)];
}

bool sr_yaml_is_nothing(const struct sr_yaml_node *node)
{
    return !node->variable && sr_yaml_type(node) == SR_YAML_NULL;
}

bool sr_yaml_to_bool(const struct sr_yaml_node *node, bool *out)
{
    static const char *const yes[] = {"yes", "Yes", "YES", "on", "On", "ON", NULL};
    static const char *const no[] = {"no", "No", "NO", "off", "Off", "OFF", NULL};
    bool plain = node->kind == SR_YAML_SCALAR && node->plain;
    if (sr_yaml_type(node) == SR_YAML_BOOL)
        *out = node->text.p[0] == 't' || node->text.p[0] == 'T';
    else if (plain && is_any(node->text, yes))
        *out = true;
    else if (plain && is_any(node->text, no))
        *out = false;
    else
        return false;
    return true;
}

bool sr_yaml_to_int(const struct sr_yaml_node *node, int64_t *out)
{
    if (sr_yaml_type(node) != SR_YAML_INT)
        return false;
    const char *p = node->text.p;
    bool prefixed = p[0] == '0' && (p[1] == 'o' || p[1] == 'x');
    errno = 0;
    *out = strtoll(prefixed ? p + 2 : p, NULL, !prefixed ? 10 : p[1] == 'o' ? 8 : 16);
    return errno == 0;
}

bool sr_yaml_to_double(const struct sr_yaml_node *node, double *out)
{
    enum sr_yaml_type type = sr_yaml_type(node);
    int64_t whole;
    if (type == SR_YAML_INT && sr_yaml_to_int(node, &whole)) {
        *out = (double)whole;
        return true;
    }
    if (type != SR_YAML_INT && type != SR_YAML_FLOAT)
        return false;
    const char *p = node->text.p;
    size_t sign = p[0] == '-' || p[0] == '+';
    if (p[sign] == '.' && (p[sign + 1] | 32) == 'i')
        *out = p[0] == '-' ? -INFINITY : INFINITY;
    else if (p[sign] == '.' && (p[sign + 1] | 32) == 'n')
        *out = NAN;
    else
        *out = strtod(p, NULL);
    return true;
}

/* What a node is, without its parts: a quoted "1" is no 1. */
static uint64_t hash_form(const struct sr_yaml_node *node, uint64_t seed)
{
    uint64_t form[] = {node->kind, node->plain, node->count};
    return sr_hash64(sr_bytes_of((const char *)form, sizeof form), seed);
}

static uint64_t hash_node(const struct sr_yaml_node *node, uint64_t seed)
{
    uint64_t hash = hash_form(node, seed);
    if (node->kind == SR_YAML_SCALAR)
        return sr_hash64(node->text, hash);
    for (size_t i = 0; i < node->count; i++) {
        if (node->kind == SR_YAML_MAP)
            hash = hash_node(node->keys[i], hash);
        hash = hash_node(node->items[i], hash);
    }
    return hash;
}

uint64_t sr_yaml_hash(const struct sr_yaml_node *node)
{
    return node ? hash_node(node, 0) : 0;
}
