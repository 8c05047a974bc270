/* The key of a counter is a hash over its rule, what it counts, its period and whose it is. */
#include "router/limit/rules.h"

#include "base/hash.h"
#include "router/limit/period.h"

#include <math.h>
#include <string.h>

static bool is(const char *wanted, struct sr_bytes value)
{
    return !wanted[0] || sr_bytes_eq(sr_bytes_str(wanted), value);
}

static bool has_group(const char *wanted, const struct sr_identity *identity)
{
    for (size_t i = 0; i < identity->n_groups; i++)
        if (is(wanted, identity->groups[i]))
            return true;
    return !wanted[0];
}

static struct sr_bytes key_name(const struct sr_identity *identity)
{
    return sr_bytes_str(identity->key ? identity->key->name : "");
}

static bool matches(const struct sr_config_limit *rule, const struct sr_config *config,
                    const struct sr_limit_subject *s)
{
    return is(rule->match.user, s->identity->user) && is(rule->match.tenant, s->identity->tenant) &&
           is(rule->match.key, key_name(s->identity)) && has_group(rule->match.group, s->identity) &&
           (s->model >= 0 ? is(rule->match.model, sr_bytes_str(config->models[s->model].name))
                          : !rule->match.model[0] && !(rule->per & SR_PER_MODEL));
}

/* ---- the key ---- */

struct key_text {
    char *p;
    size_t n;
};

static void put(struct key_text *text, const void *p, size_t n)
{
    memcpy(text->p + text->n, &n, sizeof n);
    if (n)
        memcpy(text->p + text->n + sizeof n, p, n);
    text->n += sizeof n + n;
}

/* A part of the subject; one that is not known is the client's address. */
static void put_part(struct key_text *text, char tag, struct sr_bytes value, uint64_t client)
{
    put(text, &tag, 1);
    put(text, value.p, value.n);
    if (!value.n)
        put(text, &client, sizeof client);
}

static int make_key(const struct sr_config *config, const struct sr_limit_subject *s,
                    const struct sr_limit_item *item, uint64_t begins_ms, struct sr_arena *arena,
                    struct sr_limit_key *key)
{
    const struct sr_identity *id = s->identity;
    const struct sr_config_limit *rule = item->rule;
    struct sr_bytes name = sr_bytes_str(rule->name);
    struct sr_bytes model = sr_bytes_str(s->model < 0 ? "" : config->models[s->model].name);
    struct sr_bytes own = key_name(id);
    uint8_t digest[SR_SHA256_SIZE];
    size_t most =
        name.n + id->user.n + id->tenant.n + id->team.n + own.n + model.n + 20 * (sizeof(size_t) + 8);
    struct key_text text = {.p = sr_arena_alloc(arena, most)};
    if (!text.p)
        return SR_ENOMEM;
    put(&text, name.p, name.n);
    put(&text, &item->what, sizeof item->what);
    put(&text, &rule->unit, sizeof rule->unit);
    put(&text, &begins_ms, sizeof begins_ms);
    if (rule->per & SR_PER_USER)
        put_part(&text, 'u', id->user, s->client);
    if (rule->per & SR_PER_TENANT)
        put_part(&text, 't', id->tenant, s->client);
    if (rule->per & SR_PER_TEAM)
        put_part(&text, 'g', id->team, s->client);
    if (rule->per & SR_PER_KEY)
        put_part(&text, 'k', own, s->client);
    if (rule->per & SR_PER_MODEL)
        put_part(&text, 'm', model, 0);
    if (sr_sha256(sr_bytes_of(text.p, text.n), digest))
        return SR_ENOMEM;
    memcpy(key->bytes, digest, sizeof key->bytes);
    return SR_OK;
}

/* ---- the counters ---- */

static int64_t cost_of(const struct sr_config_model *model, uint64_t prompt_tokens)
{
    return (int64_t)ceil((double)prompt_tokens * model->pricing.prompt_per_1m / 1e6 * SR_LIMIT_COST_UNIT);
}

static int add(const struct sr_config *config, const struct sr_limit_subject *s,
               const struct sr_config_limit *rule, enum sr_limit_what what, struct sr_arena *arena,
               struct sr_limit *limits, struct sr_limit_item *items, size_t *n)
{
    uint64_t begins_ms = 0, ends_ms = 0;
    if (*n == SR_LIMIT_MAX)
        return SR_OK; /* the configuration has no more than that */
    struct sr_limit_item item = {.rule = rule, .what = what};
    struct sr_limit limit = {.unit_ms = sr_limit_unit_ms((enum sr_limit_unit)rule->unit)};
    if (rule->budget) {
        sr_limit_period((enum sr_limit_unit)rule->unit, s->now_ms, &begins_ms, &ends_ms);
        limit.ends_ms = ends_ms;
    }
    limit.max = what == SR_LIMIT_REQUESTS ? rule->requests
                : what == SR_LIMIT_TOKENS ? rule->tokens
                                          : (int64_t)(rule->cost * SR_LIMIT_COST_UNIT);
    if (s->look)
        limit.max--;
    limit.cost = s->look                     ? 0
                 : what == SR_LIMIT_REQUESTS ? 1
                 : what == SR_LIMIT_TOKENS   ? (int64_t)s->prompt_tokens
                                             : cost_of(&config->models[s->model], s->prompt_tokens);
    int rc = make_key(config, s, &item, begins_ms, arena, &limit.key);
    if (rc)
        return rc;
    limits[*n] = limit;
    items[(*n)++] = item;
    return SR_OK;
}

int sr_limit_rules(const struct sr_config *config, const struct sr_limit_subject *subject,
                   struct sr_arena *arena, struct sr_limit *limits, struct sr_limit_item *items, size_t *n)
{
    const struct sr_config_limits *all = &config->global.limits;
    int rc = SR_OK;
    *n = 0;
    for (size_t i = 0; i < all->n_all && !rc; i++) {
        const struct sr_config_limit *rule = all->all[i];
        if (!matches(rule, config, subject))
            continue;
        if (rule->requests)
            rc = add(config, subject, rule, SR_LIMIT_REQUESTS, arena, limits, items, n);
        if (rule->tokens && !rc)
            rc = add(config, subject, rule, SR_LIMIT_TOKENS, arena, limits, items, n);
        if (rule->cost > 0 && !rc)
            rc = add(config, subject, rule, SR_LIMIT_COST, arena, limits, items, n);
    }
    return rc;
}

bool sr_limit_needs_tokens(const struct sr_config *config)
{
    const struct sr_config_limits *all = &config->global.limits;
    for (size_t i = 0; i < all->n_all; i++)
        if (all->all[i]->tokens || all->all[i]->cost > 0)
            return true;
    return false;
}
