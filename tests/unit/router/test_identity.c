/* The identity of a request, and which headers are not forwarded. */
#include "tests/unit/cmocka_all.h"

#include "router/identity/identity.h"

static struct sr_identity read_with(const char *trusted, const struct sr_header *headers, size_t n,
                                    struct sr_arena *arena)
{
    struct sr_config config = {0};
    struct sr_identity identity;
    config.global.guards.tenant_header = trusted;
    assert_int_equal(sr_identity_read(&identity, headers, n, &config, arena), SR_OK);
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
        assert_true(sr_identity_strips(&config, sr_bytes_str(reserved[i])));
    for (size_t i = 0; i < sizeof free_names / sizeof *free_names; i++)
        assert_false(sr_identity_strips(&config, sr_bytes_str(free_names[i])));
    config.global.extproc.destination_header = "";
    assert_false(sr_identity_strips(&config, SR_LIT("")));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clients),
        cmocka_unit_test(test_only_a_trusted_header_counts),
        cmocka_unit_test(test_reserved_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
