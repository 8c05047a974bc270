/* TLS both ways, with a private CA: accepted, refused, mutual, reloaded. */
#include "tests/unit/net_harness.h"

#include <unistd.h>

static char folder[] = "/tmp/sr-tls-XXXXXX";

static char *file_of(const char *name)
{
    static char paths[8][128];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* A CA, certificates for 127.0.0.1 and for another name, and one that the CA has not signed. */
static int make_certificates(void **state)
{
    char command[2000];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(
        command, sizeof command,
        "cd %s && exec 2>/dev/null && set -e;"
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem"
        " -days 2 -subj /CN=test-ca;"
        "for name in good other; do"
        "  [ $name = good ] && san=IP:127.0.0.1,DNS:localhost || san=DNS:elsewhere.test;"
        "  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $name.key -out $name.csr"
        "  -subj /CN=$name;"
        "  echo subjectAltName=$san > $name.ext;"
        "  openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile "
        "$name.ext"
        "  -out $name.pem;"
        "done;"
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout self.key -out self.pem"
        " -days 2 -subj /CN=self -addext subjectAltName=IP:127.0.0.1",
        folder);
    return system(command);
}

static int remove_certificates(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static sr_tls_context *server_context(const char *name, bool ask_client)
{
    char cert[20], key[20];
    struct sr_tls_settings settings = {.server = true};
    struct sr_err err = {0};
    sr_tls_context *context;
    snprintf(cert, sizeof cert, "%s.pem", name);
    snprintf(key, sizeof key, "%s.key", name);
    settings.cert_file = file_of(cert);
    settings.key_file = file_of(key);
    settings.ca_file = ask_client ? file_of("ca.pem") : NULL;
    if (sr_tls_context_new(&context, &settings, &err) != SR_OK)
        fail_msg("%s", err.message);
    return context;
}

static sr_tls_context *client_context(bool insecure, bool with_cert)
{
    struct sr_tls_settings settings = {.insecure = insecure};
    sr_tls_context *context;
    if (!insecure)
        settings.ca_file = file_of("ca.pem");
    if (with_cert) {
        settings.cert_file = file_of("good.pem");
        settings.key_file = file_of("good.key");
    }
    assert_int_equal(sr_tls_context_new(&context, &settings, NULL), SR_OK);
    return context;
}

static void one_call(struct world *w, struct call *c, sr_tls_context *client, const char *text)
{
    struct sr_bytes body = sr_bytes_str(text);
    struct sr_client_request request = call_request("POST", "/echo", &body);
    *c = (struct call){0};
    call_begin(c, w, &request, client);
    world_run(w, &c->over);
}

static void requests_over_tls(void **state)
{
    enum { size = 3 << 20 };
    sr_tls_context *server = server_context("good", false), *client = client_context(false, false);
    char *text = malloc(size + 1);
    struct world w;
    struct call c;
    (void)state;
    for (size_t i = 0; i < size; i++)
        text[i] = (char)('a' + i % 23);
    text[size] = 0;
    world_open(&w, NULL, server);
    for (int i = 0; i < 3; i++) {
        one_call(&w, &c, client, "secret");
        assert_true(c.ok);
        assert_string_equal(c.body.data, "secret");
        call_dispose(&c);
    }
    assert_int_equal(sr_client_opened(w.client), 1);
    one_call(&w, &c, client, text);
    assert_true(c.ok);
    assert_int_equal(c.body.len, size);
    assert_memory_equal(c.body.data, text, size);
    call_dispose(&c);
    sr_tls_context_unref(server);
    sr_tls_context_unref(client);
    world_close(&w);
    free(text);
}

static void certificates_are_checked(void **state)
{
    static const char *const names[] = {"other", "self"};
    sr_tls_context *strict = client_context(false, false), *lax = client_context(true, false);
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        sr_tls_context *server = server_context(names[i], false);
        struct world w;
        struct call c;
        world_open(&w, NULL, server);
        one_call(&w, &c, strict, "x");
        assert_false(c.ok);
        assert_int_equal(c.error.code, SR_EMISMATCH);
        assert_int_equal(c.error.stage, SR_CLIENT_CONNECTING);
        assert_false(c.error.sent);
        assert_non_null(strstr(c.error_text, "certificate"));
        call_dispose(&c);
        one_call(&w, &c, lax, "x");
        assert_true(c.ok);
        call_dispose(&c);
        assert_int_equal(w.requests, 1);
        world_close(&w);
        sr_tls_context_unref(server);
    }
    sr_tls_context_unref(strict);
    sr_tls_context_unref(lax);
}

static void servers_may_ask_for_certificates(void **state)
{
    sr_tls_context *server = server_context("good", true);
    sr_tls_context *nobody = client_context(false, false), *known = client_context(false, true);
    struct world w;
    struct call c;
    (void)state;
    world_open(&w, NULL, server);
    one_call(&w, &c, nobody, "x");
    assert_false(c.ok);
    assert_int_equal(w.requests, 0);
    call_dispose(&c);
    one_call(&w, &c, known, "x");
    assert_true(c.ok);
    call_dispose(&c);
    world_close(&w);
    sr_tls_context_unref(server);
    sr_tls_context_unref(nobody);
    sr_tls_context_unref(known);
}

/* New connections get the new certificate, the open one keeps its own. */
static void certificates_are_reloaded(void **state)
{
    sr_tls_context *bad = server_context("other", false), *good = server_context("good", false);
    sr_tls_context *strict = client_context(false, false), *lax = client_context(true, false);
    struct world w;
    struct call c;
    (void)state;
    world_open(&w, NULL, bad);
    sr_tls_context_unref(bad);
    one_call(&w, &c, lax, "x");
    assert_true(c.ok);
    call_dispose(&c);
    sr_http_server_set_tls(w.server, good);
    sr_tls_context_unref(good);
    one_call(&w, &c, strict, "x");
    assert_true(c.ok);
    call_dispose(&c);
    one_call(&w, &c, lax, "x");
    assert_true(c.ok);
    call_dispose(&c);
    assert_int_equal(sr_client_opened(w.client), 2);
    sr_tls_context_unref(strict);
    sr_tls_context_unref(lax);
    world_close(&w);
}

/* Neither side hangs when the other speaks no TLS. */
static void plain_meets_tls(void **state)
{
    struct sr_http_server_settings settings = sr_http_server_settings_defaults();
    sr_tls_context *server = server_context("good", false), *client = client_context(false, false);
    struct world w;
    struct call c;
    struct raw r;
    (void)state;
    settings.header_timeout_ms = 50;
    world_open(&w, &settings, server);
    raw_open(&r, &w);
    raw_send(&r, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    raw_wait_close(&r);
    raw_close(&r);
    raw_open(&r, &w);
    raw_wait_close(&r); /* says nothing */
    raw_close(&r);
    assert_int_equal(w.requests, 0);
    world_close(&w);
    world_open(&w, NULL, NULL);
    one_call(&w, &c, client, "x");
    assert_false(c.ok);
    assert_int_equal(c.error.code, SR_EPROTO);
    assert_int_equal(c.error.stage, SR_CLIENT_CONNECTING);
    call_dispose(&c);
    world_close(&w);
    sr_tls_context_unref(server);
    sr_tls_context_unref(client);
}

static void wrong_files_are_named(void **state)
{
    struct sr_tls_settings settings = {.server = true, .cert_file = "/nonexistent.pem"};
    struct sr_err err = {0};
    sr_tls_context *context;
    (void)state;
    assert_int_equal(sr_tls_context_new(&context, &settings, &err), SR_EINVAL);
    assert_non_null(strstr(err.message, "/nonexistent.pem"));
    settings.cert_file = file_of("good.pem");
    settings.key_file = file_of("other.key");
    assert_int_equal(sr_tls_context_new(&context, &settings, &err), SR_EINVAL);
    assert_non_null(strstr(err.message, "other.key"));
    settings.cert_file = NULL;
    assert_int_equal(sr_tls_context_new(&context, &settings, &err), SR_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_over_tls),
        cmocka_unit_test(certificates_are_checked),
        cmocka_unit_test(servers_may_ask_for_certificates),
        cmocka_unit_test(certificates_are_reloaded),
        cmocka_unit_test(plain_meets_tls),
        cmocka_unit_test(wrong_files_are_named),
    };
    return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
