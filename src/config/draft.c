/* Checks every value of the draft before it takes its place. */
#include "config/draft.h"

#include <string.h>

static void error_at(struct sr_problems *problems, const struct sr_yaml_node *node, const char *message)
{
    sr_problems_add(problems, SR_PROBLEM_ERROR, node->line, node->column, "%s", message);
}

static bool ends_with(struct sr_bytes text, const char *end)
{
    size_t n = strlen(end);
    return text.n >= n && memcmp(text.p + text.n - n, end, n) == 0;
}

/* Does a value under this key name a file? `model` of the algorithm `learned` does. */
static bool names_file(struct sr_bytes key, struct sr_bytes above)
{
    static const char *const ends[] = {"path", "file", "files", "folder", "dir", "directory", "database"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (ends_with(key, ends[i]))
            return true;
    return sr_bytes_eq(key, SR_LIT("model")) && sr_bytes_eq(above, SR_LIT("learned"));
}

/* Has the file in use this value under this key? */
static bool has_value(const struct sr_yaml_node *node, struct sr_bytes key, struct sr_bytes value)
{
    bool has = false;
    for (size_t i = 0; node->kind != SR_YAML_SCALAR && i < node->count && !has; i++) {
        const struct sr_yaml_node *item = node->items[i];
        bool same = node->kind == SR_YAML_MAP && sr_bytes_eq(node->keys[i]->text, key);
        if (item->kind == SR_YAML_SCALAR)
            has = same && sr_bytes_eq(item->text, value);
        else
            has = has_value(item, key, value);
    }
    return has;
}

struct check {
    const struct sr_yaml_node *used; /* the file in use */
    struct sr_problems *problems;
};

static void check_scalar(const struct check *c, const struct sr_yaml_node *node, struct sr_bytes key,
                         struct sr_bytes above)
{
    if (sr_bytes_contains(node->text, SR_LIT("${")))
        error_at(c->problems, node, "a draft has no variables and no ${file:...}: write the value itself");
    else if (node->text.n && names_file(key, above) && !has_value(c->used, key, node->text))
        error_at(c->problems, node, "a draft names no files but those of the configuration in use");
}

static void check_node(const struct check *c, const struct sr_yaml_node *node, struct sr_bytes key,
                       struct sr_bytes above)
{
    if (node->kind == SR_YAML_SCALAR)
        check_scalar(c, node, key, above);
    else if (node->kind == SR_YAML_LIST)
        for (size_t i = 0; i < node->count; i++)
            check_node(c, node->items[i], key, above);
    else
        for (size_t i = 0; i < node->count; i++)
            check_node(c, node->items[i], node->keys[i]->text, key);
}

/* The one member of the draft; NULL with an error. */
static struct sr_yaml_node *routing_of(struct sr_yaml_node *draft, struct sr_problems *problems)
{
    bool map = draft && draft->kind == SR_YAML_MAP;
    for (size_t i = 0; map && i < draft->count; i++)
        if (!sr_bytes_eq(draft->keys[i]->text, SR_LIT("routing")))
            error_at(problems, draft->keys[i],
                     "a draft is the `routing` of a configuration, and nothing else");
    if (problems->errors)
        return NULL;
    if (!map || draft->count != 1)
        sr_problems_add(problems, SR_PROBLEM_ERROR, 1, 1, "a draft begins with `routing:`");
    return problems->errors ? NULL : draft->items[0];
}

int sr_config_draft_graft(struct sr_yaml_node *root, struct sr_bytes text, struct sr_arena *arena,
                          struct sr_problems *problems)
{
    struct sr_yaml_node *draft = NULL;
    struct check check = {root, problems};
    if (text.n > SR_CONFIG_DRAFT_MAX) {
        sr_problems_add(problems, SR_PROBLEM_ERROR, 0, 0, "the draft is larger than %zu bytes",
                        SR_CONFIG_DRAFT_MAX);
        return SR_EINVAL;
    }
    int rc = sr_yaml_parse(&draft, arena, text, problems);
    struct sr_yaml_node *routing = rc ? NULL : routing_of(draft, problems);
    if (!routing || !root || root->kind != SR_YAML_MAP)
        return rc ? rc : SR_EINVAL;
    check_node(&check, routing, SR_LIT("routing"), SR_LIT(""));
    if (problems->errors)
        return SR_EINVAL;
    for (size_t i = 0; i < root->count; i++) {
        if (sr_bytes_eq(root->keys[i]->text, SR_LIT("routing"))) {
            root->items[i] = routing;
            return SR_OK;
        }
    }
    sr_problems_add(problems, SR_PROBLEM_ERROR, 0, 0, "the configuration in use has no `routing`");
    return SR_EINVAL;
}
