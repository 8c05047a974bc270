/* The identity of a request, and which headers are not forwarded. */
#include "tests/unit/cmocka_all.h"

#include "config/load.h"
#include "router/identity/credential.h"
#include "router/identity/identity.h"

#include <stdio.h>

static struct sr_identity read_with(const char *trusted, const struct sr_header *headers, size_t n,
                                    struct sr_arena *arena)
{
    struct sr_config config = {0};
    struct sr_identity identity;
    config.global.guards.tenant_header = trusted;
    struct sr_identity_source source = {.headers = headers, .n = n};
    assert_int_equal(sr_identity_read(&identity, &source, &config, arena), SR_OK);
    return identity;
}

static void test_only_a_trusted_header_counts(void **state)
{
    (void)state;
    struct sr_arena arena;
    sr_arena_init(&arena, 4096);
    const struct sr_header headers[] = {{SR_LIT("x-authz-user-id"), SR_LIT("root")},
                                        {SR_LIT("x-tenant"), SR_LIT(" first ")},
                                        {SR_LIT("x-tenant"), SR_LIT(" acme ")},
                                        {SR_LIT("x-other"), SR_LIT("z")}};
    struct sr_identity told = read_with("X-Tenant", headers, 4, &arena);
    assert_true(sr_bytes_eq(told.tenant, SR_LIT("acme")));
    assert_ptr_not_equal(told.tenant.p, headers[2].value.p + 1);
    assert_false(told.anonymous);
    assert_int_equal(told.user.n, 0);
    assert_int_equal(told.n_groups, 0);
    struct sr_identity none = read_with("", headers, 4, &arena);
    assert_int_equal(none.tenant.n, 0);
    assert_true(none.anonymous);
    assert_true(read_with(NULL, headers, 4, &arena).anonymous);
    assert_true(read_with("x-tenant", headers, 1, &arena).anonymous);
    sr_arena_dispose(&arena);
}

static bool strips(const struct sr_config *config, const char *name)
{
    struct sr_header header = {sr_bytes_str(name), SR_LIT("v")};
    return sr_identity_strips(config, &header, true);
}

static void test_reserved_names(void **state)
{
    (void)state;
    static const char *const reserved[] = {
        "x-vsr-selected-model",  "x-vsr-anything",   "x-authz-user-id",
        "x-user-openai-key",     "x-selected-model", "x-gateway-destination-endpoint",
        "x-vsr-skip-processing", "x_selected_model", "X-Vsr_Debug",
        "x-vsr_model",           "x_authz-user",     "x_user_openai_key",
        "X-Original-URL",        "x_rewrite_url",    "x-http-method-override",
        "x-own-destination",     "X_Own_Destination"};
    static const char *const free_names[] = {
        "x-vsr-debug", "x-vsr-cache-control",      "x-user-agent-name", "authorization",
        "x-vs",        "x-vsr-compression-control"};
    struct sr_config config = {0};
    config.global.extproc.destination_header = "x-own-destination";
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        assert_true(strips(&config, reserved[i]));
    for (size_t i = 0; i < sizeof free_names / sizeof *free_names; i++)
        assert_false(strips(&config, free_names[i]));
    config.global.extproc.destination_header = "";
    assert_false(strips(&config, ""));
}

/* Who shares with whom. */
static void test_clients(void **state)
{
    struct sr_identity nobody = {.tenant = SR_LIT("")}, tenant = {.tenant = SR_LIT("blue")};
    uint64_t one = sr_identity_client(&nobody, SR_LIT("10.1.2.3:4000"));
    (void)state;
    assert_int_equal(one, sr_identity_client(&nobody, SR_LIT("10.1.2.3:5000")));
    assert_int_equal(one, sr_identity_client(&nobody, SR_LIT("10.1.2.3")));
    assert_int_equal(one, sr_identity_client(&nobody, SR_LIT("192.0.2.1, 10.1.2.3"))); /* the client's word */
    assert_int_not_equal(one, sr_identity_client(&nobody, SR_LIT("10.1.2.4:4000")));
    uint64_t six = sr_identity_client(&nobody, SR_LIT("[2001:db8::1]:4000"));
    assert_int_equal(six, sr_identity_client(&nobody, SR_LIT("2001:db8::ffff")));
    assert_int_not_equal(six, sr_identity_client(&nobody, SR_LIT("2001:db8:0:1::1")));
    assert_int_equal(sr_identity_client(&nobody, SR_LIT("")), 0);
    assert_int_not_equal(sr_identity_client(&nobody, SR_LIT("unix:")), 0);
    assert_int_equal(sr_identity_client(&tenant, SR_LIT("10.1.2.3:1")),
                     sr_identity_client(&tenant, SR_LIT("10.1.2.4:1")));
}

#define SITE                                                                                                 \
    "version: v0.3\nproviders:\n  models:\n    - {name: m, backend_refs: [{endpoint: '127.0.0.1:1'}]}\n"     \
    "    - {name: n, backend_refs: [{endpoint: '127.0.0.1:1'}]}\nglobal:\n  semroute:\n"
#define SHA "ff8375d2df4e6394427f5de9db8d09415980fdb2bf446a66917833c4bc8fff04" /* of hunter2-hunter2- */
#define KEYS                                                                                                 \
    SITE "    identity:\n      keys:\n"                                                                      \
         "        - {name: one, key: sk-sr-0123456789, tenant: acme, groups: [a, b], models: [m]}\n"         \
         "        - {name: two, sha256: " SHA ", user: eve}\n"                                               \
         "        - {name: old, key: sk-sr-9876543210, expires: '2020-01-31'}\n"

static const struct sr_config *load(const char *yaml, bool good)
{
    const struct sr_config *config = NULL;
    struct sr_problems problems = {0};
    int rc = sr_config_load_text(&config, sr_bytes_str(yaml), "test", (struct sr_load_options){0}, &problems);
    if (good == (rc != SR_OK))
        print_message("%s\n%s\n", yaml, problems.count ? problems.items[0].message : "");
    assert_int_equal(rc == SR_OK, good);
    sr_problems_dispose(&problems);
    return config;
}

/* Reads the identity behind one header; the peer is 10.1.2.3. */
static struct sr_identity ask(const struct sr_config *config, const char *name, const char *value,
                              struct sr_arena *arena)
{
    struct sr_header headers[] = {{sr_bytes_str(name), sr_bytes_str(value)}, {SR_LIT("x-t"), SR_LIT("told")}};
    struct sr_identity_source source = {headers, 2, SR_LIT("10.1.2.3:99"), false, 1700000000};
    struct sr_identity identity;
    assert_int_equal(sr_identity_read(&identity, &source, config, arena), SR_OK);
    return identity;
}

static void test_keys(void **state)
{
    const struct sr_config *config = load(KEYS, true);
    struct sr_arena arena;
    (void)state;
    sr_arena_init(&arena, 4096);
    assert_string_equal(config->global.identity.keys[0].text, "");
    static const char *const good[][2] = {{"authorization", "Bearer sk-sr-0123456789"},
                                          {"authorization", "bearer  sk-sr-0123456789 "},
                                          {"x-api-key", "sk-sr-0123456789"},
                                          {"Api-Key", "sk-sr-0123456789"}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct sr_identity one = ask(config, good[i][0], good[i][1], &arena);
        struct sr_header header = {sr_bytes_str(good[i][0]), sr_bytes_str(good[i][1])};
        assert_null(one.refused);
        assert_string_equal(one.key->name, "one");
        assert_true(sr_bytes_eq(one.tenant, SR_LIT("acme")) && sr_bytes_eq(one.user, SR_LIT("one")));
        assert_int_equal(one.n_groups, 2);
        assert_false(one.anonymous);
        assert_true(sr_identity_may_use(&one, config, 0));
        assert_false(sr_identity_may_use(&one, config, 1));
        assert_true(sr_identity_strips(config, &header, true));
    }
    struct sr_identity two = ask(config, "x-api-key", "hunter2-hunter2-", &arena);
    assert_string_equal(two.key->name, "two");
    assert_true(sr_bytes_eq(two.user, SR_LIT("eve")) && sr_identity_may_use(&two, config, 1));
    static const char *const bad[][3] = {{"authorization", "Bearer sk-sr-0123456788", SR_CODE_WRONG_KEY},
                                         {"authorization", "Basic sk-sr-0123456789", SR_CODE_NO_KEY},
                                         {"authorization", "Bearer", SR_CODE_NO_KEY},
                                         {"authorization", "Bearer client-of-another", SR_CODE_WRONG_KEY},
                                         {"x-other", "sk-sr-0123456789", SR_CODE_NO_KEY},
                                         {"x-api-key", "sk-sr-9876543210", SR_CODE_EXPIRED_KEY},
                                         {"x-api-key", "sk-sr-", SR_CODE_WRONG_KEY}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct sr_identity none = ask(config, bad[i][0], bad[i][1], &arena);
        assert_string_equal(none.refused, bad[i][2]);
        assert_null(none.key);
    }
    struct sr_header expired = {SR_LIT("x-api-key"), SR_LIT("sk-sr-9876543210")};
    struct sr_header other = {SR_LIT("authorization"), SR_LIT("Bearer client-of-another")};
    assert_true(sr_identity_strips(config, &expired, true));
    assert_false(sr_identity_strips(config, &other, true));
    sr_config_unref(config);
    sr_arena_dispose(&arena);
}

/* Two keys of ours in one request are no identity. */
static void test_two_keys(void **state)
{
    const struct sr_config *config = load(
        SITE "    identity: {keys: [{name: a, key: 0123456789abcdef}, {name: b, key: fedcba9876543210}]}\n",
        true);
    struct sr_header headers[] = {{SR_LIT("authorization"), SR_LIT("Bearer 0123456789abcdef")},
                                  {SR_LIT("x-api-key"), SR_LIT("0123456789abcdef")}};
    struct sr_credential sent;
    (void)state;
    assert_int_equal(sr_credential_read(&sent, headers, 2, &config->global.identity, 0), SR_OK);
    assert_string_equal(sent.key->name, "a");
    headers[1].value = SR_LIT("fedcba9876543210");
    assert_int_equal(sr_credential_read(&sent, headers, 2, &config->global.identity, 0), SR_OK);
    assert_null(sent.key);
    assert_string_equal(sent.refused, SR_CODE_WRONG_KEY);
    headers[1].value = SR_LIT("the-clients-own-key");
    assert_int_equal(sr_credential_read(&sent, headers, 2, &config->global.identity, 0), SR_OK);
    assert_string_equal(sent.key->name, "a");
    sr_config_unref(config);
}

/* Identity headers count from trusted peers only, or with the proxy's secret. */
static void test_whom_to_trust(void **state)
{
    static const struct {
        const char *identity;
        bool counts;
    } cases[] = {
        {"{trusted_peers: ['10.0.0.0/8']}", true},
        {"{trusted_peers: ['10.1.2.3']}", true},
        {"{trusted_peers: ['::/0']}", true}, /* IPv4 is mapped into it */
        {"{trusted_peers: ['10.1.2.2/32', '192.0.2.0/24', 'fd00::/8']}", false},
        {"{trusted_peers: ['10.1.2.2/31']}", true},
        {"{proxy_secret: {header: x-a, value: open}}", true},
        {"{proxy_secret: {header: x-a, value: opem}}", false},
        {"{proxy_secret: {header: x-a, value: opener}}", false},
        {"{trusted_peers: ['10.0.0.0/8'], proxy_secret: {header: x-a, value: opem}}", false},
        {"{trusted_peers: ['11.0.0.0/8'], proxy_secret: {header: x-a, value: open}}", false},
    };
    struct sr_arena arena;
    char yaml[1000];
    (void)state;
    sr_arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(yaml, sizeof yaml, SITE "    guards: {tenant_header: x-t}\n    identity: %s\n",
                 cases[i].identity);
        const struct sr_config *config = load(yaml, true);
        struct sr_identity identity = ask(config, "x-a", "open", &arena);
        struct sr_header header = {SR_LIT("X_T"), SR_LIT("told")}, secret = {SR_LIT("x-a"), SR_LIT("open")};
        assert_int_equal(identity.tenant.n > 0, cases[i].counts);
        assert_int_equal(identity.anonymous, !cases[i].counts);
        assert_int_equal(sr_identity_strips(config, &header, cases[i].counts), !cases[i].counts);
        assert_int_equal(sr_identity_strips(config, &secret, true), strstr(yaml, "proxy_secret") != NULL);
        sr_config_unref(config);
    }
    sr_arena_dispose(&arena);
}

static void test_bad_configurations(void **state)
{
    static const char *const bad[] = {
        "{keys: [{name: a}]}",
        "{keys: [{name: a, key: short}]}",
        "{keys: [{name: a, key: ''}]}",
        "{keys: [{name: a, key: 'with a space in it'}]}",
        "{keys: [{name: a, key: 0123456789abcdef, sha256: " SHA "}]}",
        "{keys: [{name: a, sha256: abc}]}",
        "{keys: [{name: a, key: 0123456789abcdef}, {name: b, key: 0123456789abcdef}]}",
        "{keys: [{name: a, key: 0123456789abcdef}, {name: a, key: 0123456789abcdeg}]}",
        "{keys: [{name: a, key: 0123456789abcdef, models: [z]}]}",
        "{keys: [{name: a, key: 0123456789abcdef, expires: '2027-02-29'}]}",
        "{keys: [{name: a, key: 0123456789abcdef, expires: tomorrow}]}",
        "{tenants: [{name: a, models: [z]}]}",
        "{tenants: [{name: a, guards: [z]}]}",
        "{tenants: [{name: a}, {name: a}]}",
        "{trusted_peers: [10.0.0.0/33]}",
        "{trusted_peers: [localhost]}",
        "{proxy_secret: {header: x}}",
    };
    char yaml[1000];
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        snprintf(yaml, sizeof yaml, SITE "    identity: %s\n", bad[i]);
        load(yaml, false);
    }
    load(SITE "    guards: {tenant_header: x-t}\n    identity: {keys: [{name: a, key: 0123456789abcdef}]}\n",
         false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_configurations),
        cmocka_unit_test(test_clients),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_only_a_trusted_header_counts),
        cmocka_unit_test(test_reserved_names),
        cmocka_unit_test(test_two_keys),
        cmocka_unit_test(test_whom_to_trust),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
