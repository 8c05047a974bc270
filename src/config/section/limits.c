/* `global.services.ratelimit` and `global.semroute.limits`: how much a client may ask for. */
#include "config/section/section.h"

#include <string.h>

#define LIMITS(member)   offsetof(struct sr_config_limits, member)
#define LIMIT(member)    offsetof(struct sr_config_limit, member)
#define PROVIDER(member) offsetof(struct sr_config_limit_provider, member)

static const struct sr_enum_word units[] = {{"second", SR_UNIT_SECOND},
                                            {"minute", SR_UNIT_MINUTE},
                                            {"hour", SR_UNIT_HOUR},
                                            {"day", SR_UNIT_DAY},
                                            {NULL, 0}};
static const struct sr_enum_word periods[] = {
    {"day", SR_UNIT_DAY}, {"week", SR_UNIT_WEEK}, {"month", SR_UNIT_MONTH}, {NULL, 0}};
static const struct sr_enum_word pers[] = {{"user", SR_PER_USER},   {"tenant", SR_PER_TENANT},
                                           {"team", SR_PER_TEAM},   {"key", SR_PER_KEY},
                                           {"model", SR_PER_MODEL}, {NULL, 0}};

/* ---- whose requests ---- */

static const struct sr_field match_fields[] = {
    {"user", SR_FIELD_TEXT, LIMIT(match.user), .def_note = "any", .help = "the user; `*`: any"},
    {"group", SR_FIELD_TEXT, LIMIT(match.group), .def_note = "any",
     .help = "one of the user's groups; `*`: any"},
    {"model", SR_FIELD_TEXT, LIMIT(match.model), .def_note = "any",
     .help = "the model that answers, of `providers.models`; `*`: any"},
};
static const struct sr_section match_section = {
    .name = "ratelimit match", .help = "Whose requests a rule counts.", SR_FIELDS(match_fields)};

static const struct sr_field own_match_fields[] = {
    {"user", SR_FIELD_TEXT, LIMIT(match.user), .def_note = "any", .help = "the user; `*`: any"},
    {"group", SR_FIELD_TEXT, LIMIT(match.group), .def_note = "any",
     .help = "one of the user's groups; `*`: any"},
    {"tenant", SR_FIELD_TEXT, LIMIT(match.tenant), .def_note = "any", .help = "the tenant; `*`: any"},
    {"key", SR_FIELD_TEXT, LIMIT(match.key), .def_note = "any",
     .help = "the name of a key of `identity.keys`; `*`: any"},
    {"model", SR_FIELD_TEXT, LIMIT(match.model), .def_note = "any",
     .help = "the model that answers, of `providers.models`; `*`: any"},
};
static const struct sr_section own_match_section = {
    .name = "limit match", .help = "Whose requests a rule counts.", SR_FIELDS(own_match_fields)};

/* "*" is what is not given. */
static void clear_star(const char **text)
{
    if (strcmp(*text, "*") == 0)
        *text = "";
}

static void clear_stars(struct sr_config_limit *limit)
{
    clear_star(&limit->match.user);
    clear_star(&limit->match.group);
    clear_star(&limit->match.tenant);
    clear_star(&limit->match.key);
    clear_star(&limit->match.model);
}

static void prepare_limit(void *target)
{
    struct sr_config_limit *limit = target;
    limit->name = limit->match.user = limit->match.group = limit->match.tenant = limit->match.key =
        limit->match.model = "";
}

static void check_counts(struct sr_binder *b, const struct sr_yaml_node *node,
                         const struct sr_config_limit *limit, const char *keys)
{
    if (!limit->requests && !limit->tokens && !(limit->cost > 0))
        sr_bind_error(b, node, "this rule limits nothing: give %s", keys);
}

/* ---- global.services.ratelimit ---- */

static const struct sr_field rule_fields[] = {
    {"name", SR_FIELD_TEXT, LIMIT(name), .flags = SR_FIELD_NOT_EMPTY, .def_note = "its number",
     .help = "a name for metrics"},
    {"match", SR_FIELD_OBJECT, .of = &match_section, .help = "whose requests it counts"},
    {"requests_per_unit", SR_FIELD_INT64, LIMIT(requests), .def = "0", .max = 1e15,
     .help = "requests in a unit of time; 0: any"},
    {"tokens_per_unit", SR_FIELD_INT64, LIMIT(tokens), .def = "0", .max = 1e15,
     .help = "tokens of prompts and answers in a unit of time; 0: any"},
    {"unit", SR_FIELD_ENUM, LIMIT(unit), .words = units, .def = "minute",
     .help = "a second, minute, hour or day, which slides: any time of that length has no more"},
};

static void finish_rule(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_limit *limit = target;
    limit->per = SR_PER_PEER;
    clear_stars(limit);
    check_counts(b, node, limit, "`requests_per_unit` or `tokens_per_unit`");
}

static const struct sr_section rule_section = {
    .name = "ratelimit rule",
    .help = "A limit for each user and each model.",
    .size = sizeof(struct sr_config_limit),
    SR_FIELDS(rule_fields),
    .prepare = prepare_limit,
    .finish = finish_rule,
};

static const struct sr_enum_word provider_types[] = {{"local-limiter", 0}, {NULL, 0}};

static const struct sr_field provider_fields[] = {
    {"type", SR_FIELD_ENUM, .words = provider_types, .later = (const char *const[]){"envoy-ratelimit", NULL},
     .flags = SR_FIELD_REQUIRED | SR_FIELD_DECLARED,
     .help = "this program counts (`limits.store` says where)"},
    {"rules", SR_FIELD_LIST, PROVIDER(rules), PROVIDER(n_rules), .of = &rule_section,
     .help = "all that match count, and the first that has no room refuses"},
};
static const struct sr_section provider_section = {
    .name = "ratelimit provider",
    .help = "What limits.",
    .size = sizeof(struct sr_config_limit_provider),
    SR_FIELDS(provider_fields),
    .later = (const char *const[]){"address", "domain", NULL},
};

static const struct sr_field ratelimit_fields[] = {
    {"fail_open", SR_FIELD_BOOL, LIMITS(fail_open), .def = "false",
     .help = "whether requests pass while the store of the counters is away; else they are 429"},
    {"providers", SR_FIELD_LIST, LIMITS(providers), LIMITS(n_providers), .of = &provider_section,
     .help = "what limits"},
};

const struct sr_section sr_section_ratelimit = {
    .name = "ratelimit",
    .help = "Rate limits as vLLM Semantic Router has them; `global.semroute.limits` has more.",
    SR_FIELDS(ratelimit_fields),
};

/* ---- global.semroute.limits ---- */

static void read_per(struct sr_binder *b, const struct sr_yaml_node *node, struct sr_config_limit *limit)
{
    const struct sr_yaml_node *list = sr_yaml_get(node, "per");
    for (size_t i = 0; i < limit->per_words.count; i++) {
        const struct sr_enum_word *word = pers;
        while (word->word && strcmp(word->word, limit->per_words.items[i]) != 0)
            word++;
        limit->per |= (uint32_t)word->value;
        if (!word->word)
            sr_bind_error(b, list && list->kind == SR_YAML_LIST && i < list->count ? list->items[i] : list,
                          "`per`: expected user, tenant, team, key or model, found `%.40s`",
                          limit->per_words.items[i]);
    }
}

static const struct sr_field own_rule_fields[] = {
    {"name", SR_FIELD_TEXT, LIMIT(name), .flags = SR_FIELD_NOT_EMPTY | SR_FIELD_REQUIRED,
     .help = "a name for metrics"},
    {"match", SR_FIELD_OBJECT, .of = &own_match_section, .help = "whose requests it counts"},
    {"per", SR_FIELD_TEXTS, LIMIT(per_words), .def_note = "one count for all that match",
     .help = "each `user`, `tenant`, `team`, `key` or `model`, or each pair of them, has a count of its own; "
             "clients that are not known count by their address"},
    {"requests_per_unit", SR_FIELD_INT64, LIMIT(requests), .def = "0", .max = 1e15,
     .help = "requests in a unit of time; 0: any"},
    {"tokens_per_unit", SR_FIELD_INT64, LIMIT(tokens), .def = "0", .max = 1e15,
     .help = "tokens of prompts and answers in a unit of time; 0: any"},
    {"unit", SR_FIELD_ENUM, LIMIT(unit), .words = units, .def = "minute",
     .help = "a second, minute, hour or day, which slides: any time of that length has no more"},
};

static void finish_own_rule(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_limit *limit = target;
    clear_stars(limit);
    read_per(b, node, limit);
    check_counts(b, node, limit, "`requests_per_unit` or `tokens_per_unit`");
}

static const struct sr_section own_rule_section = {
    .name = "limit",
    .help = "A limit of requests or tokens.",
    .size = sizeof(struct sr_config_limit),
    SR_FIELDS(own_rule_fields),
    .prepare = prepare_limit,
    .finish = finish_own_rule,
};

static const struct sr_field budget_fields[] = {
    {"name", SR_FIELD_TEXT, LIMIT(name), .flags = SR_FIELD_NOT_EMPTY | SR_FIELD_REQUIRED,
     .help = "a name for metrics"},
    {"match", SR_FIELD_OBJECT, .of = &own_match_section, .help = "whose requests it counts"},
    {"per", SR_FIELD_TEXTS, LIMIT(per_words), .def_note = "one count for all that match",
     .help = "as in `rules`"},
    {"tokens", SR_FIELD_INT64, LIMIT(tokens), .def = "0", .max = 1e15, .help = "tokens in a period; 0: any"},
    {"cost", SR_FIELD_NUMBER, LIMIT(cost), .def = "0", .max = 1e9,
     .help = "cost in a period, by the `pricing` of the models; 0: any"},
    {"period", SR_FIELD_ENUM, LIMIT(unit), .words = periods, .def = "day",
     .help = "a day, a week from Monday or a month of the calendar, in UTC"},
};

static void finish_budget(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_limit *limit = target;
    limit->budget = true;
    clear_stars(limit);
    read_per(b, node, limit);
    check_counts(b, node, limit, "`tokens` or `cost`");
}

static const struct sr_section budget_section = {
    .name = "budget",
    .help = "What may be spent in a day, week or month. When it is spent, requests are 429 until it ends.",
    .size = sizeof(struct sr_config_limit),
    SR_FIELDS(budget_fields),
    .prepare = prepare_limit,
    .finish = finish_budget,
};

static const struct sr_enum_word stores[] = {
    {"memory", SR_LIMITS_MEMORY}, {"redis", SR_LIMITS_REDIS}, {NULL, 0}};

static const struct sr_field limits_fields[] = {
    {"rules", SR_FIELD_LIST, LIMITS(rules), LIMITS(n_rules), .of = &own_rule_section,
     .help = "limits of requests and tokens"},
    {"budgets", SR_FIELD_LIST, LIMITS(budgets), LIMITS(n_budgets), .of = &budget_section,
     .help = "limits of tokens and cost by the calendar"},
    {"store", SR_FIELD_ENUM, LIMITS(store), .words = stores, .def = "memory",
     .help =
         "where is counted, also for `services.ratelimit`: in this process, or in a Redis for all of them"},
    {"redis", SR_FIELD_OBJECT, LIMITS(redis), .of = &sr_section_store_server, .help = "the Redis or Valkey"},
    {"prefix", SR_FIELD_TEXT, LIMITS(prefix), .def = "semroute:limit:", .flags = SR_FIELD_NOT_EMPTY,
     .help = "the beginning of every key there"},
    {"timeout", SR_FIELD_DURATION, LIMITS(timeout_ms), .def = "500ms",
     .help = "how long a request waits for the store; then `fail_open` decides"},
    {"path", SR_FIELD_TEXT, LIMITS(path), .flags = SR_FIELD_NOT_EMPTY, .def_note = "none",
     .help = "a file that keeps what is spent of budgets over a restart"},
    {"max_counters", SR_FIELD_SIZE, LIMITS(max_counters), .def = "65536", .min = 512, .max = 0x1p24,
     .help = "counters in memory; above it the ones used least recently are forgotten; read at the start"},
};

static void finish_limits(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_config_limits *limits = target;
    if (limits->timeout_ms == 0)
        sr_bind_error(b, sr_bind_at(node, "timeout"), "`timeout` must be above 0");
    if (strlen(limits->prefix) > 64 || strpbrk(limits->prefix, " \t\r\n%"))
        sr_bind_error(b, sr_bind_at(node, "prefix"),
                      "`prefix` has at most 64 characters, none of them white space");
}

const struct sr_section sr_section_limits = {
    .name = "global.semroute.limits",
    .help = "How much clients may ask for, and where that is counted.",
    SR_FIELDS(limits_fields),
    .finish = finish_limits,
};
