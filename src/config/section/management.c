/* `global.services.management_api`: who holds a token of the admin listeners, and what the token opens. Where
 * the listeners are is said by the flags of `semroute serve`. */
#include "config/section/section.h"

#include <stdlib.h>

#define ACCESS(member) offsetof(struct sr_config_global, access.member)
#define TOKEN(member)  offsetof(struct sr_config_admin_token, member)

static const struct sr_field token_fields[] = {
    {"env", SR_FIELD_TEXT, TOKEN(token), .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY,
     .help = "the environment variable that holds the token"},
    {"role", SR_FIELD_TEXT, TOKEN(role), .def = "viewer", .flags = SR_FIELD_NOT_EMPTY,
     .help =
         "`admin` and `operator`: all requests; `viewer`: GET and HEAD; a role of `roles` with a permission "
         "to read: GET and HEAD; others: none"},
};

/* The value of the variable; "" opens nothing. */
static void finish_token(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_admin_token *token = target;
    const char *value = getenv(token->token);
    if (!value || !*value)
        sr_bind_unset(b, sr_bind_at(node, "env"), "`env`: the environment variable `%.80s` is not set",
                      token->token);
    token->token = value ? sr_bind_dup(b, sr_bytes_str(value)) : "";
    for (const char *c = token->token; *c; c++)
        if (*c <= ' ' || *c > '~') {
            sr_bind_error(b, sr_bind_at(node, "env"), "the token must have visible ASCII characters only");
            return;
        }
}

static const struct sr_section token_section = {
    .name = "token of management_api",
    .help = "A token of the admin listeners.",
    .size = sizeof(struct sr_config_admin_token),
    SR_FIELDS(token_fields),
    .exact = true,
    .finish = finish_token,
};

static const struct sr_enum_word modes[] = {{"none", false}, {"bearer", true}, {NULL, 0}};

static const struct sr_field auth_fields[] = {
    {"mode", SR_FIELD_WORD, ACCESS(auth_mode), .words = modes, .def = "none",
     .help = "bearer: the admin listeners answer holders of a token alone, but for /health and /ready"},
    {"tokens", SR_FIELD_LIST, ACCESS(tokens), ACCESS(n_tokens), .of = &token_section,
     .help = "tokens, beside that of `global.semroute.admin`"},
    {"roles", SR_FIELD_TEXT_MAP, ACCESS(roles), ACCESS(n_roles),
     .help = "roles of the file's own and their permissions; those that end with `.read` are known here"},
};

/* May a role read, and more? */
static void grant(const struct sr_config_access *access, struct sr_config_admin_token *token)
{
    token->acts = strcmp(token->role, "admin") == 0 || strcmp(token->role, "operator") == 0;
    token->reads = token->acts || strcmp(token->role, "viewer") == 0;
    for (size_t i = 0; i < access->n_roles; i++) {
        const struct sr_strings *permissions = &access->roles[i].texts;
        for (size_t k = 0; strcmp(access->roles[i].name, token->role) == 0 && k < permissions->count; k++)
            token->reads |= strstr(permissions->items[k], ".read") != NULL;
    }
}

static void finish_auth(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_access *access = &((struct sr_config_global *)target)->access;
    access->admin_bearer = strcmp(access->auth_mode, "bearer") == 0;
    if (!access->admin_bearer && access->n_tokens)
        sr_bind_warning(b, sr_bind_at(node, "tokens"), "`tokens` open nothing without `mode: bearer`");
    for (size_t i = 0; i < access->n_tokens; i++) {
        struct sr_config_admin_token *token = &access->tokens[i];
        grant(access, token);
        if (!access->admin_bearer)
            token->acts = token->reads = false;
        else if (!token->acts && strcmp(token->role, "viewer") != 0)
            sr_bind_warning(b, sr_yaml_get(node, "tokens")->items[i],
                            "a token of the role `%.60s` %s: permissions are not told apart", token->role,
                            token->reads ? "may only read" : "opens nothing");
    }
}

static const struct sr_section auth_section = {
    .name = "management_api auth",
    .help = "Who may use the admin listeners.",
    SR_FIELDS(auth_fields),
    .exact = true,
    .finish = finish_auth,
};

static const struct sr_field fields[] = {
    {"auth", SR_FIELD_OBJECT, .of = &auth_section, .help = "who may use the admin listeners"},
};

/* What a lenient load does not understand of it must not open the listeners to more clients. */
static void finish(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    if (!sr_bind_is_partial(b, node))
        return;
    ((struct sr_config_global *)target)->access.admin_bearer = true;
    sr_bind_warning(b, node,
                    "the admin listeners answer holders of a token alone: a part of this was dropped");
}

#define SR_INERT_FLAGS "the admin listener's address is a flag of `semroute serve`"

const struct sr_section sr_section_management = {
    .name = "management_api",
    .help = "Who may use the admin listeners.",
    SR_FIELDS(fields),
    .inert = (const struct sr_inert_key[]){{"bind_address", SR_INERT_FLAGS, false},
                                           {"port", SR_INERT_FLAGS, false},
                                           {"remote_exposure", SR_INERT_FLAGS, false},
                                           {NULL, NULL, false}},
    .exact = true,
    .finish = finish,
};
