/* Who may use the admin listeners. */
#include "tests/unit/cmocka_all.h"

#include "serve/access.h"

struct asked {
    const char *host, *origin, *site, *type, *authorization;
    bool body;
};

static int status_of(const struct sr_config_access *access, const struct asked *asked, bool loopback)
{
    const char *const names[] = {"host", "origin", "sec-fetch-site", "content-type", "authorization"};
    const char *const values[] = {asked->host, asked->origin, asked->site, asked->type, asked->authorization};
    struct sr_header headers[5];
    struct sr_http_head head = {
        .headers = headers, .has_body = asked->body, .method = asked->body ? SR_LIT("POST") : SR_LIT("GET")};
    struct sr_access_refusal refusal = {0};
    for (size_t i = 0; i < 5; i++)
        if (values[i])
            headers[head.header_count++] =
                (struct sr_header){sr_bytes_str(names[i]), sr_bytes_str(values[i])};
    bool admitted = sr_access_admits(access, &head, loopback, &refusal);
    assert_int_equal(admitted, refusal.message == NULL);
    return admitted ? 200 : refusal.status;
}

static void test_web_pages_are_refused(void **state)
{
    (void)state;
    static const char *names[] = {"admin.example"};
    struct sr_config_access access = {.admin_token = "", .admin_hosts = {names, 1}};
    static const struct {
        struct asked asked;
        int status;
    } cases[] = {
        {{.host = "127.0.0.1:8080", .type = "application/json", .body = true}, 200},
        {{.host = "localhost:8080", .type = "Application/JSON; charset=utf-8", .body = true}, 200},
        {{.host = "[::1]:8080"}, 200},
        {{.host = "::1"}, 403},
        {{.host = "Admin.Example:1"}, 200},
        {{.type = "application/json", .body = true}, 200},
        {{.host = "10.1.2.3"}, 200},
        {{.host = ""}, 403},
        {{.host = "evil.example:8080", .type = "application/json", .body = true}, 403},
        {{.host = "127.0.0.1.evil.example:8080"}, 403},
        {{.host = "localhost.evil.example"}, 403},
        {{.host = "[evil"}, 403},
        {{.host = "127.0.0.1:evil.example"}, 403},
        {{.host = "127.0.0.1:80:80"}, 403},
        {{.host = "[::1]evil.example"}, 403},
        {{.host = "[::1]:"}, 200},
        {{.host = "127.0.0.1:8080", .origin = "http://127.0.0.1:8080", .site = "same-origin"}, 200},
        {{.host = "127.0.0.1:8080", .origin = "https://evil.example"}, 403},
        {{.host = "127.0.0.1:8080", .origin = "http://127.0.0.1:3000"}, 403},
        {{.host = "127.0.0.1:8080", .origin = "null"}, 403},
        {{.host = "127.0.0.1:8080", .origin = ""}, 403},
        {{.host = "127.0.0.1:8080", .site = "cross-site"}, 403},
        {{.host = "127.0.0.1:8080", .site = "same-site"}, 403},
        {{.host = "127.0.0.1:8080", .site = ""}, 403},
        {{.host = "127.0.0.1:8080", .site = "none"}, 200},
        {{.host = "127.0.0.1:8080", .type = "text/plain", .body = true}, 415},
        {{.host = "127.0.0.1:8080", .type = "text/plain;a=application/json", .body = true}, 415},
        {{.host = "127.0.0.1:8080", .type = "application/x-www-form-urlencoded", .body = true}, 415},
        {{.host = "127.0.0.1:8080", .body = true}, 415},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (status_of(&access, &cases[i].asked, true) != cases[i].status)
            fail_msg("case %zu", i);
}

static void test_other_machines(void **state)
{
    (void)state;
    const struct asked asked = {.host = "10.0.0.1:8080"}, named = {.host = "semroute.svc:8080"};
    struct sr_config_access closed = {.admin_token = ""}, open = {.admin_token = "", .admin_open = true};
    assert_int_equal(status_of(&closed, &asked, false), 403);
    assert_int_equal(status_of(&closed, &asked, true), 200);
    assert_int_equal(status_of(&open, &asked, false), 200);
    assert_int_equal(status_of(&open, &named, false), 403);
}

static void test_token(void **state)
{
    (void)state;
    struct sr_config_access access = {.admin_token = "s3cret", .admin_open = true};
    static const struct {
        const char *authorization;
        int status;
    } cases[] = {
        {"Bearer s3cret", 200},
        {"bearer  s3cret ", 200},
        {NULL, 401},
        {"", 401},
        {"Bearer ", 401},
        {"Bearer s3cre", 401},
        {"Bearer s3crets3cret", 401},
        {"Bearer S3cret", 401},
        {"Basic s3cret", 401},
        {"s3cret", 401},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct asked asked = {.host = "any.example",
                              .origin = "https://other",
                              .authorization = cases[i].authorization,
                              .body = true};
        assert_int_equal(status_of(&access, &asked, i % 2), cases[i].status);
    }
    struct sr_config_access none = {.admin_token = ""};
    struct sr_header header = {SR_LIT("authorization"), SR_LIT("Bearer ")};
    struct sr_http_head head = {.headers = &header, .header_count = 1};
    assert_false(sr_access_has_token(&none, &head));
}

/* Tokens of roles: some may only read. Without any that counts nobody is admitted. */
static void test_roles(void **state)
{
    (void)state;
    struct sr_config_admin_token tokens[] = {{"all", "admin", true, true},
                                             {"look", "viewer", true, false},
                                             {"odd", "odd", false, false},
                                             {"", "admin", true, true}};
    struct sr_config_access access = {
        .admin_token = "", .admin_open = true, .admin_bearer = true, .tokens = tokens, .n_tokens = 4};
    static const struct {
        const char *authorization;
        bool post;
        int status;
    } cases[] = {
        {"Bearer all", false, 200}, {"Bearer all", true, 200},  {"Bearer look", false, 200},
        {"Bearer look", true, 401}, {"Bearer odd", false, 401}, {"Bearer odd", true, 401},
        {"Bearer ", false, 401},    {NULL, false, 401},         {"Bearer alls", true, 401},
        {"Bearer x", false, 401},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct asked asked = {
            .host = "localhost", .authorization = cases[i].authorization, .body = cases[i].post};
        assert_int_equal(status_of(&access, &asked, true), cases[i].status);
    }
}

static void test_loopback(void **state)
{
    (void)state;
    assert_true(sr_access_is_loopback("127.0.0.1") && sr_access_is_loopback("::1") &&
                sr_access_is_loopback("localhost"));
    assert_false(sr_access_is_loopback("") || sr_access_is_loopback("0.0.0.0") ||
                 sr_access_is_loopback("::") || sr_access_is_loopback("10.0.0.1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_web_pages_are_refused),
        cmocka_unit_test(test_other_machines),
        cmocka_unit_test(test_token),
        cmocka_unit_test(test_roles),
        cmocka_unit_test(test_loopback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
