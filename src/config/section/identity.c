/* `global.semroute.identity`: keys of clients, tenants, and which peers may set identity headers. */
#include "base/hex.h"
#include "config/section/section.h"

#include "base/hash.h"
#include "config/bind/date.h"
#include "config/bind/value.h"

#define IDENTITY(member) offsetof(struct sr_config_identity, member)
#define KEY(member)      offsetof(struct sr_config_key, member)
#define TENANT(member)   offsetof(struct sr_config_tenant, member)

static const struct sr_field key_fields[] = {
    {"name", SR_FIELD_TEXT, KEY(name), .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY,
     .help = "a name for limits, logs and metrics; no secret"},
    {"sha256", SR_FIELD_TEXT, KEY(sha256), .flags = SR_FIELD_NOT_EMPTY,
     .help = "the SHA-256 of the key, 64 hexadecimal digits, as `semroute keys` prints it"},
    {"key", SR_FIELD_TEXT, KEY(text), .flags = SR_FIELD_NOT_EMPTY,
     .help = "or the key itself, at least 16 characters; write `${NAME}` or `${file:PATH}`. Only its hash is "
             "kept"},
    {"tenant", SR_FIELD_TEXT, KEY(tenant), .flags = SR_FIELD_NOT_EMPTY, .def_note = "none",
     .help = "the tenant that its requests are of"},
    {"user", SR_FIELD_TEXT, KEY(user), .flags = SR_FIELD_NOT_EMPTY, .def_note = "the key's `name`",
     .help = "the user"},
    {"team", SR_FIELD_TEXT, KEY(team), .flags = SR_FIELD_NOT_EMPTY, .def_note = "none", .help = "the team"},
    {"groups", SR_FIELD_TEXTS, KEY(groups), .help = "the user's groups"},
    {"models", SR_FIELD_TEXTS, KEY(models), .def_note = "its tenant's",
     .help = "the models of `providers.models` that it may use"},
    {"expires", SR_FIELD_TEXT, KEY(expires), .flags = SR_FIELD_NOT_EMPTY, .def_note = "never",
     .help = "when it ends, in UTC: `2030-01-31` or `2030-01-31T12:00:00Z`"},
};

static void prepare_key(void *target)
{
    struct sr_config_key *key = target;
    key->name = key->tenant = key->user = key->team = key->text = key->sha256 = key->expires = "";
    key->tenant_at = -1;
}

static bool read_hex(struct sr_bytes text, uint8_t out[SR_KEY_DIGEST])
{
    if (text.n != 2 * (size_t)SR_KEY_DIGEST)
        return false;
    for (size_t i = 0; i < SR_KEY_DIGEST; i++) {
        int high = sr_hex_digit(text.p[2 * i]), low = sr_hex_digit(text.p[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool is_visible(struct sr_bytes text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] <= ' ' || text.p[i] > '~')
            return false;
    return true;
}

/* Hashes the key's text and overwrites it. */
static void hash_text(struct sr_binder *b, const struct sr_yaml_node *node, struct sr_config_key *key)
{
    struct sr_bytes text = sr_bytes_str(key->text);
    const struct sr_yaml_node *given = sr_yaml_get(node, "key");
    if (text.n < SR_KEY_TEXT_MIN || text.n > SR_KEY_TEXT_MAX || !is_visible(text))
        sr_bind_error(b, given, "`key` must have %d to %d visible ASCII characters", SR_KEY_TEXT_MIN,
                      SR_KEY_TEXT_MAX);
    else if (sr_sha256(text, key->digest))
        b->rc = SR_ENOMEM;
    explicit_bzero((char *)key->text, text.n);
    if (given && given->kind == SR_YAML_SCALAR)
        explicit_bzero((char *)given->text.p, given->text.n);
    key->text = "";
}

static void finish_key(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_key *key = target;
    if ((key->text[0] != '\0') + (key->sha256[0] != '\0') != 1 &&
        !(sr_yaml_get(node, "key") && !key->sha256[0]))
        sr_bind_error(b, node, "a key needs `sha256` or `key`, and not both");
    if (key->sha256[0] && !read_hex(sr_bytes_str(key->sha256), key->digest))
        sr_bind_error(b, sr_yaml_get(node, "sha256"), "`sha256`: expected 64 hexadecimal digits");
    if (key->text[0])
        hash_text(b, node, key);
    if (key->expires[0] && !sr_date_read(sr_bytes_str(key->expires), &key->expires_s))
        sr_bind_error(b, sr_yaml_get(node, "expires"),
                      "`expires`: expected `2030-01-31` or `2030-01-31T12:00:00Z`, found `%.40s`",
                      key->expires);
    if (!key->user[0])
        key->user = key->name;
}

static const struct sr_section key_section = {
    .name = "key",
    .help = "A key that a client sends in `authorization: Bearer KEY` or `x-api-key`. It never goes to an "
            "upstream, and no log, metric or explanation holds a part of it.",
    .size = sizeof(struct sr_config_key),
    SR_FIELDS(key_fields),
    .prepare = prepare_key,
    .finish = finish_key,
};

static const struct sr_field tenant_fields[] = {
    {"name", SR_FIELD_TEXT, TENANT(name), .flags = SR_FIELD_REQUIRED | SR_FIELD_NOT_EMPTY,
     .help = "as keys or the trusted header name it"},
    {"models", SR_FIELD_TEXTS, TENANT(models), .def_note = "all",
     .help = "the models that its requests may name, and that the router may choose for them"},
    {"guards", SR_FIELD_TEXTS, TENANT(guards),
     .help = "decisions that count for this tenant and for others that name them, and for no other request: "
             "guards that are stricter than those for all"},
    {"without_guards", SR_FIELD_TEXTS, TENANT(without_guards),
     .help = "decisions that do not count for this tenant, although they do for all others"},
};

static void prepare_tenant(void *target)
{
    ((struct sr_config_tenant *)target)->name = "";
}

static const struct sr_section tenant_section = {
    .name = "tenant",
    .help = "What requests of a tenant may do.",
    .size = sizeof(struct sr_config_tenant),
    SR_FIELDS(tenant_fields),
    .prepare = prepare_tenant,
};

static const struct sr_field secret_fields[] = {
    {"header", SR_FIELD_TEXT, IDENTITY(secret_header), .flags = SR_FIELD_NOT_EMPTY | SR_FIELD_REQUIRED,
     .help = "the request header that holds it; it is not forwarded"},
    {"value", SR_FIELD_TEXT, IDENTITY(secret), .flags = SR_FIELD_NOT_EMPTY | SR_FIELD_REQUIRED,
     .help = "the secret; write `${NAME}` or `${file:PATH}`"},
};

static const struct sr_section secret_section = {
    .name = "global.semroute.identity.proxy_secret",
    .help = "Identity headers count only in requests with this secret, which a proxy adds.",
    SR_FIELDS(secret_fields),
};

static const struct sr_field fields[] = {
    {"keys", SR_FIELD_LIST, IDENTITY(keys), IDENTITY(n_keys), .of = &key_section,
     .help = "keys of clients; with any, a request without a key or a trusted identity is 401, unless "
             "`allow_anonymous` is true"},
    {"keys_file", SR_FIELD_TEXT, IDENTITY(keys_file), .flags = SR_FIELD_NOT_EMPTY, .def_note = "none",
     .help = "a file with more of them, `keys: [...]` as here, read again when it changes"},
    {"trusted_peers", SR_FIELD_TEXTS, IDENTITY(trusted_peers), .def_note = "all",
     .help = "networks such as `10.0.0.0/8` whose requests may have identity headers; those of others are "
             "removed"},
    {"proxy_secret", SR_FIELD_OBJECT, .of = &secret_section, .def_note = "none",
     .help = "a secret that such requests must have"},
    {"tenants", SR_FIELD_LIST, IDENTITY(tenants), IDENTITY(n_tenants), .of = &tenant_section,
     .help = "what tenants may do; one that is not listed may do what all may"},
};

static void finish(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    struct sr_config_identity *identity = target;
    const struct sr_yaml_node *peers = sr_yaml_get(node, "trusted_peers");
    identity->networks = sr_bind_calloc(b, identity->trusted_peers.count, sizeof *identity->networks);
    for (size_t i = 0; identity->networks && i < identity->trusted_peers.count; i++)
        if (!sr_config_network_read(sr_bytes_str(identity->trusted_peers.items[i]), &identity->networks[i]))
            sr_bind_error(b, peers && peers->kind == SR_YAML_LIST ? peers->items[i] : peers,
                          "`trusted_peers`: expected a network such as `10.0.0.0/8`, found `%.60s`",
                          identity->trusted_peers.items[i]);
    if (identity->secret_header[0] && !sr_value_is_header_name(sr_bytes_str(identity->secret_header)))
        sr_bind_error(b, sr_bind_at(sr_yaml_get(node, "proxy_secret"), "header"),
                      "`header` is no header name");
}

const struct sr_section sr_section_identity = {
    .name = "global.semroute.identity",
    .help = "Who is asking: keys of clients, trusted sources of identity headers, tenants.",
    SR_FIELDS(fields),
    .finish = finish,
};

static const struct sr_field file_fields[] = {
    {"keys", SR_FIELD_LIST, IDENTITY(keys), IDENTITY(n_keys), .of = &key_section, .help = "keys of clients"},
};

const struct sr_section sr_section_keys_file = {
    .name = "file of keys",
    .help = "More keys of clients.",
    SR_FIELDS(file_fields),
};
