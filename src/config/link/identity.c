/* Joins the keys of the configuration and of its file, and checks what they and the tenants name. */
#include "config/link/identity.h"

#include "base/clock.h"
#include "base/read_file.h"
#include "config/bind/bind.h"
#include "config/bind/env.h"
#include "config/bind/secret_file.h"
#include "config/section/section.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)16 << 20)
#define READ_MS  10000
#define SOON_S   ((int64_t)21 * 86400) /* 21 days: time to make another key */

/* ---- the file of keys ---- */

/* Says the file's first mistake where the configuration names the file. */
static void report(struct sr_binder *b, const struct sr_yaml_node *at, const struct sr_problems *problems)
{
    for (size_t i = 0; i < problems->count; i++) {
        const struct sr_problem *problem = &problems->items[i];
        if (problem->severity == SR_PROBLEM_ERROR) {
            sr_bind_error(b, at, "`keys_file`, line %u: %s", problem->line, problem->message);
            return;
        }
    }
}

static void bind_file(struct sr_binder *b, const struct sr_yaml_node *at, struct sr_bytes text,
                      struct sr_config_identity *more)
{
    struct sr_problems problems = {0};
    struct sr_arena tree;
    struct sr_yaml_node *root;
    struct sr_binder own = {.root = &sr_section_keys_file, .arena = b->arena, .problems = &problems};
    sr_arena_init(&tree, 8 * FILE_MAX);
    int rc = sr_yaml_parse(&root, &tree, text, &problems);
    if (rc == SR_OK)
        rc = sr_env_expand(root, b->draft, &tree, &problems);
    if (rc == SR_OK && root && root->kind != SR_YAML_MAP)
        sr_problems_add(&problems, SR_PROBLEM_ERROR, root->line, root->column,
                        "expected a mapping with `keys`, found %s", sr_yaml_type_name(root));
    else if (rc == SR_OK)
        sr_bind(&own, &sr_section_keys_file, root, more);
    if (rc == SR_ENOMEM || own.rc || problems.out_of_memory)
        b->rc = SR_ENOMEM;
    sr_problems_sort(&problems);
    report(b, at, &problems);
    sr_problems_dispose(&problems);
    sr_arena_dispose(&tree);
}

static void read_keys(struct sr_binder *b, const struct sr_yaml_node *node, struct sr_config *config)
{
    struct sr_config_identity *identity = &config->global.identity, more = {0};
    const struct sr_yaml_node *at = sr_bind_at(node, "keys_file");
    struct sr_buf text;
    struct sr_err err = {0};
    if (!sr_secret_watch(b, identity->keys_file, &config->watched))
        return;
    sr_buf_init(&text, FILE_MAX);
    if (sr_read_file(&text, identity->keys_file, READ_MS, &err))
        sr_bind_unset(b, at, "`keys_file`: %s", err.message);
    else
        bind_file(b, at, sr_buf_view(&text), &more);
    sr_buf_dispose(&text);
    struct sr_config_key *all =
        more.n_keys && !b->rc ? sr_bind_calloc(b, identity->n_keys + more.n_keys, sizeof *all) : NULL;
    if (!all)
        return;
    if (identity->n_keys)
        memcpy(all, identity->keys, identity->n_keys * sizeof *all);
    memcpy(all + identity->n_keys, more.keys, more.n_keys * sizeof *all);
    identity->keys = all;
    identity->n_keys += more.n_keys;
}

/* ---- the index ---- */

/* Files key `at`; false: one with its digest is there. */
static bool file_key(struct sr_config_identity *identity, size_t at)
{
    size_t mask = identity->n_slots - 1, i;
    uint64_t place;
    if (sr_config_find_key(identity, identity->keys[at].digest))
        return false;
    memcpy(&place, identity->keys[at].digest, sizeof place);
    for (i = place & mask; identity->slots[i]; i = (i + 1) & mask)
        continue;
    identity->slots[i] = (uint32_t)at + 1;
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void check_names(struct sr_binder *b, const struct sr_yaml_node *at,
                        const struct sr_config_identity *identity)
{
    const char **names = sr_bind_calloc(b, identity->n_keys, sizeof *names);
    for (size_t i = 0; names && i < identity->n_keys; i++)
        names[i] = identity->keys[i].name;
    if (names)
        qsort(names, identity->n_keys, sizeof *names, by_name);
    for (size_t i = 1; names && i < identity->n_keys; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            sr_bind_error(b, at, "key `%.60s` is given twice", names[i]);
}

static void index_keys(struct sr_binder *b, const struct sr_yaml_node *at,
                       struct sr_config_identity *identity)
{
    size_t n_slots = 8;
    if (identity->n_keys == 0)
        return;
    while (n_slots < 2 * identity->n_keys)
        n_slots *= 2;
    identity->slots = sr_bind_calloc(b, n_slots, sizeof *identity->slots);
    if (!identity->slots)
        return;
    identity->n_slots = n_slots;
    for (size_t i = 0; i < identity->n_keys; i++)
        if (!file_key(identity, i))
            sr_bind_error(b, at, "keys: `%.60s` is the same key as an earlier one", identity->keys[i].name);
    check_names(b, at, identity);
}

/* ---- ends ---- */

/* Warns of the first key that ends after `from` and until `to` (seconds since 1970), and says how many more
 * do; `what` says what they do. */
static void warn_ends(struct sr_binder *b, const struct sr_yaml_node *keys,
                      const struct sr_config_identity *identity, int64_t from, int64_t to, const char *what)
{
    size_t first = 0, n = 0;
    char more[32] = "";
    for (size_t i = 0; i < identity->n_keys; i++) {
        int64_t end = identity->keys[i].expires_s;
        if (end != 0 && end > from && end <= to && n++ == 0)
            first = i;
    }
    if (n == 0)
        return;
    const struct sr_yaml_node *node = sr_link_item(keys, first);
    if (n > 1)
        snprintf(more, sizeof more, ", and %zu more", n - 1);
    sr_bind_warning(b, node ? node : keys, "key `%.60s` %s (%.40s)%s", identity->keys[first].name, what,
                    identity->keys[first].expires, more);
}

static void check_ends(struct sr_binder *b, const struct sr_yaml_node *keys,
                       const struct sr_config_identity *identity)
{
    int64_t now = (int64_t)(sr_clock_wall_ns() / SR_NS_PER_S);
    warn_ends(b, keys, identity, INT64_MIN, now, "has expired: requests with it are refused");
    warn_ends(b, keys, identity, now, now + SOON_S, "expires within 21 days");
}

/* ---- names ---- */

static void check_models(struct sr_binder *b, const struct sr_yaml_node *at, const struct sr_config *config,
                         const struct sr_strings *models, const char *what, const char *owner)
{
    char hint[SR_LINK_HINT_SIZE];
    for (size_t i = 0; i < models->count; i++) {
        struct sr_bytes name = sr_bytes_str(models->items[i]);
        if (sr_config_find_model(config, name) < 0)
            sr_bind_error(b, at, "%s `%.60s`: no model `%.60s` in providers.models%s", what, owner,
                          models->items[i], sr_link_model_hint(config, name, hint, sizeof hint));
    }
}

/* False: the block has no decision of this name. */
static bool mark_guard(const struct sr_config *config, const char *name, bool own)
{
    bool found = false;
    for (size_t i = 0; i < config->n_decisions && !found; i++) {
        found = strcmp(config->decisions[i].name, name) == 0;
        config->decisions[i].of_tenants |= found && own;
    }
    return found;
}

/* The decisions that a tenant names; `own`: they count only where they are named. */
static void link_guards(struct sr_binder *b, const struct sr_yaml_node *at, const struct sr_config *config,
                        const struct sr_strings *guards, const char *owner, bool own)
{
    for (size_t i = 0; i < guards->count; i++) {
        bool found = mark_guard(config, guards->items[i], own);
        for (size_t k = 0; k < config->n_recipes; k++)
            found |= mark_guard(&config->recipes[k].config, guards->items[i], own);
        if (!found)
            sr_bind_error(b, at, "tenant `%.60s`: no decision `%.60s` in routing.decisions", owner,
                          guards->items[i]);
    }
}

void sr_link_identity(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config,
                      bool files)
{
    const struct sr_yaml_node *node =
        sr_yaml_get(sr_yaml_get(sr_yaml_get(root, "global"), "semroute"), "identity");
    const struct sr_yaml_node *tenants = sr_yaml_get(node, "tenants"), *keys = sr_yaml_get(node, "keys");
    struct sr_config_identity *identity = &config->global.identity;
    if (files && identity->keys_file[0])
        read_keys(b, node, config);
    if (!keys)
        keys = sr_bind_at(node, "keys_file");
    sr_link_unique(b, tenants, "name", "tenant");
    for (size_t i = 0; i < identity->n_tenants; i++) {
        const struct sr_config_tenant *tenant = &identity->tenants[i];
        const struct sr_yaml_node *at = sr_link_item(tenants, i);
        check_models(b, at, config, &tenant->models, "tenant", tenant->name);
        link_guards(b, at, config, &tenant->guards, tenant->name, true);
        link_guards(b, at, config, &tenant->without_guards, tenant->name, false);
    }
    for (size_t i = 0; i < identity->n_keys; i++) {
        struct sr_config_key *key = &identity->keys[i];
        key->tenant_at = sr_config_find_tenant(identity, sr_bytes_str(key->tenant));
        check_models(b, keys, config, &key->models, "key", key->name);
    }
    check_ends(b, keys, identity);
    if (!b->problems->errors)
        index_keys(b, keys, identity);
}
