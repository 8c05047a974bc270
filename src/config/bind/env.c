/* Environment references in scalar values. Reads the environment, changes nothing in it. */
#include "config/bind/env.h"

#include <stdlib.h>

#define ENV_VALUE_MAX ((size_t)1 << 20)
#define ENV_NAME_MAX  128

struct expander {
    struct sr_arena *arena;
    struct sr_problems *problems;
    bool draft;
    struct sr_buf buf;
};

static void complain(struct expander *x, struct sr_yaml_node *node, const char *what, struct sr_bytes name)
{
    sr_problems_add(x->problems, SR_PROBLEM_ERROR, node->line, node->column, "`${%.*s}`: %s", (int)name.n,
                    name.p, what);
    node->broken = true;
}

static size_t name_length(struct sr_bytes s)
{
    size_t n = 0;
    while (n < s.n && (s.p[n] == '_' || (sr_ascii_lower(s.p[n]) >= 'a' && sr_ascii_lower(s.p[n]) <= 'z') ||
                       (n && s.p[n] >= '0' && s.p[n] <= '9')))
        n++;
    return n;
}

/* `inside` is the text between "${" and "}". */
static int replace(struct expander *x, struct sr_yaml_node *node, struct sr_bytes inside)
{
    char name[ENV_NAME_MAX];
    size_t n = name_length(inside);
    struct sr_bytes rest = {inside.p + n, inside.n - n};
    bool has_default = sr_bytes_starts_with(rest, SR_LIT(":-"));
    if (n == 0 || n >= sizeof name || (rest.n && !has_default)) {
        complain(x, node, "not a variable; write ${NAME} or ${NAME:-default}, or $${ for a plain ${",
                 sr_bytes_of(inside.p, inside.n < 60 ? inside.n : 60));
        return SR_OK;
    }
    memcpy(name, inside.p, n);
    name[n] = 0;
    const char *value = getenv(name);
    if (value && (*value || !has_default))
        return sr_buf_append_bytes(&x->buf, sr_bytes_str(value));
    if (has_default)
        return sr_buf_append(&x->buf, rest.p + 2, rest.n - 2);
    sr_problems_add(x->problems, x->draft ? SR_PROBLEM_WARNING : SR_PROBLEM_ERROR, node->line, node->column,
                    "`${%s}`: this environment variable is not set; ${NAME:-default} gives a default", name);
    node->broken = true;
    return SR_OK;
}

static int expand_scalar(struct expander *x, struct sr_yaml_node *node)
{
    struct sr_bytes s = node->text;
    int rc = SR_OK;
    if (!sr_bytes_contains(s, SR_LIT("${")))
        return SR_OK;
    sr_buf_clear(&x->buf);
    for (size_t i = 0; i < s.n && rc == SR_OK;) {
        struct sr_bytes rest = {s.p + i, s.n - i};
        const char *end = NULL;
        if (sr_bytes_starts_with(rest, SR_LIT("$${"))) {
            rc = sr_buf_append(&x->buf, "${", 2);
            i += 3;
        } else if (!sr_bytes_starts_with(rest, SR_LIT("${"))) {
            rc = sr_buf_append(&x->buf, rest.p, 1);
            i++;
        } else if ((end = memchr(rest.p, '}', rest.n)) != NULL) {
            rc = replace(x, node, sr_bytes_of(rest.p + 2, (size_t)(end - rest.p) - 2));
            i += (size_t)(end - rest.p) + 1;
        } else {
            complain(x, node, "the closing brace is missing; write $${ for a plain ${",
                     sr_bytes_of(rest.p + 2, rest.n - 2 < 60 ? rest.n - 2 : 60));
            break;
        }
    }
    if (rc)
        return rc;
    node->variable = true;
    node->text = sr_arena_dup(x->arena, sr_buf_view(&x->buf));
    return node->text.p ? SR_OK : SR_ENOMEM;
}

static int expand_node(struct expander *x, struct sr_yaml_node *node)
{
    if (node->expanded)
        return SR_OK;
    node->expanded = true;
    if (node->kind == SR_YAML_SCALAR)
        return expand_scalar(x, node);
    int rc = SR_OK;
    for (size_t i = 0; i < node->count && rc == SR_OK; i++)
        rc = expand_node(x, node->items[i]);
    return rc;
}

int sr_env_expand(struct sr_yaml_node *root, bool draft, struct sr_arena *arena, struct sr_problems *problems)
{
    struct expander x = {.arena = arena, .problems = problems, .draft = draft};
    if (!root)
        return SR_OK;
    sr_buf_init(&x.buf, ENV_VALUE_MAX);
    int rc = expand_node(&x, root);
    sr_buf_dispose(&x.buf);
    return rc;
}
